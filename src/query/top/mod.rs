//! The top node. See README.md.

pub mod hand;
pub mod node;
pub mod plan;
pub mod private;
pub mod reach;
pub mod reading;
pub mod state;
pub mod wanted;
pub mod window;
