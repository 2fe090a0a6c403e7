//! Bounds of byte strings: how they begin, and what is known of them if all are times.

use crate::iso::{self, IsoTime};
use crate::strings::ByteVec;

/// Bytes of a bound at most.
pub(crate) const MOST: usize = 32;
/// Bytes that every bound has, and that tell strings apart behind what all have in common.
pub(crate) const LEAST: usize = 8;

/// How a bound of byte strings begins, zero padded. An upper bound is one of the prefix only: values may continue after it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    bytes: [u8; MOST],
    len: u8,
}

impl Prefix {
    /// The first `len` bytes of a text, 32 at most, zero padded.
    pub fn of(text: &[u8], len: usize) -> Self {
        let len = len.min(MOST);
        let mut bytes = [0; MOST];
        let n = text.len().min(len);
        bytes[..n].copy_from_slice(&text[..n]);
        Self { bytes, len: len as u8 }
    }

    /// The first bytes of the bound.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// No more than so many of them: a bound of what begins so.
    #[must_use]
    pub fn cut(&self, len: usize) -> Self {
        Self::of(self.bytes(), len.min(self.len.into()))
    }

    /// The order of the bound and a text's first bytes; of equal ones nothing is said of what follows.
    pub fn compare(&self, text: &[u8]) -> std::cmp::Ordering {
        self.bytes.cmp(&Self::of(text, self.len.into()).bytes)
    }
}

impl std::fmt::Debug for Prefix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.bytes().escape_ascii())
    }
}

/// What is known of strings that all are times as [`IsoTime`] reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The least as written ([`IsoTime::local`]).
    pub min: i64,
    /// The greatest as written.
    pub max: i64,
    /// Minutes that the time zones are ahead of UTC, the least and the greatest; none if a time names none.
    pub ahead: Option<(i16, i16)>,
    /// How many of their first bytes have digits at the same places, and the same characters between them: those of dates,
    /// or if all are times behind the same character, those up to the decimals.
    pub alike: u8,
}

impl Times {
    fn of(strings: &ByteVec) -> Option<Self> {
        let first = IsoTime::read(strings.iter().next()?)?;
        let mut times = Self {
            min: first.local(),
            max: first.local(),
            ahead: first.ahead.map(|ahead| (ahead, ahead)),
            alike: match first.separator {
                Some(_) => iso::OF_TIME as u8,
                None => iso::OF_DATE as u8,
            },
        };
        for string in strings.iter() {
            let time = IsoTime::read(string)?;
            times.min = times.min.min(time.local());
            times.max = times.max.max(time.local());
            let both = times.ahead.zip(time.ahead);
            times.ahead = both.map(|((least, most), ahead)| (least.min(ahead), most.max(ahead)));
            if time.separator != first.separator {
                times.alike = iso::OF_DATE as u8;
            }
        }
        Some(times)
    }

    /// Whether that can be: bytes read may say anything.
    pub(crate) fn is_sound(&self) -> bool {
        let alike = [iso::OF_DATE, iso::OF_TIME].contains(&self.alike.into());
        self.min <= self.max && alike && self.ahead.is_none_or(|(least, most)| least <= most)
    }
}

/// The bounds of byte strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strings {
    pub(crate) min: Prefix,
    /// As long.
    pub(crate) max: Prefix,
    pub(crate) times: Option<Times>,
}

