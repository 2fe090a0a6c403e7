//! What an aggregate keeps of one group, and how a value changes it.

use std::cmp::Ordering;

use amax_jsonb::numeric;
use serde::{Deserialize, Serialize};

use crate::collation::{TextOrder, compare_texts};
use crate::decimal::{Decimal, NOT_A_NUMERIC, compare_small};
use crate::error::{Error, Result};
use crate::scaled::{magnitude, scale_of};
use crate::table::NONE;
use crate::vector::{LARGE, View};

/// What an aggregate function gives for a group; the caller makes it a value of the function's type.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// SQL NULL.
    Null,
    /// count, and count of distinct values.
    Count(i64),
    /// Any of [`crate::Type::Int`].
    Int(i64),
    /// bool_and, bool_or.
    Bool(bool),
    /// Any of [`crate::Type::Float`].
    Float(f64),
    /// A numeric's payload.
    Numeric(Vec<u8>),
    /// The bytes of [`crate::Type::Text`].
    Text(Vec<u8>),
    /// Of integers: sum, and avg is `sum` / `count`.
    IntSum {
        /// Exact.
        sum: i128,
        /// Values that are not NULL, at least one.
        count: i64,
    },
    /// Of integers: what variance and stddev are made of.
    Moments {
        /// Values that are not NULL, at least one.
        count: i64,
        /// Exact.
        sum: i128,
        /// The sum of their squares, exact: the first times 2^64, and the second.
        squares: [i128; 2],
    },
    /// Of numerics: sum, and avg is `sum` / `count`, or `sum` if it is NaN or infinite.
    NumericSum {
        /// Payload.
        sum: Vec<u8>,
        /// Finite values; there may be none beside NaN and infinities.
        count: i64,
    },
    /// Of numerics: what variance and stddev are made of.
    NumericMoments {
        /// Finite values.
        count: i64,
        /// NaN and infinities: with any of them the result is NaN.
        special: i64,
        /// Payload of the sum of the finite ones, if all are.
        sum: Vec<u8>,
        /// Payload of the sum of their squares.
        squares: Vec<u8>,
    },
    /// The transition values of `float8_accum`, of one value or more.
    Accumulated {
        /// Values that are not NULL.
        count: f64,
        /// Their sum.
        sum: f64,
        /// The sum of squares of their differences from the mean.
        squares: f64,
    },
    /// The transition values of `float8_regr_accum`, of one pair or more: how many, then the sums of x, of the squares of
    /// its differences from the mean, both of y, and that of the products of both differences.
    Pairs([f64; 6]),
}

