//! JSON paths in expressions: which are columns of their own.

use super::datum;
use super::tree::{is_a, nodes, operator_function};
use amax_format::{PathStep, Question};
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag;

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
    ///
    /// # Safety
    /// A well-formed expression tree.
    unsafe fn from(mut self, base: *mut pg_sys::Node, is_base: &dyn Fn(&pg_sys::Var) -> bool) -> Option<JsonPath> {
        // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
        unsafe {
            let var = &*(base as *mut pg_sys::Var);
            let ours = is_a(base, NodeTag::T_Var) && var.varattno > 0 && var.varlevelsup == 0 && is_base(var);
            ours.then(|| {
                self.attribute = var.varattno;
                self
            })
        }
    }
}

/// The path that an expression over a jsonb attribute is, if it is one: chains of `->`, `->>`, `#>`, `#>>` and
/// subscripts with constant keys.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn path_of(node: *mut pg_sys::Node, is_base: &dyn Fn(&pg_sys::Var) -> bool) -> Option<JsonPath> {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let mut path = JsonPath::EMPTY;
        let base = follow(node, &mut path, true)?;
        path.from(base, is_base).filter(|path| !path.steps.is_empty())
    }
}

/// The question about a path, or about a whole document, that an expression is, if it is one: jsonb_typeof,
/// jsonb_array_length, `?`, `?|` and `?&` with constant keys, `@>` and `<@` with a constant that is contained.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn question_of(
    node: *mut pg_sys::Node,
    is_base: &dyn Fn(&pg_sys::Var) -> bool,
) -> Option<(JsonPath, Question)> {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let (function, mut args) = call_of(node)?;
        if function == pg_sys::F_JSONB_CONTAINED {
            args.reverse();
        }
        let strings = |node| {
            // The operators pass over NULLs.
            text_array_constant(node).map(|keys| keys.into_iter().flatten().collect())
        };
        let question = match (function, &args[..]) {
            (pg_sys::F_JSONB_TYPEOF, [_]) => Question::Type,
            (pg_sys::F_JSONB_ARRAY_LENGTH, [_]) => Question::Length,
            (pg_sys::F_JSONB_EXISTS, &[_, key]) => Question::HasAny(vec![text_constant(key)?]),
            (pg_sys::F_JSONB_EXISTS_ANY, &[_, keys]) => Question::HasAny(strings(keys)?),
            (pg_sys::F_JSONB_EXISTS_ALL, &[_, keys]) => Question::HasAll(strings(keys)?),
            (pg_sys::F_JSONB_CONTAINS | pg_sys::F_JSONB_CONTAINED, &[_, sought]) => {
                Question::contains(super::containment::constant(sought)?)?
            }
            _ => return None,
        };
        let mut base = args[0];
        if is_a(base, NodeTag::T_PlaceHolderVar) {
            base = (*(base as *mut pg_sys::PlaceHolderVar)).phexpr as *mut pg_sys::Node;
        }
        let mut path = JsonPath::EMPTY;
        let base = follow(base, &mut path, false)?;
        Some((path.from(base, is_base)?, question))
    }
}

/// The function that an operator or a call is of, and its arguments.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn call_of(node: *mut pg_sys::Node) -> Option<(u32, Vec<*mut pg_sys::Node>)> {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        if node.is_null() {
            return None;
        }
        match (*node).type_ {
            NodeTag::T_OpExpr => {
                let op = &*(node as *mut pg_sys::OpExpr);
                Some((operator_function(op).to_u32(), nodes(op.args)))
            }
            NodeTag::T_FuncExpr => {
                let call = &*(node as *mut pg_sys::FuncExpr);
                Some((call.funcid.to_u32(), nodes(call.args)))
            }
            _ => None,
        }
    }
}

