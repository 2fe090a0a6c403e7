//! 64-bit integers: the smallest of constant, frame of reference, delta and dictionary.

use super::bitpack::{pack, packed_len, unpack, unpack_at, width_of};
use super::{delta, hybrid};
use crate::bytes::{Reader, put_varint, put_zigzag};
use crate::error::{Result, corrupt};

const CONSTANT: u8 = 0;
const FRAME: u8 = 1;
const DELTA: u8 = 2;
const DICTIONARY: u8 = 3;

/// Distinct values a dictionary of integers may have.
const MAX_DICTIONARY: usize = 256;

/// The name of the encoding whose stream starts with `tag`.
pub(crate) fn name(tag: u8) -> &'static str {
    match tag {
        CONSTANT => "constant",
        FRAME => "bit-packed",
        DELTA => "delta",
        DICTIONARY => "dictionary",
        _ => "unknown",
    }
}

/// Appends a self-delimiting stream of `values` (their number is not stored). With `aligned`, bit widths
/// are rounded up to whole bytes, which a byte-oriented compressor can find repetitions in.
pub(crate) fn encode(out: &mut Vec<u8>, values: &[i64], aligned: bool) {
    let (mut min, mut max, mut first) = (i64::MAX, i64::MIN, 0);
    if let Some(&v) = values.first() {
        first = v;
    }
    for &v in values {
        min = min.min(v);
        max = max.max(v);
    }
    if min >= max {
        out.push(CONSTANT);
        return put_zigzag(out, first);
    }
    let round = |width: u32| {
        if aligned { width.next_multiple_of(8) } else { width }
    };
    let width = round(width_of(max.wrapping_sub(min) as u64));
    let frame = packed_len(values.len(), width) + 11;
    let dictionary = dictionary(values, &round, frame);
    let best = dictionary.as_ref().map_or(frame, Vec::len);
    if !aligned {
        let estimate = delta_estimate(values);
        if estimate < best {
            out.push(DELTA);
            return delta::encode(out, values);
        }
    }
    if let Some(dictionary) = dictionary {
        return out.extend_from_slice(&dictionary);
    }
    out.push(FRAME);
    put_zigzag(out, min);
    out.push(width as u8);
    pack(out, values.iter().map(|v| v.wrapping_sub(min) as u64), width);
}

/// A dictionary stream if it takes fewer than `limit` bytes.
fn dictionary(values: &[i64], round: &dyn Fn(u32) -> u32, limit: usize) -> Option<Vec<u8>> {
    let mut codes = hashbrown::HashMap::new();
    let mut entries = Vec::new();
    let mut coded = Vec::with_capacity(values.len());
    let (mut last, mut last_code) = (None, 0);
    for &v in values {
        if last != Some(v) {
            last = Some(v);
            last_code = match codes.get(&v) {
                Some(&code) => code,
                None => {
                    if entries.len() == MAX_DICTIONARY || entries.len() > values.len() / 4 + 1 {
                        return None;
                    }
                    codes.insert(v, entries.len() as u32);
                    entries.push(v);
                    entries.len() as u32 - 1
                }
            };
        }
        coded.push(last_code);
    }
    let mut out = vec![DICTIONARY];
    put_varint(&mut out, entries.len() as u64);
    entries.iter().for_each(|&v| put_zigzag(&mut out, v));
    let width = round(width_of(entries.len() as u64 - 1));
    let stream = hybrid::encode(coded.into_iter(), width);
    out.push(width as u8);
    put_varint(&mut out, stream.len() as u64);
    out.extend_from_slice(&stream);
    (out.len() < limit).then_some(out)
}

/// About how many bytes [`delta::encode`] takes.
fn delta_estimate(values: &[i64]) -> usize {
    let mut total = 16;
    let mut deltas = [0i64; delta::BLOCK];
    let mut previous = values.first().copied().unwrap_or(0);
    for block in values.get(1..).unwrap_or(&[]).chunks(delta::BLOCK) {
        let deltas = &mut deltas[..block.len()];
        for (delta, &v) in deltas.iter_mut().zip(block) {
            *delta = v.wrapping_sub(previous);
            previous = v;
        }
        let min = deltas.iter().copied().min().unwrap_or(0);
        let all = deltas.iter().fold(0, |all, d| all | d.wrapping_sub(min) as u64);
        total += 8 + packed_len(block.len(), width_of(all));
    }
    total
}

/// Decodes exactly `n` values, and advances `reader` past the stream.
pub(crate) fn decode(reader: &mut Reader<'_>, n: usize) -> Result<Vec<i64>> {
    if let Some(frame) = Frame::read(reader, n)? {
        return frame.all(n);
    }
    match reader.u8()? {
        DELTA => delta::decode(reader, n),
        DICTIONARY => {
            let count = reader.count(MAX_DICTIONARY, "dictionary size")?;
            let entries = (0..count).map(|_| reader.zigzag()).collect::<Result<Vec<_>>>()?;
            let width = u32::from(reader.u8()?);
            let codes = hybrid::decode(reader.sized()?, n, width.min(32))?;
            if codes.iter().any(|&code| code as usize >= entries.len()) {
                return corrupt("code outside the dictionary");
            }
            Ok(codes.iter().map(|&code| entries[code as usize]).collect())
        }
        tag => corrupt(format!("unknown integer encoding {tag}")),
    }
}

/// Whether one value of a stream costs as much as all of them, or, if others are asked for as well, about as much.
pub(crate) fn is_best_whole(stream: &[u8], others: bool) -> bool {
    match stream.first() {
        Some(&DICTIONARY) => true,
        Some(&DELTA) => others,
        _ => false,
    }
}

