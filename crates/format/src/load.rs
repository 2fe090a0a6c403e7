//! Reading megapages: fetch, check, decompress, decode, within a memory limit.

use std::borrow::Cow;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::blob::Blob;
use crate::blob::unpack;
use crate::budget::Budget;
use crate::bytes::Reader;
use crate::encode::{blocks, values as value_codec};
use crate::error::{Error, Result, corrupt};
use crate::kind::Kind;
use crate::lazy::Lazy;
use crate::levels::{self, Shape};
use crate::page0::{Levels, Page0};
use crate::types::ReadAt;
use crate::values::Values;

/// Megapages closer than this are read in one go.
const GAP: u64 = 4096;
/// Bytes of such a read at most, unless one megapage is larger.
const READ: u64 = 1 << 20;

/// A leaf column, decoded.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    /// Which of the shapes in hand; equal for columns that share their levels.
    pub(crate) shape_id: u32,
    pub(crate) shape: Shape,
    pub(crate) values: Arc<Values>,
}

/// A column to load: its number, kind and arrays above.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) column: u32,
    pub(crate) kind: Kind,
    pub(crate) arrays: usize,
    /// Whether its values are wanted, or only the levels.
    pub(crate) values: bool,
}

/// Raw bytes of megapages, by column number and by level stream.
#[derive(Default)]
struct Raw {
    pages: HashMap<u32, Vec<u8>>,
    shared: HashMap<u32, Vec<u8>>,
}

/// Loads columns; what they share is loaded once. With a `lazy` source, blocks are left to be read from it when asked
/// for.
pub(crate) fn load<R: ReadAt + ?Sized>(
    source: &R,
    page0: &Page0,
    wanted: &[Wanted],
    budget: &mut Budget,
    lenient: bool,
    lazy: Option<&Arc<dyn ReadAt + Send + Sync>>,
) -> Result<HashMap<u32, Loaded>> {
    let rows = page0.keys.len() as u32;
    let mut raw = fetch(source, page0, wanted, budget, lenient, lazy.is_some())?;
    let mut shapes: HashMap<u32, (usize, Shape)> = HashMap::new();
    let mut loaded = HashMap::with_capacity(wanted.len());
    for w in wanted {
        let entry = &page0.entries[w.column as usize];
        let count = entry.count as usize;
        let page = raw.pages.remove(&w.column).unwrap_or_default();
        let mut values_bytes = page.as_slice();
        // The level streams of the leaf come first, then those of single columns.
        let (shape_id, shape) = match entry.levels {
            Levels::All => (u32::MAX, Shape::all(rows)),
            Levels::Inline => {
                let mut reader = Reader::new(&page);
                let bytes = reader.sized()?;
                values_bytes = reader.rest();
                (
                    page0.shared.len() as u32 + w.column,
                    decode_levels(bytes, rows, w.arrays, count, budget)?,
                )
            }
            Levels::Shared(id) => match shapes.get(&id) {
                Some((arrays, shape)) if *arrays == w.arrays => (id, shape.clone()),
                Some(_) => return corrupt("level stream shared by columns below different arrays"),
                None => {
                    let bytes = raw.shared.remove(&id).unwrap_or_default();
                    let shape = decode_levels(&bytes, rows, w.arrays, count, budget)?;
                    shapes.insert(id, (w.arrays, shape.clone()));
                    (id, shape)
                }
            },
        };
        if shape.lists.len() != w.arrays || shape.leaf.len() as usize != count {
            return corrupt("levels and values of a column differ in number");
        }
        if !w.values {
            let values = Arc::new(Values::None);
            loaded.insert(
                w.column,
                Loaded {
                    shape_id,
                    shape,
                    values,
                },
            );
            continue;
        }
        let width = match w.kind {
            _ if lazy.is_some() && entry.blocks.is_some() => 0,
            Kind::Null | Kind::EmptyObject | Kind::EmptyArray => 0,
            Kind::Bool => 1,
            _ => 24,
        };
        budget.take(count.saturating_mul(width))?;
        let values = match (&entry.blocks, lazy) {
            (Some(blocks), Some(source)) => Values::Lazy(Lazy::new(
                source.clone(),
                blocks.clone(),
                entry.blob.offset,
                w.kind,
                count,
                budget.0,
                lenient,
            )),
            (Some(blocks), None) => blocks::decode(blocks, values_bytes, w.kind, count, budget, lenient)?,
            (None, _) => {
                amax_memory::ask(2 * values_bytes.len(), "decoding a column")?;
                value_codec::decode(values_bytes, w.kind, count, budget.0)?
            }
        };
        budget.take(values.heap_bytes().saturating_sub(count.saturating_mul(width)))?;
        loaded.insert(
            w.column,
            Loaded {
                shape_id,
                shape,
                values: Arc::new(values),
            },
        );
    }
    Ok(loaded)
}

