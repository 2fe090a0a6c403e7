//! SQL/JSON paths that are conditions on a document.

use super::constant::{constant, json, value};
use crate::encoding;
use crate::pg::node::Node;
use amax_format::Question;
use amax_jsonb::Value;
use pgrx::pg_sys;

/// The question that a call of an SQL/JSON path function is, whose first argument is what it asks about: whether a
/// constant path finds something, or what a predicate says. It raises no error.
pub fn condition_of(function: u32, args: &[&Node]) -> Option<Question> {
    let exists = match function {
        pg_sys::F_JSONB_PATH_EXISTS_OPR | pg_sys::F_JSONB_PATH_EXISTS => true,
        pg_sys::F_JSONB_PATH_MATCH_OPR | pg_sys::F_JSONB_PATH_MATCH => false,
        _ => return None,
    };
    let (path, rest) = args.get(1..)?.split_first()?;
    // Variables, of which there are none in the path but which have to be an object, and `silent`.
    let fits = match rest {
        [] => true,
        [variables, silent] => {
            matches!(amax_jsonb::root(json(variables)?), Ok(Value::Object(_))) && value(silent).is_some()
        }
        _ => false,
    };
    let path = text_of(path).filter(|_| fits)?;
    let question = match exists {
        true => Question::path_exists(path)?,
        false => Question::path_matches(path)?,
    };
    // PostgreSQL orders strings as in UTF-8 (compareStrings() of jsonpath_exec.c).
    let orders = matches!(&question, Question::Condition(condition, _) if condition.orders_strings());
    (!(orders && encoding::is_converted())).then_some(question)
}

/// A constant path as text.
pub fn text_of(node: &Node) -> Option<&str> {
    let path = constant(node, pg_sys::JSONPATHOID)?;
    // SAFETY: of a constant path.
    let text: &std::ffi::CStr = unsafe { pgrx::direct_function_call(pg_sys::jsonpath_out, &[Some(path)])? };
    text.to_str().ok()
}
