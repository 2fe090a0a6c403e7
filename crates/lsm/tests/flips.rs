//! Flipped bits: a whole columnar table in pages, as src/storage lays it out, one bit changed at a time, and read as a
//! scan reads it. An error or the right rows: never other rows, a panic, or a page that `amax.verify` takes for sound.
//!
//! `AMAX_FLIPS` bits (default 10,000; a million take ten minutes of an optimized build) from seed `AMAX_FUZZ_SEED`
//! (default: the clock).

use amax_format::{Column, ColumnType, Compression, Leaf, LeafBuilder, LeafOptions, PathStep, ReadOptions, Value};
use amax_lsm::meta::{self, put_u32};
use amax_lsm::page::{self, PAYLOAD_START};
use amax_lsm::tid::key;
use amax_lsm::{
    Blob, Component, Damaged, Directory, Extent, LeafEntry, LeafXids, Manifest, RangeSet, Retired, RetiredPages, Xids,
};
use std::sync::Arc;

const PAGE: usize = 8192;
const PAYLOAD: usize = PAGE - PAYLOAD_START;
const LSN: usize = 10;

/// A relation's main fork.
#[derive(Default)]
struct File {
    pages: Vec<Vec<u8>>,
    /// What each page is part of.
    parts: Vec<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Meta,
    /// Map pages and those of the stub directory: read one by one.
    Map,
    Manifest,
    Directory,
    Leaf(usize, usize),
    Xids(usize, usize),
}

impl File {
    fn append(&mut self, part: Part, payload: &[u8]) -> u32 {
        let block = self.pages.len() as u32;
        let mut page = vec![0; PAGE];
        page[8..PAYLOAD_START].fill(block as u8 | 1);
        page[PAYLOAD_START..][..payload.len()].copy_from_slice(payload);
        page::seal(&mut page, block);
        self.pages.push(page);
        self.parts.push(part);
        block
    }

    fn write(&mut self, part: Part, bytes: &[u8]) -> Blob {
        let start = self.pages.len() as u32;
        for chunk in bytes.chunks(PAYLOAD) {
            self.append(part, chunk);
        }
        let len = self.pages.len() as u32 - start;
        Blob {
            extents: vec![Extent { start, len }],
            len: bytes.len() as u64,
        }
    }

    /// A page that is checked when it is read (src/storage/checked.rs).
    fn page(&self, block: u32) -> Result<&[u8], Damaged> {
        let page = self.pages.get(block as usize).ok_or_else(missing)?;
        page::check(page, block)?;
        Ok(&page[PAYLOAD_START..])
    }

    fn blob(&self, blob: &Blob, checked: bool) -> Result<Vec<u8>, Damaged> {
        let mut bytes = Vec::new();
        for nth in 0..blob.pages() {
            let block = blob.page(nth).ok_or_else(missing)?;
            bytes.extend_from_slice(match checked {
                true => self.page(block)?,
                // A leaf has checksums of its own.
                false => &self.pages[block as usize][PAYLOAD_START..],
            });
        }
        bytes.truncate(blob.len as usize);
        match bytes.len() as u64 == blob.len {
            true => Ok(bytes),
            false => Err(missing()),
        }
    }

    fn manifest(&self) -> Result<Manifest, Damaged> {
        let page = self.page(0)?;
        meta::check(page)?;
        Manifest::decode(&self.blob(&meta::manifest(page)?, true)?, meta::version(page))
    }

    fn directories(&self) -> Result<Vec<Directory>, Damaged> {
        let components = self.manifest()?.components;
        let read = |c: &Component| Directory::decode(&self.blob(&c.directory, true)?);
        components.iter().map(read).collect()
    }

    fn xids(&self, leaf: &LeafEntry) -> Result<Option<Xids>, Damaged> {
        let blob = leaf.xids.blob();
        blob.map(|blob| Xids::decode(&self.blob(blob, false)?)).transpose()
    }
}

fn missing() -> Damaged {
    Damaged("there are no such pages".into())
}

const TYPES: [ColumnType; 7] = [
    ColumnType::Json,
    ColumnType::Bool,
    ColumnType::Int,
    ColumnType::Float4,
    ColumnType::Float8,
    ColumnType::Numeric,
    ColumnType::Bytes,
];

