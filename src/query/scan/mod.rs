//! The scan node. See README.md.

mod above;
mod advance;
pub mod batches;
mod explain;
mod filter;
#[cfg(feature = "test_hooks")]
mod mutants;
pub mod node;
mod parallel;
pub mod partitions;
pub mod plan;
pub mod private;
mod progress;
pub mod run;
mod shared;
pub mod source;
mod sources;
pub mod stage;
pub mod state;
mod whole;
