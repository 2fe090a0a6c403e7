//! A table as a relation of another kind.

use crate::pg::Relation;
use pgrx::pg_sys;
use std::ffi::c_char;

/// While this lives, the relation is of another kind to heap_insert().
pub struct Kind<'a> {
    rel: &'a Relation,
    kind: c_char,
}

impl<'a> Kind<'a> {
    /// A materialized view: its rows are not checked for SSI.
    pub fn materialized_view(rel: &'a Relation) -> Kind<'a> {
        Kind::replace(rel, pg_sys::RELKIND_MATVIEW)
    }

    /// A TOAST table: its rows stay as they are, however wide, and are not checked for SSI either.
    pub fn toast_table(rel: &'a Relation) -> Kind<'a> {
        Kind::replace(rel, pg_sys::RELKIND_TOASTVALUE)
    }

    fn replace(rel: &'a Relation, kind: u8) -> Kind<'a> {
        // SAFETY: a field of our relcache entry, which nothing else reads meanwhile.
        let kind = unsafe { std::mem::replace(&mut (*(*rel.raw()).rd_rel).relkind, kind as c_char) };
        Kind { rel, kind }
    }
}

impl Drop for Kind<'_> {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { (*(*self.rel.raw()).rd_rel).relkind = self.kind }
    }
}
