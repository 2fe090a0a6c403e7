//! The utility hook: takes COPY with FORMAT arrow, passes everything else on untouched.

use std::ffi::c_char;

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::{pg_guard, pg_sys};

use super::{copy, options};

static mut PREVIOUS: pg_sys::ProcessUtility_hook_type = None;

pub fn init() {
    // SAFETY: a backend has one thread, and _PG_init runs once in it.
    unsafe {
        PREVIOUS = pg_sys::ProcessUtility_hook;
        pg_sys::ProcessUtility_hook = Some(process_utility);
    }
}

#[allow(clippy::too_many_arguments)] // ProcessUtility_hook_type
#[pg_guard]
unsafe extern "C-unwind" fn process_utility(
    planned: *mut pg_sys::PlannedStmt,
    source: *const c_char,
    read_only_tree: bool,
    context: pg_sys::ProcessUtilityContext::Type,
    params: pg_sys::ParamListInfo,
    environment: *mut pg_sys::QueryEnvironment,
    dest: *mut pg_sys::DestReceiver,
    completion: *mut pg_sys::QueryCompletion,
) {
    let statement = (*planned).utilityStmt;
    if (*statement).type_ == pg_sys::NodeTag::T_CopyStmt
        && options::is_arrow(statement.cast::<pg_sys::CopyStmt>())
    {
        let processed = copy::run(planned, source, environment);
        if !completion.is_null() {
            (*completion).commandTag = pg_sys::CommandTag::CMDTAG_COPY;
            (*completion).nprocessed = processed;
        }
        return;
    }
    match PREVIOUS {
        // A hook in C may raise errors by longjmp, which has to stop at the boundary.
        Some(next) => pg_guard_ffi_boundary(|| {
            next(
                planned,
                source,
                read_only_tree,
                context,
                params,
                environment,
                dest,
                completion,
            )
        }),
        None => pg_sys::standard_ProcessUtility(
            planned,
            source,
            read_only_tree,
            context,
            params,
            environment,
            dest,
            completion,
        ),
    }
}
