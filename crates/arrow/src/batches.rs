//! What comes in, in whatever format.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::error::Error;

/// Record batches of one schema, one after the other.
pub trait Batches {
    fn schema(&self) -> &SchemaRef;

    /// Some columns of the next batch, in that order; None behind the last. The columns are the same in all calls.
    ///
    /// # Errors
    /// Damage, an end before that which is marked, or an error of the input.
    fn next(&mut self, columns: &[usize]) -> Result<Option<RecordBatch>, Error>;
}
