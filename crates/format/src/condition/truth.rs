//! True, false or unknown; of single values.

use std::cmp::Ordering;

use amax_jsonb::jsonpath::{Comparison, Literal, Sought};
use amax_jsonb::numeric;

use crate::error::Result;
use crate::scalar::Scalar;

/// What a condition is of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    False,
    Unknown,
    True,
}

use Truth::{False, True, Unknown};

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { True } else { False }
    }
}

impl Truth {
    /// As SQL has it.
    pub(crate) fn known(self) -> Option<bool> {
        (self != Unknown).then_some(self == True)
    }

    pub(super) fn not(self) -> Self {
        match self {
            False => True,
            Unknown => Unknown,
            True => False,
        }
    }

    pub(super) fn and(self, other: impl FnOnce() -> Result<Self>) -> Result<Self> {
        if self == False {
            return Ok(False);
        }
        let other = other()?;
        Ok(if other == True { self } else { other })
    }

    pub(super) fn or(self, other: impl FnOnce() -> Result<Self>) -> Result<Self> {
        if self == True {
            return Ok(True);
        }
        let other = other()?;
        Ok(if other == False { self } else { other })
    }
}

/// True if one is, else unknown if one is, else false.
#[inline]
pub(super) fn any<T>(values: impl Iterator<Item = T>, mut is: impl FnMut(T) -> Result<Truth>) -> Result<Truth> {
    let mut found = False;
    for value in values {
        match is(value)? {
            True => return Ok(True),
            Unknown => found = Unknown,
            False => {}
        }
    }
    Ok(found)
}

/// Whether a value is as it is sought; a container, whatever is in it, is a payload.
#[inline]
pub(super) fn is_as(value: Scalar<'_>, sought: &Sought) -> Truth {
    let (comparison, literal) = match (sought, value) {
        (Sought::Anything | Sought::Taken, _) => return True,
        (Sought::Prefixed(prefix), Scalar::String(s)) => return s.starts_with(prefix).into(),
        (Sought::Prefixed(_), _) => return Unknown,
        (Sought::Compared(comparison, literal), _) => (*comparison, literal),
    };
    let order = match (value, literal) {
        (Scalar::Null, Literal::Null) => Some(Ordering::Equal),
        // Null is nothing else, and neither before nor behind it.
        (Scalar::Null, _) | (_, Literal::Null) => return (comparison == Comparison::NotEqual).into(),
        (Scalar::Bool(a), Literal::Bool(b)) => Some(a.cmp(b)),
        (Scalar::String(a), Literal::String(b)) => Some(a.cmp(b)),
        (Scalar::Int(a), Literal::Number(_, Some(b))) => Some(b.compared(a, 0)),
        (Scalar::Decimal { mantissa, scale }, Literal::Number(_, Some(b))) => Some(b.compared(mantissa, scale)),
        (number, Literal::Number(b, _)) => order_of(number, b),
        _ => None,
    };
    order.map_or(Unknown, |order| comparison.holds(order).into())
}

/// The order of two numbers of which one has many digits.
fn order_of(a: Scalar<'_>, b: &[u8]) -> Option<Ordering> {
    let mut payload = Vec::new();
    match a {
        Scalar::Int(a) => numeric::encode_int(a, &mut payload),
        Scalar::Decimal { mantissa, scale } => numeric::encode_decimal(mantissa, scale, &mut payload).ok()?,
        Scalar::Numeric(a) => return numeric::order(a, b),
        _ => return None,
    }
    numeric::order(&payload, b)
}
