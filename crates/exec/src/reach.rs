//! Which leaves may have rows among the best, as their bounds tell, and which promise most.

use std::cmp::Ordering;

use amax_format::{Bound, Zone};

use crate::collation::Collation;
use crate::decimal::{Decimal, compare_small};
use crate::digits::{are_ordered, is_comparable, order_of_beginning};
use crate::expr::Expr;
use crate::order::{SortKey, Value, large, ordered};
use crate::top::Top;
use crate::vector::Type;
use crate::zones::{Zones, alike, input_of, zone_of};

impl<P: Copy> Top<P> {
    /// Whether some row may be among the best whose first key `key` is within a leaf's bounds.
    pub fn reaches(&self, key: &Expr, zones: &dyn Zones, collation: &dyn Collation) -> bool {
        let Some(last) = &self.best.last else { return true };
        let (order, last) = (&self.asked.keys[0], &last[0]);
        let equal = self.asked.ties || self.asked.keys.len() > 1;
        // Nothing comes before NULLs that come first.
        if matches!(last, Value::Null) && order.nulls_first && !equal {
            return false;
        }
        let (Some(input), Some(zone)) = (input_of(key), zone_of(key, zones)) else {
            return true;
        };
        let may_be_null = || zone.has_null || !zones.is_everywhere(input);
        // What a NULL is worth, and a value beside a NULL.
        let of_null = match last {
            Value::Null => Ordering::Equal,
            _ => order.null_and_value(),
        };
        let keeps = |order: Ordering| order.is_lt() || equal && order.is_eq();
        if keeps(of_null) && may_be_null() {
            return true;
        }
        let best = match (last, order.best_bound(&zone)) {
            (Value::Null, _) => return keeps(order.null_and_value().reverse()),
            (Value::Word(last), Bound::Int(bound)) if order.ty == Type::Float => {
                ordered((bound as f64).to_bits() as i64).cmp(last)
            }
            (Value::Word(last), Bound::Int(bound)) => bound.cmp(last),
            (Value::Word(last), Bound::Float(bound)) => ordered(bound.to_bits() as i64).cmp(last),
            (&Value::Small(mantissa, scale), Bound::Int(bound)) => compare_small(bound, 0, mantissa, scale),
            (Value::Large(last), Bound::Int(bound)) => Decimal::small(bound, 0).cmp(&large(last)),
            (Value::Text(last), Bound::Prefix(bound)) if collation.is_bytewise(0) => {
                // Equal prefixes say nothing of what follows.
                return order.directed(bound.compare(last)).is_le();
            }
            // Of digits in which texts of one form differ all collations think alike.
            (Value::Text(last), Bound::Prefix(bound)) => {
                let usual = is_comparable(last) && are_ordered(|a, b| collation.compare(0, a, b));
                let alike = alike(key, zones).filter(|_| usual);
                let apart = alike.and_then(|alike| order_of_beginning(bound.cut(alike).bytes(), last));
                return apart.is_none_or(|apart| order.directed(apart).is_lt());
            }
            _ => return true,
        };
        keeps(order.directed(best))
    }
}

impl SortKey {
    /// The bound that the best value is within.
    fn best_bound(&self, zone: &Zone) -> Bound {
        match self.descending {
            true => zone.max,
            false => zone.min,
        }
    }

