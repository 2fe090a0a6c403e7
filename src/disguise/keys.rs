//! A table with other key columns.

use crate::pg::Relation;
use crate::pg::relation::Attributes;
use pgrx::pg_sys;

/// While this lives, heap_update() takes other attributes for the row's key.
pub struct Keys<'a> {
    rel: &'a Relation,
    keys: *mut pg_sys::Bitmapset,
    /// Until dropped.
    others: Option<Attributes>,
}

impl<'a> Keys<'a> {
    pub fn replace(rel: &'a Relation, others: Attributes) -> Keys<'a> {
        let keys = set(rel, others.raw());
        let others = Some(others);
        Keys { rel, keys, others }
    }
}

impl Drop for Keys<'_> {
    fn drop(&mut self) {
        let others = self.others.take().expect("until now");
        let raw = others.raw();
        let found = set(self.rel, self.keys);
        if found != raw {
            // The relcache entry was rebuilt meanwhile, and ours freed with the old one.
            set(self.rel, found);
            others.forget();
        }
    }
}

/// Puts another set where RelationGetIndexAttrBitmap() finds the one that it copies, and gives the one that was there.
fn set(rel: &Relation, keys: *mut pg_sys::Bitmapset) -> *mut pg_sys::Bitmapset {
    // SAFETY: a field of our relcache entry.
    unsafe { std::mem::replace(&mut (*rel.raw()).rd_keyattr, keys) }
}
