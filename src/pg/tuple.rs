//! Heap tuples (htup_details.h).

use super::page::{Page, PageMut};
use super::relation::Relation;
use super::snapshot::Snapshot;
use pgrx::pg_sys;
use std::marker::PhantomData;

/// Bytes of a tuple's header without its null bitmap (SizeofHeapTupleHeader).
const LEAST: usize = std::mem::offset_of!(pg_sys::HeapTupleHeaderData, t_bits);

/// A heap tuple that stays where it is: on a pinned page, or a copy.
pub struct Tuple<'a> {
    data: pg_sys::HeapTupleData,
    of: PhantomData<&'a ()>,
}

/// Its header.
#[derive(Clone, Copy)]
pub struct Header<'a>(pg_sys::HeapTupleHeader, PhantomData<&'a ()>);

impl<'a> Tuple<'a> {
    /// # Safety
    /// `t_data` points to a whole tuple of `t_len` bytes, which stays there.
    pub unsafe fn of(data: pg_sys::HeapTupleData) -> Tuple<'a> {
        Tuple { data, of: PhantomData }
    }

    /// A tuple without attributes or a page, whose header this is.
    pub fn of_header(header: &'a mut pg_sys::HeapTupleHeaderData, table: pg_sys::Oid) -> Tuple<'a> {
        let data = pg_sys::HeapTupleData {
            t_len: size_of_val(header) as u32,
            t_self: header.t_ctid,
            t_tableOid: table,
            t_data: header,
        };
        Tuple { data, of: PhantomData }
    }

    /// The tuple at byte `at` of a page, of `len` bytes.
    pub fn on_page(page: Page<'a>, at: u16, len: u16, tid: pg_sys::ItemPointerData, table: pg_sys::Oid) -> Tuple<'a> {
        assert!(usize::from(at) + usize::from(len) <= super::page::SIZE && usize::from(len) >= LEAST);
        let t_data = page.at(usize::from(at)).cast();
        let data = pg_sys::HeapTupleData {
            t_len: len.into(),
            t_self: tid,
            t_tableOid: table,
            t_data,
        };
        Tuple { data, of: PhantomData }
    }

    /// A copy, palloc'd, that has these bytes between header and attributes, and more bits in t_infomask2. It has no
    /// place yet.
    pub fn with_gap(&self, bytes: &[u8], infomask2: u16) -> Tuple<'a> {
        let (len, hoff) = (self.len(), self.header().hoff());
        let mut data = self.data;
        // SAFETY: room for both; the header of a tuple in memory is within it.
        unsafe {
            let to = pg_sys::palloc0(len + bytes.len()) as *mut u8;
            let from = self.data.t_data as *const u8;
            std::ptr::copy_nonoverlapping(from, to, hoff);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.add(hoff), bytes.len());
            std::ptr::copy_nonoverlapping(from.add(hoff), to.add(hoff + bytes.len()), len - hoff);
            data.t_data = to.cast();
            (*data.t_data).t_hoff = (hoff + bytes.len()) as u8;
            (*data.t_data).t_infomask2 |= infomask2;
        }
        data.t_len = (len + bytes.len()) as u32;
        data.t_self = pg_sys::ItemPointerData::default();
        data.t_self.ip_blkid.bi_hi = u16::MAX; // InvalidBlockNumber
        data.t_self.ip_blkid.bi_lo = u16::MAX;
        Tuple { data, of: PhantomData }
    }

    /// Puts a copy on a page (PageAddItem()): its offset there, or None if there is no room.
    pub fn put_on(&self, page: &mut PageMut) -> Option<u16> {
        let flags = pg_sys::PAI_IS_HEAP as i32;
        // SAFETY: a whole tuple, and a page of the caller's own.
        let offset = unsafe { pg_sys::PageAddItemExtended(page.raw(), self.data.t_data.cast(), self.len(), 0, flags) };
        (offset != 0).then_some(offset)
    }

    /// For PostgreSQL's functions.
    pub fn raw(&mut self) -> *mut pg_sys::HeapTupleData {
        &raw mut self.data
    }

    /// A copy of the descriptor.
    pub fn data(&self) -> pg_sys::HeapTupleData {
        self.data
    }

    pub fn header(&self) -> Header<'a> {
        Header(self.data.t_data, PhantomData)
    }

    pub fn len(&self) -> usize {
        self.data.t_len as usize
    }

    /// The header of a copy.
    pub fn header_mut(&mut self) -> &mut pg_sys::HeapTupleHeaderData {
        // SAFETY: a header, which is borrowed through us alone.
        unsafe { &mut *self.data.t_data }
    }

    pub fn table(&self) -> pg_sys::Oid {
        self.data.t_tableOid
    }

    pub fn set_tid(&mut self, tid: pg_sys::ItemPointerData) {
        self.data.t_self = tid;
    }

    pub fn tid(&self) -> &pg_sys::ItemPointerData {
        &self.data.t_self
    }

    /// heap_attisnull(), of attribute `at`, counted from 0.
    pub fn is_null(&mut self, at: usize, desc: &super::TupleDesc) -> bool {
        // SAFETY: a whole tuple.
        unsafe { pg_sys::heap_attisnull(self.raw(), at as i32 + 1, desc.raw()) }
    }

    /// HeapTupleSatisfiesVacuum(). The caller has the buffer locked; it may leave hints in the header.
    pub fn fate(&mut self, oldest_xmin: pg_sys::TransactionId, buffer: pg_sys::Buffer) -> pg_sys::HTSV_Result::Type {
        // SAFETY: a tuple in that buffer, or one whose header tells all without it.
        unsafe { pg_sys::HeapTupleSatisfiesVacuum(self.raw(), oldest_xmin, buffer) }
    }

    /// Whether the snapshot sees it. The caller has the buffer locked.
    pub fn satisfies(&mut self, snapshot: &Snapshot, buffer: pg_sys::Buffer) -> bool {
        // SAFETY: a tuple in that buffer.
        unsafe { pg_sys::HeapTupleSatisfiesVisibility(self.raw(), snapshot.raw(), buffer) }
    }

    /// Whether the snapshot sees it; reports rw-conflicts to SSI. The caller has the buffer locked.
    pub fn is_visible(&mut self, rel: &Relation, buffer: pg_sys::Buffer, snapshot: &Snapshot) -> bool {
        // SAFETY: a tuple in that buffer, or one whose header tells all without it.
        unsafe {
            let valid = pg_sys::HeapTupleSatisfiesVisibility(self.raw(), snapshot.raw(), buffer);
            pg_sys::HeapCheckForSerializableConflictOut(valid, rel.raw(), self.raw(), buffer, snapshot.raw());
            valid
        }
    }
}