/// An aggregate's state for one group, at first of no rows. `heap` counts the bytes all states have allocated.
pub(crate) trait State: Clone + Default {
    /// Adds the value of a row, which is not NULL.
    fn add(&mut self, view: &View<'_>, row: usize, heap: &mut usize) -> Result<()>;
    /// Adds the rows of a batch to the states of their groups, if there is a quicker way than row by row; a group beyond
    /// all states is none.
    fn add_all(_states: &mut [Self], _groups: &[u32], _view: &View<'_>, _heap: &mut usize) -> bool {
        false
    }
    /// Adds the rows of another state, which come after this one's.
    fn combine(&mut self, other: &Self, heap: &mut usize) -> Result<()>;
    fn output(&self) -> Result<Output>;
    fn heap_bytes(&self) -> usize {
        0
    }
    /// # Errors
    /// [`Error::Corrupt`] if adding values cannot have made it.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// Whether groups are so few beside the rows that it pays to look at each once more.
pub(crate) fn are_few(len: usize, groups: &[u32]) -> bool {
    const ROWS: usize = 4;
    len.saturating_mul(ROWS) <= groups.len()
}

/// Sums the words of each group's rows in 64 bits, and says `add` the group, the sum and how many rows have a value. False, and
/// nothing is done, if they might not fit, or if the groups are many beside the rows.
pub(crate) fn sums(len: usize, groups: &[u32], view: &View<'_>, mut add: impl FnMut(usize, i64, i64)) -> bool {
    let largest = u128::from(magnitude(view.words)) + 1;
    if !are_few(len, groups) || largest * groups.len() as u128 > i64::MAX as u128 {
        return false;
    }
    if let (Some(group), None) = (single(groups), view.valid) {
        if (group as usize) < len {
            add(group as usize, view.words.iter().sum(), groups.len() as i64);
        }
        return true;
    }
    // The last is for rows of no group.
    let mut found = vec![(0i64, 0i64); len + 1];
    let slot = |group: u32| (group as usize).min(len);
    match view.valid {
        None => {
            for (&group, &word) in groups.iter().zip(view.words) {
                let sum = &mut found[slot(group)];
                *sum = (sum.0 + word, sum.1 + 1);
            }
        }
        Some(valid) => {
            for ((&group, &word), &valid) in groups.iter().zip(view.words).zip(valid) {
                let sum = &mut found[slot(group)];
                *sum = (sum.0 + if valid { word } else { 0 }, sum.1 + i64::from(valid));
            }
        }
    }
    let found = found[..len].iter().enumerate();
    found.for_each(|(group, &(sum, count))| add(group, sum, count));
    true
}

/// The group of all rows, if they have one.
pub(crate) fn single(groups: &[u32]) -> Option<u32> {
    let (&first, rest) = groups.split_first()?;
    rest.iter().all(|&group| group == first).then_some(first)
}

/// Counts of rows, which only damaged ones exceed.
pub(crate) fn add_counts(left: i64, right: i64) -> Result<i64> {
    left.checked_add(right)
        .ok_or(Error::Corrupt("serialized aggregate has too many rows"))
}

/// count(*) and count(value).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Count(pub(crate) i64);

impl State for Count {
    #[inline]
    fn add(&mut self, _: &View<'_>, _: usize, _: &mut usize) -> Result<()> {
        self.0 += 1;
        Ok(())
    }

    fn combine(&mut self, other: &Self, _: &mut usize) -> Result<()> {
        self.0 = add_counts(self.0, other.0)?;
        Ok(())
    }

    fn output(&self) -> Result<Output> {
        Ok(Output::Count(self.0))
    }
}

/// sum and avg of integers: 2^63 of them fit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct IntSum {
    sum: i128,
    count: i64,
}

impl State for IntSum {
    #[inline]
    fn add(&mut self, view: &View<'_>, row: usize, _: &mut usize) -> Result<()> {
        self.sum += i128::from(view.words[row]);
        self.count += 1;
        Ok(())
    }

    fn add_all(states: &mut [Self], groups: &[u32], view: &View<'_>, _: &mut usize) -> bool {
        sums(states.len(), groups, view, |group, sum, count| {
            let state = &mut states[group];
            state.sum += i128::from(sum);
            state.count += count;
        })
    }

    fn combine(&mut self, other: &Self, _: &mut usize) -> Result<()> {
        self.count = add_counts(self.count, other.count)?;
        let sum = self.sum.checked_add(other.sum);
        self.sum = sum.ok_or(Error::Corrupt("serialized sum is damaged"))?;
        Ok(())
    }

    fn output(&self) -> Result<Output> {
        Ok(match *self {
            Self { count: 0, .. } => Output::Null,
            Self { sum, count } => Output::IntSum { sum, count },
        })
    }
}

/// variance and stddev of integers: 2^63 of them fit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Moments {
    sum: IntSum,
    /// Of the upper and the lower 64 bits.
    squares: [i128; 2],
}

impl State for Moments {
    #[inline]
    fn add(&mut self, view: &View<'_>, row: usize, heap: &mut usize) -> Result<()> {
        let value = i128::from(view.words[row]);
        let square = value * value;
        self.squares[0] += square >> 64;
        self.squares[1] += square & i128::from(u64::MAX);
        self.sum.add(view, row, heap)
    }

    fn combine(&mut self, other: &Self, heap: &mut usize) -> Result<()> {
        for (sum, other) in self.squares.iter_mut().zip(other.squares) {
            let both = sum.checked_add(other);
            *sum = both.ok_or(Error::Corrupt("serialized sum of squares is damaged"))?;
        }
        self.sum.combine(&other.sum, heap)
    }

    fn output(&self) -> Result<Output> {
        let (IntSum { sum, count }, squares) = (self.sum.clone(), self.squares);
        Ok(match count {
            0 => Output::Null,
            _ => Output::Moments { count, sum, squares },
        })
    }
}

#[inline]
pub(crate) fn float(view: &View<'_>, row: usize) -> f64 {
    f64::from_bits(view.words[row] as u64)
}

/// sum of float8 (`float8pl`), or of float4 (`float4pl`), which adds in single precision.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FloatSum<const SINGLE: bool>(Option<f64>);

