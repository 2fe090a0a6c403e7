//! Strings over a small alphabet, packed by character: hexadecimal digests in 4 bits, base64 in 6.
//!
//! Snappy and LZ4 have no entropy coding and leave digests as they are; this takes what every value starts
//! and ends with once, and the characters between at the width of their alphabet.

use std::cell::Cell;

use super::bitpack::{packed_len, width_of};
use super::ints;
use crate::bytes::{Reader, put_bytes};
use crate::error::{Error, Result, corrupt};
use crate::strings::ByteVec;

/// The widest worth while: at seven bits and more a compressor does better.
const MAX_WIDTH: u32 = 6;
/// Bytes of values it takes to be worth while.
const MIN_BYTES: usize = 128;

/// The packed stream of `values`, if their alphabet is small enough for it to take fewer than `size` bytes.
pub(crate) fn encode(values: &ByteVec, size: usize) -> Result<Option<Vec<u8>>> {
    if values.data.len() < MIN_BYTES {
        return Ok(None);
    }
    let Some((prefix, suffix)) = affixes(values) else {
        return Ok(None);
    };
    let middle = |value: &'_ [u8]| prefix..value.len() - suffix;
    let mut seen = [false; 256];
    let mut distinct = 0;
    // Counted now and then: text has too many after few values.
    let mut count_at = 8;
    for (i, value) in values.iter().enumerate() {
        for &byte in &value[middle(value)] {
            seen[usize::from(byte)] = true;
        }
        if i + 1 == count_at || i + 1 == values.len() {
            distinct = seen.iter().filter(|&&seen| seen).count();
            if distinct > 1 << MAX_WIDTH {
                return Ok(None);
            }
            count_at *= 2;
        }
    }
    let width = width_of(distinct.saturating_sub(1) as u64);
    let characters = values.data.len() - values.len() * (prefix + suffix);
    if packed_len(characters, width) >= size {
        return Ok(None);
    }
    let alphabet: Vec<u8> = (0..=255).filter(|&byte| seen[usize::from(byte)]).collect();
    let mut codes = [0u8; 256];
    for (code, &byte) in (0..).zip(&alphabet) {
        codes[usize::from(byte)] = code;
    }
    let first = values.get(0);
    let mut out = Vec::new();
    let most = prefix + suffix + packed_len(characters, width) + 1024;
    amax_memory::reserve(&mut out, most, "strings of a column")?;
    put_bytes(&mut out, &first[..prefix]);
    put_bytes(&mut out, &first[first.len() - suffix..]);
    put_bytes(&mut out, &alphabet);
    let lengths: Vec<i64> = values.iter().map(|v| middle(v).len() as i64).collect();
    ints::encode(&mut out, &lengths, false);
    let mut packer = Packer::new(&mut out, width);
    for value in values.iter() {
        packer.put(&value[middle(value)], &codes);
    }
    packer.finish();
    Ok(Some(out))
}

/// Packs characters, as [`super::bitpack::pack`] does their codes.
struct Packer<'a> {
    out: &'a mut Vec<u8>,
    width: u32,
    /// Codes whose bytes are not complete, and how many bits they are: fewer than 32.
    word: u64,
    bits: u32,
}

impl<'a> Packer<'a> {
    fn new(out: &'a mut Vec<u8>, width: u32) -> Self {
        let (word, bits) = (0, 0);
        Self { out, width, word, bits }
    }

    #[inline]
    fn put(&mut self, characters: &[u8], codes: &[u8; 256]) {
        let code = |byte: u8| u64::from(codes[usize::from(byte)]);
        // Four codes have 24 bits at most.
        let (fours, rest) = characters.as_chunks();
        for &[a, b, c, d] in fours {
            let two = [code(a) | code(b) << self.width, code(c) | code(d) << self.width];
            self.add(two[0] | two[1] << (2 * self.width), 4 * self.width);
        }
        for &byte in rest {
            self.add(code(byte), self.width);
        }
    }

    #[inline]
    fn add(&mut self, codes: u64, bits: u32) {
        self.word |= codes << self.bits;
        self.bits += bits;
        if self.bits >= 32 {
            self.out.extend_from_slice(&(self.word as u32).to_le_bytes());
            self.word >>= 32;
            self.bits -= 32;
        }
    }

    fn finish(self) {
        let bytes = self.word.to_le_bytes();
        self.out.extend_from_slice(&bytes[..self.bits.div_ceil(8) as usize]);
    }
}

