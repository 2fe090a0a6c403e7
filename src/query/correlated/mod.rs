//! Subqueries that are run for each row are given what they look at of its documents. See README.md.

mod function;
mod keys;
mod plan;

pub use plan::narrow;
