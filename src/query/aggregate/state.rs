//! The state of an aggregate node. The two parts of a parallel aggregate have one, in the leader.

use super::collect::Waiting;
use super::exchange::Exchange;
use super::passes::Passes;
use super::pieces::{Inbox, Outbox};
use super::roll_up;
use super::rows::{Inputs, merge};
use crate::pg::state::ExprContext;
use crate::query::batch::Batches;
use crate::query::scan::source::is_worker;
use amax_exec::{Aggregator, Rows};
use std::rc::Rc;

pub struct State {
    pub inputs: Inputs,
    pub aggregator: Aggregator,
    /// The next group to hand out; None before the rows have been read.
    pub next: Option<usize>,
    /// Those that are handed out, if not all are.
    pub best: Option<Vec<u32>>,
    pub passes: u64,
    /// If rows may lie in the order of their key.
    pub in_order: Option<Rc<Passes>>,
    pub peak: usize,
    pub outbox: Outbox,
    pub inbox: Inbox,
    /// With the other processes of a parallel query.
    pub exchange: Option<Exchange>,
    /// By aggregate the values that wait on disk, of the group that they have been taken away of.
    pub waiting: Vec<Option<Waiting>>,
    /// Whether there may be one: not once distinct values take several passes.
    pub exchanges: bool,
}

impl State {
    /// Of keys and Aggrefs over the row of what hands up batches; `lower`: for the lower part of a parallel aggregate.
    pub fn new(inputs: Inputs, lower: bool) -> State {
        let limit = match lower && is_worker() {
            true => usize::MAX,
            false => inputs.limit(),
        };
        State {
            aggregator: inputs.aggregator(limit),
            waiting: inputs.aggregates.iter().map(|_| None).collect(),
            inputs,
            next: None,
            best: None,
            passes: 0,
            in_order: None,
            peak: 0,
            outbox: Outbox::default(),
            inbox: Inbox::default(),
            exchange: None,
            exchanges: true,
        }
    }

    /// Before the rows of a pass; not in workers.
    pub fn begin_pass(&mut self) {
        self.passes += 1;
        if let Some(grouped) = &self.inputs.grouped {
            grouped.begin(&mut self.aggregator);
        }
    }

    /// Before the rows of a pass, where they may lie in order: it reads the leaves that have its groups.
    pub fn limit(&self, input: &mut dyn Batches) {
        if let Some(passes) = &self.in_order {
            passes.begin(self.aggregator.words());
            input.limit_to(Some(passes.clone()));
        }
    }

    /// Adds the next unit of rows of what hands up batches; false at its end.
    pub fn next_unit(&mut self, input: &mut dyn Batches) -> bool {
        let (inputs, aggregator) = (&self.inputs, &mut self.aggregator);
        if let Some(passes) = &self.in_order {
            aggregator.take_in_order(passes.order());
        }
        let mut add = |rows: &Rows| match (&inputs.grouped, &mut self.exchange) {
            (Some(grouped), exchange) => roll_up::add(grouped, inputs, aggregator, exchange, rows),
            (None, Some(exchange)) => exchange.add(inputs, aggregator, rows),
            (None, None) => inputs.add(aggregator, rows),
        };
        let found = inputs.next_unit(input, &mut add);
        if let Some(passes) = &self.in_order {
            passes.narrow(self.aggregator.words());
            if !found {
                let left_out = passes.left_out().into_iter();
                left_out.for_each(|(least, most)| self.aggregator.pass_over(least, most));
            }
        }
        self.peak = self.peak.max(self.aggregator.bytes_used());
        found
    }

    /// Has values wait on disk if they are too many for memory: those of a single group, that are to be sorted.
    pub fn spill(&mut self, copies: &ExprContext) {
        for (i, (aggregate, waiting)) in self.inputs.aggregates.iter().zip(&mut self.waiting).enumerate() {
            if self.aggregator.taken(i).is_none() {
                // They were of another one, which is of another pass now.
                waiting.take().into_iter().for_each(Waiting::end);
            }
            if let Some(collecting) = aggregate.collecting.as_ref().filter(|c| c.may_wait())
                && self.aggregator.is_full()
            {
                self.aggregator
                    .take_values(i, |values| collecting.put(waiting, values, copies));
            }
        }
    }

    /// Forgets those that wait.
    pub fn end_waiting(&mut self) {
        let waiting = self.waiting.iter_mut().filter_map(Option::take);
        waiting.for_each(Waiting::end);
    }

    /// Adds groups that a worker has sent.
    pub fn merge(&mut self, bytes: &[u8]) {
        merge(&mut self.aggregator, bytes);
        self.peak = self.peak.max(self.aggregator.bytes_used());
    }
}
