//! Telling from the bounds of a leaf's columns that none of its rows passes a condition (AMAX paper §4.2).

use amax_format::{Bound, Tag, Zone};

use crate::builder::VectorBuilder;
use crate::digits;
use crate::expr::Expr;
use crate::external::External;
use crate::operators::{Comparison, From, To};
use crate::vector::Scalar;
use crate::zones::{Zones, alike, zone_of};

/// Whether no row passes all conditions, and PostgreSQL, asking them in order, would not have met an error before it
/// knew.
pub fn passes_none<'e>(
    conditions: impl Iterator<Item = &'e Expr>,
    zones: &dyn Zones,
    external: &mut dyn External,
) -> bool {
    for condition in conditions {
        if !is_harmless(condition, zones, external) {
            return false;
        }
        if is_never_true(condition, zones, external) {
            return true;
        }
    }
    false
}

/// Whether evaluating it raises nothing in this leaf, and runs no subquery: for which row that is done first, if for
/// any, is for rows to tell.
pub fn is_harmless(expr: &Expr, zones: &dyn Zones, external: &dyn External) -> bool {
    let harmless = |expr: &Expr| is_harmless(expr, zones, external);
    match expr {
        Expr::Column(..) | Expr::Text(_) | Expr::IsMissing { .. } | Expr::JsonEquals(..) => true,
        Expr::Once { id, simple, .. } => *simple && external.is_known(*id),
        Expr::Cast { input, from, to } => zones.zone(*input).is_some_and(|zone| {
            let fits = match (to, zone.tag, zone.min, zone.max) {
                (To::Int { min, max }, Tag::Int, Bound::Int(a), Bound::Int(b)) => *min <= a && b <= *max,
                (To::Numeric, Tag::Int | Tag::Decimal, ..) | (To::Float, Tag::Int, ..) => true,
                // What is too small for a float is an error.
                (To::Float, Tag::Decimal, Bound::Int(a), Bound::Int(b)) => 1 <= a || b <= -1,
                (To::Bool, Tag::Bool, ..) => true,
                _ => false,
            };
            fits && (*from == From::Text || !zone.has_null)
        }),
        // All are known to be times; which, the session's time zone may say.
        Expr::Time(arg, _) => harmless(arg) && zone_of(arg, zones).is_some_and(|zone| zone.times.is_some()),
        Expr::Cut(arg, _) => harmless(arg) && zone_of(expr, zones).is_some(),
        Expr::Compare(_, left, right) => harmless(left) && harmless(right),
        Expr::Any(arg, _) => harmless(arg),
        Expr::Length { arg, .. }
        | Expr::Position { arg, .. }
        | Expr::TextFunction { arg, .. }
        | Expr::CompareDigits(_, arg, _)
        | Expr::IsNull(arg)
        | Expr::Not(arg)
        | Expr::Like(arg, _)
        | Expr::Else(arg, _) => harmless(arg),
        Expr::And(args) | Expr::Or(args) | Expr::Coalesce(args, _) | Expr::Extreme { args, .. } => {
            args.iter().all(harmless)
        }
        Expr::NullIf(left, right) | Expr::Concatenation(left, right) => harmless(left) && harmless(right),
        Expr::Case { arms, default, .. } => {
            arms.iter()
                .all(|(condition, result)| harmless(condition) && harmless(result))
                && harmless(default)
        }
        _ => false,
    }
}

/// Whether a harmless condition is false or NULL in all rows, as far as bounds tell.
fn is_never_true(expr: &Expr, zones: &dyn Zones, external: &mut dyn External) -> bool {
    match expr {
        Expr::And(args) => args.iter().any(|e| is_never_true(e, zones, external)),
        Expr::Or(args) => args.iter().all(|e| is_never_true(e, zones, external)),
        Expr::Any(arg, list) => zone_of(arg, zones).is_some_and(|zone| {
            let excludes = |constant: Scalar<'_>| excludes(Comparison::Equal, &zone, constant);
            !list.known(external).may_have(&zone, excludes)
        }),
        Expr::Like(arg, pattern) => has_no_text_from(arg, pattern.prefix(), zones),
        Expr::CompareDigits(comparison, arg, constant) => are_beyond(*comparison, arg, constant, zones),
        Expr::Compare(comparison, left, right) => {
            out_of_bounds(*comparison, left, right, zones, external)
                || out_of_bounds(comparison.flip(), right, left, zones, external)
        }
        _ => false,
    }
}

/// Whether no text begins so.
fn has_no_text_from(text: &Expr, prefix: &[u8], zones: &dyn Zones) -> bool {
    let Some((Bound::Prefix(min), Bound::Prefix(max))) = zone_of(text, zones).map(|zone| (zone.min, zone.max)) else {
        return false;
    };
    let order = |bound: amax_format::Prefix| bound.cut(prefix.len()).compare(prefix);
    order(min).is_gt() || order(max).is_lt()
}

