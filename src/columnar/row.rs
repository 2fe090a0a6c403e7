//! A columnar row, undecoded.

use super::leaf::OpenLeaf;
use super::pages::{AtHand, Borrowed};
use super::stub::{self, State};
use super::value::to_datum;
use crate::storage::manifest::Replaced;
use crate::storage::rowpage;
use crate::types::attribute;
use amax_format::{Error, PathStep, Scalar};
use amax_lsm::xids::FROZEN;
use amax_lsm::{tid, Origin};
use pgrx::pg_sys;
use std::cell::RefCell;
use std::rc::Rc;

#[derive(Clone)]
pub struct Row {
    leaf: Rc<OpenLeaf>,
    index: u32,
    origin: Option<Origin>,
    /// Whether it was looked up by itself, not met in a scan.
    alone: bool,
}

thread_local! {
    /// Where documents are assembled.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn with_scratch<R>(f: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    SCRATCH.with(|kept| {
        // Taken: PostgreSQL may come back here.
        let mut scratch = kept.take();
        let result = f(&mut scratch);
        if scratch.capacity() <= 1 << 20 {
            kept.replace(scratch);
        }
        result
    })
}

impl Row {
    pub fn new(leaf: Rc<OpenLeaf>, index: usize, origin: Option<Origin>) -> Row {
        Row {
            leaf,
            index: index as u32,
            origin,
            alone: false,
        }
    }

    /// The same, looked up by itself: little more than what it has is decoded.
    pub fn alone(self) -> Row {
        Row {
            alone: true,
            ..self
        }
    }

    /// Whether the snapshot sees that it was inserted, as far as the leaf knows.
    pub fn is_seen_by(
        &self,
        rel: pg_sys::Relation,
        snapshot: pg_sys::Snapshot,
    ) -> Result<bool, Replaced> {
        let judge = self.leaf.judge(rel, snapshot)?;
        Ok(judge.is_none_or(|judge| judge(self.index as usize)))
    }

    pub fn key(&self) -> u64 {
        self.leaf.keys().get(self.index as usize)
    }

    /// One attribute (from 0), in the current memory context.
    pub unsafe fn attribute(&self, desc: pg_sys::TupleDesc, at: usize) -> (pg_sys::Datum, bool) {
        let att = attribute(desc, at);
        if (*att).attisdropped {
            return (pg_sys::Datum::null(), true);
        }
        if at >= self.leaf.width() {
            // Added since the leaf was written: the default that ALTER TABLE kept.
            let mut null = true;
            let value = pg_sys::getmissingattr(desc, at as i32 + 1, &mut null);
            return (value, null);
        }
        let _rel = self.alone.then(|| AtHand::open(self.leaf.relid));
        let get = |scratch: &mut Vec<u8>| {
            let column = match self.alone {
                true => self.leaf.lazy_column(at),
                false => self.leaf.column(at),
            };
            let value = column.get(self.index as usize, scratch);
            value.map(|value| to_datum(value, att))
        };
        with_scratch(|scratch| {
            let value = match get(scratch) {
                Err(Error::Replaced) => {
                    self.leaf.revive();
                    get(scratch)
                }
                value => value,
            };
            value.unwrap_or_else(|e| super::raise(e))
        })
    }

    /// Hands the value at a path of document attribute `at` (from 0) to `f`, from the columns of the path alone. None if the leaf is older
    /// than the attribute.
    pub fn path<R>(
        &self,
        at: usize,
        steps: &[PathStep],
        f: impl FnOnce(Option<Scalar>) -> R,
    ) -> Option<R> {
        (at < self.leaf.width()).then(|| {
            let row = self.index as usize;
            with_scratch(|scratch| {
                match self.leaf.lazy_path(at, steps).get(row, scratch) {
                    Ok(value) => return f(value),
                    Err(Error::Replaced) => self.leaf.revive(),
                    Err(e) => super::raise(e),
                }
                match self.leaf.lazy_path(at, steps).get(row, scratch) {
                    Ok(value) => f(value),
                    Err(e) => super::raise(e),
                }
            })
        })
    }

    /// What xmin, xmax and the command ids of the row are.
    pub fn system_columns(&self) -> System {
        let rel = Borrowed::open(self.leaf.relid);
        let (v, offset) = (tid::block(self.key()), tid::offset(self.key()));
        let stub = match stub::state(rel.0, v, offset) {
            State::At { block, offset: at } => unsafe {
                stub::with_tuple(rel.0, (v, offset), (block, at), |tuple, _, _| {
                    std::ptr::read(tuple.t_data)
                })
            },
            _ => None,
        };
        let inserted = match self.origin {
            Some(origin) => Inserted::Load(origin),
            None => Inserted::By(self.leaf.xid(self.index as usize)),
        };
        System { inserted, stub }
    }
}

pub struct System {
    inserted: Inserted,
    stub: Option<pg_sys::HeapTupleHeaderData>,
}

