//! Which rows of its blocks ANALYZE is given. It keeps few of them, by a reservoir that copies each row it takes; what is
//! copied has to be assembled, and most is thrown away again. A tenth or so of the rows, each as likely as the others,
//! gives it the same sample.

use crate::columnar::stub;
use crate::pg::Relation;
use crate::pg::sample::{random, sample_size};
use crate::storage::manifest;
use crate::storage::meta::logical_blocks;

/// More than are wanted, by so many standard deviations: a sample that comes out smaller than it should be is none to count
/// on.
const MARGIN: f64 = 8.0;
/// A share of a leaf's rows that costs less one by one than decoding the leaf.
const FEW: f64 = 1.0 / 6.0;

pub struct Thinning {
    /// How likely a row is to be taken, if not all are.
    share: Option<f64>,
    /// Rows to pass over before the next that is taken.
    left: u64,
}

impl Thinning {
    pub fn of(rel: &Relation) -> Thinning {
        let share = share(rel, f64::from(sample_size(rel)));
        let mut thinning = Thinning { share, left: 0 };
        thinning.draw();
        thinning
    }

    /// Whether not all rows are taken.
    pub fn thins(&self) -> bool {
        self.share.is_some()
    }

    /// Whether few of the rows are taken.
    pub fn are_few(&self) -> bool {
        self.share.is_some_and(|share| share < FEW)
    }

    /// Whether the next row is taken.
    #[inline]
    pub fn takes(&mut self) -> bool {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                false
            }
            None => {
                self.draw();
                true
            }
        }
    }

    fn draw(&mut self) {
        if let Some(share) = self.share {
            // The distance of successes is geometric.
            self.left = ((1.0 - random()).ln() / (1.0 - share).ln()) as u64;
        }
    }
}

/// The share of rows that makes a sample of `wanted`: of no more rows than the blocks that ANALYZE reads surely have.
/// Those in row pages are not known.
fn share(rel: &Relation, wanted: f64) -> Option<f64> {
    let manifest = manifest::current(rel);
    let settled = manifest.components.iter().filter(|c| c.is_settled());
    let rows: u64 = settled.map(|c| c.rows).sum();
    let taken = wanted + MARGIN * wanted.sqrt();
    let enough = |rows: f64| taken < rows;
    if !enough(rows as f64) {
        return None;
    }
    let changed: u64 = stub::entries(rel).map(|entries| entries.len() as u64).sum();
    let blocks = f64::from(logical_blocks(rel).max(1));
    let rows = rows.saturating_sub(changed) as f64 * (wanted / blocks).min(1.0);
    enough(rows).then(|| taken / rows)
}
