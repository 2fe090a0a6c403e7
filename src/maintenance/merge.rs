//! Merge: few components out of many, without the rows that are gone. TIDs stay as they are, and no index is touched.
//!
//! Readers of the inputs go on: their pages are retired, and the marks of the rows left out stay in the stub directory,
//! until no snapshot older than the flip is left (`reclaim`). Bulk loads take part once they are settled.

use crate::columnar::merge::Merge;
use crate::columnar::stub::{self, State};
use crate::columnar::write::Leaves;
use crate::counters::Written;
use crate::options::Options;
use crate::pg::{Relation, progress};
use crate::storage::{manifest, space};
use amax_lsm::merge::{Candidate, Policy};
use amax_lsm::{Component, Extent, Manifest, RetiredPages, UNKNOWN_XID, Unswept, tid};
use pgrx::pg_sys;
use std::collections::BTreeMap;
use std::rc::Rc;

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
/// While so many rows come that what they replaced may be a good part of what is gone: others are going to be replaced, and
/// each rewriting writes the rest again.
const DEAD_WHILE_CHANGING: f64 = 0.5;

impl std::ops::AddAssign for Merged {
    fn add_assign(&mut self, more: Merged) {
        self.inputs += more.inputs;
        self.rows += more.rows;
        self.left_out += more.left_out;
    }
}

/// A merge to be done.
pub struct Chosen {
    manifest: Rc<Manifest>,
    inputs: Vec<usize>,
}

/// What the policy says is to be merged, each by itself, when so many rows have just been flushed. The caller holds the
/// maintenance lock until that is done, and is the table's only VACUUM.
pub fn choose(rel: &Relation, flushed: u64) -> Vec<Chosen> {
    let manifest = manifest::current(rel);
    let gone = gone_rows(rel, &manifest);
    let candidate = |&at: &usize| candidate(&manifest.components[at], gone[at]);
    let settled = settled(&manifest);
    let all_dead: u64 = settled.iter().map(|at| candidate(at).dead).sum();
    let dead = match 2 * flushed >= all_dead {
        true => DEAD_WHILE_CHANGING,
        false => DEAD,
    };
    choose_of(rel, &manifest, &settled, dead, candidate)
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
    let candidate = |&at: &usize| candidate(&current.components[at], 0);
    for chosen in choose_of(rel, &current, small, DEAD, candidate) {
        merge(rel, &chosen);
    }
}