/// Lengths of what all values start and end with, without overlap.
fn affixes(values: &ByteVec) -> Option<(usize, usize)> {
    let first = values.iter().next()?;
    let (mut prefix, mut suffix, mut shortest) = (first, first, first.len());
    for value in values.iter() {
        if !value.starts_with(prefix) {
            let shared = prefix.iter().zip(value).take_while(|(a, b)| a == b).count();
            prefix = &prefix[..shared];
        }
        if !value.ends_with(suffix) {
            let shared = suffix
                .iter()
                .rev()
                .zip(value.iter().rev())
                .take_while(|(a, b)| a == b)
                .count();
            suffix = &suffix[suffix.len() - shared..];
        }
        shortest = shortest.min(value.len());
        if prefix.is_empty() && suffix.is_empty() {
            break;
        }
    }
    Some((prefix.len(), suffix.len().min(shortest.saturating_sub(prefix.len()))))
}

/// What all strings of a packed stream share.
struct Shared<'a> {
    prefix: &'a [u8],
    suffix: &'a [u8],
    characters: [u8; 1 << MAX_WIDTH],
    width: u32,
}

impl<'a> Shared<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let prefix = reader.sized()?;
        let suffix = reader.sized()?;
        let alphabet = reader.sized()?;
        if alphabet.len() > 1 << MAX_WIDTH {
            return corrupt("alphabet is too large");
        }
        let width = width_of(alphabet.len().saturating_sub(1) as u64);
        // Codes past the alphabet's end, which no writer makes, read as its last character.
        let mut characters = [alphabet.last().copied().unwrap_or(0); 1 << MAX_WIDTH];
        characters[..alphabet.len()].copy_from_slice(alphabet);
        Ok(Self {
            prefix,
            suffix,
            characters,
            width,
        })
    }
}

/// A packed stream of strings, checked but for the characters.
struct Stream<'a> {
    shared: Shared<'a>,
    lengths: Vec<i64>,
    /// Characters between the affixes, of all strings.
    total: usize,
    packed: &'a [u8],
}

impl<'a> Stream<'a> {
    fn read(reader: &mut Reader<'a>, n: usize, limit: usize) -> Result<Self> {
        let shared = Shared::read(reader)?;
        let lengths = ints::decode(reader, n)?;
        let affixes = shared.prefix.len() + shared.suffix.len();
        let mut total = 0usize;
        for &length in &lengths {
            let length = usize::try_from(length).ok().filter(|length| length + affixes <= limit);
            match length.and_then(|length| total.checked_add(length)) {
                Some(sum) if sum <= limit => total = sum,
                _ => return corrupt("string lengths exceed the memory limit"),
            }
        }
        let packed = reader.bytes(packed_len(total, shared.width))?;
        Ok(Self {
            shared,
            lengths,
            total,
            packed,
        })
    }
}

/// Decodes string `i` of `n`, which are all that `reader` has, into `out`.
pub(crate) fn decode_at(reader: &mut Reader<'_>, n: usize, i: usize, limit: usize, out: &mut Vec<u8>) -> Result<()> {
    let shared = Shared::read(reader)?;
    let (start, length) = ints::decode_range(reader, n, i)?;
    let (packed, width) = (reader.rest(), shared.width as usize);
    let end = start.checked_add(length).filter(|&end| end <= limit);
    if end.is_none_or(|end| packed_len(end, shared.width) > packed.len()) {
        return corrupt("string past the end of its block");
    }
    out.clear();
    out.extend_from_slice(shared.prefix);
    out.resize(shared.prefix.len() + length, 0);
    let mut bit = start * width;
    // Eight codes of at most six bits lie in the eight bytes from the first one's byte.
    for out in out[shared.prefix.len()..].chunks_mut(8) {
        let mut word = word_at(packed, bit / 8) >> (bit % 8);
        for character in out {
            *character = shared.characters[word as usize & ((1 << width) - 1)];
            word >>= width;
        }
        bit += 8 * width;
    }
    out.extend_from_slice(shared.suffix);
    Ok(())
}

/// Eight bytes, zeros past the end.
#[inline]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(word)
        }
    }
}

