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
use super::node::Aggregation;
use super::pieces::{Header, Inbox, PIECE};
use super::queues::{self, Queues};
use super::state::State;
use crate::pg::Slot;
use crate::pg::explain::ExplainState;
use crate::pg::state::CustomScanState;
use crate::query::batch::child::child;
use crate::query::batch::raise::raise;
use crate::query::expr::datum;
use crate::query::plan::node::SharedNode;
use crate::query::scan::source::is_worker;
use amax_exec::By;
use pgrx::pg_sys;
use std::ptr::NonNull;

impl Inbox {
    pub fn explain(&self, es: &ExplainState) {
        if let Some(by) = self.by {
            let by = match by {
                By::Keys => c"keys",
                By::Values => c"distinct values",
            };
            es.text(c"Exchange", by);
        }
        let used: u64 = self.used.values().sum();
        es.integer(c"Memory Peak of Workers kB", used.div_ceil(1024));
        es.integer(c"Received kB", self.received.div_ceil(1024));
    }
}

impl Aggregation {
    /// The next piece of the lower part's groups. In the leader pieces are empty: it returns after each unit of rows, so
    /// that workers that have to send do not wait for it.
    pub(super) fn send(&mut self, node: &'static CustomScanState) -> Option<&'static Slot> {
        crate::memory::check_for_interrupts();
        node.econtext().reset();
        let piece = match is_worker() {
            true => self.next_piece(node)?,
            false => self.read_own(node).then(Vec::new)?,
        };
        let slot = node.scan_slot();
        slot.clear();
        slot.begin_row();
        let last = slot.desc().natts() - 1;
        (0..=last).for_each(|at| slot.set(at, (pg_sys::Datum::null(), true)));
        if !piece.is_empty() {
            let value = node.econtext().within(|| datum::of_bytes(&piece));
            slot.set(last, (value, false));
        }
        Some(node.project(slot))
    }

    /// The next unit of the leader's own rows; false after the last.
    fn read_own(&mut self, node: &CustomScanState) -> bool {
        if let Some(exchange) = &self.state.borrow().exchange {
            exchange.started();
        }
        let found = self.next_unit(node);
        if !found {
            self.state.borrow_mut().finish();
        }
        found
    }

    fn next_piece(&mut self, node: &CustomScanState) -> Option<Vec<u8>> {
        // Only one process is a worker: nobody else has its state.
        let state = self.state.clone();
        let state = &mut *state.borrow_mut();
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
                state.outbox.done = !state.next_unit(&mut *crate::query::batch::child::input(node));
            }
            if let Some(exchange) = state.exchange.as_mut().filter(|_| !state.outbox.done)
                && exchange.stay_out(&mut state.aggregator)
            {
                exchange.give_up_groups(&state.inputs, &mut state.aggregator);
                continue;
            }
            let counted = state.outbox.done && state.finish();
            if counted {
                self.keep_best(state);
            }
            state.outbox.add(&mut state.aggregator, counted);
            state.outbox.due = true;
        }
    }

    /// In a worker that has all of its groups: leaves out those that cannot be among the query's best.
    fn keep_best(&self, state: &mut State) {
        let complete = state.exchange.as_ref().is_some_and(|e| e.groups_are_complete());
        let best = self.plan.best.filter(|_| complete);
        if let Some(best) = best.and_then(|best| best.groups(&state.aggregator)) {
            let mut keep = vec![false; state.aggregator.grouping().len()];
            best.into_iter().for_each(|group| keep[group as usize] = true);
            state.aggregator.retain(&keep).unwrap_or_else(|e| raise(e));
        }
    }

    /// Reads all that comes from the workers, and has the lower part read the leader's share.
    pub(super) fn gather(&mut self, node: &CustomScanState) {
        while let Some(slot) = child(node).next() {
            let (value, null) = slot.value(0);
            if !null {
                // SAFETY: the lower part hands up bytes.
                let piece = unsafe { datum::varlena(value) };
                self.state.borrow_mut().receive(piece);
            }
        }
    }

    /// # Safety
    /// As of [`Queues::of`]; `leads` is the query's, or null in a worker.
    unsafe fn take_part(&self, node: &CustomScanState, leads: *mut pg_sys::ParallelContext, memory: NonNull<u8>) {
        let state = &mut *self.state.borrow_mut();
        let limit = state.inputs.limit() / 2;
        // SAFETY: as the caller promises.
        state.exchange = node
            .state()
            .within(|| unsafe { Exchange::join(Queues::of(memory), leads, limit) });
    }
}

impl State {
    fn leave(&mut self) {
        if let Some(exchange) = self.exchange.take() {
            self.inbox.received += exchange.received;
            self.inbox.by = exchange.by().or(self.inbox.by);
            exchange.leave();
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

    /// Takes a piece of a worker's groups, and merges them when it is their last.
    fn receive(&mut self, piece: &[u8]) {
        if let Some(groups) = self.inbox.take(piece) {
            self.merge(&groups);
        }
    }
}

impl SharedNode for Aggregation {
    fn shared_size(&mut self, workers: usize) -> usize {
        queues::size(workers)
    }

    unsafe fn share(
        &mut self,
        node: &CustomScanState,
        leads: *mut pg_sys::ParallelContext,
        memory: NonNull<u8>,
        _again: bool,
    ) {
        self.leave();
        // A leader that does not read has nobody to receive.
        // SAFETY: as the caller promises; a setting.
        unsafe {
            let exchanges = self.state.borrow().exchanges && pg_sys::parallel_leader_participation;
            Queues::init(memory, (*leads).nworkers as usize, node.shared_bytes(), exchanges);
            if exchanges {
                self.take_part(node, leads, memory);
            }
        }
    }

    unsafe fn join(&mut self, node: &CustomScanState, memory: NonNull<u8>) {
        // SAFETY: as the caller promises.
        unsafe { self.take_part(node, std::ptr::null_mut(), memory) }
    }

    fn leave(&mut self) {
        self.state.borrow_mut().leave();
    }
}
