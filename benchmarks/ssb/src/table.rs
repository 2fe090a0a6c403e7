//! The five tables as streams of encoded rows.

use crate::sink::{Encoder, Format};
use crate::{calendar, dimensions, lineorder::Lineorder, scale::Scale};
use std::io::{self, Write};

/// Bytes gathered before each write.
const CHUNK: usize = 1 << 18;

/// A table of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Table {
    /// The fact table.
    Lineorder,
    /// Buyers.
    Customer,
    /// Sellers.
    Supplier,
    /// What is sold.
    Part,
    /// The calendar.
    Date,
}

impl Table {
    /// All five, the largest last.
    pub const ALL: [Table; 5] = [
        Table::Date,
        Table::Supplier,
        Table::Customer,
        Table::Part,
        Table::Lineorder,
    ];

    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Table::Lineorder => "lineorder",
            Table::Customer => "customer",
            Table::Supplier => "supplier",
            Table::Part => "part",
            Table::Date => "date",
        }
    }

    /// How many units the table is generated in: rows, or orders for lineorder.
    fn units(self, scale: Scale) -> u64 {
        match self {
            Table::Lineorder => scale.orders(),
            Table::Customer => scale.customers(),
            Table::Supplier => scale.suppliers(),
            Table::Part => scale.parts(),
            Table::Date => calendar::DATE_ROWS,
        }
    }
}

/// What [`generate`] wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Rows.
    pub rows: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Writes a whole table in bounded memory. Errors are those of `out`.
pub fn generate(table: Table, scale: Scale, seed: u64, format: Format, out: &mut impl Write) -> io::Result<Written> {
    let lineorder = Lineorder::new(seed, scale);
    let mut encoder = Encoder::new(format);
    let mut written = Written::default();
    for number in 1..=table.units(scale) {
        match table {
            Table::Lineorder => written.rows += lineorder.write(number, &mut encoder) - 1,
            Table::Customer => dimensions::customer(seed, number, &mut encoder),
            Table::Supplier => dimensions::supplier(seed, number, &mut encoder),
            Table::Part => dimensions::part(seed, number, &mut encoder),
            Table::Date => dimensions::date(number - 1, &mut encoder),
        }
        written.rows += 1;
        if encoder.bytes().len() >= CHUNK {
            flush(&mut encoder, &mut written, out)?;
        }
    }
    flush(&mut encoder, &mut written, out)?;
    out.flush()?;
    Ok(written)
}

fn flush(encoder: &mut Encoder, written: &mut Written, out: &mut impl Write) -> io::Result<()> {
    out.write_all(encoder.bytes())?;
    written.bytes += encoder.bytes().len() as u64;
    encoder.clear();
    Ok(())
}
