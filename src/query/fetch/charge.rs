//! What finding rows by an index costs where they are columnar. PostgreSQL counts pages of rows as heap has them; a
//! columnar row is looked up in its leaf, and each of its values in a column of its own.

use crate::pg::expr::Var;
use crate::pg::node::Node;
use crate::pg::planner::{BitmapHeapPath, IndexPath, Path, RelOptInfo, row_count};
use crate::pg::relation::Opened;
use crate::query::expr::entry::{Entry, entry_of};
use crate::query::expr::path::JsonPath;
use crate::query::plan::costs::{self, FetchWork};
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag;

/// What is read of a row of which these paths and variables are asked for: by a fetch, and by PostgreSQL's own scan, which
/// reads documents for their paths, and with an attribute all those before it.
pub fn work(table: pg_sys::Oid, read: &[&Node]) -> (FetchWork, FetchWork) {
    let rel = Opened::with_lock(table, pg_sys::NoLock);
    let all = rel.desc().natts();
    let mut whole = vec![false; all];
    let (mut paths, mut last) = (0, 0);
    for node in read {
        let of_row = node.as_a::<Var>().is_some_and(|var| var.varattno() == 0);
        let attribute = match entry_of(node, &[]) {
            Entry::Path(JsonPath { attribute, steps, .. })
            | Entry::Answer(JsonPath { attribute, steps, .. }, _)
            | Entry::Found(JsonPath { attribute, steps, .. }, _)
                if !steps.is_empty() =>
            {
                paths += 1;
                attribute as usize
            }
            Entry::Path(JsonPath { attribute, .. })
            | Entry::Answer(JsonPath { attribute, .. }, _)
            | Entry::Found(JsonPath { attribute, .. }, _)
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
    let attributes = rel.desc().attributes().zip(whole).take(last);
    for (attribute, whole) in attributes.filter(|(attribute, _)| !attribute.attisdropped) {
        own.add(attribute.atttypid);
        if whole {
            of_fetch.add(attribute.atttypid);
        }
    }
    of_fetch.values += paths;
    (of_fetch, own)
}

/// What PostgreSQL counts for such rows, where an index finds them: their pages, but for a few operators.
fn pages(path: &Path) -> f64 {
    let by_index = path.as_a::<IndexPath>().map(IndexPath::indextotalcost);
    let of_index = by_index.or_else(|| Some(path.as_a::<BitmapHeapPath>()?.found().0));
    of_index.map_or(0.0, |of_index| (path.total_cost() - of_index).max(0.0))
}

/// The rows that a scan by an index, or of a sample, fetches from the table, each time it runs, as far as the constants of a fetch
/// count for them; None if it is no such scan. One at least, as PostgreSQL expects it: an estimate of less is mostly wrong.
pub fn rows(rel: &RelOptInfo, path: &Path) -> Option<f64> {
    let mut rows = if let Some(scan) = path.as_a::<IndexPath>() {
        row_count(scan.indexselectivity() * rel.tuples())
    } else if path.pathtype() == NodeTag::T_SampleScan {
        costs::FETCH_IN_ORDER * row_count(rel.tuples())
    } else {
        let (_, selectivity) = path.as_a::<BitmapHeapPath>()?.found();
        costs::FETCH_IN_ORDER * row_count(selectivity * rel.tuples())
    };
    if path.parallel_workers() > 0 {
        rows /= costs::parallel_divisor(path.parallel_workers());
    }
    Some(rows)
}

/// Makes the scans by indexes that PostgreSQL has for a relation cost what columnar rows do: `columnar` is the part of
/// the rows that are, in so many leaves, `own` what each reads of a row.
pub fn add(rel: &RelOptInfo, own: impl Fn(&Path) -> FetchWork, (columnar, leaves): (f64, f64)) {
    rel.charge(|path| {
        if let Some(rows) = rows(rel, path) {
            let in_memory = (1.0 - costs::fetched_pages(leaves)) * columnar * pages(path);
            path.add_cost(costs::fetched(columnar * rows, own(path)) - in_memory);
        }
    });
}

/// What a fetch above such a scan does not read after all.
pub fn saved((of_fetch, own): (FetchWork, FetchWork), rel: &RelOptInfo, scan: &Path) -> f64 {
    let rows = rows(rel, scan).unwrap_or(0.0);
    (costs::fetched(rows, own) - costs::fetched(rows, of_fetch)).max(0.0)
}
