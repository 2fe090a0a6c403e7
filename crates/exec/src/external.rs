//! What PostgreSQL evaluates for expressions.

use crate::builder::VectorBuilder;
use crate::memo::Memo;

/// What PostgreSQL evaluates for us.
pub trait External {
    /// Appends the value of external expression `id` for `row` of the leaf.
    fn row(&mut self, id: usize, row: u32, out: &mut VectorBuilder);
    /// Appends the value of function `id` of one argument, given as its word.
    fn call(&mut self, id: usize, word: i64, out: &mut VectorBuilder);
    /// Appends the value of expression `id`, which is the same for all rows.
    fn once(&mut self, id: usize, out: &mut VectorBuilder);
    /// What [`External::remember`] was given of function `id`, if its results are still the same.
    fn remembered(&mut self, _id: usize) -> Option<Memo> {
        None
    }
    /// Keeps results of function `id` for other batches, if they will be the same there.
    fn remember(&mut self, _id: usize, _memo: Memo) {}
    /// Whether the value of parameter `id` is there. If not, [`External::once`] runs the subquery it comes from.
    fn is_known(&self, _id: usize) -> bool {
        true
    }
}

/// Bytes of PostgreSQL's strings that are kept for a batch.
const MAX_KEPT: usize = 64 << 20;

/// Appends what PostgreSQL gives for a row; false, and NULL, if what is kept takes too much: the row is unsure.
pub(crate) fn push_row(external: &mut dyn External, id: usize, row: u32, out: &mut VectorBuilder) -> bool {
    let has_room = out.string_bytes() < MAX_KEPT;
    if has_room {
        external.row(id, row, out);
    } else {
        out.push_null();
    }
    has_room
}
