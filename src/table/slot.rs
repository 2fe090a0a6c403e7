//! The slot that amax's scans fill: a buffer heap tuple slot (execTuples.c) that can also hold a columnar row, whose
//! attributes are decoded only when somebody asks for them.

use crate::columnar::{Needs, Row, System, columnar_at};
use crate::pg::copy::{Shown, printed, shown};
use crate::pg::guard::guarded;
use crate::pg::relation::Borrowed;
use crate::pg::{Lock, Pin, Slot, Tuple, TupleDesc, tupdesc::attribute};
use crate::storage::manifest::cancel_replaced;
use amax_lsm::Origin;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::sync::OnceLock;

/// Begins as PostgreSQL's BufferHeapTupleTableSlot, so that its callbacks serve the rows of row pages.
#[repr(C)]
struct OurSlot {
    base: pg_sys::BufferHeapTupleTableSlot,
    columnar: Columnar,
    /// Drops that with the slot's memory context: an error releases no slots.
    on_reset: pg_sys::MemoryContextCallback,
}

struct Columnar {
    row: Option<Row>,
    /// Set when a bulk load has taken the values that are in the slot: then it is the load's row.
    loaded: Option<Origin>,
    /// Whether the slot has a copied tuple with values out of line.
    outside: bool,
    /// Holds what by-reference attributes point to, until the slot is cleared. Made at first use.
    values: pg_sys::MemoryContext,
}

impl Columnar {
    /// # Safety
    /// A slot of ours.
    unsafe fn empty(&mut self) {
        // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
        unsafe {
            self.row = None;
            self.loaded = None;
            self.outside = false;
            // As MemoryContextReset() does; its call would take longer.
            if !self.values.is_null() && !(*self.values).isReset {
                pg_sys::MemoryContextReset(self.values);
            }
        }
    }
}

struct Ops(pg_sys::TupleTableSlotOps);
// SAFETY: a table of function pointers, never changed once made.
unsafe impl Sync for Ops {}
// SAFETY: as above.
unsafe impl Send for Ops {}

static OPS: OnceLock<Ops> = OnceLock::new();
static TEXT_OPS: OnceLock<Ops> = OnceLock::new();

/// Of a slot for who only gets attributes, of which documents are text, and some are left out (`pg::copy`).
pub fn text_ops() -> &'static pg_sys::TupleTableSlotOps {
    &TEXT_OPS
        .get_or_init(|| {
            Ops(pg_sys::TupleTableSlotOps {
                getsomeattrs: Some(get_with_texts),
                ..*ops()
            })
        })
        .0
}

pub fn ops() -> &'static pg_sys::TupleTableSlotOps {
    &OPS.get_or_init(|| {
        let mut ops = heap_ops();
        ops.base_slot_size = std::mem::size_of::<OurSlot>();
        ops.init = Some(init);
        ops.release = Some(release);
        ops.clear = Some(clear);
        ops.getsomeattrs = Some(getsomeattrs);
        ops.getsysattr = Some(getsysattr);
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        {
            ops.is_current_xact_tuple = Some(is_current_xact_tuple);
        }
        ops.materialize = Some(materialize);
        ops.copyslot = Some(copyslot);
        ops.get_heap_tuple = Some(get_heap_tuple);
        ops.copy_heap_tuple = Some(copy_heap_tuple);
        ops.copy_minimal_tuple = Some(copy_minimal_tuple);
        Ops(ops)
    })
    .0
}

fn heap_ops() -> pg_sys::TupleTableSlotOps {
    // SAFETY: a table of function pointers that is never changed.
    unsafe { pg_sys::TTSOpsBufferHeapTuple }
}

fn is_ours(slot: &Slot) -> bool {
    // SAFETY: a field.
    let found = unsafe { (*slot.raw()).tts_ops };
    std::ptr::eq(found, ops()) || std::ptr::eq(found, text_ops())
}

/// # Safety
/// A slot of ours.
unsafe fn ours<'a>(slot: *mut pg_sys::TupleTableSlot) -> &'a mut OurSlot {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        debug_assert!(is_ours(Slot::of(slot)));
        &mut *(slot as *mut OurSlot)
    }
}
/// # Safety
/// A slot of ours.
unsafe fn row_of<'a>(slot: *mut pg_sys::TupleTableSlot) -> Option<&'a Row> {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe { ours(slot).columnar.row.as_ref() }
}

