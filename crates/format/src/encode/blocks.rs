//! The values of a long column as blocks ([`crate::blocks`]).

use std::borrow::Cow;

use super::compress::Compression;
use super::strings::{self, Choice};
use super::values as value_codec;
use crate::blob::{Blob, unpack};
use crate::blocks::Blocks;
use crate::budget::Budget;
use crate::error::{Error, Result, corrupt};
use crate::kind::Kind;
use crate::values::Values;

/// Values of a block at most: what decoding one of them for a single row costs.
const VALUES: usize = 1024;
/// Bytes of a block's strings, about; compressors find little more in longer ones.
const BYTES: usize = 4 << 10;

/// What a column's values became.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    /// The first byte, which names the encoding.
    pub(crate) encoding: u8,
    /// As encoded if whole, else the stored blocks one behind the other.
    pub(crate) bytes: Vec<u8>,
    pub(crate) blocks: Option<Blocks>,
}

/// Encodes the values of a column, in blocks if there are many.
pub(crate) fn encode(values: &Values, compression: Compression) -> Result<Encoded> {
    let count = values.len();
    // Of strings the choice of an encoding shows whether they have a dictionary; of numbers, blocks lose nothing.
    let (encoding, whole) = match values {
        Values::Int(_) | Values::Decimal { .. } | Values::Float4(_) | Values::Float8(_) if count >= 2 * VALUES => {
            (None, None)
        }
        Values::Bytes(bytes) => match strings::choose(bytes, compression)? {
            Choice::Stream(stream) => (stream.first().copied(), Some(stream)),
            Choice::As(tag) => (Some(tag), None),
        },
        _ => {
            let whole = value_codec::encode(values, compression)?;
            (whole.first().copied(), Some(whole))
        }
    };
    let per = match values {
        Values::Bytes(bytes) if encoding.is_some_and(strings::splits) => {
            let mean = bytes.data.len() / count.max(1);
            (BYTES / mean.max(1)).clamp(16, VALUES)
        }
        Values::Int(_) | Values::Decimal { .. } | Values::Float4(_) | Values::Float8(_) => VALUES,
        _ => usize::MAX,
    };
    if count / 2 < per {
        let bytes = match (whole, encoding) {
            (Some(whole), _) => whole,
            (None, Some(tag)) => value_codec::encode_as(values, tag, compression)?,
            (None, None) => value_codec::encode(values, compression)?,
        };
        return Ok(Encoded {
            encoding: bytes.first().copied().unwrap_or(0),
            bytes,
            blocks: None,
        });
    }
    drop(whole);
    let mut encoded = Encoded::default();
    let mut blocks = Blocks {
        values: per as u32,
        list: Vec::with_capacity(count.div_ceil(per)),
    };
    for start in (0..count).step_by(per) {
        amax_memory::check("encoding a column")?;
        let block = values.slice(start..(start + per).min(count));
        let raw = match encoding {
            Some(encoding) => value_codec::encode_as(&block, encoding, compression)?,
            None => value_codec::encode(&block, compression)?,
        };
        if start == 0 {
            encoded.encoding = raw.first().copied().unwrap_or(0);
        }
        let (mut blob, stored) = Blob::of(&raw, compression)?;
        blob.offset = encoded.bytes.len() as u64;
        blocks.list.push(blob);
        amax_memory::extend(&mut encoded.bytes, &stored, "encoding a column")?;
    }
    encoded.blocks = Some(blocks);
    Ok(encoded)
}

/// All values of a column, from its megapage.
pub(crate) fn decode(
    blocks: &Blocks,
    page: &[u8],
    kind: Kind,
    count: usize,
    budget: &Budget,
    lenient: bool,
) -> Result<Values> {
    let mut all: Option<Values> = None;
    let raw_len = usize::try_from(blocks.raw_len()).unwrap_or(usize::MAX);
    amax_memory::ask(raw_len.saturating_mul(2), "decoding a column")?;
    for (at, blob) in blocks.list.iter().enumerate() {
        let start = blob.offset as usize;
        let Some(stored) = page.get(start..start + blob.stored_len as usize) else {
            return corrupt("block outside its column");
        };
        amax_memory::check("decoding a column")?;
        let mut raw = Budget(budget.0);
        let raw = unpack(Cow::Borrowed(stored), blob, &mut raw, lenient)?;
        let of_block = blocks.count(at, count);
        match &mut all {
            None => {
                let mut first = value_codec::decode(&raw, kind, of_block, budget.0)?;
                first.make_room(count, budget.0)?;
                all = Some(first);
            }
            Some(all) => {
                value_codec::append(all, &raw, kind, of_block, budget.0)?;
                if all.heap_bytes() > budget.0 {
                    return Err(Error::Limit("memory to decode a column"));
                }
            }
        }
    }
    Ok(all.unwrap_or(Values::None))
}
