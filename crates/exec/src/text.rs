//! Scalars of documents as the text that `->>` gives.

use amax_format::{Dense, Tag};

use crate::builder::VectorBuilder;
use crate::evaluated::Evaluated;
use crate::vector::Type;

/// The texts of rows that are not all strings. Containers, and numbers of an unusual form, are unsure.
pub(crate) fn spell(dense: &Dense, rows: &[u32]) -> Evaluated<'static> {
    let mut out = VectorBuilder::new(Type::Text);
    let mut unsure = Vec::new();
    let mut buffer = Vec::new();
    let strings = dense.strings();
    for (i, &row) in rows.iter().enumerate() {
        let row = row as usize;
        let word = dense.word(row);
        buffer.clear();
        match dense.tag(row) {
            Tag::String => out.push_text(strings.get(word as usize).unwrap_or_default()),
            Tag::Bool => out.push_text(if word != 0 { b"true" } else { b"false" }),
            Tag::Int => {
                decimal(word, 0, &mut buffer);
                out.push_text(&buffer);
            }
            Tag::Decimal => {
                decimal(word, usize::from(dense.scales()[row]), &mut buffer);
                out.push_text(&buffer);
            }
            tag => {
                out.push_null();
                if tag != Tag::Missing && tag != Tag::Null {
                    unsure.push(i as u32);
                }
            }
        }
    }
    Evaluated {
        vector: out.finish(),
        unsure,
    }
}

/// Appends `mantissa` / 10^`scale` with all its decimals.
fn decimal(mantissa: i64, scale: usize, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = mantissa.unsigned_abs();
    while rest > 0 || at == digits.len() {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let digits = &digits[at..];
    if mantissa < 0 {
        out.push(b'-');
    }
    let (whole, zeros) = (digits.len().saturating_sub(scale), scale.saturating_sub(digits.len()));
    match whole {
        0 => out.push(b'0'),
        _ => out.extend_from_slice(&digits[..whole]),
    }
    if scale > 0 {
        out.push(b'.');
        out.extend(std::iter::repeat_n(b'0', zeros));
        out.extend_from_slice(&digits[whole..]);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_have_all_their_decimals() {
        for (mantissa, scale, text) in [
            (0, 0, "0"),
            (-5, 1, "-0.5"),
            (150, 2, "1.50"),
            (7, 5, "0.00007"),
            (i64::MIN, 0, "-9223372036854775808"),
            (1, 1, "0.1"),
            (0, 2, "0.00"),
        ] {
            let mut out = Vec::new();
            super::decimal(mantissa, scale, &mut out);
            assert_eq!(String::from_utf8(out).as_deref(), Ok(text));
        }
    }
}
