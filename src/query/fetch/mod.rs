//! The fetch node: above an index or bitmap scan.

pub mod node;
pub mod plan;
