//! Planning scans that unnest: a join of our scan and a function in FROM that takes an array of its documents apart, as
//! one node.
//!
//! PostgreSQL's own nested loop of the two is planned as well, and its pieces are taken: its conditions, in its order.

use crate::pg::custom::{Asked, CustomPath, NewPath, NewPlan, PathMethods, Planning, ScanMethods};
#[cfg(not(feature = "pg15"))]
use crate::pg::expr::Var;
use crate::pg::expr::{Param, PlaceHolderVar};
use crate::pg::node::{Node, Nodes};
use crate::pg::parse::{RangeTblEntry, RangeTblFunction};
use crate::pg::plan::{CustomScan, FunctionScan, Joins, NestLoop, NestLoopParam};
use crate::pg::planner::*;
use crate::query::batch::Operator;
use crate::query::expr::entry::{Entry, collect, collect_elements, entry_of, is_variable, variables};
use crate::query::expr::tree::{any, rewrite};
use crate::query::expr::unnesting::{Unnesting, bare, unnests};
use crate::query::plan::conditions::charge_wrapped_paths;
use crate::query::plan::costs;
use crate::query::plan::kept::{keep, path_with};
use crate::query::plan::node::create;
use crate::query::plan::private::Private;
use crate::query::scan;
use crate::query::scan::batches::view;
use crate::query::scan::node::METHODS;
use crate::query::scan::private::{Level, Place, ReadToEnd, ScanPlan, read_to_end};
use crate::query::scan::state::Scan;
use amax_format::Parts;
use pgrx::pg_sys::{Index, JoinType, NodeTag, ParamKind, RTEKind, RelOptKind};

static PATH: PathMethods = PathMethods::of::<Unnests>(c"AmaxUnnest");

pub static SCAN: ScanMethods = ScanMethods::new(c"AmaxUnnest", create::<Scan>);

pub static OPERATOR: Operator = Operator {
    path: &PATH,
    plan: &SCAN,
    exec: &METHODS,
    read_to_end,
    view,
};

/// The relations whose functions take arrays of relation `table` apart, and those that take apart arrays in their
/// elements.
pub fn unnesting(root: &PlannerInfo, table: Index) -> Vec<Index> {
    let mut found = vec![table];
    for (i, rte) in root.parse().rtable().all::<RangeTblEntry>().enumerate() {
        let function = i as Index + 1;
        let base = unnests(function, rte);
        if base.is_some_and(|(base, _)| found.contains(&base)) {
            found.push(function);
        }
    }
    found.split_off(1)
}

/// Adds paths to those that the planner has for a join.
pub fn add_paths(
    root: &PlannerInfo,
    joinrel: &RelOptInfo,
    outer: &RelOptInfo,
    inner: &RelOptInfo,
    kind: JoinType::Type,
    extra: &JoinPathExtraData,
) {
    let candidate = matches!(kind, JoinType::JOIN_INNER | JoinType::JOIN_LEFT)
        && joinrel.reloptkind() == RelOptKind::RELOPT_JOINREL
        && inner.reloptkind() == RelOptKind::RELOPT_BASEREL
        && inner.rtekind() == RTEKind::RTE_FUNCTION
        && joinrel.lateral_relids().is_empty()
        // Rows that are locked or changed are rechecked; conditions without variables put a node between.
        && !root.rowMarks().is_some()
        && !root.hasPseudoConstantQuals();
    if !candidate {
        return;
    }
    let function = inner
        .paths()
        .into_iter()
        .find(|path| path.pathtype() == NodeTag::T_FunctionScan);
    let (Some(scan), Some(function)) = (scan_in(outer, false), function) else {
        return;
    };
    let Some((base, by)) = unnests(inner.relid(), root.entry(inner.relid())) else {
        return;
    };
    if relations(scan).last() != Some(&base)
        || !inner.whole_row_needed().is_empty()
        || !reads_columns(root, by)
        || kind == JoinType::JOIN_LEFT && computes_before_join(joinrel, by, extra)
    {
        return;
    }
    charge_wrapped_paths(root, inner.baserestrictinfo());
    if let Some(parameters) = function.param_info() {
        charge_wrapped_paths(root, parameters.ppi_clauses());
    }
    let join = Join {
        root,
        joinrel,
        kind,
        extra,
        function,
    };
    join.add(scan, false);
    if let (true, Some(scan)) = (
        joinrel.consider_parallel() && function.parallel_safe(),
        scan_in(outer, true),
    ) {
        join.add(scan, true);
    }
}

