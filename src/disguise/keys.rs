//! A table with other key columns.

use crate::pg::Relation;
use crate::pg::relation::Attributes;
use pgrx::pg_sys;

/// While this lives, heap_update() takes other attributes for the row's key.
pub struct Keys<'a> {
    rel: &'a Relation,
    keys: *mut pg_sys::Bitmapset,
    others: *mut pg_sys::Bitmapset,
}

impl<'a> Keys<'a> {
    /// The set stays as long as its memory context, which has to outlive this.
    pub fn replace(rel: &'a Relation, others: Attributes) -> Keys<'a> {
        let others = others.into_raw();
        // SAFETY: a field of our relcache entry. RelationGetIndexAttrBitmap() returns a copy of it.
        let keys = unsafe { std::mem::replace(&mut (*rel.raw()).rd_keyattr, others) };
        Keys { rel, keys, others }
    }
}

impl Drop for Keys<'_> {
    fn drop(&mut self) {
        // SAFETY: the field is ours still, or the relcache entry was rebuilt meanwhile, and ours freed with the old one.
        unsafe {
            if (*self.rel.raw()).rd_keyattr == self.others {
                (*self.rel.raw()).rd_keyattr = self.keys;
            }
        }
    }
}
