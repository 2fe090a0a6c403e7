//! A columnar row, undecoded.

use super::error::raise;
use super::leaf::OpenLeaf;
use super::leaf_cache::has_room_to_spare;
use super::pages::AtHand;
use super::value::{dense_to_datum, to_datum};
use crate::pg::copy::printed;
use crate::pg::datum::c_string;
use crate::pg::{Relation, Snapshot, TupleDesc};
use crate::storage::manifest::Replaced;
use amax_format::{Error, Part, PathStep, Scalar, Value};
use amax_lsm::Origin;
use pgrx::pg_sys;
use std::cell::RefCell;
use std::rc::Rc;

#[derive(Clone)]
pub struct Row {
    pub(super) leaf: Rc<OpenLeaf>,
    pub(super) index: u32,
    pub(super) origin: Option<Origin>,
    among: Among,
    /// Most rows have all of their own values.
    instead: Option<Rc<Instead>>,
}

/// Values that stand for attributes, from 0: images of documents that are not assembled.
pub type Instead = Vec<(usize, Rc<[u64]>)>;

/// How many rows of its leaf are read beside it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Among {
    /// A scan's.
    All,
    /// Few, side by side: of documents, whose columns are many, no more is decoded than they need.
    Few,
    /// Most, or few of them, for ANALYZE.
    Sample { few: bool },
    /// It was looked up by itself; others may be, again and again.
    None,
}

