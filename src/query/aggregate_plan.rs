//! Planning aggregates over one scan: an upper path that takes the place of PostgreSQL's Agg node.

use super::compile::is_pure;
use super::datum::type_of;
use super::entry::target_list;
use super::plan::{PathMethods, ScanMethods, PATH};
use super::tree::{equal, is_a, list, make, nodes, walk};
use crate::guc;
use amax_exec::{Aggregate, Function, Type};
use pgrx::pg_sys::*;
use pgrx::prelude::*;

pub static mut NEXT_UPPER: create_upper_paths_hook_type = None;

static AGGREGATE_PATH: PathMethods = PathMethods(CustomPathMethods {
    CustomName: c"AmaxAggregate".as_ptr(),
    PlanCustomPath: Some(plan_path),
    ReparameterizeCustomPathByChild: None,
});

pub static AGGREGATE_SCAN: ScanMethods = ScanMethods(CustomScanMethods {
    CustomName: c"AmaxAggregate".as_ptr(),
    CreateCustomScanState: Some(super::aggregate::create),
});

/// create_upper_paths_hook.
#[pg_guard]
pub unsafe extern "C-unwind" fn add_paths(
    root: *mut PlannerInfo,
    stage: UpperRelationKind::Type,
    input: *mut RelOptInfo,
    output: *mut RelOptInfo,
    extra: *mut std::ffi::c_void,
) {
    if let Some(next) = NEXT_UPPER {
        next(root, stage, input, output, extra);
    }
    if stage != UpperRelationKind::UPPERREL_GROUP_AGG || !guc::custom_scan() {
        return;
    }
    let parse = &*(*root).parse;
    if (*input).reloptkind != RelOptKind::RELOPT_BASEREL
        || !parse.groupingSets.is_null()
        || parse.hasTargetSRFs
        // They would put a node between ours and the scan.
        || (*root).hasPseudoConstantQuals
    {
        return;
    }
    let Some(child) = scan_of(input) else { return };
    if let Some(path) =
        wanted_of(root, output).and_then(|wanted| path(root, output, child, &wanted))
    {
        add_path(output, path as *mut Path);
    }
}

/// Our scan among a relation's paths.
unsafe fn scan_of(rel: *mut RelOptInfo) -> Option<*mut Path> {
    nodes((*rel).pathlist).into_iter().find_map(|path| {
        let path = match (*path).type_ {
            NodeTag::T_ProjectionPath => (*(path as *mut ProjectionPath)).subpath,
            _ => path as *mut Path,
        };
        let custom = path as *mut CustomPath;
        let ours = is_a(path as *mut Node, NodeTag::T_CustomPath)
            && std::ptr::eq((*custom).methods, &PATH.0);
        (ours && (*path).param_info.is_null()).then_some(path)
    })
}

/// The grouping keys, then the aggregates, that the query's target list and HAVING are made of.
struct Wanted {
    keys: Vec<*mut Node>,
    aggregates: Vec<*mut Node>,
}

/// None if some of it is not for us.
unsafe fn wanted_of(root: *mut PlannerInfo, output: *mut RelOptInfo) -> Option<Wanted> {
    let parse = &*(*root).parse;
    let mut wanted = Wanted {
        keys: Vec::new(),
        aggregates: Vec::new(),
    };
    for clause in nodes(parse.groupClause) {
        let key = (*get_sortgroupclause_tle(
            clause as *mut SortGroupClause,
            (*root).processed_tlist,
        ))
        .expr as *mut Node;
        if type_of(exprType(key), exprCollation(key)).is_none() || !is_pure(key) {
            return None;
        }
        if !wanted.keys.iter().any(|&k| equal(k, key)) {
            wanted.keys.push(key);
        }
    }
    let mut all = true;
    let mut sources = nodes((*(*output).reltarget).exprs);
    sources.push(parse.havingQual);
    for source in sources {
        walk(source, &mut |node| {
            if wanted.keys.iter().any(|&key| equal(key, node)) {
                return false;
            }
            match (*node).type_ {
                NodeTag::T_Aggref => {
                    all &= function_of(&*(node as *mut Aggref)).is_some();
                    if !wanted.aggregates.iter().any(|&a| equal(a, node)) {
                        wanted.aggregates.push(node);
                    }
                    false
                }
                NodeTag::T_Var | NodeTag::T_PlaceHolderVar | NodeTag::T_GroupingFunc => {
                    all = false;
                    false
                }
                _ => true,
            }
        });
    }
    all.then_some(wanted)
}

/// The argument of an aggregate that has one.
pub unsafe fn argument(aggregate: &Aggref) -> Option<*mut Node> {
    nodes(aggregate.args)
        .first()
        .map(|&entry| (*(entry as *mut TargetEntry)).expr as *mut Node)
}

