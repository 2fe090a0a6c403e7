//! Which paths become columns; the others go to the overflow column of the object they are in.

use crate::shred::{Alternatives, Body, NONE, Shredder};

/// The choice: a node below an object is a column, or has columns below it, iff it has at least this many
/// instances. Rows' and arrays' alternatives are always kept.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    min: u32,
    /// Instances per node; the nodes themselves are emptied as they are written.
    counts: Vec<u32>,
}

impl Selection {
    /// The smallest threshold from `min` on that gives at most `cap` columns, if any does.
    pub(crate) fn new(shredder: &Shredder, min: usize, cap: usize) -> Self {
        let counts: Vec<u32> = shredder.nodes.iter().map(|n| n.places.len() as u32).collect();
        let most = counts.iter().copied().max().unwrap_or(0) + 1;
        let mut selection = Self {
            min: u32::try_from(min.max(1)).unwrap_or(u32::MAX),
            counts,
        };
        let mut fits = |min| {
            selection.min = min;
            columns(shredder, &shredder.roots, &selection) <= cap
        };
        let mut low = u32::try_from(min.max(1)).unwrap_or(u32::MAX);
        let mut high = low.max(most);
        if fits(low) {
            high = low;
        }
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if fits(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        selection.min = high;
        selection
    }

    /// Whether the node, an alternative of a key, is kept.
    pub(crate) fn keeps(&self, node: u32) -> bool {
        self.counts[node as usize] >= self.min
    }
}

/// Columns below a place that is kept.
fn columns(shredder: &Shredder, alternatives: &Alternatives, selection: &Selection) -> usize {
    alternatives
        .iter()
        .filter(|&&node| node != NONE)
        .map(|&node| match &shredder.nodes[node as usize].body {
            Body::Leaf(_) => 1,
            Body::Array { alternatives, .. } => columns(shredder, alternatives, selection),
            Body::Object { keys, late, .. } => {
                let mut total = 0;
                let mut rest = *late != NONE;
                for &key in keys {
                    for &node in &shredder.keys[key as usize].alternatives {
                        if node == NONE {
                            continue;
                        }
                        if selection.keeps(node) {
                            let mut only = [NONE; crate::kind::KINDS];
                            only[shredder.nodes[node as usize].kind as usize] = node;
                            total += columns(shredder, &only, selection);
                        } else {
                            rest = true;
                        }
                    }
                }
                total + usize::from(rest)
            }
        })
        .sum()
}

/// The nodes of a place that exist, in order of kind.
pub(crate) fn present(alternatives: &Alternatives) -> impl Iterator<Item = u32> + '_ {
    alternatives.iter().copied().filter(|&node| node != NONE)
}
