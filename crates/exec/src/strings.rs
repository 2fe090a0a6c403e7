//! Functions of one text beside constants, as PostgreSQL's varlena.c and oracle_compat.c have them.

use memchr::memmem;

use crate::evaluated::{Evaluated, union};
use crate::vector::{StringTable, Type, Vector};

/// A function of a text, whose result is a text. Counts are of characters, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextFunction {
    /// `left`: so many, or all but so many of the last.
    Left(i32),
    /// `right`: so many, or all but so many of the first.
    Right(i32),
    /// `substring` from a character on, before another.
    Substring {
        /// The first; there may be none so early.
        start: i64,
        /// Behind the last.
        end: i64,
    },
    /// `upper`, of ASCII.
    Upper,
    /// `lower`, of ASCII.
    Lower,
    /// `btrim`, `ltrim` and `rtrim`, of spaces.
    Trim {
        /// In front.
        start: bool,
        /// At the end.
        end: bool,
    },
    /// `split_part`: the piece of this number between delimiters, which are not empty.
    SplitPart {
        /// What is between them.
        delimiter: Vec<u8>,
        /// Counted from 0.
        piece: usize,
    },
    /// `replace` of what is not empty.
    Replace {
        /// What goes.
        from: Vec<u8>,
        /// What comes.
        to: Vec<u8>,
    },
    /// `||` with constants before and behind.
    Surround(Vec<u8>, Vec<u8>),
}

impl TextFunction {
    /// Appends its value; false if that is not known.
    fn apply(&self, text: &[u8], utf8: bool, out: &mut Vec<u8>) -> bool {
        let at = |count: usize| offset(text, count, utf8);
        let taken = match self {
            Self::Left(count) if *count >= 0 => &text[..at(*count as usize)],
            Self::Left(less) => &text[..from_end(text, less.unsigned_abs() as usize, utf8)],
            Self::Right(count) if *count >= 0 => &text[from_end(text, *count as usize, utf8)..],
            Self::Right(less) => &text[at(less.unsigned_abs() as usize)..],
            Self::Substring { start, end } => {
                let (start, end) = ((*start).max(1), (*end).max(1));
                let from = at(usize::try_from(start - 1).unwrap_or(usize::MAX));
                let length = usize::try_from(end - start).unwrap_or(0);
                &text[from..][..offset(&text[from..], length, utf8)]
            }
            Self::Upper | Self::Lower if !text.is_ascii() => return false,
            Self::Upper => {
                out.extend(text.iter().map(u8::to_ascii_uppercase));
                return true;
            }
            Self::Lower => {
                out.extend(text.iter().map(u8::to_ascii_lowercase));
                return true;
            }
            Self::Trim { start, end } => {
                let kept = |byte: &u8| *byte != b' ';
                let from = if *start {
                    text.iter().position(kept).unwrap_or(text.len())
                } else {
                    0
                };
                let to = if *end {
                    text.iter().rposition(kept).map_or(0, |at| at + 1)
                } else {
                    text.len()
                };
                &text[from..to.max(from)]
            }
            Self::SplitPart { delimiter, piece } => split_part(text, delimiter, *piece),
            Self::Replace { from, to } => {
                let mut rest = 0;
                for found in memmem::find_iter(text, from) {
                    out.extend_from_slice(&text[rest..found]);
                    out.extend_from_slice(to);
                    rest = found + from.len();
                }
                &text[rest..]
            }
            Self::Surround(before, behind) => {
                out.extend_from_slice(before);
                out.extend_from_slice(text);
                behind
            }
        };
        out.extend_from_slice(taken);
        true
    }
}

fn split_part<'t>(text: &'t [u8], delimiter: &[u8], piece: usize) -> &'t [u8] {
    let mut ends = memmem::find_iter(text, delimiter);
    let start = match piece {
        0 => Some(0),
        _ => ends.nth(piece - 1).map(|end| end + delimiter.len()),
    };
    match (start, ends.next()) {
        (Some(start), end) => &text[start..end.unwrap_or(text.len())],
        (None, _) => b"",
    }
}

