//! Over binary jsonb.

use amax_jsonb::Value as Json;
use amax_jsonb::jsonpath::{Condition, Finds, Sought, Step};

use super::truth::{Truth, any, is_as};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

/// What `$` is.
#[derive(Clone, Copy)]
pub(super) enum Root<'a> {
    /// With who takes values found, if they are wanted.
    Json(Json<'a>, Option<&'a Taker<'a>>),
    /// In columns.
    Place(&'a dyn Place),
}

/// A document in columns.
pub(super) trait Place {
    /// Whether a path from here finds what it should.
    fn finds(&self, finds: &Finds) -> Result<Truth>;

    /// A value that was found; true if no more are wanted.
    fn take(&self, value: Json<'_>) -> Result<Truth>;
}

/// A value that a path finds.
pub(crate) enum Taken<'a> {
    /// An instance of a node.
    Node {
        node: u32,
        place: u32,
        instance: u32,
    },
    Json(Json<'a>),
}

/// A condition that says which values are wanted was asked whether it holds.
pub(super) const NOBODY_TAKES: Error = Error::Misuse("values that nobody takes");

/// Takes values one after the other; true if no more are wanted.
pub(crate) type Taker<'a> = dyn Fn(Taken<'_>) -> Result<bool> + 'a;

/// Has the values of a path taken that is a condition of such.
pub(crate) fn take(condition: &Condition, value: Json<'_>, taker: &Taker<'_>) -> Result<Truth> {
    of(condition, value, Root::Json(value, Some(taker)))
}

/// What a condition is of a value.
pub(crate) fn holds(condition: &Condition, value: Json<'_>) -> Result<Truth> {
    of(condition, value, Root::Json(value, None))
}

fn of(condition: &Condition, current: Json<'_>, root: Root<'_>) -> Result<Truth> {
    match condition {
        Condition::And(both) => of(&both[0], current, root)?.and(|| of(&both[1], current, root)),
        Condition::Or(both) => of(&both[0], current, root)?.or(|| of(&both[1], current, root)),
        Condition::Not(inner) => of(inner, current, root).map(Truth::not),
        Condition::IsUnknown(inner) => of(inner, current, root).map(|truth| (truth == Truth::Unknown).into()),
        Condition::Finds(Finds {
            from_root: false,
            steps,
            sought,
        }) => follow(current, steps, true, sought, root),
        Condition::Finds(finds) => match root {
            Root::Json(value, _) => follow(value, &finds.steps, true, &finds.sought, root),
            Root::Place(place) => place.finds(finds),
        },
    }
}

/// Whether the steps lead from a value to what is sought. `unwrap`: an array is taken apart for what needs no array.
pub(super) fn follow(value: Json<'_>, steps: &[Step], unwrap: bool, sought: &Sought, root: Root<'_>) -> Result<Truth> {
    let Some((step, rest)) = steps.split_first() else {
        return match (sought, root) {
            (Sought::Taken, Root::Place(place)) => place.take(value),
            (Sought::Taken, Root::Json(_, Some(taker))) => taker(Taken::Json(value)).map(Truth::from),
            (Sought::Taken, Root::Json(_, None)) => Err(NOBODY_TAKES),
            _ => Ok(is_as(scalar(value), sought)),
        };
    };
    let on = |value: Option<Json<'_>>| match value {
        Some(value) => follow(value, rest, true, sought, root),
        None => Ok(Truth::False),
    };
    match (step, value) {
        (Step::Key(key), Json::Object(c)) => on(c.get(key)?),
        (Step::Key(_) | Step::Filter(_), Json::Array(c)) if unwrap => {
            any(c.elements(), |element| follow(element?, steps, false, sought, root))
        }
        (Step::Key(_), _) => Ok(Truth::False),
        (Step::Elements, Json::Array(c)) => any(c.elements(), |element| on(Some(element?))),
        (Step::Element(i), Json::Array(c)) => on(c.get_index(*i as usize)?),
        (Step::Last, Json::Array(c)) => match c.len().checked_sub(1) {
            Some(last) => on(c.get_index(last)?),
            None => Ok(Truth::False),
        },
        (Step::Elements | Step::Element(0) | Step::Last, value) => on(Some(value)),
        (Step::Element(_), _) => Ok(Truth::False),
        (Step::Filter(condition), value) => match of(condition, value, root)? {
            Truth::True => on(Some(value)),
            _ => Ok(Truth::False),
        },
    }
}

/// A value as columns have them.
pub(crate) fn scalar(value: Json<'_>) -> Scalar<'_> {
    match value {
        Json::Null => Scalar::Null,
        Json::Bool(b) => Scalar::Bool(b),
        Json::Numeric(n) => Scalar::Numeric(n),
        Json::String(s) => Scalar::String(s),
        Json::Array(c) | Json::Object(c) => Scalar::Payload(c.bytes()),
    }
}
