//! What finding rows by an index costs where they are columnar. PostgreSQL counts pages of rows as heap has them; a
//! columnar row is looked up in its leaf, and each of its values in a column of its own.

use crate::pg::relation::Opened;
use crate::pg::tupdesc::Attribute;
use crate::query::expr::entry::{Entry, entry_of};
use crate::query::expr::path::JsonPath;
use crate::query::expr::tree::{is_a, nodes};
use crate::query::plan::costs::{self, FetchWork};
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag;

/// What is read of a row of which these paths and variables are asked for: by a fetch, and by PostgreSQL's own scan, which
/// reads documents for their paths, and with an attribute all those before it.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn work(table: pg_sys::Oid, read: &[*mut pg_sys::Node]) -> (FetchWork, FetchWork) {
    let rel = Opened::with_lock(table, pg_sys::NoLock);
    let all = rel.desc().natts();
    let mut whole = vec![false; all];
    let (mut paths, mut last) = (0, 0);
    for &node in read {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        let (entry, of_row) = unsafe {
            let var = node as *mut pg_sys::Var;
            (entry_of(node, &[]), is_a(node, NodeTag::T_Var) && (*var).varattno == 0)
        };
        let attribute = match entry {
            Entry::Path(JsonPath { attribute, steps, .. }) | Entry::Answer(JsonPath { attribute, steps, .. }, _)
                if !steps.is_empty() =>
            {
                paths += 1;
                attribute as usize
            }
            Entry::Path(JsonPath { attribute, .. })
            | Entry::Answer(JsonPath { attribute, .. }, _)
            | Entry::Part(attribute, _)
            | Entry::Attribute(attribute) => {
                whole[attribute as usize - 1] = true;
                attribute as usize
            }
            _ if of_row => {
                whole.fill(true);
                all
            }
            _ => 0,
        };
        last = last.max(attribute);
    }
    let (mut of_fetch, mut own) = (FetchWork::default(), FetchWork::default());
    for (attribute, whole) in rel.desc().attributes().zip(whole).take(last) {
        own.add(attribute);
        if whole {
            of_fetch.add(attribute);
        }
    }
    of_fetch.values += paths;
    (of_fetch, own)
}

impl FetchWork {
    fn add(&mut self, attribute: &Attribute) {
        match attribute.atttypid {
            _ if attribute.attisdropped => {}
            pg_sys::JSONBOID => self.documents += 1,
            _ => self.values += 1,
        }
    }
}

/// The rows that a scan by an index fetches from the table, each time it runs, as far as the constants of a fetch count
/// for them; None if it is no such scan. One at least, as PostgreSQL expects it: an estimate of less is mostly wrong.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn rows(rel: *mut pg_sys::RelOptInfo, path: *mut pg_sys::Path) -> Option<f64> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let mut rows = if is_a(path as *mut pg_sys::Node, NodeTag::T_IndexPath) {
            pg_sys::clamp_row_est((*(path as *mut pg_sys::IndexPath)).indexselectivity * (*rel).tuples)
        } else if is_a(path as *mut pg_sys::Node, NodeTag::T_BitmapHeapPath) {
            let (mut cost, mut selectivity) = (0.0, 0.0);
            let bitmap = (*(path as *mut pg_sys::BitmapHeapPath)).bitmapqual;
            pg_sys::cost_bitmap_tree_node(bitmap, &mut cost, &mut selectivity);
            costs::FETCH_IN_ORDER * pg_sys::clamp_row_est(selectivity * (*rel).tuples)
        } else {
            return None;
        };
        if (*path).parallel_workers > 0 {
            rows /= costs::parallel_divisor((*path).parallel_workers);
        }
        Some(rows)
    }
}

/// Makes the scans by indexes that PostgreSQL has for a relation cost what columnar rows do: `columnar` is the part of
/// the rows that are, `own` what each reads of a row.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn add(rel: *mut pg_sys::RelOptInfo, own: impl Fn(*mut pg_sys::Path) -> FetchWork, columnar: f64) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let charged = move |path: *mut pg_sys::Node| {
            let path = path as *mut pg_sys::Path;
            if let Some(rows) = rows(rel, path) {
                (*path).total_cost += costs::fetched(columnar * rows, own(path));
            }
            path
        };
        // They are in the order of their costs.
        let (paths, partial) = (nodes((*rel).pathlist), nodes((*rel).partial_pathlist));
        (*rel).pathlist = std::ptr::null_mut();
        (*rel).partial_pathlist = std::ptr::null_mut();
        paths.into_iter().for_each(|path| pg_sys::add_path(rel, charged(path)));
        partial
            .into_iter()
            .for_each(|path| pg_sys::add_partial_path(rel, charged(path)));
    }
}

/// What a fetch above such a scan does not read after all.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn saved(
    (of_fetch, own): (FetchWork, FetchWork),
    rel: *mut pg_sys::RelOptInfo,
    scan: *mut pg_sys::Path,
) -> f64 {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let rows = rows(rel, scan).unwrap_or(0.0);
        (costs::fetched(rows, own) - costs::fetched(rows, of_fetch)).max(0.0)
    }
}
