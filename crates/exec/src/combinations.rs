//! Rows that have the same values in all columns that an expression depends on.

use amax_format::{Dense, Tag};

use crate::codes;
use crate::evaluated::Evaluated;
use crate::scaled::single;

const UNKNOWN: u32 = u32::MAX;

/// What the rows of a column hold, as small numbers: 0 is no value, 1 is JSON null.
struct Column<'a> {
    dense: &'a Dense,
    /// What the others hold. Rows that hold something else have no code.
    kind: Tag,
    /// The least word, which has code 2.
    base: i64,
    codes: usize,
}

impl<'a> Column<'a> {
    /// None if it holds too much for codes.
    fn new(dense: &'a Dense, rows: &[u32], limit: usize) -> Option<Self> {
        let strings = dense.strings().len();
        if dense.is_dictionary() && strings > 0 {
            let (kind, base, codes) = (Tag::String, 0, strings + 2);
            return (codes <= limit).then_some(Self {
                dense,
                kind,
                base,
                codes,
            });
        }
        let kind = *[Tag::Int, Tag::Bool, Tag::Decimal].iter().find(|&&kind| {
            let others = |tag| tag == kind || tag == Tag::Missing || tag == Tag::Null;
            dense.all(others)
        })?;
        if kind == Tag::Decimal && !dense.scales().is_empty() {
            single(dense.scales())?;
        }
        let (mut least, mut greatest) = (i64::MAX, i64::MIN);
        for &row in rows {
            if dense.tag(row as usize) == kind {
                let word = dense.word(row as usize);
                (least, greatest) = (least.min(word), greatest.max(word));
                // Where they are many a few rows show it.
                if greatest.abs_diff(least) >= limit as u64 {
                    return None;
                }
            }
        }
        let span = if least <= greatest { greatest.abs_diff(least) } else { 0 };
        let codes = usize::try_from(span).ok()?.checked_add(3)?;
        (codes <= limit).then_some(Self {
            dense,
            kind,
            base: least,
            codes,
        })
    }

    #[inline]
    fn code(&self, row: u32) -> Option<usize> {
        match self.dense.tag(row as usize) {
            tag if tag == self.kind => Some(self.dense.word(row as usize).wrapping_sub(self.base) as usize + 2),
            Tag::Missing => Some(0),
            Tag::Null => Some(1),
            _ => None,
        }
    }
}

/// Rows that stand for others with the same values in all columns that an expression depends on.
pub(crate) struct Distinct {
    /// They, ascending.
    pub(crate) rows: Vec<u32>,
    /// Which of them stands for each of the rows.
    places: Vec<u32>,
}

impl Distinct {
    /// None if they are more than `most`, or if the columns hold too much to tell.
    pub(crate) fn new(inputs: &[&Dense], rows: &[u32], most: usize) -> Option<Self> {
        let limit = codes::limit(rows.len());
        let mut columns = Vec::with_capacity(inputs.len());
        let mut combinations = 1usize;
        for dense in inputs {
            let column = Column::new(dense, rows, limit)?;
            combinations = combinations.checked_mul(column.codes).filter(|&n| n <= limit)?;
            columns.push(column);
        }
        let mut known = vec![UNKNOWN; combinations];
        let mut found = Self {
            rows: Vec::new(),
            places: Vec::with_capacity(rows.len()),
        };
        for &row in rows {
            let mut slot = Some(0);
            for column in &columns {
                slot = slot
                    .zip(column.code(row))
                    .map(|(slot, code)| slot * column.codes + code);
            }
            let mut place = slot.map_or(UNKNOWN, |slot| known[slot]);
            if place == UNKNOWN {
                place = found.rows.len() as u32;
                if place as usize >= most {
                    return None;
                }
                found.rows.push(row);
                if let Some(slot) = slot {
                    known[slot] = place;
                }
            }
            found.places.push(place);
        }
        Some(found)
    }

    /// What all rows have, given what these have.
    pub(crate) fn spread<'a>(self, found: Evaluated<'a>) -> Evaluated<'a> {
        let mut unsure = Vec::new();
        if !found.unsure.is_empty() {
            let mut is_unsure = vec![false; self.rows.len()];
            found.unsure.iter().for_each(|&place| is_unsure[place as usize] = true);
            let places = (0u32..).zip(&self.places);
            unsure.extend(places.filter(|(_, place)| is_unsure[**place as usize]).map(|(i, _)| i));
        }
        Evaluated {
            vector: found.vector.gather(&self.places),
            unsure,
        }
    }
}
