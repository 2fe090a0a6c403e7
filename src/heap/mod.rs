//! Heap's tuples on our row pages, and its functions on them. See README.md.

pub mod freeze;
pub mod modify;
pub mod prune;
pub mod rewrite;
pub mod settled;
pub mod toast;
pub mod tuple;
