//! AmaxJoin: joins on positions. See README.md.

mod build;
mod by_keys;
mod explain;
mod indexed;
pub mod node;
pub mod plan;
mod probe;
mod spine;
