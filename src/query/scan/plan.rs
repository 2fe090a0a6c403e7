//! Planning scans: a custom path beside PostgreSQL's own for every amax table that has columns.

use super::batches::view;
use super::node::METHODS;
use super::partitions;
use super::private::{Begins, ReadToEnd, ScanPlan, read_to_end};
use super::state::Scan;
use crate::pg::custom::{Asked, CustomPath, NewPath, NewPlan, PathMethods, Planning, ScanMethods};
use crate::pg::node::{Node, Nodes};
use crate::pg::parse::RangeTblEntry;
use crate::pg::planner::{Path, PlannerInfo, RelOptInfo};
use crate::pg::relation::Opened;
use crate::query::batch::Operator;
use crate::query::expr::containment::split;
use crate::query::expr::entry::{collect, is_document, variables};
use crate::query::plan::conditions::{self, Conditions, in_order};
use crate::query::plan::costs;
use crate::query::plan::node::create;
use crate::query::plan::private::Private;
use crate::query::plan::tids;
use crate::query::plan::wanted::{conditions_of, output, wanted_of};
use crate::storage::manifest;
use crate::storage::meta::logical_blocks;
use amax_lsm::Component;
use pgrx::pg_sys;
use std::ops::Range;

pub static PATH: PathMethods = PathMethods::of::<Scans>(c"AmaxScan");

pub static SCAN: ScanMethods = ScanMethods::new(c"AmaxScan", create::<Scan>);

pub static OPERATOR: Operator = Operator {
    path: &PATH,
    plan: &SCAN,
    exec: &METHODS,
    read_to_end,
    view,
};

/// Scans in place of the sequential one.
pub struct Paths<'a> {
    pub serial: &'a CustomPath,
    /// One that workers share, if they may.
    pub parallel: Option<&'a CustomPath>,
    /// What of the serial one's cost conditions cost.
    pub conditions: f64,
}

pub fn paths<'a>(root: &'a PlannerInfo, rel: &'a RelOptInfo, columnar: Columnar) -> Paths<'a> {
    // PostgreSQL's own is gone where an index beats it.
    let sequential = root.sequential(rel);
    let workers = if rel.consider_parallel() { rel.workers() } else { 0 };
    let mut wanted = output(root, rel);
    for condition in conditions_of(rel.baserestrictinfo()) {
        collect(root, condition, rel.relid(), &mut wanted);
    }
    let conditions = conditions::of(root, rel, columnar.tuples(rel), columnar.leaves);
    let (run, of_conditions) = run_cost(rel, sequential, columnar, &conditions, &wanted);
    #[cfg(feature = "test_hooks")]
    let sorted = super::mutants::claimed_order(root);
    #[cfg(not(feature = "test_hooks"))]
    let sorted = Nodes::NONE;
    let begins = (sequential.disabled_nodes(), sequential.startup_cost());
    let scan = |workers| path(rel, begins, run, sorted, workers);
    Paths {
        serial: scan(0),
        parallel: (workers > 0).then(|| scan(workers)),
        conditions: conditions.startup + of_conditions,
    }
}

/// Scans of partitions as one.
pub fn partitioned<'a>(root: &'a PlannerInfo, rel: &'a RelOptInfo, rte: &RangeTblEntry) -> Option<Paths<'a>> {
    if rel.reloptkind() != pg_sys::RelOptKind::RELOPT_BASEREL
        || rel.is_dummy()
        || !rel.lateral_relids().is_empty()
        || rte.tablesample().is_some()
    {
        return None;
    }
    let partitions = partitions::of(root, rel)?;
    let columnar: Vec<Option<Columnar>> = partitions
        .iter()
        .map(|p| Columnar::of(root.entry(p.relid()).relid()))
        .collect();
    columnar.iter().any(Option::is_some).then_some(())?;
    let parts: Vec<Paths> = partitions
        .into_iter()
        .zip(columnar)
        .map(|(partition, columnar)| paths(root, partition, columnar.unwrap_or(Columnar::NONE).within(partition)))
        .collect();
    let sum = |of: fn(&Path) -> f64| parts.iter().map(|part| of(part.serial)).sum::<f64>();
    let (startup, run) = (sum(Path::startup_cost), sum(Path::run_cost));
    let workers = parts
        .iter()
        .filter_map(|part| Some(part.parallel?.parallel_workers()))
        .max();
    let begins = (parts.first()?.serial.disabled_nodes(), startup);
    Some(Paths {
        serial: path(rel, begins, run, Nodes::NONE, 0),
        parallel: workers
            .filter(|_| rel.consider_parallel())
            .map(|workers| path(rel, begins, run, Nodes::NONE, workers)),
        conditions: parts.iter().map(|part| part.conditions).sum(),
    })
}