impl<const SINGLE: bool> FloatSum<SINGLE> {
    #[inline]
    fn plus(&mut self, value: f64) -> Result<()> {
        let Some(sum) = self.0 else {
            self.0 = Some(value);
            return Ok(());
        };
        let result = if SINGLE {
            f64::from(sum as f32 + value as f32)
        } else {
            sum + value
        };
        if result.is_infinite() && !sum.is_infinite() && !value.is_infinite() {
            return Err(Error::FloatOverflow);
        }
        self.0 = Some(result);
        Ok(())
    }
}

impl<const SINGLE: bool> State for FloatSum<SINGLE> {
    #[inline]
    fn add(&mut self, view: &View<'_>, row: usize, _: &mut usize) -> Result<()> {
        self.plus(float(view, row))
    }

    fn combine(&mut self, other: &Self, _: &mut usize) -> Result<()> {
        other.0.map_or(Ok(()), |value| self.plus(value))
    }

    fn output(&self) -> Result<Output> {
        Ok(self.0.map_or(Output::Null, Output::Float))
    }
}

/// avg, variance and stddev of floats (`float8_accum`, `float8_combine`).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Accumulated {
    count: f64,
    sum: f64,
    squares: f64,
}

impl State for Accumulated {
    #[inline]
    fn add(&mut self, view: &View<'_>, row: usize, _: &mut usize) -> Result<()> {
        let value = float(view, row);
        let (old_count, old_sum) = (self.count, self.sum);
        self.count += 1.0;
        self.sum += value;
        if old_count > 0.0 {
            let difference = value * self.count - self.sum;
            self.squares += difference * difference / (self.count * old_count);
            if self.sum.is_infinite() || self.squares.is_infinite() {
                if !old_sum.is_infinite() && !value.is_infinite() {
                    return Err(Error::FloatOverflow);
                }
                self.squares = f64::NAN;
            }
        } else if !value.is_finite() {
            self.squares = f64::NAN;
        }
        Ok(())
    }

    fn combine(&mut self, other: &Self, _: &mut usize) -> Result<()> {
        if other.count == 0.0 {
            return Ok(());
        }
        if self.count == 0.0 {
            *self = other.clone();
            return Ok(());
        }
        let count = self.count + other.count;
        let sum = self.sum + other.sum;
        if sum.is_infinite() && !self.sum.is_infinite() && !other.sum.is_infinite() {
            return Err(Error::FloatOverflow);
        }
        let difference = self.sum / self.count - other.sum / other.count;
        let squares = self.squares + other.squares + self.count * other.count * difference * difference / count;
        if squares.is_infinite() && !self.squares.is_infinite() && !other.squares.is_infinite() {
            return Err(Error::FloatOverflow);
        }
        *self = Self { count, sum, squares };
        Ok(())
    }

    fn output(&self) -> Result<Output> {
        let Self { count, sum, squares } = *self;
        if count == 0.0 {
            return Ok(Output::Null);
        }
        Ok(Output::Accumulated { count, sum, squares })
    }
}

/// Whether a value takes the place of the least or greatest so far. Of equal ones the last stays, as in
/// `numeric_smaller`, `float8larger` and the like.
#[inline]
fn replaces<const GREATEST: bool>(old_to_new: Ordering) -> bool {
    old_to_new != if GREATEST { Ordering::Greater } else { Ordering::Less }
}

/// min, max, bit_and, bit_or or bit_xor of integers, by their operator: `<`, `>`, `&`, `|` or `^`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct IntFold<const OPERATOR: char>(Option<i64>);

impl<const OPERATOR: char> IntFold<OPERATOR> {
    #[inline]
    fn offer(&mut self, value: i64) {
        self.0 = Some(match (self.0, OPERATOR) {
            (None, _) => value,
            (Some(old), '<') => old.min(value),
            (Some(old), '>') => old.max(value),
            (Some(old), '&') => old & value,
            (Some(old), '|') => old | value,
            (Some(old), _) => old ^ value,
        });
    }
}

impl<const OPERATOR: char> State for IntFold<OPERATOR> {
    #[inline]
    fn add(&mut self, view: &View<'_>, row: usize, _: &mut usize) -> Result<()> {
        self.offer(view.words[row]);
        Ok(())
    }

    fn combine(&mut self, other: &Self, _: &mut usize) -> Result<()> {
        other.0.into_iter().for_each(|value| self.offer(value));
        Ok(())
    }

