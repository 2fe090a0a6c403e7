//! string_agg in the order of rows: one text for each group.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::state::{Output, State};
use crate::vector::View;

/// The values so far, each with what stands before it, also the first; None before the first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Concat(Option<Joined>);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Joined {
    text: Vec<u8>,
    /// Bytes before the first value, which are part of no result, but of one that comes after other rows.
    before: u32,
}

/// Bytes of the longest text, MaxAllocSize of memutils.h without its header.
const LONGEST: usize = 0x3fff_ffff - 4;
const TOO_LONG: Error = Error::Limit("bytes of a text");

impl Concat {
    fn append(&mut self, before: &[u8], more: &[u8], heap: &mut usize) -> Result<()> {
        let joined = self.0.get_or_insert_with(|| Joined {
            text: Vec::new(),
            before: before.len() as u32,
        });
        let bytes = before.len() + more.len();
        if joined.text.len() + bytes - joined.before as usize > LONGEST {
            return Err(TOO_LONG);
        }
        joined.text.extend_from_slice(before);
        joined.text.extend_from_slice(more);
        *heap += bytes;
        Ok(())
    }
}

impl State for Concat {
    #[inline]
    fn add(&mut self, view: &View<'_>, row: usize, heap: &mut usize) -> Result<()> {
        let before = view.second.filter(|second| second.is_valid(row));
        let before = before.map_or(&[][..], |second| second.string(row));
        self.append(before, view.string(row), heap)
    }

    fn combine(&mut self, other: &Self, heap: &mut usize) -> Result<()> {
        let Some(other) = &other.0 else {
            return Ok(());
        };
        let (before, values) = other.text.split_at(other.before as usize);
        self.append(before, values, heap)
    }

    fn output(&self) -> Result<Output> {
        let text = |joined: &Joined| Output::Text(joined.text[joined.before as usize..].to_vec());
        Ok(self.0.as_ref().map_or(Output::Null, text))
    }

    fn heap_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |joined| joined.text.len())
    }

    fn check(&self) -> Result<()> {
        match &self.0 {
            Some(joined) if joined.before as usize > joined.text.len() => {
                Err(Error::Corrupt("serialized text is damaged"))
            }
            _ => Ok(()),
        }
    }
}
