//! Where PostgreSQL calls us in the midst of its own work: all of its hooks that we have, and the callbacks at the end
//! of transactions and for changes of relations. Whoever had a hook before us is called by us.

use crate::maintenance::inline;
use crate::pg::Snapshot;
use crate::pg::guard::guarded;
use crate::pg::node::Node;
use crate::pg::parse::{Query, RangeTblEntry};
use crate::pg::plan::PlannedStmt;
use crate::pg::planner::{JoinPathExtraData, PlannerInfo, RelOptInfo};
use crate::pg::report::Report;
use crate::pg::state::QueryDesc;
use crate::pg::statistics::VariableStatData;
use crate::storage::map;
use crate::storage::watch::Watch;
use crate::table::load;
use crate::{am, arrow, columnar, hints, memory, options, query};
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

/// Declares those of PostgreSQL's hooks that we have, each with its type and with what we do.
macro_rules! hooks {
    ($($hook:ident: $type:ident = $ours:ident,)*) => {
        /// Whoever had the hooks before us.
        #[allow(non_snake_case)]
        struct Next {
            $($hook: pg_sys::$type,)*
        }

        fn take_hooks() {
            // SAFETY: a backend has one thread, and nobody calls a hook meanwhile.
            unsafe {
                NEXT.get_or_init(|| Next { $($hook: pg_sys::$hook,)* });
                $(pg_sys::$hook = Some($ours);)*
            }
        }
    };
}

hooks! {
    planner_hook: planner_hook_type = planner,
    get_relation_info_hook: get_relation_info_hook_type = relation_info,
    get_index_stats_hook: get_index_stats_hook_type = index_stats,
    get_relation_stats_hook: get_relation_stats_hook_type = relation_stats,
    set_rel_pathlist_hook: set_rel_pathlist_hook_type = rel_paths,
    set_join_pathlist_hook: set_join_pathlist_hook_type = join_paths,
    create_upper_paths_hook: create_upper_paths_hook_type = upper_paths,
    ExecutorStart_hook: ExecutorStart_hook_type = executor_start,
    ExecutorRun_hook: ExecutorRun_hook_type = executor_run,
    ExecutorFinish_hook: ExecutorFinish_hook_type = executor_finish,
    ProcessUtility_hook: ProcessUtility_hook_type = process_utility,
    object_access_hook: object_access_hook_type = object_access,
    emit_log_hook: emit_log_hook_type = emit_log,
}

static NEXT: OnceLock<Next> = OnceLock::new();

fn next() -> &'static Next {
    NEXT.get().expect("the hooks were taken before they are called")
}

/// Calls whoever had a hook before us, or else PostgreSQL's own function, where there is one; `if`: whether they have done it.
macro_rules! go_on {
    ($hook:ident($($argument:expr),*)) => {
        if let Some(next) = next().$hook {
            guarded!(next($($argument),*))
        }
    };
    (if $hook:ident($($argument:expr),*)) => {
        next().$hook.is_some_and(|next| guarded!(next($($argument),*)))
    };
    ($hook:ident or $own:ident($($argument:expr),*)) => {
        match next().$hook {
            Some(next) => guarded!(next($($argument),*)),
            None => pg_sys::$own($($argument),*),
        }
    };
}

/// Called once, from `_PG_init`.
pub fn init() {
    take_hooks();
    let nothing = std::ptr::null_mut();
    // SAFETY: functions of the types that they are called as.
    unsafe {
        pg_sys::RegisterXactCallback(Some(transaction), nothing);
        pg_sys::RegisterSubXactCallback(Some(subtransaction), nothing);
        pg_sys::CacheRegisterRelcacheCallback(Some(invalidate), pg_sys::Datum::null());
    }
}

// All below are called by PostgreSQL alone, as the types of its hooks and callbacks say, and pass on what they are given.

/// What is done to a query before PostgreSQL plans it, and to the plan.
///
/// # Safety
/// As planner() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn planner(
    parse: *mut pg_sys::Query,
    text: *const c_char,
    options: i32,
    params: pg_sys::ParamListInfo,
) -> *mut pg_sys::PlannedStmt {
    // SAFETY: as the caller promises.
    unsafe {
        query::unnest_in_subqueries(Query::of(parse));
        let _planning = query::Planning::begin();
        query::begin_statistics();
        let planned = go_on!(planner_hook or standard_planner(parse, text, options, params));
        query::decide_jit(PlannedStmt::of(planned));
        planned
    }
}

/// # Safety
/// As get_relation_info() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn relation_info(
    root: *mut pg_sys::PlannerInfo,
    table: pg_sys::Oid,
    inhparent: bool,
    rel: *mut pg_sys::RelOptInfo,
) {
    // SAFETY: as the caller promises.
    unsafe {
        go_on!(get_relation_info_hook(root, table, inhparent, rel));
        query::relation_info(PlannerInfo::of(root), table, inhparent, RelOptInfo::of(rel));
    }
}

