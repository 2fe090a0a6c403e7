//! Planning fetches: a custom path above every index, bitmap and sample scan of an amax table from whose documents the query
//! reads paths only, or that would read attributes nobody asks for. The scan below finds the rows and hands them up undecoded; its conditions beyond the index's are
//! ours.

use super::charge;
use super::node::Fetch;
use crate::pg::custom::{Asked, CustomPath, NewPath, NewPlan, PathMethods, Planning, ScanMethods};
use crate::pg::node::{Node, Nodes, duplicate};
use crate::pg::plan::{BitmapHeapScan, Plan};
use crate::pg::planner::*;
use crate::query::expr::containment::split;
use crate::query::expr::entry::{collect, collected, is_variable};
use crate::query::plan::costs::{self, FetchWork};
use crate::query::plan::node::create;
use crate::query::plan::wanted::output;
use crate::query::scan::plan::entries;
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag;

static PATH: PathMethods = PathMethods::of::<Fetches>(c"AmaxFetch");

pub static SCAN: ScanMethods = ScanMethods::new(c"AmaxFetch", create::<Fetch>);

/// A fetch for each scan by an index of which it saves something; `columnar` is the part of the rows that are, in so many leaves.
pub fn paths<'a>(root: &'a PlannerInfo, rel: &'a RelOptInfo, (columnar, leaves): (f64, f64)) -> Vec<&'a CustomPath> {
    let output = output(root, rel);
    let table = root.entry(rel.relid()).relid();
    let scans = rel.paths().into_iter().chain(rel.partial_paths());
    let works: Vec<_> = scans
        .filter(|scan| charge::rows(rel, scan).is_some() && scan.pathtype() != NodeTag::T_IndexOnlyScan)
        .map(|scan| (scan.raw(), charge::work(table, &read(root, &output, rel, scan))))
        .collect();
    let work = |scan: &Path| {
        let known = works.iter().find(|(known, _)| *known == scan.raw());
        known.map(|(_, work)| *work)
    };
    charge::add(rel, |scan| work(scan).unwrap_or_default().1, (columnar, leaves));
    rel.paths()
        .into_iter()
        .filter_map(|scan| {
            let work = work(scan)?;
            Some(path(rel, below(scan)?, work, saves(work)?, columnar))
        })
        .collect()
}

/// The scan as a fetch has it below; None if it is of another kind.
fn below(scan: &Path) -> Option<&Path> {
    if let Some(index) = scan.as_a::<IndexPath>() {
        let plain = scan.pathtype() == NodeTag::T_IndexScan && !index.indexorderbys().is_some();
        return plain.then_some(scan);
    }
    // add_path() frees it when it finds the fetch to be better.
    let bitmap = scan.as_a::<BitmapHeapPath>();
    bitmap.map_or_else(|| scan.plain_copy(), |bitmap| Some(duplicate(bitmap).as_path()))
}

/// Paths and variables that are read of the rows that a scan finds: by what is above it, and by conditions that an index does
/// not decide.
fn read<'a>(root: &PlannerInfo, output: &[&'a Node], rel: &'a RelOptInfo, scan: &'a Path) -> Vec<&'a Node> {
    let mut read = output.to_vec();
    // Conditions that the index decides are not looked at again.
    let mut found = Vec::new();
    if !is_rechecked(scan) {
        index_paths(scan, &mut found);
    }
    let decided = |condition: &RestrictInfo| {
        let mut clauses = found.iter().flat_map(|path| path.indexclauses().all::<IndexClause>());
        clauses.any(|clause| std::ptr::eq(clause.rinfo(), condition) && !clause.lossy())
    };
    let joins = scan.param_info().map_or(Nodes::NONE, ParamPathInfo::ppi_clauses);
    let conditions = rel.baserestrictinfo().all::<RestrictInfo>().chain(joins.all());
    for condition in conditions.filter(|condition| !decided(condition)) {
        let mut parts = Vec::new();
        split(condition.clause(), &mut parts);
        for part in parts {
            collect(root, part, rel.relid(), &mut read);
        }
    }
    read
}