/// Puts a tuple of a pinned row page in the slot; `tid` is its logical TID. The slot takes a pin of its own.
pub fn store_heap(slot: &Slot, tuple: Tuple, tid: pg_sys::ItemPointerData, pin: &Pin) {
    store_pinned(slot, tuple, tid, pin.again());
}

/// The same, handing the caller's pin to the slot.
pub fn store_pinned(slot: &Slot, tuple: Tuple, tid: pg_sys::ItemPointerData, pin: Pin) {
    assert!(is_ours(slot), "a slot of amax's");
    slot.clear();
    // SAFETY: a slot of ours; the tuple stays while the slot has the pin.
    unsafe {
        let s = ours(slot.raw());
        let header = &mut s.base.base;
        header.tupdata = tuple.data();
        header.tupdata.t_self = tid;
        header.tuple = &mut header.tupdata;
        header.off = 0;
        header.base.tts_flags &= !(pg_sys::TTS_FLAG_EMPTY as u16);
        header.base.tts_nvalid = 0;
        header.base.tts_tid = tid;
        header.base.tts_tableOid = tuple.table();
        s.base.buffer = pin.into_buffer();
    }
}

/// Puts a copy of a tuple of a row page in the slot (on a standby, see `block`). By the time somebody looks at them its
/// values out of line may be gone, as the row has been flushed: they are fetched with the attributes asked for, or
/// taken from the columnar row.
pub fn store_copy(slot: &Slot, tuple: &mut Tuple, tid: pg_sys::ItemPointerData) {
    assert!(is_ours(slot), "a slot of amax's");
    slot.clear();
    // SAFETY: a slot of ours; the copy lives until the slot is cleared.
    unsafe {
        let raw = slot.raw();
        let old = pg_sys::MemoryContextSwitchTo(values_context(raw));
        let copy = pg_sys::heap_copytuple(tuple.raw());
        pg_sys::MemoryContextSwitchTo(old);
        (*copy).t_self = tid;
        let s = ours(raw);
        s.columnar.outside = tuple.header().has_external();
        s.base.base.tuple = copy;
        s.base.base.off = 0;
        s.base.buffer = 0;
        (*raw).tts_flags &= !(pg_sys::TTS_FLAG_EMPTY as u16);
        (*raw).tts_nvalid = 0;
        (*raw).tts_tid = tid;
        (*raw).tts_tableOid = tuple.table();
    }
}

/// Whether the slot has such a copy.
///
/// # Safety
/// A slot of ours.
unsafe fn is_copy(slot: *mut pg_sys::TupleTableSlot) -> bool {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        let base = &ours(slot).base;
        let owned = (*slot).tts_flags & pg_sys::TTS_FLAG_SHOULDFREE as u16 != 0;
        row_of(slot).is_none() && !base.base.tuple.is_null() && base.buffer == 0 && !owned
    }
}

/// Makes a tuple in the slot's own memory its tuple.
///
/// # Safety
/// A slot of ours.
unsafe fn own_tuple(slot: *mut pg_sys::TupleTableSlot, tuple: pg_sys::HeapTuple) {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        let s = ours(slot);
        s.base.base.tuple = tuple;
        s.base.base.off = 0;
        s.base.buffer = 0;
        (*slot).tts_flags |= pg_sys::TTS_FLAG_SHOULDFREE as u16;
        (*slot).tts_nvalid = 0;
    }
}

/// The columnar row that the row of a copied tuple has become, if it has.
///
/// # Safety
/// A slot of ours.
unsafe fn flushed(slot: *mut pg_sys::TupleTableSlot) -> Option<Row> {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        let rel = Borrowed::open((*slot).tts_tableOid);
        columnar_at(&rel, &(*slot).tts_tid)
    }
}

/// A value out of line. It may go meanwhile, if its row is flushed: then that is what is said.
///
/// # Safety
/// A slot of ours.
unsafe fn fetch(slot: *mut pg_sys::TupleTableSlot, value: pg_sys::Datum) -> pg_sys::Datum {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        let fetch = || pg_sys::Datum::from(pg_sys::detoast_external_attr(value.cast_mut_ptr()));
        PgTryBuilder::new(std::panic::AssertUnwindSafe(fetch))
            .catch_when(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, |cause| {
                if flushed(slot).is_some() {
                    cancel_replaced();
                }
                cause.rethrow()
            })
            .execute()
    }
}

