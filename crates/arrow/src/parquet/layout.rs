//! What footers and the headers of pages have in them, as parquet's reader knows them (parquet.thrift): looked at before it reads a
//! footer, so that it meets nothing but what has been looked at; the headers of pages nobody else reads.

use parquet::basic::{ColumnOrder, Encoding};
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue, RowGroupMetaData, SortingColumn};

use super::thrift::{FALSE, I32, Reader, Result, Shape, TRUE, Wrong};

/// Groups within groups: parquet's reader calls itself for each.
pub(super) const DEEPEST: usize = 64;
/// What parquet and Arrow keep of a node of the schema, several times, besides its name.
const NODE: usize = 2048;
/// What the statistics of a column chunk take besides their place in it, and their bytes.
const STATISTICS: usize = 512;
/// How often the bytes of a footer are copied: names and texts.
const COPIES: usize = 8;
/// How often the path of a leaf is kept: with the file's schema, with its column's, and with what is read.
const PATHS: usize = 3;

const NOTHING: Shape = Shape::Struct(&[]);
const TIME: Shape = Shape::Struct(&[(1, Shape::Bool), (2, TIME_UNIT)]);
const TIME_UNIT: Shape = Shape::Struct(&[(1, NOTHING), (2, NOTHING), (3, NOTHING)]);
const LOGICAL_TYPE: Shape = Shape::Struct(&[
    (1, NOTHING),
    (2, NOTHING),
    (3, NOTHING),
    (4, NOTHING),
    (5, Shape::Struct(&[(1, Shape::I32), (2, Shape::I32)])),
    (6, NOTHING),
    (7, TIME),
    (8, TIME),
    (10, Shape::Struct(&[(1, Shape::Byte), (2, Shape::Bool)])),
    (11, NOTHING),
    (12, NOTHING),
    (13, NOTHING),
    (14, NOTHING),
    (15, NOTHING),
    (16, Shape::Struct(&[(1, Shape::Byte)])),
    (17, Shape::Struct(&[(1, Shape::Bytes)])),
    (18, Shape::Struct(&[(1, Shape::Bytes), (2, Shape::I32)])),
    (19, NOTHING),
]);
const SCHEMA_ELEMENT: Shape = Shape::Struct(&[
    (1, Shape::I32),
    (2, Shape::I32),
    (3, Shape::I32),
    (NAME, Shape::Bytes),
    (CHILDREN, Shape::I32),
    (6, Shape::I32),
    (7, Shape::I32),
    (8, Shape::I32),
    (9, Shape::I32),
    (10, LOGICAL_TYPE),
]);
const NAME: i16 = 4;
const CHILDREN: i16 = 5;
const KEY_VALUE: Shape = Shape::Struct(&[(1, Shape::Bytes), (2, Shape::Bytes)]);
const KEY_VALUES: Shape = Shape::List(&KEY_VALUE, size_of::<KeyValue>());
const STATISTICS_OF_VALUES: Shape = Shape::Struct(&[
    (1, Shape::Bytes),
    (2, Shape::Bytes),
    (3, Shape::I64),
    (4, Shape::I64),
    (5, Shape::Bytes),
    (6, Shape::Bytes),
    (7, Shape::Bool),
    (8, Shape::Bool),
    (9, Shape::I64),
]);
const SIZE_STATISTICS: Shape = Shape::Struct(&[(1, Shape::I64), (2, HISTOGRAM), (3, HISTOGRAM)]);
const HISTOGRAM: Shape = Shape::List(&Shape::I64, size_of::<i64>());
const GEOSPATIAL_STATISTICS: Shape = Shape::Struct(&[
    (
        1,
        Shape::Struct(&[
            (1, Shape::Double),
            (2, Shape::Double),
            (3, Shape::Double),
            (4, Shape::Double),
            (5, Shape::Double),
            (6, Shape::Double),
            (7, Shape::Double),
            (8, Shape::Double),
        ]),
    ),
    (2, Shape::List(&Shape::I32, size_of::<i32>())),
]);
const PAGE_ENCODING_STATISTICS: Shape = Shape::Struct(&[(1, Shape::I32), (2, Shape::I32), (3, Shape::I32)]);
const COLUMN_METADATA: Shape = Shape::Struct(&[
    (1, Shape::I32),
    (2, Shape::List(&Shape::I32, 0)),
    (3, Shape::List(&Shape::Bytes, size_of::<String>())),
    (4, Shape::I32),
    (5, Shape::I64),
    (6, Shape::I64),
    (7, Shape::I64),
    (8, KEY_VALUES),
    (9, Shape::I64),
    (10, Shape::I64),
    (11, Shape::I64),
    (12, STATISTICS_OF_VALUES),
    (13, Shape::List(&PAGE_ENCODING_STATISTICS, 3 * size_of::<i32>())),
    (14, Shape::I64),
    (15, Shape::I32),
    (16, SIZE_STATISTICS),
    (17, GEOSPATIAL_STATISTICS),
]);
const COLUMN_CHUNK: Shape = Shape::Struct(&[
    (1, Shape::Bytes),
    (2, Shape::I64),
    (3, COLUMN_METADATA),
    (4, Shape::I64),
    (5, Shape::I32),
    (6, Shape::I64),
    (7, Shape::I32),
    (9, Shape::Bytes),
]);
const SORTING_COLUMN: Shape = Shape::Struct(&[(1, Shape::I32), (2, Shape::Bool), (3, Shape::Bool)]);
const ROW_GROUP: Shape = Shape::Struct(&[
    // Room for them is doubled as they come.
    (
        1,
        Shape::List(&COLUMN_CHUNK, 2 * size_of::<ColumnChunkMetaData>() + STATISTICS),
    ),
    (2, Shape::I64),
    (3, Shape::I64),
    (4, Shape::List(&SORTING_COLUMN, size_of::<SortingColumn>())),
    (5, Shape::I64),
    (6, Shape::I64),
    (7, Shape::I16),
]);
const COLUMN_ORDER: Shape = Shape::Struct(&[(1, NOTHING), (2, NOTHING), (3, NOTHING)]);
const SCHEMA: i16 = 2;
const FILE: Shape = Shape::Struct(&[
    (1, Shape::I32),
    (SCHEMA, Shape::List(&SCHEMA_ELEMENT, NODE)),
    (3, Shape::I64),
    (4, Shape::List(&ROW_GROUP, size_of::<RowGroupMetaData>())),
    (5, KEY_VALUES),
    (6, Shape::Bytes),
    (7, Shape::List(&COLUMN_ORDER, size_of::<ColumnOrder>())),
    (9, Shape::Bytes),
]);