/// Appends the steps of `node`, first those below it; what they start from. None if something else than a path was
/// asked for, or if it has a step that is not constant. `outermost`: the last step may give text, and there has to be one.
///
/// # Safety
/// A well-formed expression tree.
unsafe fn follow(mut node: *mut pg_sys::Node, path: &mut JsonPath, outermost: bool) -> Option<*mut pg_sys::Node> {
    // From the last to the first.
    let mut steps = Vec::new();
    let mut is_last = outermost;
    loop {
        if node.is_null() {
            return None;
        }
        // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
        let Some(step) = (unsafe { step_of(node, is_last) }) else {
            break;
        };
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
struct Step {
    from: *mut pg_sys::Node,
    keys: Vec<PathStep>,
    text: bool,
}

/// The step that a node is: None if it is something else, or gives text though it is not the last; `Some(None)` if its keys
/// are not constant.
///
/// # Safety
/// A well-formed expression tree.
unsafe fn step_of(node: *mut pg_sys::Node, is_last: bool) -> Option<Option<Step>> {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        if is_a(node, NodeTag::T_SubscriptingRef) {
            let r = &*(node as *mut pg_sys::SubscriptingRef);
            if r.refcontainertype != pg_sys::JSONBOID || !r.refassgnexpr.is_null() || !r.reflowerindexpr.is_null() {
                return Some(None);
            }
            let key = |subscript| match constant(subscript, pg_sys::INT4OID) {
                Some(index) => Some((index.value() as i32).to_string().into_bytes()),
                None => text_constant(subscript),
            };
            let keys = nodes(r.refupperindexpr).into_iter();
            let keys: Option<Vec<PathStep>> = keys.map(|subscript| key(subscript).map(key_of_path)).collect();
            let from = r.refexpr as *mut pg_sys::Node;
            return Some(keys.map(|keys| Step {
                from,
                keys,
                text: false,
            }));
        }
        let (function, args) = call_of(node)?;
        let &[from, key] = &args[..] else {
            return None;
        };
        let text = matches!(
            function,
            pg_sys::F_JSONB_OBJECT_FIELD_TEXT | pg_sys::F_JSONB_ARRAY_ELEMENT_TEXT | pg_sys::F_JSONB_EXTRACT_PATH_TEXT
        );
        if text && !is_last {
            return None;
        }
        let keys = match function {
            pg_sys::F_JSONB_OBJECT_FIELD | pg_sys::F_JSONB_OBJECT_FIELD_TEXT => {
                text_constant(key).map(|key| vec![PathStep::Key(key)])
            }
            pg_sys::F_JSONB_ARRAY_ELEMENT | pg_sys::F_JSONB_ARRAY_ELEMENT_TEXT => {
                constant(key, pg_sys::INT4OID).map(|index| vec![PathStep::Item(index.value() as i32)])
            }
            pg_sys::F_JSONB_EXTRACT_PATH | pg_sys::F_JSONB_EXTRACT_PATH_TEXT => {
                text_array_constant(key).and_then(|keys| keys.into_iter().map(|key| key.map(key_of_path)).collect())
            }
            _ => return None,
        };
        Some(keys.map(|keys| Step { from, keys, text }))
    }
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
/// # Safety
/// A well-formed expression tree.
unsafe fn constant(node: *mut pg_sys::Node, ty: pg_sys::Oid) -> Option<pg_sys::Datum> {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let c = &*(node as *mut pg_sys::Const);
        (is_a(node, NodeTag::T_Const) && !c.constisnull && c.consttype == ty).then_some(c.constvalue)
    }
}
/// # Safety
/// A well-formed expression tree.
unsafe fn text_constant(node: *mut pg_sys::Node) -> Option<Vec<u8>> {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe { constant(node, pg_sys::TEXTOID).map(|datum| datum::varlena(datum).to_vec()) }
}

/// Elements, each None if NULL.
///
/// # Safety
/// A well-formed expression tree.
unsafe fn text_array_constant(node: *mut pg_sys::Node) -> Option<Vec<Option<Vec<u8>>>> {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let array = constant(node, pg_sys::TEXTARRAYOID)?;
        let (mut elements, mut nulls, mut n) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
        pg_sys::deconstruct_array(
            pg_sys::pg_detoast_datum(array.cast_mut_ptr()) as *mut pg_sys::ArrayType,
            pg_sys::TEXTOID,
            -1,
            false,
            pg_sys::TYPALIGN_INT as std::ffi::c_char,
            &mut elements,
            &mut nulls,
            &mut n,
        );
        let element = |i| (!*nulls.add(i)).then(|| datum::varlena(*elements.add(i)).to_vec());
        Some((0..n as usize).map(element).collect())
    }
}