/// Bounds of one length: eight bytes behind what all have in common; of times, all that fits.
pub(crate) fn of(strings: &ByteVec) -> Option<Strings> {
    // Most are told apart by their first bytes.
    let word = |string: &[u8]| match string.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => u64::from_be_bytes(*Prefix::of(string, LEAST).bytes.first_chunk().expect("eight bytes")),
    };
    let first = word(strings.iter().next()?);
    let words = strings.iter().map(word);
    let (low, high) = words.fold((first, first), |(min, max), word| (min.min(word), max.max(word)));
    let min = strings.iter().filter(|string| word(string) == low).min()?;
    let max = strings.iter().filter(|string| word(string) == high).max()?;
    let times = Times::of(strings);
    let common = min.iter().zip(max).take_while(|(a, b)| a == b).count();
    let len = match times {
        None => common + LEAST,
        Some(_) => MOST,
    };
    let len = len.min(min.len().max(max.len())).clamp(LEAST, MOST);
    Some(Strings {
        min: Prefix::of(min, len),
        max: Prefix::of(max, len),
        times,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(texts: &[&str]) -> (String, String, Option<Times>) {
        let mut strings = ByteVec::default();
        for text in texts {
            strings.push(text.as_bytes()).expect("memory");
        }
        let found = of(&strings).expect("bounds");
        let show = |prefix: Prefix| {
            String::from_utf8(prefix.bytes().to_vec())
                .expect("UTF-8")
                .replace('\0', "0")
        };
        (show(found.min), show(found.max), found.times)
    }

    #[test]
    fn what_is_common_does_not_count() {
        for (texts, min, max) in [
            (&["b", "a"][..], "a0000000", "b0000000"),
            (&["alphabetical", "beta"], "alphabet", "beta0000"),
            (&["alphabetical", "alpine"], "alphabetica", "alpine00000"),
            (&["same text"], "same text", "same text"),
            (
                &[
                    "a long text that goes on and on",
                    "a long text that goes on and on and on",
                ],
                "a long text that goes on and on0",
                "a long text that goes on and on ",
            ),
        ] {
            assert_eq!(bounds(texts), (min.to_owned(), max.to_owned(), None), "{texts:?}");
        }
    }

    #[test]
    fn texts_that_all_are_times() {
        let second = iso::SECOND;
        let times = |texts: &[&str]| {
            bounds(texts)
                .2
                .map(|t| (t.min / second, t.max / second, t.ahead, t.alike))
        };
        for (texts, expected) in [
            (
                &["2000-01-01T00:00:00Z", "2000-01-01T00:00:01.5Z"][..],
                Some((0, 1, Some((0, 0)), 19)),
            ),
            (
                &["2000-01-01T01:00:00+01", "2000-01-01T00:00:00-02:30"],
                Some((0, 3600, Some((-150, 60)), 19)),
            ),
            (&["2000-01-01T00:00:00Z", "2000-01-01T00:00:01"], Some((0, 1, None, 19))),
            (
                &["2000-01-01T00:00:00Z", "2000-01-01 00:00:01Z"],
                Some((0, 1, Some((0, 0)), 10)),
            ),
            (&["2000-01-01", "2000-01-02"], Some((0, 86_400, None, 10))),
            (&["2000-01-01", "2000-01-01T00:00:01Z"], Some((0, 1, None, 10))),
            (&["2000-01-01", "2000-01-32"], None),
            (&["2000-01-01", "today"], None),
        ] {
            assert_eq!(times(texts), expected, "{texts:?}");
        }
        let (min, max, _) = bounds(&["2026-11-21T20:15:00.123456+05:30", "1999-01-01"]);
        assert_eq!(
            (&*min, &*max),
            ("1999-01-010000000000000000000000", "2026-11-21T20:15:00.123456+05:30")
        );
    }

    #[test]
    fn a_prefix_is_compared_as_far_as_it_goes() {
        use std::cmp::Ordering::*;
        let prefix = Prefix::of(b"2026-11-21T20", 10);
        assert_eq!(prefix.bytes(), b"2026-11-21");
        for (text, expected) in [
            ("2026-11-21T20", Equal),
            ("2026-11-2", Greater),
            ("2026-11-22", Less),
            ("", Greater),
        ] {
            assert_eq!(prefix.compare(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(prefix.cut(4), Prefix::of(b"2026", 4));
        assert_eq!(prefix.cut(40), prefix);
    }
}
