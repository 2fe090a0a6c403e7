//! Page 0: the header, the keys, the schema and the directory of megapages.
//!
//! ```text
//! 0   8  magic "AMAXLEAF"
//! 8   2  format version
//! 10  1  codec of the body
//! 11  1  reserved, zero
//! 12  4  bytes of Page 0, this header included
//! 16  4  bytes of the body, decompressed
//! 20  4  rows
//! 24  4  page size
//! 28  4  empty-page tolerance, bytes
//! 32  8  bytes of the image
//! 40  4  CRC-32C of Page 0 with this field zero
//! 44     body: keys | anti-matter levels | SQL columns with their schemas | directory
//! ```

use std::sync::Arc;

use crate::LeafOptions;
use crate::blob::Blob;
use crate::blocks::Blocks;
use crate::bytes::{Reader, put_varint};
use crate::encode::compress::{Codec, compress, decompress};
use crate::encode::{hybrid, ints};
use crate::error::{Error, Result, corrupt};
use crate::keys::Keys;
use crate::layout;
use crate::schema::Schema;
use crate::stored::Stored;
use crate::types::ColumnType;

const MAGIC: &[u8; 8] = b"AMAXLEAF";
const VERSION: u16 = 3;
/// The oldest that is read: its bounds have eight bytes, and nothing else is new since.
const OLDEST_VERSION: u16 = 2;
pub(crate) const HEADER: usize = 44;
const CRC_AT: usize = 40;

/// Rows of a leaf at most.
pub(crate) const MAX_ROWS: usize = 1 << 20;
/// Decompressed bytes of Page 0 at most.
const MAX_BODY: usize = 1 << 26;
/// Memory that a byte of the body may take once read: a node of the schema is two.
const EXPANSION: usize = 16;

/// Where the levels of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Levels {
    /// Nowhere: a value in every row.
    All,
    /// In front of the values, after their length.
    Inline,
    /// A megapage of their own, shared by columns of the same structure.
    Shared(u32),
}

/// A column in the directory.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) levels: Levels,
    /// Values.
    pub(crate) count: u32,
    /// The smallest and largest value, see [`crate::zone`].
    pub(crate) zone: Option<Stored>,
    /// The first byte of the values, which names their encoding.
    pub(crate) encoding: u8,
    pub(crate) blob: Blob,
    /// If the megapage is a sequence of blocks: their own codecs and checksums stand for its.
    pub(crate) blocks: Option<Arc<Blocks>>,
}

/// What Page 0 says.
#[derive(Debug)]
pub(crate) struct Page0 {
    /// Whether bounds of strings may have more than eight bytes.
    pub(crate) has_long_bounds: bool,
    pub(crate) keys: Keys,
    /// Per row; empty if no row is anti-matter.
    pub(crate) antimatter: Vec<bool>,
    pub(crate) columns: Vec<(ColumnType, Schema)>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) shared: Vec<Blob>,
    /// Decompressed bytes of Page 0's body.
    pub(crate) body_len: usize,
}

/// What is written to Page 0.
pub(crate) struct Parts<'a> {
    pub(crate) keys: &'a [u64],
    /// Per row.
    pub(crate) antimatter: &'a [bool],
    pub(crate) columns: &'a [(ColumnType, Vec<u8>)],
    pub(crate) entries: &'a [Entry],
    pub(crate) shared: &'a [Blob],
}