fn choose_of(
    rel: &Relation,
    manifest: &Rc<Manifest>,
    of: &[usize],
    dead: f64,
    candidate: impl Fn(&usize) -> Candidate,
) -> Vec<Chosen> {
    let options = Options::of(rel);
    let policy = Policy {
        ratio: options.merge_ratio,
        max_components: options.max_components as usize,
        dead,
    };
    let candidates: Vec<Candidate> = of.iter().map(candidate).collect();
    let chosen = policy.choose(&candidates).into_iter();
    let chosen = chosen.map(|range| Chosen {
        manifest: manifest.clone(),
        inputs: of[range].to_vec(),
    });
    chosen.collect()
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

/// A component with leaves whose rows are all gone.
pub struct DeadLeaves {
    component: Component,
    /// By their numbers, ascending.
    leaves: Vec<usize>,
}

/// Where there are leaves without a row that anybody sees: what was merged or will be needs no space for these. The caller
/// is as that of [`choose`].
pub fn dead_leaves(rel: &Relation) -> Vec<DeadLeaves> {
    let manifest = manifest::current(rel);
    // What a merge left out has marks, too, until they are swept.
    let looked_at = |at: &usize| manifest.components[*at].unswept.is_none();
    let of: Vec<usize> = settled(&manifest).into_iter().filter(looked_at).collect();
    let mut gone: BTreeMap<(usize, usize), u32> = BTreeMap::new();
    for (row, state) in stub::entries(rel).flatten() {
        if state == State::Gone
            && let Some(at) = manifest.component_of(tid::block(row)).filter(|at| of.contains(at))
            && let Some(leaf) = manifest::directory(rel, &manifest.components[at]).leaf_of(row)
        {
            *gone.entry((at, leaf)).or_default() += 1;
        }
    }
    let mut found: Vec<DeadLeaves> = Vec::new();
    for ((at, leaf), rows) in gone {
        let component = &manifest.components[at];
        if manifest::directory(rel, component).leaves[leaf].rows > rows {
            continue;
        }
        match found.last_mut().filter(|last| last.component.id == component.id) {
            Some(last) => last.leaves.push(leaf),
            None => found.push(DeadLeaves {
                component: component.clone(),
                leaves: vec![leaf],
            }),
        }
    }
    found
}

/// Takes such leaves out of their component: only its directory is written anew, for which the reserve has room where it
/// has none for a merge. Returns how many rows were left out. The caller is as that of [`choose`].
pub fn drop_leaves(rel: &Relation, dead: &DeadLeaves) -> u64 {
    let component = &dead.component;
    let mut leaves = Leaves::new(Some(manifest::take_free(rel, space::for_manifests)));
    let mut pages: Vec<Extent> = component.directory.extents.clone();
    let mut left_out = 0;
    for (at, entry) in manifest::directory(rel, component).leaves.iter().enumerate() {
        if dead.leaves.contains(&at) {
            left_out += u64::from(entry.rows);
            pages.extend(entry.extents());
        } else {
            leaves.add(entry.clone());
        }
    }
    let (mut rest, free, _) = leaves.finish(rel, Some(Written::Move), component.blocks.clone(), component.origin);
    super::fault("drop_written");
    // Leaves may have rows of pages that their flush could not seal, which are not the component's.
    rest.rows = component.rows - left_out;
    rest.unswept = Some(Unswept {
        safexid: UNKNOWN_XID,
        rows: left_out,
    });
    manifest::publish(rel, |manifest| {
        manifest.free.give_all(&free);
        manifest.replace(component.id, rest);
        manifest.retire(RetiredPages::Columnar(pages));
    });
    super::fault("drop_published");
    left_out
}

fn candidate(component: &Component, gone: u64) -> Candidate {
    Candidate {
        pages: component.pages,
        rows: component.rows,
        dead: gone.saturating_sub(component.unswept.map_or(0, |u| u.rows)),
    }
}

/// Merges components. The caller is as that of [`choose`].
pub fn merge(rel: &Relation, chosen: &Chosen) -> Merged {
    let inputs = chosen.inputs.iter().map(|&at| &chosen.manifest.components[at]);
    let inputs: Vec<&Component> = inputs.collect();
    let free = manifest::take_free(rel, space::for_manifests);
    let (pages, leaves) = inputs.iter().fold((0, 0), |sum, input| {
        (sum.0 + input.pages, sum.1 + u64::from(input.leaves))
    });
    let output = Merge::new(rel, Options::of(rel), &inputs, free).run(|| {
        progress::wrote(pages / leaves.max(1));
        super::fault("merge_leaf");
    });
    super::fault("merge_written");
    let rows = output.component.rows;
    let mut component = output.component;
    let unswept = inputs.iter().filter_map(|input| input.unswept);
    let left_out = output.left_out + unswept.map(|u| u.rows).sum::<u64>();
    manifest::publish(rel, |manifest| {
        manifest.free.give_all(&output.free);
        let is_input = |c: &Component| inputs.iter().any(|input| input.id == c.id);
        let place = manifest.components.iter().position(is_input);
        manifest.components.retain(|c| !is_input(c));
        component.id = manifest.new_id();
        manifest.retire(RetiredPages::Columnar(output.given_up));
        component.unswept = (left_out > 0).then_some(Unswept {
            safexid: UNKNOWN_XID,
            rows: left_out,
        });
        manifest
            .components
            .insert(place.expect("whoever removes components has the lock"), component);
    });
    super::fault("merge_published");
    Merged {
        inputs: inputs.len() as u64,
        rows,
        left_out: output.left_out,
    }
}
