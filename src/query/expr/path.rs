//! JSON paths in expressions: which are columns of their own.

use super::condition::condition_of;
use super::constant::{constant, text, texts};
use crate::pg::expr::{FuncExpr, OpExpr, PlaceHolderVar, SubscriptingRef, Var};
use crate::pg::node::Node;
use amax_format::{PathStep, Question};
use pgrx::pg_sys;

/// A value in a document of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath {
    pub attribute: i16,
    pub steps: Vec<PathStep>,
    /// By `->>` or `#>>`: as text.
    pub text: bool,
    /// 0: from the row. n: from an element of the n-th arrays that the scan unnests.
    pub level: usize,
}

impl JsonPath {
    const EMPTY: JsonPath = JsonPath {
        attribute: 0,
        steps: Vec::new(),
        text: false,
        level: 0,
    };

    /// The path with the variable it starts from.
    fn from(mut self, base: &Node, is_base: &dyn Fn(&Var) -> bool) -> Option<JsonPath> {
        self.attribute = attribute_of(base, is_base)?;
        Some(self)
    }
}

/// The attribute that a variable of this query is, if it is one.
pub fn attribute_of(node: &Node, is_base: &dyn Fn(&Var) -> bool) -> Option<i16> {
    let var = node.as_a::<Var>()?;
    (var.varattno() > 0 && var.varlevelsup() == 0 && is_base(var)).then(|| var.varattno())
}

/// The path that an expression over a jsonb attribute is, if it is one: chains of `->`, `->>`, `#>`, `#>>` and
/// subscripts with constant keys.
pub fn path_of(node: &Node, is_base: &dyn Fn(&Var) -> bool) -> Option<JsonPath> {
    let mut path = JsonPath::EMPTY;
    let base = follow(node, &mut path, true)?;
    path.from(base, is_base).filter(|path| !path.steps.is_empty())
}

/// What a path that gives all of what it finds starts from, and the keys with which it begins: they may be none.
pub fn keys_of(node: &Node) -> Option<(&Node, Vec<Vec<u8>>)> {
    let mut path = JsonPath::EMPTY;
    let base = follow(node, &mut path, true)?;
    let keys = path.steps.into_iter().map_while(|step| match step {
        PathStep::Key(key) => Some(key),
        _ => None,
    });
    Some((base, keys.collect()))
}

/// The question about a path, or about a whole document, that an expression is, if it is one: jsonb_typeof,
/// jsonb_array_length, `?`, `?|` and `?&` with constant keys, `@>` and `<@` with a constant that is contained, `@?` and `@@`
/// with a constant path.
pub fn question_of(node: &Node, is_base: &dyn Fn(&Var) -> bool) -> Option<(JsonPath, Question)> {
    let (function, mut args) = call_of(node)?;
    if function == pg_sys::F_JSONB_CONTAINED {
        args.reverse();
    }
    let strings = |node| {
        // The operators pass over NULLs.
        texts(node).map(|keys| keys.into_iter().flatten().collect())
    };
    let question = match (function, &args[..]) {
        (pg_sys::F_JSONB_TYPEOF, [_]) => Question::Type,
        (pg_sys::F_JSONB_ARRAY_LENGTH, [_]) => Question::Length,
        (pg_sys::F_JSONB_EXISTS, &[_, key]) => Question::HasAny(vec![text(key)?]),
        (pg_sys::F_JSONB_EXISTS_ANY, &[_, keys]) => Question::HasAny(strings(keys)?),
        (pg_sys::F_JSONB_EXISTS_ALL, &[_, keys]) => Question::HasAll(strings(keys)?),
        (pg_sys::F_JSONB_CONTAINS | pg_sys::F_JSONB_CONTAINED, &[_, sought]) => {
            Question::contains(super::constant::json(sought)?)?
        }
        _ => condition_of(function, &args)?,
    };
    let base = match args[0].as_a::<PlaceHolderVar>() {
        Some(wrapped) => wrapped.phexpr()?,
        None => args[0],
    };
    let mut path = JsonPath::EMPTY;
    let base = follow(base, &mut path, false)?;
    Some((path.from(base, is_base)?, question))
}