/// How much memory parquet's reader takes for a footer, at most.
///
/// # Errors
/// It is not one, or its schema is not one tree, or deeper than it may be.
pub(super) fn memory_of(footer: &[u8]) -> Result<usize> {
    let mut memory = footer.len().saturating_mul(COPIES);
    Reader::new(footer).check(&FILE, &mut memory)?;
    let mut paths = None;
    Reader::new(footer).fields(|reader, field, _| {
        if field == SCHEMA {
            paths = Some(paths_of(reader)?);
        }
        Ok(field == SCHEMA)
    })?;
    let paths = paths.ok_or(Wrong::Malformed)?;
    Ok(memory.saturating_add(paths.saturating_mul(PATHS)))
}

/// What the names of all leaves with those of the groups that they are in take.
fn paths_of(reader: &mut Reader<'_>) -> Result<usize> {
    let (count, _) = reader.list()?;
    // Of each group that we are in, how many nodes are to come, and the bytes of names down to it. The root has no name.
    let mut groups = vec![(1, 0_usize)];
    let mut paths = 0_usize;
    for at in 0..count {
        while groups.last().is_some_and(|group| group.0 == 0) {
            groups.pop();
        }
        let depth = groups.len();
        if depth > DEEPEST {
            return Err(Wrong::Deep);
        }
        let (left, above) = groups.last_mut().ok_or(Wrong::Malformed)?;
        *left -= 1;
        let (mut name, mut children) = (0, 0);
        reader.fields(|reader, field, _| {
            match field {
                NAME => name = reader.bytes()?.len(),
                CHILDREN => children = usize::try_from(reader.integer(32)?).map_err(|_| Wrong::Malformed)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        if children > count - at - 1 {
            return Err(Wrong::Malformed);
        }
        let path = above.saturating_add(name + size_of::<String>());
        if children == 0 {
            paths = paths.saturating_add(path);
        }
        groups.push((children, path));
    }
    match groups.iter().all(|group| group.0 == 0) {
        true => Ok(paths),
        false => Err(Wrong::Malformed),
    }
}

/// What a page's header says of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// Bytes behind the header.
    pub(super) stored: usize,
    /// Bytes when it is decompressed.
    pub(super) size: usize,
    pub(super) crc: Option<u32>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Data {
        values: u32,
        encoding: Encoding,
        definitions: Encoding,
        repetitions: Encoding,
    },
    /// Version 2: so many bytes of repetition and definition levels are in front, never compressed.
    DataV2 {
        values: u32,
        nulls: u32,
        rows: u32,
        encoding: Encoding,
        definitions: u32,
        repetitions: u32,
        is_compressed: bool,
    },
    Dictionary {
        values: u32,
        encoding: Encoding,
        is_sorted: bool,
    },
    /// What nobody reads.
    Index,
}

const DATA_HEADER: Shape = Shape::Struct(&[
    (1, Shape::I32),
    (2, Shape::I32),
    (3, Shape::I32),
    (4, Shape::I32),
    (5, STATISTICS_OF_VALUES),
]);
const DICTIONARY_HEADER: Shape = Shape::Struct(&[(1, Shape::I32), (2, Shape::I32), (3, Shape::Bool)]);
const DATA_HEADER_V2: Shape = Shape::Struct(&[
    (1, Shape::I32),
    (2, Shape::I32),
    (3, Shape::I32),
    (4, Shape::I32),
    (5, Shape::I32),
    (6, Shape::I32),
    (7, Shape::Bool),
    (8, STATISTICS_OF_VALUES),
]);
const PAGE_HEADER: Shape = Shape::Struct(&[
    (1, Shape::I32),
    (2, Shape::I32),
    (3, Shape::I32),
    (4, Shape::I32),
    (DATA, DATA_HEADER),
    (6, NOTHING),
    (DICTIONARY, DICTIONARY_HEADER),
    (DATA_V2, DATA_HEADER_V2),
]);
const DATA: i16 = 5;
const DICTIONARY: i16 = 7;
const DATA_V2: i16 = 8;

/// The header at the beginning of what is stored, and its length.
pub(super) fn page_header(bytes: &[u8]) -> Result<(Header, usize)> {
    let mut end = Reader::new(bytes);
    end.check(&PAGE_HEADER, &mut 0)?;
    let mut page = Numbers::default();
    // Of each kind of page, what its own header says.
    let (mut data, mut dictionary, mut data_v2) = (None, None, None);
    Reader::new(bytes).fields(|reader, field, code| {
        let part = match field {
            DATA => &mut data,
            DICTIONARY => &mut dictionary,
            DATA_V2 => &mut data_v2,
            _ => return page.take(reader, field, code),
        };
        let mut numbers = Numbers::default();
        reader.fields(|reader, field, code| numbers.take(reader, field, code))?;
        *part = Some(numbers);
        Ok(true)
    })?;
    let kind = match page.number(1)? {
        0 => {
            let header = data.ok_or(Wrong::Malformed)?;
            Kind::Data {
                values: header.count(1)?,
                encoding: header.encoding(2)?,
                definitions: header.encoding(3)?,
                repetitions: header.encoding(4)?,
            }
        }
        1 => Kind::Index,
        2 => {
            let header = dictionary.ok_or(Wrong::Malformed)?;
            Kind::Dictionary {
                values: header.count(1)?,
                encoding: header.encoding(2)?,
                is_sorted: header.flag(3).unwrap_or(false),
            }
        }
        3 => {
            let header = data_v2.ok_or(Wrong::Malformed)?;
            Kind::DataV2 {
                values: header.count(1)?,
                nulls: header.count(2)?,
                rows: header.count(3)?,
                encoding: header.encoding(4)?,
                definitions: header.count(5)?,
                repetitions: header.count(6)?,
                is_compressed: header.flag(7).unwrap_or(true),
            }
        }
        _ => return Err(Wrong::Malformed),
    };
    let header = Header {
        kind,
        size: page.count(2)? as usize,
        stored: page.count(3)? as usize,
        crc: page.numbers[4].map(|crc| crc as u32),
    };
    Ok((header, bytes.len() - end.left()))
}

/// The integers and booleans of a struct, by the numbers of their fields.
#[derive(Default)]
struct Numbers {
    numbers: [Option<i32>; 8],
}

impl Numbers {
    fn take(&mut self, reader: &mut Reader<'_>, field: i16, code: u8) -> Result<bool> {
        let Some(number) = self.numbers.get_mut(field as usize) else {
            return Ok(false);
        };
        *number = match code {
            TRUE => Some(1),
            FALSE => Some(0),
            I32 => Some(reader.integer(32)? as i32),
            _ => return Ok(false),
        };
        Ok(true)
    }

    fn number(&self, field: usize) -> Result<i32> {
        self.numbers[field].ok_or(Wrong::Malformed)
    }

    fn count(&self, field: usize) -> Result<u32> {
        u32::try_from(self.number(field)?).map_err(|_| Wrong::Malformed)
    }

    fn flag(&self, field: usize) -> Option<bool> {
        self.numbers[field].map(|flag| flag != 0)
    }

    fn encoding(&self, field: usize) -> Result<Encoding> {
        let number = self.number(field)?;
        let known = Encoding::VARIANTS.iter().find(|known| **known as i32 == number);
        known.copied().ok_or(Wrong::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use parquet::basic::Encoding;

    use super::{COPIES, Header, Kind, NODE, Wrong, memory_of, page_header};

    /// A footer whose schema has nodes with so many children, and names of a letter.
    fn footer(children: &[u8]) -> Vec<u8> {
        // Version 2; a list of structs.
        let mut footer = vec![0x15, 4, 0x19, 0xfc, children.len() as u8];
        for &count in children {
            footer.extend([0x48, 1, b'x', 0x15, 2 * count, 0]);
        }
        footer.push(0);
        footer
    }

    fn is_sound(children: &[u8]) -> bool {
        memory_of(&footer(children)).is_ok()
    }

    #[test]
    fn schemas_are_trees() {
        assert!(is_sound(&[0]));
        assert!(is_sound(&[2, 0, 1, 0]));
        assert!(!is_sound(&[2, 0]));
        assert!(!is_sound(&[1, 0, 0]));
        assert!(!is_sound(&[60, 0]));
        assert!(is_sound(&[&[1; 60][..], &[0]].concat()));
        assert_eq!(memory_of(&footer(&[&[1; 70][..], &[0]].concat())), Err(Wrong::Deep));
        assert!(memory_of(&[]).is_err());
        assert!(memory_of(&[0]).is_err());
        assert!(memory_of(&[0x29, 0xfc, 0xff, 0xff, 0x03, 0]).is_err());
    }

    /// parquet's reader would take the second of a schema, the last of two numbers of children, and numbers cut to 16 bits.
    #[test]
    fn there_are_no_two_ways_to_read_a_footer() {
        let two = [&footer(&[0])[..7 + 4], &[0x09, 4, 0x1c, 0x48, 1, b'x', 0, 0]].concat();
        let one = [&two[..11], &[0]].concat();
        assert!(memory_of(&one).is_ok());
        assert!(memory_of(&two).is_err());
        // A schema by number 65538.
        let wrapped = [&[0x15, 4, 0x09, 0x84, 0x80, 0x08][..], &one[3..]].concat();
        assert!(memory_of(&wrapped).is_err());
        // The number of children twice, or as an i64.
        let children = |more: &[u8]| {
            [
                &[0x15, 4, 0x19, 0x2c, 0x48, 1, b'x'][..],
                more,
                &[0, 0x48, 1, b'y', 0, 0],
            ]
            .concat()
        };
        assert!(memory_of(&children(&[0x15, 2])).is_ok());
        assert!(memory_of(&children(&[0x15, 2, 0x05, 10, 0xfe, 1])).is_err());
        assert!(memory_of(&children(&[0x16, 2])).is_err());
        assert!(memory_of(&children(&[0x15, 1])).is_err());
    }

    /// An element of a list takes one byte here, and many there.
    #[test]
    fn lists_take_more_than_their_bytes() {
        let mut groups = footer(&[0]);
        groups.pop();
        groups.extend([0x16, 0, 0x19, 0xfc, 0x80, 0x08]);
        groups.extend([0; 1024]);
        groups.push(0);
        let memory = memory_of(&groups).unwrap();
        assert!(memory > 1024 * 80 + NODE + COPIES * groups.len(), "{memory}");
        // A name that is in the paths of many leaves.
        let mut paths = vec![0x15, 4, 0x19, 0xfc, 102, 0x48, 1, b'x', 0x15, 2, 0, 0x48, 0xff, 0x7f];
        paths.extend([b'y'; 16_383]);
        paths.extend([0x15, 200, 1, 0]);
        paths.extend([0x48, 1, b'z', 0].repeat(100));
        paths.push(0);
        assert!(memory_of(&paths).unwrap() > 100 * 16_383);
    }

    /// The header of a page of version 1 with ten values: sizes, then its own header.
    fn header() -> Vec<u8> {
        vec![
            0x15, 0, 0x15, 200, 1, 0x15, 20, 0x2c, 0x15, 20, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0,
        ]
    }

    #[test]
    fn headers_of_pages() {
        let kind = Kind::Data {
            values: 10,
            encoding: Encoding::PLAIN,
            definitions: Encoding::RLE,
            repetitions: Encoding::RLE,
        };
        let found = Header {
            kind,
            size: 100,
            stored: 10,
            crc: None,
        };
        let bytes = header();
        assert_eq!(
            page_header(&[&bytes[..], &[1, 2, 3]].concat()),
            Ok((found, bytes.len()))
        );
        for end in 0..bytes.len() {
            assert_eq!(page_header(&bytes[..end]), Err(Wrong::Ends), "{end}");
        }
        // Sizes twice; values below zero; a header of another kind; none.
        let wrong = |at: usize, with: &[u8], until: usize| page_header(&[&bytes[..at], with, &bytes[until..]].concat());
        assert_eq!(wrong(7, &[0x05, 6, 0xfe, 0x7f], 7), Err(Wrong::Malformed));
        assert_eq!(wrong(9, &[19], 10), Err(Wrong::Malformed));
        assert_eq!(wrong(1, &[6], 2), Err(Wrong::Malformed));
        assert_eq!(wrong(11, &[80], 12), Err(Wrong::Malformed));
        assert_eq!(page_header(&[0]), Err(Wrong::Malformed));
    }

    /// Statistics may be long.
    #[test]
    fn headers_of_any_length() {
        let mut bytes = header();
        bytes.truncate(bytes.len() - 2);
        bytes.extend([0x1c, 0x18, 0x88, 0x27]);
        bytes.extend([b'x'; 5000]);
        bytes.extend([0, 0, 0]);
        assert_eq!(page_header(&bytes).unwrap().1, bytes.len());
        assert_eq!(page_header(&bytes[..512]), Err(Wrong::Ends));
    }
}