/// Decodes value `i` of `n`, and advances `reader` past the stream.
pub(crate) fn decode_at(reader: &mut Reader<'_>, n: usize, i: usize) -> Result<i64> {
    if i >= n {
        return corrupt("value past the end of its block");
    }
    if let Some(frame) = Frame::read(reader, n)? {
        return frame.get(i);
    }
    let mut ahead = *reader;
    if ahead.u8()? == DELTA {
        *reader = ahead;
        return delta::decode_at(reader, n, i);
    }
    Ok(decode(reader, n)?[i])
}

/// Of `n` lengths the sum of the first `i`, and the next; advances `reader` past the stream.
pub(crate) fn decode_range(reader: &mut Reader<'_>, n: usize, i: usize) -> Result<(usize, usize)> {
    if i >= n {
        return corrupt("value past the end of its block");
    }
    let (start, length) = match Frame::read(reader, n)? {
        Some(frame) if frame.width <= 32 => {
            let mut sum = 0;
            unpack(frame.bytes, i, frame.width, |v| sum += v)?;
            let start = i128::from(frame.min) * i as i128 + i128::from(sum);
            (usize::try_from(start).ok(), frame.get(i)?)
        }
        frame => {
            let lengths = match frame {
                Some(frame) => (0..=i).map(|i| frame.get(i)).collect::<Result<_>>()?,
                None => decode(reader, n)?,
            };
            let start = lengths[..i]
                .iter()
                .try_fold(0usize, |sum, &length| sum.checked_add(usize::try_from(length).ok()?));
            (start, lengths[i])
        }
    };
    match (start, usize::try_from(length)) {
        (Some(start), Ok(length)) => Ok((start, length)),
        _ => corrupt("negative string length"),
    }
}

/// Passes exactly `n` values to `f`, and advances `reader` past the stream.
pub(crate) fn each(reader: &mut Reader<'_>, n: usize, mut f: impl FnMut(i64)) -> Result<()> {
    match Frame::read(reader, n)? {
        Some(frame) => unpack(frame.bytes, n, frame.width, |v| {
            f(frame.min.wrapping_add(v as i64));
        })?,
        None => decode(reader, n)?.into_iter().for_each(f),
    }
    Ok(())
}

/// A stream whose values are at known places: a frame of reference, of no bits if they all are the same.
struct Frame<'a> {
    min: i64,
    width: u32,
    bytes: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Advances `reader` past the stream if it is such a one.
    fn read(reader: &mut Reader<'a>, n: usize) -> Result<Option<Self>> {
        let mut ahead = *reader;
        let frame = match ahead.u8()? {
            CONSTANT => Self {
                min: ahead.zigzag()?,
                width: 0,
                bytes: &[],
            },
            FRAME => {
                let min = ahead.zigzag()?;
                let width = u32::from(ahead.u8()?);
                if width > 64 {
                    return corrupt("bit width exceeds 64");
                }
                let bytes = ahead.bytes(packed_len(n, width))?;
                Self { min, width, bytes }
            }
            _ => return Ok(None),
        };
        *reader = ahead;
        Ok(Some(frame))
    }

    fn all(&self, n: usize) -> Result<Vec<i64>> {
        if self.width == 0 {
            return Ok(vec![self.min; n]);
        }
        let mut out = Vec::with_capacity(n);
        unpack(self.bytes, n, self.width, |v| {
            out.push(self.min.wrapping_add(v as i64));
        })?;
        Ok(out)
    }

    fn get(&self, i: usize) -> Result<i64> {
        match unpack_at(self.bytes, i, self.width) {
            Some(v) => Ok(self.min.wrapping_add(v as i64)),
            None => corrupt("value past the end of its block"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn roundtrip(values in prop_oneof![
            prop::collection::vec(any::<i64>(), 0..300),
            prop::collection::vec(-3i64..3, 0..300),
            prop::collection::vec(prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(0)], 0..300),
            (any::<i64>(), 0i64..9, 0i64..300).prop_map(|(a, d, n)| (0..n).map(|i| a.wrapping_add(i * d)).collect()),
        ], aligned: bool) {
            let mut out = Vec::new();
            encode(&mut out, &values, aligned);
            let mut reader = Reader::new(&out);
            let (mut sum, mut lengths) = (Some(0), true);
            for (i, &value) in values.iter().enumerate() {
                let mut reader = Reader::new(&out);
                prop_assert_eq!(decode_at(&mut reader, values.len(), i).unwrap(), value);
                prop_assert!(reader.is_empty());
                lengths &= value >= 0;
                if let (true, Some(start)) = (lengths, sum) {
                    let range = decode_range(&mut Reader::new(&out), values.len(), i).unwrap();
                    prop_assert_eq!(range, (start, value as usize));
                    sum = start.checked_add(value as usize);
                }
            }
            let mut each_of = Vec::new();
            each(&mut Reader::new(&out), values.len(), |v| each_of.push(v)).unwrap();
            prop_assert_eq!(&each_of, &values);
            prop_assert_eq!(decode(&mut reader, values.len()).unwrap(), values);
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn hostile(bytes in prop::collection::vec(any::<u8>(), 0..80), n in 0usize..300) {
            let _ = decode(&mut Reader::new(&bytes), n);
            let _ = decode_at(&mut Reader::new(&bytes), n, n / 2);
            let _ = decode_range(&mut Reader::new(&bytes), n, n / 2);
        }
    }
}
