//! Lists of constants that a value is compared with. What is in a long one is looked up: comparing it with each would take as many passes as there are.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::rc::Rc;

use amax_format::{Bound, Integers, Zone};
use amax_jsonb::numeric::Reduced;
use foldhash::fast::FixedState;

use crate::builder::VectorBuilder;
use crate::compare::reduced;
use crate::external::External;
use crate::vector::{Scalar, Type, Vector};

/// Up to so many constants are compared with one after the other.
const FEW: usize = 2;
/// Integers are looked up in bits where there are so many places for each.
const PLACES: u64 = 64;

/// Constants of one type.
#[derive(Clone, Debug)]
pub struct List {
    ty: Type,
    /// For [`External::once`].
    ids: Vec<usize>,
    known: Rc<OnceCell<Known>>,
}

/// What is known of the constants, once they have been asked for: they stay the same.
#[derive(Debug)]
pub(crate) struct Known {
    constants: Vector<'static>,
    /// Integers and texts by their order, without NULLs: their places.
    order: Vec<u32>,
    set: Set,
}

#[derive(Debug)]
enum Set {
    /// Few, or of a kind that is not looked up.
    Each,
    Bits(Integers),
    Words(Hashed<i64>),
    Floats(Hashed<u64>),
    Numbers(Hashed<Reduced>),
    Strings(Hashed<Box<[u8]>>),
}

type Hashed<T> = HashSet<T, FixedState>;

impl List {
    /// Of those that [`External::once`] has by these ids.
    pub fn new(ty: Type, ids: Vec<usize>) -> Self {
        let known = Rc::default();
        Self { ty, ids, known }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(crate) fn known(&self, external: &mut dyn External) -> &Known {
        self.known.get_or_init(|| {
            let mut constants = VectorBuilder::new(self.ty);
            self.ids.iter().for_each(|&id| external.once(id, &mut constants));
            Known::of(constants.finish())
        })
    }
}

impl Known {
    fn of(constants: Vector<'static>) -> Self {
        let valid = || (0..constants.len()).filter(|&i| constants.is_valid(i));
        let mut order: Vec<u32> = Vec::new();
        if matches!(constants.ty, Type::Int | Type::Text) {
            order.extend(valid().map(|i| i as u32));
        }
        match constants.ty {
            Type::Int => order.sort_unstable_by_key(|&i| constants.words[i as usize]),
            _ => order.sort_unstable_by_key(|&i| constants.string(i as usize)),
        }
        let set = match constants.ty {
            _ if constants.len() <= FEW => Set::Each,
            Type::Int => of_integers(order.iter().map(|&i| constants.words[i as usize])),
            // What has no mantissa however many decimals it displays is none of what has one.
            Type::Numeric => Set::Numbers(valid().filter_map(|i| reduced(&constants, i)).collect()),
            Type::Text => Set::Strings(valid().map(|i| constants.string(i).into()).collect()),
            Type::Float => Set::Floats(valid().map(|i| one_float(constants.words[i])).collect()),
            Type::Bool => Set::Each,
        };
        Self { constants, order, set }
    }

    /// Each by itself.
    pub fn constants(&self) -> impl Iterator<Item = Vector<'static>> {
        (0..self.constants.len()).map(|i| {
            let mut one = VectorBuilder::new(self.constants.ty);
            one.push_from(&self.constants, i);
            one.finish()
        })
    }

    pub fn has_null(&self) -> bool {
        (0..self.constants.len()).any(|i| !self.constants.is_valid(i))
    }

