//! Pages of a column, and what the footer says of them.

use std::ops::Range;

use amax_format::parquet::{put_hybrid, put_run};
use amax_format::{Compression, compressed};
use arrow_array::{Array, ArrayRef};
use bytes::Bytes;
use parquet::basic::{BoundaryOrder, Compression as Codec, Encoding, EncodingMask, PageType, ZstdLevel};
use parquet::column::page::{CompressedPage, Page as Stored, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ColumnIndexBuilder, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// Rows of a page.
pub(super) const ROWS: usize = 16 * 1024;

/// So much of a page is compressed to see what that saves.
pub(super) const SAMPLE: usize = 8 * 1024;

/// The least and the greatest of a page's values.
pub(super) trait Bound: Clone + Ord {
    fn bytes(&self) -> Vec<u8>;

    fn statistics(bounds: Option<(Self, Self)>, nulls: u64) -> Statistics;
}

impl Bound for i32 {
    fn bytes(&self) -> Vec<u8> {
        self.to_le_bytes().to_vec()
    }

    fn statistics(bounds: Option<(Self, Self)>, nulls: u64) -> Statistics {
        Statistics::Int32(known(bounds, nulls).with_backwards_compatible_min_max(true))
    }
}

impl Bound for i64 {
    fn bytes(&self) -> Vec<u8> {
        self.to_le_bytes().to_vec()
    }

    fn statistics(bounds: Option<(Self, Self)>, nulls: u64) -> Statistics {
        Statistics::Int64(known(bounds, nulls).with_backwards_compatible_min_max(true))
    }
}

impl Bound for &[u8] {
    fn bytes(&self) -> Vec<u8> {
        self.to_vec()
    }

    fn statistics(bounds: Option<(Self, Self)>, nulls: u64) -> Statistics {
        let owned = |bytes: &[u8]| ByteArray::from(bytes.to_vec());
        let bounds = bounds.map(|(least, greatest)| (owned(least), owned(greatest)));
        Statistics::ByteArray(known(bounds, nulls))
    }
}

fn known<T>(bounds: Option<(T, T)>, nulls: u64) -> ValueStatistics<T> {
    let (least, greatest) = bounds.unzip();
    ValueStatistics::new(least, greatest, None, Some(nulls), false)
}

/// The least and the greatest.
pub(super) fn bounds<B: Bound>(mut values: impl Iterator<Item = B>) -> Option<(B, B)> {
    let first = values.next()?;
    Some(values.fold((first.clone(), first), |(least, greatest), value| {
        (least.min(value.clone()), greatest.max(value))
    }))
}

/// Some rows of a column, and where their values are among all of its.
pub(super) struct Rows<'a> {
    /// Of arrays, which rows.
    pieces: Vec<(&'a ArrayRef, Range<usize>)>,
    count: usize,
    pub(super) values: Range<usize>,
}

impl<'a> Rows<'a> {
    /// A column cut for pages.
    pub(super) fn cut(arrays: &'a [ArrayRef]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for array in arrays {
            let mut from = 0;
            while from < array.len() {
                let before = all.last().map_or(0, |rows| rows.values.end);
                let open = match all.last_mut() {
                    Some(open) if open.count < ROWS => open,
                    _ => {
                        let (pieces, values) = (Vec::new(), before..before);
                        all.push(Self {
                            pieces,
                            count: 0,
                            values,
                        });
                        all.last_mut().expect("one has been added")
                    }
                };
                let to = array.len().min(from + ROWS - open.count);
                let nulls = array
                    .nulls()
                    .map_or(0, |nulls| nulls.slice(from, to - from).null_count());
                open.count += to - from;
                open.values.end += to - from - nulls;
                open.pieces.push((array, from..to));
                from = to;
            }
        }
        all
    }

    pub(super) fn pieces(&self) -> impl Iterator<Item = (&'a ArrayRef, Range<usize>)> {
        self.pieces.iter().cloned()
    }

    /// Appends which of them have a value, if any may have none.
    fn put_levels(&self, descriptor: &ColumnDescPtr, to: &mut Vec<u8>) {
        if descriptor.max_def_level() == 0 {
            return;
        }
        let size = to.len();
        to.extend_from_slice(&[0; 4]);
        if self.values.len() == self.count {
            put_run(to, 1, self.count, 1);
        } else {
            let mut levels: Vec<u32> = Vec::with_capacity(self.count);
            for (array, rows) in self.pieces() {
                match array.nulls() {
                    Some(nulls) => levels.extend(nulls.slice(rows.start, rows.len()).iter().map(u32::from)),
                    None => levels.resize(levels.len() + rows.len(), 1),
                }
            }
            put_hybrid(to, &levels, 1);
        }
        let bytes = (to.len() - size - 4) as u32;
        to[size..size + 4].copy_from_slice(&bytes.to_le_bytes());
    }
}

