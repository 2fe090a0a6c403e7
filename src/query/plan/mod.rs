//! What the planning of all nodes has in common. See README.md.

pub mod costs;
pub mod estimate;
pub mod methods;
pub mod private;
pub mod wanted;