/// Statistics of an expression that an index has, or that looks as if.
///
/// # Safety
/// As examine_variable() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn index_stats(
    root: *mut pg_sys::PlannerInfo,
    index: pg_sys::Oid,
    column: pg_sys::AttrNumber,
    data: *mut pg_sys::VariableStatData,
) -> bool {
    // SAFETY: as the caller promises.
    unsafe {
        go_on!(if get_index_stats_hook(root, index, column, data))
            || query::index_statistics(PlannerInfo::of(root), index, column, VariableStatData::of(data))
    }
}

/// Statistics of a column, of a subquery's too.
///
/// # Safety
/// As examine_variable() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn relation_stats(
    root: *mut pg_sys::PlannerInfo,
    rte: *mut pg_sys::RangeTblEntry,
    column: pg_sys::AttrNumber,
    data: *mut pg_sys::VariableStatData,
) -> bool {
    // SAFETY: as the caller promises.
    unsafe {
        go_on!(if get_relation_stats_hook(root, rte, column, data)) || {
            let (root, rte) = (PlannerInfo::of(root), RangeTblEntry::of(rte));
            query::column_statistics(root, rte, column, VariableStatData::of(data))
        }
    }
}

/// # Safety
/// As set_rel_pathlist() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn rel_paths(
    root: *mut pg_sys::PlannerInfo,
    rel: *mut pg_sys::RelOptInfo,
    rti: pg_sys::Index,
    rte: *mut pg_sys::RangeTblEntry,
) {
    // SAFETY: as the caller promises.
    unsafe {
        go_on!(set_rel_pathlist_hook(root, rel, rti, rte));
        query::add_scan_paths(PlannerInfo::of(root), RelOptInfo::of(rel), RangeTblEntry::of(rte));
    }
}

/// # Safety
/// As add_paths_to_joinrel() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn join_paths(
    root: *mut pg_sys::PlannerInfo,
    joinrel: *mut pg_sys::RelOptInfo,
    outer: *mut pg_sys::RelOptInfo,
    inner: *mut pg_sys::RelOptInfo,
    jointype: pg_sys::JoinType::Type,
    extra: *mut pg_sys::JoinPathExtraData,
) {
    // SAFETY: as the caller promises.
    unsafe {
        go_on!(set_join_pathlist_hook(root, joinrel, outer, inner, jointype, extra));
        let (joinrel, outer, inner) = (RelOptInfo::of(joinrel), RelOptInfo::of(outer), RelOptInfo::of(inner));
        let extra = JoinPathExtraData::of(extra);
        query::add_join_paths(PlannerInfo::of(root), joinrel, outer, inner, jointype, extra);
    }
}

/// # Safety
/// As grouping_planner() and its like call it.
#[pg_guard]
unsafe extern "C-unwind" fn upper_paths(
    root: *mut pg_sys::PlannerInfo,
    stage: pg_sys::UpperRelationKind::Type,
    input: *mut pg_sys::RelOptInfo,
    output: *mut pg_sys::RelOptInfo,
    extra: *mut c_void,
) {
    // SAFETY: as the caller promises.
    unsafe {
        go_on!(create_upper_paths_hook(root, stage, input, output, extra));
        let (root, output) = (PlannerInfo::of(root), RelOptInfo::of(output));
        let input = (!input.is_null()).then(|| RelOptInfo::of(input));
        query::add_group_paths(root, stage, input, output);
        query::add_ordered_paths(root, stage, input, output);
    }
}

/// Workers get what was loaded so far; then the plan's nodes are there, and told what they cannot know of themselves.
///
/// # Safety
/// As ExecutorStart() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn executor_start(query: *mut pg_sys::QueryDesc, flags: i32) {
    // SAFETY: as the caller promises.
    unsafe {
        if (*(*query).plannedstmt).parallelModeNeeded && !load::idle() {
            load::finish_for_workers(Snapshot::of_any((*query).snapshot));
        }
        go_on!(ExecutorStart_hook or standard_ExecutorStart(query, flags));
        #[cfg(not(feature = "pg18"))]
        crate::am::prefetch::of_plan((*query).planstate);
        query::offer_keys(QueryDesc::of(query));
    }
    // Sessions that only look rows up begin no scans.
    crate::columnar::drop_stale();
}

/// # Safety
/// As ExecutorRun() calls it.
#[cfg(not(feature = "pg18"))]
#[pg_guard]
unsafe extern "C-unwind" fn executor_run(
    query: *mut pg_sys::QueryDesc,
    direction: pg_sys::ScanDirection::Type,
    count: u64,
    once: bool,
) {
    let _running = query::Running::begin(count == 0 && once);
    // SAFETY: as the caller promises.
    unsafe { go_on!(ExecutorRun_hook or standard_ExecutorRun(query, direction, count, once)) }
}

/// # Safety
/// As ExecutorRun() calls it.
#[cfg(feature = "pg18")]
#[pg_guard]
unsafe extern "C-unwind" fn executor_run(
    query: *mut pg_sys::QueryDesc,
    direction: pg_sys::ScanDirection::Type,
    count: u64,
) {
    let _running = query::Running::begin(count == 0);
    // SAFETY: as the caller promises.
    unsafe { go_on!(ExecutorRun_hook or standard_ExecutorRun(query, direction, count)) }
}

