//! Long columns come in blocks: a row read by itself is the same row, and costs a few blocks instead of the leaf.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use amax_format::*;

const ROWS: u64 = 5000;
const TYPES: [ColumnType; 7] = [
    ColumnType::Json,
    ColumnType::Bool,
    ColumnType::Int,
    ColumnType::Float4,
    ColumnType::Float8,
    ColumnType::Numeric,
    ColumnType::Bytes,
];

fn leaf(compression: Compression) -> Vec<u8> {
    let options = LeafOptions {
        compression,
        ..LeafOptions::default()
    };
    let mut builder = LeafBuilder::new(&TYPES, options);
    for i in 0..ROWS {
        if i % 97 == 96 {
            builder.push_antimatter(i).unwrap();
            continue;
        }
        let digest = format!(
            "{:016x}{:016x}",
            i.wrapping_mul(0x9E37_79B9_7F4A_7C15),
            i.wrapping_mul(0xF39C_C060_5CED_C835)
        );
        // Strings of very different lengths, and one longer than any block.
        let text = "lorem ipsum ".repeat(if i == 7 { 5000 } else { i as usize % 11 });
        let number = amax_jsonb::numeric::from_text(&format!("{i}.{:03}", i % 1000)).unwrap();
        let mut doc = format!(r#"{{"id":{i},"digest":"{digest}","kind":"k{}""#, i % 5);
        if i % 3 == 0 {
            doc += &format!(r#","price":{}.50,"text":"{text}{i}""#, i / 2);
        }
        if i % 4 == 0 {
            doc += &format!(r#","list":[{{"a":{i}}},{{"a":"{digest}"}},[],{i}.5]"#);
        }
        let doc = amax_jsonb::json::parse(&(doc + "}")).unwrap();
        let unless = |null: bool, value| if null { Value::Null } else { value };
        let row = [
            unless(i % 13 == 5, Value::Bytes(&doc)),
            Value::Bool(i % 3 == 0),
            unless(i % 7 == 6, Value::Int(i as i64 * i as i64)),
            Value::Float4(i as f32 / 3.0),
            Value::Float8(-(i as f64) / 7.0),
            unless(i % 2 == 0, Value::Bytes(&number)),
            Value::Bytes(text.as_bytes()),
        ];
        builder.push(i, &row).unwrap();
    }
    builder.finish().unwrap()
}

#[test]
fn a_row_read_alone_is_the_same() {
    for compression in [
        Compression::None,
        Compression::Snappy,
        Compression::Lz4,
        Compression::Zstd(1),
    ] {
        let image = Arc::new(leaf(compression));
        let leaf = Leaf::open(image.clone(), image.len() as u64).unwrap();
        assert_eq!(leaf.verify().unwrap(), Vec::<String>::new());
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for col in 0..TYPES.len() {
            let (whole, lazy) = (leaf.column(col).unwrap(), leaf.lazy_column(col).unwrap());
            // One here, one there; then many of each block, from its beginning, and with gaps.
            let scattered = (0..ROWS).map(|i| (i * 1009 % ROWS) as usize);
            for i in scattered.chain(0..ROWS as usize).chain((0..ROWS as usize).step_by(17)) {
                let (whole, lazy) = (whole.get(i, &mut a).unwrap(), lazy.get(i, &mut b).unwrap());
                assert_eq!(whole, lazy, "column {col}, row {i}");
            }
            assert_eq!(lazy.kept(ROWS as usize), None);
            if let Some(kept) = lazy.kept(7) {
                assert_eq!(kept, whole.get(7, &mut a).unwrap());
            }
        }
        for steps in ["id", "digest", "price", "text", "list", "list 0 a", "list -1", "none"] {
            let step = |step: &str| match step.parse() {
                Ok(index) => PathStep::Index(index),
                Err(_) => PathStep::Key(step.into()),
            };
            let path: Vec<PathStep> = steps.split(' ').map(step).collect();
            let (whole, lazy) = (leaf.path(0, &path).unwrap(), leaf.lazy_path(0, &path).unwrap());
            let mut found = 0;
            for i in (0..ROWS).map(|i| (i * 1009 % ROWS) as usize) {
                let (whole, lazy) = (whole.get(i, &mut a).unwrap(), lazy.get(i, &mut b).unwrap());
                assert_eq!(whole, lazy, "{steps}, row {i}");
                found += usize::from(whole.is_some());
            }
            assert_eq!(found == 0, steps == "none", "{steps}");
        }
    }
}

/// Counts the bytes read.
#[derive(Clone)]
struct Counting(Arc<(Vec<u8>, AtomicUsize)>);

impl ReadAt for Counting {
    fn read_at(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        self.0.1.fetch_add(len, Ordering::Relaxed);
        self.0.0.read_at(offset, len)
    }
}

#[test]
fn a_row_read_alone_reads_little() {
    let image = leaf(Compression::Snappy);
    let len = image.len();
    let source = Counting(Arc::new((image, AtomicUsize::new(0))));
    let leaf = Leaf::open(source.clone(), len as u64).unwrap();
    let column = leaf.lazy_column(0).unwrap();
    let opened = source.0.1.swap(0, Ordering::Relaxed);
    assert!(opened < len / 4, "{opened} of {len} bytes to open");
    let mut buf = Vec::new();
    column.get(3000, &mut buf).unwrap();
    let first = source.0.1.swap(0, Ordering::Relaxed);
    assert!(first > 0 && first < len / 5, "{first} of {len} bytes");
    column.get(3012, &mut buf).unwrap();
    assert_eq!(source.0.1.load(Ordering::Relaxed), 0, "the blocks are still there");
    forget_blocks();
    column.get(3000, &mut buf).unwrap();
    assert_eq!(source.0.1.load(Ordering::Relaxed), first);
}

/// Shows bytes where they are, in the place told.
#[derive(Clone)]
struct InPlace(Arc<(std::sync::Mutex<Vec<u8>>, AtomicU64)>);

impl ReadAt for InPlace {
    fn read_at(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        self.0.0.lock().unwrap().read_at(offset, len)
    }

    fn visit_at(&self, offset: u64, len: usize, f: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        let bytes = self.read_at(offset, len)?;
        f(&bytes, self.0.1.load(Ordering::Relaxed))
    }
}

/// Blocks that lie in memory are read there, and checked again whenever they have come to another place.
#[test]
fn blocks_are_read_where_they_are_and_checked_in_each_place() {
    for compression in [Compression::None, Compression::Snappy] {
        let image = leaf(compression);
        let whole = Leaf::open(image.clone(), image.len() as u64).unwrap();
        let source = InPlace(Arc::new((image.clone().into(), AtomicU64::new(1))));
        let alone = Leaf::open(source.clone(), image.len() as u64).unwrap();
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let lazy: Vec<_> = (0..TYPES.len()).map(|col| alone.lazy_column(col).unwrap()).collect();
        let rows = || (0..ROWS).map(|i| (i * 1009 % ROWS) as usize);
        for (col, lazy) in lazy.iter().enumerate() {
            let whole = whole.column(col).unwrap();
            for i in rows() {
                let (whole, lazy) = (whole.get(i, &mut a).unwrap(), lazy.get(i, &mut b).unwrap());
                assert_eq!(whole, lazy, "column {col}, row {i}");
            }
        }
        for byte in source.0.0.lock().unwrap().iter_mut() {
            *byte ^= 0x40;
        }
        forget_blocks();
        source.0.1.store(2, Ordering::Relaxed);
        assert!(lazy[0].get(3000, &mut a).is_err());
    }
}
