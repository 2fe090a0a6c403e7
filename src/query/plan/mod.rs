//! What the planning of all nodes has in common. See README.md.

pub mod conditions;
pub mod costs;
pub mod estimate;
pub mod kept;
pub mod methods;
pub mod private;
pub mod wanted;