/// INSERT ... SELECT has no other end: what it loaded is published before its AFTER triggers fire.
///
/// # Safety
/// As ExecutorFinish() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn executor_finish(query: *mut pg_sys::QueryDesc) {
    // SAFETY: as the caller promises.
    let (command, plan, estate) = unsafe { ((*query).operation, &*(*query).plannedstmt, &*(*query).estate) };
    // A query that a function runs meanwhile only to read has no command id of its own (it says 0).
    let writes = command != pg_sys::CmdType::CMD_SELECT || plan.hasModifyingCTE;
    if writes && !load::idle() {
        load::finish_command(estate.es_output_cid);
    }
    // SAFETY: as the caller promises.
    unsafe { go_on!(ExecutorFinish_hook or standard_ExecutorFinish(query)) }
}

/// COPY with FORMAT arrow or parquet is ours, and so is COPY of a table's documents as text; every other utility statement goes on untouched.
///
/// # Safety
/// As ProcessUtility() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn process_utility(
    planned: *mut pg_sys::PlannedStmt,
    source: *const c_char,
    tree: bool,
    context: pg_sys::ProcessUtilityContext::Type,
    params: pg_sys::ParamListInfo,
    environment: *mut pg_sys::QueryEnvironment,
    dest: *mut pg_sys::DestReceiver,
    completion: *mut pg_sys::QueryCompletion,
) {
    // SAFETY: as the caller promises: all of it stays until we return, and so does the current memory context.
    unsafe {
        let statement = Node::of((*planned).utilityStmt);
        let copied = if let Some(copy) = arrow::Statement::of(planned).filter(arrow::is_ours) {
            Some(arrow::copy(copy, arrow::Scope::of(CStr::from_ptr(source), environment)))
        } else if let (Some(copy), None) = (statement.as_a(), next().ProcessUtility_hook) {
            // Others would not see it.
            am::copy::as_text(copy, CStr::from_ptr(source), environment)
        } else {
            None
        };
        if let Some(processed) = copied {
            if let Some(completion) = completion.as_mut() {
                completion.commandTag = pg_sys::CommandTag::CMDTAG_COPY;
                completion.nprocessed = processed;
            }
            return;
        }
        go_on!(ProcessUtility_hook or standard_ProcessUtility(
            planned, source, tree, context, params, environment, dest, completion
        ))
    }
}

/// # Safety
/// As objectaccess.c calls it.
#[pg_guard]
unsafe extern "C-unwind" fn object_access(
    access: pg_sys::ObjectAccessType::Type,
    class: pg_sys::Oid,
    object: pg_sys::Oid,
    part: i32,
    argument: *mut c_void,
) {
    // SAFETY: as the caller promises.
    unsafe { go_on!(object_access_hook(access, class, object, part, argument)) }
    if access == pg_sys::ObjectAccessType::OAT_POST_ALTER && class == pg_sys::RelationRelationId && part == 0 {
        options::altered(object);
    }
}

/// # Safety
/// As EmitErrorReport() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn emit_log(report: *mut pg_sys::ErrorData) {
    // SAFETY: as the caller promises.
    unsafe {
        if !memory::is_ending() {
            hints::add_to(Report::of(report));
        }
        go_on!(emit_log_hook(report));
    }
}

fn finish(subxact: Option<pg_sys::SubTransactionId>) {
    load::finish_transaction(subxact)
}

/// # Safety
/// As xact.c calls it.
#[pg_guard]
unsafe extern "C-unwind" fn transaction(event: pg_sys::XactEvent::Type, _arg: *mut c_void) {
    use pg_sys::XactEvent::*;
    if memory::is_ending() {
        return;
    }
    match event {
        XACT_EVENT_PRE_COMMIT => {
            finish(None);
            inline::at_commit();
        }
        XACT_EVENT_PRE_PREPARE => finish(None),
        XACT_EVENT_ABORT => {
            load::forget(None);
            drop(map::take_grown());
            Watch::end_all();
            columnar::stub::ahead::forget();
            memory::settle();
            columnar::idle::after_transaction(false);
        }
        XACT_EVENT_COMMIT | XACT_EVENT_PREPARE => {
            Watch::end_all();
            columnar::stub::ahead::forget();
            memory::settle();
            columnar::idle::after_transaction(true);
        }
        // What has grown in a transaction that is prepared is looked at by the next one that commits here, COMMIT
        // PREPARED perhaps.
        _ => {}
    }
}

/// # Safety
/// As xact.c calls it.
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
        SUBXACT_EVENT_PRE_COMMIT_SUB => finish(Some(own)),
        SUBXACT_EVENT_ABORT_SUB => {
            load::forget(Some(own));
            columnar::stub::ahead::forget();
            memory::settle();
        }
        _ => {}
    }
}

/// The relation changed in some way, or any.
///
/// # Safety
/// As inval.c calls it.
#[pg_guard]
unsafe extern "C-unwind" fn invalidate(_arg: pg_sys::Datum, relid: pg_sys::Oid) {
    if !memory::is_ending() {
        columnar::invalidate(relid);
        query::forget_statistics(relid);
    }
}
