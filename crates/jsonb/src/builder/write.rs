//! Laying out the recorded nodes (`convertJsonbValue` and the functions below it).
//!
//! The size is checked at the end: until then a JEntry may hold a truncated length, in output that is
//! then thrown away.

use super::recorded::{Kind, Node, Recorded, WHAT};
use crate::Error;
use crate::layout::*;

/// A container being written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    /// The node of the next value's key or, in arrays, of the next value; in sorted objects the
    /// place in `order` of the next key.
    next: usize,
    /// The node or place after the last value.
    end: usize,
    kind: Kind,
    /// Where the container starts, with padding, in the output.
    start: usize,
    entries: Entries,
}

/// The JEntries of a container being written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entries {
    /// Where they start in the output.
    start: usize,
    /// Children written.
    index: usize,
    /// Bytes of their data, with padding.
    total: usize,
}

impl Recorded {
    /// Appends the payload to `out`; `stack` is there for its memory.
    pub(super) fn write(&self, out: &mut Vec<u8>, stack: &mut Vec<Pending>) -> Result<(), Error> {
        // Every node takes at most an entry, a header and padding besides its arena bytes.
        let most = self.arena.len() + self.nodes.len() * (2 * WORD + 3) + 2 * WORD;
        amax_memory::reserve(out, most, WHAT)?;
        stack.clear();
        self.layout(out, stack)
    }

    fn layout(&self, out: &mut Vec<u8>, stack: &mut Vec<Pending>) -> Result<(), Error> {
        let base = out.len();
        let root = self.nodes[0];
        match root.kind {
            Kind::Array | Kind::Object | Kind::Sorted => stack.push(self.begin_container(out, base, 0)),
            Kind::Raw => out.extend_from_slice(self.bytes(root)),
            _ => {
                let mut wrapper = Pending::new(Kind::Array, 0..0, out.len());
                wrapper.begin(out, 1);
                out[base..base + WORD].copy_from_slice(&(JB_FSCALAR | JB_FARRAY | 1).to_le_bytes());
                self.scalar(out, base, &mut wrapper, root);
            }
        }
        'containers: while let Some(top) = stack.last_mut() {
            while top.next != top.end {
                let at = match top.kind {
                    Kind::Sorted => {
                        top.next += 1;
                        self.order[top.next - 1] as usize + 1
                    }
                    kind => {
                        let at = top.next + usize::from(kind == Kind::Object);
                        top.next = self.after(at);
                        at
                    }
                };
                let node = self.nodes[at];
                if matches!(node.kind, Kind::Array | Kind::Object | Kind::Sorted) {
                    let inner = self.begin_container(out, base, at);
                    stack.push(inner);
                    continue 'containers;
                }
                self.scalar(out, base, top, node);
            }
            let len = out.len() - top.start;
            stack.pop();
            if let Some(outer) = stack.last_mut() {
                outer.entry(out, JENTRY_ISCONTAINER, len);
            }
        }
        // No container is larger than the root; a root scalar's wrapper counts too.
        if out.len() - base > JENTRY_OFFLENMASK as usize {
            return Err(Error::TooLarge);
        }
        Ok(())
    }

    /// Writes a container's header, room for its JEntries and an object's keys.
    fn begin_container(&self, out: &mut Vec<u8>, base: usize, at: usize) -> Pending {
        let node = self.nodes[at];
        let start = out.len();
        pad(out, base);
        let mut top = Pending::new(node.kind, at + 1..node.a as usize, start);
        top.begin(out, node.b);
        match node.kind {
            Kind::Sorted => {
                top.next = node.c as usize;
                top.end = top.next + node.b as usize;
                for &key in &self.order[top.next..top.end] {
                    self.text(out, &mut top, self.nodes[key as usize]);
                }
            }
            Kind::Object => {
                let mut key = top.next;
                while key < top.end {
                    self.text(out, &mut top, self.nodes[key]);
                    key = self.after(key + 1);
                }
            }
            _ => {}
        }
        top
    }

    #[inline]
    fn text(&self, out: &mut Vec<u8>, top: &mut Pending, node: Node) {
        out.extend_from_slice(self.bytes(node));
        top.entry(out, JENTRY_ISSTRING, node.b as usize);
    }

    /// Writes a value other than a container recorded here.
    #[inline]
    fn scalar(&self, out: &mut Vec<u8>, base: usize, top: &mut Pending, node: Node) {
        let start = out.len();
        match node.kind {
            Kind::String => self.text(out, top, node),
            Kind::Numeric => {
                pad(out, base);
                let size = WORD as u32 + node.b;
                out.extend_from_slice(&(size << 2).to_le_bytes());
                out.extend_from_slice(self.bytes(node));
                let len = out.len() - start;
                top.entry(out, JENTRY_ISNUMERIC, len);
            }
            Kind::Null => top.entry(out, JENTRY_ISNULL, 0),
            Kind::True => top.entry(out, JENTRY_ISBOOL_TRUE, 0),
            Kind::False => top.entry(out, JENTRY_ISBOOL_FALSE, 0),
            Kind::Raw | Kind::Array | Kind::Object | Kind::Sorted => {
                pad(out, base);
                out.extend_from_slice(self.bytes(node));
                let len = out.len() - start;
                top.entry(out, JENTRY_ISCONTAINER, len);
            }
        }
    }
}

impl Pending {
    fn new(kind: Kind, nodes: std::ops::Range<usize>, start: usize) -> Self {
        Self {
            next: nodes.start,
            end: nodes.end,
            kind,
            start,
            entries: Entries::default(),
        }
    }

    /// Appends the header and room for the JEntries.
    #[inline]
    fn begin(&mut self, out: &mut Vec<u8>, count: u32) {
        let (flag, children) = match self.kind {
            Kind::Array => (JB_FARRAY, count as usize),
            _ => (JB_FOBJECT, 2 * count as usize),
        };
        self.entries = Entries::begin(out, flag | count, children);
    }

    #[inline]
    fn entry(&mut self, out: &mut [u8], kind: u32, len: usize) {
        self.entries.push(out, kind, len);
    }
}

impl Entries {
    /// Appends a container's header and room for its JEntries.
    #[inline]
    pub(crate) fn begin(out: &mut Vec<u8>, header: u32, children: usize) -> Self {
        out.extend_from_slice(&header.to_le_bytes());
        let start = out.len();
        out.resize(start + children * WORD, 0);
        Self {
            start,
            index: 0,
            total: 0,
        }
    }

    /// Those of a container written at the beginning of some bytes, now that these are put at `at`.
    #[inline]
    pub(crate) fn at(&self, at: usize) -> Self {
        Self {
            start: self.start + at,
            ..*self
        }
    }

    /// Children written.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.index
    }

    /// Fills in the next child's JEntry: every 32nd holds the end offset.
    #[inline]
    pub(crate) fn push(&mut self, out: &mut [u8], kind: u32, len: usize) {
        self.total += len;
        let entry = if self.index.is_multiple_of(JB_OFFSET_STRIDE) {
            kind | self.total as u32 & JENTRY_OFFLENMASK | JENTRY_HAS_OFF
        } else {
            kind | len as u32 & JENTRY_OFFLENMASK
        };
        let at = self.start + self.index * WORD;
        out[at..at + WORD].copy_from_slice(&entry.to_le_bytes());
        self.index += 1;
    }
}

/// Pads with zeros to the next multiple of four from `base` (`padBufferToInt`).
#[inline]
pub(crate) fn pad(out: &mut Vec<u8>, base: usize) {
    let len = out.len() - base;
    out.resize(out.len() + int_align(len) - len, 0);
}
