//! The order of texts that begin alike, as times and numbers of one form do, in whichever collation.
//!
//! Collations differ in what they make of letters, of punctuation and of case; but that a greater digit makes a text
//! greater, where all before it is the same, holds in all of them that order the ten digits as usual. In those that
//! compare runs of digits as numbers it holds if the runs are of one length.

use std::cmp::Ordering;

use crate::evaluated::Evaluated;
use crate::operators::Comparison;
use crate::strings;
use crate::vector::Type;

/// Whether a constant is one that texts can be compared with here.
pub fn is_comparable(constant: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_digit() || b"-:.+T Z/".contains(byte);
    constant.first().is_some_and(u8::is_ascii_digit) && constant.iter().all(plain)
}

fn digits_from(text: &[u8], at: usize) -> usize {
    text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The order of a text and a comparable constant, if it is the same in all collations.
fn order(text: &[u8], constant: &[u8]) -> Option<Ordering> {
    let same = text.iter().zip(constant).take_while(|(a, b)| a == b).count();
    let digit_at = |text: &[u8], at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    // One that goes on behind a digit with a digit somewhere is greater than where the other ends.
    let goes_on = |rest: &[u8]| digit_at(text, same.wrapping_sub(1)) && rest.iter().any(u8::is_ascii_digit);
    match (same == text.len(), same == constant.len()) {
        (true, true) => Some(Ordering::Equal),
        (true, false) => goes_on(&constant[same..]).then_some(Ordering::Less),
        (false, true) => goes_on(&text[same..]).then_some(Ordering::Greater),
        (false, false) => {
            let both = digit_at(text, same) && digit_at(constant, same);
            let one_length = || digits_from(text, same) == digits_from(constant, same);
            (both && one_length()).then(|| text[same].cmp(&constant[same]))
        }
    }
}

/// The order of all texts that begin with these bytes and a comparable constant, if the bytes say it.
pub(crate) fn order_of_beginning(beginning: &[u8], constant: &[u8]) -> Option<Ordering> {
    order(beginning, constant).filter(|_| !constant.starts_with(beginning))
}

/// Whether an order of texts has the ten digits as usual.
pub fn are_ordered(compare: impl Fn(&[u8], &[u8]) -> Ordering) -> bool {
    b"0123456789"
        .windows(2)
        .all(|two| compare(&two[..1], &two[1..]).is_lt())
}

/// Texts compared with a constant.
pub(crate) fn compare<'a>(comparison: Comparison, text: Evaluated<'_>, constant: &[u8]) -> Evaluated<'a> {
    strings::words(text, Type::Bool, |text| {
        Some(i64::from(comparison.holds(order(text, constant)?)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_decide() {
        for (text, constant, expected) in [
            ("2026-03-01T12:30:00Z", "2026-03-01T13", Some(Ordering::Less)),
            ("2026-03-01T12:30:00Z", "2026-03-01T12", Some(Ordering::Greater)),
            ("2026-03-01", "2026-03-01T12", Some(Ordering::Less)),
            ("2026-03-01", "2026-03-01", Some(Ordering::Equal)),
            // As numbers 10 is greater than 9.
            ("10", "9", None),
            ("v10", "9", None),
            ("2026-03-01T", "2026-03-01", None),
            ("2026 03", "2026-03", None),
            ("2026-03-01x", "2026-03-01", None),
            ("", "1", None),
        ] {
            assert_eq!(
                order(text.as_bytes(), constant.as_bytes()),
                expected,
                "{text} {constant}"
            );
        }
        assert!(is_comparable(b"2026-03-01T12:00:00Z") && !is_comparable(b"a1") && !is_comparable(b""));
    }
}
