//! Which components to merge: tiering by size, as in the AMAX paper's experiments (§6.1); and which of their leaves stay as
//! they are.

use std::ops::Range;

#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// A component is merged with all younger ones when they are together so many times as large, by what is not dead.
    pub ratio: f64,
    /// Components that may be left.
    pub max_components: usize,
    /// A component is rewritten when more than this share of its rows is dead.
    pub dead: f64,
}

/// What the policy asks of a component.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub pages: u64,
    pub rows: u64,
    /// Rows that a merge would leave out.
    pub dead: u64,
}

impl Candidate {
    /// Pages of what a merge keeps, about.
    fn kept(&self) -> f64 {
        self.pages as f64 * (1.0 - self.dead as f64 / self.rows.max(1) as f64)
    }
}

impl Policy {
    /// The merges to do, as ranges of the candidates, which come oldest first. A range of one is a rewrite.
    pub fn choose(&self, candidates: &[Candidate]) -> Vec<Range<usize>> {
        let count = candidates.len();
        let too_many = if count > self.max_components {
            self.max_components.max(1) - 1
        } else {
            count
        };
        let outgrown = (0..count).find(|&at| {
            let younger: f64 = candidates[at + 1..].iter().map(Candidate::kept).sum();
            let kept = candidates[at].kept();
            // What is all dead goes by itself.
            kept > 0.0 && younger >= self.ratio * kept
        });
        let mut first = outgrown.unwrap_or(count).min(too_many);
        if first + 1 >= count {
            first = count;
        }
        let stale = |c: &Candidate| c.dead > 0 && c.dead as f64 > self.dead * c.rows as f64;
        let mut chosen: Vec<_> = (0..first)
            .filter(|&at| stale(&candidates[at]))
            .map(|at| at..at + 1)
            .collect();
        if first < count {
            chosen.push(first..count);
        }
        chosen
    }
}

/// What is asked of a leaf of a merge's inputs.
#[derive(Clone, Copy, Debug)]
pub struct LeafCandidate {
    /// How much of a full leaf the rows to keep are.
    pub fill: f64,
    /// All its rows are to be kept, and no other input has rows between them.
    pub whole: bool,
}

/// Which leaves, in the order of their rows, a merge takes over as they are: whole ones that are half full at least. None if
/// that makes the leaves many more than their rows need: what is written anew is parted by what stays.
pub fn keep(leaves: &[LeafCandidate]) -> Vec<bool> {
    let is_kept = |leaf: &LeafCandidate| leaf.whole && leaf.fill >= 0.5;
    let fill = |leaves: &[LeafCandidate]| leaves.iter().map(|leaf| leaf.fill).sum::<f64>().ceil();
    let parts = leaves.chunk_by(|a, b| !is_kept(a) && !is_kept(b));
    let made: f64 = parts.map(|part| if is_kept(&part[0]) { 1.0 } else { fill(part) }).sum();
    let few = made <= 1.5 * fill(leaves);
    leaves.iter().map(|leaf| few && is_kept(leaf)).collect()
}

