//! The slot that amax's scans fill: a buffer heap tuple slot (execTuples.c) that can also hold a columnar row, whose attributes are
//! decoded only when somebody asks for them.

use crate::columnar::{Row, System};
use crate::storage::buffer::Pin;
use amax_lsm::Origin;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::sync::OnceLock;

/// Begins as PostgreSQL's BufferHeapTupleTableSlot, so that its callbacks serve the rows of row pages.
#[repr(C)]
struct Slot {
    base: pg_sys::BufferHeapTupleTableSlot,
    columnar: Columnar,
    /// Drops that with the slot's memory context: an error releases no slots.
    on_reset: pg_sys::MemoryContextCallback,
}

struct Columnar {
    row: Option<Row>,
    /// Set when a bulk load has taken the values that are in the slot: then it is the load's row.
    loaded: Option<Origin>,
    /// Holds what by-reference attributes point to, until the slot is cleared. Made at first use.
    values: pg_sys::MemoryContext,
}

impl Columnar {
    unsafe fn let_go(&mut self) {
        self.row = None;
        self.loaded = None;
        if !self.values.is_null() {
            pg_sys::MemoryContextReset(self.values);
        }
    }
}

struct Ops(pg_sys::TupleTableSlotOps);
// SAFETY: a table of function pointers, never changed once made.
unsafe impl Sync for Ops {}
unsafe impl Send for Ops {}

static OPS: OnceLock<Ops> = OnceLock::new();

