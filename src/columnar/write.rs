//! Writing a component: rows in key order into mega leaves, leaves to pages, then the directory.

use super::value::{Storage, from_datum, storages};
use crate::counters::{self, Written};
use crate::options::Options;
use crate::pg::memory::Context;
use crate::pg::{Relation, Values};
use crate::storage::buffer::PAYLOAD;
use crate::storage::{blob, manifest, space};
use amax_format::{Error, LeafBuilder, LeafOptions, Rows};
use amax_lsm::{Blob, Component, Directory, Extent, FreeSpace, Key, LeafEntry, LeafXids, Origin, RangeSet, Xids, tid};
use pgrx::prelude::*;
use std::ops::RangeInclusive;

/// A component's leaves as they are written.
pub struct Leaves {
    directory: Directory,
    rows: u64,
    pages: u64,
    /// Of those, the ones that were not written before.
    written: u64,
    /// Pages that may be written to before any is appended. None: as many as each write needs come out of the
    /// manifest's. (A load has no maintenance lock, and may fail: it is not to take what others could use.)
    free: Option<FreeSpace>,
}

impl Leaves {
    pub fn new(free: Option<FreeSpace>) -> Leaves {
        Leaves {
            directory: Directory::default(),
            rows: 0,
            pages: 0,
            written: 0,
            free,
        }
    }

    /// Writes a leaf. `keys` are the first and last of its rows, `xids` their transaction ids.
    pub fn write(&mut self, rel: &Relation, keys: (Key, Key), xids: &Xids, mut aliases: Vec<(Key, u16)>, image: &[u8]) {
        let image = self.write_bytes(rel, image);
        let rows = xids.len();
        let xids = LeafXids::store(xids, |bytes| self.write_bytes(rel, bytes));
        aliases.sort_unstable();
        let first = aliases.first().map_or(keys.0, |a| a.0.min(keys.0));
        let last = aliases.last().map_or(keys.1, |a| a.0.max(keys.1));
        self.add(LeafEntry {
            first,
            last,
            rows,
            image,
            xids,
            aliases,
        });
    }

    /// Adds a leaf that has been written.
    pub fn add(&mut self, entry: LeafEntry) {
        self.pages += entry.image.pages() + entry.xids.blob().map_or(0, Blob::pages);
        self.rows += u64::from(entry.rows);
        self.directory.leaves.push(entry);
    }

    pub fn write_bytes(&mut self, rel: &Relation, bytes: &[u8]) -> Blob {
        let blob = self.write_blob(rel, bytes);
        self.written += blob.pages();
        blob
    }

    fn write_blob(&mut self, rel: &Relation, bytes: &[u8]) -> Blob {
        match &mut self.free {
            Some(free) => blob::write(rel, free, bytes),
            None => {
                let mut free = FreeSpace::default();
                let current = manifest::current(rel);
                let spare = current.free.pages().saturating_sub(space::kept(&current));
                if spare > 0 {
                    let pages = bytes.len().div_ceil(PAYLOAD).min(spare as usize) as u32;
                    let taken = manifest::publish(rel, |manifest| manifest.free.take(pages));
                    taken.into_iter().for_each(|extent| free.give(extent));
                }
                blob::write(rel, &mut free, bytes)
            }
        }
    }

    /// Writes the directory, and counts the component as what it is, if it is counted here (`how`). It is complete but for
    /// its id, which publishing gives it; with it come free pages, those not used and what a load adds to the reserve, and all pages of the component.
    pub fn finish(
        mut self,
        rel: &Relation,
        how: Option<Written>,
        blocks: RangeSet,
        origin: Option<Origin>,
    ) -> (Component, FreeSpace, Vec<Extent>) {
        let directory = self.write_bytes(rel, &self.directory.encode());
        let pages = self.directory.pages(&directory);
        if let Some(how) = how {
            counters::wrote(rel, how, self.rows, self.written);
        }
        // VACUUM does it at its end, and only if the file can grow.
        let free = match self.free {
            Some(free) => free,
            None => space::reserve_for(rel, self.pages + directory.pages()),
        };
        let component = Component {
            id: 0,
            blocks,
            rows: self.rows,
            leaves: self.directory.leaves.len() as u32,
            pages: self.pages + directory.pages(),
            oldest_xid: self.directory.oldest_xid(),
            directory,
            origin,
            unswept: None,
        };
        (component, free, pages)
    }
}

pub struct ComponentWriter {
    relid: pg_sys::Oid,
    shredder: Shredder,
    options: Options,
    builder: Option<LeafBuilder>,
    /// Of the leaf being built.
    first: Key,
    last: Key,
    xids: Xids,
    aliases: Vec<(Key, u16)>,
    leaves: Leaves,
    blocks: RangeSet,
    rows: u64,
}

/// Puts rows of a table in leaves that are being built.
pub(super) struct Shredder {
    storages: Vec<Storage>,
    values: Context,
}

impl Shredder {
    pub(super) fn new(rel: &Relation) -> Shredder {
        Shredder {
            storages: storages(rel.desc()),
            // A load outlives the contexts its rows come in.
            values: Context::lasting("amax values to write"),
        }
    }

    pub(super) fn builder(&self, options: &Options) -> LeafBuilder {
        let schema: Vec<_> = self.storages.iter().map(|s| s.column).collect();
        LeafBuilder::new(&schema, leaf_options(options))
    }

