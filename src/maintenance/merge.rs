//! Merge: few components out of many, without the rows that are gone. TIDs stay as they are, and no index is touched.
//!
//! Readers of the inputs go on: their pages are retired, and the marks of the rows left out stay in the stub directory,
//! until no snapshot older than the flip is left (`reclaim`). Bulk loads take part once they are settled.

use crate::columnar::merge::Merge;
use crate::columnar::stub::{self, State};
use crate::options::Options;
use crate::pg::Relation;
use crate::storage::{manifest, space};
use amax_lsm::merge::{Candidate, Policy};
use amax_lsm::{Component, Extent, Manifest, RetiredPages, UNKNOWN_XID, Unswept, tid};
use pgrx::pg_sys;

#[derive(Default)]
pub struct Merged {
    /// Components merged.
    pub inputs: u64,
    /// Rows written.
    pub rows: u64,
    /// Dead rows left out.
    pub left_out: u64,
}

/// A component is rewritten when more than this share of its rows is gone.
const DEAD: f64 = 0.2;

/// Merges what the policy says, and adds what was done to `merged`. The caller holds the maintenance lock, and is the
/// table's only VACUUM.
pub fn merge(rel: &Relation, merged: &mut Merged) {
    let options = Options::of(rel);
    let current = manifest::current(rel);
    let settled = settled(&current);
    let gone = gone_rows(rel, &current);
    let candidates: Vec<Candidate> = settled
        .iter()
        .map(|&at| candidate(&current.components[at], gone[at]))
        .collect();
    for chosen in policy(&options).choose(&candidates) {
        merge_components(rel, options, &current, &settled[chosen], merged);
    }
}

/// Merges the youngest components as long as they fit one leaf together: work that is bounded, for a commit. What is
/// dead is not looked for. The caller holds the maintenance lock, and what keeps VACUUM from running, which relies on
/// nobody else to remove components.
pub fn merge_small(rel: &Relation) {
    let options = Options::of(rel);
    let current = manifest::current(rel);
    let settled = settled(&current);
    let (mut rows, mut bytes) = (0, 0);
    let of_a_leaf = settled.iter().rev().take_while(|&&at| {
        let component = &current.components[at];
        rows += component.rows;
        bytes += component.pages * u64::from(pg_sys::BLCKSZ);
        rows <= options.rows_per_leaf as u64 && bytes <= options.leaf_bytes as u64
    });
    let small = &settled[settled.len() - of_a_leaf.count()..];
    let candidates: Vec<Candidate> = small.iter().map(|&at| candidate(&current.components[at], 0)).collect();
    for chosen in policy(&options).choose(&candidates) {
        merge_components(rel, options, &current, &small[chosen], &mut Merged::default());
    }
}

fn policy(options: &Options) -> Policy {
    Policy {
        ratio: options.merge_ratio,
        max_components: options.max_components as usize,
        dead: DEAD,
    }
}

/// The components that may be merged, oldest first.
fn settled(manifest: &Manifest) -> Vec<usize> {
    let components = manifest.components.iter().enumerate();
    let settled = components.filter(|(_, component)| component.is_settled());
    settled.map(|(at, _)| at).collect()
}

/// Per component, how many rows are marked gone.
fn gone_rows(rel: &Relation, manifest: &Manifest) -> Vec<u64> {
    let mut gone = vec![0; manifest.components.len()];
    for (row, state) in stub::entries(rel).flatten() {
        if state == State::Gone
            && let Some(at) = manifest.component_of(tid::block(row))
        {
            gone[at] += 1;
        }
    }
    gone
}

fn candidate(component: &Component, gone: u64) -> Candidate {
    Candidate {
        pages: component.pages,
        rows: component.rows,
        dead: gone.saturating_sub(component.unswept.map_or(0, |u| u.rows)),
    }
}

fn merge_components(rel: &Relation, options: Options, current: &Manifest, inputs: &[usize], merged: &mut Merged) {
    let inputs: Vec<&Component> = inputs.iter().map(|&at| &current.components[at]).collect();
    let free = manifest::take_free(rel, space::for_manifests);
    let output = Merge::new(rel, options, &inputs, free).run(|| super::fault("merge_leaf"));
    super::fault("merge_written");
    let rows = output.component.rows;
    let mut component = output.component;
    let pages: Vec<Extent> = inputs
        .iter()
        .flat_map(|input| manifest::directory(rel, input).pages(&input.directory))
        .collect();
    let unswept = inputs.iter().filter_map(|input| input.unswept);
    let left_out = output.left_out + unswept.map(|u| u.rows).sum::<u64>();
    manifest::publish(rel, |manifest| {
        manifest.free.give_all(&output.free);
        let is_input = |c: &Component| inputs.iter().any(|input| input.id == c.id);
        let place = manifest.components.iter().position(is_input);
        manifest.components.retain(|c| !is_input(c));
        component.id = manifest.next_component;
        manifest.next_component += 1;
        manifest.retire(RetiredPages::Columnar(pages));
        component.unswept = (left_out > 0).then_some(Unswept {
            safexid: UNKNOWN_XID,
            rows: left_out,
        });
        manifest
            .components
            .insert(place.expect("whoever removes components has the lock"), component);
    });
    merged.inputs += inputs.len() as u64;
    merged.rows += rows;
    merged.left_out += output.left_out;
    super::fault("merge_published");
}
