//! The system columns of a columnar row: who inserted it, and what its stub says.

use super::origin;
use super::row::Row;
use super::stub::{self, State};
use crate::pg::relation::Borrowed;
use crate::pg::{Relation, Tuple};
use crate::storage::rowpage;
use amax_lsm::xids::FROZEN;
use amax_lsm::{Origin, tid};
use pgrx::pg_sys;

impl Row {
    /// What xmin, xmax and the command ids of the row are.
    pub fn system_columns(&self) -> System {
        if self.is_sampled() {
            // ANALYZE copies the row and never asks.
            return System {
                inserted: Inserted::By(FROZEN),
                stub: None,
            };
        }
        let rel = Borrowed::open(self.leaf.relid);
        let (v, offset) = (tid::block(self.key()), tid::offset(self.key()));
        let stub = match stub::state(&rel, v, offset) {
            State::At { block, offset: at } => {
                stub::with_tuple(&rel, (v, offset), (block, at), |tuple, _| tuple.header().copy())
            }
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
    pub fn apply(&self, h: &mut pg_sys::HeapTupleHeaderData) {
        const XMAX_BITS: u16 = (pg_sys::HEAP_XMAX_INVALID
            | pg_sys::HEAP_XMAX_COMMITTED
            | pg_sys::HEAP_XMAX_IS_MULTI
            | pg_sys::HEAP_XMAX_LOCK_ONLY
            | pg_sys::HEAP_XMAX_KEYSHR_LOCK
            | pg_sys::HEAP_XMAX_EXCL_LOCK
            | pg_sys::HEAP_COMBOCID) as u16;
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
            // SAFETY: a tuple on a page has transaction ids here.
            let of_stub = unsafe { stub.t_choice.t_heap };
            h.t_choice.t_heap.t_xmax = of_stub.t_xmax;
            h.t_infomask = h.t_infomask & !XMAX_BITS | stub.t_infomask & XMAX_BITS;
            h.t_infomask2 |= stub.t_infomask2 & pg_sys::HEAP_KEYS_UPDATED as u16;
            if stub.t_infomask & pg_sys::HEAP_XMAX_INVALID as u16 == 0 {
                h.t_choice.t_heap.t_field3 = of_stub.t_field3;
            }
            h.t_ctid = stub.t_ctid;
        }
    }
}

/// The row, of which `tuple` was formed, as a heap tuple for a rewrite, and its state for VACUUM. Its TID is that of its stub,
/// if it has one: update chains of row pages lead on from there.
pub fn row_for_rewrite<'a>(
    rel: &Relation,
    row: Row,
    mut tuple: Tuple<'a>,
    oldest_xmin: pg_sys::TransactionId,
) -> (Tuple<'a>, pg_sys::HTSV_Result::Type) {
    use pg_sys::HTSV_Result::*;
    let (v, offset) = (tid::block(row.key()), tid::offset(row.key()));
    let mut state = origin::vacuum_state(rel, &row.origin, oldest_xmin);
    match stub::state(rel, v, offset) {
        State::None => tuple.header_mut().t_ctid = *tuple.tid(),
        State::Dead | State::Gone => state = HEAPTUPLE_DEAD,
        State::At { block, offset: at } => {
            tuple.set_tid(rowpage::new_tid(block, at));
            // The stub as it is once judged: an xmax that came to nothing is marked invalid by then. Without the mark
            // the rewrite module takes the row for updated, and drops it with its rolled-back successor.
            let judged = stub::with_tuple(rel, (v, offset), (block, at), |stub, lock| {
                (stub.fate(oldest_xmin, lock.buffer()), stub.header().copy())
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
            system.apply(tuple.header_mut());
        }
    }
    (tuple, state)
}
