//! Byte strings: Parquet's delta-length and delta strings, and a dictionary.

use hashbrown::DefaultHashBuilder;
use hashbrown::hash_table::{Entry, HashTable};
use std::hash::BuildHasher;

use super::{bitpack::width_of, compress, hybrid, ints, packed};
use crate::Compression;
use crate::bytes::{Reader, put_varint};
use crate::error::{Error, Result, corrupt};
use crate::strings::ByteVec;

/// What memory is asked for.
const WHAT: &str = "strings of a column";

const PLAIN: u8 = 0;
const DICTIONARY: u8 = 1;
const DELTA: u8 = 2;
const PACKED: u8 = 3;

/// The name of the encoding whose stream starts with `tag`.
pub(crate) fn name(tag: u8) -> &'static str {
    match tag {
        PLAIN => "delta-length",
        DICTIONARY => "dictionary",
        DELTA => "delta-strings",
        PACKED => "packed",
        _ => "unknown",
    }
}

/// Bytes of strings that tell how the others are best encoded.
const SAMPLE: usize = 16 << 10;
/// Values that come so often each, on average, take less as codes than as anything else: what a compressor finds in
/// them it finds in their codes, which are shorter.
const OFTEN: usize = 4;

/// How strings are best encoded.
pub(crate) enum Choice {
    /// As this stream.
    Stream(Vec<u8>),
    /// By [`encode_as`].
    As(u8),
}

/// Appends a stream of `values` in the encoding that is chosen for them.
pub(crate) fn encode(out: &mut Vec<u8>, values: &ByteVec, compression: Compression) -> Result<()> {
    match choose(values, compression)? {
        Choice::Stream(stream) => append(out, stream),
        Choice::As(tag) => encode_as(out, values, tag, compression),
    }
}

/// The encoding that is smallest once compressed; of long columns without a dictionary, the one that is smallest for the
/// first values.
pub(crate) fn choose(values: &ByteVec, compression: Compression) -> Result<Choice> {
    let dictionary = Dictionary::of(values)?;
    if let Some(dictionary) = dictionary.as_ref().filter(|d| d.entries.len() <= values.len() / OFTEN) {
        return Ok(Choice::Stream(dictionary.encode(compression)?));
    }
    let count = values.ends.partition_point(|&end| end as usize <= SAMPLE);
    if dictionary.is_none() && values.data.len() > 2 * SAMPLE && count > 0 {
        let ends = values.ends[..count].to_vec();
        let data = values.data[..ends[count - 1] as usize].to_vec();
        let mut sample = Vec::new();
        encode(&mut sample, &ByteVec { ends, data }, compression)?;
        return Ok(Choice::As(if sample[0] == PACKED { PACKED } else { PLAIN }));
    }
    let mut best = Vec::new();
    encode_plain(&mut best, values, compression != Compression::None)?;
    let mut size = stored_len(&best, compression)?;
    if let Some(stream) = packed::encode(values, size)? {
        let mut packed = vec![PACKED];
        amax_memory::extend(&mut packed, &stream, WHAT)?;
        drop(stream);
        let packed_size = stored_len(&packed, compression)?;
        if packed_size < size {
            (best, size) = (packed, packed_size);
        }
    }
    if let Some(dictionary) = dictionary {
        let candidate = dictionary.encode(compression)?;
        if stored_len(&candidate, compression)? < size {
            best = candidate;
        }
    }
    Ok(Choice::Stream(best))
}

fn append(out: &mut Vec<u8>, stream: Vec<u8>) -> Result<()> {
    match out.is_empty() {
        true => *out = stream,
        false => amax_memory::extend(out, &stream, WHAT)?,
    }
    Ok(())
}

/// Whether an encoding has nothing that all values share.
pub(crate) fn splits(tag: u8) -> bool {
    matches!(tag, PLAIN | PACKED)
}

/// Appends a stream of `values`, packed if `tag` says so and they can be, else plain.
pub(crate) fn encode_as(out: &mut Vec<u8>, values: &ByteVec, tag: u8, compression: Compression) -> Result<()> {
    let packed = match tag {
        PACKED => packed::encode(values, usize::MAX)?,
        _ => None,
    };
    match packed {
        Some(stream) => {
            out.push(PACKED);
            Ok(amax_memory::extend(out, &stream, WHAT)?)
        }
        None => encode_plain(out, values, compression != Compression::None),
    }
}