thread_local! {
    /// Where documents are assembled.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The longest C string, its zero apart (MaxAllocSize).
const MOST_TEXT: usize = 0x3fff_ffff - 1;

fn with_scratch<R>(f: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    SCRATCH.with(|kept| {
        // Taken: PostgreSQL may come back here.
        let mut scratch = kept.take();
        let result = f(&mut scratch);
        if scratch.capacity() <= 1 << 20 {
            kept.replace(scratch);
        }
        result
    })
}

impl Row {
    pub fn new(leaf: Rc<OpenLeaf>, index: usize, origin: Option<Origin>) -> Row {
        Row {
            leaf,
            index: index as u32,
            origin,
            among: Among::All,
            instead: None,
        }
    }

    /// The same, looked up by itself: little more than what it has is decoded.
    pub fn alone(self) -> Row {
        Row {
            among: Among::None,
            ..self
        }
    }

    /// The same, one of few of its leaf that are read, side by side.
    pub fn of_few(self) -> Row {
        Row {
            among: Among::Few,
            ..self
        }
    }

    /// The same, one of those that ANALYZE looks at, for their attributes alone, perhaps few of its leaf, and other values in place of some.
    pub fn sampled(self, few: bool, instead: Rc<Instead>) -> Row {
        Row {
            among: Among::Sample { few },
            instead: Some(instead),
            ..self
        }
    }

    /// Where it is, if it is one of a scan, which reads most of its leaf.
    pub fn of_scan(&self) -> Option<(&Rc<OpenLeaf>, Option<Origin>, u32)> {
        (self.among == Among::All).then_some((&self.leaf, self.origin, self.index))
    }

    pub(super) fn is_sampled(&self) -> bool {
        matches!(self.among, Among::Sample { .. })
    }

    /// Whether the snapshot sees that it was inserted, as far as the leaf knows.
    pub fn is_seen_by(&self, rel: &Relation, snapshot: &Snapshot) -> Result<bool, Replaced> {
        let judge = self.leaf.judge(rel, snapshot)?;
        Ok(judge.is_none_or(|judge| judge(self.index as usize)))
    }

    pub fn leaf(&self) -> &OpenLeaf {
        &self.leaf
    }

    pub fn key(&self) -> u64 {
        self.leaf.keys().get(self.index as usize)
    }

    /// One attribute (from 0), in the current memory context.
    pub fn attribute(&self, desc: &TupleDesc, at: usize) -> (pg_sys::Datum, bool) {
        let att = desc.attribute(at);
        if att.attisdropped {
            return (pg_sys::Datum::null(), true);
        }
        // Most are asked for again and again.
        let kept = self.leaf.kept_column(at);
        if let Some(value) = kept.and_then(|column| column.kept(self.index as usize)) {
            return to_datum(value, att);
        }
        let by_itself =
            self.among == Among::None && kept.is_none() && at < self.leaf.width() && att.atttypid != pg_sys::JSONBOID;
        let of_scans = by_itself.then(|| self.leaf.decoded_column(at)).flatten();
        if let Some(value) = of_scans.and_then(|dense| dense_to_datum(&dense, self.index as usize, att)) {
            return value;
        }
        let mut instead = self.instead.iter().flat_map(|all| all.iter());
        if let Some((_, value)) = instead.find(|instead| instead.0 == at) {
            // It stays as long as the row.
            return (pg_sys::Datum::from(value.as_ptr()), false);
        }
        if at >= self.leaf.width() {
            // Added since the leaf was written: the default that ALTER TABLE kept.
            return desc.missing(at);
        }
        let by_block = matches!(self.among, Among::None | Among::Few | Among::Sample { few: true });
        let _rel = by_block.then(|| AtHand::open(self.leaf.relid));
        let get = |scratch: &mut Vec<u8>| {
            let column = match self.among {
                Among::All | Among::Sample { few: false } => self.leaf.column(at),
                Among::Few if att.atttypid != pg_sys::JSONBOID => self.leaf.column(at),
                Among::Few | Among::Sample { few: true } => self.leaf.lazy_column(at, |_| false),
                Among::None => self.leaf.lazy_column(at, has_room_to_spare),
            };
            let value = match self.among {
                Among::None => column.get(self.index as usize, scratch),
                Among::All | Among::Few | Among::Sample { .. } => column.get_near(self.index as usize, scratch),
            };
            value.map(|value| to_datum(value, att))
        };
        with_scratch(|scratch| {
            let value = self.again(|| get(scratch));
            value.unwrap_or_else(|e| raise(e))
        })
    }

    /// What is read, and again if the leaf was replaced meanwhile.
    fn again<R>(&self, mut read: impl FnMut() -> amax_format::Result<R>) -> amax_format::Result<R> {
        match read() {
            Err(Error::Replaced) => {
                self.leaf.revive();
                read()
            }
            result => result,
        }
    }

    /// A document attribute (from 0) as jsonb_out() prints it: a C string in the current memory context.
    pub fn text(&self, desc: &TupleDesc, at: usize) -> (pg_sys::Datum, bool) {
        if at < self.leaf.width() {
            let text = with_scratch(|scratch| {
                let written = self.again(|| {
                    scratch.clear();
                    self.leaf.column(at).text(self.index as usize, MOST_TEXT, scratch)
                });
                match written {
                    Ok(true) => Some((c_string(scratch), false)),
                    Ok(false) => Some((pg_sys::Datum::null(), true)),
                    // PostgreSQL says it in its own words.
                    Err(e) if e.is_of_long_text() => None,
                    Err(e) => raise(e),
                }
            });
            if let Some(text) = text {
                return text;
            }
        }
        match self.attribute(desc, at) {
            (document, true) => (document, true),
            // SAFETY: a document.
            (document, false) => (unsafe { printed(document) }, false),
        }
    }

    /// The part of a document attribute (from 0) that its leaf has, in the current memory context; NULL if the document has
    /// nothing of it.
    pub fn part(&self, part: &Part, desc: &TupleDesc, at: usize) -> (pg_sys::Datum, bool) {
        let found = with_scratch(|scratch| {
            let value = part.get(self.index as usize, scratch).unwrap_or_else(|e| raise(e));
            match value {
                None => Some((pg_sys::Datum::null(), true)),
                Some(Scalar::Payload(payload)) => Some(to_datum(Value::Bytes(payload), desc.attribute(at))),
                Some(_) => None,
            }
        });
        // A document that is a scalar.
        found.unwrap_or_else(|| self.attribute(desc, at))
    }

    /// Hands the value at a path of document attribute `at` (from 0) to `f`, from the columns of the path alone. None
    /// if the leaf is older than the attribute.
    pub fn path<R>(&self, at: usize, steps: &[PathStep], f: impl FnOnce(Option<Scalar>) -> R) -> Option<R> {
        (at < self.leaf.width()).then(|| {
            let row = self.index as usize;
            with_scratch(|scratch| {
                match self.leaf.lazy_path(at, steps, has_room_to_spare).get(row, scratch) {
                    Ok(value) => return f(value),
                    Err(Error::Replaced) => self.leaf.revive(),
                    Err(e) => raise(e),
                }
                match self.leaf.lazy_path(at, steps, has_room_to_spare).get(row, scratch) {
                    Ok(value) => f(value),
                    Err(e) => raise(e),
                }
            })
        })
    }
}