/// Page 0's bytes; the offsets of the blobs (entries', then shared) and the image's length.
pub(crate) fn write(parts: &Parts<'_>, options: &LeafOptions) -> Result<(Vec<u8>, Vec<u64>, u64)> {
    let mut body = Vec::new();
    let keys: Vec<i64> = parts.keys.iter().map(|&k| k as i64).collect();
    ints::encode(&mut body, &keys, false);
    // The key's definition level: 0 is anti-matter (AMAX paper §3.3).
    let present: Vec<u32> = parts.antimatter.iter().map(|&a| (!a).into()).collect();
    let mut levels = Vec::new();
    hybrid::encode(&mut levels, &present, 1);
    put_varint(&mut body, levels.len() as u64);
    body.extend_from_slice(&levels);
    put_varint(&mut body, parts.columns.len() as u64);
    for (column_type, schema) in parts.columns {
        body.push(column_type.to_u8());
        body.extend_from_slice(schema);
    }
    put_varint(&mut body, parts.shared.len() as u64);
    parts.shared.iter().for_each(|blob| blob.write(&mut body));
    put_varint(&mut body, parts.entries.len() as u64);
    for entry in parts.entries {
        let levels = match entry.levels {
            Levels::All => 0,
            Levels::Inline => 1,
            Levels::Shared(_) => 2,
        };
        let has_more = entry.zone.as_ref().is_some_and(|zone| zone.more.is_some());
        let zone = u8::from(entry.zone.is_some()) << 2 | u8::from(has_more) << 4;
        body.push(levels | zone | u8::from(entry.blocks.is_some()) << 3);
        if let Levels::Shared(i) = entry.levels {
            put_varint(&mut body, u64::from(i));
        }
        put_varint(&mut body, u64::from(entry.count));
        body.push(entry.encoding);
        match &entry.blocks {
            None => entry.blob.write(&mut body),
            Some(blocks) => {
                put_varint(&mut body, u64::from(blocks.values));
                blocks.list.iter().for_each(|block| block.write(&mut body));
            }
        }
    }
    // Bounds have a segment of their own, as in the paper (§4.2), and so has what is more to those of strings.
    let zones = || parts.entries.iter().filter_map(|entry| entry.zone.as_ref());
    zones().for_each(|zone| zone.write(&mut body));
    zones().for_each(|zone| zone.write_more(&mut body));
    let (codec, stored) = compress(&body, options.compression)?;
    let len = HEADER + stored.len();
    let (Ok(len32), true) = (u32::try_from(len), body.len() <= MAX_BODY) else {
        return Err(Error::Limit("64 MiB of schema and directory"));
    };
    let lengths: Vec<u32> = blobs(parts.entries, parts.shared).map(|b| b.stored_len).collect();
    let page_size = u32::try_from(options.page_size).map_err(|_| Error::Misuse("page size exceeds 4 GiB"))?;
    let tolerance = (options.empty_page_tolerance.clamp(0.0, 1.0) * options.page_size as f64) as u32;
    let (offsets, image_len) = layout::place(&lengths, len as u64, page_size, tolerance)?;
    let mut out = Vec::with_capacity(len);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.push(codec as u8);
    out.push(0);
    out.extend_from_slice(&len32.to_le_bytes());
    out.extend_from_slice(&(body.len() as u32).to_le_bytes());
    out.extend_from_slice(&(parts.keys.len() as u32).to_le_bytes());
    out.extend_from_slice(&page_size.to_le_bytes());
    out.extend_from_slice(&tolerance.to_le_bytes());
    out.extend_from_slice(&image_len.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&stored);
    let crc = crc32c::crc32c(&out);
    out[CRC_AT..HEADER].copy_from_slice(&crc.to_le_bytes());
    Ok((out, offsets, image_len))
}

/// All blobs in the order of the layout's lengths.
pub(crate) fn blobs<'a>(entries: &'a [Entry], shared: &'a [Blob]) -> impl Iterator<Item = &'a Blob> {
    entries.iter().map(|e| &e.blob).chain(shared)
}

/// Bytes of Page 0, from an image's first [`HEADER`] bytes.
pub(crate) fn length(header: &[u8], image_len: u64) -> Result<usize> {
    let mut reader = Reader::new(header);
    if &reader.array()? != MAGIC {
        return corrupt("no leaf starts here");
    }
    let version = reader.u16()?;
    if !(OLDEST_VERSION..=VERSION).contains(&version) {
        return Err(Error::Version(version));
    }
    reader.u16()?;
    let len = reader.u32()?;
    if u64::from(len) > image_len || (len as usize) < HEADER {
        return corrupt("Page 0 does not fit the image");
    }
    Ok(len as usize)
}

fn read_blocks(reader: &mut Reader<'_>, count: u32) -> Result<Blocks> {
    let values = reader.count(1 << 30, "values of a block")? as u32;
    if values == 0 {
        return corrupt("blocks without values");
    }
    // A block takes at least a byte here: their number is bounded by the body.
    let mut blocks = Blocks {
        values,
        list: Vec::new(),
    };
    let mut offset = 0;
    for _ in 0..count.div_ceil(values) {
        let mut blob = Blob::read(reader)?;
        blob.offset = offset;
        offset += u64::from(blob.stored_len);
        blocks.list.push(blob);
    }
    Ok(blocks)
}

