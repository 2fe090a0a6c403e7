//! Looking a row up by its TID, whoever sees it.

use super::leaf::OpenLeaf;
use super::leaf_cache::{find_last, open};
use super::row::Row;
use crate::pg::Relation;
use crate::storage::damage::corrupt;
use crate::storage::manifest::{self, Replaced};
use crate::storage::rowpage::{set_tid, tid_block};
use amax_lsm::tid::{self, key};
use amax_lsm::{Component, LeafEntry};
use pgrx::pg_sys;
use std::rc::Rc;

/// The leaf that holds block `v`.
pub fn leaf_of(rel: &Relation, component: &Component, v: u32) -> Result<Option<Rc<OpenLeaf>>, Replaced> {
    if let Some(leaf) = find_last(rel, component, v) {
        return Ok(Some(leaf));
    }
    let directory = manifest::read_directory(rel, component)?;
    let at = directory.first_leaf_at(v);
    match directory.leaves.get(at) {
        Some(entry) if tid::block(entry.first) <= v => open(rel, component, at).map(Some),
        _ => Ok(None),
    }
}

/// The offset of the row that an index entry's offset stands for.
pub fn resolve(entry: &LeafEntry, v: u32, offset: u16) -> u16 {
    match entry.aliases.binary_search_by_key(&key(v, offset), |a| a.0) {
        Ok(at) => entry.aliases[at].1,
        Err(_) => offset,
    }
}

/// The row at `tid` as far as the leaf knows; `tid` is set to the row's own if it was an alias.
pub fn find(rel: &Relation, component: &Component, at: &mut pg_sys::ItemPointerData) -> Result<Option<Row>, Replaced> {
    let v = tid_block(at);
    let Some(leaf) = leaf_of(rel, component, v)? else {
        return Ok(None);
    };
    let offset = resolve(&leaf.entry, v, at.ip_posid);
    let Some(i) = leaf.keys().find(key(v, offset)) else {
        return Ok(None);
    };
    set_tid(at, v, offset);
    Ok(Some(Row::new(leaf, i, component.origin).alone()))
}

/// The row at its own TID, seen or not; None when a merge left it out.
pub fn row(rel: &Relation, component: &Component, at: &pg_sys::ItemPointerData) -> Option<Row> {
    let mut own = *at;
    let found = find(rel, component, &mut own);
    let row = found.unwrap_or_else(|Replaced| manifest::cancel_replaced());
    row.filter(|_| own.ip_posid == at.ip_posid)
}

/// The row at a TID, seen or not, if it is columnar by now.
pub fn columnar_at(rel: &Relation, at: &pg_sys::ItemPointerData) -> Option<Row> {
    loop {
        let manifest = manifest::current(rel);
        let component = &manifest.components[manifest.component_of(tid_block(at))?];
        let mut own = *at;
        match find(rel, component, &mut own) {
            Ok(row) => return row,
            Err(Replaced) => crate::memory::check_for_interrupts(),
        }
    }
}

/// The row at the TID of a live stub.
pub fn row_at(rel: &Relation, component: &Component, at: &pg_sys::ItemPointerData) -> Row {
    row(rel, component, at).unwrap_or_else(|| {
        let detail = format!(
            "component {} has no row ({},{})",
            component.id,
            tid_block(at),
            at.ip_posid
        );
        corrupt(rel, component.directory.page(0).unwrap_or(0), &detail)
    })
}
