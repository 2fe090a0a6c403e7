//! Exact sums of numerics, and what else numeric.c's `NumericAggState` knows of its inputs.

use amax_jsonb::numeric::{self, Digits, MAX_SCALE};
use serde::{Deserialize, Serialize};

use crate::decimal::{NOT_A_NUMERIC, power, with_digits};
use crate::error::{Error, Result};
use crate::scaled::scale_of;
use crate::state::{Output, State, add_counts, are_few, single, sums};
use crate::vector::{LARGE, View};

const NBASE: i64 = 10_000;
const DEC_DIGITS: u16 = 4;
/// A larger scale leaves an i128 too little room; such numbers go to the wide sum.
const NARROW_SCALE: u16 = 18;

/// The state of sum(numeric) and avg(numeric).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct NumericSum {
    /// Of the finite inputs that are not in `wide`: `sum` / 10^`scale`.
    sum: i128,
    scale: u16,
    /// The largest display scale of the finite inputs.
    dscale: u16,
    /// Finite inputs.
    count: i64,
    rare: Option<Box<Rare>>,
}

/// What few sums need.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Rare {
    nan: i64,
    infinity: i64,
    negative_infinity: i64,
    wide: Wide,
}

/// A sum of any size: of digit `i` * 10000^(`low` + i). Digits have a sign and carry late: an i64 has room for
/// 9 * 10^14 of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Wide {
    low: i32,
    digits: Vec<i64>,
}

impl NumericSum {
    /// Adds `mantissa` / 10^`scale`; `heap` counts the bytes states have allocated.
    #[inline]
    pub(crate) fn add_small(&mut self, mantissa: i64, scale: u16, heap: &mut usize) {
        self.count += 1;
        self.dscale = self.dscale.max(scale);
        match self.sum.checked_add(i128::from(mantissa)) {
            Some(sum) if scale == self.scale => self.sum = sum,
            // CASE … ELSE 0.
            _ if mantissa == 0 => {}
            _ => self.add_scaled(mantissa, scale, heap),
        }
    }

    /// Adds `value` / 10^`scale`.
    #[inline]
    pub(crate) fn add_wide_small(&mut self, value: i128, scale: u16, heap: &mut usize) {
        self.count += 1;
        self.dscale = self.dscale.max(scale);
        match self.sum.checked_add(value) {
            Some(sum) if scale == self.scale => self.sum = sum,
            _ if self.narrow(value, scale).is_some() => {}
            _ => self.add_to_wide(heap, |wide| wide.add_scaled(value, scale)),
        }
    }

    /// Adds a number by its digits, the least first and of power `low`, which need not have been carried.
    pub(crate) fn add_digits(&mut self, low: i32, digits: &[i64], dscale: u16, heap: &mut usize) {
        self.count += 1;
        self.dscale = self.dscale.max(dscale);
        self.add_to_wide(heap, |wide| wide.add_digits(low, digits.iter().copied()));
    }

    fn add_to_wide(&mut self, heap: &mut usize, add: impl FnOnce(&mut Wide)) {
        let wide = &mut self.rare(heap).wide;
        let before = wide.digits.capacity();
        add(wide);
        wide.carry();
        *heap += (wide.digits.capacity() - before) * 8;
    }

    /// The sum as a mantissa and a scale, or NULL; None if it is of another form.
    pub(crate) fn number(&self) -> Option<Option<(i128, u16)>> {
        if self.rare.is_some() {
            return None;
        }
        Some((self.count > 0).then_some((self.sum, self.scale)))
    }

    /// NaN and infinities.
    pub(crate) fn special(&self) -> i64 {
        self.rare.as_deref().map_or(0, Rare::special)
    }

    /// Adds `count` numbers of one scale, whose mantissas' sum is `sum`.
    fn add_many(&mut self, sum: i64, count: i64, scale: u16, heap: &mut usize) {
        if count > 0 {
            self.add_small(sum, scale, heap);
            self.count += count - 1;
        }
    }

    #[inline(never)]
    fn add_scaled(&mut self, mantissa: i64, scale: u16, heap: &mut usize) {
        if self.narrow(i128::from(mantissa), scale).is_none() {
            with_digits(mantissa, scale, |digits| self.widen(digits, heap));
        }
    }

    /// Adds `value` / 10^`scale` to `sum`; changes nothing if it does not fit.
    fn narrow(&mut self, value: i128, scale: u16) -> Option<()> {
        let target = scale.max(self.scale);
        let rescale = |value: i128, from: u16| value.checked_mul(power(u32::from(target - from))?);
        if target > NARROW_SCALE {
            return None;
        }
        self.sum = rescale(self.sum, self.scale)?.checked_add(rescale(value, scale)?)?;
        self.scale = target;
        Some(())
    }