/// The values of a dictionary.
pub(super) struct Dictionary {
    pub(super) bytes: Vec<u8>,
    pub(super) count: usize,
}

/// A page as it is before it is compressed.
struct Page<B> {
    bytes: Vec<u8>,
    rows: usize,
    nulls: usize,
    bounds: Option<(B, B)>,
}

/// All of a column's.
pub(super) struct Pages<B> {
    descriptor: ColumnDescPtr,
    encoding: Encoding,
    dictionary: Option<Dictionary>,
    pages: Vec<Page<B>>,
}

impl<B: Bound> Pages<B> {
    pub(super) fn new(descriptor: &ColumnDescPtr, encoding: Encoding) -> Self {
        Self {
            descriptor: descriptor.clone(),
            encoding,
            dictionary: None,
            pages: Vec::new(),
        }
    }

    pub(super) fn with_dictionary(self, dictionary: Dictionary) -> Self {
        Self {
            dictionary: Some(dictionary),
            ..self
        }
    }

    /// Adds one, whose values `put` appends.
    pub(super) fn add(&mut self, rows: &Rows<'_>, bounds: Option<(B, B)>, put: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = Vec::new();
        rows.put_levels(&self.descriptor, &mut bytes);
        put(&mut bytes);
        self.pages.push(Page {
            bytes,
            rows: rows.count,
            nulls: rows.count - rows.values.len(),
            bounds,
        });
    }

