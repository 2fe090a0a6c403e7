//! Groups as rows of the node.

use super::rows::Wanted;
use super::state::State;
use crate::pg::Slot;
use crate::pg::state::ExprContext;
use crate::query::batch::raise::raise;
use crate::query::expr::datum;
use crate::query::plan::aggregates::{Spread, spread};
use amax_exec::{Output, Scalar};
use pgrx::{IntoDatum, pg_sys};

/// A function of PostgreSQL's, of numbers, which gives one.
macro_rules! call {
    ($function:ident($($argument:expr),*)) => {{
        let arguments = [$(Some($argument)),*];
        // SAFETY: numbers of the types that the function takes.
        let value = unsafe { pgrx::direct_function_call_as_datum(pg_sys::$function, &arguments) };
        value.expect("of numbers a number")
    }};
}

impl State {
    /// Puts a group's keys and results in a slot, in the current memory context.
    pub fn store(&mut self, group: usize, slot: &Slot, econtext: &ExprContext) {
        slot.clear();
        slot.begin_row();
        let grouped = self.inputs.grouped.as_ref();
        // After a set's number.
        let first = usize::from(grouped.is_some());
        let keys = self.inputs.keys.iter().enumerate().map(|(i, key)| {
            let value = self.aggregator.grouping().key(first + i, group);
            datum::of_scalar(value, key.sql)
        });
        let results = self.inputs.aggregates.iter().enumerate().map(|(i, aggregate)| {
            if let Some(collecting) = &aggregate.collecting {
                let taken = self.aggregator.taken(i) == Some(group as u32);
                let waiting = taken.then(|| self.waiting[i].take()).flatten();
                let values = self.aggregator.collected(i, group).expect("it keeps them");
                return collecting.finish(&values, waiting, i, &*self.inputs.collations, econtext);
            }
            let output = self.aggregator.output(i, group).unwrap_or_else(|e| raise(e));
            finish(output, aggregate)
        });
        let set = match grouped.map(|_| self.aggregator.grouping().key(0, group)) {
            Some(Scalar::Int(set)) => set as usize,
            _ => 0,
        };
        let groupings = grouped.into_iter().flat_map(|grouped| {
            let sets = &grouped.of_query;
            (0..sets.groupings.len()).map(|at| (pg_sys::Datum::from(sets.grouping(at, set)), false))
        });
        keys.chain(results)
            .chain(groupings)
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
        Output::Accumulated { count, sum, squares } => match spread(aggregate.function) {
            None => of_float(sum / count),
            Some(spread) if spread.is_unknown(count) => return (pg_sys::Datum::null(), true),
            Some(Spread { root, sample }) => {
                let variance = squares / if sample { count - 1.0 } else { count };
                of_float(if root { variance.sqrt() } else { variance })
            }
        },
        Output::Pairs(sums) => return of_pairs(aggregate.function, &sums),
        Output::Moments { count, sum, squares } => match spread(aggregate.function) {
            Some(spread) if !spread.is_unknown(count as f64) => spread.of_integers(count.into(), sum, squares),
            _ => return (pg_sys::Datum::null(), true),
        },
        Output::NumericMoments {
            count,
            special,
            sum,
            squares,
        } => match spread(aggregate.function) {
            Some(spread) if spread.is_unknown((count + special) as f64) => return (pg_sys::Datum::null(), true),
            Some(_) if special > 0 => datum::of_bytes(&amax_jsonb::numeric::nan()),
            Some(spread) => {
                let [sum, squares] = [sum, squares].map(|payload| datum::of_bytes(&payload));
                spread.of_sums(count.into(), sum, squares)
            }
            None => return (pg_sys::Datum::null(), true),
        },
    };
    (value, false)
}

/// What the final function gives for the transition values of two floats' aggregate.
fn of_pairs(function: u32, sums: &[f64; 6]) -> (pg_sys::Datum, bool) {
    use pg_sys::*;
    let sums = [sums.to_vec().into_datum()];
    macro_rules! result {
        ($($aggregate:ident => $function:ident),*) => {
            match function {
                // SAFETY: an array of six floats.
                $($aggregate => unsafe { pgrx::direct_function_call_as_datum(pg_sys::$function, &sums) },)*
                _ => None,
            }
        };
    }
    let value = result!(
        F_CORR => float8_corr, F_COVAR_POP => float8_covar_pop, F_COVAR_SAMP => float8_covar_samp, F_REGR_AVGX => float8_regr_avgx,
        F_REGR_AVGY => float8_regr_avgy, F_REGR_INTERCEPT => float8_regr_intercept, F_REGR_R2 => float8_regr_r2,
        F_REGR_SLOPE => float8_regr_slope, F_REGR_SXX => float8_regr_sxx, F_REGR_SXY => float8_regr_sxy, F_REGR_SYY => float8_regr_syy
    );
    (value.unwrap_or(Datum::null()), value.is_none())
}

fn of_float(value: f64) -> pg_sys::Datum {
    pg_sys::Datum::from(value.to_bits())
}

impl Spread {
    /// Of so few values.
    fn is_unknown(self, count: f64) -> bool {
        self.sample && count <= 1.0
    }

    /// numeric_stddev_internal() of numeric.c.
    fn of_integers(self, count: i128, sum: i128, squares: [i128; 2]) -> pg_sys::Datum {
        let [sum, upper, lower] = [sum, squares[0], squares[1]].map(datum::of_integer);
        let squares = call!(numeric_add(
            call!(numeric_mul(upper, datum::of_integer(1 << 64))),
            lower
        ));
        self.of_sums(count, sum, squares)
    }

    /// The same of numerics.
    fn of_sums(self, count: i128, sum: pg_sys::Datum, squares: pg_sys::Datum) -> pg_sys::Datum {
        let n = datum::of_integer(count);
        let difference = call!(numeric_sub(
            call!(numeric_mul(n, squares)),
            call!(numeric_mul(sum, sum))
        ));
        let zero = datum::of_integer(0);
        if call!(numeric_eq(difference, zero)).value() as u8 != 0 {
            return zero;
        }
        let divisor = count * if self.sample { count - 1 } else { count };
        let variance = call!(numeric_div(difference, datum::of_integer(divisor)));
        if !self.root {
            return variance;
        }
        // The root has as many digits as the variance; numeric_sqrt() gives as many as it is given, or more. So many
        // more that rounding twice is rounding once.
        let scale = call!(numeric_scale(variance));
        let more = pg_sys::Datum::from(scale.value() as i32 + 40);
        call!(numeric_round(
            call!(numeric_sqrt(call!(numeric_round(variance, more)))),
            scale
        ))
    }
}

/// numeric_div() by a count.
fn divide(sum: pg_sys::Datum, count: i64) -> pg_sys::Datum {
    call!(numeric_div(sum, datum::of_integer(count.into())))
}
