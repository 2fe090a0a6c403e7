//! Relations: a handle that is safe to pass on, which of them are amax tables, and opening them.

use super::handle::handle;
use super::lookup::may_select;
use super::plain;
use super::settings::wal_level;
use super::tupdesc::TupleDesc;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::CStr;
use std::ops::Deref;
use std::sync::OnceLock;

handle! {
    /// An open relation, locked by somebody as what is done with it needs.
    Relation, pg_sys::RelationData
}

/// The callbacks of the table access method.
pub struct Routine(pub pg_sys::TableAmRoutine);
// SAFETY: a table of function pointers, never changed once made.
unsafe impl Sync for Routine {}
// SAFETY: as above.
unsafe impl Send for Routine {}

/// Made when PostgreSQL first asks for them (`am::routine`), which is before it has any relation with them.
pub static ROUTINE: OnceLock<Routine> = OnceLock::new();

/// A relation's physical identity: tablespace, database, relfilenode, owning backend of a temporary table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileId(pub u32, pub u32, pub u32, pub i32);

impl FileId {
    /// Whether only one backend knows it.
    pub fn is_temporary(&self) -> bool {
        // InvalidBackendId, or INVALID_PROC_NUMBER.
        self.3 != -1
    }
}

#[cfg(feature = "pg15")]
pub type Locator = pg_sys::RelFileNode;
#[cfg(not(feature = "pg15"))]
pub type Locator = pg_sys::RelFileLocator;

impl Relation {
    fn get(&self) -> *mut pg_sys::RelationData {
        self.raw()
    }

    /// Its row of pg_class.
    fn form(&self) -> *mut pg_sys::FormData_pg_class {
        // SAFETY: every open relation has one.
        unsafe { (*self.get()).rd_rel }
    }

    pub fn id(&self) -> pg_sys::Oid {
        // SAFETY: a field of an open relation.
        unsafe { (*self.get()).rd_id }
    }

    /// Its name, in the database's encoding.
    pub fn name_bytes(&self) -> Vec<u8> {
        // SAFETY: a name ends with a zero.
        unsafe { CStr::from_ptr((*self.form()).relname.data.as_ptr()).to_bytes().to_vec() }
    }

    pub fn name(&self) -> String {
        String::from_utf8_lossy(&self.name_bytes()).into_owned()
    }

    pub fn desc(&self) -> &TupleDesc {
        // SAFETY: every open relation has one. It stays while the relation is open and locked.
        unsafe { TupleDesc::of((*self.get()).rd_att) }
    }

    /// Whether it is an amax table.
    pub fn is_ours(&self) -> bool {
        // SAFETY: a field of an open relation.
        let routine = unsafe { (*self.get()).rd_tableam };
        ROUTINE.get().is_some_and(|ours| std::ptr::eq(routine, &ours.0))
    }

    /// Raises an error unless it is an amax table.
    pub fn require_ours(&self) {
        if !self.is_ours() {
            ereport!(
                ERROR,
                PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
                format!("\"{}\" is not an amax table", self.name())
            );
        }
    }

    /// Whether it is the user's.
    pub fn is_users(&self) -> bool {
        // SAFETY: the table and the user are looked up.
        #[cfg(feature = "pg15")]
        return unsafe { pg_sys::pg_class_ownercheck(self.id(), pg_sys::GetUserId()) };
        // SAFETY: as above.
        #[cfg(not(feature = "pg15"))]
        return unsafe { pg_sys::object_ownercheck(pg_sys::RelationRelationId, self.id(), pg_sys::GetUserId()) };
    }

    /// Whose it is.
    pub fn owner(&self) -> pg_sys::Oid {
        // SAFETY: a field of pg_class.
        unsafe { (*self.form()).relowner }
    }

    /// Raises an error unless it is the user's.
    pub fn require_owner(&self) {
        if !self.is_users() {
            // SAFETY: a name ends with a zero.
            unsafe {
                let name = (*self.form()).relname.data.as_ptr();
                let (denied, table) = (pg_sys::AclResult::ACLCHECK_NOT_OWNER, pg_sys::ObjectType::OBJECT_TABLE);
                pg_sys::aclcheck_error(denied, table, name);
            }
        }
    }

