//! The state of an aggregate node. The two parts of a parallel aggregate have one, in the leader.

use super::exchange::Exchange;
use super::pieces::{Inbox, Outbox};
use super::roll_up;
use super::rows::{Inputs, merge};
use crate::query::batch::Batches;
use crate::query::scan::source::is_worker;
use amax_exec::{Aggregator, Rows};

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

impl State {
    /// Of keys and Aggrefs over the row of what hands up batches; `lower`: for the lower part of a parallel aggregate.
    pub fn new(inputs: Inputs, lower: bool) -> State {
        let limit = match lower && is_worker() {
            true => usize::MAX,
            false => inputs.limit(),
        };
        State {
            aggregator: inputs.aggregator(limit),
            inputs,
            next: None,
            best: None,
            passes: 0,
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

    /// Adds the next unit of rows of what hands up batches; false at its end.
    pub fn next_unit(&mut self, input: &mut dyn Batches) -> bool {
        let (inputs, aggregator) = (&self.inputs, &mut self.aggregator);
        let mut add = |rows: &Rows| match (&inputs.grouped, &mut self.exchange) {
            (Some(grouped), exchange) => roll_up::add(grouped, inputs, aggregator, exchange, rows),
            (None, Some(exchange)) => exchange.add(inputs, aggregator, rows),
            (None, None) => inputs.add(aggregator, rows),
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
