//! Planning scans that unnest.

pub mod plan;
pub mod select;