    fn output(&self) -> Result<Output> {
        Ok(self.0.map_or(Output::Null, Output::Int))
    }
}

/// min and max of floats; NaN is the greatest.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FloatExtreme<const GREATEST: bool>(Option<f64>);

/// `float8_cmp_internal`.
#[inline]
fn compare_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right)
        .unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

impl<const GREATEST: bool> FloatExtreme<GREATEST> {
    #[inline]
    fn offer(&mut self, value: f64) {
        if self
            .0
            .is_none_or(|old| replaces::<GREATEST>(compare_floats(old, value)))
        {
            self.0 = Some(value);
        }
    }
}

impl<const GREATEST: bool> State for FloatExtreme<GREATEST> {
    #[inline]
    fn add(&mut self, view: &View<'_>, row: usize, _: &mut usize) -> Result<()> {
        self.offer(float(view, row));
        Ok(())
    }

    fn combine(&mut self, other: &Self, _: &mut usize) -> Result<()> {
        other.0.into_iter().for_each(|value| self.offer(value));
        Ok(())
    }

    fn output(&self) -> Result<Output> {
        Ok(self.0.map_or(Output::Null, Output::Float))
    }
}

/// min and max of numerics.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) enum NumericExtreme<const GREATEST: bool> {
    #[default]
    Null,
    Small {
        mantissa: i64,
        scale: u16,
    },
    Large(Box<[u8]>),
}

impl<const GREATEST: bool> NumericExtreme<GREATEST> {
    #[inline]
    fn offer_small(&mut self, mantissa: i64, scale: u16, heap: &mut usize) -> Result<()> {
        let new = Self::Small { mantissa, scale };
        let replaced = match *self {
            Self::Null => true,
            Self::Small {
                mantissa: old,
                scale: old_scale,
            } => replaces::<GREATEST>(compare_small(old, old_scale, mantissa, scale)),
            Self::Large(_) => replaces::<GREATEST>(self.decimal()?.cmp(&new.decimal()?)),
        };
        if replaced {
            *heap -= self.heap_bytes();
            *self = new;
        }
        Ok(())
    }

    fn offer_large(&mut self, payload: &[u8], heap: &mut usize) -> Result<()> {
        let new = Decimal::of_payload(payload).ok_or(NOT_A_NUMERIC)?;
        let replaced = matches!(self, Self::Null) || replaces::<GREATEST>(self.decimal()?.cmp(&new));
        if replaced {
            *heap = *heap + payload.len() - self.heap_bytes();
            *self = Self::Large(payload.into());
        }
        Ok(())
    }

    fn decimal(&self) -> Result<Decimal<'_>> {
        match self {
            Self::Null => Ok(Decimal::NaN),
            Self::Small { mantissa, scale } => Ok(Decimal::small(*mantissa, *scale)),
            Self::Large(payload) => Decimal::of_payload(payload).ok_or(NOT_A_NUMERIC),
        }
    }
}

impl<const GREATEST: bool> State for NumericExtreme<GREATEST> {
    #[inline]
    fn add(&mut self, view: &View<'_>, row: usize, heap: &mut usize) -> Result<()> {
        match view.scale(row) {
            LARGE => self.offer_large(view.string(row), heap),
            scale => self.offer_small(view.words[row], scale, heap),
        }
    }

    fn add_all(states: &mut [Self], groups: &[u32], view: &View<'_>, heap: &mut usize) -> bool {
        let (Some(group), None, Some(scale)) = (single(groups), view.valid, scale_of(view)) else {
            return false;
        };
        let words = view.words.iter();
        let extreme = if GREATEST { words.max() } else { words.min() };
        match (states.get_mut(group as usize), extreme) {
            (Some(state), Some(&word)) => state.offer_small(word, scale, heap).is_ok(),
            _ => true,
        }
    }

    fn combine(&mut self, other: &Self, heap: &mut usize) -> Result<()> {
        match other {
            Self::Null => Ok(()),
            Self::Small { mantissa, scale } => self.offer_small(*mantissa, *scale, heap),
            Self::Large(payload) => self.offer_large(payload, heap),
        }
    }