/// Appends distinct strings: plain or delta strings.
pub(crate) fn encode_small(out: &mut Vec<u8>, values: &ByteVec, compression: Compression) -> Result<()> {
    let (mut plain, mut delta) = (Vec::new(), Vec::new());
    encode_plain(&mut plain, values, compression != Compression::None)?;
    encode_delta(&mut delta, values, compression != Compression::None)?;
    let smaller = stored_len(&delta, compression)? < stored_len(&plain, compression)?;
    append(out, if smaller { delta } else { plain })
}

/// What `bytes` will take on disk; snappy stands in for the slower compressors.
fn stored_len(bytes: &[u8], compression: Compression) -> Result<usize> {
    match compression {
        Compression::None => Ok(bytes.len()),
        _ => Ok(compress::compress(bytes, Compression::Snappy)?.1.len()),
    }
}

fn encode_plain(out: &mut Vec<u8>, values: &ByteVec, aligned: bool) -> Result<()> {
    amax_memory::reserve(out, values.data.len() + values.len() + 16, WHAT)?;
    out.push(PLAIN);
    let lengths: Vec<i64> = values.iter().map(|v| v.len() as i64).collect();
    ints::encode(out, &lengths, aligned);
    Ok(amax_memory::extend(out, &values.data, WHAT)?)
}

fn encode_delta(out: &mut Vec<u8>, values: &ByteVec, aligned: bool) -> Result<()> {
    let (mut prefixes, mut suffixes, mut data) = (Vec::new(), Vec::new(), Vec::new());
    let mut previous: &[u8] = &[];
    for value in values.iter() {
        let shared = previous.iter().zip(value).take_while(|(a, b)| a == b).count();
        prefixes.push(shared as i64);
        suffixes.push((value.len() - shared) as i64);
        amax_memory::extend(&mut data, &value[shared..], WHAT)?;
        previous = value;
    }
    out.push(DELTA);
    ints::encode(out, &prefixes, aligned);
    ints::encode(out, &suffixes, aligned);
    Ok(amax_memory::extend(out, &data, WHAT)?)
}

/// A hash of which a table may take the upper bits as well as the lower.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

struct Dictionary {
    entries: ByteVec,
    codes: Vec<u32>,
}

impl Dictionary {
    /// The distinct values in the order they come and the code of each; `None` if there are too many.
    fn of(values: &ByteVec) -> Result<Option<Self>> {
        // Where there are more there will be many.
        const FEW: usize = 512;
        const MANY: usize = 1 << 14;
        let limit = values.len() / 2;
        if limit == 0 {
            return Ok(None);
        }
        let hasher = DefaultHashBuilder::default();
        // Hashes, and where the values came first: what is compared and moved is small.
        let mut table: HashTable<(u32, u32)> = HashTable::new();
        let mut first: Vec<usize> = Vec::new();
        let mut codes = Vec::with_capacity(values.len());
        for (i, value) in values.iter().enumerate() {
            let hash = hasher.hash_one(value) as u32;
            let found = table.entry(
                spread(hash),
                |&(other, code)| other == hash && values.get(first[code as usize]) == value,
                |&(hash, _)| spread(hash),
            );
            match found {
                Entry::Occupied(entry) => codes.push(entry.get().1),
                Entry::Vacant(entry) => {
                    if first.len() >= limit {
                        return Ok(None);
                    }
                    let code = first.len() as u32;
                    entry.insert((hash, code));
                    first.push(i);
                    codes.push(code);
                    if first.len() == FEW {
                        table.reserve(limit.clamp(FEW, MANY) - FEW, |&(hash, _)| spread(hash));
                    }
                }
            }
        }
        let mut entries = ByteVec::default();
        first.into_iter().try_for_each(|i| entries.push(values.get(i)))?;
        Ok(Some(Self { entries, codes }))
    }

    /// The stream of a column.
    fn encode(&self, compression: Compression) -> Result<Vec<u8>> {
        let mut out = vec![DICTIONARY];
        put_varint(&mut out, self.entries.len() as u64);
        encode_small(&mut out, &self.entries, compression)?;
        let width = width_of(self.entries.len() as u64 - 1);
        let codes = |width| {
            let mut codes = Vec::new();
            hybrid::encode(&mut codes, &self.codes, width);
            codes
        };
        let (mut width, mut best) = (width, codes(width));
        let bytes = width.next_multiple_of(8);
        if compression != Compression::None && bytes != width {
            let aligned = codes(bytes);
            if stored_len(&aligned, compression)? < stored_len(&best, compression)? {
                (width, best) = (bytes, aligned);
            }
        }
        out.push(width as u8);
        put_varint(&mut out, best.len() as u64);
        out.append(&mut best);
        Ok(out)
    }
}