/// What an amax table has in columns.
#[derive(Clone, Copy, Default)]
pub struct Columnar {
    /// The part of its rows.
    pub share: f64,
    pub leaves: f64,
    pub pages: f64,
    /// Blocks that TIDs are in, and which part of them are scanned.
    blocks: u32,
    pub part: f64,
}

impl Columnar {
    /// All rows are in row pages.
    const NONE: Columnar = Columnar {
        share: 0.0,
        leaves: 0.0,
        pages: 0.0,
        blocks: 0,
        part: 1.0,
    };

    /// None for other tables and if there is nothing.
    pub fn of(table: pg_sys::Oid) -> Option<Columnar> {
        let rel = Opened::with_lock(table, pg_sys::NoLock);
        let manifest = rel.is_ours().then(|| manifest::current(&rel))?;
        let rows = manifest.rows() as f64;
        let sum = |of: fn(&Component) -> u64| manifest.components.iter().map(of).sum::<u64>() as f64;
        (rows > 0.0).then(|| Columnar {
            share: rows / f64::from(rel.tuples()).max(rows),
            leaves: sum(|component| component.leaves.into()),
            pages: sum(|component| component.pages),
            blocks: logical_blocks(&rel),
            part: 1.0,
        })
    }

    /// Of the blocks that a relation's conditions leave of it.
    pub fn within(self, rel: &RelOptInfo) -> Columnar {
        let part = tids::part(rel, self.blocks);
        Columnar {
            leaves: part * self.leaves,
            pages: part * self.pages,
            part,
            ..self
        }
    }

    /// Rows in these blocks.
    fn tuples(&self, rel: &RelOptInfo) -> f64 {
        self.part * rel.tuples()
    }

    /// What reading these paths and variables costs, if all rows were columnar, where conditions cost so much and `rows`
    /// are handed up.
    pub fn cost(&self, rel: &RelOptInfo, conditions: f64, wanted: &[&Node], rows: f64) -> f64 {
        costs::scan(&costs::ScanWork {
            leaves: self.leaves,
            pages: self.pages,
            tuples: self.tuples(rel),
            rows,
            conditions,
            columns: wanted.len(),
            documents: wanted.iter().any(|node| is_document(node)),
        })
    }
}

fn path<'a>(
    rel: &'a RelOptInfo,
    (disabled_nodes, startup): (i32, f64),
    mut run: f64,
    sorted: Nodes<'a>,
    workers: i32,
) -> &'a CustomPath {
    let mut rows = rel.rows();
    if workers > 0 {
        let divisor = costs::parallel_divisor(workers);
        run /= divisor;
        rows = (rows / divisor).max(1.0);
    }
    NewPath {
        backward: true,
        parallel_aware: workers > 0,
        parallel_safe: rel.consider_parallel(),
        parallel_workers: workers,
        rows,
        startup_cost: startup,
        total_cost: startup + run,
        disabled_nodes: Some(disabled_nodes),
        sorted,
        ..NewPath::of(&PATH, rel, rel.reltarget())
    }
    .make()
}

/// What a scan costs once it has begun, that reads these paths and variables: no more than a part of what a sequential scan costs, which decodes the same rows
/// one by one. And what of that its conditions cost.
fn run_cost(
    rel: &RelOptInfo,
    sequential: &Path,
    columnar: Columnar,
    conditions: &Conditions,
    wanted: &[&Node],
) -> (f64, f64) {
    let vectors = columnar.cost(rel, conditions.run, wanted, rel.rows());
    let one_by_one = columnar.part * sequential.run_cost();
    let at_most = vectors.min(costs::AT_MOST * one_by_one);
    let run = columnar.share * at_most + (1.0 - columnar.share) * one_by_one;
    (run, conditions.run * at_most / vectors)
}