/// Scans of indexes that a scan consists of.
fn index_paths<'a>(scan: &'a Path, found: &mut Vec<&'a IndexPath>) {
    crate::pg::executor::check_stack_depth();
    if let Some(index) = scan.as_a::<IndexPath>() {
        found.push(index);
    } else if let Some(heap) = scan.as_a::<BitmapHeapPath>() {
        index_paths(heap.bitmapqual(), found);
    } else {
        let and = scan.as_a::<BitmapAndPath>().map(BitmapAndPath::bitmapquals);
        let parts = and.or_else(|| scan.as_a::<BitmapOrPath>().map(BitmapOrPath::bitmapquals));
        crate::pg::planner::paths(parts.unwrap_or(Nodes::NONE)).for_each(|part| index_paths(part, found));
    }
}

/// Whether the rows that a scan finds are to be looked at again: a GIN index knows of each key by itself whether it is in a
/// document.
fn is_rechecked(scan: &Path) -> bool {
    let mut found = Vec::new();
    index_paths(scan, &mut found);
    found
        .into_iter()
        .any(|path| path.indexinfo().relam() == pg_sys::GIN_AM_OID)
}

/// Whether conditions read paths of documents.
fn reads_paths(root: &PlannerInfo, conditions: &[&Node], relid: pg_sys::Index) -> bool {
    let read = collected(root, conditions.iter().copied(), relid);
    read.iter().any(|node| !is_variable(node))
}

/// What a fetch need not do.
enum Saves {
    /// Assembling a document of which paths are read, or that only lies before what is read.
    Documents,
    /// Reading attributes that lie before those which are asked for: more than a node is worth.
    Values,
}

fn saves((of_fetch, own): (FetchWork, FetchWork)) -> Option<Saves> {
    if of_fetch.documents < own.documents {
        Some(Saves::Documents)
    } else {
        let values = |work: FetchWork| work.values + work.numerics;
        (values(of_fetch) + 1 < values(own)).then_some(Saves::Values)
    }
}

fn path<'a>(
    rel: &'a RelOptInfo,
    scan: &'a Path,
    work: (FetchWork, FetchWork),
    saves: Saves,
    columnar: f64,
) -> &'a CustomPath {
    let run = scan.run_cost() - columnar * charge::saved(work, rel, scan);
    let run = match saves {
        Saves::Documents => costs::fetch(run, columnar),
        Saves::Values => run,
    };
    NewPath {
        parameters: scan.param_info(),
        children: vec![scan],
        parallel_safe: scan.parallel_safe(),
        rows: scan.rows(),
        startup_cost: scan.startup_cost(),
        total_cost: scan.startup_cost() + run,
        sorted: scan.pathkeys(),
        ..NewPath::of(&PATH, rel, rel.reltarget())
    }
    .make()
}

struct Fetches;

impl Planning for Fetches {
    fn plan<'a>(root: &'a PlannerInfo, rel: &'a RelOptInfo, path: &'a CustomPath, asked: Asked<'a>) -> NewPlan<'a> {
        let mut below = Plan::of_node(asked.plans.get(0).expect("a fetch has a plan below"));
        if below.tag() == NodeTag::T_Result {
            // Conditions without variables: they get a node above us as well (create_gating_plan).
            below = below.lefttree().expect("it is above the scan");
        }
        let mut conditions = Vec::new();
        if let Some(bitmap) = below.as_a::<BitmapHeapScan>() {
            let mut parts = Vec::new();
            for condition in bitmap.bitmapqualorig().iter() {
                split(condition, &mut parts);
            }
            if is_rechecked(path.children()[0]) && reads_paths(root, &parts, rel.relid()) {
                conditions = parts;
                bitmap.leave_out_recheck();
            }
        }
        for condition in below.qual().iter() {
            split(condition, &mut conditions);
        }
        // It computes nothing: we take the row it is about.
        below.empty();
        // PostgreSQL looks in the catalog for what the index can, where one that an extension pretends is not.
        let index = path.children()[0].as_a::<IndexPath>();
        let exists = index.is_some_and(|index| !index.indexinfo().hypothetical());
        NewPlan {
            methods: &SCAN,
            relation: rel.relid(),
            children: Nodes::NONE.with(below),
            entries: entries(root, rel, asked.targets, &conditions),
            expressions: conditions,
            private: Nodes::NONE,
            backward: exists && below.is_backward(),
        }
    }
}
