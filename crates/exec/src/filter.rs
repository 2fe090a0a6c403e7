//! The rows of a batch that pass a condition, without a vector of truths where that is quicker.

use amax_format::{Dense, RowSet, Tag, Words};
use std::ops::RangeInclusive;

use crate::batch::{Batch, TRUE, all_are};
use crate::builder::VectorBuilder;
use crate::evaluated::{select, sure};
use crate::expr::Expr;
use crate::held::held_ints;
use crate::like::Pattern;
use crate::operators::{Comparison, JsonScalar};
use crate::scaled::{Bound, single};
use crate::vector::{LARGE, StringTable, Type, Vector};

impl<'a> Batch<'a, '_> {
    /// Splits `rows` by a condition: those that pass, and those that are unsure. The others are gone.
    pub fn filter(&mut self, condition: &Expr, rows: &[u32], unsure: &mut Vec<u32>) -> Vec<u32> {
        if let Some(passed) = self.filter_by_code(condition, rows) {
            return passed;
        }
        if let Some(passed) = self.filter_by_word(condition, rows) {
            return passed;
        }
        let mut found = self.eval(condition, rows);
        if found.unsure.is_empty() && found.vector.valid.is_none() {
            return select(rows, |i, _| found.vector.words[i] == TRUE);
        }
        let mut passed = Vec::with_capacity(rows.len());
        let mut open = std::mem::take(&mut found.unsure).into_iter().peekable();
        for (i, &row) in rows.iter().enumerate() {
            if open.next_if_eq(&(i as u32)).is_some() {
                unsure.push(row);
            } else if found.vector.is_valid(i) && found.vector.words[i] == TRUE {
                passed.push(row);
            }
        }
        passed
    }

    /// [`Self::filter`] by a comparison of strings with constants, decided once per string, where there are few.
    fn filter_by_code(&mut self, condition: &Expr, rows: &[u32]) -> Option<Vec<u32>> {
        let (input, as_text) = match condition {
            Expr::Else(condition, _) => return self.filter_by_code(condition, rows),
            Expr::Compare(_, arg, _) | Expr::Any(arg, _) | Expr::Like(arg, _) => match **arg {
                Expr::Text(input) | Expr::Column(input, Type::Text) => (input, true),
                _ => return None,
            },
            Expr::JsonEquals(input, JsonScalar::String(_)) => (*input, false),
            _ => return None,
        };
        let constant = |e: &Expr| matches!(e, Expr::Once { .. });
        let dense = self.columns.dense(input);
        let strings = dense.strings();
        if !dense.is_dictionary() || strings.len() > rows.len() || strings.is_empty() {
            return None;
        }
        // Other values as text may be strings that are not here.
        let is_text = |tag| matches!(tag, Tag::String | Tag::Missing | Tag::Null);
        if as_text && !all_are(dense, rows, is_text) {
            return None;
        }
        let codes: Vec<i64> = (0..strings.len() as i64).collect();
        let table = StringTable::new(strings.ends, strings.data);
        let codes = sure(Vector::of_codes(codes, table));
        let found = match condition {
            Expr::JsonEquals(_, JsonScalar::String(sought)) => Pattern::exactly(sought).filter(codes),
            Expr::Compare(comparison, _, to) if constant(to) => {
                self.compare_with_constant(*comparison, codes, to, rows[0])
            }
            Expr::Any(_, list) => self.any_of(codes, list),
            Expr::Like(_, pattern) => pattern.filter(codes),
            _ => return None,
        };
        if !found.unsure.is_empty() {
            return None;
        }
        let holds: Vec<bool> = (0..strings.len())
            .map(|code| found.vector.is_valid(code) && found.vector.words[code] == TRUE)
            .collect();
        let words = dense.words();
        let of_word = |word: i64| holds.get(word as usize).copied().unwrap_or(false);
        let passed = match words.bytes() {
            Some((base, codes)) => {
                let holds: [bool; 256] = std::array::from_fn(|code| of_word(base.wrapping_add(code as i64)));
                select(rows, |_, row| holds[usize::from(codes[row as usize])])
            }
            None => {
                let words = words.gather(rows);
                select(rows, |i, _| of_word(words[i]))
            }
        };
        if dense.all(|tag| tag == Tag::String) {
            return Some(passed);
        }
        Some(select(&passed, |_, row| dense.tag(row as usize) == Tag::String))
    }

    /// [`Self::filter`] by several conditions, one after the other, as far as these are comparisons of integers with constants: what passes,
    /// and how many have passed each. None if there are not several, or rows are few.
    pub fn filter_by_words<'e>(
        &mut self,
        conditions: impl Iterator<Item = &'e Expr> + Clone,
        rows: &[u32],
    ) -> Option<(Vec<u32>, Vec<usize>)> {
        let compared = conditions.take_while(|condition| compared(condition).is_some());
        compared.clone().nth(1)?;
        let (mut set, mut passed) = (RowSet::of(rows)?, Vec::new());
        for condition in compared {
            match self.word_test(condition) {
                Some(WordTest::All(true)) => {}
                Some(WordTest::All(false)) => set.clear(),
                Some(WordTest::Range(words, range, inside)) => words.keep(&mut set, range, inside),
                None => break,
            }
            passed.push(set.len());
            if set.is_empty() {
                break;
            }
        }
        (!passed.is_empty()).then(|| (set.rows(), passed))
    }

    /// [`Self::filter`] by a comparison of a column of integers, or of numerics of one scale, with a constant.
    fn filter_by_word(&mut self, condition: &Expr, rows: &[u32]) -> Option<Vec<u32>> {
        compared(condition)?;
        if rows.is_empty() {
            return Some(Vec::new());
        }
        Some(match self.word_test(condition)? {
            WordTest::All(true) => rows.to_vec(),
            WordTest::All(false) => Vec::new(),
            WordTest::Range(words, range, inside) => words.select(rows, range, inside),
        })
    }

    /// Such a comparison as a test of words.
    fn word_test(&mut self, condition: &Expr) -> Option<WordTest<'a>> {
        let (comparison, column, constant) = compared(condition)?;
        let (words, ty, scale) = match held_ints(column, self.columns) {
            Some(words) => (words, Type::Int, 0),
            None => {
                let &Expr::Column(input, Type::Numeric) = column else {
                    return None;
                };
                let dense = self.columns.dense(input);
                (dense.words(), Type::Numeric, scale_of(dense)?)
            }
        };
        let mut value = VectorBuilder::new(ty);
        self.external.once(constant, &mut value);
        let value = value.finish();
        if !value.is_valid(0) {
            return Some(WordTest::All(false));
        }
        let bound = match (ty, value.scale(0)) {
            (Type::Int, _) => Bound::Word(comparison, value.words[0]),
            (_, LARGE) => return None,
            (_, of) => Bound::new(comparison, scale, value.words[0], of)?,
        };
        let (comparison, word) = match bound {
            Bound::All(all) => return Some(WordTest::All(all)),
            Bound::Word(comparison, word) => (comparison, word),
        };
        let (range, inside) = match comparison {
            Comparison::Equal => (word..=word, true),
            Comparison::NotEqual => (word..=word, false),
            Comparison::LessEqual => (i64::MIN..=word, true),
            Comparison::Greater => (i64::MIN..=word, false),
            Comparison::GreaterEqual => (word..=i64::MAX, true),
            Comparison::Less => (word..=i64::MAX, false),
        };
        Some(WordTest::Range(words, range, inside))
    }
}

/// A comparison of words with a constant.
enum WordTest<'a> {
    /// All rows pass, or none.
    All(bool),
    /// Whether words are in a range, or are not.
    Range(&'a Words, RangeInclusive<i64>, bool),
}

/// A column, or something else, compared with what is the same for all rows: its number.
fn compared(condition: &Expr) -> Option<(Comparison, &Expr, usize)> {
    let Expr::Compare(comparison, left, right) = condition else {
        return None;
    };
    match (&**left, &**right) {
        (column, Expr::Once { id, .. }) => Some((*comparison, column, *id)),
        (Expr::Once { id, .. }, column) => Some((comparison.flip(), column, *id)),
        _ => None,
    }
}

/// The scale of a column that has a number in every row, all of one.
fn scale_of(dense: &Dense) -> Option<u16> {
    match dense.uniform()? {
        Tag::Int => Some(0),
        Tag::Decimal => single(dense.scales()),
        _ => None,
    }
}
