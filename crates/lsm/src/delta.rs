//! What becomes of a page, as generic WAL records say it (generic_xlog.c): ranges of bytes that a replay copies.
//!
//! Ranges are of whole words: all bytes of a field that does not straddle two are in the record when one of them has
//! changed.

use std::ops::Range;

/// Bytes compared, and logged, as one.
pub const WORD: usize = 8;
/// Bytes compared in one go.
const LINE: usize = 64;
/// Where the header ends.
const HEADER: usize = 24;

/// The bytes of `new`, a page like `old`, that a replay has to be told: what differs, and what is in the hole between
/// `pd_lower` and `pd_upper` of `old` but not of `new`. Nobody knows what a replay has in a hole.
pub fn ranges(old: &[u8], new: &[u8]) -> Vec<Range<usize>> {
    debug_assert!(old.len() == new.len() && new.len().is_multiple_of(LINE));
    let (was, hole) = (hole(old), hole(new));
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let lines = old.as_chunks::<LINE>().0.iter().zip(new.as_chunks().0);
    for (line, (a, b)) in (0..).step_by(LINE).zip(lines) {
        if a == b && (line >= was.end || line + LINE <= was.start) {
            continue;
        }
        for at in (0..LINE).step_by(WORD) {
            let word = line + at..line + at + WORD;
            let unknown = word.start < was.end && word.end > was.start;
            let unused = word.start >= hole.start && word.end <= hole.end;
            if unused || !unknown && a[at..at + WORD] == b[at..at + WORD] {
                continue;
            }
            match ranges.last_mut() {
                Some(last) if last.end == word.start => last.end = word.end,
                _ => ranges.push(word),
            }
        }
    }
    ranges
}

/// The hole of a page; a new page has none.
fn hole(page: &[u8]) -> Range<usize> {
    let field = |at: usize| usize::from(u16::from_le_bytes([page[at], page[at + 1]]));
    match (field(12), field(14)) {
        (lower, upper) if lower >= HEADER => lower..upper,
        _ => HEADER..HEADER,
    }
}

/// What a replay reads, of places and the bytes that come there: offset, length and bytes of each.
pub fn encode<'a>(parts: impl IntoIterator<Item = (usize, &'a [u8])>) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    for (at, bytes) in parts {
        out.extend_from_slice(&(at as u16).to_ne_bytes());
        out.extend_from_slice(&(bytes.len() as u16).to_ne_bytes());
        out.extend_from_slice(bytes);
    }
    out
}

/// The places and bytes of what [`encode`] made.
pub fn parts(mut encoded: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let field = |bytes: &[u8]| usize::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
    std::iter::from_fn(move || {
        let (head, rest) = encoded.split_at_checked(4)?;
        let (bytes, rest) = rest.split_at(field(&head[2..]));
        encoded = rest;
        Some((field(head), bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: usize = 1024;

    fn page(lower: usize, upper: usize, byte: u8) -> Vec<u8> {
        let mut page = vec![byte; PAGE];
        page[12..14].copy_from_slice(&(lower as u16).to_le_bytes());
        page[14..16].copy_from_slice(&(upper as u16).to_le_bytes());
        page
    }

    /// applyPageRedo() and what generic_redo() does behind it.
    fn replay(page: &mut [u8], mut delta: &[u8]) {
        let field = |bytes: &[u8]| usize::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
        while !delta.is_empty() {
            let (at, len) = (field(delta), field(&delta[2..]));
            page[at..at + len].copy_from_slice(&delta[4..4 + len]);
            delta = &delta[4 + len..];
        }
        let hole = hole(page);
        page[hole].fill(0);
    }

    proptest! {
        /// A replay that has anything in the hole ends with the new page, but for its hole.
        #[test]
        fn replays(
            bounds in prop::array::uniform4(0..=PAGE - HEADER),
            changes in prop::collection::vec((HEADER..PAGE, any::<u8>(), 1..40usize), 0..6),
            in_hole in any::<u8>(),
        ) {
            let sorted = |a: usize, b: usize| (HEADER + a.min(b), HEADER + a.max(b));
            let (lower, upper) = sorted(bounds[0], bounds[1]);
            let old = page(lower, upper, 7);
            let (lower, upper) = sorted(bounds[2], bounds[3]);
            let mut new = page(lower, upper, 7);
            for (at, byte, len) in changes {
                new[at..(at + len).min(PAGE)].fill(byte);
            }
            let mut other = old.clone();
            other[hole(&old)].fill(in_hole);
            let ranges = ranges(&old, &new);
            prop_assert!(ranges.iter().all(|r| r.start % WORD == 0 && r.end % WORD == 0));
            let as_parts = ranges.iter().map(|range| (range.start, &new[range.clone()]));
            let delta = encode(as_parts.clone());
            prop_assert!(parts(&delta).eq(as_parts));
            prop_assert!(delta.len() <= PAGE + PAGE / WORD);
            replay(&mut other, &delta);
            new[lower..upper].fill(0);
            prop_assert_eq!(other, new);
        }
    }

    #[test]
    fn short_changes_have_short_records() {
        let old = page(HEADER, HEADER, 0);
        let mut new = old.clone();
        (new[100], new[107], new[700]) = (1, 1, 1);
        assert_eq!(ranges(&old, &new), [96..112, 696..704]);
        assert_eq!(ranges(&old, &old), []);
    }
}
