//! Where PostgreSQL calls us in the midst of its own work: all of its hooks that we have, and the callbacks at the end
//! of transactions and for changes of relations. Whoever had a hook before us is called by us.

use crate::am::bulk;
use crate::maintenance::inline;
use crate::pg::Snapshot;
use crate::storage::map;
use crate::{am, arrow, columnar, memory, query};
use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::prelude::*;
use std::ffi::{c_char, c_void};

static mut NEXT_PLANNER: pg_sys::planner_hook_type = None;
static mut NEXT_RELATION_INFO: pg_sys::get_relation_info_hook_type = None;
static mut NEXT_REL_PATHS: pg_sys::set_rel_pathlist_hook_type = None;
static mut NEXT_JOIN_PATHS: pg_sys::set_join_pathlist_hook_type = None;
static mut NEXT_UPPER_PATHS: pg_sys::create_upper_paths_hook_type = None;
static mut NEXT_START: pg_sys::ExecutorStart_hook_type = None;
static mut NEXT_RUN: pg_sys::ExecutorRun_hook_type = None;
static mut NEXT_FINISH: pg_sys::ExecutorFinish_hook_type = None;
static mut NEXT_UTILITY: pg_sys::ProcessUtility_hook_type = None;

/// Called once, from `_PG_init`.
pub fn init() {
    // SAFETY: a backend has one thread.
    unsafe {
        NEXT_PLANNER = pg_sys::planner_hook;
        pg_sys::planner_hook = Some(planner);
        NEXT_RELATION_INFO = pg_sys::get_relation_info_hook;
        pg_sys::get_relation_info_hook = Some(relation_info);
        NEXT_REL_PATHS = pg_sys::set_rel_pathlist_hook;
        pg_sys::set_rel_pathlist_hook = Some(rel_paths);
        NEXT_JOIN_PATHS = pg_sys::set_join_pathlist_hook;
        pg_sys::set_join_pathlist_hook = Some(join_paths);
        NEXT_UPPER_PATHS = pg_sys::create_upper_paths_hook;
        pg_sys::create_upper_paths_hook = Some(upper_paths);
        NEXT_START = pg_sys::ExecutorStart_hook;
        pg_sys::ExecutorStart_hook = Some(executor_start);
        NEXT_RUN = pg_sys::ExecutorRun_hook;
        pg_sys::ExecutorRun_hook = Some(executor_run);
        NEXT_FINISH = pg_sys::ExecutorFinish_hook;
        pg_sys::ExecutorFinish_hook = Some(executor_finish);
        NEXT_UTILITY = pg_sys::ProcessUtility_hook;
        pg_sys::ProcessUtility_hook = Some(process_utility);
        pg_sys::RegisterXactCallback(Some(transaction), std::ptr::null_mut());
        pg_sys::RegisterSubXactCallback(Some(subtransaction), std::ptr::null_mut());
        pg_sys::CacheRegisterRelcacheCallback(Some(invalidate), pg_sys::Datum::null());
    }
}

/// What is done to a query before PostgreSQL plans it, and to the plan.
#[pg_guard]
unsafe extern "C-unwind" fn planner(
    parse: *mut pg_sys::Query,
    text: *const c_char,
    options: i32,
    params: pg_sys::ParamListInfo,
) -> *mut pg_sys::PlannedStmt {
    query::unnest_in_subqueries(parse);
    let planned = match NEXT_PLANNER {
        Some(next) => next(parse, text, options, params),
        None => pg_sys::standard_planner(parse, text, options, params),
    };
    query::decide_jit(&mut *planned);
    planned
}

#[pg_guard]
unsafe extern "C-unwind" fn relation_info(
    root: *mut pg_sys::PlannerInfo,
    table: pg_sys::Oid,
    inhparent: bool,
    rel: *mut pg_sys::RelOptInfo,
) {
    if let Some(next) = NEXT_RELATION_INFO {
        next(root, table, inhparent, rel);
    }
    query::relation_info(root, table, inhparent, rel);
}

#[pg_guard]
unsafe extern "C-unwind" fn rel_paths(
    root: *mut pg_sys::PlannerInfo,
    rel: *mut pg_sys::RelOptInfo,
    rti: pg_sys::Index,
    rte: *mut pg_sys::RangeTblEntry,
) {
    if let Some(next) = NEXT_REL_PATHS {
        next(root, rel, rti, rte);
    }
    query::add_scan_paths(root, rel, rte);
}

#[pg_guard]
unsafe extern "C-unwind" fn join_paths(
    root: *mut pg_sys::PlannerInfo,
    joinrel: *mut pg_sys::RelOptInfo,
    outer: *mut pg_sys::RelOptInfo,
    inner: *mut pg_sys::RelOptInfo,
    jointype: pg_sys::JoinType::Type,
    extra: *mut pg_sys::JoinPathExtraData,
) {
    if let Some(next) = NEXT_JOIN_PATHS {
        next(root, joinrel, outer, inner, jointype, extra);
    }
    query::add_join_paths(root, joinrel, outer, inner, jointype, extra);
}