    /// The column as it is in a file, compressed if that saves enough.
    pub(super) fn stored(self, compression: Compression) -> Result<(Bytes, ColumnCloseResult), ParquetError> {
        let sample = self.pages.first().map_or(&[][..], |page| &page.bytes);
        let sample = &sample[..sample.len().min(SAMPLE)];
        let compression = match saves(squeezed(sample, compression)?.len(), sample.len()) {
            true => compression,
            false => Compression::None,
        };
        let mut sink = TrackedWrite::new(Vec::new());
        let mut writer = SerializedPageWriter::new(&mut sink);
        let mut written = Written::default();
        let mut encodings = vec![PageEncodingStats {
            page_type: PageType::DATA_PAGE,
            encoding: self.encoding,
            count: self.pages.len() as i32,
        }];
        let has_dictionary = self.dictionary.is_some();
        if let Some(dictionary) = self.dictionary {
            let size = dictionary.bytes.len();
            let page = Stored::DictionaryPage {
                buf: squeezed_of(dictionary.bytes, compression)?,
                num_values: dictionary.count as u32,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            written.add(&writer.write_page(CompressedPage::new(page, size))?);
            encodings.push(PageEncodingStats {
                page_type: PageType::DICTIONARY_PAGE,
                encoding: Encoding::PLAIN,
                count: 1,
            });
        }
        let data = written.stored;
        let mut index = ColumnIndexBuilder::new(self.descriptor.physical_type());
        index.set_boundary_order(order(&self.pages));
        let mut offsets = OffsetIndexBuilder::new();
        let (mut rows, mut nulls, mut all) = (0, 0, Vec::new());
        for page in self.pages {
            let size = page.bytes.len();
            let stored = Stored::DataPage {
                buf: squeezed_of(page.bytes, compression)?,
                num_values: page.rows as u32,
                encoding: self.encoding,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            };
            let spec = writer.write_page(CompressedPage::new(stored, size))?;
            written.add(&spec);
            offsets.append_offset_and_size(spec.offset as i64, spec.compressed_size as i32);
            offsets.append_row_count(page.rows as i64);
            let (least, greatest) = page
                .bounds
                .as_ref()
                .map(|(a, b)| (a.bytes(), b.bytes()))
                .unwrap_or_default();
            index.append(page.bounds.is_none(), least, greatest, page.nulls as i64, None);
            rows += page.rows;
            nulls += page.nulls;
            all.extend(page.bounds);
        }
        let all = all.into_iter().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let used = [Encoding::RLE, self.encoding];
        let used = used.iter().chain(has_dictionary.then_some(&Encoding::PLAIN));
        let metadata = ColumnChunkMetaData::builder(self.descriptor.clone())
            .set_compression(codec(compression))
            .set_encodings_mask(EncodingMask::new_from_encodings(used))
            .set_page_encoding_stats(encodings)
            .set_total_compressed_size(written.stored as i64)
            .set_total_uncompressed_size(written.raw as i64)
            .set_num_values(rows as i64)
            .set_data_page_offset(data as i64)
            .set_dictionary_page_offset(has_dictionary.then_some(0))
            .set_statistics(B::statistics(all, nulls as u64))
            .build()?;
        let closed = ColumnCloseResult {
            bytes_written: written.stored as u64,
            rows_written: rows as u64,
            metadata,
            bloom_filter: None,
            column_index: Some(index.build()?),
            offset_index: Some(offsets.build()),
        };
        Ok((sink.into_inner()?.into(), closed))
    }
}

/// Bytes of pages, with their headers.
#[derive(Default)]
struct Written {
    stored: usize,
    raw: usize,
}

impl Written {
    fn add(&mut self, page: &parquet::column::page::PageWriteSpec) {
        self.stored += page.compressed_size;
        self.raw += page.uncompressed_size;
    }
}

/// Whether each page's values are none below, or none above, those of the page before.
fn order<B: Bound>(pages: &[Page<B>]) -> BoundaryOrder {
    let bounds: Vec<_> = pages.iter().filter_map(|page| page.bounds.as_ref()).collect();
    if bounds
        .windows(2)
        .all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1)
    {
        return BoundaryOrder::ASCENDING;
    }
    match bounds
        .windows(2)
        .all(|pair| pair[0].0 >= pair[1].0 && pair[0].1 >= pair[1].1)
    {
        true => BoundaryOrder::DESCENDING,
        false => BoundaryOrder::UNORDERED,
    }
}

fn codec(compression: Compression) -> Codec {
    match compression {
        Compression::None => Codec::UNCOMPRESSED,
        Compression::Snappy => Codec::SNAPPY,
        Compression::Zstd(_) => Codec::ZSTD(ZstdLevel::default()),
        Compression::Lz4 => Codec::LZ4_RAW,
    }
}

/// Whether it is worth the time to have fewer bytes.
pub(super) fn saves(squeezed: usize, raw: usize) -> bool {
    6 * squeezed <= 5 * raw
}

/// Bytes, compressed.
pub(super) fn squeezed(raw: &[u8], compression: Compression) -> Result<Vec<u8>, ParquetError> {
    compressed(raw, compression).map_err(|error| ParquetError::External(Box::new(error)))
}

fn squeezed_of(raw: Vec<u8>, compression: Compression) -> Result<Bytes, ParquetError> {
    match compression {
        Compression::None => Ok(raw.into()),
        _ => Ok(squeezed(&raw, compression)?.into()),
    }
}
