//! The order of text, as PostgreSQL has it in each key's collation.

use amax_exec::Collation;
use pgrx::pg_sys;
use std::cmp::Ordering;

/// The keys' collations; None where bytes are the order.
pub struct Collations(Vec<Option<pg_sys::Oid>>);

impl Collations {
    /// Of expressions.
    ///
    /// # Safety
    /// A node of ours, begun and not ended.
    pub unsafe fn of(keys: &[*mut pg_sys::Node]) -> Collations {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        let collations = keys.iter().map(|&key| unsafe {
            let collation = pg_sys::exprCollation(key);
            (collation != pg_sys::InvalidOid && !is_bytewise(collation)).then_some(collation)
        });
        Collations(collations.collect())
    }
}

/// Whether a collation orders text by its bytes.
///
/// # Safety
/// A collation.
unsafe fn is_bytewise(collation: pg_sys::Oid) -> bool {
    // SAFETY: as the caller promises.
    unsafe {
        #[cfg(not(feature = "pg18"))]
        return pg_sys::lc_collate_is_c(collation);
        #[cfg(feature = "pg18")]
        return (*pg_sys::pg_newlocale_from_collation(collation)).collate_is_c;
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
