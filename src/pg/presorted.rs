//! A sample's values in their order, which we find faster than compute_stats does: it sees that they are sorted. Texts become numbers, so that those that
//! are the same are compared once by their collation.

use super::datum::varlena;
use super::lookup::{compare_text, held, is_deterministic, order};
use super::sampled::{Typed, Values};
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
    /// What the numbers are, and bytes of one on average.
    texts: Option<(Vec<pg_sys::Datum>, i32)>,
}

impl Presorted {
    /// None of types that it does not know, and of texts that mostly differ.
    pub fn new(of: Typed, sample: &Values) -> Option<Presorted> {
        let all = sample.values.iter().zip(&sample.nulls);
        let values: Vec<pg_sys::Datum> = all.filter(|(_, null)| !**null).map(|(value, _)| *value).collect();
        let (keys, of, texts) = match of.ty {
            pg_sys::TEXTOID => {
                let (ranks, texts, width) = ranks(&values, of.collation)?;
                let numbers = Typed {
                    ty: pg_sys::INT4OID,
                    typmod: -1,
                    collation: pg_sys::InvalidOid,
                };
                (ranks, numbers, Some((texts, width)))
            }
            ty => (
                values.iter().map(|value| number(ty, *value)).collect::<Option<_>>()?,
                of,
                None,
            ),
        };
        let mut rows: Vec<u32> = (0..keys.len() as u32).collect();
        rows.sort_unstable_by_key(|&row| (keys[row as usize], row));
        let value = |&row: &u32| match texts {
            Some(_) => pg_sys::Datum::from(keys[row as usize] as i32),
            None => values[row as usize],
        };
        let mut values: Vec<pg_sys::Datum> = rows.iter().map(value).collect();
        values.resize(sample.values.len(), pg_sys::Datum::null());
        Some(Presorted {
            values: Values {
                nulls: (0..values.len()).map(|at| at >= rows.len()).collect(),
                values,
                distinct: None,
            },
            of,
            correlation: correlation(&rows),
            texts,
        })
    }

    /// Makes statistics of these values those of the sample, which is of another type or order.
    pub fn restore(&self, of: Typed, made: &mut pg_sys::VacAttrStats) {
        let ([less, equal, _], held) = (order(of.ty), held(of.ty));
        made.stawidth = self.texts.as_ref().map_or(made.stawidth, |texts| texts.1);
        for at in 0..pg_sys::STATISTIC_NUM_SLOTS as usize {
            let kind = made.stakind[at] as u32;
            if kind == pg_sys::STATISTIC_KIND_CORRELATION {
                // SAFETY: it has one number.
                self.correlation
                    .iter()
                    .for_each(|&found| unsafe { *made.stanumbers[at] = found });
            }
            let Some((texts, _)) = self.texts.as_ref().filter(|_| kind != 0) else {
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
                    *value = texts[(*value).value() as i32 as usize];
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
        _ => return None,
    })
}

/// Each text's number among the different ones in their order, these, and how long a text is on average. None if ANALYZE would leave some out, or
/// if most differ.
fn ranks(values: &[pg_sys::Datum], collation: pg_sys::Oid) -> Option<(Vec<i64>, Vec<pg_sys::Datum>, i32)> {
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
    if 2 * texts.len() > numbers.len() {
        return None;
    }
    let mut in_order: Vec<usize> = (0..texts.len()).collect();
    in_order.sort_unstable_by(|&one, &other| compare_text(texts[one].0, texts[other].0, collation));
    let mut ranks = vec![0; texts.len()];
    in_order
        .iter()
        .enumerate()
        .for_each(|(rank, &at)| ranks[at] = rank as i64);
    let width = (bytes / numbers.len().max(1)) as i32;
    Some((
        numbers.into_iter().map(|number| ranks[number]).collect(),
        in_order.into_iter().map(|at| texts[at].1).collect(),
        width,
    ))
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