/// Fetches what is out of line of a copied tuple's attributes, of those in a range, into the slot's values.
///
/// # Safety
/// A slot of ours.
unsafe fn fetch_attributes(slot: *mut pg_sys::TupleTableSlot, range: std::ops::Range<usize>) {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        let desc = (*slot).tts_tupleDescriptor;
        let outside = |&at: &usize| {
            // VARATT_IS_EXTERNAL() (postgres.h): a one-byte header of 1.
            !*(*slot).tts_isnull.add(at)
                && (*attribute(desc, at)).attlen == -1
                && *(*(*slot).tts_values.add(at)).cast_mut_ptr::<u8>() == 1
        };
        let wanted: Vec<usize> = range.filter(outside).collect();
        if wanted.is_empty() {
            return;
        }
        let row = flushed(slot);
        let old = pg_sys::MemoryContextSwitchTo(values_context(slot));
        for at in wanted {
            let value = (*slot).tts_values.add(at);
            *value = match &row {
                Some(row) => row.attribute(TupleDesc::of(desc), at).0,
                None => fetch(slot, *value),
            };
        }
        pg_sys::MemoryContextSwitchTo(old);
    }
}

/// Leaves nothing of a copied tuple out of line, for who takes all of it (toast_flatten_tuple()). What is in use of the
/// old one stays.
///
/// # Safety
/// A slot of ours.
unsafe fn settle(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        if !ours(slot).columnar.outside {
            return;
        }
        all_attributes(slot);
        let old = pg_sys::MemoryContextSwitchTo((*slot).tts_mcxt);
        let (values, isnull) = ((*slot).tts_values, (*slot).tts_isnull);
        let flat = pg_sys::heap_form_tuple((*slot).tts_tupleDescriptor, values, isnull);
        pg_sys::MemoryContextSwitchTo(old);
        let tuple = &*ours(slot).base.base.tuple;
        (*flat).t_self = tuple.t_self;
        (*flat).t_tableOid = tuple.t_tableOid;
        let (from, to) = (&*tuple.t_data, &mut *(*flat).t_data);
        to.t_choice = from.t_choice;
        to.t_ctid = from.t_ctid;
        const TRANSACTIONS: [u16; 2] = [pg_sys::HEAP_XACT_MASK as u16, pg_sys::HEAP2_XACT_MASK as u16];
        to.t_infomask = to.t_infomask & !TRANSACTIONS[0] | from.t_infomask & TRANSACTIONS[0];
        to.t_infomask2 = to.t_infomask2 & !TRANSACTIONS[1] | from.t_infomask2 & TRANSACTIONS[1];
        ours(slot).columnar.outside = false;
        own_tuple(slot, flat);
    }
}

/// Puts a columnar row in the slot.
pub fn store_columnar(slot: &Slot, row: Row, tid: pg_sys::ItemPointerData, table: pg_sys::Oid) {
    assert!(is_ours(slot), "a slot of amax's");
    // SAFETY: a slot of ours. With a columnar row it has neither a tuple nor a pin, and is cleared here.
    unsafe {
        if row_of(slot.raw()).is_none() {
            slot.clear();
        }
        let s = ours(slot.raw());
        s.columnar.empty();
        s.columnar.row = Some(row);
        let base = &mut s.base.base.base;
        base.tts_flags &= !(pg_sys::TTS_FLAG_EMPTY as u16);
        base.tts_nvalid = 0;
        base.tts_tid = tid;
        base.tts_tableOid = table;
    }
}

/// The same for somebody who reads no more of the row than is needed: that is decoded now, the rest is NULL.
pub fn store_needed(slot: &Slot, row: Row, tid: pg_sys::ItemPointerData, table: pg_sys::Oid, needs: &mut Needs) {
    store_columnar(slot, row.clone(), tid, table);
    let raw = slot.raw();
    // SAFETY: a slot of ours, which has room for so many attributes.
    unsafe {
        let desc = TupleDesc::of((*raw).tts_tupleDescriptor);
        let old = pg_sys::MemoryContextSwitchTo(values_context(raw));
        for at in 0..desc.natts() {
            let (value, null) = needs.attribute(&row, desc, at);
            *(*raw).tts_values.add(at) = value;
            *(*raw).tts_isnull.add(at) = null;
        }
        pg_sys::MemoryContextSwitchTo(old);
        (*raw).tts_nvalid = desc.natts() as i16;
    }
}

