//! SQL/JSON paths that are conditions on a document.

use super::constant::{constant, json, value};
use crate::encoding;
use crate::pg::node::Node;
use amax_format::Question;
use amax_jsonb::Value;
use amax_jsonb::jsonpath::with_variables;
use pgrx::pg_sys;

/// What an SQL/JSON path function is asked for.
pub enum Asked {
    Exists,
    Matches,
    First,
    All,
}

/// None: it is another function.
pub fn asked_by(function: u32) -> Option<Asked> {
    match function {
        pg_sys::F_JSONB_PATH_EXISTS_OPR | pg_sys::F_JSONB_PATH_EXISTS | pg_sys::F_JSONB_PATH_EXISTS_TZ => {
            Some(Asked::Exists)
        }
        pg_sys::F_JSONB_PATH_MATCH_OPR | pg_sys::F_JSONB_PATH_MATCH | pg_sys::F_JSONB_PATH_MATCH_TZ => {
            Some(Asked::Matches)
        }
        pg_sys::F_JSONB_PATH_QUERY_FIRST | pg_sys::F_JSONB_PATH_QUERY_FIRST_TZ => Some(Asked::First),
        pg_sys::F_JSONB_PATH_QUERY_ARRAY | pg_sys::F_JSONB_PATH_QUERY_ARRAY_TZ => Some(Asked::All),
        _ => None,
    }
}

/// The question that a call of an SQL/JSON path function is, whose first argument is what it asks about: whether a
/// constant path finds something, what a predicate says, or which values a path finds. It raises no error.
pub fn condition_of(function: u32, args: &[&Node]) -> Option<Question> {
    let path = || path_of(args.get(1..)?);
    // Times depend on the time zone only where a path makes them, and what is taken apart makes none.
    let question = match asked_by(function)? {
        Asked::Exists => Question::path_exists(&path()?),
        Asked::Matches => Question::path_matches(&path()?),
        Asked::First => Question::path_values(&path()?, true),
        Asked::All => Question::path_values(&path()?, false),
    }?;
    // PostgreSQL orders strings as in UTF-8 (compareStrings() of jsonpath_exec.c).
    let orders = match &question {
        Question::Condition(condition, _) | Question::Found(condition, ..) => condition.orders_strings(),
        _ => false,
    };
    (!(orders && encoding::is_converted())).then_some(question)
}

/// A constant path as text, with its variables; behind it may be those and `silent`.
fn path_of(args: &[&Node]) -> Option<String> {
    let (path, rest) = args.split_first()?;
    let path = text_of(path)?;
    match rest {
        [] => Some(path.to_owned()),
        [variables, silent] => {
            value(silent)?;
            match amax_jsonb::root(json(variables)?) {
                // Where there are none they are no matter, but for that they have to be an object.
                Ok(Value::Object(variables)) => with_variables(path, variables),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A constant path as text.
pub fn text_of(node: &Node) -> Option<&str> {
    let path = constant(node, pg_sys::JSONPATHOID)?;
    // SAFETY: of a constant path.
    let text: &std::ffi::CStr = unsafe { pgrx::direct_function_call(pg_sys::jsonpath_out, &[Some(path)])? };
    text.to_str().ok()
}