/// Whether the query reads nothing of a function's result that no column has. Subqueries and the like that may refer to it are
/// not looked into.
fn reads_columns(root: &PlannerInfo, by: Unnesting) -> bool {
    let parse = root.parse();
    let from = parse.jointree().map(|from| &**from);
    let relations = || parse.rtable().all::<RangeTblEntry>();
    let is_other = |rte: &RangeTblEntry| rte.lateral() && rte.rtekind() != RTEKind::RTE_FUNCTION;
    by.parts() != Parts::Pairs
        || !relations().any(is_other)
            && relations()
                .map(RangeTblEntry::functions)
                .chain([root.processed_tlist()])
                .filter_map(Nodes::as_node)
                .chain(from)
                .chain(parse.havingQual())
                .all(|node| by.knows_all(node))
}

/// Whether something is computed of elements below the outer join that our node, which computes it above, would not
/// find NULL there. Paths are strict.
fn computes_before_join(joinrel: &RelOptInfo, by: Unnesting, extra: &JoinPathExtraData) -> bool {
    let computes = |node: &Node| {
        node.as_a::<PlaceHolderVar>().is_some_and(|wrapped| {
            let inner = wrapped.phexpr().map(bare);
            wrapped.phrels().contains(by.relation)
                && inner.is_some_and(|inner| matches!(entry_of(inner, &[by]), Entry::Expression))
        })
    };
    let conditions = extra.restrictlist().all::<RestrictInfo>().map(RestrictInfo::clause);
    let mut all = joinrel.reltarget().exprs().iter().chain(conditions);
    all.any(|node| any(node, computes))
}

/// The table that one of our paths scans, and the functions it unnests by.
fn relations(path: &Path) -> Vec<Index> {
    let unnesting = path.as_a::<CustomPath>().filter(|path| path.has(&PATH));
    let Some(unnesting) = unnesting else {
        return vec![path.parent().relid()];
    };
    let nest = unnesting.children()[0]
        .as_a::<NestPath>()
        .expect("it has a nested loop below");
    let mut found = relations(nest.outer());
    found.push(nest.inner().parent().relid());
    found
}

struct Join<'a> {
    root: &'a PlannerInfo,
    joinrel: &'a RelOptInfo,
    kind: JoinType::Type,
    extra: &'a JoinPathExtraData,
    function: &'a Path,
}

impl<'a> Join<'a> {
    fn add(&self, scan: &'a Path, partial: bool) {
        let path = self.path(scan);
        // What its table's conditions cost is kept with the table's own path.
        keep(self.root, partial, path, 0.0);
        match partial {
            true => self.joinrel.add_partial_path(path),
            false => self.joinrel.add_path(path),
        }
    }

    fn path(&self, scan: &'a Path) -> &'a CustomPath {
        let nest = self
            .root
            .nested_loop(self.joinrel, self.kind, self.extra, scan, self.function)
            .as_path();
        NewPath {
            children: vec![nest],
            parallel_aware: scan.parallel_aware(),
            parallel_safe: nest.parallel_safe(),
            parallel_workers: scan.parallel_workers(),
            rows: nest.rows(),
            startup_cost: scan.startup_cost(),
            // A function's call for each row is what we spare.
            total_cost: costs::unnest(scan.total_cost(), nest.total_cost(), nest.rows()),
            disabled_nodes: Some(scan.disabled_nodes()),
            ..NewPath::of(&PATH, self.joinrel, self.joinrel.reltarget())
        }
        .make()
    }
}

struct Unnests;

impl Planning for Unnests {
    fn plan<'a>(root: &'a PlannerInfo, rel: &'a RelOptInfo, path: &'a CustomPath, asked: Asked<'a>) -> NewPlan<'a> {
        let relations = relations(path);
        let (nest, below, function) = parts(asked.plans).expect("a nested loop has what its path has");
        let mut private = ScanPlan::of_plan(below);
        let (mut conditions, mut calls) = private.expressions(below);
        let before = conditions.len();
        conditions.extend(function.qual().iter().map(|condition| restored(condition, nest)));
        conditions.extend(nest.joinqual().iter());
        let matching = conditions.len() - before;
        conditions.extend(nest.qual().iter());
        // Among more relations than below.
        let place = |at: usize| Place::of(relations[at], rel.relids());
        private.table = Some(place(0));
        for (i, level) in private.levels.iter_mut().enumerate() {
            level.function = place(i + 1);
        }
        private.levels.push(Level {
            function: place(relations.len() - 1),
            outer: nest.kind() == JoinType::JOIN_LEFT,
            matching,
            others: conditions.len() - before - matching,
        });
        private.all = ReadToEnd::of(root, root.all_baserels().are_in(rel.relids()));
        let called = function
            .functions()
            .get(0)
            .and_then(|called| called.as_a::<RangeTblFunction>());
        let call = called
            .and_then(RangeTblFunction::funcexpr)
            .expect("a function scan has a call");
        calls.push(bare(restored(call, nest)));
        #[cfg(not(feature = "pg15"))]
        for node in conditions.iter_mut().chain(&mut calls) {
            *node = above_joins(root, rel, node);
        }
        let entries = entries(root, rel, &relations, asked.targets, &[&conditions, &calls]);
        conditions.extend(calls);
        NewPlan {
            methods: &SCAN,
            relation: 0,
            children: Nodes::NONE,
            entries,
            expressions: conditions,
            private: private.to_list(),
            backward: false,
        }
    }
}

/// The nested loop, our scan and the function's that it is made of.
fn parts<'a>(plans: Nodes<'a>) -> Option<(&'a NestLoop, &'a CustomScan, &'a FunctionScan)> {
    let nest = plans.get(0)?.as_a::<NestLoop>()?;
    let below = nest.lefttree()?.as_a::<CustomScan>().filter(|plan| is_ours(plan))?;
    Some((nest, below, nest.righttree()?.as_a()?))
}