/// Runs `f` on the heap tuple in the slot, under its page's share lock; None if it holds no pinned one.
pub fn with_heap_tuple<R>(slot: &Slot, f: impl FnOnce(&mut Tuple, &Lock) -> R) -> Option<R> {
    assert!(is_ours(slot), "a slot of amax's");
    // SAFETY: a slot of ours; it keeps the tuple's pin, of which we take another.
    unsafe {
        let s = ours(slot.raw());
        if s.columnar.row.is_some() || s.base.buffer == 0 {
            return None;
        }
        let pin = Pin::of_other(s.base.buffer);
        let lock = pin.share();
        Some(f(&mut Tuple::of(*s.base.base.tuple), &lock))
    }
}

/// A bulk load has taken the values in a slot of any kind.
pub fn set_loaded(slot: &Slot, by: Origin) {
    if is_ours(slot) {
        // SAFETY: a slot of ours.
        unsafe { ours(slot.raw()) }.columnar.loaded = Some(by);
    }
}

/// The columnar row in a slot of any kind, if it holds one.
pub fn columnar_row(slot: &Slot) -> Option<Row> {
    // SAFETY: a slot of ours.
    is_ours(slot).then(|| unsafe { row_of(slot.raw()) }.cloned()).flatten()
}

/// # Safety
/// A slot of ours.
#[pg_guard]
unsafe extern "C-unwind" fn init(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        let s = ours(slot);
        (&raw mut s.columnar).write(Columnar {
            row: None,
            loaded: None,
            outside: false,
            values: std::ptr::null_mut(),
        });
        s.on_reset.func = Some(drop_columnar);
        s.on_reset.arg = slot.cast();
        pg_sys::MemoryContextRegisterResetCallback((*slot).tts_mcxt, &mut s.on_reset);
    }
}

/// # Safety
/// A slot of ours.
#[pg_guard]
unsafe extern "C-unwind" fn drop_columnar(slot: *mut std::ffi::c_void) {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        if crate::memory::is_ending() {
            return;
        }
        std::ptr::drop_in_place(&raw mut (*(slot as *mut OurSlot)).columnar);
    }
}

/// Nothing of a slot may outlive it: a check of a unique key makes one for each row.
///
/// # Safety
/// A slot of ours.
#[pg_guard]
unsafe extern "C-unwind" fn release(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        let s = ours(slot);
        // MemoryContextUnregisterResetCallback(), which came with 18. The newest are first.
        let mut link = &raw mut (*(*slot).tts_mcxt).reset_cbs;
        while *link != &raw mut s.on_reset {
            link = &raw mut (**link).next;
        }
        *link = s.on_reset.next;
        if !s.columnar.values.is_null() {
            pg_sys::MemoryContextDelete(s.columnar.values);
        }
        drop_columnar(slot.cast());
    }
}

/// # Safety
/// A slot of ours.
#[pg_guard]
unsafe extern "C-unwind" fn clear(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        ours(slot).columnar.empty();
        #[expect(ffi_unwind_calls, reason = "it raises no error, and there is nothing to drop")]
        heap_ops().clear.unwrap()(slot);
    }
}

/// Where by-reference attributes live until the slot is cleared.
///
/// # Safety
/// A slot of ours.
unsafe fn values_context(slot: *mut pg_sys::TupleTableSlot) -> pg_sys::MemoryContext {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        let columnar = &mut ours(slot).columnar;
        if columnar.values.is_null() {
            columnar.values = pg_sys::AllocSetContextCreateInternal(
                (*slot).tts_mcxt,
                c"amax slot values".as_ptr(),
                0,
                8 * 1024,
                8 * 1024 * 1024,
            );
        }
        columnar.values
    }
}

/// # Safety
/// A slot of ours.
#[pg_guard]
unsafe extern "C-unwind" fn getsomeattrs(slot: *mut pg_sys::TupleTableSlot, natts: i32) {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        let Some(row) = row_of(slot) else {
            let valid = (*slot).tts_nvalid as usize;
            #[expect(ffi_unwind_calls, reason = "it raises no error, and there is nothing to drop")]
            heap_ops().getsomeattrs.unwrap()(slot, natts);
            if ours(slot).columnar.outside {
                fetch_attributes(slot, valid..(*slot).tts_nvalid as usize);
            }
            return;
        };
        decode(slot, natts, |desc, at| row.attribute(desc, at));
    }
}

