//! Planning aggregates over one scan: an upper path that takes the place of PostgreSQL's Agg node.

use super::best::Best;
use super::node::Aggregation;
use super::pieces::PIECE;
use super::private::{AggregatePath, AggregatePlan, Part};
use super::sets::Sets;
use crate::guc::{self, Materialization};
use crate::pg::custom::{Asked, CustomPath, NewPath, NewPlan, PathMethods, Planning, ScanMethods};
use crate::pg::expr::{Aggref, Const, GroupingFunc, Var, relabelled};
use crate::pg::node::{Node, Nodes, is_pure};
use crate::pg::parse::{Query, SortGroupClause};
use crate::pg::planner::{Path, PathTarget, PlannerInfo, RelOptInfo, row_count};
use crate::query::batch::{path_in, read_to_end};
use crate::query::expr::datum::type_of_node;
use crate::query::expr::tree::{any, has, walk};
use crate::query::join;
use crate::query::plan::aggregates::{function_of, keeps_rows};
use crate::query::plan::collect::Collect;
use crate::query::plan::costs;
use crate::query::plan::kept;
use crate::query::plan::node::create;
use crate::query::plan::private::Private;
use pgrx::pg_sys::{BYTEAOID, Datum, InvalidOid, NodeTag, UpperRelationKind};

static PATH: PathMethods = PathMethods::of::<Aggregates>(c"AmaxAggregate");

pub static SCAN: ScanMethods = ScanMethods::new(c"AmaxAggregate", create::<Aggregation>);

/// Adds paths to those that the planner has for groups.
pub fn add_paths(root: &PlannerInfo, stage: UpperRelationKind::Type, input: Option<&RelOptInfo>, output: &RelOptInfo) {
    let wanted = guc::custom_scan() && guc::materialization() != Materialization::early;
    let Some(input) = input.filter(|_| wanted) else {
        return;
    };
    let parse = root.parse();
    // Conditions without variables would put a node between ours and the scan.
    if parse.hasTargetSRFs() || root.hasPseudoConstantQuals() {
        return;
    }
    let wanted = match stage {
        UpperRelationKind::UPPERREL_GROUP_AGG => wanted_of(root, parse.groupClause(), output.reltarget()),
        // Groups without aggregates, of all that is selected.
        UpperRelationKind::UPPERREL_DISTINCT if is_distinct_alone(parse) => {
            wanted_of(root, parse.distinctClause(), root.target_of(stage))
        }
        _ => None,
    };
    let Some(wanted) = wanted else {
        return;
    };
    let mut paths = Vec::new();
    let child = |partial| path_in(input, partial).or_else(|| join::plan::path_over(root, input, partial));
    if let Some(child) = child(false) {
        paths.push(path(root, output, child, &wanted));
    }
    if let Some(child) = child(true)
        && output.consider_parallel()
        && wanted.is_parallel_safe(root)
    {
        paths.push(parallel_path(root, output, child, &wanted));
    }
    paths.into_iter().for_each(|path| output.add_path(path));
}

/// Whether a query is SELECT DISTINCT of rows as they are scanned.
fn is_distinct_alone(parse: &Query) -> bool {
    !parse.is_grouped() && !parse.groupingSets().is_some() && !parse.hasDistinctOn() && !parse.hasWindowFuncs()
}

/// The grouping keys, then the aggregates and calls of GROUPING(), that a target list and HAVING are made of.
struct Wanted<'a> {
    target: &'a PathTarget,
    keys: Vec<&'a Node>,
    aggregates: Vec<&'a Node>,
    groupings: Vec<&'a Node>,
    sets: Sets,
    bounds: bool,
}

