//! AmaxJoin: joins on positions. See README.md.

mod build;
pub mod node;
pub mod plan;
mod spine;
