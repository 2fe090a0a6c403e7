//! The fetch node: above an index or bitmap scan. See README.md.

mod charge;
pub mod node;
pub mod plan;
