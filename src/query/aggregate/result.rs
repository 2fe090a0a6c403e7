//! Groups as rows of the node.

use super::rows::Wanted;
use super::state::State;
use crate::pg::Slot;
use crate::query::batch::raise::raise;
use crate::query::expr::datum;
use amax_exec::Output;
use pgrx::pg_sys;

impl State {
    /// Puts a group's keys and results in a slot, in the current memory context.
    pub fn store(&self, group: usize, slot: &Slot) {
        slot.clear();
        slot.begin_row();
        let keys = self.inputs.keys.iter().enumerate().map(|(i, key)| {
            let value = self.aggregator.grouping().key(i, group);
            datum::of_scalar(value, key.sql)
        });
        let results = self.inputs.aggregates.iter().enumerate().map(|(i, aggregate)| {
            let output = self.aggregator.output(i, group).unwrap_or_else(|e| raise(e));
            finish(output, aggregate)
        });
        keys.chain(results)
            .enumerate()
            .for_each(|(at, value)| slot.set(at, value));
    }
}

/// An aggregate's result, as its final function gives it (numeric.c, int8.c, float.c).
fn finish(output: Output, aggregate: &Wanted) -> (pg_sys::Datum, bool) {
    use pg_sys::{F_AVG_INT2, F_AVG_INT4, F_AVG_INT8, F_AVG_NUMERIC, F_SUM_INT8};
    let average = matches!(aggregate.function, F_AVG_INT2 | F_AVG_INT4 | F_AVG_INT8 | F_AVG_NUMERIC);
    let value = match output {
        Output::Null => return (pg_sys::Datum::null(), true),
        Output::Count(n) => pg_sys::Datum::from(n),
        Output::Int(v) => datum::of_word(v, aggregate.result),
        Output::Bool(v) => pg_sys::Datum::from(v),
        Output::Float(v) => datum::of_word(v.to_bits() as i64, aggregate.result),
        Output::Numeric(payload) => datum::of_bytes(&payload),
        Output::Text(bytes) => datum::of_bytes(&bytes),
        Output::IntSum { sum, count } if average => divide(datum::of_integer(sum), count),
        Output::IntSum { sum, .. } if aggregate.function == F_SUM_INT8 => datum::of_integer(sum),
        // int8.c adds without a look at overflow.
        Output::IntSum { sum, .. } => pg_sys::Datum::from(sum as i64),
        Output::NumericSum { sum, count } if average && datum::is_finite(&sum) => divide(datum::of_bytes(&sum), count),
        Output::NumericSum { sum, .. } => datum::of_bytes(&sum),
        Output::Accumulated { count, sum, .. } => pg_sys::Datum::from((sum / count).to_bits()),
    };
    (value, false)
}

/// numeric_div() by a count.
fn divide(sum: pg_sys::Datum, count: i64) -> pg_sys::Datum {
    let count = datum::of_integer(i128::from(count));
    // SAFETY: two numbers.
    let quotient = unsafe { pgrx::direct_function_call_as_datum(pg_sys::numeric_div, &[Some(sum), Some(count)]) };
    quotient.expect("a quotient of numbers is a number")
}