/// The function that computes an aggregate, and the type of its argument; None if there is none.
pub unsafe fn function_of(aggregate: &Aggref) -> Option<(Function, Option<Type>)> {
    let plain = aggregate.agglevelsup == 0
        && aggregate.aggorder.is_null()
        && aggregate.aggdirectargs.is_null()
        && aggregate.aggsplit == AggSplit::AGGSPLIT_SIMPLE
        && nodes(aggregate.args).len() <= 1
        && (aggregate.aggfilter.is_null() || is_pure(aggregate.aggfilter as *mut Node));
    if !plain {
        return None;
    }
    let argument = match argument(aggregate) {
        None => None,
        Some(argument) if is_pure(argument) => {
            Some(type_of(exprType(argument), exprCollation(argument))?)
        }
        Some(_) => return None,
    };
    let distinct = !aggregate.aggdistinct.is_null();
    let function = match aggregate.aggfnoid.to_u32() {
        F_COUNT_ANY if distinct => Function::CountDistinct,
        _ if distinct => return None,
        F_COUNT_ | F_COUNT_ANY => Function::Count,
        F_SUM_INT2 | F_SUM_INT4 | F_SUM_INT8 | F_SUM_NUMERIC | F_SUM_FLOAT8 | F_AVG_INT2
        | F_AVG_INT4 | F_AVG_INT8 | F_AVG_NUMERIC => Function::Sum,
        F_SUM_FLOAT4 => Function::SumFloat4,
        F_AVG_FLOAT4 | F_AVG_FLOAT8 => Function::Accumulate,
        F_MIN_INT2 | F_MIN_INT4 | F_MIN_INT8 | F_MIN_FLOAT4 | F_MIN_FLOAT8 | F_MIN_NUMERIC
        | F_MIN_DATE | F_MIN_TIME | F_MIN_TIMESTAMP | F_MIN_TIMESTAMPTZ => Function::Min,
        F_MAX_INT2 | F_MAX_INT4 | F_MAX_INT8 | F_MAX_FLOAT4 | F_MAX_FLOAT8 | F_MAX_NUMERIC
        | F_MAX_DATE | F_MAX_TIME | F_MAX_TIMESTAMP | F_MAX_TIMESTAMPTZ => Function::Max,
        F_MIN_TEXT if aggregate.inputcollid == C_COLLATION_OID => Function::Min,
        F_MAX_TEXT if aggregate.inputcollid == C_COLLATION_OID => Function::Max,
        F_BOOL_AND | F_EVERY => Function::BoolAnd,
        F_BOOL_OR => Function::BoolOr,
        _ => return None,
    };
    Aggregate::new(function, argument, true).map(|_| (function, argument))
}

/// Groups that take more passes than this are better hashed by PostgreSQL, which spills them.
const MOST_PASSES: f64 = 4.0;

/// None if memory is too short for it.
unsafe fn path(
    root: *mut PlannerInfo,
    output: *mut RelOptInfo,
    child: *mut Path,
    wanted: &Wanted,
) -> Option<*mut CustomPath> {
    let custom = make::<CustomPath>(NodeTag::T_CustomPath);
    let path = &mut (*custom).path;
    path.pathtype = NodeTag::T_CustomScan;
    path.parent = output;
    path.pathtarget = (*output).reltarget;
    path.parallel_safe = (*output).consider_parallel && (*child).parallel_safe;
    path.rows = super::estimate::groups(root, (*child).parent, (*child).rows, &wanted.keys);
    // No row is handed up: what that takes is most of what a scan of columns costs, however few rows the planner expects.
    let computed = (wanted.keys.len() + wanted.aggregates.len()) as f64;
    let scanned = 0.7 * (*child).total_cost;
    path.startup_cost = scanned + 0.1 * cpu_operator_cost * computed * (*child).rows;
    path.total_cost =
        path.startup_cost + path.rows * (cpu_tuple_cost + cpu_operator_cost * computed);
    (*custom).flags = CUSTOMPATH_SUPPORT_PROJECTION;
    (*custom).custom_paths = list([child]);
    (*custom).custom_private = list([
        list(wanted.keys.iter().copied()),
        list(wanted.aggregates.iter().copied()),
    ]);
    (*custom).methods = &AGGREGATE_PATH.0;
    let group = 32.0 * computed + 32.0;
    (path.rows * group < MOST_PASSES * get_hash_memory_limit() as f64).then_some(custom)
}

#[pg_guard]
unsafe extern "C-unwind" fn plan_path(
    root: *mut PlannerInfo,
    _rel: *mut RelOptInfo,
    best: *mut CustomPath,
    tlist: *mut List,
    _clauses: *mut List,
    plans: *mut List,
) -> *mut Plan {
    let [keys, aggregates] = [0, 1].map(|i| nodes(nodes((*best).custom_private)[i] as *mut List));
    let scan = make::<CustomScan>(NodeTag::T_CustomScan);
    let plan = &mut (*scan).scan.plan;
    plan.targetlist = tlist;
    plan.qual = (*(*root).parse).havingQual as *mut List;
    (*scan).flags = (*best).flags;
    (*scan).custom_plans = plans;
    let both: Vec<*mut Node> = keys.iter().chain(&aggregates).copied().collect();
    (*scan).custom_scan_tlist = target_list(&both);
    (*scan).custom_private = list([makeInteger(keys.len() as i32)]);
    (*scan).methods = &AGGREGATE_SCAN.0;
    plan
}

/// How many of the node's entries are keys; the others are aggregates.
pub unsafe fn number_of_keys(plan: *mut CustomScan) -> usize {
    (*(nodes((*plan).custom_private)[0] as *mut Integer)).ival as usize
}
