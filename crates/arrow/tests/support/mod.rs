//! Files in memory, and their rows as text; inputs that are damaged.

// Not all of it is used by each of those who have it.
#![allow(dead_code)]

use std::io;
use std::panic::{AssertUnwindSafe, UnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::sync::{Arc, Mutex};

use amax_arrow::{Batches, Error, Parquet, ReadAt, Rows, Target};
use arrow_schema::{DataType, Schema};
use fastrand::Rng;
use parquet::data_type;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

/// A file, and which parts of it have been read.
pub struct Memory {
    bytes: Vec<u8>,
    pub read: Arc<Mutex<Vec<(u64, usize)>>>,
}

impl Memory {
    pub fn of(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.to_vec(),
            read: Arc::default(),
        }
    }
}

impl ReadAt for Memory {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, from: u64, to: &mut [u8]) -> io::Result<()> {
        self.read.lock().unwrap().push((from, to.len()));
        let from = from as usize;
        to.copy_from_slice(&self.bytes[from..from + to.len()]);
        Ok(())
    }
}

pub fn target(schema: &Schema, column: usize) -> Target {
    match schema.field(column).data_type() {
        DataType::Binary | DataType::BinaryView | DataType::FixedSizeBinary(_) => Target::Bytes,
        _ => Target::Json,
    }
}

/// Some columns of all rows as text.
pub fn lines(mut batches: impl Batches, columns: &[usize]) -> Result<Vec<u8>, Error> {
    let schema = Arc::clone(batches.schema());
    let mut text = Vec::new();
    while let Some(batch) = batches.next(columns)? {
        let targets: Vec<Target> = columns.iter().map(|&at| target(&schema, at)).collect();
        let Ok(mut rows) = Rows::new(&batch, &targets) else {
            continue;
        };
        for row in 0..rows.len().min(1000) {
            let _ = rows.write(row, &mut text);
        }
    }
    Ok(text)
}

/// All of a file.
pub fn all(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let file = Parquet::open(Memory::of(bytes))?;
    let columns: Vec<usize> = (0..file.schema().fields().len()).collect();
    lines(file, &columns)
}

/// A file of one column, written without Arrow; `levels` are the definition and repetition levels of repeated values.
pub fn of_column<T: data_type::DataType>(
    leaf: Type,
    values: &[T::T],
    properties: WriterProperties,
    levels: Option<(&[i16], &[i16])>,
) -> Vec<u8> {
    let schema = Type::group_type_builder("schema")
        .with_fields(vec![Arc::new(leaf)])
        .build()
        .unwrap();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let (definitions, repetitions) = levels.unzip();
    column
        .typed::<T>()
        .write_batch(values, definitions, repetitions)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

/// A way to damage what is at a place.
pub type Way = fn(&mut Rng, &mut [u8], usize);

/// Changes bytes at one to three places: one, a bit, a piece that goes, one that comes again elsewhere, or as the format's own ways have it.
pub fn damage(random: &mut Rng, bytes: &mut Vec<u8>, ways: &[Way]) {
    for _ in 0..random.usize(1..4) {
        let at = random.usize(0..bytes.len());
        match random.usize(0..4 + ways.len()) {
            0 => bytes[at] = random.u8(..),
            1 => bytes[at] ^= 1 << random.u8(0..8),
            2 => drop(bytes.drain(at..(at + random.usize(1..64)).min(bytes.len()))),
            3 => {
                let piece = bytes[at..(at + random.usize(1..64)).min(bytes.len())].to_vec();
                let to = random.usize(0..bytes.len());
                bytes.splice(to..to, piece);
            }
            way => ways[way - 4](random, bytes, at),
        }
        if bytes.is_empty() {
            break;
        }
    }
}

/// Panics of arrow-rs and parquet are caught, and would each be printed.
pub fn quietly(work: impl FnOnce()) {
    set_hook(Box::new(|_| {}));
    let done = catch_unwind(AssertUnwindSafe(work));
    let _ = take_hook();
    if let Err(panic) = done {
        resume_unwind(panic);
    }
}

/// Whether something damaged is refused; it may be other rows, but no panic.
pub fn is_refused<T, E>(read: impl FnOnce() -> Result<T, E> + UnwindSafe, which: &str) -> bool {
    match catch_unwind(read) {
        Ok(read) => read.is_err(),
        Err(_) => {
            let _ = take_hook();
            panic!("{which} panics");
        }
    }
}