    fn output(&self) -> Result<Output> {
        Ok(match self {
            Self::Null => Output::Null,
            Self::Small { mantissa, scale } => {
                let mut payload = Vec::with_capacity(18);
                numeric::encode_decimal(*mantissa, *scale, &mut payload).map_err(|_| NOT_A_NUMERIC)?;
                Output::Numeric(payload)
            }
            Self::Large(payload) => Output::Numeric(payload.to_vec()),
        })
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Large(payload) => payload.len(),
            _ => 0,
        }
    }

    fn check(&self) -> Result<()> {
        match self {
            Self::Small { scale, .. } if *scale > numeric::MAX_SCALE => Err(NOT_A_NUMERIC),
            _ => self.decimal().map(drop),
        }
    }
}

/// min and max of text.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct TextExtreme<const GREATEST: bool>(Option<Vec<u8>>);

impl<const GREATEST: bool> TextExtreme<GREATEST> {
    pub(crate) fn text(&self) -> Option<&[u8]> {
        self.0.as_deref()
    }

    #[inline]
    fn offer(&mut self, value: &[u8], order: Option<&TextOrder>, heap: &mut usize) {
        let old = self.0.as_deref();
        if old.is_none_or(|old| replaces::<GREATEST>(compare_texts(order, old, value))) {
            let kept = self.0.get_or_insert_default();
            let before = kept.capacity();
            kept.clear();
            kept.extend_from_slice(value);
            *heap += kept.capacity() - before;
        }
    }
}

impl<const GREATEST: bool> State for TextExtreme<GREATEST> {
    #[inline]
    fn add(&mut self, view: &View<'_>, row: usize, heap: &mut usize) -> Result<()> {
        self.offer(view.string(row), view.order, heap);
        Ok(())
    }

    /// Of few strings: each is compared once.
    fn add_all(states: &mut [Self], groups: &[u32], view: &View<'_>, heap: &mut usize) -> bool {
        let strings = view.strings();
        if !view.dictionary || strings > groups.len() || states.len() > groups.len() {
            return false;
        }
        let mut seen = vec![false; strings];
        for (&word, &group) in view.words.iter().zip(groups) {
            if group != NONE {
                seen[word as usize] = true;
            }
        }
        let mut seen: Vec<u32> = (0..strings as u32).filter(|&code| seen[code as usize]).collect();
        if let [state] = states {
            seen.iter()
                .for_each(|&code| state.offer(view.text(code as usize), view.order, heap));
            return true;
        }
        if seen.len() * seen.len().max(2).ilog2() as usize > groups.len() {
            return false;
        }
        seen.sort_unstable_by(|&a, &b| compare_texts(view.order, view.text(a as usize), view.text(b as usize)));
        if GREATEST {
            seen.reverse();
        }
        // By code its place, the best first.
        let mut places = vec![0; strings];
        (0_u32..)
            .zip(&seen)
            .for_each(|(place, &code)| places[code as usize] = place);
        let mut best = vec![u32::MAX; states.len()];
        for (&word, &group) in view.words.iter().zip(groups) {
            if let Some(best) = best.get_mut(group as usize) {
                *best = (*best).min(places[word as usize]);
            }
        }
        for (state, &place) in states.iter_mut().zip(&best) {
            if let Some(&code) = seen.get(place as usize) {
                state.offer(view.text(code as usize), view.order, heap);
            }
        }
        true
    }

    /// In the order of bytes.
    fn combine(&mut self, other: &Self, heap: &mut usize) -> Result<()> {
        other.0.iter().for_each(|value| self.offer(value, None, heap));
        Ok(())
    }

    fn output(&self) -> Result<Output> {
        Ok(self.0.clone().map_or(Output::Null, Output::Text))
    }

    fn heap_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, Vec::capacity)
    }
}

/// bool_or, or bool_and unless `OR`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct BoolFold<const OR: bool>(Option<bool>);

impl<const OR: bool> BoolFold<OR> {
    #[inline]
    fn offer(&mut self, value: bool) {
        self.0 = Some(match self.0 {
            None => value,
            Some(old) if OR => old | value,
            Some(old) => old & value,
        });
    }
}

impl<const OR: bool> State for BoolFold<OR> {
    #[inline]
    fn add(&mut self, view: &View<'_>, row: usize, _: &mut usize) -> Result<()> {
        self.offer(view.words[row] != 0);
        Ok(())
    }

    fn combine(&mut self, other: &Self, _: &mut usize) -> Result<()> {
        other.0.into_iter().for_each(|value| self.offer(value));
        Ok(())
    }

    fn output(&self) -> Result<Output> {
        Ok(self.0.map_or(Output::Null, Output::Bool))
    }
}
