//! Freezing a component: old transaction ids of its rows are forgotten, before relfrozenxid passes them. The leaves
//! stay; the directory, which says where the ids are, is written anew.

use crate::columnar::write::Leaves;
use crate::counters::Written;
use crate::pg::Relation;
use crate::storage::{manifest, space};
use amax_lsm::xids::precedes;
use amax_lsm::{Component, Extent, LeafXids, RetiredPages};

/// Freezes what is older than `limit`. The caller holds the maintenance lock, and has told standbys.
pub fn freeze(rel: &Relation, component: &Component, limit: u32) {
    let old = manifest::directory(rel, component);
    let mut given_up: Vec<Extent> = component.directory.extents.clone();
    let mut leaves = Leaves::new(Some(manifest::take_free(rel, space::for_manifests)));
    for entry in &old.leaves {
        let mut entry = entry.clone();
        if entry.xids.range().is_some_and(|(oldest, _)| precedes(oldest, limit)) {
            let xids = crate::columnar::read_xids(rel, component, &entry);
            given_up.extend(entry.xids.blob().iter().flat_map(|blob| &blob.extents));
            entry.xids = LeafXids::store(&xids.frozen(limit), |bytes| leaves.write_bytes(rel, bytes));
        }
        leaves.add(entry);
    }
    let (mut frozen, free, _) = leaves.finish(rel, Some(Written::Move), component.blocks.clone(), None);
    super::fault("freeze_written");
    manifest::publish(rel, |manifest| {
        manifest.free.give_all(&free);
        frozen.rows = component.rows;
        frozen.origin = component.origin.filter(|origin| !precedes(origin.xid, limit));
        manifest.replace(component.id, frozen);
        manifest.retire(RetiredPages::Columnar(given_up));
    });
    super::fault("freeze_published");
}
