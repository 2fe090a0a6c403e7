//! Regular expressions that ask no more than LIKE can.

/// The pattern of LIKE that the same texts match, whatever their case: of characters that stand for themselves, `.`, `.*`, `^` as the first
/// and `$` as the last. None of others.
///
/// So PostgreSQL reads its advanced expressions (regc_lex.c) without options: `.` is any character, of a new line, too, `^` and `$` are the
/// ends of the text, not of lines, and what is not anchored is found anywhere.
pub fn as_like(regex: &[u8]) -> Option<Vec<u8>> {
    let (anchored, rest) = match regex.strip_prefix(b"^") {
        Some(rest) => (true, rest),
        None => (false, regex),
    };
    let (ends, rest) = match rest.strip_suffix(b"$") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let mut like = Vec::with_capacity(regex.len() + 2);
    if !anchored {
        like.push(b'%');
    }
    let mut bytes = rest.iter().peekable();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'.' => like.push(bytes.next_if_eq(&&b'*').map_or(b'_', |_| b'%')),
            b'\\' | b'*' | b'+' | b'?' | b'{' | b'}' | b'[' | b']' | b'(' | b')' | b'|' | b'^' | b'$' => return None,
            b'%' | b'_' => like.extend([b'\\', byte]),
            byte => like.push(byte),
        }
        // Of a character before it.
        if bytes.peek() == Some(&&b'*') {
            return None;
        }
    }
    if !ends {
        like.push(b'%');
    }
    Some(like)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_like_asks_too() {
        for (regex, like) in [
            ("", Some("%%")),
            ("^", Some("%")),
            ("$", Some("%")),
            ("^$", Some("")),
            ("^care.*bold", Some("care%bold%")),
            ("é.$", Some("%é_")),
            ("^..*_%", Some(r"_%\_\%%")),
            ("a b-c", Some("%a b-c%")),
            ("^^a", None),
            ("a$$", None),
            ("$^", None),
            ("a^b", None),
            ("a*", None),
            (".**", None),
            (".*?", None),
            ("^*", None),
            ("***=a", None),
            ("(?i)a", None),
            (r"a\$", None),
            ("a|b", None),
            ("a{2}", None),
            ("[a]", None),
        ] {
            assert_eq!(
                as_like(regex.as_bytes()),
                like.map(|like| like.as_bytes().to_vec()),
                "{regex}"
            );
        }
    }
}