impl<'a> Header<'a> {
    pub fn raw(self) -> pg_sys::HeapTupleHeader {
        self.0
    }

    pub fn infomask(self) -> u16 {
        // SAFETY: a field of the header.
        unsafe { (*self.0).t_infomask }
    }

    pub fn infomask2(self) -> u16 {
        // SAFETY: a field of the header.
        unsafe { (*self.0).t_infomask2 }
    }

    /// Whether it has values out of line (HEAP_HASEXTERNAL).
    pub fn has_external(self) -> bool {
        self.infomask() & pg_sys::HEAP_HASEXTERNAL as u16 != 0
    }

    /// Whether an UPDATE made it (HEAP_UPDATED): older versions may share its values out of line.
    pub fn is_updated(self) -> bool {
        self.infomask() & pg_sys::HEAP_UPDATED as u16 != 0
    }

    pub fn hoff(self) -> usize {
        // SAFETY: a field of the header.
        usize::from(unsafe { (*self.0).t_hoff })
    }

    /// Where the next version is (t_ctid).
    pub fn next(self) -> pg_sys::ItemPointerData {
        // SAFETY: a field of the header.
        unsafe { (*self.0).t_ctid }
    }

    /// HeapTupleHeaderGetRawXmin().
    pub fn stored_xmin(self) -> pg_sys::TransactionId {
        // SAFETY: a tuple on a page has transaction ids here.
        unsafe { (*self.0).t_choice.t_heap.t_xmin }
    }

    /// HeapTupleHeaderGetRawXmax().
    pub fn stored_xmax(self) -> pg_sys::TransactionId {
        // SAFETY: a tuple on a page has transaction ids here.
        unsafe { (*self.0).t_choice.t_heap.t_xmax }
    }

    /// HeapTupleHeaderGetXmin(): frozen tuples have no transaction id to match.
    pub fn xmin(self) -> pg_sys::TransactionId {
        const FROZEN: u16 = (pg_sys::HEAP_XMIN_COMMITTED | pg_sys::HEAP_XMIN_INVALID) as u16;
        if self.infomask() & FROZEN == FROZEN {
            pg_sys::FrozenTransactionId
        } else {
            self.stored_xmin()
        }
    }

    /// HeapTupleHeaderGetUpdateXid().
    pub fn update_xid(self) -> pg_sys::TransactionId {
        let mask = u32::from(self.infomask());
        let updated = mask & (pg_sys::HEAP_XMAX_INVALID | pg_sys::HEAP_XMAX_LOCK_ONLY) == 0;
        if updated && mask & pg_sys::HEAP_XMAX_IS_MULTI != 0 {
            // SAFETY: a header.
            unsafe { pg_sys::HeapTupleGetUpdateXid(self.0) }
        } else {
            self.stored_xmax()
        }
    }

    /// A copy of it.
    pub fn copy(self) -> pg_sys::HeapTupleHeaderData {
        // SAFETY: a header.
        unsafe { self.0.read() }
    }

    /// HeapTupleHeaderGetCmin(), of a tuple that our transaction has inserted.
    pub fn cmin(self) -> pg_sys::CommandId {
        // SAFETY: a header; PostgreSQL asserts the rest.
        unsafe { pg_sys::HeapTupleHeaderGetCmin(self.0) }
    }

    /// Eight bytes of the tuple, from byte `at` on.
    ///
    /// # Safety
    /// The tuple has them.
    pub unsafe fn u64_at(self, at: usize) -> u64 {
        // SAFETY: as the caller promises.
        unsafe { self.0.cast::<u8>().add(at).cast::<u64>().read_unaligned() }
    }
}

/// A header of nothing but zeros.
pub fn new_header() -> pg_sys::HeapTupleHeaderData {
    // SAFETY: numbers.
    unsafe { std::mem::zeroed() }
}

/// A copy of a tuple, freed on drop.
pub struct Copied(Tuple<'static>, *mut pg_sys::HeapTupleData);

impl Copied {
    pub fn of(mut tuple: Tuple) -> Copied {
        // SAFETY: a whole tuple; the copy is ours.
        unsafe {
            let copy = pg_sys::heap_copytuple(tuple.raw());
            Copied(Tuple::of(*copy), copy)
        }
    }

    pub fn tuple(&mut self) -> &mut Tuple<'static> {
        &mut self.0
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: our copy. After an error it goes with its memory context.
            unsafe { pg_sys::heap_freetuple(self.1) }
        }
    }
}
