//! Planning joins on positions: hash joins of PostgreSQL's, one above the other, over a scan of ours, as one node below an aggregate.

use super::node::{Join, METHODS};
use super::spine::{Kind, join_below};
use crate::guc::{self, Materialization};
use crate::pg::custom::{Asked, CustomPath, NewPath, NewPlan, PathMethods, Planning, ScanMethods};
use crate::pg::expr::{OpExpr, PlaceHolderVar, Var};
use crate::pg::node::{Node, Nodes, is_pure};
use crate::pg::plan::{CustomScan, Hash, HashJoin, Plan};
use crate::pg::planner::{
    HashPath, JoinPathExtraData, JoinPaths, Path, PlannerInfo, ProjectionPath, RelOptInfo, RestrictInfo,
};
use crate::query::batch::contract::hands_up;
use crate::query::batch::{Operator, read_to_end};
use crate::query::expr::datum::type_of_node;
use crate::query::expr::entry::expressions;
use crate::query::expr::raises::raises;
use crate::query::join_filter::offer::key_type;
use crate::query::join_filter::plan::keys;
use crate::query::plan::costs;
use crate::query::plan::kept::{self, keep_join, kept_join, path_with};
use crate::query::plan::node::{create, state_of};
use crate::query::plan::wanted::conditions_of;
use crate::query::scan;
use pgrx::pg_sys::RelOptKind::{RELOPT_BASEREL, RELOPT_JOINREL};
use pgrx::pg_sys::{JoinType, NodeTag, enable_hashjoin};
use std::cmp::Ordering;
use std::iter::successors;

/// Bytes of a row's keys. An estimate.
const KEYS: i32 = 8;

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

/// A path for the rows of a join, for whoever reads all of them as batches; `partial`: one that workers share. PostgreSQL's hash joins say
/// what is joined with what.
pub fn path_over<'a>(root: &PlannerInfo, rel: &'a RelOptInfo, partial: bool) -> Option<&'a CustomPath> {
    let late = matches!(
        guc::materialization(),
        Materialization::auto | Materialization::ultra_late
    );
    // SAFETY: a setting.
    let wanted = late && unsafe { enable_hashjoin };
    if !wanted || rel.reloptkind() != RELOPT_JOINREL || rel.is_dummy() {
        return None;
    }
    let spine = joins_over(rel, partial)
        .into_iter()
        .find_map(|join| spine_of(root, join, partial))?
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

/// Keeps a hash join of two relations for [`path_over`]: of those of PostgreSQL's list only the cheapest are left, and others may be of another kind.
pub fn keep(
    root: &PlannerInfo,
    joinrel: &RelOptInfo,
    outer: &RelOptInfo,
    inner: &RelOptInfo,
    kind: JoinType::Type,
    extra: &JoinPathExtraData,
) {
    let query = root.parse();
    let is_aggregated = query.is_grouped() || query.distinctClause().is_some();
    if !is_aggregated || Kind::of(kind).is_none() || joinrel.is_dummy() {
        return;
    }
    let cheapest = |rel: &RelOptInfo| -> Option<&Path> {
        // SAFETY: a path of the relation, which lives as long as the planning.
        let path: &Path = unsafe { Path::of(rel.cheapest_total_path()?.raw()) };
        (path.param_info().is_none() && !is_unique(path)).then_some(path)
    };
    let keys = keys(outer, inner, extra);
    if let (Some(outer), Some(inner), false) = (cheapest(outer), cheapest(inner), keys.is_empty()) {
        let join = root.hash_join(joinrel, kind, extra, (outer, inner), keys, false);
        if let Some(join) = join.and_then(|join| join.as_a::<HashPath>()).filter(|join| fits(join)) {
            keep_join(root, join);
        }
    }
}

fn is_scan(path: &CustomPath) -> bool {
    path.has(&scan::plan::PATH)
}

