//! The values of one column as bytes, by kind.

use super::strings::{self, Decoded};
use super::value::{bools, scale_of};
use super::{hybrid, ints};
use crate::Compression;
use crate::bytes::Reader;
use crate::error::{Result, corrupt};
use crate::kind::Kind;
use crate::values::Values;

/// Encodes the values of a column.
pub(crate) fn encode(values: &Values, compression: Compression) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let aligned = compression != Compression::None;
    match values {
        Values::None => {}
        Values::Bool(v) => {
            let bits: Vec<u32> = v.iter().map(|&b| b.into()).collect();
            hybrid::encode(&mut out, &bits, 1);
        }
        Values::Int(v) => encode_ints(&mut out, v, aligned),
        Values::Decimal { mantissa, scale } => {
            let scale: Vec<i64> = scale.iter().map(|&s| i64::from(s)).collect();
            ints::encode(&mut out, &scale, aligned);
            encode_ints(&mut out, mantissa, aligned);
        }
        Values::Bytes(v) => strings::encode(&mut out, v, compression)?,
        Values::Dictionary { .. } | Values::Lazy(_) => return corrupt("values are for reading"),
        Values::Float4(v) => split(&mut out, v.iter().map(|v| v.to_le_bytes())),
        Values::Float8(v) => split(&mut out, v.iter().map(|v| v.to_le_bytes())),
        Values::Rest { keys, records } => {
            crate::bytes::put_varint(&mut out, keys.len() as u64);
            strings::encode_small(&mut out, keys, compression)?;
            strings::encode(&mut out, records, compression)?;
        }
    }
    Ok(out)
}

/// Encodes a block of strings like the whole column.
pub(crate) fn encode_as(values: &Values, encoding: u8, compression: Compression) -> Result<Vec<u8>> {
    let Values::Bytes(values) = values else {
        return corrupt("an encoding of strings for other values");
    };
    let mut out = Vec::new();
    strings::encode_as(&mut out, values, encoding, compression)?;
    Ok(out)
}

/// Integers packed by bits, or by bytes where the compressor makes up for it.
fn encode_ints(out: &mut Vec<u8>, values: &[i64], aligned: bool) {
    let start = out.len();
    let choices = ints::Choices::of(values);
    choices.encode(out, false);
    if aligned && values.len() > 16 && choices.aligned_may_take_less(out.len() - start) {
        let mut other = Vec::new();
        choices.encode(&mut other, true);
        let stored = |raw: &[u8]| {
            super::compress::compress(raw, Compression::Snappy).map_or(raw.len(), |(_, stored)| stored.len())
        };
        if other != out[start..] && stored(&other) < stored(&out[start..]) {
            out.truncate(start);
            out.append(&mut other);
        }
    }
}

/// Parquet's BYTE_STREAM_SPLIT: all first bytes, all second bytes and so on.
fn split<const N: usize>(out: &mut Vec<u8>, values: impl Iterator<Item = [u8; N]> + Clone) {
    for i in 0..N {
        out.extend(values.clone().map(|v| v[i]));
    }
}

fn join<const N: usize>(reader: &mut Reader<'_>, n: usize) -> Result<Vec<[u8; N]>> {
    let Some(total) = n.checked_mul(N) else {
        return corrupt("too many values");
    };
    let bytes = reader.bytes(total)?;
    Ok((0..n).map(|i| std::array::from_fn(|k| bytes[k * n + i])).collect())
}

/// Decodes exactly `n` values of a column of `kind`; strings take at most `limit` bytes.
pub(crate) fn decode(bytes: &[u8], kind: Kind, n: usize, limit: usize) -> Result<Values> {
    let mut reader = Reader::new(bytes);
    let values = match kind {
        Kind::Null | Kind::EmptyObject | Kind::EmptyArray => Values::None,
        Kind::Bool => return Ok(Values::Bool(bools(bytes, n)?)),
        Kind::Int => Values::Int(ints::decode(&mut reader, n)?),
        Kind::Decimal => {
            let scale = ints::decode(&mut reader, n)?;
            let scale = scale.into_iter().map(scale_of).collect::<Result<_>>()?;
            Values::Decimal {
                scale,
                mantissa: ints::decode(&mut reader, n)?,
            }
        }
        Kind::Numeric | Kind::Bytes | Kind::Raw => match strings::decode(&mut reader, n, limit)? {
            Decoded::Plain(strings) => Values::Bytes(strings),
            Decoded::Dictionary { entries, codes } => Values::Dictionary { entries, codes },
        },
        Kind::Float4 => Values::Float4(join(&mut reader, n)?.into_iter().map(u32::from_le_bytes).collect()),
        Kind::Float8 => Values::Float8(join(&mut reader, n)?.into_iter().map(u64::from_le_bytes).collect()),
        Kind::Rest => {
            let count = reader.count(bytes.len(), "overflow key count")?;
            let keys = strings::decode_entries(&mut reader, count, limit)?;
            match strings::decode(&mut reader, n, limit)? {
                Decoded::Plain(records) => Values::Rest { keys, records },
                Decoded::Dictionary { entries, codes } => {
                    // Equal records are few; they are laid out one by one.
                    let mut records = crate::strings::ByteVec::default();
                    for code in codes {
                        let record = entries.get(code as usize);
                        if records.data.len() + record.len() > limit {
                            return corrupt("overflow records exceed the memory limit");
                        }
                        records.push(record)?;
                    }
                    Values::Rest { keys, records }
                }
            }
        }
        Kind::Object | Kind::Array => return corrupt("inner node as a column"),
    };
    if !reader.is_empty() {
        return corrupt("bytes after the values of a column");
    }
    Ok(values)
}

/// Decodes `n` values of a column of `kind`, a block, behind those of the blocks before.
pub(crate) fn append(all: &mut Values, bytes: &[u8], kind: Kind, n: usize, limit: usize) -> Result<()> {
    if let Values::Bytes(all) = all {
        let mut reader = Reader::new(bytes);
        if strings::append_to(&mut reader, n, limit, all)? {
            return match reader.is_empty() {
                true => Ok(()),
                false => corrupt("bytes after the values of a column"),
            };
        }
    }
    all.append(&decode(bytes, kind, n, limit)?)
}

/// The encoding of the values of a column, from their first byte, for people.
pub(crate) fn describe(tag: u8, kind: Kind) -> &'static str {
    match kind {
        Kind::Null | Kind::EmptyObject | Kind::EmptyArray => "levels only",
        Kind::Bool => "rle",
        Kind::Int | Kind::Decimal => ints::name(tag),
        Kind::Float4 | Kind::Float8 => "byte-stream-split",
        Kind::Numeric | Kind::Bytes | Kind::Raw => strings::name(tag),
        Kind::Rest => "tokens",
        Kind::Object | Kind::Array => "",
    }
}