fn document(i: u64) -> Vec<u8> {
    let text = match i % 7 {
        0 => format!(r#"{{"name":"a{i}","deps":[{{"name":"x","features":["p","q"]}}],"n":{i}}}"#),
        1 => format!(r#"{{"name":["mixed",{i},null,{{"k":[]}}],"deps":[],"n":{i}.50}}"#),
        2 => format!(r#"{{"rare{i}":{{"once":{{}}}},"n":123456789012345678901234{i}}}"#),
        3 => format!(r#"[1,2.5,"three {i}",[],{{}},null,true]"#),
        4 => format!(r#"{{"name":"{}","n":null}}"#, "long ".repeat(i as usize % 40)),
        5 => format!("\"sha512-{i:016x}==\""),
        _ => i.to_string(),
    };
    amax_jsonb::json::parse(&text).expect("JSON")
}

fn image(first: u64, rows: u64, compression: Compression) -> Vec<u8> {
    let options = LeafOptions {
        compression,
        min_path_values: if rows.is_multiple_of(2) { 1 } else { 5 },
        page_size: PAYLOAD,
        ..LeafOptions::default()
    };
    let mut builder = LeafBuilder::new(&TYPES, options);
    for i in 0..rows {
        let number = amax_jsonb::numeric::from_text(&format!("{i}.{:02}", i % 100)).unwrap();
        let text = format!("{:016x}", i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).repeat(i as usize % 3);
        let doc = document(i);
        let row = [
            Value::Bytes(&doc),
            Value::Bool(i % 3 == 0),
            Value::Int(i as i64 * 7919),
            Value::Float4(i as f32),
            Value::Float8(-(i as f64)),
            Value::Bytes(&number),
            match i % 5 {
                0 => Value::Null,
                _ => Value::Bytes(text.as_bytes()),
            },
        ];
        builder
            .push(key(first as u32 + (i / 200) as u32, 1 + (i % 200) as u16), &row)
            .unwrap();
    }
    builder.finish().unwrap()
}

/// A table of a few components, with leaves of few rows and of columns in many blocks.
fn table() -> File {
    let mut file = File::default();
    file.append(Part::Meta, &[]);
    let mut manifest = Manifest::default();
    let sizes: [&[u64]; 3] = [&[7, 60, 200], &[900], &[40, 2500]];
    let kinds = [Compression::None, Compression::Snappy, Compression::Zstd(1)];
    let mut block = 0;
    for (c, (sizes, compression)) in sizes.into_iter().zip(kinds).enumerate() {
        let (mut directory, mut blocks) = (Directory::default(), RangeSet::default());
        for (at, &rows) in sizes.iter().enumerate() {
            let held = rows.div_ceil(200) as u32;
            let image = file.write(Part::Leaf(c, at), &image(block.into(), rows, compression));
            let mut xids = Xids::default();
            (0..rows as u32).for_each(|row| xids.push(700 + row * row % 97));
            let xids = LeafXids::store(&xids, |bytes| file.write(Part::Xids(c, at), bytes));
            directory.leaves.push(LeafEntry {
                first: key(block, 1),
                last: key(block + held - 1, 1 + ((rows - 1) % 200) as u16),
                rows: rows as u32,
                image,
                xids,
                aliases: (1..rows.min(20) as u16).map(|o| (key(block, 200 + o), o)).collect(),
            });
            blocks.insert(block, block + held);
            block += held;
        }
        let stored = file.write(Part::Directory, &directory.encode());
        manifest.components.push(Component {
            id: c as u64,
            blocks,
            rows: sizes.iter().sum(),
            leaves: sizes.len() as u32,
            pages: 9,
            directory: stored,
            origin: None,
            oldest_xid: directory.oldest_xid(),
            unswept: None,
        });
    }
    // What was given up makes a manifest of several pages.
    for i in 0..3000 {
        manifest.retired.push(Retired {
            safexid: 1 << 33 | i,
            pages: RetiredPages::Rows(vec![(i as u32, 7 * i as u32)]),
        });
    }
    let stored = file.write(Part::Manifest, &manifest.encode());
    for _ in 0..4 {
        let entries: Vec<u8> = (0..PAYLOAD as u32 / 4).flat_map(|i| (i % 900).to_le_bytes()).collect();
        file.append(Part::Map, &entries);
    }
    let mut metapage = std::mem::take(&mut file.pages[0]);
    meta::init(&mut metapage[PAYLOAD_START..]);
    meta::set_blocks(&mut metapage[PAYLOAD_START..], block);
    assert!(meta::set_manifest(&mut metapage[PAYLOAD_START..], &stored));
    put_u32(&mut metapage[PAYLOAD_START..], 3936, 77);
    page::seal(&mut metapage, 0);
    file.pages[0] = metapage;
    file
}

/// All values of a column, or an error, as one string of bytes.
fn values(column: &Column, rows: impl Iterator<Item = usize>) -> Result<Vec<u8>, String> {
    let (mut all, mut buf) = (Vec::new(), Vec::new());
    for row in rows {
        let value = column.get(row, &mut buf).map_err(|e| e.to_string())?;
        all.extend_from_slice(format!("{value:?}").as_bytes());
    }
    Ok(all)
}

/// All of a leaf, in each of the ways in which its bytes are read.
fn contents(image: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let error = |e: amax_format::Error| e.to_string();
    let options = ReadOptions {
        memory_limit: 64 << 20,
        ..ReadOptions::default()
    };
    let leaf = Leaf::open_with(image, image.len() as u64, options).map_err(error)?;
    let mut all = vec![format!("{:?}", leaf.keys().iter().collect::<Vec<_>>()).into_bytes()];
    for col in 0..TYPES.len() {
        let column = leaf.column(col).map_err(error)?;
        all.push(values(&column, 0..column.len())?);
        all.push(format!("{:?}", leaf.zone(col)).into_bytes());
    }
    let path = [PathStep::Key(b"n".to_vec())];
    let column = leaf.path(0, &path).map_err(error)?;
    all.push(format!("{:?}", column.dense().map_err(error)?.all(|_| true)).into_bytes());
    let shared = Arc::new(image.to_vec());
    let lazy = Leaf::open_with(shared, image.len() as u64, options).map_err(error)?;
    for col in 0..TYPES.len() {
        let column = lazy.lazy_column(col).map_err(error)?;
        all.push(values(&column, (0..column.len()).step_by(13))?);
    }
    Ok(all)
}

/// What a reader of the page's part gets: `Ok` if it got what was written.
fn read(file: &File, sound: &Sound, block: usize) -> Result<(), String> {
    let error = |e: Damaged| e.to_string();
    match file.parts[block] {
        Part::Meta | Part::Manifest => {
            assert!(file.manifest().map_err(error)? == sound.manifest, "another manifest");
        }
        Part::Directory => {
            assert!(
                file.directories().map_err(error)? == sound.directories,
                "another directory"
            );
        }
        Part::Map => {
            let page = file.page(block as u32).map_err(error)?;
            assert!(page == &sound.pages[block][PAYLOAD_START..], "other entries");
        }
        Part::Leaf(c, at) => {
            let entry = &sound.directories[c].leaves[at];
            let found = contents(&file.blob(&entry.image, false).map_err(error)?)?;
            assert!(found == sound.leaves[c][at], "other rows");
        }
        Part::Xids(c, at) => {
            let found = file.xids(&sound.directories[c].leaves[at]).map_err(error)?;
            assert!(found == sound.xids[c][at], "other transaction ids");
        }
    }
    Ok(())
}

struct Sound {
    pages: Vec<Vec<u8>>,
    manifest: Manifest,
    directories: Vec<Directory>,
    leaves: Vec<Vec<Vec<Vec<u8>>>>,
    xids: Vec<Vec<Option<Xids>>>,
}

#[test]
fn flipped_bits() {
    let env = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = env("AMAX_FUZZ_SEED").unwrap_or(clock.map_or(0, |d| d.as_nanos() as u64));
    let flips = env("AMAX_FLIPS").unwrap_or(10_000);
    println!("AMAX_FUZZ_SEED={seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut file = table();
    let manifest = file.manifest().expect("sound");
    let directories = file.directories().expect("sound");
    let leaf = |entry: &LeafEntry| contents(&file.blob(&entry.image, false).unwrap()).expect("sound");
    let sound = Sound {
        pages: file.pages.clone(),
        leaves: directories
            .iter()
            .map(|d| d.leaves.iter().map(leaf).collect())
            .collect(),
        xids: directories
            .iter()
            .map(|d| d.leaves.iter().map(|leaf| file.xids(leaf).expect("sound")).collect())
            .collect(),
        manifest,
        directories,
    };
    // Each kind of page as often, and each leaf.
    let mut kinds: Vec<Vec<usize>> = Vec::new();
    for block in 0..file.pages.len() {
        match kinds.iter_mut().find(|k| file.parts[k[0]] == file.parts[block]) {
            Some(kind) => kind.push(block),
            None => kinds.push(vec![block]),
        }
    }
    let mut counts = vec![(0u64, 0u64); kinds.len()];
    for _ in 0..flips {
        let kind = rng.usize(0..kinds.len());
        let block = kinds[kind][rng.usize(0..kinds[kind].len())];
        // Half of them where most of the structure is: in front.
        let end = if rng.bool() { PAGE } else { 600 };
        let bit = rng.usize(LSN * 8..end * 8);
        file.pages[block][bit / 8] ^= 1 << (bit % 8);
        let what = || format!("bit {bit} of block {block}, {:?}", file.parts[block]);
        assert!(
            page::check(&file.pages[block], block as u32).is_err(),
            "verify misses {}",
            what()
        );
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read(&file, &sound, block)));
        let outcome = outcome.unwrap_or_else(|_| panic!("{}", what()));
        counts[kind].0 += 1;
        counts[kind].1 += u64::from(outcome.is_err());
        file.pages[block][bit / 8] ^= 1 << (bit % 8);
    }
    for (kind, (flips, errors)) in kinds.iter().zip(counts) {
        let (part, pages) = (file.parts[kind[0]], kind.len());
        println!(
            "{part:?} ({pages} pages): {flips} bits, {errors} errors, {} right",
            flips - errors
        );
    }
}
