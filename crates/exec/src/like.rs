//! LIKE and ILIKE with a constant pattern, and text that starts with a constant: strings found in strings, byte by
//! byte.
//!
//! That is what PostgreSQL's LIKE does (like_match.c) under every deterministic collation: in UTF-8 a string is found
//! only where a character begins. ILIKE matches what lower() makes of text and pattern; of what is not ASCII only
//! PostgreSQL knows.

use memchr::memmem::Finder;

use crate::evaluated::Evaluated;
use crate::strings;
use crate::vector::Type;

/// A pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// What the text begins with; all of it if there is no `%`.
    prefix: Piece,
    rest: Option<Rest>,
    /// Whether the text's ASCII letters are lowered, as the pattern's are.
    lowers: bool,
}

/// What follows the first `%`.
#[derive(Clone, Debug)]
struct Rest {
    /// In this order, one after the other, each with a finder of its first string.
    within: Vec<(Finder<'static>, Piece)>,
    /// What the text ends with.
    suffix: Piece,
}

/// What stands between two `%`: strings, each after so many characters that may be any. Never empty.
#[derive(Clone, Debug)]
struct Piece(Vec<(usize, Vec<u8>)>);

impl Piece {
    fn of(text: &[u8]) -> Self {
        Self(vec![(0, text.to_vec())])
    }

    fn is_empty(&self) -> bool {
        matches!(&self.0[..], [(0, text)] if text.is_empty())
    }

    /// The text after it, if it is what the text begins with.
    fn strip_from<'t>(&self, mut text: &'t [u8]) -> Option<&'t [u8]> {
        // Comparing no bytes at all takes processors with AVX-512 some 80 ns: where an empty string is, there is no memory.
        if self.is_empty() {
            return Some(text);
        }
        for (any, string) in &self.0 {
            text = after(text, *any)?.strip_prefix(&string[..])?;
        }
        Some(text)
    }

    /// The text after the first place where it is.
    fn find_in<'t>(&self, first: &Finder<'_>, text: &'t [u8]) -> Option<&'t [u8]> {
        let ((any, string), others) = self.0.split_first()?;
        let mut text = after(text, *any)?;
        loop {
            let found = &text[first.find(text)?..];
            let mut rest = Some(&found[string.len()..]);
            for (any, string) in others {
                rest = rest.and_then(|rest| after(rest, *any)?.strip_prefix(&string[..]));
            }
            if rest.is_some() {
                return rest;
            }
            text = found.get(1..)?;
        }
    }

    fn ends(&self, mut text: &[u8]) -> bool {
        if self.is_empty() {
            return true;
        }
        self.0.iter().rev().all(|(any, string)| {
            let before = text.strip_suffix(&string[..]);
            let before = before.and_then(|before| before_last(before, *any));
            text = before.unwrap_or_default();
            before.is_some()
        })
    }
}