    fn widen(&mut self, digits: &Digits<'_>, heap: &mut usize) {
        let wide = &mut self.rare(heap).wide;
        let before = wide.digits.capacity();
        wide.add(digits);
        *heap += (wide.digits.capacity() - before) * 8;
    }

    fn rare(&mut self, heap: &mut usize) -> &mut Rare {
        self.rare.get_or_insert_with(|| {
            *heap += size_of::<Rare>();
            Box::default()
        })
    }

    /// Adds the number of a payload.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is not a numeric.
    pub(crate) fn add_payload(&mut self, payload: &[u8], heap: &mut usize) -> Result<()> {
        match numeric::read(payload).ok_or(NOT_A_NUMERIC)? {
            numeric::Value::NaN => self.rare(heap).nan += 1,
            numeric::Value::Infinity { negative: false } => self.rare(heap).infinity += 1,
            numeric::Value::Infinity { negative: true } => self.rare(heap).negative_infinity += 1,
            numeric::Value::Finite(digits) => {
                self.count += 1;
                self.dscale = self.dscale.max(digits.dscale);
                self.widen(&digits, heap);
            }
        }
        Ok(())
    }

    fn add_wide(&mut self, other: &Wide, heap: &mut usize) {
        self.add_to_wide(heap, |wide| wide.add_digits(other.low, other.digits.iter().copied()));
    }

    /// The payload of the sum (`numeric_sum`).
    ///
    /// # Errors
    /// [`Error::NumericOverflow`].
    fn payload(&self) -> Result<Vec<u8>> {
        let none = Rare::default();
        let rare = self.rare.as_deref().unwrap_or(&none);
        if rare.nan > 0 || (rare.infinity > 0 && rare.negative_infinity > 0) {
            return Ok(numeric::nan().into());
        }
        if rare.infinity > 0 || rare.negative_infinity > 0 {
            return Ok(numeric::infinity(rare.negative_infinity > 0).into());
        }
        let mut sum = rare.wide.clone();
        sum.add_scaled(self.sum, self.scale);
        sum.payload(self.dscale)
    }
}

/// Whether all have the same scale but zeros, which may have a lesser one: CASE … ELSE 0.
fn are_zeros_apart(words: &[i64], scales: &[u16]) -> bool {
    let greatest = scales.iter().fold(0, |greatest, &scale| scale.max(greatest));
    // Without an end before the last: that is many at a time.
    let others = words.iter().zip(scales);
    greatest != LARGE
        && !others.fold(false, |found, (&word, &scale)| {
            found | (word != 0) & (scale != greatest)
        })
}

/// The greatest scale of each group's values.
fn shown_in(len: usize, groups: &[u32], view: &View<'_>, scales: &[u16]) -> Vec<u16> {
    // The last is for rows of no group.
    let mut shown = vec![0; len + 1];
    match (single(groups), view.valid) {
        (Some(group), None) => shown[(group as usize).min(len)] = scales.iter().copied().max().unwrap_or(0),
        _ => {
            for (row, (&group, &scale)) in groups.iter().zip(scales).enumerate() {
                let shown = &mut shown[(group as usize).min(len)];
                *shown = (*shown).max(if view.is_valid(row) { scale } else { 0 });
            }
        }
    }
    shown
}

impl State for NumericSum {
    #[inline]
    fn add(&mut self, view: &View<'_>, row: usize, heap: &mut usize) -> Result<()> {
        match view.scale(row) {
            LARGE => self.add_payload(view.string(row), heap),
            scale => {
                self.add_small(view.words[row], scale, heap);
                Ok(())
            }
        }
    }

    fn add_all(states: &mut [Self], groups: &[u32], view: &View<'_>, heap: &mut usize) -> bool {
        if let Some(scale) = scale_of(view) {
            return sums(states.len(), groups, view, |group, sum, count| {
                states[group].add_many(sum, count, scale, heap);
            });
        }
        let scales = view.scales.filter(|scales| are_zeros_apart(view.words, scales));
        let Some(scales) = scales.filter(|_| are_few(states.len(), groups)) else {
            return false;
        };
        // A group of nothing but zeros of fewer decimals shows no more.
        let shown = shown_in(states.len(), groups, view, scales);
        sums(states.len(), groups, view, |group, sum, count| {
            states[group].add_many(sum, count, shown[group], heap);
        })
    }

    /// `numeric_avg_combine`.
    fn combine(&mut self, other: &Self, heap: &mut usize) -> Result<()> {
        self.count = add_counts(self.count, other.count)?;
        self.dscale = self.dscale.max(other.dscale);
        if self.narrow(other.sum, other.scale).is_none() {
            let mut wide = Wide::default();
            wide.add_scaled(other.sum, other.scale);
            self.add_wide(&wide, heap);
        }
        if let Some(from) = &other.rare {
            let to = self.rare(heap);
            to.nan = add_counts(to.nan, from.nan)?;
            to.infinity = add_counts(to.infinity, from.infinity)?;
            to.negative_infinity = add_counts(to.negative_infinity, from.negative_infinity)?;
            self.add_wide(&from.wide, heap);
        }
        Ok(())
    }

