//! What executor.h has as macros and inline functions. PostgreSQL's errors become panics here: they do not jump over frames
//! of ours.

use super::guard::guarded;
use pgrx::pg_sys;

/// GetPerTupleExprContext().
///
/// # Safety
/// A live executor state.
pub unsafe fn per_tuple_context(estate: *mut pg_sys::EState) -> *mut pg_sys::ExprContext {
    // SAFETY: as the caller promises.
    unsafe {
        if (*estate).es_per_tuple_exprcontext.is_null() {
            pg_sys::MakePerTupleExprContext(estate)
        } else {
            (*estate).es_per_tuple_exprcontext
        }
    }
}

/// ExecEvalExprSwitchContext() (executor.h): the value for one row, in the expression context's memory for it.
///
/// # Safety
/// A prepared expression, and a context with what it reads.
pub unsafe fn eval(expression: *mut pg_sys::ExprState, econtext: *mut pg_sys::ExprContext) -> (pg_sys::Datum, bool) {
    let mut isnull = false;
    // SAFETY: as the caller promises.
    let value = unsafe { eval_to(expression, econtext, &mut isnull) };
    (value, isnull)
}

/// # Safety
/// As for [`eval`]; a place for whether it is NULL, if it has a value.
unsafe fn eval_to(
    expression: *mut pg_sys::ExprState,
    econtext: *mut pg_sys::ExprContext,
    isnull: *mut bool,
) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let evaluate = (*expression).evalfunc.expect("a prepared expression");
        let old = pg_sys::MemoryContextSwitchTo((*econtext).ecxt_per_tuple_memory);
        let value = guarded!(evaluate(expression, econtext, isnull));
        pg_sys::MemoryContextSwitchTo(old);
        value
    }
}

/// ExecQual() (executor.h): whether a condition is true; there may be none.
///
/// # Safety
/// A prepared expression or null, and a context with what it reads.
pub unsafe fn holds(condition: *mut pg_sys::ExprState, econtext: *mut pg_sys::ExprContext) -> bool {
    if condition.is_null() {
        return true;
    }
    // SAFETY: as the caller promises.
    let (value, isnull) = unsafe { eval(condition, econtext) };
    !isnull && value.value() & 0xff != 0
}

/// ExecProject() (executor.h) of a row that the node has in `row` and in its expression context. A node whose target list is the
/// row as it is has no projection (ExecConditionalAssignProjectionInfo()).
///
/// # Safety
/// A node that has begun, and a slot with a row.
pub unsafe fn project(node: &pg_sys::PlanState, row: *mut pg_sys::TupleTableSlot) -> *mut pg_sys::TupleTableSlot {
    let projection = node.ps_ProjInfo;
    if projection.is_null() {
        return row;
    }
    let mut unused = false;
    let isnull = match cfg!(feature = "pg18") {
        true => std::ptr::null_mut(),
        false => &raw mut unused,
    };
    // SAFETY: as the caller promises.
    unsafe {
        let econtext = (*projection).pi_exprContext;
        let state = &mut (*projection).pi_state;
        let slot = state.resultslot;
        clear_slot(slot);
        // It has no value: 18 asserts that nobody asks (ExecEvalExprNoReturnSwitchContext()).
        eval_to(state, econtext, isnull);
        (*slot).tts_flags &= !(pg_sys::TTS_FLAG_EMPTY as u16);
        (*slot).tts_nvalid = (*(*slot).tts_tupleDescriptor).natts as i16;
        slot
    }
}

/// ExecProcNode() (executor.h).
///
/// # Safety
/// A node that has begun.
pub unsafe fn next_row(node: *mut pg_sys::PlanState) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: as the caller promises.
    unsafe {
        if !(*node).chgParam.is_null() {
            pg_sys::ExecReScan(node);
        }
        let next = (*node).ExecProcNode.expect("every node can be executed");
        guarded!(next(node))
    }
}

/// ExecClearTuple() (tuptable.h).
///
/// # Safety
/// A live slot.
pub unsafe fn clear_slot(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: as the caller promises.
    unsafe {
        let clear = (*(*slot).tts_ops).clear.expect("every slot can be cleared");
        guarded!(clear(slot));
    }
}

/// Raises an error unless the user may call the aggregate (ExecInitAgg()).
pub fn check_aggregate(function: pg_sys::Oid) {
    // SAFETY: user and function are looked up.
    unsafe {
        let (user, execute) = (pg_sys::GetUserId(), pg_sys::ACL_EXECUTE as pg_sys::AclMode);
        #[cfg(feature = "pg15")]
        let allowed = pg_sys::pg_proc_aclcheck(function, user, execute);
        #[cfg(not(feature = "pg15"))]
        let allowed = pg_sys::object_aclcheck(pg_sys::ProcedureRelationId, function, user, execute);
        if allowed != pg_sys::AclResult::ACLCHECK_OK {
            let name = pg_sys::get_func_name(function);
            pg_sys::aclcheck_error(allowed, pg_sys::ObjectType::OBJECT_AGGREGATE, name);
        }
    }
}

/// Raises an error if the stack is used up.
pub fn check_stack_depth() {
    // SAFETY: looks at the stack and a setting.
    unsafe { pg_sys::check_stack_depth() }
}
