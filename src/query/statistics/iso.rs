//! Times as ISO 8601 writes them.

/// Whether PostgreSQL reads it as a date, a timestamp or one with a time zone, whatever the session's settings are:
/// `2024-11-21`, then perhaps `T20:15:07.5` (or a space), then perhaps `Z` or `+01:00`. No leap seconds, no hour 24.
pub fn is_iso(text: &[u8]) -> bool {
    let Some((year, month, day)) = date(text) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => 31,
    };
    if year == 0 || !(1..=12).contains(&month) || !(1..=days).contains(&day) {
        return false;
    }
    match text.get(10) {
        None => true,
        Some(b'T' | b' ') => is_time(&text[11..]),
        _ => false,
    }
}

fn date(text: &[u8]) -> Option<(u32, u32, u32)> {
    let dashes = text.get(4) == Some(&b'-') && text.get(7) == Some(&b'-');
    let parts = (number(text, 0, 4)?, number(text, 5, 2)?, number(text, 8, 2)?);
    dashes.then_some(parts)
}

/// `20:15:07`, with decimals and a zone.
fn is_time(text: &[u8]) -> bool {
    let colons = text.get(2) == Some(&b':') && text.get(5) == Some(&b':');
    let below = |at, most| number(text, at, 2).is_some_and(|n| n < most);
    if !colons || !below(0, 24) || !below(3, 60) || !below(6, 60) {
        return false;
    }
    let rest = &text[8..];
    let rest = match rest.strip_prefix(b".") {
        Some(decimals) => {
            let digits = decimals.iter().take_while(|c| c.is_ascii_digit()).count();
            if !(1..=9).contains(&digits) {
                return false;
            }
            &decimals[digits..]
        }
        None => rest,
    };
    match rest {
        [] | [b'Z'] => true,
        [b'+' | b'-', zone @ ..] => {
            let hours = number(zone, 0, 2).is_some_and(|n| n < 15);
            let minutes = zone.get(2) == Some(&b':') && number(zone, 3, 2).is_some_and(|n| n < 60);
            hours && (zone.len() == 2 || zone.len() == 5 && minutes)
        }
        _ => false,
    }
}

/// So many digits.
fn number(text: &[u8], at: usize, digits: usize) -> Option<u32> {
    let digits = text.get(at..at + digits)?;
    let all = digits.iter().all(u8::is_ascii_digit);
    all.then(|| digits.iter().fold(0, |n, digit| n * 10 + u32::from(digit - b'0')))
}
