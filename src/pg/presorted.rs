//! A sample's values in their order, which we find faster than compute_stats does: it sees that they are sorted. Texts and numerics become numbers, so that those that
//! are the same are compared once.

use super::datum::varlena;
use super::lookup::{compare_text, held, is_bytewise, is_deterministic, order};
use super::sampled::{Typed, Values};
use amax_exec::ordered;
use amax_jsonb::numeric;
use pgrx::pg_sys;
use std::collections::HashMap;

/// Longer values ANALYZE leaves out (WIDTH_THRESHOLD of analyze.c).
pub const TOO_WIDE: usize = 1024;

pub struct Presorted {
    /// NULLs last.
    pub values: Values,
    /// Their type.
    pub of: Typed,
    correlation: Option<f32>,
    /// What the numbers stand for, and bytes of a value on average.
    ranked: Option<(Vec<pg_sys::Datum>, i32)>,
}

impl Presorted {
    /// None of types that it does not know, and of values that ANALYZE would leave out.
    pub fn new(of: Typed, sample: &Values) -> Option<Presorted> {
        let all = sample.values.iter().zip(&sample.nulls);
        let values: Vec<pg_sys::Datum> = all.filter(|(_, null)| !**null).map(|(value, _)| *value).collect();
        let ranks = match of.ty {
            pg_sys::TEXTOID => Some(Ranks::of_texts(&values, of.collation)?),
            pg_sys::NUMERICOID => Some(Ranks::of_numerics(&values)?),
            _ => None,
        };
        let rows: Vec<u32> = match &ranks {
            Some(ranks) => in_order(&ranks.of_rows, ranks.values.len()),
            None => {
                let numbers = values.iter().zip(0_u32..);
                let mut numbers: Vec<(i64, u32)> = numbers
                    .map(|(value, row)| Some((number(of.ty, *value)?, row)))
                    .collect::<Option<_>>()?;
                numbers.sort_unstable();
                numbers.into_iter().map(|(_, row)| row).collect()
            }
        };
        let value = |&row: &u32| match &ranks {
            Some(ranks) => pg_sys::Datum::from(ranks.of_rows[row as usize] as i32),
            None => values[row as usize],
        };
        let mut values: Vec<pg_sys::Datum> = rows.iter().map(value).collect();
        values.resize(sample.values.len(), pg_sys::Datum::null());
        let numbers = Typed {
            ty: pg_sys::INT4OID,
            typmod: -1,
            collation: pg_sys::InvalidOid,
        };
        Some(Presorted {
            values: Values {
                nulls: (0..values.len()).map(|at| at >= rows.len()).collect(),
                values,
                distinct: None,
            },
            of: if ranks.is_some() { numbers } else { of },
            correlation: correlation(&rows),
            ranked: ranks.map(|ranks| (ranks.values, ranks.width)),
        })
    }

    /// Makes statistics of these values those of the sample, which is of another type or order.
    pub fn restore(&self, of: Typed, made: &mut pg_sys::VacAttrStats) {
        let ([less, equal, _], held) = (order(of.ty), held(of.ty));
        made.stawidth = self.ranked.as_ref().map_or(made.stawidth, |ranked| ranked.1);
        for at in 0..pg_sys::STATISTIC_NUM_SLOTS as usize {
            let kind = made.stakind[at] as u32;
            if kind == pg_sys::STATISTIC_KIND_CORRELATION {
                // SAFETY: it has one number.
                self.correlation
                    .iter()
                    .for_each(|&found| unsafe { *made.stanumbers[at] = found });
            }
            let Some((values, _)) = self.ranked.as_ref().filter(|_| kind != 0) else {
                continue;
            };
            made.staop[at] = if kind == pg_sys::STATISTIC_KIND_MCV {
                equal
            } else {
                less
            };
            made.stacoll[at] = of.collation;
            (made.statypid[at], made.statyplen[at]) = (of.ty, held.len);
            (made.statypbyval[at], made.statypalign[at]) = (held.by_value, held.align);
            for n in 0..made.numvalues[at] as usize {
                // SAFETY: as many values, which are numbers of ours.
                unsafe {
                    let value = made.stavalues[at].add(n);
                    *value = values[(*value).value() as i32 as usize];
                }
            }
        }
    }
}