    /// Raises an error if a query of this session that goes on reads it (CheckTableNotInUse()).
    pub fn require_unused(&self, to_do: &CStr) {
        // SAFETY: an open relation.
        unsafe { pg_sys::CheckTableNotInUse(self.raw(), to_do.as_ptr()) }
    }

    pub fn locator(&self) -> Locator {
        // SAFETY: a field of an open relation.
        #[cfg(feature = "pg15")]
        return unsafe { (*self.get()).rd_node };
        // SAFETY: a field of an open relation.
        #[cfg(not(feature = "pg15"))]
        return unsafe { (*self.get()).rd_locator };
    }

    pub fn file(&self) -> FileId {
        let of = self.locator();
        // SAFETY: a field of an open relation.
        let backend = unsafe { (*self.get()).rd_backend };
        #[cfg(feature = "pg15")]
        return FileId(of.spcNode.to_u32(), of.dbNode.to_u32(), of.relNode.to_u32(), backend);
        #[cfg(not(feature = "pg15"))]
        return FileId(of.spcOid.to_u32(), of.dbOid.to_u32(), of.relNumber.to_u32(), backend);
    }

    /// The storage manager's handle; forks are looked at through it.
    pub fn smgr(&self) -> pg_sys::SMgrRelation {
        // SAFETY: an open relation, which forgets the handle when that is closed; smgropen() looks the file up, it opens
        // nothing.
        unsafe {
            let known = (*self.get()).rd_smgr;
            if known.is_null() {
                pg_sys::smgropen(self.locator(), (*self.get()).rd_backend)
            } else {
                known
            }
        }
    }

    /// Blocks in the main fork, as the storage manager counts them.
    pub fn physical_blocks(&self) -> u32 {
        // SAFETY: an open relation's handle.
        unsafe { pg_sys::smgrnblocks(self.smgr(), pg_sys::ForkNumber::MAIN_FORKNUM) }
    }

    /// RelationGetTargetBlock(): where heap tries to put the next row.
    pub fn target_block(&self) -> u32 {
        // SAFETY: an open relation's handle.
        unsafe { (*self.smgr()).smgr_targblock }
    }

    /// RelationSetTargetBlock().
    pub fn set_target_block(&self, block: u32) {
        // SAFETY: an open relation's handle.
        unsafe { (*self.smgr()).smgr_targblock = block }
    }

    /// relpersistence.
    fn persistence(&self) -> u8 {
        // SAFETY: a field of pg_class.
        unsafe { (*self.form()).relpersistence as u8 }
    }

    pub fn is_permanent(&self) -> bool {
        self.persistence() == pg_sys::RELPERSISTENCE_PERMANENT
    }

    pub fn is_temporary(&self) -> bool {
        self.persistence() == pg_sys::RELPERSISTENCE_TEMP
    }

    /// relkind.
    pub fn kind(&self) -> u8 {
        // SAFETY: a field of pg_class.
        unsafe { (*self.form()).relkind as u8 }
    }

    /// Whether the user may read all of its rows, and all columns: no row-level security applies to him.
    pub fn may_be_read_whole(&self) -> bool {
        may_be_read_whole(self.id())
    }

    /// The schema that it is in.
    pub fn schema(&self) -> pg_sys::Oid {
        // SAFETY: a field of pg_class.
        unsafe { (*self.form()).relnamespace }
    }

    /// Its TOAST table.
    pub fn toast(&self) -> Option<pg_sys::Oid> {
        // SAFETY: a field of pg_class.
        let toast = unsafe { (*self.form()).reltoastrelid };
        (toast != pg_sys::InvalidOid).then_some(toast)
    }

    /// The table that this one's content is about to become, while it is rewritten.
    pub fn rewrite_of(&self) -> Option<pg_sys::Oid> {
        // SAFETY: a field of pg_class.
        let of = unsafe { (*self.form()).relrewrite };
        (of != pg_sys::InvalidOid).then_some(of)
    }

    /// pg_class.relpages.
    pub fn pages(&self) -> u32 {
        // SAFETY: a field of pg_class.
        unsafe { (*self.form()).relpages as u32 }
    }

