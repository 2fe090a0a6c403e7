//! Hash joins that tell the scans below of their keys. See README.md.

pub mod filter;
pub mod offer;
pub mod plan;
