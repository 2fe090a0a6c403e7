//! Planning ORDER BY … LIMIT, DISTINCT ON and bounded row numbers over one scan: a node between PostgreSQL's sort and the
//! scan, which hands up the best rows.

use super::private::{Direction, TopPlan};
use super::reach::reach;
use super::state::Top;
use super::wanted::{MOST, Wanted};
use super::window::Window;
use crate::guc::{self, Materialization};
use crate::pg::custom::{Asked, CustomPath, NewPath, NewPlan, PathMethods, Planning, ScanMethods};
use crate::pg::node::{Node, Nodes};
use crate::pg::plan::CustomScan;
use crate::pg::planner::{Path, PlannerInfo, RelOptInfo, sorts_as};
use crate::query::batch::{path_in, read_to_end};
use crate::query::expr::entry::{collected, expressions, is_document};
use crate::query::expr::raises::raises;
use crate::query::expr::tree::has;
use crate::query::plan::costs;
use crate::query::plan::kept;
use crate::query::plan::node::create;
use crate::query::plan::private::Private;
use crate::query::plan::wanted::conditions_of;
use crate::query::scan::plan::{cost_of_reading, share};
use pgrx::pg_sys;
use pgrx::pg_sys::RelOptKind;
use pgrx::pg_sys::UpperRelationKind::{self, UPPERREL_DISTINCT, UPPERREL_ORDERED, UPPERREL_WINDOW};

static PATH: PathMethods = PathMethods::of::<Tops>(c"AmaxTop");

pub static SCAN: ScanMethods = ScanMethods::new(c"AmaxTop", create::<Top>);

/// Adds paths to those that the planner has for sorted rows; other stages may have no input.
pub fn add_paths(root: &PlannerInfo, stage: UpperRelationKind::Type, input: Option<&RelOptInfo>, output: &RelOptInfo) {
    let Some(input) = input.filter(|input| input.reloptkind() == RelOptKind::RELOPT_BASEREL) else {
        return;
    };
    let others = matches!(guc::materialization(), Materialization::early | Materialization::late);
    if !guc::custom_scan() || others {
        return;
    }
    match stage {
        UPPERREL_ORDERED => add_limited(root, input, output),
        UPPERREL_DISTINCT => add_distinct(root, input, output),
        UPPERREL_WINDOW => add_windows(root, input, output),
        _ => None,
    };
}

/// For ORDER BY … LIMIT; None if there are none.
fn add_limited(root: &PlannerInfo, input: &RelOptInfo, output: &RelOptInfo) -> Option<()> {
    let wanted = Wanted::of(root, input.reltarget())?;
    if wanted.count().is_some_and(|count| count > MOST) {
        return None;
    }
    // What a sort is told of the limit, for its costs.
    let limit = wanted.count().map_or(root.limit_tuples(), |count| count as f64);
    for sorted in sorted(root, input, output, &wanted, root.sort_pathkeys(), limit) {
        // With what is computed above the sort (create_ordered_paths() of planner.c).
        output.add_path(root.project(output, sorted, root.target_of(UPPERREL_ORDERED)));
    }
    Some(())
}

/// For DISTINCT ON.
fn add_distinct(root: &PlannerInfo, input: &RelOptInfo, output: &RelOptInfo) -> Option<()> {
    // Only a table of ours can be asked how many groups it has.
    path_in(input, false)?;
    let wanted = Wanted::of_each(root, input.reltarget())?;
    // As create_final_distinct_paths() of planner.c.
    let distinct = root.distinct_pathkeys();
    let keys = match root.sort_pathkeys().len() > distinct.len() {
        true => root.sort_pathkeys(),
        false => distinct,
    };
    let groups = root.groups(&wanted.groups, input.rows());
    if !sorts_as(distinct, keys) || costs::passes(groups, wanted.computed().count()) > costs::MOST_PASSES {
        return None;
    }
    for sorted in sorted(root, input, output, &wanted, keys, -1.0) {
        output.add_path(root.unique(output, sorted, distinct.len(), groups));
    }
    Some(())
}

/// For window functions of which only the first rows are asked for.
fn add_windows(root: &PlannerInfo, input: &RelOptInfo, output: &RelOptInfo) -> Option<()> {
    path_in(input, false)?;
    let (window, wanted) = Window::of(root, input.reltarget())?;
    if wanted.count().is_some_and(|count| count > MOST) {
        return None;
    }
    if !wanted.groups.is_empty() {
        let groups = root.groups(&wanted.groups, input.rows());
        let rows = groups * wanted.expected(input.rows() / groups);
        if costs::passes(rows, wanted.computed().count()) > costs::MOST_PASSES {
            return None;
        }
    }
    for sorted in sorted(root, input, output, &wanted, root.window_pathkeys(), -1.0) {
        let target = root.target_of(UPPERREL_WINDOW);
        output.add_path(root.window(output, sorted, target, window.functions, window.clause));
    }
    Some(())
}

