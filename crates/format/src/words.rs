//! The words of a column's rows, as narrow as they may be: what is read of them, and shared by processes, is most of what a query reads.

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use std::borrow::Cow;
use std::ops::Range;

/// One word per row: `base`, and what the row's differs by.
#[derive(Clone, Debug)]
pub struct Words {
    pub(crate) base: i64,
    offsets: Offsets,
}

/// As many bytes per row as the greatest needs.
#[derive(Clone, Debug)]
enum Offsets {
    /// All rows have the base.
    None,
    One(ScalarBuffer<u8>),
    Two(ScalarBuffer<u16>),
    Four(ScalarBuffer<u32>),
    /// The words themselves: the base is zero.
    Eight(ScalarBuffer<i64>),
}

impl Words {
    /// `held` says which rows have a word. The others get the base, or anything where words take eight bytes.
    pub(crate) fn new(words: Vec<i64>, held: impl Fn(usize) -> bool) -> Self {
        let (mut least, mut greatest) = (i64::MAX, i64::MIN);
        for (row, &word) in words.iter().enumerate() {
            // Without a branch: tags are hard to predict.
            let held = held(row);
            least = least.min(if held { word } else { i64::MAX });
            greatest = greatest.max(if held { word } else { i64::MIN });
        }
        let range = match least <= greatest {
            true => greatest.abs_diff(least),
            false => 0,
        };
        let offsets = words.iter().enumerate().map(|(row, &word)| {
            let offset = word.wrapping_sub(least) as u64;
            if held(row) {
                offset
            } else {
                0
            }
        });
        let offsets = match range {
            0 => Offsets::None,
            1..=0xFF => Offsets::One(offsets.map(|o| o as u8).collect()),
            0x100..=0xFFFF => Offsets::Two(offsets.map(|o| o as u16).collect()),
            0x1_0000..=0xFFFF_FFFF => Offsets::Four(offsets.map(|o| o as u32).collect()),
            _ => return Self::wide(words.into()),
        };
        let base = if least <= greatest { least } else { 0 };
        Self { base, offsets }
    }

    fn wide(words: ScalarBuffer<i64>) -> Self {
        Self {
            base: 0,
            offsets: Offsets::Eight(words),
        }
    }

    /// Of so many rows, by what [`Words::offsets`] gives; None if that is not as long as it has to be.
    pub(crate) fn of_offsets(base: i64, offsets: Buffer, rows: usize) -> Option<Self> {
        let bytes = offsets.len();
        let is = |width: usize| rows.checked_mul(width) == Some(bytes);
        let offsets = match bytes {
            0 => Offsets::None,
            _ if is(1) => Offsets::One(offsets.into()),
            _ if is(2) => Offsets::Two(offsets.into()),
            _ if is(4) => Offsets::Four(offsets.into()),
            _ if is(8) && base == 0 => Offsets::Eight(offsets.into()),
            _ => return None,
        };
        Some(Self { base, offsets })
    }

    /// What rows differ from the base by, as bytes: the same number of them for each row.
    pub(crate) fn offsets(&self) -> &[u8] {
        match &self.offsets {
            Offsets::None => &[],
            Offsets::One(offsets) => offsets.inner(),
            Offsets::Two(offsets) => offsets.inner(),
            Offsets::Four(offsets) => offsets.inner(),
            Offsets::Eight(words) => words.inner(),
        }
    }

    /// The word of a row.
    #[inline]
    pub fn get(&self, row: usize) -> i64 {
        let offset = match &self.offsets {
            Offsets::None => 0,
            Offsets::One(offsets) => i64::from(offsets[row]),
            Offsets::Two(offsets) => i64::from(offsets[row]),
            Offsets::Four(offsets) => i64::from(offsets[row]),
            Offsets::Eight(words) => words[row],
        };
        self.base.wrapping_add(offset)
    }

    /// The base and the offsets, if they are bytes, which may be looked up in a table. Rows without a word have the base.
    pub fn bytes(&self) -> Option<(i64, &[u8])> {
        match &self.offsets {
            Offsets::One(offsets) => Some((self.base, offsets)),
            _ => None,
        }
    }

