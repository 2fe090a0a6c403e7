//! Writing a leaf: row by row, or column by column.

use crate::column::Column;
use crate::columns::Writer;
use crate::error::{Error, Result};
use crate::keep;
use crate::kind::Kind;
use crate::page0::{self, MAX_ROWS, Parts};
use crate::scalar::Scalar;
use crate::shred::Shredder;
use crate::types::{ColumnType, LeafOptions, Value};

/// Collects rows in ascending key order and writes them as one leaf.
///
/// After an error in [`LeafBuilder::push`] the builder must be dropped: the row may be half in.
#[derive(Debug)]
pub struct LeafBuilder {
    options: LeafOptions,
    types: Vec<ColumnType>,
    keys: Keys,
    columns: Vec<Shredder>,
    failed: bool,
}

#[derive(Debug, Default)]
struct Keys {
    keys: Vec<u64>,
    antimatter: Vec<bool>,
}

impl Keys {
    /// Adds a key; its row.
    fn push(&mut self, key: u64, antimatter: bool) -> Result<u32> {
        if self.keys.last().is_some_and(|&last| last >= key) {
            return Err(Error::Misuse("keys must ascend"));
        }
        if self.keys.len() == MAX_ROWS {
            return Err(Error::Limit("rows of one leaf"));
        }
        self.keys.push(key);
        self.antimatter.push(antimatter);
        Ok(self.keys.len() as u32 - 1)
    }
}

impl LeafBuilder {
    /// An empty leaf of rows with these columns.
    pub fn new(schema: &[ColumnType], options: LeafOptions) -> Self {
        Self {
            options,
            types: schema.to_vec(),
            keys: Keys::default(),
            columns: schema.iter().map(|_| Shredder::new()).collect(),
            failed: false,
        }
    }