/// The best rows, sorted: in one process, and by several.
fn sorted<'a>(
    root: &'a PlannerInfo,
    input: &'a RelOptInfo,
    output: &'a RelOptInfo,
    wanted: &Wanted<'a>,
    keys: Nodes<'_>,
    limit: f64,
) -> Vec<&'a Path> {
    let mut found = Vec::new();
    if let Some(child) = path_in(input, false) {
        let top = path(root, output, input, child, wanted);
        found.push(root.sort(output, top, keys, limit));
    }
    let parallel = input.consider_parallel() && output.consider_parallel();
    if let Some(child) = path_in(input, true)
        && parallel
        && wanted.limits.iter().all(|limit| root.is_parallel_safe(limit))
    {
        let top = path(root, output, input, child, wanted);
        let sorted = root.sort(output, top, keys, limit);
        let rows = top.rows() * f64::from(top.parallel_workers());
        found.push(root.gather_sorted(output, sorted, keys, rows));
    }
    found
}

/// A node above the scan `child` of `input`.
fn path<'a>(
    root: &'a PlannerInfo,
    output: &'a RelOptInfo,
    input: &'a RelOptInfo,
    child: &'a Path,
    wanted: &Wanted<'a>,
) -> &'a Path {
    let best = match wanted.groups.is_empty() {
        true => wanted.expected(child.rows()),
        false => {
            let groups = root.groups(&wanted.groups, child.rows());
            groups * wanted.expected(child.rows() / groups)
        }
    };
    let relid = input.relid();
    let conditions = conditions_of(input.baserestrictinfo());
    let of_all = of_all_rows(wanted);
    let early = collected(root, of_all.iter().copied().chain(conditions), relid);
    let mut late = costs::FetchWork::default();
    for node in collected(root, input.reltarget().exprs().iter(), relid) {
        match node.type_oid() {
            _ if has(&early, node) => {}
            // A path.
            pg_sys::JSONBOID if !is_document(node) => late.values += 1,
            ty => late.add(ty),
        }
    }
    let reach = reach_of(root, input, wanted);
    let columnar = share(root, input);
    let read = 1.0 - columnar * (1.0 - reach);
    let mut scan = read * cost_of_reading(root, input, &early);
    let mut looks = read * kept::conditions(root, input.relids());
    if child.parallel_workers() > 0 {
        let divisor = costs::parallel_divisor(child.parallel_workers());
        scan /= divisor;
        looks /= divisor;
    }
    let computed = of_all.len();
    let mut startup_cost = child.startup_cost();
    // Else whatever it costs.
    if guc::materialization() != Materialization::ultra_late {
        startup_cost += costs::best(scan, looks, read * child.rows(), computed, best, late);
    }
    NewPath {
        children: vec![child],
        private: wanted.to_list(),
        parallel_safe: output.consider_parallel() && child.parallel_safe(),
        parallel_workers: child.parallel_workers(),
        // Of a limit that is not known it is not known that it helps: what is above expects as many rows as without us.
        rows: if wanted.count().is_some() { best } else { child.rows() },
        startup_cost,
        total_cost: startup_cost + costs::groups(best, 0),
        ..NewPath::of(&PATH, output, input.reltarget())
    }
    .make()
}

/// What is computed of all rows, not of those alone that the first key does not exclude.
fn of_all_rows<'a>(wanted: &Wanted<'a>) -> Vec<&'a Node> {
    if !wanted.groups.is_empty() {
        return wanted.computed().collect();
    }
    let further = wanted.computed().skip(1);
    wanted
        .computed()
        .take(1)
        .chain(further.filter(|node| raises(node)))
        .collect()
}

/// The share of leaves that are read: those that bounds exclude are not, unless something might raise an error there.
fn reach_of(root: &PlannerInfo, rel: &RelOptInfo, wanted: &Wanted<'_>) -> f64 {
    let raises = || conditions_of(rel.baserestrictinfo()).into_iter().any(raises);
    if !wanted.groups.is_empty() || !wanted.checks.is_empty() || root.qual_security_level() > 0 || raises() {
        return 1.0;
    }
    let selectivity = (rel.rows() / rel.tuples().max(1.0)).min(1.0);
    reach(root, rel, &wanted.keys[0], wanted.expected(rel.rows()), selectivity)
}

struct Tops;

impl Planning for Tops {
    fn plan<'a>(root: &'a PlannerInfo, _rel: &'a RelOptInfo, path: &'a CustomPath, asked: Asked<'a>) -> NewPlan<'a> {
        let wanted = Wanted::of_list(path.custom_private());
        let child = asked.plans.get(0).expect("it is above a scan");
        read_to_end(child);
        let scan = child.as_a::<CustomScan>().expect("of ours");
        let expressions_of_all = wanted.computed().chain(wanted.limits.iter().copied());
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
            more: wanted.more,
            peers: wanted.peers,
            checks: wanted.checks.len(),
            bounds: root.qual_security_level() == 0,
        };
        NewPlan {
            methods: &SCAN,
            relation: 0,
            children: asked.plans,
            // Its rows are the scan's, in the scan's slot.
            entries: expressions(scan.custom_scan_tlist()),
            expressions: expressions_of_all.map(Node::copy).collect(),
            private: private.to_list(),
            backward: false,
        }
    }
}
