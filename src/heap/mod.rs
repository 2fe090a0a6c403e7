//! Heap's tuples on our row pages. See README.md.

pub mod settled;
pub mod tuple;