/// A value as a number that has its order.
fn number(ty: pg_sys::Oid, value: pg_sys::Datum) -> Option<i64> {
    Some(match ty {
        pg_sys::BOOLOID => i64::from(value.value() & 1 != 0),
        pg_sys::INT2OID => i64::from(value.value() as i16),
        pg_sys::INT4OID | pg_sys::DATEOID => i64::from(value.value() as i32),
        pg_sys::INT8OID | pg_sys::TIMESTAMPOID | pg_sys::TIMESTAMPTZOID => value.value() as i64,
        pg_sys::FLOAT8OID => ordered(value.value() as i64),
        _ => return None,
    })
}

/// Values as their numbers among the different ones in their order.
struct Ranks {
    of_rows: Vec<u32>,
    values: Vec<pg_sys::Datum>,
    /// Bytes of a value on average.
    width: i32,
}

impl Ranks {
    /// None if ANALYZE would leave some out.
    fn of_texts(values: &[pg_sys::Datum], collation: pg_sys::Oid) -> Option<Ranks> {
        if !is_deterministic(collation) {
            return None;
        }
        let (mut known, mut texts, mut bytes) = (HashMap::<&[u8], usize>::new(), Vec::new(), 0);
        let mut numbers = Vec::with_capacity(values.len());
        for &value in values {
            // SAFETY: a text.
            let text = unsafe { varlena(value) };
            let total = text.len() + pg_sys::VARHDRSZ;
            if total > TOO_WIDE {
                return None;
            }
            bytes += total;
            numbers.push(*known.entry(text).or_insert_with(|| {
                texts.push((text, value));
                texts.len() - 1
            }));
        }
        let mut in_order: Vec<usize> = (0..texts.len()).collect();
        in_order.sort_unstable_by_key(|&at| texts[at].0);
        if !is_bytewise(collation) {
            // Much of it is in the collation's order then, which a stable sort makes use of.
            in_order.sort_by(|&one, &other| compare_text(texts[one].0, texts[other].0, collation));
        }
        let mut ranks = vec![0; texts.len()];
        (0..).zip(&in_order).for_each(|(rank, &at)| ranks[at] = rank);
        Some(Ranks {
            of_rows: numbers.into_iter().map(|number| ranks[number]).collect(),
            values: in_order.into_iter().map(|at| texts[at].1).collect(),
            width: (bytes / values.len().max(1)) as i32,
        })
    }

    /// None if some have very many digits, or are no numbers.
    fn of_numerics(values: &[pg_sys::Datum]) -> Option<Ranks> {
        let (mut numbers, mut bytes, mut scale) = (Vec::with_capacity(values.len()), 0, 0);
        for (&value, row) in values.iter().zip(0_u32..) {
            // SAFETY: a numeric.
            let payload = unsafe { varlena(value) };
            bytes += payload.len() + pg_sys::VARHDRSZ;
            let number = numeric::reduced(payload)?;
            scale = scale.max(number.scale());
            numbers.push((number, row));
        }
        let scaled = numbers
            .into_iter()
            .map(|(number, row)| Some((number.scaled(scale)?, row)));
        let mut numbers: Vec<(i128, u32)> = scaled.collect::<Option<_>>()?;
        numbers.sort_unstable();
        let (mut of_rows, mut different) = (vec![0; values.len()], Vec::new());
        for same in numbers.chunk_by(|one, other| one.0 == other.0) {
            let rank = different.len() as u32;
            same.iter().for_each(|(_, row)| of_rows[*row as usize] = rank);
            different.push(values[same[0].1 as usize]);
        }
        Some(Ranks {
            of_rows,
            values: different,
            width: (bytes / values.len().max(1)) as i32,
        })
    }
}

/// Rows in the order of their ranks, of which there are so many; those of one as they come.
fn in_order(ranks: &[u32], different: usize) -> Vec<u32> {
    let mut next = vec![0; different + 1];
    ranks.iter().for_each(|&rank| next[rank as usize + 1] += 1);
    for rank in 0..different {
        next[rank + 1] += next[rank];
    }
    let mut rows = vec![0; ranks.len()];
    for (&rank, row) in ranks.iter().zip(0..) {
        let place: &mut usize = &mut next[rank as usize];
        rows[*place] = row;
        *place += 1;
    }
    rows
}

/// Of places in the order of values with rows (compute_scalar_stats() of analyze.c).
fn correlation(rows: &[u32]) -> Option<f32> {
    let n = rows.len() as f64;
    let products: f64 = rows
        .iter()
        .enumerate()
        .map(|(at, &row)| at as f64 * f64::from(row))
        .sum();
    let sum = (n - 1.0) * n / 2.0;
    let squares = (n - 1.0) * n * (2.0 * n - 1.0) / 6.0;
    (rows.len() > 1).then(|| ((n * products - sum * sum) / (n * squares - sum * sum)) as f32)
}
