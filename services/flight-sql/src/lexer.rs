//! What PostgreSQL's scanner (parser/scan.l) tells apart in a statement, as far as it matters here: where words, parameters and semicolons
//! are, and not within strings, quoted names and comments. `standard_conforming_strings` is on.

use std::ops::Range;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A key word, or a name without quotes.
    Word,
    /// `$1`
    Parameter(u16),
    Semicolon,
    /// Strings, quoted names, numbers, operators, brackets.
    Other,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    pub kind: Kind,
    pub range: Range<usize>,
}

/// The tokens of a text. What is wrong with it, PostgreSQL will say.
pub fn tokens(text: &str) -> impl Iterator<Item = Token> {
    let mut lexer = Lexer {
        text: text.as_bytes(),
        at: 0,
    };
    std::iter::from_fn(move || {
        lexer.skip_blanks(true);
        let start = lexer.at;
        let kind = lexer.token()?;
        Some(Token {
            kind,
            range: start..lexer.at,
        })
    })
}

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
}

fn begins_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn continues_word(byte: u8) -> bool {
    begins_word(byte) || byte.is_ascii_digit() || byte == b'$'
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn rest(&self) -> &[u8] {
        &self.text[self.at.min(self.text.len())..]
    }

    /// Blanks and comments, those between marks only if asked for; whether one of them ends a line.
    fn skip_blanks(&mut self, marked: bool) -> bool {
        let mut newline = false;
        loop {
            match self.peek(0) {
                b'\n' | b'\r' => newline = true,
                b' ' | b'\t' | 0x0b | 0x0c => {}
                b'-' if self.peek(1) == b'-' => {
                    self.skip_line();
                    continue;
                }
                b'/' if marked && self.peek(1) == b'*' => {
                    self.skip_comment();
                    continue;
                }
                _ => return newline,
            }
            self.at += 1;
        }
    }

    fn skip_line(&mut self) {
        let end = self.rest().iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        self.at = end.map_or(self.text.len(), |end| self.at + end);
    }

    /// They nest.
    fn skip_comment(&mut self) {
        let mut depth = 0;
        while self.at < self.text.len() {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.at += 1,
            }
        }
        self.at = self.text.len();
    }

    fn token(&mut self) -> Option<Kind> {
        if self.at >= self.text.len() {
            return None;
        }
        let first = self.peek(0);
        Some(match first {
            b'\'' => self.string(false),
            b'"' => self.quoted(b'"'),
            b'$' => self.dollar(),
            b';' => {
                self.at += 1;
                Kind::Semicolon
            }
            b'e' | b'E' if self.peek(1) == b'\'' => {
                self.at += 1;
                self.string(true)
            }
            // N'', B'', X''; U&'' and U&"" have no backslashes that would hide a quote.
            b'n' | b'N' | b'b' | b'B' | b'x' | b'X' if self.peek(1) == b'\'' => {
                self.at += 1;
                self.string(false)
            }
            b'u' | b'U' if self.peek(1) == b'&' && matches!(self.peek(2), b'\'' | b'"') => {
                self.at += 2;
                match self.peek(0) {
                    b'"' => self.quoted(b'"'),
                    _ => self.string(false),
                }
            }
            _ if begins_word(first) => {
                while continues_word(self.peek(0)) {
                    self.at += 1;
                }
                Kind::Word
            }
            _ if first.is_ascii_digit() => {
                // With what is glued to it: 1e5, 0x1F, 1_000.
                while begins_word(self.peek(0)) || self.peek(0).is_ascii_digit() || self.peek(0) == b'.' {
                    self.at += 1;
                }
                Kind::Other
            }
            _ => {
                self.at += 1;
                Kind::Other
            }
        })
    }

    /// A string in simple quotes, with backslashes or without. It goes on behind blanks with the end of a line in them.
    fn string(&mut self, backslashes: bool) -> Kind {
        loop {
            self.at += 1;
            while self.at < self.text.len() {
                match self.peek(0) {
                    b'\\' if backslashes => self.at += 2,
                    b'\'' if self.peek(1) == b'\'' => self.at += 2,
                    b'\'' => break,
                    _ => self.at += 1,
                }
            }
            self.at = (self.at + 1).min(self.text.len());
            let end = self.at;
            if !(self.skip_blanks(false) && self.peek(0) == b'\'') {
                self.at = end;
                return Kind::Other;
            }
        }
    }

    fn quoted(&mut self, quote: u8) -> Kind {
        self.at += 1;
        while self.at < self.text.len() {
            if self.peek(0) == quote {
                self.at += 1;
                if self.peek(0) != quote {
                    return Kind::Other;
                }
            }
            self.at += 1;
        }
        self.at = self.text.len();
        Kind::Other
    }

    /// `$1`, `$$…$$`, `$tag$…$tag$`, or a sign.
    fn dollar(&mut self) -> Kind {
        if self.peek(1).is_ascii_digit() {
            self.at += 1;
            let start = self.at;
            while self.peek(0).is_ascii_digit() {
                self.at += 1;
            }
            let number = std::str::from_utf8(&self.text[start..self.at]).ok();
            return match number.and_then(|number| number.parse().ok()) {
                Some(number) => Kind::Parameter(number),
                None => Kind::Other,
            };
        }
        let mut end = self.at + 1;
        if self.text.get(end).is_some_and(|byte| begins_word(*byte)) {
            while self
                .text
                .get(end)
                .is_some_and(|byte| continues_word(*byte) && *byte != b'$')
            {
                end += 1;
            }
        }
        if self.text.get(end) != Some(&b'$') {
            self.at += 1;
            return Kind::Other;
        }
        let tag = &self.text[self.at..=end];
        let body = &self.text[end + 1..];
        let close = body.windows(tag.len()).position(|window| window == tag);
        self.at = close.map_or(self.text.len(), |close| end + 1 + close + tag.len());
        Kind::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(text: &str) -> Vec<u16> {
        tokens(text)
            .filter_map(|token| match token.kind {
                Kind::Parameter(number) => Some(number),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn parameters_are_found_where_they_are() {
        assert_eq!(parameters("SELECT $1, $22::int, f($3)"), [1, 22, 3]);
        assert_eq!(parameters("a$1 + $2"), [2]);
        assert_eq!(parameters("'$1' || \"$1\" || '''$1' || $2"), [2]);
        assert_eq!(parameters("-- $1\n$2 /* $1 /* $1 */ $1 */ + $3"), [2, 3]);
        assert_eq!(parameters("$$ $1 $$ || $a$ $1 $$ $1 $a$ || $2"), [2]);
        assert_eq!(parameters("$ä$ $1 $ä$ || $2"), [2]);
        assert_eq!(parameters("E'\\'$1' || $2"), [2]);
        assert_eq!(parameters("'\\' || $2"), [2]);
        assert_eq!(parameters("E'a' -- b'\n '\\'$1' || $2"), [2]);
        assert_eq!(parameters("E'a' '\\' || $2"), [2]);
        assert_eq!(parameters("'a'\n'\\' || $2"), [2]);
        assert_eq!(parameters("U&'\\' || $2 || u&\"\\\" || $3"), [2, 3]);
        assert_eq!(parameters("x'1' || b'1' || n'$1' || $2"), [2]);
        assert_eq!(parameters("\"a\"\"$1\" || $2"), [2]);
        assert_eq!(parameters("1$1"), [1]);
        assert!(parameters("$99999999999").is_empty());
    }

    #[test]
    fn whatever_has_no_end_ends_with_the_text() {
        for text in [
            "'", "E'\\", "\"", "$$", "$a$ $a", "/*", "/* /* */", "--", "$", "E'", "U&\"", "'a'\n",
        ] {
            assert!(tokens(text).all(|token| token.range.end <= text.len()), "{text}");
        }
    }

    #[test]
    fn words_are_as_long_as_they_are() {
        let text = "SELECT é1$ FROM e.\"b\" ;";
        let words: Vec<_> = tokens(text)
            .filter(|token| token.kind == Kind::Word)
            .map(|token| &text[token.range])
            .collect();
        assert_eq!(words, ["SELECT", "é1$", "FROM", "e"]);
        assert_eq!(tokens(text).last().map(|token| token.kind), Some(Kind::Semicolon));
    }
}