    /// The words of some rows, which ascend.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn of_rows(&self, rows: &[u32]) -> Cow<'_, [i64]> {
        fn of<'a, T: Copy + Into<i64>>(base: i64, offsets: &[T], rows: &[u32]) -> Cow<'a, [i64]> {
            map_rows(offsets, rows, |offset| base.wrapping_add(offset.into())).into()
        }
        match &self.offsets {
            Offsets::None => vec![self.base; rows.len()].into(),
            Offsets::One(offsets) => of(self.base, offsets, rows),
            Offsets::Two(offsets) => of(self.base, offsets, rows),
            Offsets::Four(offsets) => of(self.base, offsets, rows),
            Offsets::Eight(words) => match consecutive(rows) {
                Some(range) => words[range].into(),
                None => of(0, words, rows),
            },
        }
    }

    /// Those at these places, in their order; anything beyond the last.
    pub(crate) fn take(&self, places: &[u32]) -> Self {
        fn of<T: ArrowNativeType>(offsets: &[T], places: &[u32]) -> ScalarBuffer<T> {
            let offset = |&place: &u32| offsets.get(place as usize).copied().unwrap_or_default();
            places.iter().map(offset).collect()
        }
        Self {
            base: self.base,
            offsets: match &self.offsets {
                Offsets::None => Offsets::None,
                Offsets::One(offsets) => Offsets::One(of(offsets, places)),
                Offsets::Two(offsets) => Offsets::Two(of(offsets, places)),
                Offsets::Four(offsets) => Offsets::Four(of(offsets, places)),
                Offsets::Eight(words) => Offsets::Eight(of(words, places)),
            },
        }
    }
}

/// Ascending rows as a range, if they have no gaps.
fn consecutive(rows: &[u32]) -> Option<Range<usize>> {
    let (first, last) = (*rows.first()? as usize, *rows.last()? as usize);
    (last - first + 1 == rows.len()).then_some(first..last + 1)
}

/// Something made of what an array has for each of some ascending rows.
///
/// # Panics
/// If it has nothing for one.
pub(crate) fn map_rows<T: Copy, U>(array: &[T], rows: &[u32], of: impl Fn(T) -> U) -> Vec<U> {
    match consecutive(rows) {
        Some(range) => array[range].iter().map(|&value| of(value)).collect(),
        None => rows.iter().map(|&row| of(array[row as usize])).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_as_wide_as_those_of_rows_that_have_one() {
        let widths: [(&[i64], usize); 9] = [
            (&[], 0),
            (&[i64::MIN; 3], 0),
            (&[7, 262, 8], 1),
            (&[i64::MAX - 255, i64::MAX], 1),
            (&[-1, 255], 2),
            (&[0x7FFF, -0x8000], 2),
            (&[0, 0x1_0000], 4),
            (&[i64::MIN, i64::MIN + 0xFFFF_FFFF], 4),
            (&[i64::MIN, i64::MAX, 0], 8),
        ];
        // Beside each, a row whose word does not count.
        for (other, (values, width)) in [0, i64::MIN, i64::MAX]
            .into_iter()
            .flat_map(|other| widths.map(|case| (other, case)))
        {
            let all: Vec<i64> = values.iter().flat_map(|&value| [value, other]).collect();
            let words = Words::new(all.clone(), |row| row % 2 == 0);
            assert_eq!(words.offsets().len(), all.len() * width, "{values:?}");
            let moved: Vec<u32> = (0..all.len() as u32).rev().chain([u32::MAX]).collect();
            let taken = words.take(&moved);
            for (i, &value) in values.iter().enumerate() {
                let row = 2 * i;
                assert_eq!(words.get(row), value);
                assert_eq!(taken.get(all.len() - 1 - row), value);
                assert!(width == 8 || values.contains(&words.get(row + 1)));
            }
            let rows: Vec<u32> = (0..all.len() as u32).collect();
            let even: Vec<u32> = rows.iter().copied().step_by(2).collect();
            let got: Vec<i64> = (0..all.len()).map(|row| words.get(row)).collect();
            assert_eq!(words.of_rows(&rows), got);
            assert_eq!(words.of_rows(&even), values);
        }
    }
}
