//! A dense column as bytes that processes may share, and as a view of such bytes. They are never stored: words are the
//! machine's.
//!
//! 21 words (rows, their tags, kind of strings, base of words; the zone; the lengths of tags, words' offsets, scales, strings' ends and
//! strings' data), then those arrays, each begun at a multiple of eight bytes.

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer, ToByteSlice};

use crate::dense::{Dense, Kinds, Texts};
use crate::error::{Error, Result};
use crate::words::Words;
use crate::zone;

/// The first word of the zone, and of the lengths.
const ZONE: usize = 4;
const LENGTHS: usize = ZONE + zone::WORDS;
const HEADER: usize = 8 * (LENGTHS + 5);

impl Dense {
    fn parts(&self) -> [&[u8]; 5] {
        let strings = self.strings();
        [
            &self.tags,
            self.words.offsets(),
            self.scales.inner(),
            strings.ends.to_byte_slice(),
            strings.data,
        ]
    }

    /// Bytes that [`Dense::write_image`] writes.
    pub fn image_len(&self) -> usize {
        let parts = self.parts();
        HEADER + parts.iter().map(|part| padded(part.len())).sum::<usize>()
    }

    /// Writes all that is needed to read it in another process.
    ///
    /// # Panics
    /// If `out` is not [`Dense::image_len`] bytes long.
    pub fn write_image(&self, out: &mut [u8]) {
        assert_eq!(out.len(), self.image_len(), "room for an image");
        let parts = self.parts();
        let strings = match &self.strings {
            None => 0,
            Some(_) => 1 + u64::from(self.is_dictionary()),
        };
        let lengths = parts.iter().map(|part| part.len() as u64);
        let header = [self.rows as u64, self.kinds.0.into(), strings, self.words.base as u64];
        let header = header.into_iter().chain(zone::to_words(self.zone));
        for (place, word) in out.chunks_exact_mut(8).zip(header.chain(lengths)) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        let mut at = HEADER;
        for part in parts {
            out[at..at + part.len()].copy_from_slice(part);
            at += padded(part.len());
        }
    }

    /// The column that an image is of, without a copy: it keeps the bytes.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if they are no image, or begin at no multiple of eight.
    pub fn of_image(image: Buffer) -> Result<Dense> {
        let mut reader = Reader { image, at: HEADER };
        let word = |i: usize| reader.word(i);
        let (rows, kinds, strings, base) = (word(0)?, word(1)?, word(2)?, word(3)?);
        let mut words = [0; zone::WORDS];
        for (i, zone) in words.iter_mut().enumerate() {
            *zone = word(ZONE + i)? as u64;
        }
        let zone = zone::of_words(words).ok_or_else(not_an_image)?;
        let dense = Dense {
            rows,
            kinds: Kinds(kinds as u8),
            zone,
            tags: reader.part(LENGTHS)?,
            words: Words::of_offsets(base as i64, reader.bytes(LENGTHS + 1)?, rows).ok_or_else(not_an_image)?,
            scales: reader.part(LENGTHS + 2)?,
            strings: match strings {
                0 => None,
                kind => Some(Texts::Image {
                    ends: reader.part(LENGTHS + 3)?,
                    data: reader.part(LENGTHS + 4)?,
                    distinct: kind == 2,
                }),
            },
        };
        let tags = dense.uniform().map_or(rows, |_| 0);
        if dense.tags.len() != tags {
            return Err(not_an_image());
        }
        Ok(dense)
    }
}

struct Reader {
    image: Buffer,
    at: usize,
}

impl Reader {
    fn word(&self, i: usize) -> Result<usize> {
        let bytes = self.image.get(8 * i..8 * i + 8).ok_or_else(not_an_image)?;
        let word = u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
        usize::try_from(word).map_err(|_| not_an_image())
    }

    /// The next array, whose length in bytes is in word `i` of the header.
    fn bytes(&mut self, i: usize) -> Result<Buffer> {
        let len = self.word(i)?;
        let end = self.at.checked_add(len).ok_or_else(not_an_image)?;
        let aligned = (self.image.as_ptr() as usize).is_multiple_of(8);
        if end > self.image.len() || !aligned {
            return Err(not_an_image());
        }
        let part = self.image.slice_with_length(self.at, len);
        self.at = end.next_multiple_of(8);
        Ok(part)
    }