/// The function that an operator or a call is of, and its arguments.
pub fn call_of(node: &Node) -> Option<(u32, Vec<&Node>)> {
    if let Some(op) = node.as_a::<OpExpr>() {
        return Some((op.function().to_u32(), op.args().to_vec()));
    }
    let call = node.as_a::<FuncExpr>()?;
    Some((call.funcid().to_u32(), call.args().to_vec()))
}

/// Appends the steps of `node`, first those below it; what they start from. None if something else than a path was
/// asked for, or if it has a step that is not constant. `outermost`: the last step may give text, and there has to be one.
fn follow<'a>(mut node: &'a Node, path: &mut JsonPath, outermost: bool) -> Option<&'a Node> {
    // From the last to the first.
    let mut steps = Vec::new();
    let mut is_last = outermost;
    while let Some(step) = step_of(node, is_last) {
        let step = step?;
        path.text |= step.text;
        steps.extend(step.keys.into_iter().rev());
        node = step.from;
        is_last = false;
    }
    path.steps.extend(steps.into_iter().rev());
    (!is_last).then_some(node)
}

/// The part of a path that one operator, call or subscripting is.
struct Step<'a> {
    from: &'a Node,
    keys: Vec<PathStep>,
    text: bool,
}

/// The step that a node is: None if it is something else, or gives text though it is not the last; `Some(None)` if its keys
/// are not constant.
fn step_of(node: &Node, is_last: bool) -> Option<Option<Step<'_>>> {
    if let Some(subscripting) = node.as_a::<SubscriptingRef>() {
        return Some(subscripts_of(subscripting));
    }
    let (function, args) = call_of(node)?;
    let &[from, key] = &args[..] else {
        return None;
    };
    let as_text = matches!(
        function,
        pg_sys::F_JSONB_OBJECT_FIELD_TEXT | pg_sys::F_JSONB_ARRAY_ELEMENT_TEXT | pg_sys::F_JSONB_EXTRACT_PATH_TEXT
    );
    if as_text && !is_last {
        return None;
    }
    let keys = match function {
        pg_sys::F_JSONB_OBJECT_FIELD | pg_sys::F_JSONB_OBJECT_FIELD_TEXT => {
            text(key).map(|key| vec![PathStep::Key(key)])
        }
        pg_sys::F_JSONB_ARRAY_ELEMENT | pg_sys::F_JSONB_ARRAY_ELEMENT_TEXT => {
            constant(key, pg_sys::INT4OID).map(|index| vec![PathStep::Item(index.value() as i32)])
        }
        pg_sys::F_JSONB_EXTRACT_PATH | pg_sys::F_JSONB_EXTRACT_PATH_TEXT => {
            texts(key).and_then(|keys| keys.into_iter().map(|key| key.map(key_of_path)).collect())
        }
        _ => return None,
    };
    Some(keys.map(|keys| Step {
        from,
        keys,
        text: as_text,
    }))
}

fn subscripts_of(subscripting: &SubscriptingRef) -> Option<Step<'_>> {
    let plain = subscripting.refcontainertype() == pg_sys::JSONBOID
        && subscripting.refassgnexpr().is_none()
        && !subscripting.reflowerindexpr().is_some();
    if !plain {
        return None;
    }
    let key = |subscript| match constant(subscript, pg_sys::INT4OID) {
        Some(index) => Some((index.value() as i32).to_string().into_bytes()),
        None => text(subscript),
    };
    let keys = subscripting.refupperindexpr().iter();
    let keys: Option<Vec<PathStep>> = keys.map(|subscript| key(subscript).map(key_of_path)).collect();
    Some(Step {
        from: subscripting.refexpr()?,
        keys: keys?,
        text: false,
    })
}

/// A key in `#>` and subscripts, which is an index as well if strtoint() reads it as one.
fn key_of_path(key: Vec<u8>) -> PathStep {
    let space = |b: &u8| matches!(b, b' ' | b'\t'..=b'\r');
    let skipped = key.iter().take_while(|b| space(b)).count();
    let index = std::str::from_utf8(&key[skipped..])
        .ok()
        .and_then(|digits| digits.parse().ok());
    match index {
        Some(index) => PathStep::KeyOrIndex(key, index),
        None => PathStep::Key(key),
    }
}
