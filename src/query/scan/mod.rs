//! The scan node. See README.md.

pub mod explain;
#[cfg(feature = "test_hooks")]
mod mutants;
pub mod node;
pub mod parallel;
pub mod plan;
pub mod run;
pub mod shape;
pub mod shared;
pub mod source;
pub mod stage;
pub mod state;

pub use state::{Run, of};
