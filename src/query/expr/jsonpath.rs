//! What SQL/JSON paths look at: `doc @? '$.a.b[*] ? (@.c > $.d)'` needs `a.b` and `d` of a document, and nothing else.

use super::tree::is_a;
use amax_jsonb::jsonpath::looked_at;
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag;

/// A call of an SQL/JSON path function on a document, with a constant path: the document's attribute, and the keys that
/// lead to what the path looks at. Only lax paths: strict ones raise errors about what is missing.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn jsonpath_of(
    node: *mut pg_sys::Node,
    is_base: &dyn Fn(&pg_sys::Var) -> bool,
) -> Option<(i16, Vec<Vec<Vec<u8>>>)> {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let (function, args) = super::path::call_of(node)?;
        let known = matches!(
            function,
            pg_sys::F_JSONB_PATH_EXISTS_OPR
                | pg_sys::F_JSONB_PATH_MATCH_OPR
                | pg_sys::F_JSONB_PATH_EXISTS
                | pg_sys::F_JSONB_PATH_MATCH
                | pg_sys::F_JSONB_PATH_QUERY_FIRST
                | pg_sys::F_JSONB_PATH_QUERY_ARRAY
        );
        let (&base, rest) = args.split_first().filter(|_| known)?;
        let var = base as *mut pg_sys::Var;
        let ours = is_a(base, NodeTag::T_Var) && (*var).varattno > 0 && (*var).varlevelsup == 0 && is_base(&*var);
        let constant =
            |&node: &*mut pg_sys::Node| is_a(node, NodeTag::T_Const) && !(*(node as *mut pg_sys::Const)).constisnull;
        if !ours || !rest.iter().all(constant) {
            return None;
        }
        let path = (*(*rest.first()? as *mut pg_sys::Const)).constvalue;
        let text: &std::ffi::CStr = pgrx::direct_function_call(pg_sys::jsonpath_out, &[Some(path)])?;
        Some(((*var).varattno, looked_at(text.to_str().ok()?)?))
    }
}
