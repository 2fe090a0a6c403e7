//! Reading a leaf.

use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use crate::blocks::Blocks;
use crate::budget::Budget;
use crate::column::Column;
use crate::error::{Error, Result};
use crate::grow::Grower;
use crate::keys::Keys;
use crate::kind::Kind;
use crate::load::{Wanted, load};
use crate::page0::{self, Page0};
use crate::path::{self, PathColumn};
use crate::schema::Schema;
use crate::stored::Stored;
use crate::tree::Tree;
use crate::types::{ColumnType, PathStep, ReadAt};
use crate::zone::{self, Zone};

/// Limits of a reader.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// Bytes that one call may use for what it decodes. A call that needs more is an error, so that a
    /// damaged leaf cannot exhaust memory.
    pub memory_limit: usize,
    /// Whether checksums must match. Off only to test what lies behind them.
    pub checksums: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            memory_limit: 1 << 30,
            checksums: true,
        }
    }
}

/// A leaf whose Page 0 has been read; columns are read when asked for.
#[derive(Debug)]
pub struct Leaf<R: ReadAt> {
    pub(crate) source: R,
    pub(crate) page0: Page0,
    pub(crate) options: ReadOptions,
}

/// What a value takes while its document is built. A jsonb of 256 MB has no more values than the default
/// memory limit allows.
const VALUE_BYTES: usize = 16;

/// What is read first; Page 0 of a leaf with few paths fits.
const FIRST_READ: usize = 8168;

