//! Planning joins on positions: hash joins of PostgreSQL's, one above the other, over a scan of ours, as one node below an aggregate.

use super::node::{Join, METHODS};
use super::spine::{Kind, join_below};
use crate::guc::{self, Materialization};
use crate::pg::custom::{Asked, CustomPath, NewPath, NewPlan, PathMethods, Planning, ScanMethods};
use crate::pg::expr::{OpExpr, PlaceHolderVar, Var};
use crate::pg::node::{Node, Nodes, is_pure};
use crate::pg::plan::{CustomScan, Hash, HashJoin, Plan};
use crate::pg::planner::{HashPath, JoinPaths, Path, PlannerInfo, ProjectionPath, RelOptInfo, RestrictInfo};
use crate::query::batch::contract::hands_up;
use crate::query::batch::{Operator, read_to_end};
use crate::query::expr::datum::type_of_node;
use crate::query::expr::entry::expressions;
use crate::query::join_filter::offer::key_type;
use crate::query::plan::costs;
use crate::query::plan::node::{create, state_of};
use crate::query::scan;
use pgrx::pg_sys::RelOptKind::RELOPT_JOINREL;
use std::iter::successors;

static PATH: PathMethods = PathMethods::of::<Plans>(c"AmaxJoin");

pub static SCAN: ScanMethods = ScanMethods::new(c"AmaxJoin", create::<Join>);

pub static OPERATOR: Operator = Operator {
    path: &PATH,
    plan: &SCAN,
    exec: &METHODS,
    read_to_end: |plan| {
        let top = join_of(plan);
        read_to_end(scan_below(top));
        let sides = successors(Some(top), |join| join_below(join)).map(|join| side_of(join).lefttree());
        sides
            .flatten()
            .filter(|side| hands_up(side))
            .for_each(|side| read_to_end(side));
    },
    view: |node| state_of::<Join>(node),
};

/// A path for the rows of a join, for whoever reads all of them as batches: its cheapest hash joins, one above the other, with a scan of ours
/// as the outermost side; `partial`: one that workers share.
pub fn path_over(rel: &RelOptInfo, partial: bool) -> Option<&CustomPath> {
    let wanted = matches!(
        guc::materialization(),
        Materialization::auto | Materialization::ultra_late
    );
    if !wanted || rel.reloptkind() != RELOPT_JOINREL || rel.is_dummy() {
        return None;
    }
    let paths = if partial { rel.partial_paths() } else { rel.paths() };
    let spines = paths
        .into_iter()
        .filter_map(below_projection)
        .filter(|spine| is_spine(spine));
    let spine = spines
        .min_by(|a, b| a.as_path().total_cost().total_cmp(&b.as_path().total_cost()))?
        .as_path();
    let path = NewPath {
        children: vec![spine],
        parallel_safe: spine.parallel_safe(),
        parallel_workers: spine.parallel_workers(),
        rows: spine.rows(),
        startup_cost: spine.startup_cost(),
        total_cost: spine.startup_cost() + costs::AT_MOST * spine.run_cost(),
        ..NewPath::of(&PATH, rel, spine.pathtarget())
    };
    Some(path.make())
}

fn below_projection(path: &Path) -> Option<&HashPath> {
    let below = path.as_a::<ProjectionPath>().map_or(path, ProjectionPath::subpath);
    below.as_a()
}

/// Whether all that it hands up is a column of one of its sides, and the same of those below.
fn is_spine(join: &HashPath) -> bool {
    let is_column = |node: &Node| {
        let wrapped = node.as_a::<PlaceHolderVar>();
        node.as_a::<Var>().is_some_and(|var| var.varattno() > 0)
            || wrapped.is_some_and(|wrapped| wrapped.phrels().is_one())
    };
    let path = join.as_path();
    let plain = Kind::of(join.kind()).is_some() && path.param_info().is_none() && !path.parallel_aware();
    let columns = || path.pathtarget().exprs().iter().all(is_column);
    let conditions = || {
        let mut all = join.conditions().all::<RestrictInfo>();
        let mut keys = join.path_hashclauses().all::<RestrictInfo>();
        all.all(|condition| is_pure(condition.clause())) && keys.all(is_key)
    };
    let outer = join.outer();
    plain
        && columns()
        && conditions()
        && join.inner().param_info().is_none()
        && match outer.as_a::<HashPath>() {
            Some(below) => is_spine(below),
            None => outer
                .as_a::<CustomPath>()
                .is_some_and(|path| path.has(&scan::plan::PATH) && path.param_info().is_none()),
        }
}

/// Whether vectors hold both sides of an equality.
fn is_key(condition: &RestrictInfo) -> bool {
    let clause = condition.clause();
    let operator = OpExpr::like(clause);
    operator.is_some_and(|operator| {
        let ty = key_type(operator.function(), operator.inputcollid());
        ty.is_some() && operator.args().iter().all(|side| type_of_node(side) == ty)
    })
}

/// The topmost of the joins that such a node is planned over.
fn join_of(plan: &Node) -> &HashJoin {
    let plan = plan.as_a::<CustomScan>().expect("a plan of ours");
    let below = plan.custom_plans().get(0).expect("it is above a join");
    below.as_a().expect("it is above a hash join")
}

/// The table of a join.
fn side_of(join: &HashJoin) -> &Hash {
    let hash = join.righttree().and_then(|hash| hash.as_a());
    hash.expect("a hash join has a table")
}

/// The scan at the bottom of such joins.
fn scan_below(join: &HashJoin) -> &Plan {
    let mut outer = join.lefttree().expect("a join has two sides");
    while let Some(below) = outer.as_a::<HashJoin>() {
        outer = below.lefttree().expect("a join has two sides");
    }
    outer
}

/// A column of a side as it is handed up by the topmost join, if it is.
fn above_joins<'a>(column: &'a Node, handed_up: &[&'a Node]) -> &'a Node {
    let is_same = |node: &Node| match (node.as_a::<Var>(), column.as_a::<Var>()) {
        (Some(a), Some(b)) => (a.relation(), a.varattno()) == (b.relation(), b.varattno()),
        _ => match (node.as_a::<PlaceHolderVar>(), column.as_a::<PlaceHolderVar>()) {
            (Some(a), Some(b)) => a.phid() == b.phid(),
            _ => node.equals(column),
        },
    };
    handed_up.iter().copied().find(|node| is_same(node)).unwrap_or(column)
}

struct Plans;

impl Planning for Plans {
    fn plan<'a>(_root: &'a PlannerInfo, _rel: &'a RelOptInfo, _path: &'a CustomPath, asked: Asked<'a>) -> NewPlan<'a> {
        let top: &HashJoin = asked
            .plans
            .get(0)
            .and_then(|plan| plan.as_a())
            .expect("it is above a hash join");
        let scan: &CustomScan = scan_below(top).as_a().expect("below them is a scan");
        // Those of the scan, then those of each side, from the bottom.
        let joins = successors(Some(top), |join| join_below(join));
        let sides: Vec<_> = joins.map(|join| expressions(side_of(join).targetlist())).collect();
        let handed_up = expressions(top.targetlist());
        let mut entries = expressions(scan.custom_scan_tlist());
        let sides = sides.into_iter().rev().flatten();
        // As whoever is above has them: there they know of the outer joins that may make them NULL.
        entries.extend(sides.map(|column| above_joins(column, &handed_up)));
        NewPlan {
            methods: &SCAN,
            relation: 0,
            children: asked.plans,
            entries,
            expressions: Vec::new(),
            private: Nodes::NONE,
            backward: false,
        }
    }
}