    pub(super) fn push(&mut self, builder: &mut LeafBuilder, key: Key, values: Values) -> Result<(), Error> {
        let value = |(at, &storage)| {
            let value = values.get(at);
            // SAFETY: a value of that attribute, which stays until the row has been pushed.
            unsafe { from_datum(storage, value.unwrap_or(pg_sys::Datum::null()), value.is_none()) }
        };
        let pushed = self.values.within(|| {
            let row: Vec<_> = self.storages.iter().enumerate().map(value).collect();
            builder.push(key, &row)
        });
        self.values.reset();
        pushed
    }
}

/// How a table with these options writes leaves.
pub fn leaf_options(options: &Options) -> LeafOptions {
    LeafOptions {
        compression: options.compression.into(),
        path_cap: options.path_cap as usize,
        page_size: PAYLOAD,
        ..LeafOptions::default()
    }
}

/// Times its bytes that a leaf takes when its vectors grow.
const GROWING: usize = 2;

impl ComponentWriter {
    pub fn new(rel: &Relation, options: Options, free: Option<FreeSpace>) -> ComponentWriter {
        ComponentWriter {
            relid: rel.id(),
            shredder: Shredder::new(rel),
            options,
            builder: None,
            first: 0,
            last: 0,
            xids: Xids::default(),
            aliases: Vec::new(),
            leaves: Leaves::new(free),
            blocks: RangeSet::default(),
            rows: 0,
        }
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether the leaf being built has reached its bound: the next row of another block starts a new one.
    fn leaf_is_full(&self) -> bool {
        self.builder
            .as_ref()
            .is_some_and(|b| b.rows() >= self.options.rows_per_leaf as usize || b.bytes() >= self.options.leaf_bytes)
    }

    /// Whether the row after the `rows` first ones of a block has to start another: a leaf's byte bound may be reached
    /// in the middle of a block, whose rows stay together.
    pub fn ends_block(&self, rows: u16) -> bool {
        rows == tid::MAX_OFFSET || rows > 0 && self.leaf_is_full()
    }

    /// Whether there is memory for rows that take so much beside the leaf being built. If not, a line in the server's
    /// log says so.
    pub fn has_room(&self, rel: &Relation, bytes: usize) -> bool {
        let leaf = self.builder.as_ref().map_or(0, LeafBuilder::bytes);
        if bytes < amax_memory::SMALL {
            return true;
        }
        match amax_memory::ask(bytes + GROWING * leaf, "the rows of a page") {
            Ok(()) => true,
            Err(error) => {
                ereport!(
                    LOG,
                    PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
                    format!(
                        "rows of relation \"{}\" stay in their row page: out of memory",
                        rel.name()
                    ),
                    format!("Failed on request of {} bytes.", error.bytes)
                );
                amax_memory::forget();
                false
            }
        }
    }

    /// Adds a row that transaction `xid` inserted. Keys ascend; all rows of a logical block end up in one leaf.
    pub fn push(&mut self, rel: &Relation, key: Key, xid: u32, values: Values) {
        self.begin(rel, key);
        let builder = self.builder.as_mut().expect("begun above");
        let pushed = self.shredder.push(builder, key, values);
        pushed.unwrap_or_else(|e| super::error::raise(e));
        self.last = key;
        self.xids.push(xid);
        self.rows += 1;
    }

    /// Adds rows of a block column by column; see [`LeafBuilder::push_rows`].
    pub fn push_rows(
        &mut self,
        rel: &Relation,
        keys: RangeInclusive<Key>,
        xid: u32,
        fill: impl FnMut(usize, &mut Rows<'_>) -> Result<(), Error>,
    ) {
        self.begin(rel, *keys.start());
        let builder = self.builder.as_mut().expect("begun above");
        let pushed = builder.push_rows(keys.clone(), fill);
        pushed.unwrap_or_else(|e| super::error::raise(e));
        self.last = *keys.end();
        for _ in keys {
            self.xids.push(xid);
            self.rows += 1;
        }
    }

    /// There is a leaf for the row with this key.
    fn begin(&mut self, rel: &Relation, key: Key) {
        debug_assert_eq!(self.relid, rel.id());
        if self.leaf_is_full() && tid::block(key) != tid::block(self.last) {
            self.finish_leaf(rel);
        }
        if self.builder.is_none() {
            self.builder = Some(self.shredder.builder(&self.options));
            self.first = key;
        }
    }

    /// Notes that index entries for the row at `offset` of `v` may hold the offset `alias`. After the row was pushed.
    pub fn alias(&mut self, v: u32, alias: u16, offset: u16) {
        self.aliases.push((tid::key(v, alias), offset));
    }

    /// Says that logical block `v` belongs to the component, whether or not it has rows.
    pub fn own(&mut self, v: u32) {
        self.blocks.insert(v, v + 1);
    }

    /// Writes the leaf being built.
    pub fn finish_leaf(&mut self, rel: &Relation) {
        let Some(builder) = self.builder.take() else {
            return;
        };
        let image = builder.finish().unwrap_or_else(|e| super::error::raise(e));
        let xids = std::mem::take(&mut self.xids);
        let aliases = std::mem::take(&mut self.aliases);
        let keys = (self.first, self.last);
        self.leaves.write(rel, keys, &xids, aliases, &image);
    }

    /// Writes what is left; see [`Leaves::finish`]. What is not loaded is counted by those who know what becomes of it.
    pub fn finish(mut self, rel: &Relation, origin: Option<Origin>) -> (Component, FreeSpace, Vec<Extent>) {
        self.finish_leaf(rel);
        let how = origin.map(|_| Written::Load);
        self.leaves.finish(rel, how, self.blocks, origin)
    }
}
