//! A parallel aggregate: the node in two parts, one below a Gather node and one above it.
//!
//! In the leader both parts have one state: the lower part adds the rows that the leader reads itself to the aggregator
//! that the upper part merges the workers' groups into. So it takes passes when memory gets short as without workers,
//! and without any worker it is the same. A worker has no passes: when memory gets short it sends its groups, and goes
//! on with none.
//!
//! Groups that are many, or the distinct values that are counted, are known to one process each: see
//! [`super::exchange`].

use super::exchange::Exchange;
use super::pieces::{Header, PIECE};
use super::queues::{self, SharedQueues};
use super::state::{State, of, plan};
use crate::pg::executor::{clear_slot, next_row, project};
use crate::query::batch::child::{child, input};
use crate::query::batch::raise::raise;
use crate::query::expr::datum;
use crate::query::scan::source::is_worker;
use amax_exec::By;
use pgrx::pg_sys;
use pgrx::prelude::*;
/// # Safety
/// A node of ours, begun and not ended.
pub unsafe fn explain(state: &State, es: *mut pg_sys::ExplainState) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let used: u64 = state.inbox.used.values().sum();
        if let Some(by) = state.inbox.by {
            let by = match by {
                By::Keys => c"keys",
                By::Values => c"distinct values",
            };
            pg_sys::ExplainPropertyText(c"Exchange".as_ptr(), by.as_ptr(), es);
        }
        crate::query::batch::explain::number(c"Memory Peak of Workers kB", used.div_ceil(1024), es);
        let received = state.inbox.received;
        crate::query::batch::explain::number(c"Received kB", received.div_ceil(1024), es);
    }
}

/// The next piece of the lower part's groups. In the leader pieces are empty: it returns after each unit of rows, so
/// that workers that have to send do not wait for it.
///
/// # Safety
/// A node of ours, begun and not ended.
pub unsafe fn send(node: *mut pg_sys::CustomScanState) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        crate::memory::check_for_interrupts();
        let econtext = (*node).ss.ps.ps_ExprContext;
        pg_sys::MemoryContextReset((*econtext).ecxt_per_tuple_memory);
        let piece = if is_worker() {
            next_piece(node)
        } else {
            if let Some(exchange) = &of(node).exchange {
                exchange.started();
            }
            let found = of(node).next_unit(input(node));
            if !found {
                of(node).finish();
            }
            found.then(Vec::new)
        };
        let Some(piece) = piece else {
            let result = (*node).ss.ps.ps_ResultTupleSlot;
            clear_slot(result);
            return result;
        };
        let slot = (*node).ss.ss_ScanTupleSlot;
        clear_slot(slot);
        let last = (*(*slot).tts_tupleDescriptor).natts as usize - 1;
        std::slice::from_raw_parts_mut((*slot).tts_isnull, last + 1).fill(true);
        if !piece.is_empty() {
            let old = pg_sys::MemoryContextSwitchTo((*econtext).ecxt_per_tuple_memory);
            *(*slot).tts_values.add(last) = datum::of_bytes(&piece);
            *(*slot).tts_isnull.add(last) = false;
            pg_sys::MemoryContextSwitchTo(old);
        }
        pg_sys::ExecStoreVirtualTuple(slot);
        (*econtext).ecxt_scantuple = slot;
        project(&(*node).ss.ps, slot)
    }
}
/// # Safety
/// A node of ours, begun and not ended.
unsafe fn next_piece(node: *mut pg_sys::CustomScanState) -> Option<Vec<u8>> {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let state = of(node);
        // The leader holds them twice while it merges them, as bytes and as values.
        let limit = state.inputs.limit() / 2;
        loop {
            if state.outbox.due {
                let mut row = None;
                let send = |header: Header, piece: &[u8]| row = Some([&header.write(), piece].concat());
                if state.outbox.next(PIECE, send) || state.outbox.done {
                    return row;
                }
                state.outbox.due = false;
            }
            while !state.outbox.done && state.aggregator.bytes_used() + state.outbox.bytes() <= limit {
                state.outbox.done = !state.next_unit(input(node));
            }
            if let Some(exchange) = state.exchange.as_mut().filter(|_| !state.outbox.done)
                && exchange.stay_out(&mut state.aggregator)
            {
                exchange.give_up_groups(&state.inputs, &mut state.aggregator);
                continue;
            }
            let counted = state.outbox.done && state.finish();
            if counted {
                state.keep_best(node);
            }
            state.outbox.add(&mut state.aggregator, counted);
            state.outbox.due = true;
        }
    }
}

