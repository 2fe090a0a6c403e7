//! Files that are made to take more than they have: each is an error, or takes no more memory than it was granted.

mod support;

use std::alloc::System;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use amax_arrow::{Batches, Error, Parquet};
use arrow_array::RecordBatch;
use parquet::basic::{Encoding, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::Type;
use support::{Memory, lines, of_column};

/// What all the process may take: who asks for more is told no, and whoever does not ask ends it.
const PROCESS: usize = 256 << 20;

#[global_allocator]
static ALLOCATOR: cap::Cap<System> = cap::Cap::new(System, PROCESS);

/// It counts all threads' memory.
static ONE_BY_ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_BY_ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const MARK: &[u8] = b"PAR1";
const TRUE: u8 = 1;
const I32: u8 = 5;
const I64: u8 = 6;
const BYTES: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

fn varint(mut value: u64, to: &mut Vec<u8>) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn signed(value: i64, to: &mut Vec<u8>) {
    varint(((value << 1) ^ (value >> 63)) as u64, to);
}

/// A struct as Thrift's compact protocol has it.
#[derive(Clone, Default)]
struct Struct {
    bytes: Vec<u8>,
    last: i32,
}

impl Struct {
    /// Fields with numbers up to 32767 are written short where they can be.
    fn field(mut self, number: i32, code: u8) -> Self {
        match number - self.last {
            step @ 1..=15 => self.bytes.push(((step as u8) << 4) | code),
            _ => {
                self.bytes.push(code);
                signed(number.into(), &mut self.bytes);
            }
        }
        self.last = number;
        self
    }

    fn i32(self, number: i32, value: i64) -> Self {
        let mut field = self.field(number, I32);
        signed(value, &mut field.bytes);
        field
    }

    fn i64(self, number: i32, value: i64) -> Self {
        let mut field = self.field(number, I64);
        signed(value, &mut field.bytes);
        field
    }

    fn text(self, number: i32, text: &[u8]) -> Self {
        let mut field = self.field(number, BYTES);
        varint(text.len() as u64, &mut field.bytes);
        field.bytes.extend(text);
        field
    }

    fn of(self, number: i32, part: Self) -> Self {
        let mut field = self.field(number, STRUCT);
        field.bytes.extend(part.end());
        field
    }

    fn list(self, number: i32, code: u8, elements: &[Vec<u8>]) -> Self {
        let mut field = self.field(number, LIST);
        field.bytes.push(0xf0 | code);
        varint(elements.len() as u64, &mut field.bytes);
        field.bytes.extend(elements.concat());
        field
    }

    fn structs(self, number: i32, elements: Vec<Self>) -> Self {
        let elements: Vec<Vec<u8>> = elements.into_iter().map(Self::end).collect();
        self.list(number, STRUCT, &elements)
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn new() -> Struct {
    Struct::default()
}

const REQUIRED: i64 = 0;
const OPTIONAL: i64 = 1;
const REPEATED: i64 = 2;

fn group(name: &str, children: i64) -> Struct {
    new().i32(3, REQUIRED).text(4, name.as_bytes()).i32(5, children)
}

fn int32(name: &str, repetition: i64) -> Struct {
    new().i32(1, 1).i32(3, repetition).text(4, name.as_bytes())
}

/// What a footer says of a column of a row group.
#[derive(Clone, Copy)]
struct Chunk {
    physical: i64,
    codec: i64,
    values: i64,
    length: i64,
}

/// All columns are of the same pages, which begin behind the mark.
fn row_group(rows: i64, columns: usize, chunk: Chunk) -> Struct {
    let integers = |numbers: &[u8]| numbers.iter().map(|number| vec![number * 2]).collect::<Vec<_>>();
    let metadata = new()
        .i32(1, chunk.physical)
        .list(2, I32, &integers(&[0, 3]))
        .list(3, BYTES, &[vec![1, b'a']])
        .i32(4, chunk.codec)
        .i64(5, chunk.values)
        .i64(6, chunk.length)
        .i64(7, chunk.length)
        .i64(9, 4)
        // Where its dictionary is: nowhere, as old writers have it.
        .i64(11, 0);
    let column = new().i64(2, 4).of(3, metadata);
    new()
        .structs(1, vec![column; columns])
        .i64(2, chunk.length)
        .i64(3, rows)
}

fn footer(schema: Vec<Struct>, rows: i64, groups: Vec<Struct>) -> Struct {
    new().i32(1, 1).structs(2, schema).i64(3, rows).structs(4, groups)
}

fn file(pages: &[u8], footer: Struct) -> Vec<u8> {
    let footer = footer.end();
    [MARK, pages, &footer, &(footer.len() as u32).to_le_bytes(), MARK].concat()
}

/// A page of version 1, as it is stored, and its size when it is decompressed.
fn page(size: usize, values: i64, encoding: i64, levels: i64, stored: &[u8]) -> Vec<u8> {
    let data = new().i32(1, values).i32(2, encoding).i32(3, levels).i32(4, levels);
    let header = new()
        .i32(1, 0)
        .i32(2, size as i64)
        .i32(3, stored.len() as i64)
        .of(5, data);
    [header.end(), stored.to_vec()].concat()
}

/// A file of one column of integers that is on one page or two.
fn of_pages(pages: &[u8], repetition: i64, rows: i64, codec: i64) -> Vec<u8> {
    let chunk = Chunk {
        physical: 1,
        codec,
        values: rows,
        length: pages.len() as i64,
    };
    let schema = vec![group("schema", 1), int32("a", repetition)];
    file(pages, footer(schema, rows, vec![row_group(rows, 1, chunk)]))
}

fn open(bytes: &[u8]) -> Result<Parquet<Memory>, Error> {
    Parquet::open(Memory::of(bytes))
}

fn first(bytes: &[u8]) -> Result<Option<RecordBatch>, Error> {
    open(bytes)?.next(&[0])
}

fn numbers(bytes: &[u8]) -> Result<String, Error> {
    lines(open(bytes)?, &[0]).map(|text| String::from_utf8(text).unwrap())
}

#[track_caller]
fn is_damaged<T>(result: Result<T, Error>) {
    match result {
        Err(Error::Damaged(_)) => {}
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it is read"),
    }
}

#[track_caller]
fn is_refused<T>(result: Result<T, Error>) {
    match result {
        Err(Error::OutOfMemory(_)) => {}
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it is read"),
    }
}

#[test]
fn what_is_sound_is_read() {
    let _alone = alone();
    let values: Vec<u8> = (1..=3_i32).flat_map(i32::to_le_bytes).collect();
    let bytes = of_pages(&page(12, 3, 0, 3, &values), REQUIRED, 3, 0);
    assert_eq!(numbers(&bytes).unwrap(), "1\n2\n3\n");
}

/// As deep as it has nodes: parquet would call itself for each.
#[test]
fn a_schema_that_is_hidden() {
    let _alone = alone();
    let deep: Vec<Struct> = (0..200_000)
        .map(|_| group("g", 1))
        .chain([int32("a", REQUIRED)])
        .collect();
    let sound = vec![group("schema", 1), int32("a", REQUIRED)];
    let chunk = Chunk {
        physical: 1,
        codec: 0,
        values: 0,
        length: 0,
    };
    let rest = |schema: Struct| {
        let groups = vec![row_group(0, 1, chunk)];
        schema.i64(3, 0).structs(4, groups)
    };
    match open(&file(&[], rest(new().i32(1, 1).structs(2, deep.clone())))) {
        Err(Error::Unsupported(text)) => assert!(text.contains("more than 64 groups"), "{text}"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it is read"),
    }
    // By a number that is 2 in 16 bits, and another in 64; again; or in front, by going back.
    for (one, other) in [(65_538, 2), (2, 2), (2, 65_538), (3, 2)] {
        for (hidden, shown) in [(deep.clone(), sound.clone()), (sound.clone(), deep.clone())] {
            let schema = new().i32(1, 1).structs(one, hidden).structs(other, shown);
            is_damaged(open(&file(&[], rest(schema))));
        }
    }
    // A number of children that is another for who reads it otherwise.
    for children in [
        new().text(4, b"schema").i32(5, 1).i32(5, i32::MAX.into()),
        new().text(4, b"schema").i32(5, 1).i32(65_541, i32::MAX.into()),
        new().text(4, b"schema").i64(5, (1 << 32) | 1),
        new().text(4, b"schema").i32(5, (1 << 33) | 1),
        new().text(4, b"schema").i32(5, i32::MAX.into()),
    ] {
        let schema = new().i32(1, 1).structs(2, vec![children, int32("a", REQUIRED)]);
        is_damaged(open(&file(&[], rest(schema))));
    }
}

/// Booleans in a list that nobody knows are a byte each, or none, in which others see a schema as deep as it has nodes.
#[test]
fn a_schema_within_booleans() {
    let _alone = alone();
    const NODES: usize = 50_000;
    let mut hidden = vec![0];
    for _ in 1..NODES {
        hidden.extend(group("g", 1).end());
    }
    for in_map in [false, true] {
        let unknown = new().text(4, b"x").i32(5, NODES as i64 - 1);
        let mut root = unknown.field(11, if in_map { 11 } else { LIST });
        match in_map {
            false => {
                root.bytes.push(0xf0 | TRUE);
                varint(hidden.len() as u64, &mut root.bytes);
            }
            true => {
                varint(hidden.len() as u64 / 2, &mut root.bytes);
                root.bytes.push((TRUE << 4) | TRUE);
            }
        }
        root.bytes.extend(&hidden);
        let nodes: Vec<Vec<u8>> = [root.end()].into_iter().chain(vec![vec![0]; NODES - 1]).collect();
        is_damaged(open(&file(&[], new().i32(1, 1).list(2, STRUCT, &nodes))));
    }
}

#[test]
fn footers_that_take_more_than_their_bytes() {
    let _alone = alone();
    // Room is made for as many row groups as a list says, each of at least a byte.
    let schema = vec![group("schema", 1), int32("a", REQUIRED)];
    let groups = new().i32(1, 1).structs(2, schema).i64(3, 0);
    is_refused(open(&file(
        &[],
        groups.list(4, STRUCT, &[vec![0; 4 << 20]]).counted(4 << 20),
    )));
    // A name that is in the path of each leaf.
    let name = "n".repeat(100_000);
    let leaves = (0..20_000).map(|_| int32("a", REQUIRED));
    let schema = [group("schema", 1), group(&name, 20_000)]
        .into_iter()
        .chain(leaves)
        .collect();
    is_refused(open(&file(&[], footer(schema, 0, vec![]))));
}

impl Struct {
    /// The list that it ends with, of one element, has so many.
    fn counted(mut self, count: usize) -> Self {
        let at = self.bytes.len() - count - 1;
        let mut number = Vec::new();
        varint(count as u64, &mut number);
        self.bytes.splice(at..=at, number);
        self
    }
}

/// Three hundred million zeros, of which a hundred are announced.
#[test]
fn pages_that_are_more_than_they_say() {
    let _alone = alone();
    let zeros = vec![0; 1 << 20];
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut frame = lz4_flex::frame::FrameEncoder::new(Vec::new());
    for _ in 0..300 {
        gzip.write_all(&zeros).unwrap();
        frame.write_all(&zeros).unwrap();
    }
    for (codec, stored) in [(2, gzip.finish().unwrap()), (5, frame.finish().unwrap())] {
        is_damaged(first(&of_pages(&page(100, 25, 0, 3, &stored), REQUIRED, 25, codec)));
    }
}

#[test]
fn pages_that_announce_more_than_there_is() {
    let _alone = alone();
    let page = |size: i64, stored: i64| {
        let data = new().i32(1, 1).i32(2, 0).i32(3, 3).i32(4, 3);
        new().i32(1, 0).i32(2, size).i32(3, stored).of(5, data).end()
    };
    let with = |header: Vec<u8>| first(&of_pages(&[header, vec![0; 100]].concat(), REQUIRED, 1, 1));
    is_refused(with(page(i32::MAX.into(), 100)));
    is_damaged(with(page(100, 101)));
    is_damaged(with(page(100, i32::MAX.into())));
    is_damaged(with(page(-1, 100)));
    is_damaged(with(page(100, -1)));
    // A size, and then another.
    let twice = new().i32(1, 0).i32(2, 100).i32(3, 100).i32(2, i32::MAX.into());
    is_damaged(with(twice.i32(3, 100).end()));
    // A header without an end.
    is_damaged(with(vec![
        0x15, 0, 0x15, 2, 0x15, 2, 0x2c, 0x5c, 0x18, 0xff, 0xff, 0xff, 0x7f,
    ]));
}

/// Statistics in the headers of pages may be long.
#[test]
fn headers_that_are_long() {
    let _alone = alone();
    let statistics = new().text(5, &[b'x'; 20_000]).field(7, TRUE);
    let data = new().i32(1, 1).i32(2, 0).i32(3, 3).i32(4, 3).of(5, statistics);
    let header = new().i32(1, 0).i32(2, 4).i32(3, 4).of(5, data).end();
    let bytes = of_pages(&[header, vec![7, 0, 0, 0]].concat(), REQUIRED, 1, 0);
    assert_eq!(numbers(&bytes).unwrap(), "7\n");
}

#[test]
fn dictionaries_have_their_values() {
    let _alone = alone();
    let dictionary = |values: i64, bytes: &[u8]| {
        let header = new().i32(1, 2).i32(2, bytes.len() as i64).i32(3, bytes.len() as i64);
        let header = header.of(7, new().i32(1, values).i32(2, 0));
        [header.end(), bytes.to_vec()].concat()
    };
    // Bits of an index, and a run of two.
    let data = page(3, 2, 8, 3, &[1, 4, 1]);
    let with = |page: Vec<u8>| numbers(&of_pages(&[page, data.clone()].concat(), REQUIRED, 2, 0));
    assert_eq!(with(dictionary(2, &[5, 0, 0, 0, 6, 0, 0, 0])).unwrap(), "6\n6\n");
    for values in [3, 1 << 30, i32::MAX.into(), -1] {
        is_damaged(with(dictionary(values, &[5, 0, 0, 0, 6, 0, 0, 0])));
    }
}

/// Levels that are packed bits have no length in front of them.
#[test]
fn levels_of_the_oldest_files() {
    let _alone = alone();
    const DELTA: i64 = 5;
    const BIT_PACKED: i64 = 4;
    // All eight are there: 128 values in blocks of four parts; the first is 7, each is one more than the one before.
    let page = page(11, 8, DELTA, BIT_PACKED, &[0xff, 128, 1, 4, 8, 14, 2, 0, 0, 0, 0]);
    let bytes = of_pages(&page, OPTIONAL, 8, 0);
    assert_eq!(numbers(&bytes).unwrap(), "7\n8\n9\n10\n11\n12\n13\n14\n");
    // What the encoding says of itself is still looked at.
    let mut wrong = bytes;
    let at = wrong.windows(3).position(|bytes| bytes == [0xff, 128, 1]).unwrap();
    wrong[at + 4] = 9;
    is_damaged(first(&wrong));
}

/// A column of a required leaf, or of lists of it in one row.
fn of_leaf<T: DataType>(
    physical: Physical,
    length: i32,
    values: &[T::T],
    is_list: bool,
    properties: WriterProperties,
) -> Vec<u8> {
    let repetition = if is_list {
        Repetition::REPEATED
    } else {
        Repetition::REQUIRED
    };
    let leaf = Type::primitive_type_builder("a", physical)
        .with_length(length)
        .with_repetition(repetition)
        .build()
        .unwrap();
    let definitions = vec![1; values.len()];
    let repetitions: Vec<i16> = (0..values.len()).map(|at| i16::from(at > 0)).collect();
    let levels = is_list.then_some((&definitions[..], &repetitions[..]));
    of_column::<T>(leaf, values, properties, levels)
}

/// A megabyte, which each value shares with the one before: few bytes are many.
#[test]
fn values_that_share_their_bytes() {
    let _alone = alone();
    let of = |count: usize, length: usize, is_list| {
        let value = ByteArray::from(vec![b'x'; length]);
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::DELTA_BYTE_ARRAY)
            .set_data_page_size_limit(64 << 20)
            .build();
        let bytes = of_leaf::<ByteArrayType>(Physical::BYTE_ARRAY, -1, &vec![value; count], is_list, properties);
        assert!(bytes.len() < 4 << 20, "{}", bytes.len());
        first(&bytes)
    };
    assert_eq!(of(1000, 1000, false).unwrap().unwrap().num_rows(), 1000);
    // A batch has as many rows as are sixteen megabytes, as the file says what they take.
    let rows = of(400, 1 << 20, false).unwrap().unwrap().num_rows();
    assert!(rows <= 16, "{rows}");
    is_refused(of(400, 1 << 20, true));
}

/// A megabyte in a dictionary, a thousand times: in as many rows, of which few are read together, or in one.
#[test]
fn lists_of_long_values() {
    let _alone = alone();
    let value = FixedLenByteArray::from(ByteArray::from(vec![b'x'; 1 << 20]));
    let of = |is_list| {
        let properties = WriterProperties::builder()
            .set_dictionary_page_size_limit(64 << 20)
            .set_statistics_enabled(EnabledStatistics::None)
            .build();
        let physical = Physical::FIXED_LEN_BYTE_ARRAY;
        let bytes =
            of_leaf::<FixedLenByteArrayType>(physical, 1 << 20, &vec![value.clone(); 1000], is_list, properties);
        assert!(bytes.len() < 4 << 20, "{}", bytes.len());
        first(&bytes)
    };
    assert_eq!(of(false).unwrap().unwrap().num_rows(), 15);
    is_refused(of(true));
}

/// One text of eight megabytes, a thousand times: no more of them are looked at in one go than are in sixty-four megabytes; and of eight hundred in
/// one value there is none in PostgreSQL.
#[test]
fn texts_that_are_many() {
    let _alone = alone();
    let text = ByteArray::from(vec![b'x'; 8 << 20]);
    let of = |count: usize, is_list| {
        let properties = WriterProperties::builder()
            .set_dictionary_page_size_limit(64 << 20)
            .set_statistics_enabled(EnabledStatistics::None)
            .build();
        of_leaf::<ByteArrayType>(
            Physical::BYTE_ARRAY,
            -1,
            &vec![text.clone(); count],
            is_list,
            properties,
        )
    };
    let bytes = of(1000, false);
    let mut file = open(&bytes).unwrap();
    let mut rows = 0;
    while let Some(batch) = file.next(&[0]).unwrap() {
        assert!((1..=8).contains(&batch.num_rows()), "{}", batch.num_rows());
        rows += batch.num_rows();
    }
    assert_eq!(rows, 1000);
    match first(&of(800, true)) {
        Err(Error::Unsupported(text)) => assert!(text.contains("more than 1 GB"), "{text}"),
        other => panic!("{other:?}"),
    }
}

/// A list of a thousand million values, 65,536 on each page of a few bytes, which says that it is as many rows.
#[test]
fn a_list_on_many_pages() {
    let _alone = alone();
    const VALUES: u32 = 65_536;
    const PAGES: usize = 15_000;
    let run = |level: u8| {
        let mut run = Vec::new();
        varint(u64::from(VALUES) << 1, &mut run);
        run.push(level);
        [&(run.len() as u32).to_le_bytes()[..], &run].concat()
    };
    // All are of the row before, are there, and are the dictionary's only one; but for the first, which begins the row.
    let mut index = vec![1];
    varint(u64::from(VALUES) << 1, &mut index);
    index.push(0);
    let stored = [run(1), run(1), index].concat();
    let first = {
        let mut levels = vec![2, 0];
        varint(u64::from(VALUES - 1) << 1, &mut levels);
        levels.push(1);
        let levels = [&(levels.len() as u32).to_le_bytes()[..], &levels].concat();
        [levels, stored[run(1).len()..].to_vec()].concat()
    };
    let dictionary = new()
        .i32(1, 2)
        .i32(2, 4)
        .i32(3, 4)
        .of(7, new().i32(1, 1).i32(2, 0))
        .end();
    let mut pages = [
        dictionary,
        vec![7, 0, 0, 0],
        page(first.len(), VALUES.into(), 8, 3, &first),
    ]
    .concat();
    let next = page(stored.len(), VALUES.into(), 8, 3, &stored);
    for _ in 1..PAGES {
        pages.extend(&next);
    }
    let rows = PAGES as i64 * i64::from(VALUES);
    assert!(pages.len() < 1 << 20, "{}", pages.len());
    is_refused(numbers(&of_pages(&pages, REPEATED, rows, 0)));
}

/// Many columns of nothing, or nearly: a row takes what it takes in memory.
#[test]
fn rows_that_are_wide() {
    let _alone = alone();
    const COLUMNS: usize = 5000;
    const ROWS: i64 = 8192;
    // The length of levels, a run of as many as there are rows, which is all NULL.
    let mut levels = Vec::new();
    varint((ROWS as u64) << 1, &mut levels);
    levels.push(0);
    let levels = [&(levels.len() as u32).to_le_bytes()[..], &levels].concat();
    let page = page(levels.len(), ROWS, 0, 3, &levels);
    let chunk = Chunk {
        physical: 2,
        codec: 0,
        values: ROWS,
        length: page.len() as i64,
    };
    let columns = (0..COLUMNS).map(|at| new().i32(1, 2).i32(3, OPTIONAL).text(4, format!("c{at}").as_bytes()));
    let schema = [group("schema", COLUMNS as i64)].into_iter().chain(columns).collect();
    let bytes = file(&page, footer(schema, ROWS, vec![row_group(ROWS, COLUMNS, chunk)]));
    let mut file = open(&bytes).unwrap();
    let all: Vec<usize> = (0..COLUMNS).collect();
    let batch = file.next(&all).unwrap().unwrap();
    assert!(batch.num_rows() <= (16 << 20) / (16 * COLUMNS), "{}", batch.num_rows());
    assert_eq!(batch.column(COLUMNS - 1).null_count(), batch.num_rows());
    // One of them is read as others are.
    assert_eq!(
        open(&bytes).unwrap().next(&[7]).unwrap().unwrap().num_rows(),
        ROWS as usize
    );
}

/// What is not wanted need not be understood.
#[test]
fn columns_that_are_not_read() {
    let _alone = alone();
    let values: Vec<u8> = (1..=3_i32).flat_map(i32::to_le_bytes).collect();
    let page = page(12, 3, 0, 3, &values);
    let chunk = Chunk {
        physical: 1,
        codec: 0,
        values: 3,
        length: page.len() as i64,
    };
    let list = |name: &str| new().i32(3, OPTIONAL).text(4, name.as_bytes()).i32(5, 2).i32(6, 3);
    let schema = vec![
        group("schema", 4),
        group("nothing", 0),
        list("no list"),
        int32("x", REQUIRED),
        int32("y", REQUIRED),
        group("outside", 1),
        group("inside", 0),
        int32("b", REQUIRED),
    ];
    let bytes = file(&page, footer(schema, 3, vec![row_group(3, 3, chunk)]));
    let names = |file: &Parquet<Memory>| {
        file.schema()
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&open(&bytes).unwrap()), ["nothing", "no list", "outside", "b"]);
    assert_eq!(lines(open(&bytes).unwrap(), &[3]).unwrap(), b"1\n2\n3\n");
    for column in [0, 1, 2] {
        match open(&bytes).unwrap().next(&[column]) {
            Err(Error::Unsupported(text)) => assert!(text.starts_with("Column \""), "{text}"),
            other => panic!("{column}: {other:?}"),
        }
    }
}
