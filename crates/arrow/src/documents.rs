//! JSON text as jsonb has it.

use amax_jsonb::{Builder, json};

const WHAT: &str = "documents that are read";
/// The bytes of text that are made documents of at once.
const MOST: usize = 256 << 20;
/// Where more containers are open at once, PostgreSQL says whether its stack is deep enough.
const DEEPEST: usize = 500;

/// The payloads of jsonb that texts are.
pub(crate) struct Documents {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Documents {
    /// None if one of the texts is not JSON that is sure to be jsonb, or if there is no memory for them.
    pub(crate) fn of<'a>(texts: impl Iterator<Item = Option<&'a str>> + Clone) -> Option<Self> {
        let length: usize = texts.clone().flatten().map(str::len).sum();
        if length > MOST {
            return None;
        }
        let (mut bytes, mut ends, mut builder) = (Vec::new(), Vec::new(), Builder::new());
        for text in texts {
            if let Some(text) = text {
                if is_deep(text) || json::parse_into(text, &mut builder).is_err() {
                    return None;
                }
                amax_memory::reserve(&mut bytes, 2 * text.len() + 64, WHAT).ok()?;
                builder.finish_into(&mut bytes).ok()?;
            }
            amax_memory::reserve(&mut ends, 1, WHAT).ok()?;
            ends.push(bytes.len());
        }
        Some(Self { bytes, ends })
    }

    pub(crate) fn document(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[row]]
    }
}

fn is_deep(text: &str) -> bool {
    if text.len() < DEEPEST {
        return false;
    }
    let (mut open, mut in_string, mut escaped) = (0_usize, false, false);
    text.bytes().any(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => open += 1,
            b']' | b'}' if !in_string => open = open.saturating_sub(1),
            _ => {}
        }
        open > DEEPEST
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_documents() {
        let documents =
            Documents::of([Some(r#"{"b": 1.50, "a": [null]}"#), None, Some("3")].into_iter()).expect("JSON");
        assert_eq!(
            json::to_text(documents.document(0)).as_deref(),
            Ok(r#"{"a": [null], "b": 1.50}"#)
        );
        assert_eq!(documents.document(1), b"");
        assert_eq!(json::to_text(documents.document(2)).as_deref(), Ok("3"));
        assert!(Documents::of([Some("1"), Some("{")].into_iter()).is_none());
        let deep = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Documents::of([Some(deep(DEEPEST).as_str())].into_iter()).is_some());
        assert!(Documents::of([Some(deep(DEEPEST + 1).as_str())].into_iter()).is_none());
        let brackets = format!("[\"{}\\\"[\"]", "[".repeat(600));
        assert!(Documents::of([Some(brackets.as_str())].into_iter()).is_some());
    }
}
