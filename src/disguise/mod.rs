//! What makes a relation look like another while heap's functions work on it. See README.md.

#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

pub mod keys;
pub mod kind;
pub mod routine;
pub mod size;