/// Decodes exactly `n` strings of at most `limit` bytes together behind `out`.
pub(crate) fn append(reader: &mut Reader<'_>, n: usize, limit: usize, out: &mut ByteVec) -> Result<()> {
    let Stream {
        shared,
        lengths,
        total,
        packed,
    } = Stream::read(reader, n, limit)?;
    let Shared {
        prefix,
        suffix,
        characters,
        width,
    } = shared;
    let affixes = prefix.len() + suffix.len();
    let size = n.checked_mul(affixes).and_then(|bytes| bytes.checked_add(total));
    let Some(size) = size.filter(|&size| size <= limit) else {
        return corrupt("strings exceed the memory limit");
    };
    let mut end = out.data.len();
    if u32::try_from(end + size).is_err() {
        return Err(Error::Limit("4 GiB of values in one column"));
    }
    amax_memory::reserve(&mut out.data, size, "strings of a column")?;
    out.data.resize(end + size, 0);
    out.ends.reserve(n);
    let mut pairs = PAIRS.take().unwrap_or_default();
    pairs.become_of(&characters, width);
    let (mut rest, mut bit) = (&mut out.data[end..], 0);
    for length in lengths {
        let length = length as usize;
        let (value, tail) = rest.split_at_mut(length + affixes);
        rest = tail;
        let (start, middle) = value.split_at_mut(prefix.len());
        let (middle, last) = middle.split_at_mut(length);
        start.copy_from_slice(prefix);
        pairs.expand(packed, bit, middle);
        last.copy_from_slice(suffix);
        bit += length * width as usize;
        end += length + affixes;
        out.ends.push(end as u32);
    }
    PAIRS.set(Some(pairs));
    Ok(())
}

thread_local! {
    /// Of the block before: those of a column mostly have the same characters.
    static PAIRS: Cell<Option<Pairs>> = const { Cell::new(None) };
}

/// Characters by two codes, so that one look-up gives two of them.
struct Pairs {
    of: ([u8; 1 << MAX_WIDTH], u32),
    width: usize,
    characters: Box<[[u8; 2]; 1 << (2 * MAX_WIDTH)]>,
}

impl Default for Pairs {
    fn default() -> Self {
        Self {
            of: ([0; 1 << MAX_WIDTH], 0),
            width: 0,
            characters: Box::new([[0; 2]; 1 << (2 * MAX_WIDTH)]),
        }
    }
}

impl Pairs {
    fn become_of(&mut self, characters: &[u8; 1 << MAX_WIDTH], width: u32) {
        if self.of == (*characters, width) {
            return;
        }
        for (code, pair) in self.characters.iter_mut().enumerate().take(1 << (2 * width)) {
            *pair = [
                characters[code % (1 << width)],
                characters[(code >> width) % characters.len()],
            ];
        }
        (self.of, self.width) = ((*characters, width), width as usize);
    }

    #[inline]
    fn get(&self, codes: u64) -> [u8; 2] {
        let codes = codes as usize & ((1 << (2 * self.width)) - 1);
        self.characters[codes % self.characters.len()]
    }

    /// The characters of the codes that begin at `bit`.
    fn expand(&self, packed: &[u8], mut bit: usize, out: &mut [u8]) {
        // Eight codes of at most six bits lie in the eight bytes from the first one's byte.
        for out in out.chunks_mut(8) {
            let word = word_at(packed, bit / 8) >> (bit % 8);
            let mut eight = [0; 8];
            for (i, pair) in eight.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                *pair = self.get(word >> (2 * i * self.width));
            }
            match out.first_chunk_mut() {
                Some(out) => *out = eight,
                None => out.copy_from_slice(&eight[..out.len()]),
            }
            bit += 8 * self.width;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(reader: &mut Reader<'_>, n: usize, limit: usize) -> Result<ByteVec> {
        let mut out = ByteVec::default();
        append(reader, n, limit, &mut out).map(|()| out)
    }

    proptest! {
        #[test]
        fn roundtrip(values in prop_oneof![
            prop::collection::vec("[0-9a-f]{64}", 2..40),
            prop::collection::vec("sha-[0-9a-zA-Z+/]{0,30}==", 20..40),
            prop::collection::vec("[ab]{0,9}", 40..90),
            prop::collection::vec(Just("same again".to_owned()), 20..40),
        ]) {
            let mut column = ByteVec::default();
            values.iter().for_each(|v| column.push(v.as_bytes()).unwrap());
            if let Some(out) = encode(&column, usize::MAX).unwrap() {
                let mut reader = Reader::new(&out);
                let back = decode(&mut reader, values.len(), 1 << 20).unwrap();
                prop_assert!(reader.is_empty());
                prop_assert!(back.iter().eq(values.iter().map(String::as_bytes)));
                let mut one = Vec::new();
                for (i, value) in values.iter().enumerate() {
                    decode_at(&mut Reader::new(&out), values.len(), i, 1 << 20, &mut one).unwrap();
                    prop_assert_eq!(&one, value.as_bytes());
                }
            } else {
                prop_assert!(column.data.len() < MIN_BYTES);
            }
        }

        #[test]
        fn hostile(bytes in prop::collection::vec(any::<u8>(), 0..80), n in 0usize..300) {
            let _ = decode(&mut Reader::new(&bytes), n, 1 << 16);
            let _ = decode_at(&mut Reader::new(&bytes), n, n / 2, 1 << 16, &mut Vec::new());
        }
    }
}
