//! Conditions that SQL/JSON paths are (`@?`, `@@`) of the values at a path: jsonpath_exec.c in lax mode.
//!
//! [`tree`] answers from the columns, [`json`] from binary jsonb, where a column holds that.

mod json;
#[cfg(test)]
mod tests;
mod tree;
mod truth;

pub(crate) use json::{Taken, Taker, holds, scalar, take};
pub(crate) use tree::{Test, wanted};