/// None if some of it is not for us.
fn wanted_of<'a>(root: &'a PlannerInfo, clauses: Nodes<'a>, target: &'a PathTarget) -> Option<Wanted<'a>> {
    let mut wanted = Wanted {
        target,
        keys: Vec::new(),
        aggregates: Vec::new(),
        groupings: Vec::new(),
        sets: Sets::default(),
        bounds: root.qual_security_level() == 0,
    };
    let of_sets = root.parse().groupingSets().is_some();
    for clause in clauses.all::<SortGroupClause>() {
        let key = clause.expression(root.processed_tlist());
        if type_of_node(key).is_none() || !is_pure(key) {
            return None;
        }
        let known = has(&wanted.keys, key);
        // In a set that lacks the key PostgreSQL shows a constant nonetheless, and one of two equal keys may be in it.
        if of_sets && (known || !any(key, Node::is_a::<Var>)) {
            return None;
        }
        if !known {
            wanted.keys.push(key);
        }
    }
    let mut all = true;
    for source in target.exprs().iter().chain(root.parse().havingQual()) {
        walk(source, &mut |node| {
            if has(&wanted.keys, node) {
                return false;
            }
            match node.tag() {
                NodeTag::T_Aggref => {
                    all &= node.as_a::<Aggref>().and_then(function_of).is_some();
                    if !has(&wanted.aggregates, node) {
                        wanted.aggregates.push(node);
                    }
                    false
                }
                NodeTag::T_GroupingFunc => {
                    let own = |call: &GroupingFunc| of_sets && call.agglevelsup() == 0;
                    all &= node.as_a().is_some_and(own);
                    if !has(&wanted.groupings, node) {
                        wanted.groupings.push(node);
                    }
                    false
                }
                NodeTag::T_Var | NodeTag::T_PlaceHolderVar => {
                    all = false;
                    false
                }
                _ => true,
            }
        });
    }
    if of_sets {
        wanted.sets = Sets::of_query(root.parse(), &wanted.groupings);
    }
    all.then_some(wanted)
}

impl<'a> Wanted<'a> {
    fn all(&self) -> impl Iterator<Item = &'a Node> {
        self.keys.iter().chain(&self.aggregates).copied()
    }

    /// Whether workers may compute it.
    fn is_parallel_safe(&self, root: &PlannerInfo) -> bool {
        self.kept() == 0 && self.all().all(|node| root.is_parallel_safe(node))
    }

    fn aggregates(&self) -> impl Iterator<Item = &'a Aggref> {
        self.aggregates.iter().filter_map(|node| node.as_a())
    }

    /// How many aggregates keep something of each row.
    fn kept(&self) -> usize {
        self.aggregates().filter(|aggregate| keeps_rows(aggregate)).count()
    }

    /// How often rows are read for so many groups of them, and what else it costs to keep their values.
    fn passes(&self, groups: f64, rows: f64) -> (f64, f64) {
        let rows = rows * self.sets.times() as f64;
        let collected = self.aggregates().filter_map(Collect::of);
        let sorted = collected.filter(Collect::is_sorted).count();
        let kept = costs::kept(self.kept(), sorted, groups, rows);
        (costs::passes(groups, self.computed()).max(kept.passes), kept.cost)
    }

    /// How many keys and aggregates.
    fn computed(&self) -> usize {
        self.keys.len() + self.aggregates.len()
    }

    fn cost_of_rows(&self, root: &PlannerInfo, child: &Path) -> f64 {
        let mut conditions = kept::conditions(root, child.parent().relids());
        if child.parallel_workers() > 0 {
            conditions /= costs::parallel_divisor(child.parallel_workers());
        }
        // Of each row, as often as it is grouped.
        let computed = self.computed() * self.sets.times();
        // The other sides of a join are read before its first row.
        child.startup_cost() + costs::aggregate(child.run_cost(), conditions, child.rows(), computed)
    }

    /// The groups of so many rows.
    fn groups(&self, root: &PlannerInfo, rows: f64) -> f64 {
        if self.sets.sets.is_empty() {
            return root.groups(&self.keys, rows);
        }
        let of_set = |set: &Vec<bool>| {
            let keys = self.keys.iter().zip(set).filter(|&(_, &has)| has);
            let keys: Vec<&Node> = keys.map(|(&key, _)| key).collect();
            if keys.is_empty() { 1.0 } else { root.groups(&keys, rows) }
        };
        self.sets.sets.iter().map(of_set).sum()
    }

    /// A node above `child`, which hands up `rows` of `target`; what it costs is still to be said.
    fn node(
        &self,
        output: &'a RelOptInfo,
        child: &'a Path,
        part: Part,
        target: &'a PathTarget,
        rows: f64,
    ) -> NewPath<'a> {
        let private = AggregatePath {
            part,
            keys: self.keys.clone(),
            aggregates: self.aggregates.clone(),
            groupings: self.groupings.clone(),
            sets: self.sets.clone(),
            bounds: self.bounds && self.keys.len() == 1 && self.passes(rows, child.rows()).0 > 1.0,
        };
        NewPath {
            children: vec![child],
            private: private.to_list(),
            parallel_safe: output.consider_parallel() && child.parallel_safe(),
            parallel_workers: child.parallel_workers(),
            rows,
            ..NewPath::of(&PATH, output, target)
        }
    }
}

