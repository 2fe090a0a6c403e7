//! Planning aggregates over one scan: an upper path that takes the place of PostgreSQL's Agg node.

use super::functions::function_of;
use super::pieces::PIECE;
use super::private::{AggregatePath, AggregatePlan, Part};
use super::top::Top;
use crate::guc;
use crate::query::batch::{path_in, read_to_end};
use crate::query::expr::datum::type_of;
use crate::query::expr::entry::target_list;
use crate::query::expr::tree::{equal, is_pure, list, make, nodes, walk};
use crate::query::plan::costs;
use crate::query::plan::estimate::groups;
use crate::query::plan::kept;
use crate::query::plan::methods::{PathMethods, ScanMethods};
use crate::query::plan::private::Private;
use pgrx::pg_sys::*;
use pgrx::prelude::*;

static AGGREGATE_PATH: PathMethods = PathMethods::new(c"AmaxAggregate", plan_path);

pub static AGGREGATE_SCAN: ScanMethods = ScanMethods::new(c"AmaxAggregate", super::node::create);

/// Adds paths to those that the planner has for groups.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn add_paths(
    root: *mut PlannerInfo,
    stage: UpperRelationKind::Type,
    input: *mut RelOptInfo,
    output: *mut RelOptInfo,
) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        if stage != UpperRelationKind::UPPERREL_GROUP_AGG || !guc::custom_scan() {
            return;
        }
        let parse = &*(*root).parse;
        if !parse.groupingSets.is_null()
            || parse.hasTargetSRFs
            // They would put a node between ours and the scan.
            || (*root).hasPseudoConstantQuals
        {
            return;
        }
        let Some(wanted) = wanted_of(root, output) else {
            return;
        };
        let mut paths = Vec::new();
        if let Some(child) = path_in(input, false) {
            paths.extend(path(root, output, child, &wanted));
        }
        if let Some(child) = path_in(input, true)
            && (*output).consider_parallel
            && wanted.is_parallel_safe(root)
        {
            paths.extend(parallel_path(root, output, child, &wanted));
        }
        for path in paths {
            add_path(output, path as *mut Path);
        }
    }
}

/// The grouping keys, then the aggregates, that the query's target list and HAVING are made of.
struct Wanted {
    keys: Vec<*mut Node>,
    aggregates: Vec<*mut Node>,
}

impl Wanted {
    /// Whether workers may compute it.
    ///
    /// # Safety
    /// What the planner hands over.
    unsafe fn is_parallel_safe(&self, root: *mut PlannerInfo) -> bool {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let mut all = self.keys.iter().chain(&self.aggregates);
            all.all(|&node| is_parallel_safe(root, node))
        }
    }
}

/// None if some of it is not for us.
///
/// # Safety
/// What the planner hands over.
unsafe fn wanted_of(root: *mut PlannerInfo, output: *mut RelOptInfo) -> Option<Wanted> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let parse = &*(*root).parse;
        let mut wanted = Wanted {
            keys: Vec::new(),
            aggregates: Vec::new(),
        };
        for clause in nodes(parse.groupClause) {
            let key =
                (*get_sortgroupclause_tle(clause as *mut SortGroupClause, (*root).processed_tlist)).expr as *mut Node;
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
}

/// A node above `child`, which hands up `rows` of `target`.
///
/// # Safety
/// What the planner hands over.
unsafe fn node(
    output: *mut RelOptInfo,
    child: *mut Path,
    wanted: &Wanted,
    part: Part,
    target: *mut PathTarget,
    rows: f64,
) -> *mut CustomPath {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let custom = make::<CustomPath>(NodeTag::T_CustomPath);
        let path = &mut (*custom).path;
        path.pathtype = NodeTag::T_CustomScan;
        path.parent = output;
        path.pathtarget = target;
        path.parallel_safe = (*output).consider_parallel && (*child).parallel_safe;
        path.parallel_workers = (*child).parallel_workers;
        path.rows = rows;
        (*custom).flags = CUSTOMPATH_SUPPORT_PROJECTION;
        (*custom).custom_paths = list([child]);
        let private = AggregatePath {
            part,
            keys: wanted.keys.clone(),
            aggregates: wanted.aggregates.clone(),
        };
        (*custom).custom_private = private.to_list();
        (*custom).methods = &AGGREGATE_PATH.0;
        custom
    }
}

impl Wanted {
    /// How many keys and aggregates.
    fn computed(&self) -> usize {
        self.keys.len() + self.aggregates.len()
    }
    /// # Safety
    /// What the planner hands over.
    unsafe fn cost_of_rows(&self, root: *mut PlannerInfo, child: *mut Path) -> f64 {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let mut conditions = kept::conditions(root, (*(*child).parent).relids);
            if (*child).parallel_workers > 0 {
                conditions /= costs::parallel_divisor((*child).parallel_workers);
            }
            costs::aggregate((*child).total_cost, conditions, (*child).rows, self.computed())
        }
    }
}