/// Strings as they were encoded.
pub(crate) enum Decoded {
    Plain(ByteVec),
    /// `codes` are below `entries.len()`.
    Dictionary {
        entries: ByteVec,
        codes: Vec<u32>,
    },
}

impl Decoded {
    fn get(&self, i: usize) -> &[u8] {
        match self {
            Self::Plain(strings) => strings.get(i),
            Self::Dictionary { entries, codes } => entries.get(codes[i] as usize),
        }
    }
}

/// Decodes exactly `n` strings, the whole of `reader`, in at most `limit` bytes.
pub(crate) fn decode(reader: &mut Reader<'_>, n: usize, limit: usize) -> Result<Decoded> {
    let mut ahead = *reader;
    if ahead.u8()? != DICTIONARY {
        return Ok(Decoded::Plain(decode_entries(reader, n, limit)?));
    }
    *reader = ahead;
    let count = reader.count(n, "dictionary size")?;
    let entries = decode_entries(reader, count, limit)?;
    let width = u32::from(reader.u8()?);
    let codes = hybrid::decode(reader.sized()?, n, width.min(32))?;
    if codes.iter().any(|&code| code as usize >= entries.len()) {
        return corrupt("code outside the dictionary");
    }
    Ok(Decoded::Dictionary { entries, codes })
}

/// Decodes string `i` of `n` into `out`.
pub(crate) fn decode_at(reader: &mut Reader<'_>, n: usize, i: usize, limit: usize, out: &mut Vec<u8>) -> Result<()> {
    let mut ahead = *reader;
    if ahead.u8()? == PACKED {
        return packed::decode_at(&mut ahead, n, i, limit, out);
    }
    let values = decode(reader, n, limit)?;
    if i >= n {
        return corrupt("string past the end of its block");
    }
    out.clear();
    out.extend_from_slice(values.get(i));
    Ok(())
}

/// Where the `n` plain strings of a stream begin, with `ends` set to where from there each ends; `None` if they are
/// encoded otherwise.
pub(crate) fn plain(bytes: &[u8], n: usize, limit: usize, ends: &mut Vec<u32>) -> Result<Option<usize>> {
    let mut reader = Reader::new(bytes);
    if reader.u8()? != PLAIN {
        return Ok(None);
    }
    ends.clear();
    let total = read_ends(&mut reader, n, limit, ends)?;
    let start = bytes.len() - reader.rest().len();
    reader.bytes(total)?;
    Ok(Some(start))
}

/// Decodes exactly `n` strings behind `out`, and advances `reader`, if they are plain or packed; else leaves both.
pub(crate) fn append_to(reader: &mut Reader<'_>, n: usize, limit: usize, out: &mut ByteVec) -> Result<bool> {
    let mut ahead = *reader;
    match ahead.u8()? {
        PLAIN => {}
        PACKED => {
            packed::append(&mut ahead, n, limit, out)?;
            *reader = ahead;
            return Ok(true);
        }
        _ => return Ok(false),
    }
    let (base, first) = (out.data.len(), out.ends.len());
    let total = read_ends(&mut ahead, n, limit, &mut out.ends)?;
    if u32::try_from(base + total).is_err() {
        return Err(Error::Limit("4 GiB of values in one column"));
    }
    amax_memory::extend(&mut out.data, ahead.bytes(total)?, WHAT)?;
    out.ends[first..].iter_mut().for_each(|end| *end += base as u32);
    *reader = ahead;
    Ok(true)
}

