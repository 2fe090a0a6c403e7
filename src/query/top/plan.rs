//! Planning ORDER BY … LIMIT and DISTINCT ON over one scan: a node between PostgreSQL's sort and the scan, which hands up the best rows.

use super::private::{Direction, TopPlan};
use super::wanted::{MOST, Wanted};
use crate::guc;
use crate::query::batch::{path_in, read_to_end};
use crate::query::expr::entry::{collected, expressions, is_document, target_list};
use crate::query::expr::tree::{equal, list, make, nodes};
use crate::query::plan::costs;
use crate::query::plan::estimate::groups;
use crate::query::plan::kept;
use crate::query::plan::methods::{PathMethods, ScanMethods};
use crate::query::plan::private::Private;
use crate::query::scan::plan::cost_of_reading;
use pgrx::pg_sys::*;
use pgrx::prelude::*;

static TOP_PATH: PathMethods = PathMethods::new(c"AmaxTop", plan_path);

pub static TOP_SCAN: ScanMethods = ScanMethods::new(c"AmaxTop", super::node::create);

/// Adds paths to those that the planner has for sorted rows.
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
        let stages = [
            UpperRelationKind::UPPERREL_ORDERED,
            UpperRelationKind::UPPERREL_DISTINCT,
        ];
        // Other stages may have no input.
        let scanned = stages.contains(&stage) && (*input).reloptkind == RelOptKind::RELOPT_BASEREL;
        if !scanned || !guc::custom_scan() {
            return;
        }
        match stage {
            UpperRelationKind::UPPERREL_ORDERED => {
                let Some(wanted) = Wanted::of(root, (*input).reltarget) else {
                    return;
                };
                if wanted.count().is_none_or(|count| count <= MOST) {
                    let keys = (*root).sort_pathkeys;
                    for sorted in sorted(root, input, output, &wanted, keys, limit(root, &wanted)) {
                        add_path(output, projected(root, output, sorted));
                    }
                }
            }
            UpperRelationKind::UPPERREL_DISTINCT => {
                // Only a table of ours can be asked how many groups it has.
                if path_in(input, false).is_none() {
                    return;
                }
                let Some(wanted) = Wanted::of_each(root, (*input).reltarget) else {
                    return;
                };
                // As create_final_distinct_paths() of planner.c.
                let distinct = (*root).distinct_pathkeys;
                let columns = nodes(distinct).len();
                let keys = match nodes((*root).sort_pathkeys).len() > columns {
                    true => (*root).sort_pathkeys,
                    false => distinct,
                };
                let groups = groups(root, input, (*input).rows, &wanted.groups);
                if !pathkeys_contained_in(distinct, keys) || !costs::groups_fit(groups, wanted.computed().count()) {
                    return;
                }
                for sorted in sorted(root, input, output, &wanted, keys, -1.0) {
                    let unique = create_upper_unique_path(root, output, sorted, columns as i32, groups);
                    add_path(output, unique as *mut Path);
                }
            }
            _ => {}
        }
    }
}

/// The best rows, sorted: in one process, and by several.
///
/// # Safety
/// What the planner hands over.
unsafe fn sorted(
    root: *mut PlannerInfo,
    input: *mut RelOptInfo,
    output: *mut RelOptInfo,
    wanted: &Wanted,
    keys: *mut List,
    limit: f64,
) -> Vec<*mut Path> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let mut found = Vec::new();
        if let Some(child) = path_in(input, false) {
            let top = path(root, output, input, child, wanted);
            found.push(create_sort_path(root, output, top, keys, limit) as *mut Path);
        }
        let parallel = (*input).consider_parallel && (*output).consider_parallel;
        let safe = |&limit: &*mut Node| limit.is_null() || is_parallel_safe(root, limit);
        if let Some(child) = path_in(input, true)
            && parallel
            && wanted.limits.iter().all(safe)
        {
            let top = path(root, output, input, child, wanted);
            let sorted = create_sort_path(root, output, top, keys, limit) as *mut Path;
            let mut rows = (*top).rows * f64::from((*top).parallel_workers);
            let (target, none) = ((*sorted).pathtarget, std::ptr::null_mut());
            let merged = create_gather_merge_path(root, output, sorted, target, keys, none, &mut rows);
            found.push(merged as *mut Path);
        }
        found
    }
}

