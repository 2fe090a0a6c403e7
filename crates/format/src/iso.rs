//! Times in text, as ISO 8601 writes them. Only years of four digits.

/// Microseconds of a second.
pub const SECOND: i64 = 1_000_000;
/// Microseconds of a minute.
pub const MINUTE: i64 = 60 * SECOND;
/// Microseconds of an hour.
pub const HOUR: i64 = 60 * MINUTE;
/// Microseconds of a day.
pub const DAY: i64 = 24 * HOUR;

/// Bytes of a date, and of a date and a time without decimals.
pub(crate) const OF_DATE: usize = 10;
pub(crate) const OF_TIME: usize = 19;

/// What a text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsoTime {
    /// Days since 2000-01-01.
    pub day: i64,
    /// What is between date and time, `T` or a blank; none if it is a date alone.
    pub separator: Option<u8>,
    /// Microseconds since the day began.
    pub of_day: i64,
    /// Minutes that its time zone is ahead of UTC; none if it names none.
    pub ahead: Option<i16>,
}

impl IsoTime {
    /// What PostgreSQL's input functions of `date`, `timestamp` and `timestamptz` make of `YYYY-MM-DD`, or of that with `THH:MM:SS`, up
    /// to six decimals and a time zone as `Z` or a difference. No setting makes anything else of it, but where no zone is named.
    pub fn read(mut text: &[u8]) -> Option<Self> {
        let text = &mut text;
        let day = date(text)?;
        let date = |separator, of_day, ahead| Self {
            day,
            separator,
            of_day,
            ahead,
        };
        let Some(&separator) = text.first() else {
            return Some(date(None, 0, None));
        };
        skip(text, b'T').or_else(|| skip(text, b' '))?;
        let hour = digits(text, 2).filter(|&hour| hour < 24)?;
        skip(text, b':')?;
        let minute = digits(text, 2).filter(|&minute| minute < 60)?;
        skip(text, b':')?;
        let second = digits(text, 2).filter(|&second| second < 60)?;
        let mut of_day = hour * HOUR + minute * MINUTE + second * SECOND;
        if skip(text, b'.').is_some() {
            let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
            (1..=6).contains(&count).then_some(())?;
            of_day += digits(text, count)? * 10i64.pow(6 - count as u32);
        }
        Some(date(Some(separator), of_day, zone(text)?))
    }

    /// Microseconds since 2000-01-01, as it is written, whatever its time zone.
    pub fn local(self) -> i64 {
        self.day * DAY + self.of_day
    }
}

/// Days from 2000-01-01 to a date of the Gregorian calendar. Years are counted from March, so that the leap day is the last.
pub fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let from_march = (month + 9) % 12;
    let year = year - from_march / 10;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + (from_march * 153 + 2) / 5 + day - 1 - 730_425
}

/// The year, month and day of so many days since 2000-01-01.
pub fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 730_425;
    let (century, of_400) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let of_era = (of_400 - of_400 / 1460 + of_400 / 36_524 - of_400 / 146_096) / 365;
    let of_year = of_400 - (365 * of_era + of_era / 4 - of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = (from_march + 2) % 12 + 1;
    let year = of_era + 400 * century + i64::from(month <= 2);
    (year, month, of_year - (from_march * 153 + 2) / 5 + 1)
}

fn date(text: &mut &[u8]) -> Option<i64> {
    let year = digits(text, 4)?;
    skip(text, b'-')?;
    let month = digits(text, 2)?;
    skip(text, b'-')?;
    let day = digits(text, 2)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => 31,
    };
    let exists = year >= 1000 && (1..=12).contains(&month) && (1..=last).contains(&day);
    exists.then(|| days_of(year, month, day))
}

/// A number of exactly so many digits at the beginning of a text.
fn digits(text: &mut &[u8], count: usize) -> Option<i64> {
    let (number, rest) = text.split_at_checked(count)?;
    *text = rest;
    number.iter().try_fold(0, |value, digit| {
        digit.is_ascii_digit().then(|| value * 10 + i64::from(digit - b'0'))
    })
}

fn skip(text: &mut &[u8], byte: u8) -> Option<()> {
    let rest = text.strip_prefix(&[byte])?;
    *text = rest;
    Some(())
}

/// How far ahead a time zone is, in minutes, or that there is none; all of the text is that.
#[expect(clippy::option_option, reason = "no zone, and what is none")]
fn zone(text: &mut &[u8]) -> Option<Option<i16>> {
    let sign = match text.split_first() {
        None => return Some(None),
        Some((b'Z', [])) => return Some(Some(0)),
        Some((b'+', _)) => 1,
        Some((b'-', _)) => -1,
        Some(_) => return None,
    };
    *text = &text[1..];
    let hours = digits(text, 2).filter(|&hours| hours < 15)?;
    let minutes = match text.is_empty() {
        true => 0,
        false => {
            skip(text, b':')?;
            digits(text, 2).filter(|&minutes| minutes < 60)?
        }
    };
    text.is_empty().then_some(Some((sign * (hours * 60 + minutes)) as i16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_text() {
        let time = |separator, of_day, ahead| IsoTime {
            day: 1,
            separator,
            of_day,
            ahead,
        };
        for (text, expected) in [
            ("2000-01-02", Some(time(None, 0, None))),
            ("2000-01-02T01:00:00", Some(time(Some(b'T'), HOUR, None))),
            (
                "2000-01-02 01:00:00.5Z",
                Some(time(Some(b' '), HOUR + SECOND / 2, Some(0))),
            ),
            ("2000-01-02T00:00:00-05:30", Some(time(Some(b'T'), 0, Some(-330)))),
            ("2000-01-02T", None),
            ("2000-01-02T00:00:00Zx", None),
            ("2000-01-02T00:00:00+15", None),
            ("0999-01-02", None),
        ] {
            assert_eq!(IsoTime::read(text.as_bytes()), expected, "{text}");
        }
    }
}