/// The same of a table, for a node above that reads less of most rows.
pub fn cost_of_reading(root: &PlannerInfo, rel: &RelOptInfo, wanted: &[&Node]) -> f64 {
    if let Some(partitions) = partitions::of(root, rel) {
        let costs = partitions
            .iter()
            .map(|partition| cost_of_reading(root, partition, wanted));
        return costs.sum();
    }
    let columnar = Columnar::of(root.entry(rel.relid()).relid())
        .unwrap_or_default()
        .within(rel);
    let conditions = conditions::of(root, rel, columnar.tuples(rel), columnar.leaves);
    run_cost(rel, root.sequential(rel), columnar, &conditions, wanted).0
}

/// The part of a table's rows, or its partitions', that is in columns.
pub fn share(root: &PlannerInfo, rel: &RelOptInfo) -> f64 {
    let columnar =
        |rel: &RelOptInfo| Columnar::of(root.entry(rel.relid()).relid()).map_or(0.0, |columnar| columnar.share);
    let Some(partitions) = partitions::of(root, rel) else {
        return columnar(rel);
    };
    let sum = |of: &dyn Fn(&RelOptInfo) -> f64| partitions.iter().map(|partition| of(partition)).sum::<f64>();
    sum(&|partition| partition.tuples() * columnar(partition)) / sum(&RelOptInfo::tuples).max(1.0)
}

pub struct Scans;

impl Planning for Scans {
    fn plan<'a>(root: &'a PlannerInfo, rel: &'a RelOptInfo, _path: &'a CustomPath, asked: Asked<'a>) -> NewPlan<'a> {
        let Looks {
            conditions,
            skipping,
            about_blocks,
            blocks,
        } = looks(root, rel, asked.clauses);
        let private = ScanPlan {
            all: ReadToEnd::of(root, root.all_baserels().is_one()),
            begins: Begins::of_setting(),
            // No more than that, if there are.
            passing: rel.rows() as i32,
            conditions: conditions.len(),
            skipping,
            about_blocks,
            blocks,
            table: None,
            partitions: partitions::of(root, rel).map_or(Vec::new(), |partitions| {
                let partitions = partitions.iter();
                partitions
                    .map(|partition| root.entry(partition.relid()).relid())
                    .collect()
            }),
            levels: Vec::new(),
        };
        NewPlan {
            methods: &SCAN,
            relation: rel.relid(),
            children: Nodes::NONE,
            entries: entries(root, rel, asked.targets, &conditions),
            expressions: conditions,
            private: private.to_list(),
            backward: false,
        }
    }
}

/// What the rows of a scan of a table consist of, which looks at these conditions.
pub fn entries<'a>(
    root: &'a PlannerInfo,
    rel: &'a RelOptInfo,
    targets: Nodes<'a>,
    conditions: &[&'a Node],
) -> Vec<&'a Node> {
    let mut wanted = wanted_of(root, rel);
    for node in targets.iter().chain(conditions.iter().copied()) {
        collect(root, node, rel.relid(), &mut wanted);
    }
    // PostgreSQL may give the plan another target list later (create_projection_plan), made of the same variables.
    for expression in rel.reltarget().exprs().iter() {
        variables(expression, rel.relid(), &mut wanted);
    }
    wanted
}

/// What a scan looks at.
struct Looks<'a> {
    /// In this order.
    conditions: Vec<&'a Node>,
    /// How many of them, the first, may have leaves skipped by their bounds.
    skipping: usize,
    /// How many of them, the last, are true of all rows in the blocks.
    about_blocks: usize,
    blocks: Range<u32>,
}

/// Where there is a policy only its conditions skip leaves: how many pages are read, which EXPLAIN shows, tells nothing of
/// rows that the policy hides then.
fn looks<'a>(root: &PlannerInfo, rel: &RelOptInfo, clauses: Nodes<'a>) -> Looks<'a> {
    let (mut conditions, mut about_blocks, mut skipping) = (Vec::new(), Vec::new(), 0);
    for info in in_order(root, clauses) {
        let mut parts = Vec::new();
        split(info.clause(), &mut parts);
        match tids::is_about_blocks(rel, info) {
            true => about_blocks.extend(parts),
            false => conditions.extend(parts),
        }
        if info.security_level() <= rel.baserestrict_min_security() {
            skipping = conditions.len();
        }
    }
    let last = about_blocks.len();
    conditions.extend(about_blocks);
    Looks {
        conditions,
        skipping,
        about_blocks: last,
        blocks: tids::blocks(rel, clauses),
    }
}
