//! The pages of a row group's columns, looked at before parquet's readers believe what they say of themselves.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::input::{ReadAt, WHAT};
use super::layout::{Header, Kind};
use super::thrift::Wrong;
use super::{codec, delta, layout};
use crate::error::Error;

/// As much of a header is read at first: more if it has long statistics.
const HEADER: usize = 512;
/// A view of a byte string; values of other types are no longer in a dictionary.
const VIEW: usize = size_of::<u128>();

/// A file that the readers of all columns share.
pub(super) struct Chunks<R> {
    pub(super) input: R,
    /// An error that is none of the file's: parquet's errors forget it.
    failed: Mutex<Option<Error>>,
    /// How many batches have been begun.
    batches: AtomicUsize,
}

impl<R: ReadAt> Chunks<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            failed: Mutex::new(None),
            batches: AtomicUsize::new(0),
        }
    }

    /// Another batch is read.
    pub(super) fn begin_batch(&self) {
        self.batches.fetch_add(1, Relaxed);
    }

    pub(super) fn take_failed(&self) -> Option<Error> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn fail(&self, error: Error) -> ParquetError {
        let text = error.to_string();
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        ParquetError::General(text)
    }

    fn ask(&self, bytes: usize) -> Result<()> {
        amax_memory::ask(bytes.min(isize::MAX as usize), WHAT).map_err(|error| self.fail(error.into()))
    }

    /// Bytes from there on, of which the file has so many.
    pub(super) fn bytes(&self, from: u64, count: usize) -> Result<Vec<u8>> {
        if from.checked_add(count as u64).is_none_or(|end| end > self.input.size()) {
            return Err(ParquetError::EOF("A page is beyond the end of the file".into()));
        }
        self.ask(count)?;
        let mut bytes = vec![0; count];
        self.input.read_at(from, &mut bytes)?;
        Ok(bytes)
    }
}

/// The pages of a column of one row group.
struct Column<R: ReadAt> {
    chunks: Arc<Chunks<R>>,
    codec: Compression,
    leaf: Leaf,
    /// Where the next page is, or what is behind its header if that has been read, and the end of them.
    next: u64,
    end: u64,
    header: Option<Header>,
    /// Values that the column may still have.
    left: usize,
    /// Rows that are read together.
    at_once: usize,
    /// The batch that is read, the values of the pages that it has read of, and those of the last of them.
    batch: usize,
    in_batch: usize,
    in_last: usize,
}

/// What the schema says of a column.
struct Leaf {
    physical: Type,
    /// Bytes of a value that has a place of its own.
    width: usize,
    most_definitions: i16,
    most_repetitions: i16,
}

impl Leaf {
    /// What a value takes at most: itself, its levels, offsets of the lists that it is in, and which of all that is NULL; twice, as room
    /// for them grows.
    fn bytes(&self) -> usize {
        let lists = size_of::<i32>() * self.most_repetitions.max(0) as usize;
        let nulls = self.most_definitions.max(0) as usize;
        let each = self.width.saturating_add(2 * size_of::<i16>() + lists + nulls);
        each.saturating_mul(2)
    }
}

fn damaged(text: &str) -> ParquetError {
    ParquetError::General(text.into())
}

fn contradicts() -> ParquetError {
    damaged("A page contradicts its header")
}

impl<R: ReadAt> Column<R> {
    /// The header of the next page, unless there is none.
    fn header(&mut self) -> Result<Option<&Header>> {
        while self.header.is_none() && self.next < self.end {
            let (header, length) = self.read_header()?;
            self.next += length as u64;
            if header.stored as u64 > self.end - self.next {
                return Err(damaged("A page is beyond the end of its column"));
            }
            match header.kind {
                Kind::Index => self.next += header.stored as u64,
                _ => self.header = Some(header),
            }
        }
        Ok(self.header.as_ref())
    }

