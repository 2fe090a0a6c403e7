//! The first rows of an order: the best so many of all rows that are added, by the values of their keys. Most do not beat
//! the worst of those that are kept, as the first key alone tells.

use std::cmp::Ordering;

use crate::best::{Asked, Best};
use crate::collation::Collation;
use crate::decimal::power;
use crate::order::{SortKey, Value};
use crate::vector::{Type, Vector};

/// The best rows so far, each with where it is.
#[derive(Debug)]
pub struct Top<P> {
    pub(crate) asked: Asked,
    pub(crate) best: Best<P>,
}

/// Rows that are kept at least before the worse ones go.
const FEWEST: usize = 64;

impl<P: Copy> Top<P> {
    /// The best `count` rows, with all that are equal to the last one if `ties`.
    pub fn new(keys: Vec<SortKey>, count: usize, ties: bool) -> Self {
        assert!(!keys.is_empty(), "without a key there is no order");
        let asked = Asked { keys, count, ties };
        Self {
            best: Best::new(&asked, FEWEST),
            asked,
        }
    }

    /// How many rows are kept.
    pub fn len(&self) -> usize {
        self.best.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.best.len() == 0
    }

    /// Where the rows are that are kept.
    pub fn places(&self) -> impl Iterator<Item = P> {
        self.best.places()
    }

