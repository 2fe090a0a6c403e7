//! Values that PostgreSQL computes once for many rows.

use std::collections::HashMap;

use amax_format::{Dense, Tag};

use crate::builder::VectorBuilder;
use crate::evaluated::Evaluated;
use crate::external::{External, push_row};
use crate::vector::Type;

const UNKNOWN: u32 = u32::MAX;

/// An expression over one column of distinct strings: once per string, per NULL, and per row that holds something else.
pub(crate) fn by_code(
    external: &mut dyn External,
    id: usize,
    dense: &Dense,
    rows: &[u32],
    ty: Type,
) -> Evaluated<'static> {
    let strings = dense.strings().len();
    // Then missing, and JSON null.
    let mut known = vec![UNKNOWN; strings + 2];
    let mut values = VectorBuilder::new(ty);
    let mut made = 0;
    let mut places = Vec::with_capacity(rows.len());
    let mut unsure = Vec::new();
    for (i, &row) in rows.iter().enumerate() {
        let slot = match dense.tag(row as usize) {
            Tag::String => Some(dense.word(row as usize) as usize),
            Tag::Missing => Some(strings),
            Tag::Null => Some(strings + 1),
            _ => None,
        };
        let mut place = slot.map_or(UNKNOWN, |slot| known[slot]);
        if place == UNKNOWN {
            place = made;
            made += 1;
            if !push_row(external, id, row, &mut values) {
                unsure.push(i as u32);
            } else if let Some(slot) = slot {
                known[slot] = place;
            }
        }
        places.push(place);
    }
    Evaluated {
        vector: values.finish().gather(&places),
        unsure,
    }
}

/// Where the argument of a function lies, and what the function is there.
enum Step {
    /// The same in the whole step.
    Constant(u32),
    /// Not the same.
    Varies,
}

/// A function of one word: once per value, or per step of values in which it is constant.
pub(crate) fn by_word<'a>(
    external: &mut dyn External,
    id: usize,
    arg: Evaluated<'a>,
    step: i64,
    ty: Type,
) -> Evaluated<'a> {
    let mut steps: HashMap<i64, Step> = HashMap::new();
    let mut values = VectorBuilder::new(ty);
    let mut made = 0u32;
    let mut places = Vec::with_capacity(arg.vector.words.len());
    let mut unsure = arg.unsure.iter().peekable();
    let mut last = None;
    for (i, &word) in arg.vector.words.iter().enumerate() {
        if unsure.next_if_eq(&&(i as u32)).is_some() || !arg.vector.is_valid(i) {
            places.push(UNKNOWN);
            continue;
        }
        // Infinite times are in no step: from its ends there is no way to them.
        let alone = step == 1 || matches!(word, i64::MIN | i64::MAX);
        let at = if alone { word } else { word.div_euclid(step) };
        if let Some((known, place)) = last
            && known == at
        {
            places.push(place);
            continue;
        }
        let mut call = |word: i64, values: &mut VectorBuilder| {
            external.call(id, word, values);
            made += 1;
            made - 1
        };
        let found = steps.entry(at).or_insert_with(|| {
            let first = call(if alone { at } else { at * step }, &mut values);
            if alone {
                return Step::Constant(first);
            }
            let end = call(at * step + (step - 1), &mut values);
            if values.same(first, end) {
                Step::Constant(first)
            } else {
                Step::Varies
            }
        });
        match *found {
            Step::Constant(place) => {
                last = Some((at, place));
                places.push(place);
            }
            Step::Varies => places.push(call(word, &mut values)),
        }
    }
    // Functions here are strict: a place for NULL.
    if places.contains(&UNKNOWN) {
        values.push_null();
        let null = made;
        places.iter_mut().filter(|p| **p == UNKNOWN).for_each(|p| *p = null);
    }
    Evaluated {
        vector: values.finish().gather(&places),
        unsure: arg.unsure,
    }
}
