//! Parquet's run-length / bit-packing hybrid, for levels, booleans and dictionary codes.

use super::bitpack;
use crate::bytes::{Reader, put_varint};
use crate::error::{Result, corrupt};

/// Bit-packed values that begin and end with a byte; so many of one value are a run, where whole groups may begin.
const GROUP: usize = 8;
/// Bit-packed values held before they are written.
const MAX_LITERALS: usize = 1 << 14;

/// Appends the stream of values below `1 << width`.
pub fn encode(out: &mut Vec<u8>, mut values: &[u32], width: u32) {
    let mut at = 0;
    while let Some(group) = values[at..].first_chunk() {
        let value = group[0];
        // All are looked at: where they differ cannot be foreseen.
        let is_run = |group: &[u32; GROUP]| group.iter().fold(0, |all, other| all | (other ^ value)) == 0;
        if !is_run(group) {
            at += GROUP;
            continue;
        }
        let groups = values[at..].as_chunks().0.iter();
        let mut end = at + GROUP * groups.take_while(|group| is_run(group)).count();
        end += values[end..].iter().take_while(|&&other| other == value).count();
        put_literals(out, &values[..at], width);
        put_run(out, value, end - at, width);
        (values, at) = (&values[end..], 0);
    }
    put_literals(out, values, width);
}

/// Appends `n` times `value`.
pub fn put_run(out: &mut Vec<u8>, value: u32, n: usize, width: u32) {
    put_varint(out, (n as u64) << 1);
    out.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
}

/// What is missing of the last group is zeros, which nobody reads.
fn put_literals(out: &mut Vec<u8>, values: &[u32], width: u32) {
    if !values.is_empty() {
        let groups = values.len().div_ceil(GROUP);
        put_varint(out, (groups as u64) << 1 | 1);
        let end = out.len() + groups * width as usize;
        bitpack::pack(out, values, width, u64::from);
        out.resize(end, 0);
    }
}

/// Makes the same stream, cut where too many literals are held, of values that come one after the other.
pub(crate) struct Encoder {
    out: Vec<u8>,
    width: u32,
    literals: Vec<u32>,
    value: u32,
    run: usize,
}

impl Encoder {
    pub(crate) fn new(width: u32) -> Self {
        Self {
            out: Vec::new(),
            width,
            literals: Vec::new(),
            value: 0,
            run: 0,
        }
    }

    /// Adds `n` times `value`.
    #[inline]
    pub(crate) fn push(&mut self, value: u32, n: usize) {
        if value == self.value {
            self.run += n;
        } else {
            self.end_run();
            self.value = value;
            self.run = n;
        }
    }

    #[inline]
    fn end_run(&mut self) {
        if self.run == 1 && self.literals.len() + 1 < MAX_LITERALS {
            self.literals.push(self.value);
            self.run = 0;
        } else {
            self.end_long_run();
        }
    }

    fn end_long_run(&mut self) {
        let fill = self.literals.len().wrapping_neg() % GROUP;
        if self.run >= fill + GROUP {
            self.literals.extend(std::iter::repeat_n(self.value, fill));
            self.end_literals();
            put_run(&mut self.out, self.value, self.run - fill, self.width);
        } else {
            self.literals.extend(std::iter::repeat_n(self.value, self.run));
            if self.literals.len() >= MAX_LITERALS && self.literals.len().is_multiple_of(GROUP) {
                self.end_literals();
            }
        }
        self.run = 0;
    }

    fn end_literals(&mut self) {
        put_literals(&mut self.out, &self.literals, self.width);
        self.literals.clear();
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.end_run();
        self.end_literals();
        self.out
    }
}

/// A part of a hybrid stream.
pub(crate) enum Run<'a> {
    /// So many times this value.
    Repeated(u32, usize),
    /// So many bit-packed values.
    Packed(&'a [u8], usize),
}

/// The runs of a stream of exactly `n` values.
pub(crate) struct Runs<'a> {
    reader: Reader<'a>,
    left: usize,
    width: u32,
}

impl<'a> Runs<'a> {
    pub(crate) fn new(bytes: &'a [u8], n: usize, width: u32) -> Self {
        Self {
            reader: Reader::new(bytes),
            left: n,
            width: width.min(32),
        }
    }

    /// The next run, `None` after `n` values.
    pub(crate) fn next(&mut self) -> Result<Option<Run<'a>>> {
        if self.left == 0 {
            return Ok(None);
        }
        let header = self.reader.varint()?;
        let count = header >> 1;
        if header & 1 == 1 {
            let Some(values) = count.checked_mul(GROUP as u64) else {
                return corrupt("bit-packed run is too long");
            };
            // Each group takes `width` bytes; a last group may be cut short only by `n`.
            let n = values.min(self.left as u64) as usize;
            let groups = if self.width == 0 {
                0
            } else {
                count.min((n.div_ceil(GROUP)) as u64) as usize
            };
            let bytes = self.reader.bytes(groups * self.width as usize)?;
            if n == 0 {
                return corrupt("empty run");
            }
            self.left -= n;
            return Ok(Some(Run::Packed(bytes, n)));
        }
        if count == 0 || count > self.left as u64 {
            return corrupt("run length does not fit the value count");
        }
        let mut value = [0; 4];
        let bytes = self.width.div_ceil(8) as usize;
        value[..bytes].copy_from_slice(self.reader.bytes(bytes)?);
        let value = u32::from_le_bytes(value);
        if u64::from(value) >> self.width != 0 {
            return corrupt("run value exceeds its bit width");
        }
        self.left -= count as usize;
        Ok(Some(Run::Repeated(value, count as usize)))
    }
}

/// Decodes exactly `n` values.
pub(crate) fn decode(bytes: &[u8], n: usize, width: u32) -> Result<Vec<u32>> {
    let mut out = Vec::with_capacity(n);
    let mut runs = Runs::new(bytes, n, width);
    while let Some(run) = runs.next()? {
        match run {
            Run::Repeated(v, count) => out.resize(out.len() + count, v),
            Run::Packed(packed, count) => bitpack::unpack_some(packed, count, width, |some| {
                out.extend(some.iter().map(|&v| v as u32));
            })?,
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The worked example of Parquet's specification: 0 to 7 in three bits.
    #[test]
    fn as_specified() {
        let mut out = Vec::new();
        encode(&mut out, &[0, 1, 2, 3, 4, 5, 6, 7], 3);
        assert_eq!(out, [0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        out.clear();
        encode(&mut out, &[4; 100], 3);
        assert_eq!(out, [200, 1, 4]);
    }

    proptest! {
        #[test]
        fn roundtrip(runs in prop::collection::vec((any::<u32>(), 1usize..40), 0..60), width in 0u32..=32) {
            let mask = u32::MAX.checked_shr(32 - width).unwrap_or(0);
            let values: Vec<u32> = runs.iter().flat_map(|&(v, n)| std::iter::repeat_n(v & mask, n)).collect();
            let mut bytes = Vec::new();
            encode(&mut bytes, &values, width);
            prop_assert_eq!(decode(&bytes, values.len(), width).unwrap(), values);
            let mut encoder = Encoder::new(width);
            runs.iter().for_each(|&(v, n)| encoder.push(v & mask, n));
            prop_assert_eq!(encoder.finish(), bytes);
        }

        #[test]
        fn hostile(bytes in prop::collection::vec(any::<u8>(), 0..60), n in 0usize..500, width in 0u32..=32) {
            if let Ok(values) = decode(&bytes, n, width) {
                prop_assert_eq!(values.len(), n);
            }
        }
    }
}
