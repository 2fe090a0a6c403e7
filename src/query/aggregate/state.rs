//! The state of an aggregate node. The two parts of a parallel aggregate have one, in the leader.

use super::exchange::Exchange;
use super::pieces::{Inbox, Outbox};
use super::private::{AggregatePlan, Part};
use super::rows::{Inputs, merge};
use crate::query::batch::Batches;
use amax_exec::{Aggregator, Rows};
use pgrx::pg_sys;

/// The node's state, begun as PostgreSQL's.
#[repr(C)]
pub struct Node {
    pub base: pg_sys::CustomScanState,
    pub plan: *mut AggregatePlan,
    pub state: *mut State,
}

pub struct State {
    pub inputs: Inputs,
    pub aggregator: Aggregator,
    /// The next group to hand out; None before the rows have been read.
    pub next: Option<usize>,
    /// Those that are handed out, if not all are.
    pub best: Option<Vec<u32>>,
    pub passes: u64,
    pub peak: usize,
    pub outbox: Outbox,
    pub inbox: Inbox,
    /// With the other processes of a parallel query.
    pub exchange: Option<Exchange>,
    /// Whether there may be one: not once distinct values take several passes.
    pub exchanges: bool,
}
/// # Safety
/// A node of ours, begun and not ended.
pub unsafe fn of<'a>(node: *mut pg_sys::CustomScanState) -> &'a mut State {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe { &mut *(*(node as *mut Node)).state }
}

/// What its plan says.
///
/// # Safety
/// A node of ours, begun and not ended.
pub unsafe fn plan(node: *mut pg_sys::CustomScanState) -> AggregatePlan {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe { *(*(node as *mut Node)).plan }
}
/// # Safety
/// A node of ours, begun and not ended.
pub unsafe fn part(node: *mut pg_sys::CustomScanState) -> Part {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe { plan(node).part }
}

impl State {
    /// Adds the next unit of rows of what hands up batches; false at its end.
    pub fn next_unit(&mut self, input: &mut dyn Batches) -> bool {
        let (inputs, aggregator) = (&self.inputs, &mut self.aggregator);
        let mut add = |rows: &Rows| match &mut self.exchange {
            Some(exchange) => exchange.add(inputs, aggregator, rows),
            None => inputs.add(aggregator, rows),
        };
        let found = inputs.next_unit(input, &mut add);
        self.peak = self.peak.max(self.aggregator.bytes_used());
        found
    }

    /// Adds groups that a worker has sent.
    pub fn merge(&mut self, bytes: &[u8]) {
        merge(&mut self.aggregator, bytes);
        self.peak = self.peak.max(self.aggregator.bytes_used());
    }
}