fn path<'a>(root: &'a PlannerInfo, output: &'a RelOptInfo, child: &'a Path, wanted: &Wanted<'a>) -> &'a CustomPath {
    let groups = wanted.groups(root, child.rows());
    let (passes, kept) = wanted.passes(groups, child.rows());
    let startup_cost = wanted.cost_of_rows(root, child) * passes + kept;
    let path = NewPath {
        startup_cost,
        total_cost: startup_cost + costs::groups(groups, wanted.computed()),
        rows: groups_left(root, groups),
        ..wanted.node(output, child, Part::Whole, wanted.target, groups)
    };
    path.make()
}

/// Both parts and the Gather node over a parallel scan.
fn parallel_path<'a>(
    root: &'a PlannerInfo,
    output: &'a RelOptInfo,
    child: &'a Path,
    wanted: &Wanted<'a>,
) -> &'a CustomPath {
    let rel = child.parent();
    let sent = wanted.groups(root, child.rows());
    let pieces = (sent * costs::group_width(wanted.computed()) / PIECE as f64)
        .ceil()
        .max(1.0);
    let target = PathTarget::of_one(piece(), PIECE as i32);
    let startup_cost = wanted.cost_of_rows(root, child);
    let lower = NewPath {
        // It has queues in the query's shared memory.
        parallel_aware: true,
        startup_cost,
        // As bytes, one after the other.
        total_cost: startup_cost + costs::groups_sent(sent),
        ..wanted.node(output, child, Part::Lower, target, pieces)
    };
    let workers = f64::from(child.parallel_workers());
    let gather = root.gather(output, lower.make(), pieces * workers);
    let all = wanted.groups(root, rel.rows());
    let passes = costs::passes(all, wanted.computed());
    let startup_cost = (gather.total_cost() + costs::groups_sent(sent * workers)) * passes;
    let upper = NewPath {
        parallel_workers: 0,
        startup_cost,
        total_cost: startup_cost + costs::groups(all, wanted.computed()),
        rows: groups_left(root, all),
        ..wanted.node(output, gather, Part::Upper, wanted.target, all)
    };
    upper.make()
}

/// Those of so many groups that HAVING leaves (create_agg_path() of pathnode.c).
fn groups_left(root: &PlannerInfo, groups: f64) -> f64 {
    let conditions = Nodes::of_node(root.parse().havingQual());
    row_count(groups * root.selectivity_of_list(conditions))
}

/// The lower part's output, in plans: bytes, as an expression that PostgreSQL finds again in both nodes' target lists
/// (a constant or a variable it would not).
fn piece<'a>() -> &'a Node {
    relabelled(
        Const::make(BYTEAOID, InvalidOid, (-1, false), (Datum::null(), true)),
        BYTEAOID,
    )
}

/// HAVING's conditions in the order in which PostgreSQL looks at them: order_qual_clauses() of createplan.c.
fn having(root: &PlannerInfo) -> Vec<&Node> {
    let mut conditions: Vec<_> = Nodes::of_node(root.parse().havingQual()).iter().collect();
    let cost = |condition: &Node| root.cost_of(condition).per_tuple;
    conditions.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    conditions
}

struct Aggregates;

impl Planning for Aggregates {
    fn plan<'a>(root: &'a PlannerInfo, _rel: &'a RelOptInfo, path: &'a CustomPath, asked: Asked<'a>) -> NewPlan<'a> {
        let path = AggregatePath::of_list(path.custom_private());
        let AggregatePath {
            part,
            keys,
            aggregates,
            groupings,
            sets,
            bounds,
        } = path;
        if part != Part::Upper {
            read_to_end(asked.plans.get(0).expect("it is above a scan"));
        }
        let private = AggregatePlan {
            part,
            keys: keys.len(),
            aggregates: aggregates.len(),
            bounds,
            best: Best::of_query(root, &keys, &aggregates).filter(|_| sets.sets.is_empty()),
            sets,
        };
        let mut entries = [keys, aggregates, groupings].concat();
        // The planner looks here for parameters (finalize_plan() of subselect.c): workers get the values of those found,
        // and a node is told when they change.
        let mut expressions = entries.clone();
        if part == Part::Lower {
            entries.push(piece());
        } else {
            expressions.extend(having(root));
        }
        NewPlan {
            methods: &SCAN,
            relation: 0,
            children: asked.plans,
            entries,
            expressions,
            private: private.to_list(),
            backward: false,
        }
    }
}