/// Puts attributes of a columnar row, those up to a number, into the slot.
///
/// # Safety
/// A slot of ours.
unsafe fn decode(
    slot: *mut pg_sys::TupleTableSlot,
    natts: i32,
    get: impl Fn(&TupleDesc, usize) -> (pg_sys::Datum, bool),
) {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        let old = pg_sys::MemoryContextSwitchTo(values_context(slot));
        for attribute in (*slot).tts_nvalid as usize..natts as usize {
            let (value, null) = get(TupleDesc::of((*slot).tts_tupleDescriptor), attribute);
            *(*slot).tts_values.add(attribute) = value;
            *(*slot).tts_isnull.add(attribute) = null;
        }
        pg_sys::MemoryContextSwitchTo(old);
        (*slot).tts_nvalid = natts as i16;
    }
}

/// The same as `getsomeattrs`, with documents as text.
///
/// # Safety
/// A slot of ours.
#[pg_guard]
unsafe extern "C-unwind" fn get_with_texts(slot: *mut pg_sys::TupleTableSlot, natts: i32) {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us. What is text in its descriptor is a document in the row.
    unsafe {
        if let Some(row) = row_of(slot) {
            return decode(slot, natts, |desc, at| match shown(desc, at) {
                Shown::AsIs => row.attribute(desc, at),
                Shown::Text => row.text(desc, at),
                Shown::Not => (pg_sys::Datum::null(), true),
            });
        }
        let valid = (*slot).tts_nvalid as usize;
        getsomeattrs(slot, natts);
        if i32::from((*slot).tts_nvalid) < natts {
            // Otherwise PostgreSQL does it, behind us.
            pg_sys::slot_getmissingattrs(slot, (*slot).tts_nvalid.into(), natts);
            (*slot).tts_nvalid = natts as i16;
        }
        let old = pg_sys::MemoryContextSwitchTo(values_context(slot));
        for at in valid..natts as usize {
            let shown = shown(TupleDesc::of((*slot).tts_tupleDescriptor), at);
            if shown == Shown::Text && !*(*slot).tts_isnull.add(at) {
                let value = (*slot).tts_values.add(at);
                *value = printed(*value);
            }
        }
        pg_sys::MemoryContextSwitchTo(old);
    }
}

/// # Safety
/// A slot of ours.
#[pg_guard]
unsafe extern "C-unwind" fn getsysattr(
    slot: *mut pg_sys::TupleTableSlot,
    attnum: i32,
    isnull: *mut bool,
) -> pg_sys::Datum {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        // xmin, xmax, cmin, cmax: those of a frozen tuple, or of what is going on with the row.
        let loaded = ours(slot).columnar.loaded.map(System::of_load);
        if let Some(system) = loaded.or_else(|| row_of(slot).map(Row::system_columns)) {
            // Attributes already fetched stay.
            let mut header: pg_sys::HeapTupleHeaderData = std::mem::zeroed();
            system.apply(&mut header);
            let mut tuple = pg_sys::HeapTupleData {
                t_len: std::mem::size_of_val(&header) as u32,
                t_self: (*slot).tts_tid,
                t_tableOid: (*slot).tts_tableOid,
                t_data: &mut header,
            };
            return pg_sys::heap_getsysattr(&mut tuple, attnum, (*slot).tts_tupleDescriptor, isnull);
        }
        guarded!(heap_ops().getsysattr.unwrap()(slot, attnum, isnull))
    }
}

/// Whether our own transaction made the row; foreign keys ask.
///
/// # Safety
/// A slot of ours.
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
#[pg_guard]
unsafe extern "C-unwind" fn is_current_xact_tuple(slot: *mut pg_sys::TupleTableSlot) -> bool {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        if row_of(slot).is_some() {
            materialize(slot);
        }
        #[expect(ffi_unwind_calls, reason = "there is nothing to drop")]
        heap_ops().is_current_xact_tuple.unwrap()(slot)
    }
}
/// # Safety
/// A slot of ours.
unsafe fn all_attributes(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        let natts = (*(*slot).tts_tupleDescriptor).natts;
        if i32::from((*slot).tts_nvalid) < natts {
            pg_sys::slot_getsomeattrs_int(slot, natts);
        }
    }
}