/// Whether a byte of UTF-8 begins a character.
fn begins(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// The text without its first characters, if it has so many.
fn after(mut text: &[u8], characters: usize) -> Option<&[u8]> {
    for _ in 0..characters {
        let (_, rest) = text.split_first()?;
        let next = rest.iter().position(|&byte| begins(byte));
        text = &rest[next.unwrap_or(rest.len())..];
    }
    Some(text)
}

/// The text without its last characters, if it has so many.
fn before_last(mut text: &[u8], characters: usize) -> Option<&[u8]> {
    for _ in 0..characters {
        text = &text[..text.iter().rposition(|&byte| begins(byte))?];
    }
    Some(text)
}

impl Pattern {
    /// LIKE; None if the pattern ends with an escape character, which PostgreSQL raises an error for. `_` is one
    /// character of UTF-8.
    pub fn like(pattern: &[u8]) -> Option<Self> {
        let mut pieces = vec![Piece::of(b"")];
        let mut bytes = pattern.iter();
        while let Some(&byte) = bytes.next() {
            let steps = &mut pieces.last_mut()?.0;
            match byte {
                b'%' => pieces.push(Piece::of(b"")),
                b'_' => match steps.last_mut()? {
                    (any, string) if string.is_empty() => *any += 1,
                    _ => steps.push((1, Vec::new())),
                },
                b'\\' => steps.last_mut()?.1.push(*bytes.next()?),
                byte => steps.last_mut()?.1.push(byte),
            }
        }
        let prefix = pieces.remove(0);
        let rest = pieces.pop().map(|suffix| Rest {
            within: pieces
                .into_iter()
                .filter(|piece| !piece.is_empty())
                .map(|piece| (Finder::new(&piece.0[0].1).into_owned(), piece))
                .collect(),
            suffix,
        });
        Some(Self {
            prefix,
            rest,
            lowers: false,
        })
    }

    /// ILIKE, where lower() of ASCII is what it is in C; None also if the pattern is not ASCII. Texts that are not are
    /// unsure.
    pub fn ilike(pattern: &[u8]) -> Option<Self> {
        let like = Self::like(&pattern.to_ascii_lowercase())?;
        pattern.is_ascii().then_some(Self { lowers: true, ..like })
    }

    /// Whatever begins with `prefix`.
    pub fn starting_with(prefix: &[u8]) -> Self {
        Self {
            prefix: Piece::of(prefix),
            rest: Some(Rest {
                within: Vec::new(),
                suffix: Piece::of(b""),
            }),
            lowers: false,
        }
    }

    /// This text only.
    pub(crate) fn exactly(text: &[u8]) -> Self {
        Self {
            prefix: Piece::of(text),
            rest: None,
            lowers: false,
        }
    }

    /// What all texts that match begin with.
    pub fn prefix(&self) -> &[u8] {
        match &self.prefix.0[0] {
            (0, string) if !self.lowers => string,
            _ => b"",
        }
    }

    /// Whether the text matches, as it is.
    fn matches(&self, text: &[u8]) -> bool {
        let Some(mut text) = self.prefix.strip_from(text) else {
            return false;
        };
        let Some(rest) = &self.rest else {
            return text.is_empty();
        };
        // The first place for each piece leaves most for the others.
        for (first, piece) in &rest.within {
            match piece.find_in(first, text) {
                Some(rest) => text = rest,
                None => return false,
            }
        }
        rest.suffix.ends(text)
    }

    /// Whether the text matches; None if that is not known.
    fn decide(&self, text: &[u8], lowered: &mut Vec<u8>) -> Option<bool> {
        if !self.lowers {
            return Some(self.matches(text));
        }
        text.is_ascii().then(|| {
            lowered.clear();
            lowered.extend(text.iter().map(u8::to_ascii_lowercase));
            self.matches(lowered)
        })
    }

    /// Which texts match; where one is NULL, anything.
    pub(crate) fn filter<'a>(&self, text: Evaluated<'_>) -> Evaluated<'a> {
        let mut lowered = Vec::new();
        strings::words(text, Type::Bool, |text| self.decide(text, &mut lowered).map(i64::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// MatchText() of like_match.c, character by character.
    fn naive(text: &[char], pattern: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('%', rest)) => (0..=text.len()).any(|at| naive(&text[at..], rest)),
            Some(('_', rest)) => !text.is_empty() && naive(&text[1..], rest),
            Some(('\\', rest)) => text.first() == rest.first() && naive(&text[1..], &rest[1..]),
            Some((char, rest)) => text.first() == Some(char) && naive(&text[1..], rest),
        }
    }

    fn chars(text: &str) -> Vec<char> {
        text.chars().collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        #[test]
        fn as_postgresql_matches(text in "[abé\u{20ac}😀_%]{0,8}", pattern in r"([abé\u{20ac}😀%_]|%|_|\\[abé😀%_\\]){0,7}") {
            let found = Pattern::like(pattern.as_bytes()).expect("no escape at the end");
            let expected = naive(&chars(&text), &chars(&pattern));
            prop_assert_eq!(found.matches(text.as_bytes()), expected);
            prop_assert!(!expected || text.as_bytes().starts_with(found.prefix()));
        }

        #[test]
        fn in_any_case(text in "[abABé@`]{0,8}", pattern in r"([abAB@`%_]|%|\\[aA%_]){0,6}") {
            let found = Pattern::ilike(pattern.as_bytes()).expect("ASCII, no escape at the end");
            let lower = |s: &str| chars(&s.to_ascii_lowercase());
            let expected = text.is_ascii().then(|| naive(&lower(&text), &lower(&pattern)));
            prop_assert_eq!(found.decide(text.as_bytes(), &mut Vec::new()), expected);
            prop_assert!(found.prefix().is_empty());
        }
    }

    #[test]
    fn what_is_left_to_postgresql() {
        assert!(Pattern::like(b"a%\\").is_none());
        assert!(Pattern::ilike(b"a%\\").is_none());
        assert!(Pattern::ilike("é".as_bytes()).is_none());
        assert!(Pattern::starting_with(b"ab").matches(b"abc"));
        assert!(!Pattern::starting_with(b"ab").matches(b"a"));
    }
}
