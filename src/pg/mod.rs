//! What stands between this crate and PostgreSQL's C. See README.md.

pub mod executor;
pub mod horizon;
pub mod relation;
pub mod snapshot;
pub mod stats;
