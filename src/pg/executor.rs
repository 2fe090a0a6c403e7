//! What executor.h has as macros and inline functions.

use pgrx::pg_sys;

/// GetPerTupleExprContext().
pub unsafe fn per_tuple_context(estate: *mut pg_sys::EState) -> *mut pg_sys::ExprContext {
    if (*estate).es_per_tuple_exprcontext.is_null() {
        pg_sys::MakePerTupleExprContext(estate)
    } else {
        (*estate).es_per_tuple_exprcontext
    }
}

/// ExecQual() (executor.h).
pub unsafe fn exec_qual(predicate: *mut pg_sys::ExprState, econtext: *mut pg_sys::ExprContext) -> bool {
    let mut isnull = false;
    let evaluate = (*predicate).evalfunc.expect("a prepared expression");
    let old = pg_sys::MemoryContextSwitchTo((*econtext).ecxt_per_tuple_memory);
    let result = evaluate(predicate, econtext, &mut isnull);
    pg_sys::MemoryContextSwitchTo(old);
    result.value() != 0
}
