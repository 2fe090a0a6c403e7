//! Planning scans that unnest. See README.md.

pub mod plan;
pub mod select;
