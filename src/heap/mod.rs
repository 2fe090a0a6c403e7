//! Heap's tuples on our row pages, and its functions on them. See README.md.

#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

pub mod freeze;
pub mod modify;
pub mod prune;
pub mod rewrite;
pub mod settled;
pub mod toast;
pub mod tuple;
