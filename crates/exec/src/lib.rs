//! Vectorized execution, without PostgreSQL: what a columnar scan computes over the rows of a batch.
//!
//! * [`vector`]: the values of an expression for the selected rows of one batch.

pub mod error;
pub mod vector;

pub use error::{Error, Result};
pub use vector::{Scalar, StringTable, Type, Vector, LARGE};
