//! The order of text, as PostgreSQL has it in each key's collation.

use crate::pg::lookup::{compare_text, is_bytewise};
use crate::pg::node::Node;
use amax_exec::Collation;
use pgrx::pg_sys;
use std::cmp::Ordering;

/// The keys' collations; None where bytes are the order.
pub struct Collations(Vec<Option<pg_sys::Oid>>);

impl Collations {
    /// Of expressions.
    pub fn of(keys: &[&Node]) -> Collations {
        let collation = |key: &&Node| {
            let collation = key.collation();
            (collation != pg_sys::InvalidOid && !is_bytewise(collation)).then_some(collation)
        };
        Collations(keys.iter().map(collation).collect())
    }
}

impl Collation for Collations {
    fn is_bytewise(&self, key: usize) -> bool {
        self.0[key].is_none()
    }

    fn compare(&self, key: usize, a: &[u8], b: &[u8]) -> Ordering {
        match self.0[key] {
            None => a.cmp(b),
            // Only deterministic collations have vectors.
            Some(_) if a == b => Ordering::Equal,
            Some(collation) => compare_text(a, b, collation),
        }
    }
}
