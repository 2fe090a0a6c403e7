//! A table whose pages are to be filled less.

use crate::pg::Relation;
use pgrx::pg_sys;

/// What it is when there are no options (heaptoast.h); heap looks at no others when it inserts.
const TOAST_TUPLE_TARGET: usize = {
    let page = pg_sys::BLCKSZ as usize - (24 + 4 * size_of::<pg_sys::ItemIdData>());
    (page / pg_sys::TOAST_TUPLES_PER_PAGE as usize) & !7
};

/// While this lives, heap puts a row on no page that is filled further than to so many percent.
pub struct Fill<'a> {
    rel: &'a Relation,
    own: *mut pg_sys::bytea,
    posed: *mut pg_sys::bytea,
}

impl<'a> Fill<'a> {
    /// None if the table's pages are filled no further as it is.
    pub fn to(rel: &'a Relation, percent: usize) -> Option<Fill<'a>> {
        if percent >= rel.fill_factor() {
            return None;
        }
        let mut options = own_options(rel).unwrap_or(pg_sys::StdRdOptions {
            toast_tuple_target: TOAST_TUPLE_TARGET as i32,
            ..Default::default()
        });
        options.fillfactor = percent as i32;
        let posed = allocate(options);
        let own = set(rel, posed);
        Some(Fill { rel, own, posed })
    }
}

impl Drop for Fill<'_> {
    fn drop(&mut self) {
        let found = set(self.rel, self.own);
        if found == self.posed {
            free(found);
        } else {
            // The relcache entry was rebuilt meanwhile, and ours freed with the old one.
            free(set(self.rel, found));
        }
    }
}

fn own_options(rel: &Relation) -> Option<pg_sys::StdRdOptions> {
    // SAFETY: the options of a table, which are those of heap, if any.
    unsafe {
        ((*rel.raw()).rd_options as *const pg_sys::StdRdOptions)
            .as_ref()
            .copied()
    }
}

/// Puts other options there, and gives those that were.
fn set(rel: &Relation, options: *mut pg_sys::bytea) -> *mut pg_sys::bytea {
    // SAFETY: a field of our relcache entry.
    unsafe { std::mem::replace(&mut (*rel.raw()).rd_options, options) }
}

/// Where the relation cache has its own, and frees them.
fn allocate(options: pg_sys::StdRdOptions) -> *mut pg_sys::bytea {
    let size = size_of::<pg_sys::StdRdOptions>();
    // SAFETY: so much memory, aligned for all there is, is filled.
    unsafe {
        let room = pg_sys::MemoryContextAlloc(pg_sys::CacheMemoryContext, size) as *mut pg_sys::StdRdOptions;
        room.write(options);
        room.cast()
    }
}

fn free(options: *mut pg_sys::bytea) {
    if !options.is_null() {
        // SAFETY: of the relation cache, which has forgotten them.
        unsafe { pg_sys::pfree(options.cast()) }
    }
}
