//! LIKE with a constant pattern, and text that starts with a constant: strings found in strings, byte by byte.
//!
//! That is what PostgreSQL's LIKE does (like_match.c) under every deterministic collation, as long as no `_` asks for one character: in
//! UTF-8 a string is found only where a character begins.

use memchr::memmem::Finder;

use crate::expr::Evaluated;
use crate::vector::{Type, Vector};

/// A pattern without `_`.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// What the text begins with; all of it if there is no `%`.
    prefix: Vec<u8>,
    rest: Option<Rest>,
}

/// What follows the first `%`.
#[derive(Clone, Debug)]
struct Rest {
    /// In this order, one after the other.
    within: Vec<Finder<'static>>,
    /// What the text ends with.
    suffix: Vec<u8>,
}

impl Pattern {
    /// None if it is not for us: with `_`, or an escape character at its end, which PostgreSQL raises an error for.
    pub fn like(pattern: &[u8]) -> Option<Self> {
        let mut pieces = vec![Vec::new()];
        let mut bytes = pattern.iter();
        while let Some(&byte) = bytes.next() {
            let byte = match byte {
                b'_' => return None,
                b'%' => {
                    pieces.push(Vec::new());
                    continue;
                }
                b'\\' => *bytes.next()?,
                byte => byte,
            };
            pieces.last_mut()?.push(byte);
        }
        let prefix = pieces.remove(0);
        let rest = pieces.pop().map(|suffix| Rest {
            within: pieces
                .iter()
                .filter(|piece| !piece.is_empty())
                .map(|piece| Finder::new(piece).into_owned())
                .collect(),
            suffix,
        });
        Some(Self { prefix, rest })
    }

    /// Whatever begins with `prefix`.
    pub fn starting_with(prefix: &[u8]) -> Self {
        Self {
            prefix: prefix.to_vec(),
            rest: Some(Rest {
                within: Vec::new(),
                suffix: Vec::new(),
            }),
        }
    }

    /// This text only.
    pub(crate) fn exactly(text: &[u8]) -> Self {
        Self {
            prefix: text.to_vec(),
            rest: None,
        }
    }

    /// What all texts that match begin with.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Whether the text matches.
    pub fn matches(&self, text: &[u8]) -> bool {
        let Some(rest) = &self.rest else {
            return text == self.prefix;
        };
        let Some(mut text) = text.strip_prefix(&self.prefix[..]) else {
            return false;
        };
        // The first place for each piece leaves most for the others.
        for piece in &rest.within {
            match piece.find(text) {
                Some(at) => text = &text[at + piece.needle().len()..],
                None => return false,
            }
        }
        text.ends_with(&rest.suffix)
    }

    /// Which texts match; where one is NULL, anything.
    pub(crate) fn filter<'a>(&self, mut text: Evaluated<'_>) -> Evaluated<'a> {
        let vector = &text.vector;
        let table = vector.strings.as_ref();
        let table = table.filter(|table| vector.dictionary && table.len() <= vector.len());
        let words = match table {
            Some(table) => {
                let holds = |code| i64::from(self.matches(table.get(code)));
                let by_code: Vec<i64> = (0..table.len()).map(holds).collect();
                let of_word = |&word: &i64| by_code.get(word as usize).copied().unwrap_or(0);
                vector.words.iter().map(of_word).collect()
            }
            None => (0..vector.len())
                .map(|i| i64::from(vector.is_valid(i) && self.matches(vector.string(i))))
                .collect::<Vec<i64>>(),
        };
        let valid = text.vector.valid.take();
        let mut vector = Vector::of_words(Type::Bool, words);
        vector.valid = valid.map(|valid| valid.into_owned().into());
        Evaluated {
            vector,
            unsure: text.unsure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// MatchText() of like_match.c, without `_`.
    fn naive(text: &[u8], pattern: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((b'%', rest)) => (0..=text.len()).any(|at| naive(&text[at..], rest)),
            Some((b'\\', rest)) => text.first() == rest.first() && naive(&text[1..], &rest[1..]),
            Some((byte, rest)) => text.first() == Some(byte) && naive(&text[1..], rest),
        }
    }

    proptest! {
        #[test]
        fn as_postgresql_matches(text in "[ab%]{0,8}", pattern in r"([ab%]|\\[ab%]){0,6}") {
            let found = Pattern::like(pattern.as_bytes()).expect("no _, no escape at the end");
            prop_assert_eq!(found.matches(text.as_bytes()), naive(text.as_bytes(), pattern.as_bytes()));
        }
    }

    #[test]
    fn what_is_left_to_postgresql() {
        assert!(Pattern::like(b"a_b").is_none());
        assert!(Pattern::like(b"a%\\").is_none());
        assert!(Pattern::starting_with(b"ab").matches(b"abc"));
        assert!(!Pattern::starting_with(b"ab").matches(b"a"));
    }
}
