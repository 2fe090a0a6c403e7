//! Batches of rows as columns, and rows of them as PostgreSQL's expressions see them. See README.md.

pub mod alone;
pub mod arrays;
pub mod child;
pub mod columns;
pub mod computed;
pub mod condition;
pub mod contract;
pub mod datums;
pub mod explain;
pub mod external;
pub mod function;
pub mod gather;
pub mod input;
pub mod joined;
pub mod raise;
pub mod reasons;
pub mod rows;
pub mod values;

pub use contract::{Batch, Batches, Operator, path_in, read_to_end, register};