    /// pg_class.reltuples; negative if unknown.
    pub fn tuples(&self) -> f32 {
        // SAFETY: a field of pg_class.
        unsafe { (*self.form()).reltuples }
    }

    /// Rows that the planner takes it to have (estimate_rel_size() of plancat.c).
    pub fn estimated_tuples(&self) -> f64 {
        let (mut pages, mut tuples, mut visible) = (0, 0.0, 0.0);
        // SAFETY: an open relation; widths need not be asked for.
        unsafe { pg_sys::estimate_rel_size(self.raw(), std::ptr::null_mut(), &mut pages, &mut tuples, &mut visible) };
        tuples
    }

    /// relfrozenxid and relminmxid.
    pub fn frozen(&self) -> (pg_sys::TransactionId, pg_sys::MultiXactId) {
        // SAFETY: fields of pg_class.
        unsafe { ((*self.form()).relfrozenxid, (*self.form()).relminmxid) }
    }

    /// REPLICA IDENTITY FULL.
    pub fn has_full_identity(&self) -> bool {
        // SAFETY: a field of pg_class.
        unsafe { (*self.form()).relreplident as u8 == pg_sys::REPLICA_IDENTITY_FULL }
    }

    /// RelationIsLogicallyLogged() (rel.h), catalogs apart.
    pub fn is_logically_logged(&self) -> bool {
        wal_level() >= pg_sys::WalLevel::WAL_LEVEL_LOGICAL && self.is_permanent()
    }

    /// RelationNeedsWAL() (rel.h).
    pub fn needs_wal(&self) -> bool {
        let rel = self.get();
        const NONE: pg_sys::SubTransactionId = 0; // InvalidSubTransactionId
        // SAFETY: fields of an open relation.
        #[cfg(feature = "pg15")]
        let is_new = unsafe { (*rel).rd_createSubid != NONE || (*rel).rd_firstRelfilenodeSubid != NONE };
        // SAFETY: fields of an open relation.
        #[cfg(not(feature = "pg15"))]
        let is_new = unsafe { (*rel).rd_createSubid != NONE || (*rel).rd_firstRelfilelocatorSubid != NONE };
        let minimal = wal_level() < pg_sys::WalLevel::WAL_LEVEL_REPLICA;
        self.is_permanent() && !(minimal && is_new)
    }

    /// RelationGetFillFactor() (rel.h).
    pub fn fill_factor(&self) -> usize {
        // SAFETY: the options of a table, which are those of heap, if any.
        let options = unsafe { ((*self.get()).rd_options as *const pg_sys::StdRdOptions).as_ref() };
        options.map_or(100, |options| options.fillfactor as usize)
    }

    /// Whether rows go into it as they are: no trigger, index, constraint or table above it has anything to do with them.
    pub fn takes_rows_alone(&self) -> bool {
        // SAFETY: fields of an open relation.
        let (form, constraints) = unsafe { (&*self.form(), (*self.desc().raw()).constr.as_ref()) };
        let is_alone = !(form.relhastriggers || form.relhasindex || form.relispartition);
        is_alone && constraints.is_none_or(|constraints| constraints.num_check == 0)
    }

    /// Whether it says itself whether, and for how many rows, autovacuum comes.
    pub fn has_own_autovacuum(&self) -> bool {
        // SAFETY: the options of a table, which are those of heap, if any.
        let options = unsafe { ((*self.get()).rd_options as *const pg_sys::StdRdOptions).as_ref() };
        // What is not set is below all that may be (reloptions.c).
        options.map(|options| options.autovacuum).is_some_and(|own| {
            !own.enabled
                || own.vacuum_threshold >= 0
                || own.vacuum_ins_threshold >= -1
                || own.vacuum_scale_factor >= 0.0
                || own.vacuum_ins_scale_factor >= 0.0
        })
    }