pub fn ops() -> &'static pg_sys::TupleTableSlotOps {
    &OPS.get_or_init(|| {
        let mut ops = heap_ops();
        ops.base_slot_size = std::mem::size_of::<Slot>();
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
    unsafe { pg_sys::TTSOpsBufferHeapTuple }
}

fn is_ours(slot: *mut pg_sys::TupleTableSlot) -> bool {
    std::ptr::eq(unsafe { (*slot).tts_ops }, ops())
}

unsafe fn ours<'a>(slot: *mut pg_sys::TupleTableSlot) -> &'a mut Slot {
    debug_assert!(is_ours(slot));
    &mut *(slot as *mut Slot)
}

unsafe fn row_of<'a>(slot: *mut pg_sys::TupleTableSlot) -> Option<&'a Row> {
    ours(slot).columnar.row.as_ref()
}

/// Puts a tuple of a pinned row page in the slot; `tid` is its logical TID. The slot takes a pin of its own.
pub unsafe fn store_heap(
    slot: *mut pg_sys::TupleTableSlot,
    tuple: pg_sys::HeapTupleData,
    tid: pg_sys::ItemPointerData,
    pin: &Pin,
) {
    pg_sys::IncrBufferRefCount(pin.buffer());
    store_pinned(slot, tuple, tid, pin.buffer());
}

/// The same, handing the caller's pin to the slot.
pub unsafe fn store_pinned(
    slot: *mut pg_sys::TupleTableSlot,
    tuple: pg_sys::HeapTupleData,
    tid: pg_sys::ItemPointerData,
    buffer: pg_sys::Buffer,
) {
    crate::compat::clear_slot(slot);
    let s = ours(slot);
    let header = &mut s.base.base;
    header.tupdata = tuple;
    header.tupdata.t_self = tid;
    header.tuple = &mut header.tupdata;
    header.off = 0;
    header.base.tts_flags &= !(pg_sys::TTS_FLAG_EMPTY as u16);
    header.base.tts_nvalid = 0;
    header.base.tts_tid = tid;
    header.base.tts_tableOid = tuple.t_tableOid;
    s.base.buffer = buffer;
}

/// Puts a columnar row in the slot.
pub unsafe fn store_columnar(
    slot: *mut pg_sys::TupleTableSlot,
    row: Row,
    tid: pg_sys::ItemPointerData,
    table: pg_sys::Oid,
) {
    crate::compat::clear_slot(slot);
    let s = ours(slot);
    s.columnar.row = Some(row);
    let base = &mut s.base.base.base;
    base.tts_flags &= !(pg_sys::TTS_FLAG_EMPTY as u16);
    base.tts_nvalid = 0;
    base.tts_tid = tid;
    base.tts_tableOid = table;
}

/// The pinned heap tuple in the slot, if it holds one.
pub unsafe fn heap_tuple(
    slot: *mut pg_sys::TupleTableSlot,
) -> Option<(pg_sys::HeapTuple, pg_sys::Buffer)> {
    let s = ours(slot);
    (s.columnar.row.is_none() && s.base.buffer != 0).then_some((s.base.base.tuple, s.base.buffer))
}

/// A bulk load has taken the values in a slot of any kind.
pub unsafe fn set_loaded(slot: *mut pg_sys::TupleTableSlot, by: Origin) {
    if is_ours(slot) {
        ours(slot).columnar.loaded = Some(by);
    }
}

/// The columnar row in a slot of any kind, if it holds one.
pub unsafe fn columnar_row<'a>(slot: *mut pg_sys::TupleTableSlot) -> Option<&'a Row> {
    is_ours(slot).then(|| row_of(slot)).flatten()
}

#[pg_guard]
unsafe extern "C-unwind" fn init(slot: *mut pg_sys::TupleTableSlot) {
    let s = ours(slot);
    (&raw mut s.columnar).write(Columnar {
        row: None,
        loaded: None,
        values: std::ptr::null_mut(),
    });
    s.on_reset.func = Some(drop_columnar);
    s.on_reset.arg = slot.cast();
    pg_sys::MemoryContextRegisterResetCallback((*slot).tts_mcxt, &mut s.on_reset);
}

#[pg_guard]
unsafe extern "C-unwind" fn drop_columnar(slot: *mut std::ffi::c_void) {
    std::ptr::drop_in_place(&raw mut (*(slot as *mut Slot)).columnar);
}

/// Nothing of a slot may outlive it: a check of a unique key makes one for each row.
#[pg_guard]
unsafe extern "C-unwind" fn release(slot: *mut pg_sys::TupleTableSlot) {
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

#[pg_guard]
unsafe extern "C-unwind" fn clear(slot: *mut pg_sys::TupleTableSlot) {
    ours(slot).columnar.let_go();
    heap_ops().clear.unwrap()(slot);
}

#[pg_guard]
unsafe extern "C-unwind" fn getsomeattrs(slot: *mut pg_sys::TupleTableSlot, natts: i32) {
    let Some(row) = row_of(slot) else {
        return heap_ops().getsomeattrs.unwrap()(slot, natts);
    };
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
    let old = pg_sys::MemoryContextSwitchTo(columnar.values);
    for attribute in (*slot).tts_nvalid as usize..natts as usize {
        let (value, null) = row.attribute((*slot).tts_tupleDescriptor, attribute);
        *(*slot).tts_values.add(attribute) = value;
        *(*slot).tts_isnull.add(attribute) = null;
    }
    pg_sys::MemoryContextSwitchTo(old);
    (*slot).tts_nvalid = natts as i16;
}

#[pg_guard]
unsafe extern "C-unwind" fn getsysattr(
    slot: *mut pg_sys::TupleTableSlot,
    attnum: i32,
    isnull: *mut bool,
) -> pg_sys::Datum {
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
    heap_ops().getsysattr.unwrap()(slot, attnum, isnull)
}

/// Whether our own transaction made the row; foreign keys ask.
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
#[pg_guard]
unsafe extern "C-unwind" fn is_current_xact_tuple(slot: *mut pg_sys::TupleTableSlot) -> bool {
    if row_of(slot).is_some() {
        materialize(slot);
    }
    heap_ops().is_current_xact_tuple.unwrap()(slot)
}

unsafe fn all_attributes(slot: *mut pg_sys::TupleTableSlot) {
    let natts = (*(*slot).tts_tupleDescriptor).natts;
    if i32::from((*slot).tts_nvalid) < natts {
        pg_sys::slot_getsomeattrs_int(slot, natts);
    }
}

/// Forms the heap tuple of a columnar row in the current memory context.
unsafe fn form(slot: *mut pg_sys::TupleTableSlot) -> pg_sys::HeapTuple {
    let desc = (*slot).tts_tupleDescriptor;
    let system = row_of(slot).map(|row| row.system_columns());
    all_attributes(slot);
    let tuple = pg_sys::heap_form_tuple(desc, (*slot).tts_values, (*slot).tts_isnull);
    (*tuple).t_self = (*slot).tts_tid;
    (*tuple).t_tableOid = (*slot).tts_tableOid;
    if let Some(system) = system {
        system.apply((*tuple).t_data);
    }
    tuple
}

#[pg_guard]
unsafe extern "C-unwind" fn materialize(slot: *mut pg_sys::TupleTableSlot) {
    if row_of(slot).is_none() {
        return heap_ops().materialize.unwrap()(slot);
    }
    let old = pg_sys::MemoryContextSwitchTo((*slot).tts_mcxt);
    let tuple = form(slot);
    pg_sys::MemoryContextSwitchTo(old);
    let s = ours(slot);
    s.columnar.let_go();
    s.base.base.tuple = tuple;
    s.base.base.off = 0;
    s.base.buffer = 0;
    (*slot).tts_flags |= pg_sys::TTS_FLAG_SHOULDFREE as u16;
    (*slot).tts_nvalid = 0;
}

#[pg_guard]
unsafe extern "C-unwind" fn copyslot(
    dst: *mut pg_sys::TupleTableSlot,
    src: *mut pg_sys::TupleTableSlot,
) {
    if let Some(row) = columnar_row(src) {
        store_columnar(dst, row.clone(), (*src).tts_tid, (*src).tts_tableOid);
        return;
    }
    crate::compat::clear_slot(dst);
    heap_ops().copyslot.unwrap()(dst, src);
}

#[pg_guard]
unsafe extern "C-unwind" fn get_heap_tuple(slot: *mut pg_sys::TupleTableSlot) -> pg_sys::HeapTuple {
    if row_of(slot).is_some() {
        materialize(slot);
    }
    heap_ops().get_heap_tuple.unwrap()(slot)
}

#[pg_guard]
unsafe extern "C-unwind" fn copy_heap_tuple(
    slot: *mut pg_sys::TupleTableSlot,
) -> pg_sys::HeapTuple {
    match row_of(slot) {
        Some(_) => form(slot),
        None => heap_ops().copy_heap_tuple.unwrap()(slot),
    }
}

#[cfg(not(feature = "pg18"))]
#[pg_guard]
unsafe extern "C-unwind" fn copy_minimal_tuple(
    slot: *mut pg_sys::TupleTableSlot,
) -> pg_sys::MinimalTuple {
    if row_of(slot).is_none() {
        return heap_ops().copy_minimal_tuple.unwrap()(slot);
    }
    all_attributes(slot);
    pg_sys::heap_form_minimal_tuple(
        (*slot).tts_tupleDescriptor,
        (*slot).tts_values,
        (*slot).tts_isnull,
    )
}

/// `extra` bytes in front of the tuple are for the caller.
#[cfg(feature = "pg18")]
#[pg_guard]
unsafe extern "C-unwind" fn copy_minimal_tuple(
    slot: *mut pg_sys::TupleTableSlot,
    extra: pg_sys::Size,
) -> pg_sys::MinimalTuple {
    if row_of(slot).is_none() {
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