impl<R: ReadAt> Leaf<R> {
    /// Reads Page 0 of the leaf of `image_len` bytes.
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Version`] if this is no leaf this code can read.
    pub fn open(source: R, image_len: u64) -> Result<Self> {
        Self::open_with(source, image_len, ReadOptions::default())
    }

    /// [`Leaf::open`] with other limits.
    ///
    /// # Errors
    /// As [`Leaf::open`].
    pub fn open_with(source: R, image_len: u64, options: ReadOptions) -> Result<Self> {
        let first = usize::try_from(image_len).unwrap_or(usize::MAX).min(FIRST_READ);
        if first < page0::HEADER {
            return Err(Error::Corrupt("leaf image is shorter than its header".into()));
        }
        let mut bytes = source.read_at(0, first)?;
        if bytes.len() != first {
            return Err(Error::Corrupt("storage returned too few bytes".into()));
        }
        let len = page0::length(&bytes, image_len)?;
        if len > options.memory_limit {
            return Err(Error::Limit("memory to read Page 0"));
        }
        if len > bytes.len() {
            bytes.extend(source.read_at(first as u64, len - first)?);
        }
        if bytes.len() < len {
            return Err(Error::Corrupt("storage returned too few bytes".into()));
        }
        bytes.truncate(len);
        let page0 = page0::read(&bytes, image_len, options.memory_limit, !options.checksums)?;
        Ok(Self { source, page0, options })
    }

    /// A hash of the header of the leaf of `image_len` bytes, which has the checksum of Page 0, which has those of all
    /// else: leaves with the same hold the same.
    ///
    /// # Errors
    /// As [`Leaf::open`].
    pub fn digest(source: &R, image_len: u64) -> Result<u64> {
        let header = source.read_at(0, page0::HEADER)?;
        page0::length(&header, image_len)?;
        let mut hasher = DefaultHasher::new();
        hasher.write(&header);
        Ok(hasher.finish())
    }

    /// Rows, anti-matter included.
    pub fn rows(&self) -> usize {
        self.page0.keys.len()
    }

    /// The key of each row, ascending.
    pub fn keys(&self) -> &Keys {
        &self.page0.keys
    }

    /// Whether row `i` is anti-matter.
    pub fn is_antimatter(&self, i: usize) -> bool {
        self.page0.antimatter.get(i).copied().unwrap_or(false)
    }

    /// Whether any row is anti-matter.
    pub fn has_antimatter(&self) -> bool {
        !self.page0.antimatter.is_empty()
    }

    /// The SQL columns' types.
    pub fn schema(&self) -> impl Iterator<Item = ColumnType> + '_ {
        self.page0.columns.iter().map(|(column_type, _)| *column_type)
    }

    /// Bytes of memory held; decoded columns are their owners'.
    pub fn bytes_used(&self) -> usize {
        // The schema in memory is some four times as large as its bytes.
        let page0 = &self.page0;
        let rows = page0.keys.bytes_used() + page0.antimatter.len();
        let bounds = page0.entries.iter().filter_map(|entry| entry.zone.as_ref());
        rows + page0.entries.len() * 96 + bounds.map(Stored::heap_bytes).sum::<usize>() + page0.body_len * 4
    }

    /// Decodes SQL column `col`, from 0.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if its megapages are not sound, [`Error::Limit`] past the memory limit.
    pub fn column(&self, col: usize) -> Result<Column> {
        self.decode(col, None)
    }

    /// [`Leaf::column`] for reading few rows: levels and dictionaries are decoded, of other values only the blocks that
    /// the rows read are in, when they are. A row costs what it has; all rows cost more than with [`Leaf::column`].
    ///
    /// # Errors
    /// As [`Leaf::column`].
    pub fn lazy_column(&self, col: usize) -> Result<Column>
    where
        R: Clone + Send + Sync + 'static,
    {
        let source: Arc<dyn ReadAt + Send + Sync> = Arc::new(self.source.clone());
        self.decode(col, Some(&source))
    }

    /// About how much memory [`Leaf::column`] of a column takes.
    pub fn column_bytes(&self, col: usize) -> usize {
        self.sql_column(col)
            .map_or(0, |(_, schema)| self.bytes_of(schema.columns.clone()))
    }

    /// About how much memory [`Leaf::path`] takes.
    pub fn path_bytes(&self, col: usize, path: &[PathStep]) -> usize {
        let mut wanted = Vec::new();
        if let Ok((_, schema)) = self.sql_column(col) {
            path::wanted(&schema.roots, path, 0, &mut wanted);
        }
        self.bytes_of(wanted.iter().map(|w| w.column))
    }

    fn bytes_of(&self, columns: impl Iterator<Item = u32>) -> usize {
        columns
            .filter_map(|c| self.page0.entries.get(c as usize))
            .map(|entry| {
                let raw = entry
                    .blocks
                    .as_deref()
                    .map_or(u64::from(entry.blob.raw_len), Blocks::raw_len);
                // Packed strings grow most.
                2 * raw as usize + 8 * entry.count as usize
            })
            .sum()
    }

    fn decode(&self, col: usize, lazy: Option<&Arc<dyn ReadAt + Send + Sync>>) -> Result<Column> {
        let (column_type, schema) = self.sql_column(col)?;
        let mut wanted = Vec::with_capacity(schema.columns.len());
        schema
            .roots
            .iter()
            .for_each(|node| path::everything(node, 0, &mut wanted));
        let tree = self.tree(schema, &wanted, lazy)?;
        let bytes_used = tree.heap_bytes() + std::mem::size_of::<Column>();
        Ok(Column {
            column_type,
            rows: self.rows() as u32,
            tree,
            bytes_used,
        })
    }

    /// Decodes one path of the documents of SQL column `col`, reading only the megapages involved.
    ///
    /// # Errors
    /// As [`Leaf::column`]; [`Error::Misuse`] if the column is not [`ColumnType::Json`].
    pub fn path(&self, col: usize, path: &[PathStep]) -> Result<PathColumn> {
        self.decode_path(col, path, None)
    }

    /// [`Leaf::path`] for reading few rows, as [`Leaf::lazy_column`].
    ///
    /// # Errors
    /// As [`Leaf::path`].
    pub fn lazy_path(&self, col: usize, path: &[PathStep]) -> Result<PathColumn>
    where
        R: Clone + Send + Sync + 'static,
    {
        let source: Arc<dyn ReadAt + Send + Sync> = Arc::new(self.source.clone());
        self.decode_path(col, path, Some(&source))
    }

    fn decode_path(
        &self,
        col: usize,
        path: &[PathStep],
        lazy: Option<&Arc<dyn ReadAt + Send + Sync>>,
    ) -> Result<PathColumn> {
        let (column_type, schema) = self.sql_column(col)?;
        if column_type != ColumnType::Json {
            return Err(Error::Misuse("path into a column that is not jsonb"));
        }
        let mut wanted = Vec::new();
        path::wanted(&schema.roots, path, 0, &mut wanted);
        let tree = self.tree(schema, &wanted, lazy)?;
        Ok(PathColumn::new(self.rows() as u32, tree, path))
    }

    /// Bounds of the non-null values of an SQL column that is not a document; `None` if there are no values
    /// or the bounds are not known. See [`crate::Bound`] for what they promise.
    pub fn zone(&self, col: usize) -> Option<Zone> {
        let (column_type, schema) = self.page0.columns.get(col)?;
        if *column_type == ColumnType::Json {
            return None;
        }
        self.zone_of(schema.roots.iter().map(|node| (node.kind, node.columns.start)))
    }

    /// Bounds of the values at a path, if they all are of one kind of scalar (numbers count as one) and none
    /// overflowed; missing values and JSON nulls aside. A step to an array's element bounds all elements.
    pub fn path_zone(&self, col: usize, path: &[PathStep]) -> Option<Zone> {
        let (_, schema) = self.page0.columns.get(col)?;
        let mut ends = Vec::new();
        path::ends(&schema.roots, path, &mut ends)?;
        let values = |end: &(Kind, u32)| end.0 != Kind::Null;
        let zone = self.zone_of(ends.iter().copied().filter(values))?;
        let has_null = !ends.iter().all(values);
        Some(Zone { has_null, ..zone })
    }

    /// Whether all rows have a scalar other than null at a path of keys, or in an SQL column, whose path is empty. False if
    /// that is not known.
    pub fn is_everywhere(&self, col: usize, path: &[PathStep]) -> bool {
        let Some((_, schema)) = self.page0.columns.get(col) else {
            return false;
        };
        let of_keys = path.iter().all(|step| matches!(step, PathStep::Key(_)));
        let mut ends = Vec::new();
        if !of_keys || path::ends(&schema.roots, path, &mut ends).is_none() {
            return false;
        }
        let values = ends.iter().filter(|end| end.0 != Kind::Null);
        let counts = values.map(|end| {
            self.page0
                .entries
                .get(end.1 as usize)
                .map(|entry| u64::from(entry.count))
        });
        counts.sum::<Option<u64>>() == Some(self.rows() as u64)
    }

    fn zone_of(&self, columns: impl Iterator<Item = (Kind, u32)>) -> Option<Zone> {
        let mut all: Option<Zone> = None;
        for (kind, column) in columns {
            let zone = zone::zone(kind, self.page0.entries.get(column as usize)?.zone.as_ref()?)?;
            all = Some(match all {
                None => zone,
                Some(all) => all.with_decimals(&zone)?,
            });
        }
        all
    }

    pub(crate) fn sql_column(&self, col: usize) -> Result<(ColumnType, &Schema)> {
        match self.page0.columns.get(col) {
            Some((column_type, schema)) => Ok((*column_type, schema)),
            None => Err(Error::Misuse("no such column in the leaf")),
        }
    }

    pub(crate) fn tree(
        &self,
        schema: &Schema,
        wanted: &[Wanted],
        lazy: Option<&Arc<dyn ReadAt + Send + Sync>>,
    ) -> Result<Tree> {
        let mut budget = Budget(self.options.memory_limit);
        let columns = load(
            &self.source,
            &self.page0,
            wanted,
            &mut budget,
            !self.options.checksums,
            lazy,
        )?;
        let mut grower = Grower {
            tree: Tree::default(),
            columns: &columns,
            budget: &mut budget,
        };
        let roots = grower.roots(&schema.roots, self.rows() as u32)?;
        let mut tree = grower.tree;
        tree.roots = roots;
        tree.max_values = self.options.memory_limit / VALUE_BYTES;
        tree.lazy = lazy.is_some();
        Ok(tree)
    }
}
