//! The aggregate node. See README.md.

pub mod exchange;
pub mod functions;
pub mod node;
pub mod parallel;
pub mod pieces;
pub mod plan;
pub mod private;
pub mod queues;
pub mod rows;
pub mod state;
pub mod top;
