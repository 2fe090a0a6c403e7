//! What a backend remembers of a relation's file, keyed by its relfilenode: things that never change while it exists
//! (where map pages are), and things checked against the metapage at every use (the manifest).

use crate::hash::QuickMap;
use crate::pg::{Relation, relation::FileId};
use amax_lsm::meta::Map;
use amax_lsm::{Directory, Manifest};
use pgrx::pg_sys;
use std::cell::RefCell;
use std::rc::Rc;

#[derive(Default)]
pub struct FileCache {
    relid: pg_sys::Oid,
    pub has_metapage: bool,
    /// While there is none: so many blocks from the start are as the file got them.
    pub unused: u32,
    pub map_pages: QuickMap<(Map, u32), u32>,
    /// (sequence number, manifest).
    pub manifest: Option<(u64, Rc<Manifest>)>,
    pub directories: QuickMap<u64, Rc<Directory>>,
    /// A row page that a row of a transaction of ours, which is still under way, keeps mapped (`map::keep`).
    pub kept: Option<Kept>,
}

#[derive(Clone, Copy)]
pub struct Kept {
    /// Of the subtransaction, if it is one.
    pub xid: u64,
    /// Logical block and row page.
    pub v: u32,
    pub p: u32,
}

/// Relations a backend remembers before it starts afresh.
const MOST: usize = 256;

#[derive(Default)]
struct Files {
    ids: Vec<FileId>,
    /// As many.
    files: Vec<FileCache>,
    /// Where the one is that was asked for last, mostly the next as well.
    last: usize,
}

impl Files {
    fn place(&mut self, id: FileId) -> usize {
        if self.ids.get(self.last) != Some(&id) {
            self.last = self.ids.iter().position(|known| *known == id).unwrap_or_else(|| {
                if self.ids.len() >= MOST {
                    *self = Files::default();
                }
                self.ids.push(id);
                self.files.push(FileCache::default());
                self.ids.len() - 1
            });
        }
        self.last
    }

    fn retain(&mut self, keep: impl Fn(FileId, &FileCache) -> bool) {
        for at in (0..self.ids.len()).rev() {
            if !keep(self.ids[at], &self.files[at]) {
                self.ids.swap_remove(at);
                self.files.swap_remove(at);
            }
        }
    }
}

thread_local! {
    static FILES: RefCell<Files> = RefCell::default();
}

/// Runs `f` on the relation's entry. `f` must not raise an error nor come back here.
pub fn with<R>(rel: &Relation, f: impl FnOnce(&mut FileCache) -> R) -> R {
    let id = rel.file();
    FILES.with_borrow_mut(|files| {
        let at = files.place(id);
        let file = &mut files.files[at];
        file.relid = rel.id();
        f(file)
    })
}

/// The relation changed in some way, or any (InvalidOid): VACUUM may have truncated all of its file, under a lock that
/// made us listen before we look again.
pub fn invalidate(relid: pg_sys::Oid) {
    let all = relid == pg_sys::InvalidOid;
    FILES.with_borrow_mut(|files| files.retain(|_, f| !all && f.relid != relid));
}

/// What is remembered of the file is about to change, under an AccessExclusiveLock: every backend, here and on
/// standbys, is to forget it before it gets the lock. At once, not when our transaction commits: it may fail after the
/// change.
pub fn forget_everywhere(rel: &Relation) {
    crate::pg::relation::invalidate_everywhere(rel);
    forget(rel);
}

/// The file was truncated in place: nothing remembered of it holds.
pub fn forget(rel: &Relation) {
    let id = rel.file();
    FILES.with_borrow_mut(|files| files.retain(|known, _| known != id));
}
