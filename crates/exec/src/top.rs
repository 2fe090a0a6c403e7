//! The first rows of an order: the best so many of all rows that are added, by the values of their keys. Most do not beat
//! the worst of those that are kept, as the first key alone tells.

use std::cmp::Ordering;

use amax_format::{Bound, Zone};

use crate::best::{Asked, Best};
use crate::collation::Collation;
use crate::decimal::{Decimal, compare_small, power};
use crate::digits::{are_ordered, is_comparable, order_of_beginning};
use crate::expr::Expr;
use crate::order::{SortKey, Value, large, ordered};
use crate::vector::{Type, Vector};
use crate::zones::{Zones, alike, input_of, zone_of};

/// The best rows so far, each with where it is.
#[derive(Debug)]
pub struct Top<P> {
    asked: Asked,
    best: Best<P>,
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

    /// Whether some row may be among the best whose first key `key` is within a leaf's bounds.
    pub fn reaches(&self, key: &Expr, zones: &dyn Zones, collation: &dyn Collation) -> bool {
        let Some(last) = &self.best.last else { return true };
        let (order, last) = (&self.asked.keys[0], &last[0]);
        let equal = self.asked.ties || self.asked.keys.len() > 1;
        // Nothing comes before NULLs that come first.
        if matches!(last, Value::Null) && order.nulls_first && !equal {
            return false;
        }
        let (Some(input), Some(zone)) = (input_of(key), zone_of(key, zones)) else {
            return true;
        };
        let may_be_null = || zone.has_null || !zones.is_everywhere(input);
        // What a NULL is worth, and a value beside a NULL.
        let of_null = match last {
            Value::Null => Ordering::Equal,
            _ => order.null_and_value(),
        };
        let keeps = |order: Ordering| order.is_lt() || equal && order.is_eq();
        if keeps(of_null) && may_be_null() {
            return true;
        }
        let best = match (last, order.best_bound(&zone)) {
            (Value::Null, _) => return keeps(order.null_and_value().reverse()),
            (Value::Word(last), Bound::Int(bound)) if order.ty == Type::Float => {
                ordered((bound as f64).to_bits() as i64).cmp(last)
            }
            (Value::Word(last), Bound::Int(bound)) => bound.cmp(last),
            (Value::Word(last), Bound::Float(bound)) => ordered(bound.to_bits() as i64).cmp(last),
            (&Value::Small(mantissa, scale), Bound::Int(bound)) => compare_small(bound, 0, mantissa, scale),
            (Value::Large(last), Bound::Int(bound)) => Decimal::small(bound, 0).cmp(&large(last)),
            (Value::Text(last), Bound::Prefix(bound)) if collation.is_bytewise(0) => {
                // Equal prefixes say nothing of what follows.
                return order.directed(bound.compare(last)).is_le();
            }
            // Of digits in which texts of one form differ all collations think alike.
            (Value::Text(last), Bound::Prefix(bound)) => {
                let usual = is_comparable(last) && are_ordered(|a, b| collation.compare(0, a, b));
                let alike = alike(key, zones).filter(|_| usual);
                let apart = alike.and_then(|alike| order_of_beginning(bound.cut(alike).bytes(), last));
                return apart.is_none_or(|apart| order.directed(apart).is_lt());
            }
            _ => return true,
        };
        keeps(order.directed(best))
    }
}

impl SortKey {
    /// The bound that the best value is within.
    fn best_bound(&self, zone: &Zone) -> Bound {
        match self.descending {
            true => zone.max,
            false => zone.min,
        }
    }