impl State {
    /// # Safety
    /// A node of ours, begun and not ended.
    unsafe fn leave(&mut self) {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
            if let Some(exchange) = self.exchange.take() {
                self.inbox.received += exchange.received;
                self.inbox.by = exchange.by().or(self.inbox.by);
                exchange.leave();
            }
        }
    }

    /// After the last row of this process; whether nobody else knows any of its groups or values now.
    fn finish(&mut self) -> bool {
        let Some(exchange) = &mut self.exchange else {
            return false;
        };
        exchange.finish(&self.inputs, &mut self.aggregator);
        exchange.by().is_some() && !exchange.spilled
    }

    /// In a worker that has all of its groups: leaves out those that cannot be among the query's best.
    ///
    /// # Safety
    /// A node of ours, begun and not ended.
    unsafe fn keep_best(&mut self, node: *mut pg_sys::CustomScanState) {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
            let complete = self.exchange.as_ref().is_some_and(|e| e.groups_are_complete());
            let top = plan(node).top;
            let best = top.filter(|_| complete).and_then(|top| top.best(&self.aggregator));
            if let Some(best) = best {
                let mut keep = vec![false; self.aggregator.grouping().len()];
                best.into_iter().for_each(|group| keep[group as usize] = true);
                self.aggregator.retain(&keep).unwrap_or_else(|e| raise(e));
            }
        }
    }

    /// Takes a piece of a worker's groups, and merges them when it is their last.
    fn receive(&mut self, piece: &[u8]) {
        if let Some(groups) = self.inbox.take(piece) {
            self.merge(&groups);
        }
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
pub unsafe extern "C-unwind" fn estimate_dsm(
    _node: *mut pg_sys::CustomScanState,
    context: *mut pg_sys::ParallelContext,
) -> pg_sys::Size {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe { queues::size((*context).nworkers as usize) }
}

/// Of a parallel query that begins, or begins again.
///
/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
pub unsafe extern "C-unwind" fn initialize_dsm(
    node: *mut pg_sys::CustomScanState,
    context: *mut pg_sys::ParallelContext,
    coordinate: *mut std::ffi::c_void,
) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let queues_of_all = coordinate as *mut SharedQueues;
        let state = of(node);
        state.leave();
        SharedQueues::init(queues_of_all, (*context).nworkers as usize, (*node).pscan_len);
        // A leader that does not read has nobody to receive.
        if state.exchanges && pg_sys::parallel_leader_participation {
            join(node, queues_of_all, context);
        } else {
            SharedQueues::turn_off(queues_of_all);
        }
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
pub unsafe extern "C-unwind" fn initialize_worker(
    node: *mut pg_sys::CustomScanState,
    _toc: *mut pg_sys::shm_toc,
    coordinate: *mut std::ffi::c_void,
) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        join(node, coordinate as *mut SharedQueues, std::ptr::null_mut());
    }
}
/// # Safety
/// A node of ours, begun and not ended.
unsafe fn join(
    node: *mut pg_sys::CustomScanState,
    queues_of_all: *mut SharedQueues,
    leads: *mut pg_sys::ParallelContext,
) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let state = of(node);
        let old = pg_sys::MemoryContextSwitchTo((*(*node).ss.ps.state).es_query_cxt);
        state.exchange = Exchange::join(queues_of_all, leads, state.inputs.limit() / 2);
        pg_sys::MemoryContextSwitchTo(old);
    }
}

/// Before the shared memory goes.
///
/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
pub unsafe extern "C-unwind" fn shutdown(node: *mut pg_sys::CustomScanState) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        of(node).leave();
    }
}

/// Reads all that comes from the workers, and has the lower part read the leader's share.
///
/// # Safety
/// A node of ours, begun and not ended.
pub unsafe fn gather(node: *mut pg_sys::CustomScanState) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        loop {
            let slot = next_row(child(node));
            if slot.is_null() || (*slot).tts_flags & pg_sys::TTS_FLAG_EMPTY as u16 != 0 {
                return;
            }
            if (*slot).tts_nvalid < 1 {
                pg_sys::slot_getsomeattrs_int(slot, 1);
            }
            if !*(*slot).tts_isnull {
                of(node).receive(datum::varlena(*(*slot).tts_values));
            }
        }
    }
}
