//! A batch's rows to the groups of every grouping set.
//!
//! Where its groups by all keys are few, they are made once, and added to those of each set: then further sets cost next to
//! nothing. What depends on the order of rows, as sums of floats do, is not computed so.

use super::exchange::Exchange;
use super::rows::Inputs;
use super::sets::Grouped;
use crate::query::batch::raise::raise;
use amax_exec::{Aggregator, Rows};

/// Adds rows, here or to those they belong to.
pub fn add(
    grouped: &Grouped,
    inputs: &Inputs,
    aggregator: &mut Aggregator,
    exchange: &mut Option<Exchange>,
    rows: &Rows,
) {
    let sets = &grouped.sets;
    let is_on = exchange.as_mut().is_some_and(|exchange| exchange.is_on(aggregator));
    if !is_on && let Some(groups) = of_batch(grouped, inputs, rows) {
        sets.roll_up(&groups, aggregator).unwrap_or_else(|e| raise(e));
        if let Some(exchange) = exchange {
            exchange.aggregated(rows.len * sets.len());
        }
        return;
    }
    for set in 0..sets.len() {
        let rows = sets.rows(set, rows);
        match exchange {
            Some(exchange) => exchange.add(inputs, aggregator, &rows),
            None => inputs.add(aggregator, &rows),
        }
    }
}

/// A batch's groups by all keys, if they are worth it.
fn of_batch(grouped: &Grouped, inputs: &Inputs, rows: &Rows) -> Option<Aggregator> {
    if !grouped.tries() {
        return None;
    }
    let mut groups = inputs.aggregator_of_batch();
    inputs.add(&mut groups, rows);
    let few = grouped.are_few(groups.grouping().len(), rows.len);
    few.then_some(groups)
}