    /// Adds a row: one value per column, of its type or NULL.
    ///
    /// # Errors
    /// [`Error::Misuse`] if keys do not ascend strictly or values do not fit the schema,
    /// [`Error::Jsonb`] if a document is not sound, [`Error::Limit`] if a limit of the format is hit.
    pub fn push(&mut self, key: u64, row: &[Value<'_>]) -> Result<()> {
        self.usable()?;
        if row.len() != self.types.len() {
            return Err(Error::Misuse("row and schema differ in length"));
        }
        let at = self.keys.push(key, false)?;
        for ((column, &value), &column_type) in self.columns.iter_mut().zip(row).zip(&self.types) {
            if let Err(error) = push_value(column, at, column_type, value) {
                self.failed = true;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Adds rows column by column: `fill` gets the number of each column once, and pushes its values. Rows that it leaves are NULL.
    ///
    /// # Errors
    /// As [`LeafBuilder::push`], and those of `fill`.
    pub fn push_rows(
        &mut self,
        keys: impl IntoIterator<Item = u64>,
        mut fill: impl FnMut(usize, &mut Rows<'_>) -> Result<()>,
    ) -> Result<()> {
        self.usable()?;
        // Until all of them are in.
        self.failed = true;
        let first = self.rows() as u32;
        for key in keys {
            self.keys.push(key, false)?;
        }
        let end = self.rows() as u32;
        for (at, (column, &column_type)) in self.columns.iter_mut().zip(&self.types).enumerate() {
            let mut rows = Rows {
                column,
                column_type,
                row: first,
                end,
            };
            fill(at, &mut rows)?;
        }
        self.failed = false;
        Ok(())
    }

    /// Adds an anti-matter entry: `key` is deleted in older components (AMAX paper §3.3).
    ///
    /// # Errors
    /// As [`LeafBuilder::push`].
    pub fn push_antimatter(&mut self, key: u64) -> Result<()> {
        self.usable()?;
        self.keys.push(key, true).map(|_| ())
    }

    /// Rows so far, anti-matter included.
    pub fn rows(&self) -> usize {
        self.keys.keys.len()
    }

    /// About how many bytes the rows hold; to bound memory and the size of leaves. Growing buffers may
    /// take up to twice that, [`LeafBuilder::finish`] about as much again.
    pub fn bytes(&self) -> usize {
        self.rows() * 9 + self.columns.iter().map(|c| c.bytes).sum::<usize>()
    }

    /// Encodes the rows: the bytes of the leaf, to be stored across pages of
    /// [`LeafOptions::page_size`] bytes.
    ///
    /// # Errors
    /// [`Error::Limit`] if a limit of the format is hit.
    pub fn finish(self) -> Result<Vec<u8>> {
        self.usable()?;
        let mut builder = VerticalBuilder::with_keys(self.keys, self.types.len(), self.options);
        for (column_type, shredder) in self.types.into_iter().zip(self.columns) {
            builder.write(column_type, shredder)?;
        }
        builder.finish()
    }

    fn usable(&self) -> Result<()> {
        match self.failed {
            true => Err(Error::Misuse("leaf builder used after an error")),
            false => Ok(()),
        }
    }
}

/// Writes a leaf column by column, as a vertical merge does (AMAX paper §4.5): only the column in hand is in
/// memory unencoded.
#[derive(Debug)]
pub struct VerticalBuilder {
    options: LeafOptions,
    columns: usize,
    keys: Keys,
    written: Vec<(ColumnType, Vec<u8>)>,
    writer: Writer,
}

/// One column of a [`VerticalBuilder`].
#[derive(Debug)]
pub struct ColumnBuilder {
    column_type: ColumnType,
    shredder: Shredder,
    row: u32,
}

/// Rows of one column that are being added, see [`LeafBuilder::push_rows`].
#[derive(Debug)]
pub struct Rows<'a> {
    column: &'a mut Shredder,
    column_type: ColumnType,
    row: u32,
    end: u32,
}

impl Rows<'_> {
    /// The next row's value.
    ///
    /// # Errors
    /// As [`LeafBuilder::push`]; [`Error::Misuse`] if there is no such row.
    #[inline]
    pub fn push(&mut self, value: Value<'_>) -> Result<()> {
        let row = self.next(1)?;
        push_value(self.column, row, self.column_type, value)
    }

    /// The next rows' values.
    ///
    /// # Errors
    /// As [`Rows::push`].
    pub fn push_ints(&mut self, values: &[i64]) -> Result<()> {
        if self.column_type != ColumnType::Int {
            return Err(Error::Misuse("value is not of its column's type"));
        }
        if values.is_empty() {
            return Ok(());
        }
        let first = self.next(values.len())?;
        self.column.push_ints(first, values)
    }

    /// The same of a numeric that is `mantissa` / 10^`scale`, with so many decimals displayed.
    ///
    /// # Errors
    /// As [`Rows::push`].
    #[inline]
    pub fn push_decimal(&mut self, mantissa: i64, scale: u16) -> Result<()> {
        let row = self.next(1)?;
        match (self.column_type, scale) {
            (ColumnType::Numeric, 0) => self.column.push_scalar(row, Scalar::Int(mantissa)),
            (ColumnType::Numeric, _) => self.column.push_scalar(row, Scalar::Decimal { mantissa, scale }),
            _ => Err(Error::Misuse("value is not of its column's type")),
        }
    }

    /// The first of so many rows.
    #[inline]
    fn next(&mut self, rows: usize) -> Result<u32> {
        if rows > (self.end - self.row) as usize {
            return Err(Error::Misuse("more values than rows"));
        }
        self.row += rows as u32;
        Ok(self.row - rows as u32)
    }
}

impl VerticalBuilder {
    /// A leaf with these keys, each with whether it is anti-matter, and so many columns to come.
    ///
    /// # Errors
    /// [`Error::Misuse`] if keys do not ascend strictly, [`Error::Limit`] if there are too many.
    pub fn new(keys: impl IntoIterator<Item = (u64, bool)>, columns: usize, options: LeafOptions) -> Result<Self> {
        let mut all = Keys::default();
        for (key, antimatter) in keys {
            all.push(key, antimatter)?;
        }
        Ok(Self::with_keys(all, columns, options))
    }

    fn with_keys(keys: Keys, columns: usize, options: LeafOptions) -> Self {
        let writer = Writer::new(options, keys.keys.len() as u32);
        Self {
            options,
            columns,
            keys,
            written: Vec::new(),
            writer,
        }
    }

    /// Begins a column of this type.
    pub fn column(&self, column_type: ColumnType) -> ColumnBuilder {
        ColumnBuilder {
            column_type,
            shredder: Shredder::new(),
            row: 0,
        }
    }

    /// Encodes a column as the leaf's next; it must have a value or NULL for each row, anti-matter included.
    ///
    /// # Errors
    /// [`Error::Misuse`] if rows are missing, [`Error::Limit`] if a limit of the format is hit.
    pub fn add(&mut self, column: ColumnBuilder) -> Result<()> {
        if column.row as usize != self.keys.keys.len() {
            return Err(Error::Misuse("column and keys differ in length"));
        }
        self.write(column.column_type, column.shredder)
    }

    /// The bytes of the leaf.
    ///
    /// # Errors
    /// As [`LeafBuilder::finish`]; [`Error::Misuse`] if columns are missing.
    pub fn finish(self) -> Result<Vec<u8>> {
        if self.written.len() != self.columns {
            return Err(Error::Misuse("columns of the leaf are missing"));
        }
        let parts = Parts {
            keys: &self.keys.keys,
            antimatter: &self.keys.antimatter,
            columns: &self.written,
            entries: &self.writer.entries,
            shared: &self.writer.shared,
        };
        let (mut image, offsets, len) = page0::write(&parts, &self.options)?;
        let len = usize::try_from(len).map_err(|_| Error::Limit("bytes of one leaf"))?;
        amax_memory::reserve(&mut image, len, "the image of a leaf")?;
        image.resize(len, 0);
        let pages = self.writer.pages.iter().chain(&self.writer.shared_pages);
        for (page, offset) in pages.zip(offsets) {
            image[offset as usize..][..page.len()].copy_from_slice(page);
        }
        Ok(image)
    }

    fn write(&mut self, column_type: ColumnType, shredder: Shredder) -> Result<()> {
        amax_memory::ask(ENCODING * shredder.bytes, "encoding a column")?;
        let schema = self.writer.column(shredder, self.columns)?;
        self.written.push((column_type, schema));
        Ok(())
    }
}

impl ColumnBuilder {
    /// Adds the next row's value; NULL for anti-matter.
    ///
    /// # Errors
    /// As [`LeafBuilder::push`]; the column must be dropped then.
    pub fn push(&mut self, value: Value<'_>) -> Result<()> {
        if self.row as usize == MAX_ROWS {
            return Err(Error::Limit("rows of one leaf"));
        }
        push_value(&mut self.shredder, self.row, self.column_type, value)?;
        self.row += 1;
        Ok(())
    }

    /// Adds these rows of a decoded column of the same type, ascending, as [`ColumnBuilder::push`] of each would, but
    /// without assembling documents.
    ///
    /// # Errors
    /// As [`ColumnBuilder::push`], and those of [`Column::get`].
    pub fn append(&mut self, column: &Column, rows: &[u32]) -> Result<()> {
        if column.column_type != self.column_type || column.tree.lazy {
            return Err(Error::Misuse("rows of another kind of column"));
        }
        if rows.iter().any(|&row| row >= column.rows) {
            return Err(Error::Misuse("row is past the end of the leaf"));
        }
        if self.row as usize + rows.len() > MAX_ROWS {
            return Err(Error::Limit("rows of one leaf"));
        }
        if !keep::fits(&self.shredder, &column.tree) {
            let mut buffer = Vec::new();
            return rows
                .iter()
                .try_for_each(|&row| self.push(column.get(row as usize, &mut buffer)?));
        }
        keep::append(&mut self.shredder, &column.tree, rows, self.row)?;
        self.row += rows.len() as u32;
        Ok(())
    }

    /// About how many bytes the column holds, see [`LeafBuilder::bytes`].
    pub fn bytes(&self) -> usize {
        self.shredder.bytes
    }
}

/// Times the bytes of a column that encoding it takes at most, beside itself: its values as encoded, and twice
/// compressed.
const ENCODING: usize = 4;

fn push_value(column: &mut Shredder, row: u32, column_type: ColumnType, value: Value<'_>) -> Result<()> {
    match (column_type, value) {
        (_, Value::Null) => Ok(()),
        (ColumnType::Bool, Value::Bool(b)) => column.push_scalar(row, Scalar::Bool(b)),
        (ColumnType::Int, Value::Int(v)) => column.push_scalar(row, Scalar::Int(v)),
        (ColumnType::Float4, Value::Float4(v)) => column.push_float(row, Kind::Float4, v.to_bits().into()),
        (ColumnType::Float8, Value::Float8(v)) => column.push_float(row, Kind::Float8, v.to_bits()),
        (ColumnType::Numeric, Value::Bytes(v)) => column.push_scalar(row, Scalar::of_numeric(v)),
        (ColumnType::Bytes, Value::Bytes(v)) => column.push_scalar(row, Scalar::String(v)),
        (ColumnType::Json, Value::Bytes(v)) => column.push_json(row, v),
        _ => Err(Error::Misuse("value is not of its column's type")),
    }
}