    /// Which values are among them, where they are looked up; of NULLs, and of numerics that have no mantissa, anything.
    pub fn find(&self, values: &Vector<'_>) -> Option<Vec<bool>> {
        let words = values.words.iter();
        Some(match &self.set {
            Set::Each => return None,
            Set::Bits(bits) => {
                let has = bits.has();
                words.map(|&word| has(word)).collect()
            }
            Set::Words(set) => words.map(|word| set.contains(word)).collect(),
            Set::Floats(set) => words.map(|&word| set.contains(&one_float(word))).collect(),
            Set::Numbers(set) => (0..values.len())
                .map(|i| set.contains(&Reduced::new(values.words[i], values.scale(i))))
                .collect(),
            Set::Strings(set) => {
                let few = |strings: &usize| values.dictionary && *strings <= values.len();
                match values.strings.as_ref().filter(|strings| few(&strings.len())) {
                    Some(strings) => {
                        let by_code: Vec<bool> =
                            (0..strings.len()).map(|code| set.contains(strings.get(code))).collect();
                        words
                            .map(|&word| by_code.get(word as usize).copied().unwrap_or(false))
                            .collect()
                    }
                    None => (0..values.len())
                        .map(|i| values.is_valid(i) && set.contains(values.string(i)))
                        .collect(),
                }
            }
        })
    }

