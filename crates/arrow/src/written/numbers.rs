//! A column of whole numbers: as differences, as numbers of a dictionary, or as they are, whichever takes the fewest bytes.

use std::ops::Range;

use amax_format::Compression;
use amax_format::parquet::{put_deltas, put_hybrid, width_of};
use arrow_array::ArrayRef;
use parquet::basic::Encoding;
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescPtr;

use super::pages::{Dictionary, Pages, Rows, SAMPLE, bounds, saves, squeezed};
use super::whole::Whole;

/// Numbers that lie within so many have a dictionary by a table of where each is: none is looked up by its hash.
const SPAN: u64 = 1 << 18;
/// A dictionary has at most a value for so many numbers.
const FEW: usize = 8;

/// So many numbers are looked at to see how all are best stored.
const SOME: usize = 4096;

/// A number that is in no dictionary yet.
const NONE: u32 = u32::MAX;

pub(super) fn pages<T: Whole>(
    descriptor: &ColumnDescPtr,
    arrays: &[ArrayRef],
    compression: Compression,
) -> Result<Pages<T>, ParquetError> {
    let cut = Rows::cut(arrays);
    let count = cut.last().map_or(0, |rows| rows.values.end);
    let mut all = Vec::with_capacity(count);
    for (array, rows) in cut.iter().flat_map(Rows::pieces) {
        T::put_values(array, rows.start, rows.len(), &mut all);
    }
    let bounds: Vec<_> = cut
        .iter()
        .map(|rows| bounds(all[rows.values.clone()].iter().copied()))
        .collect();
    let first = cut
        .iter()
        .map(|rows| &all[rows.values.clone()])
        .find(|values| !values.is_empty());
    let encoding = first.map_or(Ok(Encoding::PLAIN), |first| {
        best(&first[..first.len().min(SOME)], count, compression)
    })?;
    if encoding == Encoding::RLE_DICTIONARY
        && let Some(coded) = Coded::of(&all, count / FEW)
    {
        let mut pages = Pages::new(descriptor, encoding);
        for (rows, bounds) in cut.iter().zip(bounds) {
            pages.add(rows, bounds, |to| coded.put(rows.values.clone(), to));
        }
        return Ok(pages.with_dictionary(coded.dictionary));
    }
    let encoding = match encoding {
        Encoding::RLE_DICTIONARY => Encoding::DELTA_BINARY_PACKED,
        other => other,
    };
    let mut pages = Pages::new(descriptor, encoding);
    for (rows, bounds) in cut.iter().zip(bounds) {
        let values = &all[rows.values.clone()];
        pages.add(rows, bounds, |to| match encoding {
            Encoding::PLAIN => T::put_plain(values, to),
            _ => put_deltas(to, values),
        });
    }
    Ok(pages)
}

/// What takes the fewest bytes, by some of so many numbers. What has to be compressed takes longer to write and to read: it has to save an eighth.
fn best<T: Whole>(some: &[T], all: usize, compression: Compression) -> Result<Encoding, ParquetError> {
    let mut packed = Vec::new();
    put_deltas(&mut packed, some);
    let mut best = (packed.len(), Encoding::DELTA_BINARY_PACKED);
    if let Some(coded) = Coded::of(some, some.len() / 2) {
        let mut codes = Vec::new();
        coded.put(0..some.len(), &mut codes);
        // Of a dictionary that all have in common it is their part.
        let size = codes.len() + coded.dictionary.bytes.len() * some.len() / all;
        if size < best.0 && coded.dictionary.count <= all / FEW {
            best = (size, Encoding::RLE_DICTIONARY);
            packed = codes;
        }
    }
    let sample = &packed[..packed.len().min(SAMPLE)];
    let size = match squeezed(sample, compression)?.len() {
        squeezed if saves(squeezed, sample.len()) => best.0 * squeezed / sample.len(),
        _ => best.0,
    };
    let sample = &some[..some.len().min(SAMPLE / size_of::<T>())];
    let mut plain = Vec::new();
    T::put_plain(sample, &mut plain);
    let squeezed = squeezed(&plain, compression)?.len() * some.len() / sample.len();
    let is_plain = size_of_val(some) <= size || 8 * squeezed <= 7 * size;
    Ok(if is_plain { Encoding::PLAIN } else { best.1 })
}

/// Numbers as which of a dictionary's each is.
struct Coded {
    dictionary: Dictionary,
    codes: Vec<u32>,
}

impl Coded {
    /// If they are within a narrow range, and `most` are different.
    fn of<T: Whole>(all: &[T], most: usize) -> Option<Self> {
        let (least, greatest) = bounds(all.iter().copied())?;
        let span = greatest.less(least).unsigned();
        if span >= SPAN {
            return None;
        }
        let mut known = vec![NONE; span as usize + 1];
        let mut values = Vec::new();
        let mut codes = Vec::with_capacity(all.len());
        for &number in all {
            let code = &mut known[number.less(least).unsigned() as usize];
            if *code == NONE {
                if values.len() == most {
                    return None;
                }
                *code = values.len() as u32;
                values.push(number);
            }
            codes.push(*code);
        }
        let mut bytes = Vec::new();
        T::put_plain(&values, &mut bytes);
        let dictionary = Dictionary {
            bytes,
            count: values.len(),
        };
        Some(Self { dictionary, codes })
    }

    /// Appends a page of them.
    fn put(&self, rows: Range<usize>, to: &mut Vec<u8>) {
        put_codes(&self.codes[rows], self.dictionary.count, to);
    }
}

/// Appends a page of numbers of a dictionary's values, of which there are so many: how wide they are, and they.
pub(super) fn put_codes(codes: &[u32], values: usize, to: &mut Vec<u8>) {
    let bits = width_of(values.saturating_sub(1) as u64).max(1);
    to.push(bits as u8);
    put_hybrid(to, codes, bits);
}
