//! What executor.h has as macros and inline functions.

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

/// ExecQual() (executor.h).
///
/// # Safety
/// A prepared expression, and a context with what it reads.
pub unsafe fn exec_qual(predicate: *mut pg_sys::ExprState, econtext: *mut pg_sys::ExprContext) -> bool {
    let mut isnull = false;
    // SAFETY: as the caller promises.
    unsafe {
        let evaluate = (*predicate).evalfunc.expect("a prepared expression");
        let old = pg_sys::MemoryContextSwitchTo((*econtext).ecxt_per_tuple_memory);
        let result = evaluate(predicate, econtext, &mut isnull);
        pg_sys::MemoryContextSwitchTo(old);
        result.value() != 0
    }
}

/// ExecClearTuple() (tuptable.h).
///
/// # Safety
/// A live slot.
pub unsafe fn clear_slot(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: as the caller promises.
    unsafe { (*(*slot).tts_ops).clear.expect("every slot can be cleared")(slot) }
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