/// By whom a row was inserted.
enum Inserted {
    Load(Origin),
    /// By a transaction that has committed, or is frozen.
    By(u32),
}

impl System {
    /// Of a row that is being loaded.
    pub fn of_load(origin: Origin) -> System {
        System {
            inserted: Inserted::Load(origin),
            stub: None,
        }
    }

    /// Writes them to the header of a tuple formed of the row.
    pub unsafe fn apply(&self, header: pg_sys::HeapTupleHeader) {
        const XMAX_BITS: u16 = (pg_sys::HEAP_XMAX_INVALID
            | pg_sys::HEAP_XMAX_COMMITTED
            | pg_sys::HEAP_XMAX_IS_MULTI
            | pg_sys::HEAP_XMAX_LOCK_ONLY
            | pg_sys::HEAP_XMAX_KEYSHR_LOCK
            | pg_sys::HEAP_XMAX_EXCL_LOCK
            | pg_sys::HEAP_COMBOCID) as u16;
        let h = &mut *header;
        const COMMITTED: u32 = pg_sys::HEAP_XMIN_COMMITTED;
        const FROZEN_BITS: u32 = COMMITTED | pg_sys::HEAP_XMIN_INVALID;
        let (xmin, cmin, bits) = match self.inserted {
            Inserted::Load(origin) if origin.settled => (origin.xid, origin.cmin, COMMITTED),
            Inserted::Load(origin) => (origin.xid, origin.cmin, 0),
            Inserted::By(FROZEN) => (FROZEN, 0, FROZEN_BITS),
            Inserted::By(xid) => (xid, 0, COMMITTED),
        };
        h.t_choice.t_heap.t_xmin = pg_sys::TransactionId::from(xmin);
        h.t_choice.t_heap.t_field3.t_cid = cmin;
        h.t_infomask = h.t_infomask & !(FROZEN_BITS as u16) | bits as u16;
        h.t_choice.t_heap.t_xmax = pg_sys::InvalidTransactionId;
        h.t_infomask = h.t_infomask & !XMAX_BITS | pg_sys::HEAP_XMAX_INVALID as u16;
        h.t_infomask2 &= pg_sys::HEAP_NATTS_MASK as u16;
        if let Some(stub) = &self.stub {
            h.t_choice.t_heap.t_xmax = stub.t_choice.t_heap.t_xmax;
            h.t_infomask = h.t_infomask & !XMAX_BITS | stub.t_infomask & XMAX_BITS;
            h.t_infomask2 |= stub.t_infomask2 & pg_sys::HEAP_KEYS_UPDATED as u16;
            if stub.t_infomask & pg_sys::HEAP_XMAX_INVALID as u16 == 0 {
                h.t_choice.t_heap.t_field3 = stub.t_choice.t_heap.t_field3;
            }
            h.t_ctid = stub.t_ctid;
        }
    }
}

/// The row in the slot as a heap tuple for a rewrite, and its state for VACUUM. Its TID is that of its stub, if it has one: update chains
/// of row pages lead on from there.
pub unsafe fn row_for_rewrite(
    rel: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    oldest_xmin: pg_sys::TransactionId,
) -> (pg_sys::HeapTupleData, pg_sys::HTSV_Result::Type) {
    use pg_sys::HTSV_Result::*;
    let row = crate::am::slot::columnar_row(slot)
        .expect("the slot holds a columnar row")
        .clone();
    let (v, offset) = (tid::block(row.key()), tid::offset(row.key()));
    let mut tuple = *pg_sys::ExecFetchSlotHeapTuple(slot, false, std::ptr::null_mut());
    let mut state = super::origin::vacuum_state(rel, &row.origin, oldest_xmin);
    match stub::state(rel, v, offset) {
        State::None => (*tuple.t_data).t_ctid = tuple.t_self,
        State::Dead | State::Gone => state = HEAPTUPLE_DEAD,
        State::At { block, offset: at } => {
            rowpage::set_tid(&mut tuple.t_self, block, at);
            // The stub as it is once judged: an xmax that came to nothing is marked invalid by then. Without the mark the rewrite module
            // takes the row for updated, and drops it with its rolled-back successor.
            let judged = stub::with_tuple(rel, (v, offset), (block, at), |stub, pin, _| {
                let state = pg_sys::HeapTupleSatisfiesVacuum(stub, oldest_xmin, pin.buffer());
                (state, std::ptr::read(stub.t_data))
            });
            let (of_stub, header) = match judged {
                Some((state, header)) => (state, Some(header)),
                None => (HEAPTUPLE_DEAD, None),
            };
            if state == HEAPTUPLE_LIVE || header.is_none() {
                state = of_stub;
            }
            let system = System {
                stub: header,
                ..row.system_columns()
            };
            system.apply(tuple.t_data);
        }
    }
    (tuple, state)
}