    /// Whether there is one that a value within bounds may be, where `excludes` says of each whether it is none: in order, the first that is not less than all.
    pub fn may_have(&self, zone: &Zone, excludes: impl Fn(Scalar<'_>) -> bool) -> bool {
        let excluded = |i: usize| excludes(self.constants.get(i));
        let is_less = |i: u32| match (zone.min, self.constants.ty) {
            (Bound::Int(min), Type::Int) => Some(self.constants.words[i as usize] < min),
            (Bound::Prefix(min), Type::Text) => Some(min.compare(self.constants.string(i as usize)).is_gt()),
            _ => None,
        };
        match self.order.first().map(|&i| is_less(i)) {
            Some(Some(_)) => {
                let first = self.order.partition_point(|&i| is_less(i) == Some(true));
                self.order.get(first).is_some_and(|&i| !excluded(i as usize))
            }
            _ => (0..self.constants.len()).any(|i| !excluded(i)),
        }
    }
}

/// Of integers in ascending order.
fn of_integers(words: impl ExactSizeIterator<Item = i64> + DoubleEndedIterator + Clone) -> Set {
    let (first, last) = (words.clone().next(), words.clone().next_back());
    let span = first.zip(last).and_then(|(first, last)| last.checked_sub(first));
    match (first, span) {
        (Some(first), Some(span)) if (span as u64) < PLACES * words.len() as u64 => {
            let mut bits = Integers::new(first, span as usize + 1);
            words.for_each(|word| bits.add(word));
            Set::Bits(bits)
        }
        _ => Set::Words(words.collect()),
    }
}

/// The bits of a float: equal ones have the same.
fn one_float(bits: i64) -> u64 {
    match f64::from_bits(bits.cast_unsigned()) {
        float if float.is_nan() => f64::NAN.to_bits(),
        0.0 => 0,
        float => float.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::with_constant;
    use crate::operators::Comparison;
    use crate::zones::testing;
    use proptest::prelude::*;

    /// Constants, each NULL or made by `push`.
    struct Constants<T>(Vec<Option<T>>, fn(&T, &mut VectorBuilder));

    impl<T> External for Constants<T> {
        fn row(&mut self, _: usize, _: u32, _: &mut VectorBuilder) {}

        fn call(&mut self, _: usize, _: i64, _: &mut VectorBuilder) {}

        fn once(&mut self, id: usize, out: &mut VectorBuilder) {
            match &self.0[id] {
                Some(value) => self.1(value, out),
                None => out.push_null(),
            }
        }
    }

    /// What is found of values is what comparing them with each constant finds; NULLs apart.
    fn check<T: Clone>(ty: Type, values: &[T], list: Vec<Option<T>>, push: fn(&T, &mut VectorBuilder)) {
        let elements = List::new(ty, (0..list.len()).collect());
        let known = elements.known(&mut Constants(list.clone(), push));
        assert_eq!(known.has_null(), list.iter().any(Option::is_none));
        let vector = |of: &[T]| {
            let mut builder = VectorBuilder::new(ty);
            of.iter().for_each(|value| push(value, &mut builder));
            builder.finish()
        };
        let values = vector(values);
        let Some(found) = known.find(&values) else {
            assert!(list.len() <= FEW || ty == Type::Bool);
            return;
        };
        let mut expected = vec![false; values.len()];
        for constant in list.iter().flatten() {
            let equal = with_constant(Comparison::Equal, &values, &vector(std::slice::from_ref(constant)));
            expected.iter_mut().zip(equal).for_each(|(e, equal)| *e |= equal);
        }
        assert_eq!(found, expected);
    }

    fn float() -> impl Strategy<Value = f64> {
        prop_oneof![
            Just(0.0),
            Just(-0.0),
            Just(f64::NAN),
            Just(-f64::NAN),
            (-4..4i8).prop_map(f64::from)
        ]
    }

    proptest! {
        #[test]
        fn integers(values in prop::collection::vec(-9..9i64, 0..40), list in prop::collection::vec(prop::option::weighted(0.9, prop_oneof![-9..9i64, Just(i64::MAX), Just(i64::MIN)]), 0..20)) {
            check(Type::Int, &values, list, |&value, to| to.push_word(value));
        }

        #[test]
        fn floats(values in prop::collection::vec(float(), 0..40), list in prop::collection::vec(prop::option::weighted(0.9, float()), 0..20)) {
            check(Type::Float, &values, list, |value, to| to.push_word(value.to_bits().cast_signed()));
        }

        #[test]
        fn numbers(values in prop::collection::vec((-30..30i64, 0..4u16), 0..40), list in prop::collection::vec(prop::option::weighted(0.9, (-30..30i64, 0..4u16)), 0..20)) {
            check(Type::Numeric, &values, list, |&(mantissa, scale), to| {
                let text = format!("{mantissa}e-{scale}");
                to.push_numeric(&amax_jsonb::numeric::from_text(&text).expect("a number"));
            });
        }

        #[test]
        fn texts(values in prop::collection::vec("[ab]{0,2}", 0..40), list in prop::collection::vec(prop::option::weighted(0.9, "[ab]{0,2}"), 0..20)) {
            check(Type::Text, &values, list, |value: &String, to| to.push_text(value.as_bytes()));
        }

        /// A zone is left out only if no constant is within its bounds.
        #[test]
        fn bounds(list in prop::collection::vec(prop::option::weighted(0.9, -20..20i64), 0..12), min in -20..20i64, span in 0..10i64) {
            let elements = List::new(Type::Int, (0..list.len()).collect());
            let known = elements.known(&mut Constants(list.clone(), |&value, to| to.push_word(value)));
            let zone = testing::ints(min, min + span);
            let outside = |constant: Scalar<'_>| !matches!(constant, Scalar::Int(value) if min <= value && value <= min + span);
            let expected = list.iter().flatten().any(|&value| !outside(Scalar::Int(value)));
            prop_assert_eq!(known.may_have(&zone, outside), expected);
        }
    }

    #[test]
    fn decimals_without_an_end_of_zeros() {
        let payload = |text: &str| amax_jsonb::numeric::from_text(text).expect("a number");
        let list = ["0.030000000000000000000000", "1e30", "NaN"].map(|text| Some(payload(text)));
        let values = ["0.03", "0.04", "3"].map(payload);
        let elements = List::new(Type::Numeric, (0..list.len()).collect());
        let known = elements.known(&mut Constants(list.to_vec(), |value: &Vec<u8>, to| {
            to.push_numeric(value)
        }));
        let mut builder = VectorBuilder::new(Type::Numeric);
        values.iter().for_each(|value| builder.push_numeric(value));
        assert_eq!(known.find(&builder.finish()), Some(vec![true, false, false]));
    }

    #[test]
    fn texts_beyond_bounds() {
        let list: Vec<Option<&str>> = vec![Some("m"), Some("c"), None, Some("x")];
        let elements = List::new(Type::Text, (0..list.len()).collect());
        let known = elements.known(&mut Constants(list, |value, to| to.push_text(value.as_bytes())));
        let may_have = |min: &str, max: &str| {
            let zone = testing::texts(min, max);
            known.may_have(
                &zone,
                |constant| !matches!(constant, Scalar::Text(text) if min.as_bytes() <= text && text <= max.as_bytes()),
            )
        };
        assert!(may_have("a", "d") && may_have("m", "m") && may_have("d", "z"));
        assert!(!may_have("d", "l") && !may_have("n", "w") && !may_have("y", "z"));
    }
}