    /// A number that says which leaves to read before others: those first whose bounds of the key promise the best rows.
    pub fn rank(&self, key: &Expr, zones: &dyn Zones) -> i64 {
        let (Some(input), Some(zone)) = (input_of(key), zone_of(key, zones)) else {
            return i64::MIN;
        };
        if self.nulls_first && (zone.has_null || !zones.is_everywhere(input)) {
            return i64::MIN;
        }
        let rank = match (self.best_bound(&zone), zone.times) {
            (Bound::Int(bound), _) => bound,
            (Bound::Float(bound), _) => ordered(bound.to_bits() as i64),
            // Times mostly begin alike.
            (Bound::Prefix(_), Some(times)) if self.descending => times.max,
            (Bound::Prefix(_), Some(times)) => times.min,
            (Bound::Prefix(bound), None) => {
                let first = bound.bytes().iter().chain(std::iter::repeat(&0)).take(8);
                (first.fold(0, |word, &byte| word << 8 | u64::from(byte)) ^ 1 << 63) as i64
            }
        };
        if self.descending { !rank } else { rank }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collation::Bytewise;
    use crate::operators::To;
    use crate::times::TimeType;
    use crate::top::tests::{key, vector};
    use crate::vector::Scalar;
    use crate::zones::testing;
    use amax_format::{Prefix, Tag, Times, iso};

    /// Bounds of one input.
    struct Leaf(Zone, bool);

    impl Zones for Leaf {
        fn zone(&self, _input: usize) -> Option<Zone> {
            Some(self.0)
        }

        fn is_everywhere(&self, _input: usize) -> bool {
            self.1
        }
    }

    /// Whether bounds reach the best three of ten rows; alone, and beside a further key.
    fn reach(key: SortKey, values: &[Scalar<'_>], expr: &Expr, leaf: &Leaf) -> (bool, bool) {
        let [alone, beside] = [1, 2].map(|keys| {
            let mut top = Top::new(vec![key; keys], 3, false);
            assert!(top.reaches(expr, leaf, &Bytewise), "nothing has been met");
            let vector = vector(key.ty, values);
            top.add(&vec![vector; keys], values.len(), &Bytewise, |i| i);
            top.reaches(expr, leaf, &Bytewise)
        });
        (alone, beside)
    }

    #[test]
    fn bounds_that_cannot_reach() {
        let leaf = |min, max, everywhere| Leaf(testing::ints(min, max), everywhere);
        let ints: Vec<Scalar<'_>> = (10..20).map(Scalar::Int).collect();
        let floats: Vec<Scalar<'_>> = (10..20).map(|n| Scalar::Float(f64::from(n))).collect();
        let numerics: Vec<Scalar<'_>> = (10..20)
            .map(|n| Scalar::Decimal {
                mantissa: n * 10,
                scale: 1,
            })
            .collect();
        let cast = |to| Expr::Cast {
            input: 0,
            from: crate::operators::From::Text,
            to,
        };
        for (ty, values, expr) in [
            (Type::Int, &ints, Expr::Column(0, Type::Int)),
            (Type::Float, &floats, cast(To::Float)),
            (Type::Numeric, &numerics, cast(To::Numeric)),
        ] {
            for nulls_first in [false, true] {
                let (up, down) = (key(ty, false, nulls_first), key(ty, true, nulls_first));
                let reach = |key, leaf: &Leaf| reach(key, values, &expr, leaf);
                assert_eq!(reach(up, &leaf(11, 90, true)), (true, true));
                assert_eq!(reach(up, &leaf(12, 90, true)), (false, true));
                assert_eq!(reach(up, &leaf(13, 90, true)), (false, false));
                assert_eq!(reach(down, &leaf(0, 18, true)), (true, true));
                assert_eq!(reach(down, &leaf(0, 17, true)), (false, true));
                assert_eq!(reach(down, &leaf(0, 16, true)), (false, false));
                assert_eq!(reach(up, &leaf(13, 90, false)), (nulls_first, nulls_first));
                assert_eq!(reach(down, &leaf(0, 16, false)), (nulls_first, nulls_first));
                // What promises more comes first.
                let rank = |key: SortKey, leaf: &Leaf| key.rank(&expr, leaf);
                assert!(rank(up, &leaf(1, 90, true)) < rank(up, &leaf(2, 3, true)));
                assert!(rank(down, &leaf(1, 90, true)) < rank(down, &leaf(2, 3, true)));
            }
        }
        // NULLs among the best.
        let nulls = [Scalar::Null, Scalar::Null, Scalar::Int(1), Scalar::Int(2)];
        let (first, last) = (key(Type::Int, false, true), key(Type::Int, false, false));
        let expr = Expr::Column(0, Type::Int);
        let all_null = vec![Scalar::Null; 4];
        assert_eq!(reach(first, &all_null, &expr, &leaf(0, 0, true)), (false, false));
        assert_eq!(reach(first, &all_null, &expr, &leaf(0, 0, false)), (false, true));
        assert_eq!(reach(last, &all_null, &expr, &leaf(90, 90, true)), (true, true));
        assert_eq!(reach(first, &nulls, &expr, &leaf(1, 1, true)), (false, true));
        assert_eq!(reach(last, &nulls, &expr, &leaf(1, 1, true)), (true, true));
    }

    #[test]
    fn bounds_of_text_are_prefixes() {
        let texts: Vec<String> = (0..9).map(|i| format!("2024-01-0{i}")).collect();
        let texts: Vec<Scalar<'_>> = texts.iter().map(|text| Scalar::Text(text.as_bytes())).collect();
        let leaf = |min: &str, max: &str| Leaf(testing::texts(min, max), true);
        let expr = Expr::Text(0);
        let (up, down) = (key(Type::Text, false, false), key(Type::Text, true, true));
        assert_eq!(reach(up, &texts, &expr, &leaf("2024-01-", "2025-01-")), (true, true));
        assert_eq!(reach(up, &texts, &expr, &leaf("2024-02-", "2025-01-")), (false, false));
        assert_eq!(reach(down, &texts, &expr, &leaf("2022-02-", "2024-01-")), (true, true));
        assert_eq!(
            reach(down, &texts, &expr, &leaf("2022-02-", "2023-12-")),
            (false, false)
        );
        assert_eq!(
            reach(up, &texts, &expr, &leaf("2024-01-03", "2024-02-01")),
            (false, false)
        );
        assert_eq!(
            reach(up, &texts, &expr, &leaf("2024-01-02", "2024-02-01")),
            (true, true)
        );
    }

    /// An order that is not that of bytes.
    #[derive(Debug)]
    struct Backwards;

    impl Collation for Backwards {
        fn compare(&self, _key: usize, a: &[u8], b: &[u8]) -> Ordering {
            b.cmp(a)
        }

        fn is_bytewise(&self, _key: usize) -> bool {
            false
        }
    }

    /// One that differs from that of bytes, but for digits.
    #[derive(Debug)]
    struct LowerFirst;

    impl Collation for LowerFirst {
        fn compare(&self, _key: usize, a: &[u8], b: &[u8]) -> Ordering {
            a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
        }

        fn is_bytewise(&self, _key: usize) -> bool {
            false
        }
    }

    #[test]
    fn bounds_of_times() {
        let texts: Vec<String> = (10..20).map(|i| format!("2024-01-{i}T00:00:00Z")).collect();
        let texts: Vec<Scalar<'_>> = texts.iter().map(|text| Scalar::Text(text.as_bytes())).collect();
        let leaf = |min: &str, max: &str| {
            let bound = |text: &str| Bound::Prefix(Prefix::of(text.as_bytes(), text.len()));
            let local = |text: &str| iso::IsoTime::read(text.as_bytes()).expect("a time").local();
            let times = Times {
                min: local(min),
                max: local(max),
                ahead: Some((0, 60)),
                alike: 19,
            };
            let zone = Zone {
                tag: Tag::String,
                has_null: false,
                min: bound(min),
                max: bound(max),
                times: Some(times),
            };
            Leaf(zone, true)
        };
        let near = leaf("2024-01-12T00:00:01Z", "2024-01-16T23:59:59Z");
        let expr = Expr::Text(0);
        for descending in [false, true] {
            let key = key(Type::Text, descending, false);
            let reaches = |collation: &dyn Collation, leaf: &Leaf| {
                let mut top = Top::new(vec![key], 3, false);
                top.add(&[vector(Type::Text, &texts)], texts.len(), collation, |i| i);
                top.reaches(&expr, leaf, collation)
            };
            assert!(!reaches(&Bytewise, &near));
            assert!(!reaches(&LowerFirst, &near));
            assert!(reaches(&Backwards, &near));
            assert!(reaches(
                &LowerFirst,
                &leaf("2024-01-12T00:00:00Z", "2024-01-17T00:00:00Z")
            ));
            // Later leaves come first, or earlier ones.
            let rank = |min, max| key.rank(&expr, &leaf(min, max));
            let (early, late) = (
                rank("2024-01-12T00:00:00Z", "2024-01-12T00:00:01Z"),
                rank("2024-01-12T00:00:02Z", "2024-01-12T00:00:03Z"),
            );
            assert_eq!(early < late, !descending);
        }
        // Cast, the last of the best is an instant of the 12th or the 17th; clocks may be an hour ahead.
        let cast = Expr::Time(Box::new(Expr::Text(0)), TimeType::TimestampTz);
        let instants: Vec<Scalar<'_>> = (10..20)
            .map(|day| Scalar::Int(iso::days_of(2024, 1, day) * iso::DAY))
            .collect();
        for (descending, min, max, expected) in [
            (false, "2024-01-12T01:00:00Z", "2024-01-13T00:00:00Z", false),
            (false, "2024-01-12T00:59:59Z", "2024-01-13T00:00:00Z", true),
            (true, "2024-01-12T00:00:00Z", "2024-01-17T00:00:00Z", false),
            (true, "2024-01-12T00:00:00Z", "2024-01-17T00:00:01Z", true),
        ] {
            let found = reach(key(Type::Int, descending, false), &instants, &cast, &leaf(min, max)).0;
            assert_eq!(found, expected, "{min} {max}");
        }
    }
}