/// Forms the heap tuple of a columnar row in the current memory context.
///
/// # Safety
/// A slot of ours.
unsafe fn form(slot: *mut pg_sys::TupleTableSlot) -> pg_sys::HeapTuple {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        let desc = (*slot).tts_tupleDescriptor;
        let system = row_of(slot).map(|row| row.system_columns());
        all_attributes(slot);
        let tuple = pg_sys::heap_form_tuple(desc, (*slot).tts_values, (*slot).tts_isnull);
        (*tuple).t_self = (*slot).tts_tid;
        (*tuple).t_tableOid = (*slot).tts_tableOid;
        if let Some(system) = system {
            system.apply(&mut *(*tuple).t_data);
        }
        tuple
    }
}

/// # Safety
/// A slot of ours.
#[pg_guard]
unsafe extern "C-unwind" fn materialize(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        settle(slot);
        if row_of(slot).is_none() {
            return guarded!(heap_ops().materialize.unwrap()(slot));
        }
        let old = pg_sys::MemoryContextSwitchTo((*slot).tts_mcxt);
        let tuple = form(slot);
        pg_sys::MemoryContextSwitchTo(old);
        ours(slot).columnar.empty();
        own_tuple(slot, tuple);
    }
}

/// # Safety
/// A slot of ours.
#[pg_guard]
unsafe extern "C-unwind" fn copyslot(dst: *mut pg_sys::TupleTableSlot, src: *mut pg_sys::TupleTableSlot) {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        if is_ours(Slot::of(src)) && is_copy(src) {
            // Heap's function would share the tuple, for which it counts on a pin.
            materialize(src);
        }
        if let Some(row) = columnar_row(Slot::of(src)) {
            store_columnar(Slot::of(dst), row, (*src).tts_tid, (*src).tts_tableOid);
            return;
        }
        crate::pg::executor::clear_slot(dst);
        guarded!(heap_ops().copyslot.unwrap()(dst, src));
    }
}

/// # Safety
/// A slot of ours.
#[pg_guard]
unsafe extern "C-unwind" fn get_heap_tuple(slot: *mut pg_sys::TupleTableSlot) -> pg_sys::HeapTuple {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        settle(slot);
        if row_of(slot).is_some() {
            materialize(slot);
        }
        guarded!(heap_ops().get_heap_tuple.unwrap()(slot))
    }
}

/// # Safety
/// A slot of ours.
#[pg_guard]
unsafe extern "C-unwind" fn copy_heap_tuple(slot: *mut pg_sys::TupleTableSlot) -> pg_sys::HeapTuple {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        settle(slot);
        match row_of(slot) {
            Some(_) => form(slot),
            None => guarded!(heap_ops().copy_heap_tuple.unwrap()(slot)),
        }
    }
}

/// # Safety
/// A slot of ours.
#[cfg(not(feature = "pg18"))]
#[pg_guard]
unsafe extern "C-unwind" fn copy_minimal_tuple(slot: *mut pg_sys::TupleTableSlot) -> pg_sys::MinimalTuple {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        settle(slot);
        if row_of(slot).is_none() {
            return guarded!(heap_ops().copy_minimal_tuple.unwrap()(slot));
        }
        all_attributes(slot);
        pg_sys::heap_form_minimal_tuple((*slot).tts_tupleDescriptor, (*slot).tts_values, (*slot).tts_isnull)
    }
}

/// `extra` bytes in front of the tuple are for the caller.
///
/// # Safety
/// A slot of ours.
#[cfg(feature = "pg18")]
#[pg_guard]
unsafe extern "C-unwind" fn copy_minimal_tuple(
    slot: *mut pg_sys::TupleTableSlot,
    extra: pg_sys::Size,
) -> pg_sys::MinimalTuple {
    // SAFETY: a slot of ours, which PostgreSQL keeps while it calls us.
    unsafe {
        settle(slot);
        if row_of(slot).is_none() {
            #[expect(ffi_unwind_calls, reason = "there is nothing to drop")]
            return heap_ops().copy_minimal_tuple.unwrap()(slot, extra);
        }
        all_attributes(slot);
        pg_sys::heap_form_minimal_tuple(
            (*slot).tts_tupleDescriptor,
            (*slot).tts_values,
            (*slot).tts_isnull,
            extra,
        )
    }
}