/// Whether a byte begins a character of UTF-8.
fn begins(byte: u8) -> bool {
    byte as i8 >= -0x40
}

/// Where character `count`, from 0, begins: the end, if there are no more.
fn offset(text: &[u8], count: usize, utf8: bool) -> usize {
    if !utf8 || text[..count.min(text.len())].is_ascii() {
        return count.min(text.len());
    }
    let mut characters = (0..text.len()).filter(|&at| begins(text[at]));
    characters.nth(count).unwrap_or(text.len())
}

/// Where the last `count` characters begin: 0, if there are no more.
fn from_end(text: &[u8], count: usize, utf8: bool) -> usize {
    match (utf8, count) {
        (_, 0) => text.len(),
        (false, _) => text.len().saturating_sub(count),
        (true, _) => {
            let mut characters = (0..text.len()).rev().filter(|&at| begins(text[at]));
            characters.nth(count - 1).unwrap_or(0)
        }
    }
}

/// The place of the first character of `sought` in a text, from 1; 0: it is not there.
pub(crate) fn position(text: &[u8], sought: &[u8], utf8: bool) -> i64 {
    memmem::find(text, sought).map_or(0, |at| length(&text[..at], utf8) + 1)
}

/// How many characters a text has, of UTF-8 or of one byte each.
pub(crate) fn length(text: &[u8], utf8: bool) -> i64 {
    match utf8 {
        true => text.iter().filter(|&&byte| begins(byte)).count() as i64,
        false => text.len() as i64,
    }
}

/// A text of each text. Work is done once per string of a dictionary.
pub(crate) fn map<'a>(text: Evaluated<'_>, function: &TextFunction, utf8: bool) -> Evaluated<'a> {
    let view = text.vector.view();
    let mut out = StringTable::default();
    let mut buffer = Vec::new();
    let mut apply = |string: &[u8]| {
        buffer.clear();
        let known = function.apply(string, utf8, &mut buffer);
        out.push(&buffer);
        known
    };
    let rows = view.words.len();
    let mut unsure = Vec::new();
    let by_code = text.vector.strings.as_ref();
    let by_code = by_code.filter(|strings| view.dictionary && strings.len() <= rows);
    let words: Vec<i64> = match by_code {
        Some(strings) => {
            let known: Vec<bool> = (0..strings.len()).map(|code| apply(strings.get(code))).collect();
            let open = (0..rows).filter(|&i| view.is_valid(i) && !known[view.words[i] as usize]);
            unsure.extend(open.map(|i| i as u32));
            view.words.to_vec()
        }
        None => {
            for i in 0..rows {
                let string = if view.is_valid(i) { view.string(i) } else { b"" };
                if !apply(string) {
                    unsure.push(i as u32);
                }
            }
            (0..rows as i64).collect()
        }
    };
    let dictionary = by_code.is_some();
    let mut vector = Vector::of_codes(words, out);
    vector.dictionary = dictionary;
    vector.valid = text.vector.valid.map(|valid| valid.into_owned().into());
    Evaluated {
        vector,
        unsure: union(text.unsure, unsure),
    }
}

/// A word of each text; `None` is unsure. Work is done once per string of a dictionary.
pub(crate) fn words<'a>(text: Evaluated<'_>, ty: Type, mut f: impl FnMut(&[u8]) -> Option<i64>) -> Evaluated<'a> {
    let view = text.vector.view();
    let rows = view.words.len();
    let found: Vec<Option<i64>> = match &text.vector.strings {
        Some(strings) if view.dictionary && strings.len() <= rows => {
            let by_code: Vec<Option<i64>> = (0..strings.len()).map(|code| f(strings.get(code))).collect();
            // A NULL's word need not be that of a string.
            let of_word = |&word: &i64| by_code.get(word as usize).copied().unwrap_or(Some(0));
            view.words.iter().map(of_word).collect()
        }
        _ => (0..rows)
            .map(|i| if view.is_valid(i) { f(view.string(i)) } else { Some(0) })
            .collect(),
    };
    let open = (0..rows).filter(|&i| found[i].is_none() && view.is_valid(i));
    let unsure = open.map(|i| i as u32).collect();
    let words: Vec<i64> = found.into_iter().map(Option::unwrap_or_default).collect();
    let mut vector = Vector::of_words(ty, words);
    vector.valid = text.vector.valid.map(|valid| valid.into_owned().into());
    Evaluated {
        vector,
        unsure: union(text.unsure, unsure),
    }
}

