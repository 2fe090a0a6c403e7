//! The aggregate node. See README.md.

pub mod best;
pub mod collect;
pub mod exchange;
mod having;
pub mod node;
pub mod parallel;
mod passes;
pub mod pieces;
pub mod plan;
pub mod private;
pub mod queues;
mod result;
mod roll_up;
pub mod rows;
pub mod sets;
pub mod state;