    fn part<T: ArrowNativeType>(&mut self, i: usize) -> Result<ScalarBuffer<T>> {
        let bytes = self.bytes(i)?;
        let whole = bytes.len().is_multiple_of(size_of::<T>());
        whole.then(|| bytes.into()).ok_or_else(not_an_image)
    }
}

fn padded(len: usize) -> usize {
    len.next_multiple_of(8)
}

fn not_an_image() -> Error {
    Error::Corrupt("no image of a column".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::leaf;
    use crate::{LeafOptions, PathStep};

    #[test]
    fn an_image_is_read_as_what_it_was_written_of() {
        let documents: [&[&str]; 11] = [
            &[],
            &[r#"{"a":1}"#, r#"{"a":2}"#],
            &[r#"{"a":-1}"#, r#"{"a":255}"#],
            &[r#"{"a":1}"#, "{}", r#"{"a":65537}"#],
            &[r#"{"a":-9223372036854775808}"#, r#"{"a":0}"#],
            &[r#"{"a":"x"}"#, r#"{"a":"longer"}"#, r#"{"a":"x"}"#],
            &[r#"{"a":1.50}"#, r#"{"a":"x"}"#, r#"{"a":true}"#, r#"{"a":null}"#, "{}"],
            &[r#"{"a":[]}"#, r#"{"a":1e40}"#, r#"{"b":1}"#],
            &[r#"{"a":true}"#, r#"{"a":null}"#],
            &[
                r#"{"a":"2026-11-21 20:15:00+02"}"#,
                r#"{"a":"1999-01-01T00:00:00-03:30"}"#,
            ],
            &[r#"{"a":"2026-11-21"}"#, r#"{"a":"2026-11-22T01:02:03.4"}"#],
        ];
        for documents in documents {
            for copies in [1, 100] {
                let many = documents.iter().flat_map(|d| std::iter::repeat_n(*d, copies));
                let leaf = leaf(many, LeafOptions::default());
                let path = leaf.path(0, &[PathStep::Key(b"a".to_vec())]).expect("path");
                let zone = leaf.path_zone(0, &[PathStep::Key(b"a".to_vec())]);
                let dense = path.dense().expect("dense").with_zone(zone);
                let mut image = vec![0; dense.image_len()];
                dense.write_image(&mut image);
                let words: Vec<u64> = image
                    .chunks_exact(8)
                    .map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")))
                    .collect();
                let read = Dense::of_image(Buffer::from_vec(words)).expect("an image");
                assert_eq!(read.len(), dense.len());
                assert_eq!(read.uniform(), dense.uniform());
                assert_eq!(read.words().offsets(), dense.words().offsets());
                assert_eq!(read.zone(), zone);
                assert_eq!(read.scales(), dense.scales());
                assert_eq!(read.is_dictionary(), dense.is_dictionary());
                assert_eq!(read.has_others(), dense.has_others());
                assert_eq!(read.strings().ends, dense.strings().ends);
                assert_eq!(read.strings().data, dense.strings().data);
                for row in 0..dense.len() {
                    assert_eq!(read.tag(row), dense.tag(row));
                    assert_eq!(read.word(row), dense.word(row));
                }
            }
        }
    }

    #[test]
    fn what_is_no_image_is_an_error() {
        let dense = Dense::ints([Some(1), None, Some(3)].into_iter());
        let mut image = vec![0; dense.image_len()];
        dense.write_image(&mut image);
        let of = |bytes: &[u8]| {
            let words = bytes
                .chunks(8)
                .map(|w| w.iter().rev().fold(0, |word, &b| word << 8 | u64::from(b)));
            let buffer = Buffer::from_vec(words.collect::<Vec<u64>>());
            Dense::of_image(buffer.slice_with_length(0, bytes.len()))
        };
        assert!(of(&image).is_ok());
        for len in 0..image.len() {
            assert!(of(&image[..len]).is_err(), "{len} bytes");
        }
        let at = |i: usize, value: u8| {
            let mut image = image.clone();
            image[i] = value;
            of(&image)
        };
        assert!(at(0, 4).is_err(), "more rows than words");
        assert!(at(8 * (LENGTHS + 1), 7).is_err(), "more words than rows");
        assert!(at(8 * ZONE, 9).is_err(), "no zone of that kind");
    }
}
