//! Telling whether bytes are exactly what PostgreSQL would have written.

use crate::layout::*;
use crate::reader::{end_of, load};
use crate::{Container, Value, numeric, root};

/// Whether `bytes` are, to the last bit, a jsonb payload as `convertToJsonb` lays it out: sound at
/// every depth, offsets at the stride, zero padding, keys in order and unique, nothing left over.
/// Costs one pass over the JEntries, keys and numeric headers. A `true` also means that PostgreSQL's
/// own, unchecked readers can be given the bytes.
pub fn is_canonical(bytes: &[u8]) -> bool {
    match root(bytes) {
        Ok(Value::Array(container) | Value::Object(container)) => container_is_canonical(container),
        Ok(_) => {
            // A root scalar; `root` has seen its header, one entry and value.
            let entry = word(bytes, WORD).unwrap_or(0);
            let data = bytes.get(2 * WORD..).unwrap_or_default();
            let mut scan = Scan {
                entries: [].iter(),
                data,
                index: 0,
                offset: 0,
                keys: 0,
                last_key: None,
            };
            scan.child(entry).is_some() && scan.offset == data.len()
        }
        Err(_) => false,
    }
}

/// [`is_canonical`] for one container.
pub(crate) fn container_is_canonical(container: Container<'_>) -> bool {
    let mut stack = Vec::new();
    let mut scan = Scan::new(container);
    loop {
        match scan.step() {
            Step::Broken => return false,
            Step::Nested(container) => stack.push(std::mem::replace(&mut scan, Scan::new(container))),
            Step::End => match stack.pop() {
                Some(outer) => scan = outer,
                None => return true,
            },
        }
    }
}

enum Step<'a> {
    Nested(Container<'a>),
    End,
    Broken,
}

struct Scan<'a> {
    entries: std::slice::Iter<'a, [u8; WORD]>,
    data: &'a [u8],
    index: usize,
    offset: usize,
    /// Children that are keys: those before this index.
    keys: usize,
    last_key: Option<&'a [u8]>,
}

impl<'a> Scan<'a> {
    fn new(container: Container<'a>) -> Self {
        Self {
            entries: container.entries().iter(),
            data: container.data(),
            index: 0,
            offset: 0,
            keys: if container.is_object() { container.len() } else { 0 },
            last_key: None,
        }
    }

    /// Checks children up to the next nested container, or to the end.
    fn step(&mut self) -> Step<'a> {
        while let Some(entry) = self.entries.next() {
            match self.child(load(entry)) {
                None => return Step::Broken,
                Some(Some(container)) => return Step::Nested(container),
                Some(None) => {}
            }
        }
        if self.offset == self.data.len() {
            Step::End
        } else {
            Step::Broken
        }
    }

    /// Checks one child. `None` if it is not canonical; the inner option is a nested container.
    fn child(&mut self, entry: u32) -> Option<Option<Container<'a>>> {
        let at_stride = self.index.is_multiple_of(JB_OFFSET_STRIDE);
        if (entry & JENTRY_HAS_OFF != 0) != at_stride {
            return None;
        }
        let start = self.offset;
        let end = end_of(entry, start);
        let bytes = self.data.get(start..end)?;
        let is_key = self.index < self.keys;
        self.index += 1;
        self.offset = end;
        let kind = entry & JENTRY_TYPEMASK;
        if is_key {
            if kind != JENTRY_ISSTRING
                || self
                    .last_key
                    .is_some_and(|last| (last.len(), last) >= (bytes.len(), bytes))
            {
                return None;
            }
            self.last_key = Some(bytes);
            return Some(None);
        }
        match kind {
            JENTRY_ISSTRING => {}
            JENTRY_ISNULL | JENTRY_ISBOOL_FALSE | JENTRY_ISBOOL_TRUE => {
                if !bytes.is_empty() {
                    return None;
                }
            }
            JENTRY_ISNUMERIC => {
                let bytes = aligned(bytes, start)?;
                let payload = bytes.get(WORD..)?;
                if word(bytes, 0)? as usize != bytes.len() << 2 || numeric::check(payload).is_err() {
                    return None;
                }
            }
            JENTRY_ISCONTAINER => return Some(Some(Container::nested(aligned(bytes, start)?)?)),
            _ => return None,
        }
        Some(None)
    }
}

/// `bytes`, which start at offset `start`, without their alignment padding, if that is zeros.
fn aligned(bytes: &[u8], start: usize) -> Option<&[u8]> {
    let (padding, bytes) = bytes.split_at_checked(int_align(start) - start)?;
    padding.iter().all(|&byte| byte == 0).then_some(bytes)
}
