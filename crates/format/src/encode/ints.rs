//! 64-bit integers: the smallest of constant, frame of reference, delta and dictionary.

use super::bitpack::{pack, packed_len, unpack, unpack_at, unpack_some, width_of};
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
    Choices::of(values).encode(out, aligned);
}

/// What is known of integers that are to be encoded.
pub(crate) struct Choices<'a> {
    values: &'a [i64],
    min: i64,
    max: i64,
    /// If there are few.
    distinct: Option<Distinct>,
}

impl<'a> Choices<'a> {
    pub(crate) fn of(values: &'a [i64]) -> Self {
        let (mut min, mut max) = (i64::MAX, i64::MIN);
        for &v in values {
            min = min.min(v);
            max = max.max(v);
        }
        let distinct = if min < max { Distinct::of(values) } else { None };
        Self {
            values,
            min,
            max,
            distinct,
        }
    }

    /// Appends the smallest stream.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, aligned: bool) {
        let values = self.values;
        if self.min >= self.max {
            out.push(CONSTANT);
            return put_zigzag(out, values.first().copied().unwrap_or(0));
        }
        let width = self.width(aligned);
        let frame = self.frame(aligned);
        let delta = if aligned { usize::MAX } else { delta_estimate(values) };
        let limit = frame.min(delta.saturating_add(1));
        let dictionary = self.distinct.as_ref().and_then(|d| d.encode(aligned, limit));
        if let Some(dictionary) = dictionary {
            return out.extend_from_slice(&dictionary);
        }
        if delta < frame {
            out.push(DELTA);
            return delta::encode(out, values);
        }
        out.push(FRAME);
        put_zigzag(out, self.min);
        out.push(width as u8);
        pack(out, values, width, |v| v.wrapping_sub(self.min) as u64);
    }

    /// Whether an aligned stream might take less than `len` bytes when compressed by snappy, which makes 64 bytes of at
    /// least three.
    pub(crate) fn aligned_may_take_less(&self, len: usize) -> bool {
        self.min < self.max && (self.distinct.is_some() || self.frame(true) / 64 * 3 < len)
    }

    fn width(&self, aligned: bool) -> u32 {
        round(width_of(self.max.wrapping_sub(self.min) as u64), aligned)
    }

    /// Bytes of a frame of reference, about.
    fn frame(&self, aligned: bool) -> usize {
        packed_len(self.values.len(), self.width(aligned)) + 11
    }
}

fn round(width: u32, aligned: bool) -> u32 {
    if aligned { width.next_multiple_of(8) } else { width }
}

/// The distinct values in the order they come, and the code of each value.
struct Distinct {
    entries: Vec<i64>,
    codes: Vec<u32>,
}

impl Distinct {
    /// `None` if there are too many for a dictionary.
    fn of(values: &[i64]) -> Option<Self> {
        const BITS: u32 = 10;
        const SLOTS: usize = 1 << BITS;
        let most = MAX_DICTIONARY.min(values.len() / 4 + 2);
        // By hash, one more than the code.
        let mut slots = [0u16; SLOTS];
        let mut entries: Vec<i64> = Vec::new();
        let mut codes = Vec::with_capacity(values.len());
        for &v in values {
            let mut at = ((v as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BITS)) as usize;
            let code = loop {
                match slots[at] {
                    0 if entries.len() == most => return None,
                    0 => {
                        entries.push(v);
                        slots[at] = entries.len() as u16;
                        break entries.len() as u32 - 1;
                    }
                    found if entries[usize::from(found) - 1] == v => break u32::from(found) - 1,
                    _ => at = (at + 1) % SLOTS,
                }
            };
            codes.push(code);
        }
        Some(Self { entries, codes })
    }

    /// The stream of a dictionary, unless it would take `limit` bytes.
    fn encode(&self, aligned: bool, limit: usize) -> Option<Vec<u8>> {
        let mut out = vec![DICTIONARY];
        put_varint(&mut out, self.entries.len() as u64);
        self.entries.iter().for_each(|&v| put_zigzag(&mut out, v));
        if out.len() >= limit {
            return None;
        }
        let width = round(width_of(self.entries.len() as u64 - 1), aligned);
        let mut stream = Vec::new();
        hybrid::encode(&mut stream, &self.codes, width);
        out.push(width as u8);
        put_varint(&mut out, stream.len() as u64);
        out.extend_from_slice(&stream);
        (out.len() < limit).then_some(out)
    }
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
        unpack_some(self.bytes, n, self.width, |some| {
            out.extend(some.iter().map(|&v| self.min.wrapping_add(v as i64)));
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