/// An expression of the function's side, which sees the other's variables as parameters.
fn restored<'a>(node: &'a Node, nest: &'a NestLoop) -> &'a Node {
    rewrite(node, &mut |node| {
        let param = node
            .as_a::<Param>()
            .filter(|param| param.paramkind() == ParamKind::PARAM_EXEC)?;
        let mut given = nest.nestParams().all::<NestLoopParam>();
        given.find(|given| given.paramno() == param.paramid())?.paramval()
    })
}

/// An expression over the rows of a relation. From 16 on variables say which outer joins may have made them NULL: a join's conditions
/// have them as they are below it, what is handed up as they are above; in our rows they are the same.
#[cfg(not(feature = "pg15"))]
fn above_joins<'a>(root: &'a PlannerInfo, rel: &'a RelOptInfo, node: &'a Node) -> &'a Node {
    rewrite(node, &mut |node| match node.as_a::<Var>() {
        Some(var) => (var.varlevelsup() == 0).then(|| root.above_joins(var, rel)),
        None => node.is_a::<PlaceHolderVar>().then_some(node),
    })
}

/// What the rows of a scan consist of that unnests: of its table and the functions, for what it computes itself and hands
/// up.
fn entries<'a>(
    root: &'a PlannerInfo,
    rel: &'a RelOptInfo,
    relations: &[Index],
    targets: Nodes<'a>,
    computed: &[&[&'a Node]],
) -> Vec<&'a Node> {
    let mut wanted = Vec::new();
    let handed_up = rel.reltarget().exprs();
    let collect = |node, relation, found: &mut Vec<&'a Node>| {
        if relation == relations[0] {
            collect(root, node, relation, found);
        } else {
            collect_elements(node, relation, found);
        }
    };
    for &relation in relations {
        for source in root.processed_tlist().iter().chain(root.parse().havingQual()) {
            collect(source, relation, &mut wanted);
        }
    }
    // A variable counts only if something that is computed here has it by itself.
    wanted.retain(|node| !is_variable(node));
    let computed = computed.iter().flat_map(|nodes| nodes.iter().copied());
    for node in targets.iter().chain(computed).chain(handed_up.iter()) {
        for &relation in relations {
            collect(node, relation, &mut wanted);
        }
    }
    // See the scan's: another target list may come.
    let is_pairs = |relation| {
        let by = unnests(relation, root.entry(relation)).map(|(_, by)| by.parts());
        by == Some(Parts::Pairs)
    };
    for node in handed_up.iter() {
        // No pair is made.
        for &relation in relations.iter().filter(|&&relation| !is_pairs(relation)) {
            variables(node, relation, &mut wanted);
        }
    }
    wanted
}

/// Whether a plan is one of our scans.
pub fn is_ours(plan: &CustomScan) -> bool {
    scan::plan::SCAN.are_of(plan) || SCAN.are_of(plan)
}

/// Our scan of a relation, if it needs nothing of other relations.
fn scan_in(rel: &RelOptInfo, partial: bool) -> Option<&CustomPath> {
    path_with(rel, partial, |path| path.has(&scan::plan::PATH) || path.has(&PATH))
}
