//! What a backend remembers of a relation's file, keyed by its relfilenode: things that never change while it exists
//! (where map pages are), and things checked against the metapage at every use (the manifest).

use amax_lsm::meta::Map;
use amax_lsm::{Directory, Manifest};
use pgrx::pg_sys;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A relation's physical identity: tablespace, database, relfilenode, owning backend of a temporary table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FileId(pub u32, pub u32, pub u32, pub i32);

impl FileId {
    /// Whether only one backend knows it.
    pub fn is_temporary(&self) -> bool {
        // InvalidBackendId, or INVALID_PROC_NUMBER.
        self.3 != -1
    }
}

pub fn file_id(rel: pg_sys::Relation) -> FileId {
    unsafe {
        #[cfg(feature = "pg15")]
        let (spc, db, file) = {
            let n = (*rel).rd_node;
            (n.spcNode.to_u32(), n.dbNode.to_u32(), n.relNode.to_u32())
        };
        #[cfg(not(feature = "pg15"))]
        let (spc, db, file) = {
            let n = (*rel).rd_locator;
            (n.spcOid.to_u32(), n.dbOid.to_u32(), n.relNumber.to_u32())
        };
        FileId(spc, db, file, (*rel).rd_backend)
    }
}

#[derive(Default)]
pub struct FileCache {
    relid: pg_sys::Oid,
    pub has_metapage: bool,
    /// While there is none: so many blocks from the start are as the file got them.
    pub unused: u32,
    pub map_pages: HashMap<(Map, u32), u32>,
    /// (sequence number, manifest).
    pub manifest: Option<(u64, Rc<Manifest>)>,
    pub directories: HashMap<u64, Rc<Directory>>,
}

/// Relations a backend remembers before it starts afresh.
const MOST: usize = 256;

thread_local! {
    static FILES: RefCell<HashMap<FileId, FileCache>> = RefCell::default();
}

/// Runs `f` on the relation's entry. `f` must not raise an error nor come back here.
pub fn with<R>(rel: pg_sys::Relation, f: impl FnOnce(&mut FileCache) -> R) -> R {
    let id = file_id(rel);
    FILES.with(|files| {
        let mut files = files.borrow_mut();
        if files.len() >= MOST && !files.contains_key(&id) {
            files.clear();
        }
        let file = files.entry(id).or_default();
        file.relid = unsafe { (*rel).rd_id };
        f(file)
    })
}

/// The relation changed in some way, or any (InvalidOid): VACUUM may have truncated all of its file, under a lock that
/// made us listen before we look again.
pub fn invalidate(relid: pg_sys::Oid) {
    let all = relid == pg_sys::InvalidOid;
    FILES.with(|files| files.borrow_mut().retain(|_, f| !all && f.relid != relid));
}

/// What is remembered of the file is about to change, under an AccessExclusiveLock: every backend, here and on
/// standbys, is to forget it before it gets the lock. At once, not when our transaction commits: it may fail after the
/// change.
pub unsafe fn forget_everywhere(rel: pg_sys::Relation) {
    let message = pg_sys::SharedInvalidationMessage {
        rc: pg_sys::SharedInvalRelcacheMsg {
            id: pg_sys::SHAREDINVALRELCACHE_ID as i8,
            dbId: pg_sys::MyDatabaseId,
            relId: (*rel).rd_id,
        },
    };
    pg_sys::SendSharedInvalidMessages(&message, 1);
    // XLogStandbyInfoActive()
    if pg_sys::wal_level >= pg_sys::WalLevel::WAL_LEVEL_REPLICA as i32 {
        pg_sys::LogStandbyInvalidations(1, (&raw const message).cast_mut(), false);
    }
    forget(rel);
}

/// The file was truncated in place: nothing remembered of it holds.
pub fn forget(rel: pg_sys::Relation) {
    let id = file_id(rel);
    FILES.with(|files| files.borrow_mut().remove(&id));
}
