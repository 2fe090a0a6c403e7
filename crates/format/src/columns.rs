//! From a shredded SQL column to its schema and megapages.

use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;
use std::sync::Arc;

use crate::blob::Blob;
use crate::bytes::{put_bytes, put_varint};
use crate::encode::blocks::{self, Encoded};
use crate::encode::compress;
use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::levels::{self, ArrayAbove};
use crate::overflow;
use crate::page0::{Entry, Levels};
use crate::schema::{HAS_REST, MAX_COLUMNS};
use crate::select::{Selection, present};
use crate::shred::{Alternatives, Body, Shredder};
use crate::tree::key_order;
use crate::values::Values;
use crate::zone;
use crate::{Compression, LeafOptions};

/// The columns written so far, of all SQL columns.
#[derive(Debug)]
pub(crate) struct Writer {
    options: LeafOptions,
    rows: u32,
    pub(crate) entries: Vec<Entry>,
    pub(crate) pages: Vec<Vec<u8>>,
    pub(crate) shared: Vec<Blob>,
    pub(crate) shared_pages: Vec<Vec<u8>>,
    /// Columns whose levels wait to be shared: (column, levels' index in `streams`, values).
    streams: Vec<Stream>,
    hasher: DefaultHashBuilder,
}

/// A level stream of the SQL column in hand, and who uses it.
#[derive(Debug)]
struct Stream {
    array: u32,
    hash: u64,
    places: Vec<u32>,
    bytes: Vec<u8>,
    /// The first user: its entry and values.
    first: (usize, Encoded),
    shared: Option<u32>,
}