    /// Whether all of its indexes are as `f` says; each is opened while it is looked at.
    pub fn all_indexes(&self, mut f: impl FnMut(Index) -> bool) -> bool {
        // SAFETY: an open relation; a list of OIDs, which is ours.
        unsafe {
            let list = pg_sys::RelationGetIndexList(self.raw());
            let count = list.as_ref().map_or(0, |list| list.length as usize);
            let holds = |at| {
                let oid = (*(*list).elements.add(at)).oid_value;
                let index = pg_sys::relation_open(oid, pg_sys::AccessShareLock as i32);
                let form = (*index).rd_index;
                let found = Index {
                    id: oid,
                    is_unique: (*form).indisunique,
                    is_exclusion: (*form).indisexclusion,
                    method: (*(*index).rd_rel).relam,
                };
                pg_sys::relation_close(index, pg_sys::AccessShareLock as i32);
                f(found)
            };
            let all = (0..count).all(holds);
            pg_sys::list_free(list);
            all
        }
    }

    /// The attributes of its indexes of a kind (relcache.c).
    pub fn index_attributes(&self, kind: pg_sys::IndexAttrBitmapKind::Type) -> Attributes {
        // SAFETY: an open relation.
        Attributes(unsafe { pg_sys::RelationGetIndexAttrBitmap(self.raw(), kind) })
    }
}

/// What an index is.
pub struct Index {
    pub id: pg_sys::Oid,
    pub is_unique: bool,
    pub is_exclusion: bool,
    /// Its access method.
    pub method: pg_sys::Oid,
}

/// A set of attributes, palloc'd; freed on drop. Attributes are counted from 0 here.
pub struct Attributes(*mut pg_sys::Bitmapset);

impl Attributes {
    fn member(at: usize) -> i32 {
        at as i32 + 1 - pg_sys::FirstLowInvalidHeapAttributeNumber
    }

    pub fn has(&self, at: usize) -> bool {
        // SAFETY: a set that PostgreSQL made, or none.
        unsafe { plain::bms_is_member(Self::member(at), self.0) }
    }

    pub fn remove(&mut self, at: usize) {
        // SAFETY: as above.
        self.0 = unsafe { pg_sys::bms_del_member(self.0, Self::member(at)) };
    }

    /// Adds attribute number 0, the whole row, which always counts as changed (HeapDetermineColumnsInfo()).
    pub fn add_whole_row(&mut self) {
        // SAFETY: as above.
        self.0 = unsafe { pg_sys::bms_add_member(self.0, -pg_sys::FirstLowInvalidHeapAttributeNumber) };
    }

    /// For PostgreSQL's structs.
    pub fn raw(&self) -> *mut pg_sys::Bitmapset {
        self.0
    }

    /// Somebody else frees, or has freed, the set.
    pub fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: ours, or none. After an error it goes with its memory context.
            unsafe { plain::bms_free(self.0) }
        }
    }
}

/// A relation opened by its OID, and locked; closed on drop, its lock kept to the end of the transaction.
pub struct Opened(*mut pg_sys::RelationData);

impl Opened {
    /// relation_open(): raises an error if there is none.
    pub fn with_lock(relid: pg_sys::Oid, lock: u32) -> Opened {
        // SAFETY: it looks the OID up.
        Opened(unsafe { pg_sys::relation_open(relid, lock as i32) })
    }

    /// None if there is none any more.
    pub fn find(relid: pg_sys::Oid, lock: u32) -> Option<Opened> {
        // SAFETY: it looks the OID up.
        let rel = unsafe { pg_sys::try_relation_open(relid, lock as i32) };
        (!rel.is_null()).then(|| Opened(rel))
    }

    /// table_openrv(): raises an error if there is none, or if it is an index or a type.
    ///
    /// # Safety
    /// The parser's name of a relation.
    pub unsafe fn named(name: *const pg_sys::RangeVar, lock: u32) -> Opened {
        // SAFETY: as the caller promises; it looks the name up.
        Opened(unsafe { pg_sys::table_openrv(name, lock as i32) })
    }

    /// The same, None if there is none.
    ///
    /// # Safety
    /// As of [`Opened::named`].
    pub unsafe fn find_named(name: *const pg_sys::RangeVar, lock: u32) -> Option<Opened> {
        // SAFETY: as the caller promises; it looks the name up.
        let rel = unsafe { pg_sys::table_openrv_extended(name, lock as i32, true) };
        (!rel.is_null()).then(|| Opened(rel))
    }

