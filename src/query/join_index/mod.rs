//! Join indexes: which row of another table each row of a table finds. See README.md.

pub mod build;
pub mod definition;
mod keys;
mod method;
pub mod seen;
pub mod sql;
pub mod stored;