    fn output(&self) -> Result<Output> {
        if self.count == 0 && self.special() == 0 {
            return Ok(Output::Null);
        }
        Ok(Output::NumericSum {
            sum: self.payload()?,
            count: self.count,
        })
    }

    fn heap_bytes(&self) -> usize {
        self.rare
            .as_deref()
            .map_or(0, |rare| size_of::<Rare>() + rare.wide.digits.capacity() * 8)
    }

    fn check(&self) -> Result<()> {
        let fits = self.scale <= NARROW_SCALE && self.dscale <= MAX_SCALE && self.count >= 0;
        let rare_fits = self.rare.as_deref().is_none_or(|rare| {
            let wide = &rare.wide;
            let ends = -LONGEST..=LONGEST - wide.digits.len().min(LONGEST as usize) as i32;
            rare.nan.min(rare.infinity).min(rare.negative_infinity) >= 0
                && ends.contains(&wide.low)
                && wide.digits.len() <= LONGEST as usize
                && wide.digits.iter().all(|digit| digit.abs() < 1 << 60)
        });
        if fits && rare_fits {
            return Ok(());
        }
        Err(Error::Corrupt("serialized numeric sum is damaged"))
    }
}

impl Rare {
    /// NaN and infinities.
    fn special(&self) -> i64 {
        let infinities = self.infinity.saturating_add(self.negative_infinity);
        self.nan.saturating_add(infinities)
    }
}

/// Digits of a numeric are at powers of 10000 between -4096 and 32767, those of sums a few more.
const LONGEST: i32 = 40_000;

impl Wide {
    fn add(&mut self, number: &Digits<'_>) {
        let low = number.weight + 1 - number.iter().len() as i32;
        let sign = if number.negative { -1 } else { 1 };
        let digits = number.iter().rev().map(|digit| sign * i64::from(digit));
        self.add_digits(low, digits);
    }

    /// Adds `value` / 10^`scale`.
    fn add_scaled(&mut self, value: i128, scale: u16) {
        // Move the point to the boundary of a digit: the value's last digit first, then tens of the others.
        let fraction = scale.div_ceil(DEC_DIGITS);
        let shift = 10_i64.pow(u32::from(fraction * DEC_DIGITS - scale));
        let mut rest = value;
        let digits = std::iter::from_fn(|| {
            let digit = (rest % i128::from(NBASE)) as i64;
            rest /= i128::from(NBASE);
            (digit != 0 || rest != 0).then_some(digit * shift)
        });
        self.add_digits(-i32::from(fraction), digits.collect::<Vec<_>>().into_iter());
    }

    /// Adds digits, the least first and of power `low`.
    fn add_digits(&mut self, low: i32, digits: impl ExactSizeIterator<Item = i64>) {
        if digits.len() == 0 {
            return;
        }
        if self.digits.is_empty() {
            self.low = low;
        }
        if low < self.low {
            let missing = (self.low - low) as usize;
            self.digits.splice(0..0, std::iter::repeat_n(0, missing));
            self.low = low;
        }
        let start = (low - self.low) as usize;
        let end = start + digits.len();
        if end > self.digits.len() {
            self.digits.resize(end, 0);
        }
        for (to, digit) in self.digits[start..end].iter_mut().zip(digits) {
            *to += digit;
        }
    }

    /// Brings every digit but the last into -9999 ..= 9999.
    fn carry(&mut self) {
        let mut carry = 0;
        for digit in &mut self.digits {
            let value = *digit + carry;
            (*digit, carry) = (value % NBASE, value / NBASE);
        }
        while carry != 0 {
            self.digits.push(carry % NBASE);
            carry /= NBASE;
        }
    }

    fn payload(mut self, dscale: u16) -> Result<Vec<u8>> {
        self.carry();
        let leading = self.digits.iter().rposition(|&digit| digit != 0);
        let negative = leading.is_some_and(|leading| self.digits[leading] < 0);
        // Digits of the other sign than the number's borrow from the next.
        let mut borrow = 0;
        let mut digits: Vec<u16> = Vec::with_capacity(self.digits.len());
        for &digit in &self.digits {
            let value = if negative { -digit } else { digit } - borrow;
            borrow = i64::from(value < 0);
            digits.push((value + borrow * NBASE) as u16);
        }
        digits.reverse();
        let mut payload = Vec::with_capacity(4 + 2 * digits.len());
        let weight = self.low + digits.len() as i32 - 1;
        numeric::write(negative, weight, dscale, &digits, &mut payload).map_err(|_| Error::NumericOverflow)?;
        Ok(payload)
    }
}
