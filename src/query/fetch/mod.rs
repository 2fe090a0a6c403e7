//! The fetch node: above an index or bitmap scan. See README.md.

pub mod node;
pub mod plan;
