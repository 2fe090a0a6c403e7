//! Vectorized execution, without PostgreSQL: what a columnar scan computes over the rows of a batch.
//!
//! * [`vector`]: the values of an expression for the selected rows of one batch.
//! * [`Aggregator`]: grouping and aggregate functions in bounded memory; [`Grouping`] and [`Aggregate`] alone.
//! * [`decimal`]: numerics as values.

pub mod aggregate;
pub mod aggregator;
mod codes;
pub mod decimal;
mod distinct;
pub mod error;
pub mod group;
mod range;
mod state;
mod store;
mod sum;
mod table;
mod tuples;
mod values;
pub mod vector;

pub use aggregate::{Aggregate, Function};
pub use aggregator::{Aggregator, Input, Pass};
pub use decimal::Decimal;
pub use error::{Error, Result};
pub use group::Grouping;
pub use state::Output;
pub use table::NONE;
pub use vector::{Scalar, StringTable, Type, Vector, LARGE};
