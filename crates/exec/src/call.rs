//! Functions that PostgreSQL computes once for many rows.

use crate::builder::VectorBuilder;
use crate::evaluated::Evaluated;
use crate::external::External;
use crate::memo::{Memo, UNKNOWN, VARIES};
use crate::vector::Type;

/// A function of one word: once per value, or per step of values in which it is constant. The function is strict.
pub(crate) fn by_word<'a>(
    external: &mut dyn External,
    id: usize,
    arg: Evaluated<'a>,
    step: i64,
    ty: Type,
) -> Evaluated<'a> {
    let mut memo = external.remembered(id).unwrap_or_else(|| Memo::new(ty));
    let words = &arg.vector.words;
    let mut has = vec![true; words.len()];
    if let Some(valid) = &arg.vector.valid {
        has.copy_from_slice(valid);
    }
    arg.unsure.iter().for_each(|&i| has[i as usize] = false);
    // Infinite times are in no step: from its ends there is no way to them.
    let alone = |word: i64| step != 1 && matches!(word, i64::MIN | i64::MAX);
    let at = |word: i64| if step == 1 { word } else { word.div_euclid(step) };
    let (mut least, mut greatest) = (i64::MAX, i64::MIN);
    for (&word, &has) in words.iter().zip(&has) {
        if has && !alone(word) {
            (least, greatest) = (least.min(word), greatest.max(word));
        }
    }
    let together = least > greatest || memo.reach(at(least), at(greatest));
    let mut places = Vec::with_capacity(words.len());
    let mut last = None;
    for (&word, &has) in words.iter().zip(&has) {
        if !has {
            if memo.null == UNKNOWN {
                memo.null = memo.values.len() as u32;
                memo.values.push_null();
            }
            places.push(memo.null);
            continue;
        }
        let (alone, at) = (alone(word), at(word));
        if let Some((known, place)) = last
            && known == at
            && !alone
        {
            places.push(place);
            continue;
        }
        let mut call = |word: i64, values: &mut VectorBuilder| {
            external.call(id, word, values);
            values.len() as u32 - 1
        };
        let direct = together && !alone;
        let known = match direct {
            true => memo.places[at.wrapping_sub(memo.base) as usize],
            false => memo
                .others
                .get(if alone { &word } else { &at })
                .copied()
                .unwrap_or(UNKNOWN),
        };
        let mut place = known;
        if known == UNKNOWN {
            place = if alone || step == 1 {
                call(word, &mut memo.values)
            } else {
                let first = call(at * step, &mut memo.values);
                let end = call(at * step + (step - 1), &mut memo.values);
                if memo.values.same(first, end) { first } else { VARIES }
            };
            if direct {
                memo.places[at.wrapping_sub(memo.base) as usize] = place;
            } else {
                memo.others.insert(if alone { word } else { at }, place);
            }
        }
        if place == VARIES {
            place = call(word, &mut memo.values);
        } else if !alone {
            last = Some((at, place));
        }
        places.push(place);
    }
    let vector = memo.values.at(&places);
    if memo.is_small() {
        external.remember(id, memo);
    }
    Evaluated {
        vector,
        unsure: arg.unsure,
    }
}
