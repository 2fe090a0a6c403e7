//! How many of a table's leaves the best rows may be in, by the bounds of some of them: of what grows with time, a few.

use super::wanted::Key;
use crate::columnar;
use crate::pg::expr::{CoerceViaIO, FuncExpr, PlaceHolderVar, RelabelType};
use crate::pg::lookup::is_bytewise;
use crate::pg::node::Node;
use crate::pg::planner::{PlannerInfo, RelOptInfo};
use crate::pg::relation::Opened;
use crate::query::batch::external::LeafZones;
use crate::query::expr::entry::{Entry, entry_of};
use crate::query::scan::partitions;
use crate::storage::manifest;
use amax_exec::Zones;
use amax_format::{Bound, Tag};
use pgrx::pg_sys::*;
use std::rc::Rc;

/// Leaves that are looked at.
const LEAVES: usize = 16;

/// A leaf's first key, the greatest being the best.
struct Leaf {
    best: f64,
    worst: f64,
    rows: f64,
    /// Whether it may have NULLs, which come first.
    nulls: bool,
}

/// The share of a table's leaves that bounds do not exclude, if `wanted` rows by this key first are asked for, of the share
/// `selectivity` of its rows.
pub fn reach(root: &PlannerInfo, rel: &RelOptInfo, key: &Key, wanted: f64, selectivity: f64) -> f64 {
    let Some((leaves, all)) = entry_of_key(key.node).and_then(|entry| leaves(root, rel, key, entry)) else {
        return 1.0;
    };
    let each = all as f64 / leaves.len() as f64;
    let nulls = leaves.iter().filter(|leaf| leaf.nulls).count();
    let mut by_best: Vec<&Leaf> = leaves.iter().filter(|leaf| !leaf.nulls).collect();
    by_best.sort_by(|a, b| b.best.total_cmp(&a.best));
    // The last of the rows that are wanted, as if values were spread evenly within bounds.
    let (mut last, mut lacking) = (f64::NEG_INFINITY, wanted);
    for leaf in &by_best {
        let rows = leaf.rows * selectivity * each;
        last = match rows >= lacking {
            true => leaf.best - (leaf.best - leaf.worst) * (lacking / rows),
            false => leaf.worst,
        };
        lacking -= rows;
        if lacking <= 0.0 {
            break;
        }
    }
    let reached = nulls + by_best.iter().filter(|leaf| leaf.best >= last).count();
    (reached as f64 / leaves.len() as f64).max(1.0 / all as f64)
}

/// What a key is a value of, as it is or cast, where leaves have bounds for it (`amax_exec`'s `Top`).
fn entry_of_key(key: &Node) -> Option<Entry> {
    let text = is_text(key);
    let number = matches!(
        key.type_oid(),
        INT2OID | INT4OID | INT8OID | FLOAT4OID | FLOAT8OID | NUMERICOID | BOOLOID
    ) || is_time(key);
    let mut node = key;
    loop {
        match entry_of(node, &[]) {
            entry @ Entry::Attribute(_) => return Some(entry),
            entry @ Entry::Path(_) => return (number || text).then_some(entry),
            _ => {}
        }
        node = if let Some(wrapped) = node.as_a::<PlaceHolderVar>() {
            wrapped.phexpr()?
        } else if let Some(cast) = node.as_a::<RelabelType>() {
            cast.arg()?
        } else if let Some(cast) = node.as_a::<CoerceViaIO>().filter(|_| number) {
            cast.arg()?
        } else {
            let cast = node.as_a::<FuncExpr>().filter(|call| number && call.is_cast())?;
            cast.args().get(0)?
        };
    }
}

/// Some leaves, and how many there are; None where they have no bounds.
fn leaves(root: &PlannerInfo, rel: &RelOptInfo, key: &Key, entry: Entry) -> Option<(Vec<Leaf>, usize)> {
    let rels = partitions::of(root, rel).unwrap_or_else(|| vec![rel]);
    let tables: Vec<Opened> = rels
        .into_iter()
        .map(|rel| Opened::with_lock(root.entry(rel.relid()).relid(), NoLock))
        .collect();
    let manifests: Vec<_> = tables.iter().map(|table| manifest::current(table)).collect();
    let entries: Rc<[Entry]> = Rc::from([entry]);
    let (mut all, mut places) = (0, Vec::new());
    for (table, manifest) in tables.iter().zip(&manifests) {
        for component in &manifest.components {
            let leaves = manifest::read_directory(table, component).ok()?.leaves.len();
            places.extend((0..leaves).map(|at| (table, component, at)));
            all += leaves;
        }
    }
    let step = all.div_ceil(LEAVES).max(1);
    let (mut found, mut all_times) = (Vec::new(), None);
    // The first and the last: what grows with time has its best rows at one end.
    let ends = places.iter().take(1).chain(places.iter().rev().step_by(step));
    for &(table, component, at) in ends.take(LEAVES + 1) {
        let leaf = columnar::open_leaf(table, component, at).ok()?;
        let zones = LeafZones::new(&leaf, &entries);
        let zone = zones.zone(0)?;
        let (min, max) = match zone.times {
            Some(times) => (times.min as f64, times.max as f64),
            None => (number(zone.min), number(zone.max)),
        };
        let (best, worst) = if key.descending { (max, min) } else { (-min, -max) };
        // Numbers as text, and text as numbers, have another order; times are in theirs in all collations.
        let text = is_text(key.node);
        let fits = match (zone.tag, zone.times) {
            (Tag::String, Some(_)) => text || is_time(key.node),
            (Tag::String, None) => text && is_bytewise(key.node.collation()),
            _ => !text,
        };
        if !fits || *all_times.get_or_insert(zone.times.is_some()) != zone.times.is_some() {
            return None;
        }
        found.push(Leaf {
            best,
            worst,
            rows: leaf.rows() as f64,
            nulls: key.nulls_first && (zone.has_null || !zones.is_everywhere(0)),
        });
    }
    (!found.is_empty()).then_some((found, all))
}

fn is_text(node: &Node) -> bool {
    matches!(node.type_oid(), TEXTOID | VARCHAROID)
}

fn is_time(node: &Node) -> bool {
    matches!(node.type_oid(), DATEOID | TIMESTAMPOID | TIMESTAMPTZOID)
}

fn number(bound: Bound) -> f64 {
    match bound {
        Bound::Int(bound) => bound as f64,
        Bound::Float(bound) => bound,
        // Far more of them than a float tells apart.
        Bound::Prefix(bound) => {
            let bytes = bound.bytes().iter().rev();
            bytes.fold(0.0, |number, &byte| (number + f64::from(byte)) / 256.0)
        }
    }
}