    /// An amax table, for somebody who may read it, or this attribute of it.
    pub fn for_reading(table: pg_sys::Oid, attribute: Option<i16>) -> Opened {
        let opened = Opened::with_lock(table, pg_sys::AccessShareLock);
        opened.require_ours();
        // SAFETY: an open relation.
        unsafe {
            let (user, right) = (pg_sys::GetUserId(), pg_sys::ACL_SELECT as pg_sys::AclMode);
            let mut allowed = pg_sys::pg_class_aclcheck(table, user, right);
            if let Some(attribute) = attribute.filter(|_| allowed != pg_sys::AclResult::ACLCHECK_OK) {
                allowed = pg_sys::pg_attribute_aclcheck(table, attribute, user, right);
            }
            if allowed != pg_sys::AclResult::ACLCHECK_OK {
                let name = (*opened.form()).relname.data.as_ptr();
                pg_sys::aclcheck_error(allowed, pg_sys::ObjectType::OBJECT_TABLE, name);
            }
        }
        opened
    }
}

impl Deref for Opened {
    type Target = Relation;

    fn deref(&self) -> &Relation {
        // SAFETY: open until this is dropped.
        unsafe { Relation::of(self.0) }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // An executor's state goes with its memory while a transaction is being aborted: by then closing it is the resource owner's.
        // SAFETY: a state is looked at.
        let ends = unsafe { !pg_sys::IsTransactionState() };
        if !std::thread::panicking() && !ends {
            // SAFETY: opened by us. After an error the resource owner closes it.
            unsafe { pg_sys::relation_close(self.0, pg_sys::NoLock as i32) }
        }
    }
}

/// A relation that somebody has locked, looked up by OID; closed again on drop.
pub struct Borrowed(*mut pg_sys::RelationData);

impl Borrowed {
    pub fn open(relid: pg_sys::Oid) -> Borrowed {
        Borrowed::find(relid).unwrap_or_else(|| pgrx::error!("could not open relation with OID {}", relid.to_u32()))
    }

    /// None if there is no such relation any more. As relation_open() does it makes what is done to it count, which an
    /// entry that the relcache has built anew does not.
    pub fn find(relid: pg_sys::Oid) -> Option<Borrowed> {
        // SAFETY: it looks the OID up, and what it returns is open.
        unsafe {
            let rel = pg_sys::RelationIdGetRelation(relid);
            if rel.is_null() {
                return None;
            }
            pg_sys::pgstat_init_relation(rel);
            Some(Borrowed(rel))
        }
    }
}

impl Deref for Borrowed {
    type Target = Relation;

    fn deref(&self) -> &Relation {
        // SAFETY: open until this is dropped.
        unsafe { Relation::of(self.0) }
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: opened by us. After an error the resource owner closes it.
            unsafe { pg_sys::RelationClose(self.0) }
        }
    }
}

/// Has every backend, here and on standbys, forget what it remembers of the relation (relcache). At once, not when our
/// transaction commits.
pub fn invalidate_everywhere(rel: &Relation) {
    // SAFETY: a message that inval.c would send; it is copied.
    unsafe {
        let message = pg_sys::SharedInvalidationMessage {
            rc: pg_sys::SharedInvalRelcacheMsg {
                id: pg_sys::SHAREDINVALRELCACHE_ID as i8,
                dbId: pg_sys::MyDatabaseId,
                relId: rel.id(),
            },
        };
        pg_sys::SendSharedInvalidMessages(&message, 1);
        // XLogStandbyInfoActive()
        if wal_level() >= pg_sys::WalLevel::WAL_LEVEL_REPLICA {
            pg_sys::LogStandbyInvalidations(1, (&raw const message).cast_mut(), false);
        }
    }
}

/// Whether there is such a relation, the user may read all of its rows, and all columns, and no row-level security applies to him.
pub fn may_be_read_whole(relation: pg_sys::Oid) -> bool {
    // SAFETY: it is looked up, and rights are.
    unsafe {
        pg_sys::get_rel_relkind(relation) != 0
            && may_select(relation)
            && pg_sys::check_enable_rls(relation, pg_sys::InvalidOid, true)
                != pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32
    }
}
