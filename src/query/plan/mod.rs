//! What the planning of all nodes has in common, and their callbacks. See README.md.

pub mod aggregates;
pub mod collect;
pub mod conditions;
pub mod costs;
pub mod kept;
pub mod node;
pub mod private;
pub mod sorts;
pub mod tids;
pub mod wanted;
pub mod workers;