/// Reads Page 0 from its bytes, `length` of them. A checksum that differs is an error unless
/// `lenient`, for tests of what lies behind it.
pub(crate) fn read(bytes: &[u8], image_len: u64, memory: usize, lenient: bool) -> Result<Page0> {
    let mut header = Reader::new(bytes);
    header.bytes(8)?;
    let version = header.u16()?;
    let codec = Codec::from_u8(header.u8()?)?;
    header.u8()?;
    let len = header.u32()?;
    let body_len = header.u32()? as usize;
    let rows = header.u32()? as usize;
    let page_size = header.u32()?;
    let tolerance = header.u32()?;
    if header.u64()? != image_len {
        return corrupt("image length differs from Page 0's");
    }
    let crc = header.u32()?;
    let mut check = crc32c::crc32c(&bytes[..CRC_AT]);
    check = crc32c::crc32c_append(check, &[0; 4]);
    check = crc32c::crc32c_append(check, &bytes[HEADER..]);
    if check != crc && !lenient {
        return corrupt("checksum of Page 0 differs");
    }
    if rows > MAX_ROWS || body_len > MAX_BODY.min(memory / EXPANSION) {
        return corrupt("Page 0 exceeds its limits");
    }
    let body = decompress(header.rest().into(), codec, body_len)?;
    let mut reader = Reader::new(&body);
    let keys: Vec<u64> = ints::decode(&mut reader, rows)?.into_iter().map(|k| k as u64).collect();
    if keys.windows(2).any(|w| w[0] >= w[1]) {
        return corrupt("keys do not ascend");
    }
    let mut antimatter: Vec<bool> = hybrid::decode(reader.sized()?, rows, 1)?
        .into_iter()
        .map(|l| l == 0)
        .collect();
    if !antimatter.contains(&true) {
        antimatter = Vec::new();
    }
    let mut columns = Vec::new();
    let mut leaves = 0;
    for _ in 0..reader.count(body_len, "number of columns")? {
        let column_type = ColumnType::from_u8(reader.u8()?)?;
        let schema = Schema::read(&mut reader, column_type, leaves)?;
        leaves = schema.columns.end;
        columns.push((column_type, schema));
    }
    let shared_count = reader.count(body_len, "number of level streams")?;
    let mut shared = (0..shared_count)
        .map(|_| Blob::read(&mut reader))
        .collect::<Result<Vec<_>>>()?;
    if reader.count(body_len, "number of directory entries")? != leaves as usize {
        return corrupt("directory and schema differ");
    }
    let mut entries = Vec::with_capacity(leaves as usize);
    let mut zones = Vec::new();
    for at in 0..leaves as usize {
        let flags = reader.u8()?;
        let levels = match flags & 3 {
            0 => Levels::All,
            1 => Levels::Inline,
            2 => Levels::Shared(reader.count(shared.len(), "level stream")? as u32),
            _ => return corrupt("unknown place of levels"),
        };
        let count = reader.count(1 << 30, "number of values")? as u32;
        if flags & 4 != 0 {
            zones.push((at, flags & 16 != 0));
        }
        let encoding = reader.u8()?;
        let blocks = match flags & 8 {
            0 => None,
            _ => Some(Arc::new(read_blocks(&mut reader, count)?)),
        };
        entries.push(Entry {
            levels,
            count,
            zone: None,
            encoding,
            blob: match &blocks {
                None => Blob::read(&mut reader)?,
                Some(blocks) => blocks.blob()?,
            },
            blocks,
        });
    }
    if entries
        .iter()
        .any(|e| matches!(e.levels, Levels::Shared(i) if i as usize >= shared.len()))
    {
        return corrupt("no such level stream");
    }
    for &(at, _) in &zones {
        entries[at].zone = Some(Stored::read(&mut reader)?);
    }
    for (at, _) in zones.into_iter().filter(|(_, has_more)| *has_more) {
        if let Some(zone) = &mut entries[at].zone {
            zone.read_more(&mut reader)?;
        }
    }
    if !reader.is_empty() {
        return corrupt("bytes after the directory");
    }
    let lengths: Vec<u32> = blobs(&entries, &shared).map(|b| b.stored_len).collect();
    let (offsets, end) = layout::place(&lengths, u64::from(len), page_size, tolerance)?;
    if end != image_len {
        return corrupt("megapages do not fill the image");
    }
    for (blob, offset) in entries.iter_mut().map(|e| &mut e.blob).chain(&mut shared).zip(offsets) {
        blob.offset = offset;
    }
    Ok(Page0 {
        has_long_bounds: version > 2,
        keys: Keys::new(keys),
        antimatter,
        columns,
        entries,
        shared,
        body_len,
    })
}
