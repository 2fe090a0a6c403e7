//! Aggregates that keep all values of a group: percentiles, the most frequent value, arrays and lists of them.
//!
//! Values of a group that are too many for memory go to PostgreSQL's sort, and so do those of which equal ones look different
//! (1.0 and 1.00): which of them is the result is a matter of how PostgreSQL sorts.

use crate::pg::datum::{Text, array_of};
use crate::pg::expr::{Aggref, TargetEntry};
use crate::pg::lookup::{element_type, order};
use crate::pg::report::short;
use crate::pg::sort::Sort;
use crate::pg::state::{ExprContext, PlanState, Prepared};
use crate::query::expr::datum::{self, of_scalar, type_of_node};
use crate::query::plan::collect::{Collect, Into, Sorted};
use amax_exec::{Collation, Ordered, Scalar, Type, Vector, VectorBuilder, are_equal};
use pgrx::pg_sys;
use pgrx::prelude::*;

/// Takes a value.
type Visit<'a> = dyn FnMut(Scalar<'_>) + 'a;

/// Values that wait on disk.
pub struct Waiting {
    sort: Sort,
    rows: usize,
}

impl Waiting {
    pub fn end(self) {
        self.sort.end();
    }
}

/// Such an aggregate in a query that runs.
pub struct Collecting {
    collect: Collect,
    fraction: Option<Prepared>,
    /// Of values.
    ty: Type,
    sql: pg_sys::Oid,
    collation: pg_sys::Oid,
    result: pg_sys::Oid,
}

impl Collecting {
    pub fn new(aggregate: &Aggref, parent: &PlanState) -> Option<Collecting> {
        let collect = Collect::of(aggregate)?;
        let input = aggregate.args().get(0)?.as_a::<TargetEntry>()?.expr()?;
        let fraction = aggregate.aggdirectargs().get(0);
        Some(Collecting {
            collect,
            fraction: fraction.map(|fraction| Prepared::new(fraction, Some(parent))),
            ty: type_of_node(input)?,
            sql: input.type_oid(),
            collation: input.collation(),
            result: aggregate.aggtype(),
        })
    }

    /// Whether values may wait on disk.
    pub fn may_wait(&self) -> bool {
        self.collect.is_sorted()
    }

    /// A sort, in the current memory context.
    fn sort(&self) -> Waiting {
        let [less, _, greater] = order(self.sql);
        let Sorted {
            descending,
            nulls_first,
        } = self.collect.sorted.expect("only what is sorted");
        let operator = if descending { greater } else { less };
        Waiting {
            sort: Sort::new(self.sql, operator, self.collation, nulls_first),
            rows: 0,
        }
    }

    /// Puts values with those that wait, which are in the current memory context; copies are made in the other one.
    pub fn put(&self, waiting: &mut Option<Waiting>, values: &Vector<'_>, copies: &ExprContext) {
        let waiting = waiting.get_or_insert_with(|| self.sort());
        for row in 0..values.len() {
            let value = copies.within(|| of_scalar(values.get(row), self.sql));
            waiting.sort.put(value);
            if row % 1024 == 1023 {
                copies.reset();
            }
        }
        waiting.rows += values.len();
        copies.reset();
    }

    /// The result for a group of these values, and those of it that wait: aggregate `key`, in the current memory context.
    pub fn finish(
        &self,
        values: &Vector<'_>,
        waiting: Option<Waiting>,
        key: usize,
        collation: &dyn Collation,
        econtext: &ExprContext,
    ) -> (pg_sys::Datum, bool) {
        let fraction = match self.fraction.map(|fraction| fraction.eval(econtext)) {
            Some((_, true)) => None,
            Some((value, false)) => Some(checked(f64::from_bits(value.value() as u64))),
            None => Some(0.0),
        };
        let Some(fraction) = fraction else {
            waiting.into_iter().for_each(Waiting::end);
            return (pg_sys::Datum::null(), true);
        };
        let Some(sorted) = self.collect.sorted else {
            return self.list(&mut |visit| (0..values.len()).for_each(|row| visit(values.get(row))));
        };
        if waiting.is_none()
            && let Some(mut ordered) = Ordered::new(values, key, collation)
        {
            let nulls = values.len() - ordered.len();
            return self.of_ordered(&mut ordered, nulls, sorted, fraction);
        }
        let mut waiting = waiting.unwrap_or_else(|| self.sort());
        for row in 0..values.len() {
            waiting.sort.put(of_scalar(values.get(row), self.sql));
        }
        waiting.rows += values.len();
        waiting.sort.perform();
        let result = self.of_sort(&mut waiting, fraction);
        waiting.end();
        result
    }

    fn of_ordered(
        &self,
        values: &mut Ordered<'_>,
        nulls: usize,
        sorted: Sorted,
        fraction: f64,
    ) -> (pg_sys::Datum, bool) {
        let n = values.len();
        let place = |place: usize| if sorted.descending { n - 1 - place } else { place };
        match &self.collect.into {
            Into::Nth if n > 0 => of_scalar(values.nth(place(nth(n, fraction))), self.sql),
            Into::Between if n > 0 => {
                let (first, second, share) = between(n, fraction);
                let first = float(values.nth(place(first)));
                let second = float(values.nth(place(second)));
                interpolated(first, second, share)
            }
            Into::Nth | Into::Between => (pg_sys::Datum::null(), true),
            Into::MostFrequent => of_scalar(values.most_frequent(sorted.descending), self.sql),
            _ => {
                let distinct = self.collect.distinct;
                self.list(&mut |visit| {
                    let nulls = if distinct { nulls.min(1) } else { nulls };
                    let (before, behind) = if sorted.nulls_first { (nulls, 0) } else { (0, nulls) };
                    (0..before).for_each(|_| visit(Scalar::Null));
                    values.sorted(sorted.descending, distinct).for_each(&mut *visit);
                    (0..behind).for_each(|_| visit(Scalar::Null));
                })
            }
        }
    }

