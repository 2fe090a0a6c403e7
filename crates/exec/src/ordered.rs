//! Values in their order, where those that are equal are the same: what percentiles and the like are made of.

use std::collections::HashMap;

use crate::collation::Collation;
use crate::decimal::Decimal;
use crate::order::{large, ordered};
use crate::vector::{LARGE, Scalar, Type, Vector};

/// The values that are not NULL.
#[derive(Debug)]
pub struct Ordered<'a> {
    values: &'a Vector<'a>,
    /// In the order of values. Text has the places of its different strings.
    keys: Vec<i64>,
    /// Those strings' words.
    strings: Vec<i64>,
    scale: u16,
}

impl<'a> Ordered<'a> {
    /// None if some may be equal and yet look different, as 1.0 and 1.00, or -0 and 0.
    pub fn new(values: &'a Vector<'a>, key: usize, collation: &dyn Collation) -> Option<Self> {
        let rows = || (0..values.len()).filter(|&row| values.is_valid(row));
        let of_words = |key: fn(i64) -> i64| rows().map(|row| key(values.words[row])).collect();
        let mut strings = Vec::new();
        let mut scale = 0;
        let keys = match values.ty {
            Type::Bool | Type::Int if values.valid.is_none() => values.words.to_vec(),
            Type::Bool | Type::Int => of_words(|word| word),
            Type::Float if rows().any(|row| values.words[row] == i64::MIN) => return None,
            Type::Float => of_words(ordered),
            Type::Numeric => {
                scale = rows().next().map_or(0, |row| values.scale(row));
                if scale == LARGE || rows().any(|row| values.scale(row) != scale) {
                    return None;
                }
                of_words(|word| word)
            }
            Type::Text => places(values, &mut strings, |a, b| collation.compare(key, a, b)),
        };
        Some(Self {
            values,
            keys,
            strings,
            scale,
        })
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    fn value(&self, key: i64) -> Scalar<'_> {
        match self.values.ty {
            Type::Bool => Scalar::Bool(key != 0),
            Type::Int => Scalar::Int(key),
            // What orders a float's bits is undone so.
            Type::Float => Scalar::Float(f64::from_bits(if key < 0 { key ^ i64::MAX } else { key } as u64)),
            Type::Numeric => Scalar::Decimal {
                mantissa: key,
                scale: self.scale,
            },
            Type::Text => Scalar::Text(self.values.view().text(self.strings[key as usize] as usize)),
        }
    }

    /// The value that has so many before it in the order.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn nth(&mut self, n: usize) -> Scalar<'_> {
        let key = *self.keys.select_nth_unstable(n).1;
        self.value(key)
    }

    /// The value that there are most of; the first in the order of several; NULL if there is none.
    pub fn most_frequent(&mut self, descending: bool) -> Scalar<'_> {
        let mut best: Option<(usize, i64)> = None;
        let mut offer = |count: usize, key: i64| {
            if best.is_none_or(|(most, _)| if descending { count >= most } else { count > most }) {
                best = Some((count, key));
            }
        };
        if let Some((least, counts)) = self.counts() {
            let counts = counts.into_iter().zip(least..).filter(|&(count, _)| count > 0);
            counts.for_each(|(count, key)| offer(count as usize, key));
        } else {
            self.sort();
            let same = self.keys.chunk_by(|a, b| a == b);
            same.for_each(|same| offer(same.len(), same[0]));
        }
        best.map_or(Scalar::Null, |(_, key)| self.value(key))
    }

    /// How many there are of each from the least on, if these are few.
    fn counts(&self) -> Option<(i64, Vec<u32>)> {
        const SPAN: usize = 4;
        let (least, most) = (*self.keys.iter().min()?, *self.keys.iter().max()?);
        let span = usize::try_from(most.checked_sub(least)?).ok()?;
        if span >= self.keys.len().saturating_mul(SPAN) || self.keys.len() > u32::MAX as usize {
            return None;
        }
        let mut counts = vec![0_u32; span + 1];
        self.keys.iter().for_each(|&key| counts[(key - least) as usize] += 1);
        Some((least, counts))
    }

    fn sort(&mut self) {
        if let Some((least, counts)) = self.counts() {
            self.keys.clear();
            for (key, count) in (least..).zip(counts) {
                self.keys.extend(std::iter::repeat_n(key, count as usize));
            }
        } else {
            self.keys.sort_unstable();
        }
    }

    /// All of them in their order, or each once.
    pub fn sorted(&mut self, descending: bool, distinct: bool) -> impl Iterator<Item = Scalar<'_>> {
        self.sort();
        if distinct {
            self.keys.dedup();
        }
        if descending {
            self.keys.reverse();
        }
        self.keys.iter().map(|&key| self.value(key))
    }
}

/// Whether two values of a type are equal, which may look different.
pub fn are_equal(a: Scalar<'_>, b: Scalar<'_>) -> bool {
    let decimal = |value| match value {
        Scalar::Decimal { mantissa, scale } => Some(Decimal::small(mantissa, scale)),
        Scalar::Numeric(payload) => Some(large(payload)),
        _ => None,
    };
    match (a, b) {
        (Scalar::Float(a), Scalar::Float(b)) => ordered(a.to_bits() as i64) == ordered(b.to_bits() as i64),
        (a, b) => match (decimal(a), decimal(b)) {
            (Some(a), Some(b)) => a.cmp(&b).is_eq(),
            _ => a == b,
        },
    }
}