/// Decodes exactly `n` strings that are not in a dictionary.
pub(crate) fn decode_entries(reader: &mut Reader<'_>, n: usize, limit: usize) -> Result<ByteVec> {
    match reader.u8()? {
        PLAIN => {
            let mut ends = Vec::with_capacity(n);
            let total = read_ends(reader, n, limit, &mut ends)?;
            Ok(ByteVec {
                ends,
                data: amax_memory::copy(reader.bytes(total)?, WHAT)?,
            })
        }
        DELTA => {
            let prefixes = ints::decode(reader, n)?;
            let suffixes = ints::decode(reader, n)?;
            let mut out = ByteVec {
                ends: Vec::with_capacity(n),
                data: Vec::new(),
            };
            let mut start = 0;
            for (&prefix, &suffix) in prefixes.iter().zip(&suffixes) {
                let end = out.data.len();
                let (Ok(prefix), Ok(suffix)) = (usize::try_from(prefix), usize::try_from(suffix)) else {
                    return corrupt("negative string length");
                };
                if prefix > end - start {
                    return corrupt("string prefix is longer than the string before");
                }
                if end + prefix > limit {
                    return corrupt("strings exceed the memory limit");
                }
                out.data.extend_from_within(start..start + prefix);
                out.data.extend_from_slice(reader.bytes(suffix)?);
                out.end()?;
                start = end;
            }
            Ok(out)
        }
        PACKED => {
            let mut out = ByteVec::default();
            packed::append(reader, n, limit, &mut out)?;
            Ok(out)
        }
        tag => corrupt(format!("unknown string encoding {tag}")),
    }
}

/// Appends the running ends of `n` strings whose lengths come next; returns their total.
fn read_ends(reader: &mut Reader<'_>, n: usize, limit: usize, ends: &mut Vec<u32>) -> Result<usize> {
    let limit = limit.min(u32::MAX as usize);
    let (mut total, mut sound) = (0usize, true);
    ints::each(reader, n, |length| {
        total = total.saturating_add(length as usize);
        sound &= length >= 0 && total <= limit;
        ends.push(total as u32);
    })?;
    match sound {
        true => Ok(total),
        false => corrupt("string lengths exceed the memory limit"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A column too long to try everything is encoded like its first values, if the others can be.
    #[test]
    fn long_columns_are_encoded_as_they_begin() {
        let digest = |i: u64| format!("{:016x}", i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let last: [Vec<u8>; 2] = [digest(7).into(), (0..=255).collect()];
        for (last, tag) in last.into_iter().zip([PACKED, PLAIN]) {
            let mut column = ByteVec::default();
            (0..20_000).for_each(|i| column.push(digest(i).as_bytes()).unwrap());
            column.push(&last).unwrap();
            let mut out = Vec::new();
            encode(&mut out, &column, Compression::Snappy).unwrap();
            assert_eq!(out[0], tag);
            let back = decode(&mut Reader::new(&out), column.len(), 1 << 20).unwrap();
            (0..column.len()).for_each(|i| assert_eq!(back.get(i), column.get(i)));
        }
    }

    proptest! {
        #[test]
        fn roundtrip(
            values in prop::collection::vec(prop_oneof!["[ab]{0,3}", "[a-f]{8}", ".{0,40}"], 0..200),
            compression in prop_oneof![Just(Compression::None), Just(Compression::Snappy)],
        ) {
            let mut column = ByteVec::default();
            values.iter().for_each(|v| column.push(v.as_bytes()).unwrap());
            for small in [false, true] {
                let mut out = Vec::new();
                if small {
                    encode_small(&mut out, &column, compression).unwrap();
                } else {
                    encode(&mut out, &column, compression).unwrap();
                }
                let mut reader = Reader::new(&out);
                let back = decode(&mut reader, values.len(), 1 << 20).unwrap();
                prop_assert!(reader.is_empty());
                for (i, v) in values.iter().enumerate() {
                    prop_assert_eq!(back.get(i), v.as_bytes());
                }
            }
        }

        /// Bytes changed in sound streams: what decodes can be used.
        #[test]
        fn hostile(
            values in prop::collection::vec("[ab]{0,2}", 1..60),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let mut column = ByteVec::default();
            values.iter().for_each(|v| column.push(v.as_bytes()).unwrap());
            let mut out = Vec::new();
            encode(&mut out, &column, Compression::None).unwrap();
            for (at, byte) in changes {
                let at = at.index(out.len());
                out[at] = byte;
            }
            if let Ok(back) = decode(&mut Reader::new(&out), values.len(), 1 << 16) {
                (0..values.len()).for_each(|i| assert!(back.get(i).len() <= 1 << 16));
            }
        }

        #[test]
        fn arbitrary(bytes in prop::collection::vec(any::<u8>(), 0..80), n in 0usize..300) {
            let _ = decode(&mut Reader::new(&bytes), n, 1 << 16);
        }
    }
}
