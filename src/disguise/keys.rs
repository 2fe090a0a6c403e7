//! A table with other attributes that heap_update() looks for changes of.

use crate::pg::Relation;
use crate::pg::relation::Attributes;
#[cfg(feature = "pg15")]
use pg_sys::IndexAttrBitmapKind::INDEX_ATTR_BITMAP_ALL;
#[cfg(not(feature = "pg15"))]
use pg_sys::IndexAttrBitmapKind::INDEX_ATTR_BITMAP_HOT_BLOCKING;
use pgrx::pg_sys;

/// While this lives, heap_update() takes other attributes for the row's key, or for those of its indexes.
pub struct Keys<'a> {
    rel: &'a Relation,
    of: Field,
    own: *mut pg_sys::Bitmapset,
    /// Until dropped.
    others: Option<Attributes>,
}

/// Where RelationGetIndexAttrBitmap() finds a set that it copies.
type Field = fn(&mut pg_sys::RelationData) -> &mut *mut pg_sys::Bitmapset;

impl<'a> Keys<'a> {
    pub fn replace(rel: &'a Relation, others: Attributes) -> Keys<'a> {
        Keys::pose(rel, |rel| &mut rel.rd_keyattr, others)
    }

    /// No update is HOT: heap finds the whole row changed, and indexed. None for a table without indexes.
    pub fn never_hot(rel: &'a Relation) -> Option<Keys<'a>> {
        #[cfg(feature = "pg15")]
        let (kind, of): (_, Field) = (INDEX_ATTR_BITMAP_ALL, |rel| &mut rel.rd_indexattr);
        #[cfg(not(feature = "pg15"))]
        let (kind, of): (_, Field) = (INDEX_ATTR_BITMAP_HOT_BLOCKING, |rel| &mut rel.rd_hotblockingattr);
        let mut indexed = rel.index_attributes(kind);
        if indexed.raw().is_null() {
            return None;
        }
        indexed.add_whole_row();
        Some(Keys::pose(rel, of, indexed))
    }

    fn pose(rel: &'a Relation, of: Field, others: Attributes) -> Keys<'a> {
        let own = set(rel, of, others.raw());
        let others = Some(others);
        Keys { rel, of, own, others }
    }
}

impl Drop for Keys<'_> {
    fn drop(&mut self) {
        let others = self.others.take().expect("until now");
        let raw = others.raw();
        let found = set(self.rel, self.of, self.own);
        if found != raw {
            // The relcache entry was rebuilt meanwhile, and ours freed with the old one.
            set(self.rel, self.of, found);
            others.forget();
        }
    }
}

/// Puts another set there, and gives the one that was.
fn set(rel: &Relation, of: Field, attributes: *mut pg_sys::Bitmapset) -> *mut pg_sys::Bitmapset {
    // SAFETY: a field of our relcache entry.
    unsafe { std::mem::replace(of(&mut *rel.raw()), attributes) }
}