#[cfg(test)]
// A merge is a range, and often there is one.
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POLICY: Policy = Policy {
        ratio: 1.2,
        max_components: 5,
        dead: 0.2,
    };

    fn of_pages(pages: &[u64]) -> Vec<Candidate> {
        let candidate = |&pages| Candidate {
            pages,
            rows: pages * 100,
            dead: 0,
        };
        pages.iter().map(candidate).collect()
    }

    #[test]
    fn merges_with_the_younger_what_they_have_outgrown() {
        let choose = |pages: &[u64]| POLICY.choose(&of_pages(pages));
        assert_eq!(choose(&[]), []);
        assert_eq!(choose(&[7]), []);
        assert_eq!(choose(&[10, 10]), []);
        assert_eq!(choose(&[10, 12]), [0..2]);
        assert_eq!(choose(&[10, 6, 6]), [0..3]);
        assert_eq!(choose(&[100, 10, 6, 6]), [1..4]);
        assert_eq!(choose(&[1000, 100, 10, 6]), []);
    }

    #[test]
    fn leaves_at_most_so_many() {
        let pages = [100_000, 10_000, 1_000, 100, 10, 1];
        assert_eq!(POLICY.choose(&of_pages(&pages)), [4..6]);
        let one = Policy {
            max_components: 1,
            ..POLICY
        };
        assert_eq!(one.choose(&of_pages(&pages)), [0..6]);
        assert_eq!(one.choose(&of_pages(&pages[..1])), []);
    }

    #[test]
    fn rewrites_what_is_largely_dead() {
        let mut candidates = of_pages(&[1000, 100, 10]);
        candidates[0].dead = 20_000;
        candidates[1].dead = 2_001;
        assert_eq!(POLICY.choose(&candidates), [1..2]);
        candidates[2].dead = 1_000;
        assert_eq!(POLICY.choose(&candidates), [1..2, 2..3]);
        // What is dead makes nothing outgrow another.
        candidates[1].pages = 5;
        assert_eq!(POLICY.choose(&candidates), [1..2, 2..3]);
        // All of them are left out in any case when they are merged.
        candidates[2].dead = 400;
        assert_eq!(POLICY.choose(&candidates), [1..3]);
        // Nor is what is mostly dead large.
        candidates[0].dead = 100_000;
        assert_eq!(POLICY.choose(&candidates), [0..1, 1..3]);
        candidates[0].dead = 99_600;
        assert_eq!(POLICY.choose(&candidates), [0..3]);
    }

    fn kept(leaves: &[(f64, bool)]) -> Vec<bool> {
        let leaves = leaves.iter().map(|&(fill, whole)| LeafCandidate { fill, whole });
        keep(&leaves.collect::<Vec<_>>())
    }

    #[test]
    fn full_leaves_stay() {
        let (full, part, changed, small) = ((1.0, true), (0.6, true), (0.9, false), (0.1, true));
        assert_eq!(kept(&[]), []);
        assert_eq!(kept(&[full, part, full, part]), [true; 4]);
        assert_eq!(kept(&[full, changed, full]), [true, false, true]);
        assert_eq!(kept(&[full, small, full]), [true, false, true]);
        // Small ones become one.
        assert_eq!(
            kept(&[full, full, full, small, small, small]),
            [true, true, true, false, false, false]
        );
    }

    #[test]
    fn leaves_that_would_become_many_are_written_anew() {
        let (half, small) = ((0.5, true), (0.1, true));
        // One leaf has room for all.
        assert_eq!(kept(&[half, small]), [false; 2]);
        assert_eq!(kept(&[half, small, half, small, half, small]), [false; 6]);
    }

    proptest! {
        /// What stays does not make more leaves than half as many again.
        #[test]
        fn leaves_are_few(leaves in prop::collection::vec((0.01f64..1.0, any::<bool>()), 0..40)) {
            let kept = kept(&leaves);
            let needed = leaves.iter().map(|leaf| leaf.0).sum::<f64>().ceil();
            let (mut made, mut part) = (0.0, 0.0f64);
            for (&(fill, whole), &kept) in leaves.iter().zip(&kept) {
                if kept {
                    prop_assert!(whole && fill >= 0.5);
                    made += part.ceil() + 1.0;
                    part = 0.0;
                } else {
                    part += fill;
                }
            }
            prop_assert!(made + part.ceil() <= 1.5 * needed);
        }

        /// Whatever flushes come, few components are left and a row is not written often.
        #[test]
        fn stays_bounded(flushes in prop::collection::vec(1u64..50, 1..400)) {
            let mut pages: Vec<u64> = Vec::new();
            let mut written = 0;
            for &flush in &flushes {
                pages.push(flush);
                for range in POLICY.choose(&of_pages(&pages)).into_iter().rev() {
                    let merged = pages[range.clone()].iter().sum();
                    written += merged;
                    pages.splice(range, [merged]);
                }
                prop_assert!(pages.len() <= POLICY.max_components);
                prop_assert_eq!(POLICY.choose(&of_pages(&pages)), []);
            }
            let total: u64 = flushes.iter().sum();
            prop_assert!(written <= total * 12, "{} pages written for {}", written, total);
        }
    }
}