    /// A number that says which leaves to read before others: those first whose bounds of the key promise the best rows.
    pub fn rank(&self, key: &Expr, zones: &dyn Zones) -> i64 {
        let (Some(input), Some(zone)) = (input_of(key), zone_of(key, zones)) else {
            return i64::MIN;
        };
        if self.nulls_first && (zone.has_null || !zones.is_everywhere(input)) {
            return i64::MIN;
        }
        let rank = match (self.best_bound(&zone), zone.times) {
            (Bound::Int(bound), _) => bound,
            (Bound::Float(bound), _) => ordered(bound.to_bits() as i64),
            // Times mostly begin alike.
            (Bound::Prefix(_), Some(times)) if self.descending => times.max,
            (Bound::Prefix(_), Some(times)) => times.min,
            (Bound::Prefix(bound), None) => {
                let first = bound.bytes().iter().chain(std::iter::repeat(&0)).take(8);
                (first.fold(0, |word, &byte| word << 8 | u64::from(byte)) ^ 1 << 63) as i64
            }
        };
        if self.descending { !rank } else { rank }
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
    use crate::operators::To;
    use crate::times::TimeType;
    use crate::vector::Scalar;
    use amax_format::{Prefix, Tag, Times, iso};

    fn key(ty: Type, descending: bool, nulls_first: bool) -> SortKey {
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

    /// Bounds of one input.
    struct Leaf(Zone, bool);

    impl Zones for Leaf {
        fn zone(&self, _input: usize) -> Option<Zone> {
            Some(self.0)
        }

        fn is_everywhere(&self, _input: usize) -> bool {
            self.1
        }
    }

    /// Whether bounds reach the best three of ten rows; alone, and beside a further key.
    fn reach(key: SortKey, values: &[Scalar<'_>], expr: &Expr, leaf: &Leaf) -> (bool, bool) {
        let [alone, beside] = [1, 2].map(|keys| {
            let mut top = Top::new(vec![key; keys], 3, false);
            assert!(top.reaches(expr, leaf, &Bytewise), "nothing has been met");
            let vector = vector(key.ty, values);
            top.add(&vec![vector; keys], values.len(), &Bytewise, |i| i);
            top.reaches(expr, leaf, &Bytewise)
        });
        (alone, beside)
    }

    #[test]
    fn bounds_that_cannot_reach() {
        let leaf = |min, max, everywhere| {
            let zone = Zone {
                tag: Tag::Int,
                has_null: false,
                min: Bound::Int(min),
                max: Bound::Int(max),
                times: None,
            };
            Leaf(zone, everywhere)
        };
        let ints: Vec<Scalar<'_>> = (10..20).map(Scalar::Int).collect();
        let floats: Vec<Scalar<'_>> = (10..20).map(|n| Scalar::Float(f64::from(n))).collect();
        let numerics: Vec<Scalar<'_>> = (10..20)
            .map(|n| Scalar::Decimal {
                mantissa: n * 10,
                scale: 1,
            })
            .collect();
        let cast = |to| Expr::Cast {
            input: 0,
            from: crate::operators::From::Text,
            to,
        };
        for (ty, values, expr) in [
            (Type::Int, &ints, Expr::Column(0, Type::Int)),
            (Type::Float, &floats, cast(To::Float)),
            (Type::Numeric, &numerics, cast(To::Numeric)),
        ] {
            for nulls_first in [false, true] {
                let (up, down) = (key(ty, false, nulls_first), key(ty, true, nulls_first));
                let reach = |key, leaf: &Leaf| reach(key, values, &expr, leaf);
                assert_eq!(reach(up, &leaf(11, 90, true)), (true, true));
                assert_eq!(reach(up, &leaf(12, 90, true)), (false, true));
                assert_eq!(reach(up, &leaf(13, 90, true)), (false, false));
                assert_eq!(reach(down, &leaf(0, 18, true)), (true, true));
                assert_eq!(reach(down, &leaf(0, 17, true)), (false, true));
                assert_eq!(reach(down, &leaf(0, 16, true)), (false, false));
                assert_eq!(reach(up, &leaf(13, 90, false)), (nulls_first, nulls_first));
                assert_eq!(reach(down, &leaf(0, 16, false)), (nulls_first, nulls_first));
                // What promises more comes first.
                let rank = |key: SortKey, leaf: &Leaf| key.rank(&expr, leaf);
                assert!(rank(up, &leaf(1, 90, true)) < rank(up, &leaf(2, 3, true)));
                assert!(rank(down, &leaf(1, 90, true)) < rank(down, &leaf(2, 3, true)));
            }
        }
        // NULLs among the best.
        let nulls = [Scalar::Null, Scalar::Null, Scalar::Int(1), Scalar::Int(2)];
        let (first, last) = (key(Type::Int, false, true), key(Type::Int, false, false));
        let expr = Expr::Column(0, Type::Int);
        let all_null = vec![Scalar::Null; 4];
        assert_eq!(reach(first, &all_null, &expr, &leaf(0, 0, true)), (false, false));
        assert_eq!(reach(first, &all_null, &expr, &leaf(0, 0, false)), (false, true));
        assert_eq!(reach(last, &all_null, &expr, &leaf(90, 90, true)), (true, true));
        assert_eq!(reach(first, &nulls, &expr, &leaf(1, 1, true)), (false, true));
        assert_eq!(reach(last, &nulls, &expr, &leaf(1, 1, true)), (true, true));
    }

    #[test]
    fn bounds_of_text_are_prefixes() {
        let texts: Vec<String> = (0..9).map(|i| format!("2024-01-0{i}")).collect();
        let texts: Vec<Scalar<'_>> = texts.iter().map(|text| Scalar::Text(text.as_bytes())).collect();
        let leaf = |min: &str, max: &str| {
            let bound = |text: &str| Bound::Prefix(Prefix::of(text.as_bytes(), text.len()));
            let zone = Zone {
                tag: Tag::String,
                has_null: false,
                min: bound(min),
                max: bound(max),
                times: None,
            };
            Leaf(zone, true)
        };
        let expr = Expr::Text(0);
        let (up, down) = (key(Type::Text, false, false), key(Type::Text, true, true));
        assert_eq!(reach(up, &texts, &expr, &leaf("2024-01-", "2025-01-")), (true, true));
        assert_eq!(reach(up, &texts, &expr, &leaf("2024-02-", "2025-01-")), (false, false));
        assert_eq!(reach(down, &texts, &expr, &leaf("2022-02-", "2024-01-")), (true, true));
        assert_eq!(
            reach(down, &texts, &expr, &leaf("2022-02-", "2023-12-")),
            (false, false)
        );
        assert_eq!(
            reach(up, &texts, &expr, &leaf("2024-01-03", "2024-02-01")),
            (false, false)
        );
        assert_eq!(
            reach(up, &texts, &expr, &leaf("2024-01-02", "2024-02-01")),
            (true, true)
        );
    }

    /// An order that is not that of bytes.
    #[derive(Debug)]
    struct Backwards;

    impl Collation for Backwards {
        fn compare(&self, _key: usize, a: &[u8], b: &[u8]) -> Ordering {
            b.cmp(a)
        }

        fn is_bytewise(&self, _key: usize) -> bool {
            false
        }
    }

    /// One that differs from that of bytes, but for digits.
    #[derive(Debug)]
    struct LowerFirst;

    impl Collation for LowerFirst {
        fn compare(&self, _key: usize, a: &[u8], b: &[u8]) -> Ordering {
            a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
        }

        fn is_bytewise(&self, _key: usize) -> bool {
            false
        }
    }

    #[test]
    fn bounds_of_times() {
        let texts: Vec<String> = (10..20).map(|i| format!("2024-01-{i}T00:00:00Z")).collect();
        let texts: Vec<Scalar<'_>> = texts.iter().map(|text| Scalar::Text(text.as_bytes())).collect();
        let leaf = |min: &str, max: &str| {
            let bound = |text: &str| Bound::Prefix(Prefix::of(text.as_bytes(), text.len()));
            let local = |text: &str| iso::IsoTime::read(text.as_bytes()).expect("a time").local();
            let times = Times {
                min: local(min),
                max: local(max),
                ahead: Some((0, 60)),
                alike: 19,
            };
            let zone = Zone {
                tag: Tag::String,
                has_null: false,
                min: bound(min),
                max: bound(max),
                times: Some(times),
            };
            Leaf(zone, true)
        };
        let near = leaf("2024-01-12T00:00:01Z", "2024-01-16T23:59:59Z");
        let expr = Expr::Text(0);
        for descending in [false, true] {
            let key = key(Type::Text, descending, false);
            let reaches = |collation: &dyn Collation, leaf: &Leaf| {
                let mut top = Top::new(vec![key], 3, false);
                top.add(&[vector(Type::Text, &texts)], texts.len(), collation, |i| i);
                top.reaches(&expr, leaf, collation)
            };
            assert!(!reaches(&Bytewise, &near));
            assert!(!reaches(&LowerFirst, &near));
            assert!(reaches(&Backwards, &near));
            assert!(reaches(
                &LowerFirst,
                &leaf("2024-01-12T00:00:00Z", "2024-01-17T00:00:00Z")
            ));
            // Later leaves come first, or earlier ones.
            let rank = |min, max| key.rank(&expr, &leaf(min, max));
            let (early, late) = (
                rank("2024-01-12T00:00:00Z", "2024-01-12T00:00:01Z"),
                rank("2024-01-12T00:00:02Z", "2024-01-12T00:00:03Z"),
            );
            assert_eq!(early < late, !descending);
        }
        // Cast, the last of the best is an instant of the 12th or the 17th; clocks may be an hour ahead.
        let cast = Expr::Time(Box::new(Expr::Text(0)), TimeType::TimestampTz);
        let instants: Vec<Scalar<'_>> = (10..20)
            .map(|day| Scalar::Int(iso::days_of(2024, 1, day) * iso::DAY))
            .collect();
        for (descending, min, max, expected) in [
            (false, "2024-01-12T01:00:00Z", "2024-01-13T00:00:00Z", false),
            (false, "2024-01-12T00:59:59Z", "2024-01-13T00:00:00Z", true),
            (true, "2024-01-12T00:00:00Z", "2024-01-17T00:00:00Z", false),
            (true, "2024-01-12T00:00:00Z", "2024-01-17T00:00:01Z", true),
        ] {
            let found = reach(key(Type::Int, descending, false), &instants, &cast, &leaf(min, max)).0;
            assert_eq!(found, expected, "{min} {max}");
        }
    }
}
