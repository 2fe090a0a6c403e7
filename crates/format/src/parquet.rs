//! Encoders of what leaves and Parquet's pages have in common.

pub use crate::encode::bitpack::width_of;
pub use crate::encode::delta::{Integer, encode as put_deltas};
pub use crate::encode::hybrid::{encode as put_hybrid, put_run};