/// By value that is not NULL the place of its string among the different ones; those go to `strings`, as words, in their
/// order.
fn places(
    values: &Vector<'_>,
    strings: &mut Vec<i64>,
    compare: impl Fn(&[u8], &[u8]) -> std::cmp::Ordering,
) -> Vec<i64> {
    let view = values.view();
    let text = |word: i64| view.text(word as usize);
    let (mut known, mut of_words) = (HashMap::<&[u8], i64>::new(), HashMap::<i64, i64>::new());
    let mut number = |word: i64| {
        *known.entry(text(word)).or_insert_with(|| {
            strings.push(word);
            strings.len() as i64 - 1
        })
    };
    let rows = (0..values.len()).filter(|&row| values.is_valid(row));
    let mut keys: Vec<i64> = rows
        .map(|row| {
            let word = values.words[row];
            match values.dictionary {
                true => *of_words.entry(word).or_insert_with(|| number(word)),
                false => number(word),
            }
        })
        .collect();
    let mut order: Vec<usize> = (0..strings.len()).collect();
    order.sort_unstable_by(|&a, &b| compare(text(strings[a]), text(strings[b])));
    let mut places = vec![0; strings.len()];
    (0_i64..)
        .zip(&order)
        .for_each(|(place, &number)| places[number] = place);
    *strings = order.into_iter().map(|number| strings[number]).collect();
    keys.iter_mut().for_each(|key| *key = places[*key as usize]);
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collation::Bytewise;
    use crate::vector::StringTable;

    fn of(vector: &Vector<'_>, check: impl FnOnce(&mut Ordered<'_>)) {
        check(&mut Ordered::new(vector, 0, &Bytewise).expect("nothing that looks different"));
    }

    #[test]
    fn integers_have_an_order() {
        let vector = Vector {
            valid: Some(vec![true, true, false, true, true, true].into()),
            ..Vector::of_words(Type::Int, vec![5, -3, 9, 5, i64::MAX, -3])
        };
        of(&vector, |values| {
            assert_eq!(values.len(), 5);
            assert_eq!(values.nth(1), Scalar::Int(-3));
            assert_eq!(values.nth(4), Scalar::Int(i64::MAX));
            assert_eq!(values.most_frequent(false), Scalar::Int(-3));
            assert_eq!(values.most_frequent(true), Scalar::Int(5));
            let distinct: Vec<Scalar<'_>> = values.sorted(true, true).collect();
            assert_eq!(distinct, [i64::MAX, 5, -3].map(Scalar::Int));
        });
        of(&Vector::of_words(Type::Int, vec![2, 1, 2, 3]), |values| {
            assert_eq!(values.most_frequent(false), Scalar::Int(2));
            let all: Vec<Scalar<'_>> = values.sorted(false, false).collect();
            assert_eq!(all, [1, 2, 2, 3].map(Scalar::Int));
        });
        of(&Vector::of_words(Type::Int, Vec::new()), |values| {
            assert_eq!(values.most_frequent(false), Scalar::Null);
            assert_eq!(values.sorted(false, false).count(), 0);
        });
    }

    #[test]
    fn floats_come_back() {
        let floats = [1.5, f64::NEG_INFINITY, -2.25, f64::NAN, 0.0, f64::INFINITY];
        let vector = Vector::of_words(Type::Float, floats.map(|v| v.to_bits() as i64).to_vec());
        of(&vector, |values| {
            let all: Vec<Scalar<'_>> = values.sorted(false, false).collect();
            let sorted = [f64::NEG_INFINITY, -2.25, 0.0, 1.5, f64::INFINITY].map(Scalar::Float);
            assert_eq!(all[..5], sorted);
            assert!(matches!(all[5], Scalar::Float(v) if v.is_nan()));
        });
        let zeros = Vector::of_words(Type::Float, [0.0, -0.0_f64].map(|v| v.to_bits() as i64).to_vec());
        assert!(Ordered::new(&zeros, 0, &Bytewise).is_none());
    }

    #[test]
    fn numerics_need_one_scale() {
        let of_scales = |scales: [u16; 2]| Vector {
            scales: Some(scales.to_vec().into()),
            ..Vector::of_words(Type::Numeric, vec![10, 9])
        };
        of(&of_scales([1, 1]), |values| {
            assert_eq!(values.nth(0), Scalar::Decimal { mantissa: 9, scale: 1 });
        });
        assert!(Ordered::new(&of_scales([1, 2]), 0, &Bytewise).is_none());
        let same = [(10, 1), (1, 0)].map(|(mantissa, scale)| Scalar::Decimal { mantissa, scale });
        assert!(are_equal(same[0], same[1]) && !are_equal(same[0], Scalar::Null));
        assert!(are_equal(Scalar::Float(0.0), Scalar::Float(-0.0)));
    }

    #[test]
    fn text_has_the_collations_order() {
        #[derive(Debug)]
        struct Backwards;
        impl Collation for Backwards {
            fn compare(&self, _key: usize, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
                b.cmp(a)
            }
            fn is_bytewise(&self, _key: usize) -> bool {
                false
            }
        }
        // Two codes are the same string, as those of two batches may be.
        let strings: StringTable<'_> = ["b", "a", "b", "c"].into_iter().collect();
        for dictionary in [false, true] {
            let vector = Vector {
                dictionary,
                ..Vector::of_codes(vec![0, 1, 2, 3, 3, 2], strings.clone())
            };
            of(&vector, |values| {
                assert_eq!(values.nth(0), Scalar::Text(b"a"));
                assert_eq!(values.most_frequent(false), Scalar::Text(b"b"));
            });
            let mut values = Ordered::new(&vector, 0, &Backwards).expect("text");
            let distinct: Vec<Scalar<'_>> = values.sorted(false, true).collect();
            assert_eq!(distinct, [b"c", b"b", b"a"].map(|text| Scalar::Text(text)));
        }
    }
}