/// None if memory is too short for it.
///
/// # Safety
/// What the planner hands over.
unsafe fn path(
    root: *mut PlannerInfo,
    output: *mut RelOptInfo,
    child: *mut Path,
    wanted: &Wanted,
) -> Option<*mut CustomPath> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let groups = groups(root, (*child).parent, (*child).rows, &wanted.keys);
        let target = (*output).reltarget;
        let custom = node(output, child, wanted, Part::Whole, target, groups);
        let path = &mut (*custom).path;
        path.startup_cost = wanted.cost_of_rows(root, child);
        path.total_cost = path.startup_cost + costs::groups(groups, wanted.computed());
        costs::groups_fit(groups, wanted.computed()).then_some(custom)
    }
}

/// Both parts and the Gather node over a parallel scan; None if memory is too short for it.
///
/// # Safety
/// What the planner hands over.
unsafe fn parallel_path(
    root: *mut PlannerInfo,
    output: *mut RelOptInfo,
    child: *mut Path,
    wanted: &Wanted,
) -> Option<*mut CustomPath> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let rel = (*child).parent;
        let sent = groups(root, rel, (*child).rows, &wanted.keys);
        let pieces = (sent * costs::group_width(wanted.computed()) / PIECE as f64)
            .ceil()
            .max(1.0);
        let target = create_empty_pathtarget();
        add_column_to_pathtarget(target, piece(), 0);
        (*target).width = PIECE as i32;
        let lower = node(output, child, wanted, Part::Lower, target, pieces);
        let path = &mut (*lower).path;
        // It has queues in the query's shared memory.
        path.parallel_aware = true;
        path.startup_cost = wanted.cost_of_rows(root, child);
        // As bytes, one after the other.
        path.total_cost = path.startup_cost + costs::groups_sent(sent);
        let workers = f64::from((*child).parallel_workers);
        let mut rows = pieces * workers;
        let gather = create_gather_path(root, output, path, target, std::ptr::null_mut(), &mut rows) as *mut Path;
        let all = groups(root, rel, (*rel).rows, &wanted.keys);
        let target = (*output).reltarget;
        let upper = node(output, gather, wanted, Part::Upper, target, all);
        let path = &mut (*upper).path;
        path.parallel_workers = 0;
        path.startup_cost = (*gather).total_cost + costs::groups_sent(sent * workers);
        path.total_cost = path.startup_cost + costs::groups(all, wanted.computed());
        costs::groups_fit(all, wanted.computed()).then_some(upper)
    }
}

/// The lower part's output, in plans: bytes, as an expression that PostgreSQL finds again in both nodes' target lists
/// (a constant or a variable it would not).
///
/// # Safety
/// What the planner hands over.
unsafe fn piece() -> *mut Expr {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let null = makeConst(BYTEAOID, -1, InvalidOid, -1, Datum::null(), true, false);
        makeRelabelType(
            null as *mut Expr,
            BYTEAOID,
            -1,
            InvalidOid,
            CoercionForm::COERCE_EXPLICIT_CAST,
        ) as *mut Expr
    }
}

/// # Safety
/// What the planner hands over.
#[pg_guard]
unsafe extern "C-unwind" fn plan_path(
    root: *mut PlannerInfo,
    _rel: *mut RelOptInfo,
    best: *mut CustomPath,
    tlist: *mut List,
    _clauses: *mut List,
    plans: *mut List,
) -> *mut Plan {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let AggregatePath { part, keys, aggregates } = AggregatePath::of_list((*best).custom_private);
        let scan = make::<CustomScan>(NodeTag::T_CustomScan);
        let plan = &mut (*scan).scan.plan;
        plan.targetlist = tlist;
        (*scan).flags = (*best).flags;
        (*scan).custom_plans = plans;
        if part != Part::Upper {
            read_to_end(nodes(plans)[0]);
        }
        let mut entries: Vec<*mut Node> = keys.iter().chain(&aggregates).copied().collect();
        if part == Part::Lower {
            entries.push(piece() as *mut Node);
        }
        (*scan).custom_scan_tlist = target_list(&entries);
        // The planner looks here for parameters (finalize_plan() of subselect.c): workers get the values of those found,
        // and a node is told when they change.
        let mut seen: Vec<*mut Node> = keys.iter().chain(&aggregates).copied().collect();
        if part != Part::Lower {
            seen.extend(nodes((*(*root).parse).havingQual as *mut List));
        }
        (*scan).custom_exprs = list(seen);
        let private = AggregatePlan {
            part,
            keys: keys.len(),
            top: Top::of_query(root, &keys, &aggregates),
        };
        (*scan).custom_private = private.to_list();
        (*scan).methods = &AGGREGATE_SCAN.0;
        plan
    }
}