#[pg_guard]
unsafe extern "C-unwind" fn upper_paths(
    root: *mut pg_sys::PlannerInfo,
    stage: pg_sys::UpperRelationKind::Type,
    input: *mut pg_sys::RelOptInfo,
    output: *mut pg_sys::RelOptInfo,
    extra: *mut c_void,
) {
    if let Some(next) = NEXT_UPPER_PATHS {
        next(root, stage, input, output, extra);
    }
    query::add_group_paths(root, stage, input, output);
}

/// Workers get what was loaded so far; then the plan's nodes are there, and told what they cannot know of themselves.
#[pg_guard]
unsafe extern "C-unwind" fn executor_start(query: *mut pg_sys::QueryDesc, flags: i32) {
    if (*(*query).plannedstmt).parallelModeNeeded && !bulk::idle() {
        bulk::finish_for_workers(Snapshot::of((*query).snapshot));
    }
    match NEXT_START {
        Some(next) => next(query, flags),
        None => pg_sys::standard_ExecutorStart(query, flags),
    }
    #[cfg(not(feature = "pg18"))]
    am::prefetch::of_plan((*query).planstate);
    query::offer_keys(query);
}

#[cfg(not(feature = "pg18"))]
#[pg_guard]
unsafe extern "C-unwind" fn executor_run(
    query: *mut pg_sys::QueryDesc,
    direction: pg_sys::ScanDirection::Type,
    count: u64,
    once: bool,
) {
    let _running = query::Running::begin(count == 0 && once);
    // PostgreSQL's errors must not jump over our frames.
    match NEXT_RUN {
        Some(next) => pg_guard_ffi_boundary(|| next(query, direction, count, once)),
        None => pg_sys::standard_ExecutorRun(query, direction, count, once),
    }
}

#[cfg(feature = "pg18")]
#[pg_guard]
unsafe extern "C-unwind" fn executor_run(
    query: *mut pg_sys::QueryDesc,
    direction: pg_sys::ScanDirection::Type,
    count: u64,
) {
    let _running = query::Running::begin(count == 0);
    match NEXT_RUN {
        Some(next) => pg_guard_ffi_boundary(|| next(query, direction, count)),
        None => pg_sys::standard_ExecutorRun(query, direction, count),
    }
}

/// INSERT ... SELECT has no other end: what it loaded is published before its AFTER triggers fire.
#[pg_guard]
unsafe extern "C-unwind" fn executor_finish(query: *mut pg_sys::QueryDesc) {
    // A query that a function runs meanwhile only to read has no command id of its own (it says 0).
    let writes = (*query).operation != pg_sys::CmdType::CMD_SELECT || (*(*query).plannedstmt).hasModifyingCTE;
    if writes && !bulk::idle() {
        bulk::finish_command((*(*query).estate).es_output_cid);
    }
    match NEXT_FINISH {
        Some(next) => next(query),
        None => pg_sys::standard_ExecutorFinish(query),
    }
}

/// COPY with FORMAT arrow is ours, every other utility statement goes on untouched.
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
    if (*statement).type_ == pg_sys::NodeTag::T_CopyStmt && arrow::is_arrow(statement.cast::<pg_sys::CopyStmt>()) {
        let processed = arrow::copy(planned, source, environment);
        if !completion.is_null() {
            (*completion).commandTag = pg_sys::CommandTag::CMDTAG_COPY;
            (*completion).nprocessed = processed;
        }
        return;
    }
    match NEXT_UTILITY {
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

#[pg_guard]
unsafe extern "C-unwind" fn transaction(event: pg_sys::XactEvent::Type, _arg: *mut c_void) {
    use pg_sys::XactEvent::*;
    if memory::is_ending() {
        return;
    }
    match event {
        XACT_EVENT_PRE_COMMIT => {
            bulk::finish_transaction(None);
            inline::at_commit();
        }
        XACT_EVENT_PRE_PREPARE => bulk::finish_transaction(None),
        XACT_EVENT_ABORT => {
            bulk::forget(None);
            drop(map::take_grown());
            memory::settle();
        }
        XACT_EVENT_COMMIT | XACT_EVENT_PREPARE => memory::settle(),
        // What has grown in a transaction that is prepared is looked at by the next one that commits here, COMMIT
        // PREPARED perhaps.
        _ => {}
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn subtransaction(
    event: pg_sys::SubXactEvent::Type,
    own: pg_sys::SubTransactionId,
    _parent: pg_sys::SubTransactionId,
    _arg: *mut c_void,
) {
    use pg_sys::SubXactEvent::*;
    if memory::is_ending() {
        return;
    }
    match event {
        SUBXACT_EVENT_PRE_COMMIT_SUB => bulk::finish_transaction(Some(own)),
        SUBXACT_EVENT_ABORT_SUB => {
            bulk::forget(Some(own));
            memory::settle();
        }
        _ => {}
    }
}

/// The relation changed in some way, or any.
#[pg_guard]
unsafe extern "C-unwind" fn invalidate(_arg: pg_sys::Datum, relid: pg_sys::Oid) {
    if !memory::is_ending() {
        columnar::invalidate(relid);
    }
}
