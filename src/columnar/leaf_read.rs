//! A leaf as it is in its pages, past the cache: its image, and the transaction ids of its rows.

use super::error::raise;
use super::pages::{Image, Pages};
use crate::pg::Relation;
use crate::storage::damage::corrupt;
use crate::storage::manifest::{self, Replaced};
use amax_format::{Error, Leaf, ReadOptions};
use amax_lsm::xids::FROZEN;
use amax_lsm::{Component, Damaged, LeafEntry, LeafXids, Xids};

/// Bytes that a call may decode: what was written can be read, however much it is. Damage is found by checksums,
/// before.
const MEMORY: usize = 1 << 40;

/// Leaf `at` of a component, past the cache: a merge reads it once.
pub fn read(rel: &Relation, component: &Component, at: usize, entry: &LeafEntry) -> Leaf<Image> {
    let leaf = try_read(rel, component, entry);
    leaf.unwrap_or_else(|e| damaged(rel, entry, component.id, at, &e))
}

/// The same for who can look again.
pub fn try_read(rel: &Relation, component: &Component, entry: &LeafEntry) -> Result<Leaf<Image>, Error> {
    let source = Image::Pages(Pages::new(rel, component.id, &entry.image));
    open_image(source, entry.image.len, entry)
}

pub fn open_image(source: Image, len: u64, entry: &LeafEntry) -> Result<Leaf<Image>, Error> {
    let options = ReadOptions {
        memory_limit: MEMORY,
        ..ReadOptions::default()
    };
    let leaf = Leaf::open_with(source, len, options)?;
    if leaf.rows() != entry.rows as usize {
        let what = "number of rows differs from the directory's";
        return Err(Error::Corrupt(what.into()));
    }
    Ok(leaf)
}

pub fn damaged(rel: &Relation, entry: &LeafEntry, component: u64, at: usize, error: &Error) -> ! {
    if let Error::Replaced | Error::OutOfMemory(_) = error {
        raise(error.clone());
    }
    let block = entry.image.page(0).unwrap_or(0);
    let name = rel.name();
    let what = format!("leaf {at} of component {component} of \"{name}\": {error}");
    corrupt(rel, block, &what)
}

/// The transaction ids of a leaf's rows; None if they all are as visible as the component.
pub fn xids_of(rel: &Relation, component: u64, entry: &LeafEntry) -> Result<Option<Xids>, Replaced> {
    let rows = entry.rows;
    let ids = match &entry.xids {
        LeafXids::Frozen => return Ok(None),
        LeafXids::One(xid) => return Ok(Some(Xids::all(rows, *xid))),
        LeafXids::Each { ids, .. } => ids,
    };
    let what = "transaction ids of a leaf";
    let decode = |bytes: &[u8]| match Xids::decode(bytes)? {
        xids if xids.len() == rows => Ok(Some(xids)),
        xids => Err(Damaged(format!("{} for {rows} rows", xids.len()))),
    };
    manifest::read_blob(rel, component, ids, what, decode)
}

/// The same of a settled component, past the cache.
pub fn read_xids(rel: &Relation, component: &Component, entry: &LeafEntry) -> Xids {
    let xids = xids_of(rel, component.id, entry);
    let xids = xids.unwrap_or_else(|Replaced| manifest::cancel_replaced());
    let loaded = component.origin.map_or(FROZEN, |origin| origin.xid);
    xids.unwrap_or_else(|| Xids::all(entry.rows, loaded))
}
