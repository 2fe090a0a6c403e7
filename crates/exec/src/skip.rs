//! Telling from the bounds of a leaf's columns that none of its rows passes a condition (AMAX paper §4.2).

use amax_format::{Bound, Tag, Zone};

use crate::builder::VectorBuilder;
use crate::expr::Expr;
use crate::external::External;
use crate::operators::{Comparison, From, To};
use crate::vector::{Scalar, Type, Vector};

/// A leaf's bounds.
pub trait Zones {
    /// Those of input `input`, if they are known.
    fn zone(&self, input: usize) -> Option<Zone>;
    /// Whether all rows have a value of input `input` that is not null; false if it is not known.
    fn is_everywhere(&self, input: usize) -> bool;
}

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
        Expr::Compare(_, left, right) => harmless(left) && harmless(right),
        Expr::Any(arg, list) => harmless(arg) && list.iter().all(harmless),
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
        Expr::Any(arg, list) => list
            .iter()
            .all(|e| out_of_bounds(Comparison::Equal, arg, e, zones, external)),
        Expr::Like(arg, pattern) => has_no_text_from(arg, pattern.prefix(), zones),
        Expr::Compare(comparison, left, right) => {
            out_of_bounds(*comparison, left, right, zones, external)
                || out_of_bounds(comparison.flip(), right, left, zones, external)
        }
        _ => false,
    }
}

/// Whether no text begins so.
fn has_no_text_from(text: &Expr, prefix: &[u8], zones: &dyn Zones) -> bool {
    let (Expr::Text(input) | Expr::Column(input, Type::Text)) = text else {
        return false;
    };
    let Some(zone) = zones.zone(*input).filter(|zone| zone.tag == Tag::String) else {
        return false;
    };
    let (Bound::Prefix(min), Bound::Prefix(max)) = (zone.min, zone.max) else {
        return false;
    };
    let n = prefix.len().min(min.len());
    min[..n] > prefix[..n] || max[..n] < prefix[..n]
}

fn out_of_bounds(
    comparison: Comparison,
    value: &Expr,
    constant: &Expr,
    zones: &dyn Zones,
    external: &mut dyn External,
) -> bool {
    let (Expr::Column(input, _) | Expr::Text(input) | Expr::Cast { input, .. }, Expr::Once { id, ty, .. }) =
        (value, constant)
    else {
        return false;
    };
    let Some(zone) = zones.zone(*input) else {
        return false;
    };
    let is_text = matches!(value, Expr::Text(_) | Expr::Column(_, Type::Text));
    if is_text != (zone.tag == Tag::String) {
        return false;
    }
    let mut constant = VectorBuilder::new(*ty);
    external.once(*id, &mut constant);
    excludes(comparison, &zone, &constant.finish())
}

/// Whether no value in the zone compares so with the constant.
fn excludes(comparison: Comparison, zone: &Zone, constant: &Vector<'_>) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    // How the smallest and the largest value compare with the constant; a bound that is not exact is never equal.
    let (min, max) = match (zone.min, zone.max, constant.get(0)) {
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
            let mut prefix = [0; 8];
            let n = c.len().min(8);
            prefix[..n].copy_from_slice(&c[..n]);
            // Equal prefixes say nothing of what follows.
            let unless_equal = |order, instead| if order == Equal { instead } else { order };
            (
                unless_equal(min.cmp(&prefix), Less),
                unless_equal(max.cmp(&prefix), Greater),
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

    fn zone(tag: Tag, min: Bound, max: Bound) -> Zone {
        Zone {
            tag,
            has_null: false,
            min,
            max,
        }
    }

    #[test]
    fn comparisons_beyond_the_bounds() {
        let ints = zone(Tag::Int, Bound::Int(10), Bound::Int(20));
        let int = |c: i64| Vector::of_words(Type::Int, vec![c]);
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
            assert_eq!(excludes(comparison, &ints, &int(c)), excluded, "{comparison:?} {c}");
        }
        assert!(excludes(
            NotEqual,
            &zone(Tag::Int, Bound::Int(1), Bound::Int(1)),
            &int(1)
        ));
    }

    #[test]
    fn prefixes_are_not_whole_strings() {
        let texts = zone(Tag::String, Bound::Prefix(*b"bbbbbbbb"), Bound::Prefix(*b"dddddddd"));
        let text = |c: &str| {
            let mut builder = VectorBuilder::new(Type::Text);
            builder.push_text(c.as_bytes());
            builder.finish()
        };
        use Comparison::*;
        assert!(excludes(Equal, &texts, &text("a")));
        assert!(excludes(Equal, &texts, &text("e")));
        assert!(!excludes(Equal, &texts, &text("ddddddddd")));
        assert!(!excludes(Greater, &texts, &text("dddddddd")));
        assert!(!excludes(Less, &texts, &text("bbbbbbbbb")));
        assert!(excludes(Less, &texts, &text("a")));
    }
}
