//! Hash joins that tell the scans below of their keys.

pub mod filter;
pub mod offer;
