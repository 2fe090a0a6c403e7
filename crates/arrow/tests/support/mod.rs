//! Files in memory, and their rows as text.

// Not all of it is used by each of those who have it.
#![allow(dead_code)]

use std::io;
use std::sync::{Arc, Mutex};

use amax_arrow::{Batches, Error, Parquet, ReadAt, Rows, Target};
use arrow_schema::{DataType, Schema};

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