/// A scan of ours of a relation, or hash joins one above the other with one as the outermost side, in place of what PostgreSQL has
/// chosen for it: there may be workers for a part of the joins only.
fn spine_over<'a>(root: &PlannerInfo, rel: &'a RelOptInfo, partial: bool) -> Option<&'a Path> {
    match rel.reloptkind() {
        RELOPT_BASEREL => path_with(rel, partial, is_scan).map(|scan| &**scan),
        RELOPT_JOINREL => {
            let join = joins_over(rel, partial).first().copied()?;
            spine_of(root, join, partial).map(JoinPaths::as_path)
        }
        _ => None,
    }
}

/// PostgreSQL's hash joins for a relation, those shared by workers first if that is wanted, else last; of each the cheapest first. Then the one that has been kept.
fn joins_over(rel: &RelOptInfo, partial: bool) -> Vec<&HashPath> {
    let listed = |partial| if partial { rel.partial_paths() } else { rel.paths() };
    let sorted = |partial| {
        let joins = listed(partial).into_iter().filter_map(below_projection);
        let mut joins: Vec<&HashPath> = joins.filter(|join| fits(join)).collect();
        joins.sort_by(|a, b| by_cost(a.as_path(), b.as_path()));
        joins
    };
    let kept = kept_join(rel).into_iter().collect();
    [sorted(partial), sorted(!partial), kept].concat()
}

fn below_projection(path: &Path) -> Option<&HashPath> {
    let below = path.as_a::<ProjectionPath>().map_or(path, ProjectionPath::subpath);
    below.as_a()
}

/// A join of PostgreSQL's, of what we have in place of its outer side, or of the inner one if that has the larger table.
fn spine_of<'a>(root: &PlannerInfo, join: &'a HashPath, partial: bool) -> Option<&'a HashPath> {
    let turned = || Some((below(root, join.inner(), partial)?, side(join, join.outer(), partial)?));
    let as_it_is = || Some((below(root, join.outer(), partial)?, side(join, join.inner(), partial)?));
    let turned = may_turn(join).then(turned).flatten().filter(|(below, side)| {
        let larger = scanned(below).tuples() > side.parent().tuples();
        larger && fits_in_memory(side)
    });
    // Where workers would fill a hash table together, each has to have its own; and none knows the keys of the others' rows.
    let needs_memory =
        |(below, side): &(&Path, &Path)| join.as_path().parallel_aware() || partial && may_wait(join, below, side);
    let as_it_is = || as_it_is().filter(|sides| fits_in_memory(sides.1) || !needs_memory(sides));
    let (below, side) = turned.or_else(as_it_is)?;
    let divisor = match partial {
        true => costs::parallel_divisor(below.parallel_workers()),
        false => 1.0,
    };
    // What is kept of a side by the scan's keys costs reading the scan for them.
    let keys = match fits_in_memory(side) || !may_wait(join, below, side) {
        true => 0.0,
        false => below.run_cost(),
    };
    let startup = below.startup_cost() + read(root, side) + costs::looked_up(side.rows()) + keys;
    let run = below.run_cost() + costs::looked_up(below.rows());
    Some(join.with(
        below,
        side,
        join.as_path().parent().rows() / divisor,
        startup,
        startup + run,
    ))
}

/// Whether the sides of a join may change places: PostgreSQL has the rows look for each other the other way round where it expects fewer of
/// them, but only rows that look need not be made. Then those of the outer side are read first, and whatever the other has: so none
/// that may raise an error.
fn may_turn(join: &HashPath) -> bool {
    let outer = join.outer().parent();
    let keys = || join.path_hashclauses().all::<RestrictInfo>().map(RestrictInfo::clause);
    let sides = || keys().filter_map(OpExpr::like).flat_map(|key| key.args().iter());
    join.kind() == JoinType::JOIN_INNER
        && outer.reloptkind() == RELOPT_BASEREL
        && !sides().chain(conditions_of(outer.baserestrictinfo())).any(raises)
}

