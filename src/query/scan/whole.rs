//! Rows of leaves between whose blocks are those of other components, as where rows are replaced all over a table: they are looked up once for a leaf, and
//! handed out run by run.

use crate::columnar::{self, OpenLeaf};
use crate::pg::{Relation, Snapshot};
use crate::storage::manifest::Replaced;
use amax_format::RowNumbers;
use std::ops::Range;

/// More leaves than a scan is in at a time, as there is one of each component.
const LEAVES: usize = 16;

/// What an MVCC snapshot sees of the leaves met last, oldest first: that stays the same whatever is changed, flushed or merged.
#[derive(Default)]
pub struct Whole(Vec<((u64, usize), RowNumbers)>);

impl Whole {
    /// The rows of these blocks, which are some of the leaf's.
    pub fn rows(
        &mut self,
        rel: &Relation,
        leaf: &OpenLeaf,
        blocks: &Range<u32>,
        snapshot: &Snapshot,
    ) -> Result<RowNumbers, Replaced> {
        let (_, component, at) = leaf.place();
        let place = (component, at);
        if let Some((_, rows)) = self.0.iter().find(|(known, _)| *known == place) {
            return Ok(columnar::within(leaf, rows, blocks));
        }
        let rows = columnar::rows_of_blocks(rel, leaf, leaf.blocks(), snapshot)?;
        let found = columnar::within(leaf, &rows, blocks);
        if self.0.len() == LEAVES {
            self.0.remove(0);
        }
        self.0.push((place, rows));
        Ok(found)
    }
}
