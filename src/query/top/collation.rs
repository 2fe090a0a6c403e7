//! The order of text, as PostgreSQL has it in each key's collation.

use crate::pg::lookup::is_bytewise;
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
            Some(collation) => {
                let (first, second) = (a.as_ptr().cast(), b.as_ptr().cast());
                // SAFETY: bytes of text in the database's encoding, with their lengths, which PostgreSQL bounds.
                let order = unsafe { pg_sys::varstr_cmp(first, a.len() as i32, second, b.len() as i32, collation) };
                order.cmp(&0)
            }
        }
    }
}