    /// The next value of a sort.
    fn next(&self, sort: &mut Sort) -> Option<Vector<'static>> {
        sort.next(|value, null| {
            let mut out = VectorBuilder::new(self.ty);
            // SAFETY: a value of that type.
            unsafe { datum::push(&mut out, self.sql, value, null) };
            out.finish()
        })
    }

    fn of_sort(&self, waiting: &mut Waiting, fraction: f64) -> (pg_sys::Datum, bool) {
        let (sort, n) = (&mut waiting.sort, waiting.rows);
        let none = (pg_sys::Datum::null(), true);
        match &self.collect.into {
            Into::Nth | Into::Between if n == 0 => none,
            Into::Nth => {
                sort.skip(nth(n, fraction));
                self.next(sort).map_or(none, |value| of_scalar(value.get(0), self.sql))
            }
            Into::Between => {
                let (first, second, share) = between(n, fraction);
                sort.skip(first);
                let mut next = || float(self.next(sort).expect("as many as were put there").get(0));
                let value = next();
                interpolated(value, if second > first { next() } else { value }, share)
            }
            Into::MostFrequent => {
                let (mut best, mut most) = (None, 0);
                let (mut last, mut count): (Option<Vector<'_>>, usize) = (None, 0);
                while let Some(value) = self.next(sort) {
                    match &last {
                        Some(last) if are_equal(last.get(0), value.get(0)) => count += 1,
                        _ => (last, count) = (Some(value), 1),
                    }
                    // The first of those that are equal.
                    if count > most {
                        most = count;
                        best.clone_from(&last);
                    }
                }
                best.map_or(none, |value| of_scalar(value.get(0), self.sql))
            }
            _ => {
                let distinct = self.collect.distinct;
                self.list(&mut |visit| {
                    let mut last: Option<Vector<'_>> = None;
                    while let Some(value) = self.next(sort) {
                        let known = last.as_ref().is_some_and(|last| are_equal(last.get(0), value.get(0)));
                        if !distinct || !known {
                            visit(value.get(0));
                            last = Some(value);
                        }
                    }
                })
            }
        }
    }

    /// An array, a text or a document of the values that `all` visits; NULL of none.
    fn list(&self, all: &mut dyn FnMut(&mut Visit<'_>)) -> (pg_sys::Datum, bool) {
        let none = (pg_sys::Datum::null(), true);
        match &self.collect.into {
            Into::Text(between) => {
                let mut text: Option<Text> = None;
                all(&mut |value| {
                    if let Scalar::Text(value) = value {
                        match &mut text {
                            Some(text) => text.append(between),
                            None => text = Some(Text::new()),
                        }
                        text.iter_mut().for_each(|text| text.append(value));
                    }
                });
                text.map_or(none, |text| (text.finish(), false))
            }
            Into::Json => {
                let mut json = amax_jsonb::Builder::new();
                let mut any = false;
                json.begin_array();
                all(&mut |value| {
                    any = true;
                    push_json(&mut json, value);
                });
                json.end_array();
                let made = json.finish().unwrap_or_else(|e| too_large(e.to_string()));
                any.then(|| datum::of_bytes(&made)).map_or(none, |value| (value, false))
            }
            _ => {
                let mut elements = Vec::new();
                all(&mut |value| elements.push(of_scalar(value, self.sql)));
                match elements.is_empty() {
                    true => none,
                    false => (array_of(element_type(self.result), &elements), false),
                }
            }
        }
    }
}

fn too_large(message: String) -> ! {
    ereport!(ERROR, PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message);
}

/// As datum_to_jsonb() of jsonb.c; what is no number in JSON is a string.
fn push_json(json: &mut amax_jsonb::Builder, value: Scalar<'_>) {
    match value {
        Scalar::Bool(value) => json.bool(value),
        Scalar::Int(value) => json.int(value),
        Scalar::Decimal { mantissa, scale } => json.decimal(mantissa, scale),
        Scalar::Numeric(payload) if datum::is_finite(payload) => json.numeric(payload),
        Scalar::Numeric(payload) => {
            let text = amax_jsonb::numeric::to_text(payload);
            json.string(text.unwrap_or_default().as_bytes());
        }
        Scalar::Text(bytes) => json.string(bytes),
        Scalar::Null | Scalar::Float(_) => json.null(),
    }
}

/// A fraction as percentiles take it (orderedsetaggs.c).
fn checked(fraction: f64) -> f64 {
    if !(0.0..=1.0).contains(&fraction) {
        let message = format!("percentile value {} is not between 0 and 1", short(fraction));
        ereport!(ERROR, PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, message);
    }
    fraction
}

/// Which of so many values percentile_disc gives.
fn nth(n: usize, fraction: f64) -> usize {
    ((fraction * n as f64).ceil() as usize).saturating_sub(1)
}

/// Between which of so many values that of percentile_cont is, and where.
fn between(n: usize, fraction: f64) -> (usize, usize, f64) {
    let place = fraction * (n - 1) as f64;
    (place.floor() as usize, place.ceil() as usize, place - place.floor())
}

fn float(value: Scalar<'_>) -> f64 {
    match value {
        Scalar::Float(value) => value,
        _ => unreachable!("values are floats"),
    }
}

/// float8_lerp(), of different values.
fn interpolated(first: f64, second: f64, share: f64) -> (pg_sys::Datum, bool) {
    let value = if share == 0.0 {
        first
    } else {
        first + share * (second - first)
    };
    (pg_sys::Datum::from(value.to_bits()), false)
}