impl Writer {
    pub(crate) fn new(options: LeafOptions, rows: u32) -> Self {
        Self {
            options,
            rows,
            entries: Vec::new(),
            pages: Vec::new(),
            shared: Vec::new(),
            shared_pages: Vec::new(),
            streams: Vec::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// Writes one SQL column of `columns`; returns its schema.
    pub(crate) fn column(&mut self, mut shredder: Shredder, columns: usize) -> Result<Vec<u8>> {
        // Leaves of few rows keep the paths that many of their rows have.
        let min = self.options.min_path_values.min(self.rows as usize / 4);
        let cap = self.options.path_cap.min(MAX_COLUMNS as usize / 2 / columns.max(1));
        let selection = Selection::new(&shredder, min, cap);
        let mut schema = Vec::new();
        let roots = shredder.roots;
        self.place(&mut shredder, &roots, &selection, &mut Vec::new(), &mut schema)?;
        self.end_streams()?;
        if self.entries.len() > MAX_COLUMNS as usize {
            return Err(Error::Limit("columns of one leaf"));
        }
        Ok(schema)
    }

    /// Writes all alternatives of a place below `arrays`.
    fn place(
        &mut self,
        shredder: &mut Shredder,
        alternatives: &Alternatives,
        selection: &Selection,
        arrays: &mut Vec<u32>,
        schema: &mut Vec<u8>,
    ) -> Result<()> {
        let nodes: Vec<u32> = present(alternatives).collect();
        put_varint(schema, nodes.len() as u64);
        for node in nodes {
            self.node(shredder, node, selection, arrays, schema)?;
        }
        Ok(())
    }

    fn node(
        &mut self,
        shredder: &mut Shredder,
        node: u32,
        selection: &Selection,
        arrays: &mut Vec<u32>,
        schema: &mut Vec<u8>,
    ) -> Result<()> {
        let at = node as usize;
        let kind = shredder.nodes[at].kind;
        schema.push(kind as u8);
        match &mut shredder.nodes[at].body {
            Body::Leaf(values) => {
                let values = std::mem::replace(values, Values::None);
                let places = std::mem::take(&mut shredder.nodes[at].places);
                self.leaf(shredder, kind, arrays, places, values)
            }
            Body::Array { alternatives, .. } => {
                let alternatives = *alternatives;
                arrays.push(node);
                let result = self.place(shredder, &alternatives, selection, arrays, schema);
                arrays.pop();
                result
            }
            Body::Object { keys, .. } => {
                let mut keys = keys.clone();
                let rest = overflow::take(shredder, node, selection, self.rows)?;
                schema.push(if rest.is_some() { HAS_REST } else { 0 });
                keys.retain(|&key| {
                    let key = &shredder.keys[key as usize];
                    present(&key.alternatives).any(|node| selection.keeps(node))
                });
                keys.sort_unstable_by(|&a, &b| {
                    key_order(&shredder.keys[a as usize].name, &shredder.keys[b as usize].name)
                });
                put_varint(schema, keys.len() as u64);
                for key in keys {
                    let key = &shredder.keys[key as usize];
                    let mut kept = key.alternatives;
                    let mut in_rest = false;
                    for slot in &mut kept {
                        if *slot != crate::shred::NONE && !selection.keeps(*slot) {
                            in_rest = true;
                            *slot = crate::shred::NONE;
                        }
                    }
                    schema.push(u8::from(in_rest));
                    put_bytes(schema, &key.name);
                    self.place(shredder, &kept, selection, arrays, schema)?;
                }
                match rest {
                    Some(rest) => self.leaf(shredder, Kind::Rest, arrays, rest.places, rest.values),
                    None => Ok(()),
                }
            }
        }
    }

    fn leaf(
        &mut self,
        shredder: &Shredder,
        kind: Kind,
        arrays: &[u32],
        places: Vec<u32>,
        values: Values,
    ) -> Result<()> {
        amax_memory::check("encoding a column")?;
        let count = u32::try_from(places.len()).map_err(|_| Error::Limit("values of one path"))?;
        let zone = if kind == Kind::Raw || kind == Kind::Numeric {
            None
        } else {
            zone::of(&values)
        };
        let encoded = blocks::encode(&values, self.options.compression)?;
        drop(values);
        let entry = self.entries.len();
        let empty = Blob {
            codec: compress::Codec::Plain,
            stored_len: 0,
            raw_len: 0,
            crc: 0,
            offset: 0,
        };
        self.entries.push(Entry {
            levels: Levels::All,
            count,
            zone,
            encoding: encoded.encoding,
            blob: empty,
            blocks: None,
        });
        self.pages.push(Vec::new());
        if arrays.is_empty() && count == self.rows {
            return self.page(entry, Levels::All, encoded);
        }
        let array = arrays.last().copied().unwrap_or(crate::shred::NONE);
        let hash = self.hasher.hash_one(&places);
        let known = self
            .streams
            .iter()
            .position(|s| s.array == array && s.hash == hash && s.places == places);
        if let Some(stream) = known {
            let id = match self.streams[stream].shared {
                Some(id) => id,
                None => self.share(stream)?,
            };
            return self.page(entry, Levels::Shared(id), encoded);
        }
        let above: Vec<ArrayAbove<'_>> = arrays
            .iter()
            .filter_map(|&array| match &shredder.nodes[array as usize] {
                crate::shred::Node {
                    places,
                    body: Body::Array { starts, .. },
                    ..
                } => Some(ArrayAbove { places, starts }),
                _ => None,
            })
            .collect();
        let bytes = self.levels(&above, &places)?;
        self.streams.push(Stream {
            array,
            hash,
            places,
            bytes,
            first: (entry, encoded),
            shared: None,
        });
        Ok(())
    }

    /// The level stream of a column, packed by bits or by bytes, whichever is smaller when compressed.
    fn levels(&self, above: &[ArrayAbove<'_>], places: &[u32]) -> Result<Vec<u8>> {
        let encoded = |aligned| {
            let bytes = levels::encode(self.rows, above, places, aligned)?;
            let stored = match self.options.compression {
                Compression::None => bytes.len(),
                other => compress::compress(&bytes, other).map_or(bytes.len(), |(_, stored)| stored.len()),
            };
            Some((stored, bytes))
        };
        let best = match (encoded(false), self.options.compression) {
            (Some(packed), c) if c != Compression::None && !above.is_empty() && packed.0 > 64 => match encoded(true) {
                Some(aligned) if aligned.0 < packed.0 => Some(aligned),
                _ => Some(packed),
            },
            (packed, _) => packed,
        };
        best.map(|(_, bytes)| bytes)
            .ok_or(Error::Misuse("levels of a column that needs none"))
    }

    /// Makes a level stream a megapage of its own.
    fn share(&mut self, stream: usize) -> Result<u32> {
        let id = self.shared.len() as u32;
        let (blob, stored) = Blob::of(&self.streams[stream].bytes, self.options.compression)?;
        self.shared.push(blob);
        self.shared_pages.push(stored);
        let (entry, encoded) = std::mem::take(&mut self.streams[stream].first);
        self.streams[stream].shared = Some(id);
        self.page(entry, Levels::Shared(id), encoded)?;
        Ok(id)
    }

    /// Writes the columns whose levels nobody else has: in front of the values, unless those are in blocks.
    fn end_streams(&mut self) -> Result<()> {
        for stream in 0..self.streams.len() {
            if self.streams[stream].shared.is_some() {
                continue;
            }
            if self.streams[stream].first.1.blocks.is_some() {
                self.share(stream)?;
                continue;
            }
            let stream = &mut self.streams[stream];
            let (entry, mut encoded) = std::mem::take(&mut stream.first);
            let mut page = Vec::new();
            let len = stream.bytes.len() + encoded.bytes.len() + 10;
            amax_memory::reserve(&mut page, len, "encoding a column")?;
            put_bytes(&mut page, &stream.bytes);
            page.append(&mut encoded.bytes);
            encoded.bytes = page;
            self.page(entry, Levels::Inline, encoded)?;
        }
        self.streams.clear();
        Ok(())
    }

    fn page(&mut self, entry: usize, levels: Levels, encoded: Encoded) -> Result<()> {
        let (blob, stored) = match &encoded.blocks {
            None => Blob::of(&encoded.bytes, self.options.compression)?,
            Some(blocks) => (blocks.blob()?, encoded.bytes),
        };
        self.pages[entry] = stored;
        let entry = &mut self.entries[entry];
        entry.levels = levels;
        entry.blob = blob;
        entry.blocks = encoded.blocks.map(Arc::new);
        Ok(())
    }
}