fn decode_levels(bytes: &[u8], rows: u32, arrays: usize, count: usize, budget: &mut Budget) -> Result<Shape> {
    // Arrays opened are at most one per value and array above, since each ends with a value.
    let places = count.saturating_mul(arrays + 1).min(budget.0 / 8);
    let shape = levels::decode(bytes, rows, arrays, places)?;
    budget.take(shape.heap_bytes())?;
    Ok(shape)
}

fn fetch<R: ReadAt + ?Sized>(
    source: &R,
    page0: &Page0,
    wanted: &[Wanted],
    budget: &mut Budget,
    lenient: bool,
    lazy: bool,
) -> Result<Raw> {
    let mut raw = Raw::default();
    let mut blobs: Vec<(Blob, Option<u32>, u32)> = Vec::with_capacity(wanted.len());
    for w in wanted {
        let entry = &page0.entries[w.column as usize];
        let levels_are_apart = !matches!(entry.levels, Levels::Inline);
        if !(lazy && entry.blocks.is_some() || !w.values && levels_are_apart) {
            blobs.push((entry.blob, None, w.column));
        }
        if let Levels::Shared(id) = entry.levels {
            blobs.push((page0.shared[id as usize], Some(id), 0));
        }
    }
    blobs.retain(|(blob, ..)| blob.raw_len > 0);
    blobs.sort_unstable_by_key(|&(blob, shared, column)| (blob.offset, shared, column));
    blobs.dedup_by_key(|&mut (blob, shared, column)| (blob.offset, shared, column));
    let end_of = |blob: &Blob| blob.offset + u64::from(blob.stored_len);
    let mut at = 0;
    while at < blobs.len() {
        let start = blobs[at].0.offset;
        let mut last = at;
        let mut end = end_of(&blobs[at].0);
        while let Some((next, ..)) = blobs.get(last + 1) {
            if next.offset > end + GAP || end_of(next) - start > READ {
                break;
            }
            end = end.max(end_of(next));
            last += 1;
        }
        let length = usize::try_from(end - start).map_err(|_| Error::Limit("bytes of one read"))?;
        if length > budget.0 {
            return Err(Error::Limit("memory to decode a column"));
        }
        amax_memory::ask(length, "reading a column")?;
        let bytes = source.read_at(start, length)?;
        for &(blob, shared, column) in &blobs[at..=last] {
            let from = (blob.offset - start) as usize;
            let Some(stored) = bytes.get(from..from + blob.stored_len as usize) else {
                return corrupt("storage returned too few bytes");
            };
            let blocks = shared.is_none() && page0.entries[column as usize].blocks.is_some();
            let page = if blocks {
                budget.take(stored.len())?;
                amax_memory::copy(stored, "reading a column")?
            } else {
                match unpack(stored.into(), &blob, budget, lenient)? {
                    Cow::Borrowed(bytes) => amax_memory::copy(bytes, "reading a column")?,
                    Cow::Owned(bytes) => bytes,
                }
            };
            match shared {
                Some(id) => raw.shared.insert(id, page),
                None => raw.pages.insert(column, page),
            };
        }
        at = last + 1;
    }
    Ok(raw)
}