/// What a sort is told of the limit, for its costs.
///
/// # Safety
/// What the planner hands over.
unsafe fn limit(root: *mut PlannerInfo, wanted: &Wanted) -> f64 {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        match wanted.count() {
            Some(count) => count as f64,
            None => (*root).limit_tuples,
        }
    }
}

/// With what is computed above the sort (create_ordered_paths() of planner.c).
///
/// # Safety
/// What the planner hands over.
unsafe fn projected(root: *mut PlannerInfo, output: *mut RelOptInfo, path: *mut Path) -> *mut Path {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let target = (*root).upper_targets[UpperRelationKind::UPPERREL_ORDERED as usize];
        match (*path).pathtarget == target {
            true => path,
            false => apply_projection_to_path(root, output, path, target),
        }
    }
}

/// A node above the scan `child` of `input`.
///
/// # Safety
/// What the planner hands over.
unsafe fn path(
    root: *mut PlannerInfo,
    output: *mut RelOptInfo,
    input: *mut RelOptInfo,
    child: *mut Path,
    wanted: &Wanted,
) -> *mut Path {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let custom = make::<CustomPath>(NodeTag::T_CustomPath);
        let path = &mut (*custom).path;
        path.pathtype = NodeTag::T_CustomScan;
        path.parent = output;
        path.pathtarget = (*input).reltarget;
        path.parallel_safe = (*output).consider_parallel && (*child).parallel_safe;
        path.parallel_workers = (*child).parallel_workers;
        let best = match wanted.groups.is_empty() {
            true => wanted.expected((*child).rows),
            false => groups(root, input, (*child).rows, &wanted.groups),
        };
        // Of a limit that is not known it is not known that it helps: what is above expects as many rows as without us.
        path.rows = match wanted.count() {
            Some(_) => best,
            None => (*child).rows,
        };
        let conditions = nodes((*input).baserestrictinfo);
        let conditions = conditions
            .into_iter()
            .map(|info| (*(info as *mut RestrictInfo)).clause as *mut Node);
        let relid = (*input).relid;
        let early = collected(root, wanted.computed().chain(conditions), relid);
        let mut late = collected(root, nodes((*(*input).reltarget).exprs), relid);
        late.retain(|&node| !early.iter().any(|&e| equal(e, node)));
        let documents = late.iter().filter(|&&node| is_document(node)).count();
        let late = costs::FetchWork {
            values: late.len() - documents,
            documents,
        };
        let mut scan = cost_of_reading(root, input, &early);
        let mut looks = kept::conditions(root, (*input).relids);
        if (*child).parallel_workers > 0 {
            let divisor = costs::parallel_divisor((*child).parallel_workers);
            scan /= divisor;
            looks /= divisor;
        }
        let computed = wanted.computed().count();
        path.startup_cost = (*child).startup_cost + costs::best(scan, looks, (*child).rows, computed, best, late);
        path.total_cost = path.startup_cost + costs::groups(best, 0);
        (*custom).flags = CUSTOMPATH_SUPPORT_PROJECTION;
        (*custom).custom_paths = list([child]);
        (*custom).custom_private = wanted.to_list();
        (*custom).methods = &TOP_PATH.0;
        custom as *mut Path
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
        let wanted = Wanted::of_list((*best).custom_private);
        let scan = make::<CustomScan>(NodeTag::T_CustomScan);
        let plan = &mut (*scan).scan.plan;
        plan.targetlist = tlist;
        (*scan).flags = (*best).flags;
        (*scan).custom_plans = plans;
        let child = nodes(plans)[0];
        read_to_end(child);
        // Its rows are the scan's, in the scan's slot.
        (*scan).custom_scan_tlist = target_list(&expressions((*(child as *mut CustomScan)).custom_scan_tlist));
        let limits = wanted.limits.iter().copied().filter(|limit| !limit.is_null());
        let computed = wanted.computed().chain(limits);
        (*scan).custom_exprs = list(computed.map(|node| copyObjectImpl(node as _) as *mut Node));
        let private = TopPlan {
            groups: wanted.groups.len(),
            keys: wanted
                .keys
                .iter()
                .map(|key| Direction {
                    descending: key.descending,
                    nulls_first: key.nulls_first,
                })
                .collect(),
            ties: wanted.ties,
            checks: wanted.checks.len(),
            bounds: (*root).qual_security_level == 0,
        };
        (*scan).custom_private = private.to_list();
        (*scan).methods = &TOP_SCAN.0;
        plan
    }
}