    fn read_header(&self) -> Result<(Header, usize)> {
        let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX);
        let mut count = HEADER.min(left);
        loop {
            match layout::page_header(&self.chunks.bytes(self.next, count)?) {
                Ok(found) => return Ok(found),
                Err(Wrong::Ends) if count < left => count = count.saturating_mul(8).min(left),
                Err(Wrong::Ends | Wrong::Deep | Wrong::Malformed) => {
                    return Err(damaged("A page's header is malformed"));
                }
            }
        }
    }

    fn next_page(&mut self) -> Result<Option<Page>> {
        self.header()?;
        let Some(header) = self.header.take() else {
            return Ok(None);
        };
        self.chunks.ask(header.size.saturating_add(header.stored))?;
        let stored = self.chunks.bytes(self.next, header.stored)?;
        self.next += header.stored as u64;
        if header.crc.is_some_and(|crc| crc != crc32fast::hash(&stored)) {
            return Err(damaged("The CRC checksum of a page is another"));
        }
        let buf = self.decompressed(&header, stored)?;
        let page = match header.kind {
            Kind::Data {
                values,
                encoding,
                definitions,
                repetitions,
            } => Page::DataPage {
                buf,
                num_values: values,
                encoding,
                def_level_encoding: definitions,
                rep_level_encoding: repetitions,
                statistics: None,
            },
            Kind::DataV2 {
                values,
                nulls,
                rows,
                encoding,
                definitions,
                repetitions,
                is_compressed,
            } => Page::DataPageV2 {
                buf,
                num_values: values,
                encoding,
                num_nulls: nulls,
                num_rows: rows,
                def_levels_byte_len: definitions,
                rep_levels_byte_len: repetitions,
                is_compressed,
                statistics: None,
            },
            Kind::Dictionary {
                values,
                encoding,
                is_sorted,
            } => Page::DictionaryPage {
                buf,
                num_values: values,
                encoding,
                is_sorted,
            },
            Kind::Index => return Err(contradicts()),
        };
        self.check(&page)?;
        Ok(Some(page))
    }

    /// A page's bytes. Levels of version 2 stand in front as they are.
    fn decompressed(&self, header: &Header, stored: Vec<u8>) -> Result<Bytes> {
        let (plain, is_compressed) = match header.kind {
            Kind::DataV2 {
                definitions,
                repetitions,
                is_compressed,
                ..
            } => (definitions as usize + repetitions as usize, is_compressed),
            _ => (0, true),
        };
        if plain > stored.len() || plain > header.size {
            return Err(contradicts());
        }
        if self.codec == Compression::UNCOMPRESSED || !is_compressed {
            return Ok(stored.into());
        }
        let mut page = vec![0; header.size];
        let (levels, values) = page.split_at_mut(plain);
        levels.copy_from_slice(&stored[..plain]);
        // Where all are NULL, some write nothing at all.
        if !values.is_empty() {
            codec::decompress(self.codec, &stored[plain..], values).map_err(|error| self.chunks.fail(error))?;
        }
        Ok(page.into())
    }

    fn check(&mut self, page: &Page) -> Result<()> {
        let values = page.num_values() as usize;
        if let Page::DictionaryPage { buf, .. } = page {
            let least = match self.leaf.physical {
                Type::BYTE_ARRAY => size_of::<u32>(),
                _ => self.leaf.width,
            };
            if values > buf.len() / least.max(1) {
                return Err(contradicts());
            }
            return self.chunks.ask(values.saturating_mul(VIEW).saturating_add(buf.len()));
        }
        self.left = self
            .left
            .checked_sub(values)
            .ok_or_else(|| damaged("A column has more values than its row group says"))?;
        let batch = self.chunks.batches.load(Relaxed);
        if batch != self.batch {
            // The last page may have more than the batch before has taken.
            (self.batch, self.in_batch) = (batch, self.in_last);
        }
        self.in_batch = self.in_batch.saturating_add(values);
        self.in_last = values;
        // Where there are no lists, each is a row. A list may be on many pages.
        let together = match self.leaf.most_repetitions {
            0 => values.min(self.at_once),
            _ => self.in_batch,
        };
        self.chunks.ask(together.saturating_mul(self.leaf.bytes()))?;
        let encoding = page.encoding();
        if self.leaf.physical == Type::FIXED_LEN_BYTE_ARRAY && encoding == Encoding::PLAIN {
            // It may be copied.
            self.chunks.ask(page.buffer().len())?;
        }
        match encoding {
            Encoding::DELTA_BINARY_PACKED | Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY => {}
            _ => return Ok(()),
        }
        let data = self.behind_levels(page).ok_or_else(contradicts)?;
        if data.is_empty() {
            return Ok(());
        }
        if !delta::is_sound(data, values) {
            return Err(contradicts());
        }
        // Lengths of all, once or twice.
        if encoding != Encoding::DELTA_BINARY_PACKED {
            self.chunks.ask(values.saturating_mul(2 * size_of::<i32>()))?;
        }
        if encoding != Encoding::DELTA_BYTE_ARRAY {
            return Ok(());
        }
        let lengths = delta::lengths_of(data, values).ok_or_else(contradicts)?;
        let bytes = lengths.all.min(lengths.longest.saturating_mul(together as u64));
        // Views have offsets of 32 bits.
        let bytes = u32::try_from(bytes).map_err(|_| damaged("A page has more than 4 GB"))? as usize;
        self.chunks.ask(bytes.saturating_mul(2))
    }

    /// A page's values. In front of them are the levels, as long as the header says (version 2), or else as their encoding has it.
    fn behind_levels<'p>(&self, page: &'p Page) -> Option<&'p [u8]> {
        match page {
            Page::DataPageV2 {
                buf,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => buf.get(*def_levels_byte_len as usize + *rep_levels_byte_len as usize..),
            Page::DataPage {
                buf,
                num_values,
                def_level_encoding,
                rep_level_encoding,
                ..
            } => {
                let mut rest = &buf[..];
                for (most, encoding) in [
                    (self.leaf.most_repetitions, rep_level_encoding),
                    (self.leaf.most_definitions, def_level_encoding),
                ] {
                    if most > 0 {
                        rest = behind(rest, most, *encoding, *num_values as usize)?;
                    }
                }
                Some(rest)
            }
            Page::DictionaryPage { .. } => None,
        }
    }
}

