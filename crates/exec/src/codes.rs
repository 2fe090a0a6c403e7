//! Vectors whose values are few: each has a small code, so that work can be done once per code of a batch.

use crate::scaled::scale_of;
use crate::vector::{Type, View};

/// Codes are worth it below so many per row of the batch: the memory of what is known of each is cleared per batch.
const CODES_PER_ROW: usize = 16;
/// And below so many in all, to stay in the second-level cache.
const CODES: usize = 1 << 18;

/// The codes of a vector: its words less `base`, and one more for NULL if there may be any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Codes {
    base: i64,
    values: usize,
    nulls: bool,
}

impl Codes {
    /// Of a dictionary, booleans, and integers that lie close together; equal numerics with one display scale
    /// are integers too. `None` if there are too many.
    pub(crate) fn of(view: &View<'_>) -> Option<Self> {
        let (base, values) = match view.ty {
            Type::Text if view.dictionary => (0, view.strings()),
            Type::Bool => (0, 2),
            Type::Int => span(view)?,
            Type::Numeric if scale_of(view).is_some() => span(view)?,
            // Every row is NULL, as of a key that a grouping set lacks.
            _ if view.valid.is_some_and(|valid| !valid.contains(&true)) => (0, 0),
            _ => return None,
        };
        let codes = Self {
            base,
            values,
            nulls: view.valid.is_some(),
        };
        (codes.len() <= limit(view.words.len())).then_some(codes)
    }

    /// Whether a word has the same code in every batch of a type.
    pub(crate) fn last(ty: Type) -> bool {
        matches!(ty, Type::Int | Type::Bool)
    }

    /// Codes for the words of both.
    pub(crate) fn with(self, other: Self) -> Self {
        if self.values == 0 || other.values == 0 {
            let words = if self.values == 0 { other } else { self };
            return Self {
                nulls: self.nulls || other.nulls,
                ..words
            };
        }
        let base = self.base.min(other.base);
        let end = |codes: Self| codes.base.abs_diff(base).min(CODES as u64) as usize + codes.values;
        Self {
            base,
            values: end(self).max(end(other)),
            nulls: self.nulls || other.nulls,
        }
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.values + usize::from(self.nulls)
    }

    /// The code of each row of a vector without NULLs: below [`Codes::len`], if the words of a dictionary are its
    /// codes.
    #[inline]
    pub(crate) fn dense<'a>(self, view: &View<'a>) -> impl Iterator<Item = usize> + 'a {
        view.words.iter().map(move |&word| self.code(word))
    }

    /// As [`Codes::dense`], of a vector that may have NULLs.
    #[inline]
    pub(crate) fn nullable<'a>(self, view: &View<'a>, valid: &'a [bool]) -> impl Iterator<Item = usize> + 'a {
        view.words
            .iter()
            .zip(valid)
            .map(move |(&word, &valid)| if valid { self.code(word) } else { self.values })
    }

    #[inline]
    fn code(self, word: i64) -> usize {
        word.wrapping_sub(self.base) as usize
    }

    /// Adds `stride` times the code of each row to `out`.
    pub(crate) fn add_to(self, view: &View<'_>, stride: u32, out: &mut [u32]) {
        let add = |(out, code): (&mut u32, usize)| {
            debug_assert!(code < self.len(), "a word is not in its dictionary");
            *out = out.wrapping_add((code as u32).wrapping_mul(stride));
        };
        match view.valid {
            None => out.iter_mut().zip(self.dense(view)).for_each(add),
            Some(valid) => out.iter_mut().zip(self.nullable(view, valid)).for_each(add),
        }
    }
}

/// The most codes, single or combined, that are worth it for a batch of so many rows.
pub(crate) fn limit(rows: usize) -> usize {
    rows.saturating_mul(CODES_PER_ROW).min(CODES)
}

/// The least word of a value, and how many there are up to the greatest.
fn span(view: &View<'_>) -> Option<(i64, usize)> {
    let (mut least, mut greatest) = (i64::MAX, i64::MIN);
    match view.valid {
        None => {
            for &word in view.words {
                least = least.min(word);
                greatest = greatest.max(word);
            }
        }
        Some(valid) => {
            for (&word, &valid) in view.words.iter().zip(valid) {
                least = least.min(if valid { word } else { i64::MAX });
                greatest = greatest.max(if valid { word } else { i64::MIN });
            }
        }
    }
    if least > greatest {
        return Some((0, 0)); // every row is NULL
    }
    let span = greatest.abs_diff(least);
    (span < CODES as u64).then(|| (least, span as usize + 1))
}