/// Whether digits alone, in which texts and a constant differ, say that none compares so with it.
fn are_beyond(comparison: Comparison, text: &Expr, constant: &[u8], zones: &dyn Zones) -> bool {
    let (Some(zone), Some(alike)) = (zone_of(text, zones), alike(text, zones)) else {
        return false;
    };
    let order = |bound| match bound {
        Bound::Prefix(bound) => digits::order_of_beginning(bound.cut(alike).bytes(), constant),
        _ => None,
    };
    match comparison {
        Comparison::Less | Comparison::LessEqual => order(zone.min).is_some_and(std::cmp::Ordering::is_gt),
        Comparison::Greater | Comparison::GreaterEqual => order(zone.max).is_some_and(std::cmp::Ordering::is_lt),
        Comparison::Equal | Comparison::NotEqual => false,
    }
}

fn out_of_bounds(
    comparison: Comparison,
    value: &Expr,
    constant: &Expr,
    zones: &dyn Zones,
    external: &mut dyn External,
) -> bool {
    let (Some(zone), Expr::Once { id, ty, .. }) = (zone_of(value, zones), constant) else {
        return false;
    };
    let mut constant = VectorBuilder::new(*ty);
    external.once(*id, &mut constant);
    excludes(comparison, &zone, constant.finish().get(0))
}

/// Whether no value in the zone compares so with the constant.
fn excludes(comparison: Comparison, zone: &Zone, constant: Scalar<'_>) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    // How the smallest and the largest value compare with the constant; a bound that is not exact is never equal.
    let (min, max) = match (zone.min, zone.max, constant) {
        (_, _, Scalar::Null) => return true,
        (Bound::Int(min), Bound::Int(max), Scalar::Int(c)) => (min.cmp(&c), max.cmp(&c)),
        (Bound::Int(min), Bound::Int(max), Scalar::Decimal { mantissa, scale }) if scale <= 18 => {
            let unit = 10i128.pow(u32::from(scale));
            let order = |bound: i64| (i128::from(bound) * unit).cmp(&i128::from(mantissa));
            (order(min), order(max))
        }
        (Bound::Float(min), Bound::Float(max), Scalar::Float(c)) if !c.is_nan() && !max.is_nan() => (
            min.partial_cmp(&c).unwrap_or(Equal),
            max.partial_cmp(&c).unwrap_or(Equal),
        ),
        (Bound::Prefix(min), Bound::Prefix(max), Scalar::Text(c)) => {
            // What begins like the greatest may be greater; and like the least, not less, if that is all of the constant.
            let whole = c.len() <= min.bytes().len() && !c.contains(&0);
            let unless_equal = |order, instead| if order == Equal { instead } else { order };
            (
                unless_equal(min.compare(c), if whole { Equal } else { Less }),
                unless_equal(max.compare(c), Greater),
            )
        }
        _ => return false,
    };
    match comparison {
        Comparison::Equal => min == Greater || max == Less,
        Comparison::NotEqual => zone.tag == Tag::Int && min == Equal && max == Equal,
        Comparison::Less => min != Less,
        Comparison::LessEqual => min == Greater,
        Comparison::Greater => max != Greater,
        Comparison::GreaterEqual => max == Less,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zones::testing;

    #[test]
    fn comparisons_beyond_the_bounds() {
        let ints = testing::ints(10, 20);
        let int = Scalar::Int;
        use Comparison::*;
        for (comparison, c, excluded) in [
            (Equal, 9, true),
            (Equal, 10, false),
            (Equal, 21, true),
            (Less, 10, true),
            (Less, 11, false),
            (LessEqual, 9, true),
            (LessEqual, 10, false),
            (Greater, 20, true),
            (Greater, 19, false),
            (GreaterEqual, 21, true),
            (GreaterEqual, 20, false),
            (NotEqual, 10, false),
        ] {
            assert_eq!(excludes(comparison, &ints, int(c)), excluded, "{comparison:?} {c}");
        }
        assert!(excludes(NotEqual, &testing::ints(1, 1), int(1)));
    }

    #[test]
    fn prefixes_are_not_whole_strings() {
        let texts = testing::texts("bbbbbbbb", "dddddddd");
        let text = |c: &'static str| Scalar::Text(c.as_bytes());
        use Comparison::*;
        assert!(excludes(Equal, &texts, text("a")));
        assert!(excludes(Equal, &texts, text("e")));
        assert!(!excludes(Equal, &texts, text("ddddddddd")));
        assert!(!excludes(Greater, &texts, text("dddddddd")));
        assert!(!excludes(Less, &texts, text("bbbbbbbbb")));
        assert!(excludes(Less, &texts, text("bbbbbbbb")));
        assert!(!excludes(Less, &texts, text("bbbbbbbb\0")));
        assert!(!excludes(LessEqual, &texts, text("bbbbbbbb")));
        assert!(excludes(Less, &texts, text("a")));
    }
}
