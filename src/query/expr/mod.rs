//! Expressions of a query: what they read, whether they have a vectorized form, and what their values are.
//! See README.md.

pub mod collation;
pub mod compile;
mod condition;
pub mod constant;
pub mod containment;
pub mod datum;
pub mod entry;
pub mod evaluated;
pub mod guard;
pub mod jsonpath;
pub mod lasting;
pub mod needs;
pub mod operators;
pub mod part;
pub mod path;
pub mod quiet;
pub mod raises;
pub mod times;
pub mod tree;
pub mod unnesting;
pub mod value;
pub mod why;