/// Whether a side that does not fit in memory is expected to be read by the keys of the scan at the bottom (`by_keys`), which have to fit.
fn may_wait(join: &HashPath, below: &Path, side: &Path) -> bool {
    let scan = scanned(below).relids();
    let keys_fit = below.rows() * f64::from(KEYS) <= costs::hash_memory() as f64;
    let is_of_scan = |key: &RestrictInfo| key.left_relids().are_in(scan) || key.right_relids().are_in(scan);
    let mut keys = join.path_hashclauses().all::<RestrictInfo>();
    keys_fit
        && side.as_a::<CustomPath>().is_some_and(is_scan)
        && keys.all(|key| is_of_scan(key) && !raises(key.clause()))
        && !conditions_of(side.parent().baserestrictinfo()).into_iter().any(raises)
}

/// What a join's outer side is to be read by, given PostgreSQL's path.
fn below<'a>(root: &PlannerInfo, path: &'a Path, partial: bool) -> Option<&'a Path> {
    // It may be expected to hand up the rows alone that find others.
    let scan = path
        .as_a::<CustomPath>()
        .filter(|path| is_scan(path) && path.param_info().is_none());
    match scan.filter(|scan| (scan.parallel_workers() > 0) == partial) {
        Some(scan) => Some(scan),
        None if is_unique(path) => None,
        None => spine_over(root, path.parent(), partial),
    }
}

/// What the rows of a join's other side are read by, given PostgreSQL's path: whole, without workers.
fn side<'a>(join: &HashPath, path: &'a Path, partial: bool) -> Option<&'a Path> {
    if is_unique(path) {
        let usable = !join.as_path().parallel_aware() && (path.parallel_safe() || !partial);
        return usable.then_some(path);
    }
    let in_one_process = |path: &&Path| {
        let gathers = matches!(path.tag(), NodeTag::T_GatherPath | NodeTag::T_GatherMergePath);
        path.param_info().is_none() && !gathers && (path.parallel_safe() || !partial)
    };
    let paths = path.parent().paths().into_iter().filter(in_one_process);
    paths.min_by(|a, b| by_cost(a, b))
}

/// What reading a side costs: what comes in batches is not handed up.
fn read(root: &PlannerInfo, side: &Path) -> f64 {
    if !side.as_a::<CustomPath>().is_some_and(is_scan) {
        return side.total_cost();
    }
    let conditions = kept::conditions(root, side.parent().relids());
    side.startup_cost() + costs::aggregate(side.run_cost(), conditions, side.rows(), 1)
}

fn by_cost(a: &Path, b: &Path) -> Ordering {
    a.total_cost().total_cmp(&b.total_cost())
}

/// Whether a side's rows are expected to fit: values take eight bytes, or more, and keys are held once more.
fn fits_in_memory(side: &Path) -> bool {
    side.rows() * f64::from(side.pathtarget().width() + KEYS) <= costs::hash_memory() as f64
}

/// Whether a path leaves out rows that are equal to others, as none of its relation's others does.
fn is_unique(path: &Path) -> bool {
    path.tag() == NodeTag::T_UniquePath
}

/// The relation of the scan at the bottom of such joins.
fn scanned(path: &Path) -> &RelOptInfo {
    match path.as_a::<HashPath>() {
        Some(join) => scanned(join.outer()),
        None => path.parent(),
    }
}

/// Whether all that a join hands up is a column of one of its sides, and vectors hold its keys.
fn fits(join: &HashPath) -> bool {
    let is_column = |node: &Node| {
        let wrapped = node.as_a::<PlaceHolderVar>();
        node.as_a::<Var>().is_some_and(|var| var.varattno() > 0)
            || wrapped.is_some_and(|wrapped| wrapped.phrels().is_one())
    };
    let path = join.as_path();
    let plain = Kind::of(join.kind()).is_some() && path.param_info().is_none();
    let columns = || path.pathtarget().exprs().iter().all(is_column);
    let conditions = || {
        let mut all = join.conditions().all::<RestrictInfo>();
        let mut keys = join.path_hashclauses().all::<RestrictInfo>();
        all.all(|condition| is_pure(condition.clause())) && keys.all(is_key)
    };
    plain && columns() && conditions() && join.inner().param_info().is_none()
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