    /// Adds rows, given a vector for each key; `at` says where a row is.
    pub fn add(&mut self, keys: &[Vector<'_>], rows: usize, collation: &dyn Collation, at: impl Fn(usize) -> P) {
        if self.asked.count == 0 {
            return;
        }
        // As there are no better rows than those at the end of what grows with time.
        let backward = rows > 1 && {
            let first = Value::of(&keys[0], 0);
            self.asked.keys[0]
                .place(0, &keys[0], rows - 1, &first, collation)
                .is_lt()
        };
        let mut open = self.candidates(&keys[0], rows, collation);
        if backward {
            open.reverse();
        }
        for i in open {
            let i = i as usize;
            self.best.offer(&self.asked, keys, i, collation, at(i));
        }
    }

    /// Rows that their first key does not exclude, given a vector of it; None as long as it excludes none.
    pub fn open(&self, first: &Vector<'_>, collation: &dyn Collation) -> Option<Vec<u32>> {
        (self.asked.count > 0 && self.best.last.is_some()).then(|| self.candidates(first, first.len(), collation))
    }

    /// Rows that the first key does not exclude; some that it does may be among them.
    fn candidates(&self, vector: &Vector<'_>, rows: usize, collation: &dyn Collation) -> Vec<u32> {
        let Some(last) = &self.best.last else {
            return (0..rows as u32).collect();
        };
        let (key, last) = (&self.asked.keys[0], &last[0]);
        // The same decides what equal first keys are worth.
        let equal = self.asked.ties || self.asked.keys.len() > 1;
        let keeps = |order: Ordering| order.is_lt() || equal && order.is_eq();
        if let (Type::Bool | Type::Int, Value::Word(last), None) = (vector.ty, last, &vector.valid) {
            let last = *last;
            return match (key.descending, equal) {
                (false, false) => pick(&vector.words, |word| word < last),
                (false, true) => pick(&vector.words, |word| word <= last),
                (true, false) => pick(&vector.words, |word| word > last),
                (true, true) => pick(&vector.words, |word| word >= last),
            };
        }
        if let (Type::Numeric, &Value::Small(mantissa, scale)) = (vector.ty, last) {
            let null = keeps(key.null_and_value());
            return numerics(vector, mantissa, scale, key.descending, null);
        }
        let few = vector
            .strings
            .as_ref()
            .filter(|strings| vector.ty == Type::Text && vector.dictionary && strings.len() <= vector.len());
        if let (Some(strings), Value::Text(last)) = (few, last) {
            let by_code: Vec<bool> = (0..strings.len())
                .map(|code| keeps(key.directed(collation.compare(0, strings.get(code), last))))
                .collect();
            let null = keeps(key.null_and_value());
            return (0..rows as u32)
                .filter(|&i| match vector.is_valid(i as usize) {
                    true => by_code[vector.words[i as usize] as usize],
                    false => null,
                })
                .collect();
        }
        (0..rows as u32)
            .filter(|&i| keeps(key.place(0, vector, i as usize, last, collation)))
            .collect()
    }

    /// Where the best rows are, in no order.
    pub fn finish(mut self, collation: &dyn Collation) -> Vec<P> {
        self.best.prune(&self.asked, collation);
        self.places().collect()
    }
}

/// Rows whose numeric may come before `mantissa` / 10^`scale`, or be equal, or cannot be told; NULLs if `null`. Columns of
/// numerics have one scale for most of their rows: then comparing words is enough.
fn numerics(vector: &Vector<'_>, mantissa: i64, scale: u16, descending: bool, null: bool) -> Vec<u32> {
    /// Scales beyond which rows are not told apart.
    const MOST: usize = 32;
    // The last word of each scale that is kept: the least where the order is descending.
    let bounds: [Option<i64>; MOST] = std::array::from_fn(|of| rescaled(mantissa, scale, of as u16, !descending));
    let keeps = |word: i64, of: u16| match bounds.get(usize::from(of)) {
        Some(&Some(bound)) if descending => word >= bound,
        Some(&Some(bound)) => word <= bound,
        _ => true,
    };
    let words = &*vector.words;
    let scales = vector.scales.as_deref();
    let first = scales.and_then(|scales| scales.first()).copied().unwrap_or(0);
    let of_one_scale = scales.is_none_or(|scales| scales.iter().fold(0, |other, &of| other | of ^ first) == 0);
    let bound = bounds.get(usize::from(first)).copied().flatten();
    match (&vector.valid, bound) {
        (None, Some(bound)) if of_one_scale && descending => pick(words, |word| word >= bound),
        (None, Some(bound)) if of_one_scale => pick(words, |word| word <= bound),
        _ => (0..words.len())
            .filter(|&i| match vector.is_valid(i) {
                true => keeps(words[i], vector.scale(i)),
                false => null,
            })
            .map(|i| i as u32)
            .collect(),
    }
}

/// `mantissa` / 10^`from` as a mantissa of another scale, rounded up or down; None if it does not fit.
fn rescaled(mantissa: i64, from: u16, to: u16, up: bool) -> Option<i64> {
    let power = power(u32::from(from.abs_diff(to)))?;
    let mantissa = i128::from(mantissa);
    let found = match (to >= from, up) {
        (true, _) => mantissa.checked_mul(power)?,
        (false, false) => mantissa.div_euclid(power),
        (false, true) => -(-mantissa).div_euclid(power),
    };
    i64::try_from(found).ok()
}

/// Rows whose word is wanted, without a branch.
fn pick(words: &[i64], wanted: impl Fn(i64) -> bool) -> Vec<u32> {
    let mut picked = vec![0; words.len()];
    let mut n = 0;
    for (i, &word) in words.iter().enumerate() {
        picked[n] = i as u32;
        n += usize::from(wanted(word));
    }
    picked.truncate(n);
    picked
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::builder::VectorBuilder;
    use crate::collation::Bytewise;
    use crate::vector::Scalar;

    pub(crate) fn key(ty: Type, descending: bool, nulls_first: bool) -> SortKey {
        SortKey {
            ty,
            descending,
            nulls_first,
        }
    }

    pub(crate) fn vector(ty: Type, values: &[Scalar<'_>]) -> Vector<'static> {
        let mut out = VectorBuilder::new(ty);
        for value in values {
            match *value {
                Scalar::Null => out.push_null(),
                Scalar::Bool(value) => out.push_word(value.into()),
                Scalar::Int(value) => out.push_word(value),
                Scalar::Float(value) => out.push_word(value.to_bits() as i64),
                Scalar::Text(value) => out.push_text(value),
                Scalar::Numeric(value) => out.push_numeric(value),
                Scalar::Decimal { mantissa, scale } => {
                    let mut payload = Vec::new();
                    amax_jsonb::numeric::encode_decimal(mantissa, scale, &mut payload).expect("small");
                    out.push_numeric(&payload);
                }
            }
        }
        out.finish()
    }

    /// The best rows of vectors added in pieces, in the order of their numbers.
    fn best(keys: &[SortKey], count: usize, ties: bool, vectors: &[Vector<'_>], piece: usize) -> Vec<usize> {
        let mut top = Top::new(keys.to_vec(), count, ties);
        let rows = vectors[0].len();
        let mut from = 0;
        while from < rows {
            let places: Vec<u32> = (from..rows.min(from + piece)).map(|i| i as u32).collect();
            let pieces: Vec<Vector<'_>> = vectors.iter().map(|vector| vector.pick(&places)).collect();
            top.add(&pieces, places.len(), &Bytewise, |i| from + i);
            from += piece;
        }
        let mut found = top.finish(&Bytewise);
        found.sort_unstable();
        found
    }

    fn compare(keys: &[SortKey], a: &[Value], b: &[Value]) -> Ordering {
        let asked = Asked {
            keys: keys.to_vec(),
            count: 0,
            ties: false,
        };
        asked.compare(a, b, &Bytewise)
    }

    /// The keys of the best rows, by sorting all.
    fn sorted(keys: &[SortKey], vectors: &[Vector<'_>], count: usize, ties: bool) -> Vec<Vec<Value>> {
        let row = |i: usize| -> Vec<Value> { vectors.iter().map(|v| Value::of(v, i)).collect() };
        let mut all: Vec<Vec<Value>> = (0..vectors[0].len()).map(row).collect();
        let compare = |a: &Vec<Value>, b: &Vec<Value>| compare(keys, a, b);
        all.sort_by(compare);
        let last = all.get(count.wrapping_sub(1)).cloned();
        let mut n = 0;
        all.retain(|row| {
            n += 1;
            n <= count || ties && last.as_ref().is_some_and(|last| compare(row, last).is_eq())
        });
        all
    }

    fn check(keys: &[SortKey], vectors: &[Vector<'_>]) {
        for count in [0, 1, 3, 10, 70, 1000] {
            for ties in [false, true] {
                for piece in [1, 7, 1000] {
                    let found = best(keys, count, ties, vectors, piece);
                    let mut found: Vec<Vec<Value>> = found
                        .into_iter()
                        .map(|i| vectors.iter().map(|v| Value::of(v, i)).collect())
                        .collect();
                    found.sort_by(|a, b| compare(keys, a, b));
                    let wanted = sorted(keys, vectors, count, ties);
                    assert_eq!(found.len(), wanted.len(), "{keys:?} {count} {ties} {piece}");
                    for (found, wanted) in found.iter().zip(&wanted) {
                        let order = compare(keys, found, wanted);
                        assert_eq!(order, Ordering::Equal, "{keys:?} {count} {ties} {piece}");
                    }
                }
            }
        }
    }

    pub(crate) const FLOATS: [f64; 8] = [
        0.0,
        -0.0,
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1.5,
        -1.5,
    ];

    /// Numbers that look random.
    pub(crate) fn numbers(n: usize, below: i64) -> Vec<i64> {
        let mut state = 88_172_645_463_325_252_u64;
        (0..n)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 1) as i64 % below
            })
            .collect()
    }

    pub(crate) fn all_keys(ty: Type) -> impl Iterator<Item = SortKey> {
        let both = [false, true];
        both.into_iter().flat_map(move |descending| {
            both.into_iter()
                .map(move |nulls_first| key(ty, descending, nulls_first))
        })
    }

    #[test]
    fn words_with_nulls() {
        let values: Vec<Scalar<'_>> = numbers(300, 40)
            .into_iter()
            .map(|n| if n % 7 == 0 { Scalar::Null } else { Scalar::Int(n) })
            .collect();
        let alone: Vec<Scalar<'_>> = (0..300).map(Scalar::Int).collect();
        for key in all_keys(Type::Int) {
            check(&[key], &[vector(Type::Int, &values)]);
            check(&[key], &[vector(Type::Int, &alone)]);
            check(&[key, key], &[vector(Type::Int, &values), vector(Type::Int, &alone)]);
        }
    }

    #[test]
    fn floats_and_texts() {
        let texts = ["", "a", "ab", "b", "B", "ä"];
        let picks = numbers(200, 1000);
        let floats: Vec<Scalar<'_>> = picks.iter().map(|&n| Scalar::Float(FLOATS[n as usize % 8])).collect();
        let texts: Vec<Scalar<'_>> = picks
            .iter()
            .map(|&n| match n % 9 {
                0 => Scalar::Null,
                _ => Scalar::Text(texts[n as usize % 6].as_bytes()),
            })
            .collect();
        for key in all_keys(Type::Text) {
            let float = SortKey { ty: Type::Float, ..key };
            let vectors = [vector(Type::Text, &texts), vector(Type::Float, &floats)];
            check(&[key, float], &vectors);
            check(&[float], &vectors[1..]);
            check(&[key], &vectors[..1]);
        }
        let codes: Vec<i64> = picks.iter().map(|&n| n % 3).collect();
        let strings = ["b", "", "c"].into_iter().collect();
        let dictionary = Vector::of_codes(codes, strings);
        for key in all_keys(Type::Text) {
            check(&[key], std::slice::from_ref(&dictionary));
        }
    }

    #[test]
    fn numerics_small_and_large() {
        let payload = |text: &str| amax_jsonb::numeric::from_text(text).expect("a number");
        let texts = [
            "NaN",
            "Infinity",
            "-Infinity",
            "1",
            "1.0",
            "0.1",
            "-0.1",
            "1e30",
            "-1e30",
            "1e-30",
            "99999999999999999999.5",
            "0",
        ];
        let payloads: Vec<Vec<u8>> = texts.iter().map(|text| payload(text)).collect();
        let values: Vec<Scalar<'_>> = numbers(150, 1000)
            .into_iter()
            .map(|n| Scalar::Numeric(&payloads[n as usize % payloads.len()]))
            .collect();
        for key in all_keys(Type::Numeric) {
            check(&[key], &[vector(Type::Numeric, &values)]);
        }
    }

    #[test]
    fn numerics_of_many_scales() {
        let decimals = |seed: usize, scales: u16| -> Vec<Scalar<'_>> {
            let values = numbers(400 + seed, 4_000_000);
            let mut values: Vec<Scalar<'_>> = values[seed..]
                .iter()
                .map(|&n| Scalar::Decimal {
                    mantissa: (n - 2_000_000) / 10_i64.pow(n as u32 % 6),
                    scale: if scales == 0 { 2 } else { n as u16 % scales },
                })
                .collect();
            values[7] = Scalar::Decimal {
                mantissa: i64::MAX,
                scale: 0,
            };
            values[8] = Scalar::Decimal {
                mantissa: i64::MIN,
                scale: if scales == 0 { 2 } else { 40 },
            };
            values
        };
        let mut with_nulls = decimals(3, 0);
        (0..400).step_by(9).for_each(|i| with_nulls[i] = Scalar::Null);
        for values in [decimals(0, 0), decimals(1, 5), decimals(2, 40), with_nulls] {
            let alone: Vec<Scalar<'_>> = (0..values.len() as i64).map(Scalar::Int).collect();
            for key in all_keys(Type::Numeric) {
                let int = SortKey { ty: Type::Int, ..key };
                check(&[key], &[vector(Type::Numeric, &values)]);
                check(
                    &[key, int],
                    &[vector(Type::Numeric, &values), vector(Type::Int, &alone)],
                );
            }
        }
    }

    #[test]
    fn numerics_are_rescaled() {
        for (mantissa, from, to, down, up) in [
            (12_345, 2, 2, 12_345, 12_345),
            (12_345, 2, 4, 1_234_500, 1_234_500),
            (12_345, 2, 1, 1_234, 1_235),
            (-12_345, 2, 1, -1_235, -1_234),
            (12_300, 2, 0, 123, 123),
            (-12_300, 2, 0, -123, -123),
        ] {
            assert_eq!(
                rescaled(mantissa, from, to, false),
                Some(down),
                "{mantissa} {from} {to}"
            );
            assert_eq!(rescaled(mantissa, from, to, true), Some(up), "{mantissa} {from} {to}");
        }
        assert_eq!(rescaled(i64::MAX, 0, 1, true), None);
        assert_eq!(rescaled(1, 0, u16::MAX, true), None);
    }
}