/// What is behind levels of version 1, of which the largest is given. They have their length in front, but for those of the oldest files.
fn behind(page: &[u8], most: i16, encoding: Encoding, values: usize) -> Option<&[u8]> {
    #[expect(deprecated, reason = "they may be read")]
    let is_packed = encoding == Encoding::BIT_PACKED;
    if is_packed {
        let bits = (i16::BITS - most.leading_zeros()) as usize;
        return page.get(values.checked_mul(bits)?.div_ceil(8)..);
    }
    let (length, behind) = page.split_first_chunk::<4>()?;
    behind
        .get(u32::from_le_bytes(*length) as usize..)
        .filter(|_| encoding == Encoding::RLE)
}

impl<R: ReadAt> Iterator for Column<R> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_page().transpose()
    }
}

impl<R: ReadAt> PageReader for Column<R> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.next_page()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        let metadata = |rows: Option<u32>, values: Option<u32>| PageMetadata {
            num_rows: rows.map(|rows| rows as usize),
            num_levels: values.map(|values| values as usize),
            is_dict: values.is_none(),
        };
        Ok(self.header()?.map(|header| match header.kind {
            Kind::Data { values, .. } => metadata(None, Some(values)),
            Kind::DataV2 { values, rows, .. } => metadata(Some(rows), Some(values)),
            Kind::Dictionary { .. } | Kind::Index => metadata(None, None),
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.next_page().map(drop)
    }
}

/// The columns of one row group.
pub(super) struct Group<'a, R> {
    pub(super) chunks: &'a Arc<Chunks<R>>,
    pub(super) metadata: &'a ParquetMetaData,
    pub(super) number: usize,
    /// Where those that are read are among all.
    pub(super) leaves: &'a [usize],
    /// Rows that are read together.
    pub(super) at_once: usize,
}

pub(super) fn rows_of(group: &RowGroupMetaData) -> usize {
    usize::try_from(group.num_rows()).unwrap_or(0)
}

impl<R: ReadAt> Group<'_, R> {
    fn of(&self) -> &RowGroupMetaData {
        self.metadata.row_group(self.number)
    }
}

impl<R: ReadAt> RowGroups for Group<'_, R> {
    fn num_rows(&self) -> usize {
        rows_of(self.of())
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let chunk = self.of().column(self.leaves[column]);
        let leaf = chunk.column_descr();
        let width = match leaf.physical_type() {
            Type::BOOLEAN => 1,
            Type::INT32 | Type::FLOAT => 4,
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            Type::BYTE_ARRAY => VIEW,
            Type::FIXED_LEN_BYTE_ARRAY => usize::try_from(leaf.type_length())?,
        };
        // Some have written 0 for none.
        let (data, dictionary) = (chunk.data_page_offset(), chunk.dictionary_page_offset());
        let start = dictionary.filter(|&at| at > 0 && at < data).unwrap_or(data);
        let (start, length) = (u64::try_from(start)?, u64::try_from(chunk.compressed_size())?);
        let column = Column {
            chunks: Arc::clone(self.chunks),
            codec: chunk.compression(),
            leaf: Leaf {
                physical: leaf.physical_type(),
                width,
                most_definitions: leaf.max_def_level(),
                most_repetitions: leaf.max_rep_level(),
            },
            next: start,
            end: start.checked_add(length).ok_or_else(contradicts)?,
            header: None,
            left: usize::try_from(chunk.num_values())?,
            at_once: self.at_once,
            batch: 0,
            in_batch: 0,
            in_last: 0,
        };
        Ok(Box::new(Once(Some(column))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.of()))
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.metadata
    }
}

struct Once<R: ReadAt>(Option<Column<R>>);

impl<R: ReadAt> Iterator for Once<R> {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let column = self.0.take()?;
        Some(Ok(Box::new(column)))
    }
}

impl<R: ReadAt> PageIterator for Once<R> {}

#[cfg(test)]
mod tests {
    use parquet::basic::Encoding;

    use super::behind;

    #[test]
    fn levels_in_front_of_values() {
        let page = [2, 0, 0, 0, 9, 9, 7];
        assert_eq!(behind(&page, 1, Encoding::RLE, 1000), Some(&[7][..]));
        assert_eq!(behind(&page[..5], 1, Encoding::RLE, 1000), None);
        assert_eq!(behind(&page, 1, Encoding::PLAIN, 1000), None);
        #[expect(deprecated, reason = "they may be read")]
        let packed = Encoding::BIT_PACKED;
        // Of a bit each, of two, and of three.
        assert_eq!(behind(&page, 1, packed, 48), Some(&[7][..]));
        assert_eq!(behind(&page, 3, packed, 23), Some(&[7][..]));
        assert_eq!(behind(&page, 4, packed, 16), Some(&[7][..]));
        assert_eq!(behind(&page, 1, packed, 57), None);
    }
}