/// Two texts, one behind the other.
pub(crate) fn concatenated<'a>(left: Evaluated<'_>, right: Evaluated<'_>) -> Evaluated<'a> {
    let (a, b) = (left.vector.view(), right.vector.view());
    let mut out = StringTable::default();
    let mut buffer = Vec::new();
    let valid: Vec<bool> = (0..a.words.len()).map(|i| a.is_valid(i) && b.is_valid(i)).collect();
    for (i, &valid) in valid.iter().enumerate() {
        buffer.clear();
        if valid {
            buffer.extend_from_slice(a.string(i));
            buffer.extend_from_slice(b.string(i));
        }
        out.push(&buffer);
    }
    let mut vector = Vector::of_strings(out);
    vector.valid = valid.contains(&false).then(|| valid.into());
    Evaluated {
        vector,
        unsure: union(left.unsure, right.unsure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(function: TextFunction, text: &str) -> String {
        let mut out = Vec::new();
        assert!(function.apply(text.as_bytes(), true, &mut out));
        String::from_utf8(out).expect("whole characters")
    }

    #[test]
    fn characters_are_counted_not_bytes() {
        use TextFunction::*;
        for (function, text, expected) in [
            (Left(2), "añb", "añ"),
            (Left(9), "añb", "añb"),
            (Left(0), "añb", ""),
            (Left(-1), "abñ", "ab"),
            (Left(-9), "añb", ""),
            (Right(2), "añb", "ñb"),
            (Right(9), "añb", "añb"),
            (Right(0), "ñ", ""),
            (Right(-1), "ñab", "ab"),
            (Substring { start: 2, end: 4 }, "añbc", "ñb"),
            (Substring { start: -1, end: 2 }, "añbc", "a"),
            (
                Substring {
                    start: 3,
                    end: i64::MAX,
                },
                "añbc",
                "bc",
            ),
            (Substring { start: 9, end: 12 }, "añbc", ""),
            (Substring { start: -5, end: -2 }, "añbc", ""),
        ] {
            assert_eq!(of(function.clone(), text), expected, "{function:?}");
        }
        assert_eq!(position("ñañb".as_bytes(), b"b", true), 4);
        assert_eq!(position(b"abc", b"", true), 1);
        assert_eq!(position(b"abc", b"d", true), 0);
    }

    #[test]
    fn pieces_and_spaces() {
        use TextFunction::*;
        let piece = |delimiter: &str, piece| SplitPart {
            delimiter: delimiter.into(),
            piece,
        };
        for (function, text, expected) in [
            (piece(",", 0), "a,b", "a"),
            (piece(",", 1), "a,b", "b"),
            (piece(",", 2), "a,b", ""),
            (piece("::", 1), "a:::b", ":b"),
            (piece("x", 0), "abc", "abc"),
            (piece("x", 1), "abc", ""),
            (Trim { start: true, end: true }, "  a b ", "a b"),
            (
                Trim {
                    start: false,
                    end: true,
                },
                "  a ",
                "  a",
            ),
            (
                Trim {
                    start: true,
                    end: false,
                },
                "   ",
                "",
            ),
            (Trim { start: true, end: true }, "   ", ""),
            (
                Replace {
                    from: "aa".into(),
                    to: "b".into(),
                },
                "aaaa a",
                "bb a",
            ),
            (Surround("<".into(), ">".into()), "a", "<a>"),
            (Upper, "aZ9", "AZ9"),
        ] {
            assert_eq!(of(function.clone(), text), expected, "{function:?}");
        }
        assert!(!Lower.apply("É".as_bytes(), true, &mut Vec::new()));
    }
}
