//! Real documents: back byte for byte, at most so large, and every path readable on its own.

use std::cell::Cell;

use amax_format::*;

/// The documents of a file in `tests/data`, as jsonb.
fn documents(name: &str) -> Vec<Vec<u8>> {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut text = Vec::new();
    lzma_rs::xz_decompress(&mut file, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    text.lines()
        .map(|line| amax_jsonb::json::parse(line).unwrap())
        .collect()
}

fn leaf_of(docs: &[Vec<u8>], options: LeafOptions) -> Vec<u8> {
    let mut builder = LeafBuilder::new(&[ColumnType::Json], options);
    for (i, doc) in docs.iter().enumerate() {
        builder.push(i as u64, &[Value::Bytes(doc)]).unwrap();
    }
    builder.finish().unwrap()
}

fn check(docs: &[Vec<u8>], options: LeafOptions) -> usize {
    let image = leaf_of(docs, options);
    let leaf = Leaf::open(image.as_slice(), image.len() as u64).unwrap();
    assert_eq!(leaf.verify().unwrap(), Vec::<String>::new());
    let column = leaf.column(0).unwrap();
    let mut buf = Vec::new();
    // Backwards as well: access is random.
    for i in (0..docs.len()).chain((0..docs.len()).rev()) {
        assert!(
            column.get(i, &mut buf).unwrap() == Value::Bytes(&docs[i]),
            "document {i} differs"
        );
        let mut text = Vec::new();
        assert!(column.text(i, usize::MAX, &mut text).unwrap());
        assert!(
            text == amax_jsonb::json::to_text(&docs[i]).unwrap().into_bytes(),
            "text of {i}"
        );
    }
    kept(docs, &column, options);
    let shared = std::sync::Arc::new(image);
    let leaf = Leaf::open(shared.clone(), shared.len() as u64).unwrap();
    let lazy = leaf.lazy_column(0).unwrap();
    for i in (0..docs.len()).rev().step_by(7).chain(0..docs.len()) {
        assert!(
            lazy.get(i, &mut buf).unwrap() == Value::Bytes(&docs[i]),
            "document {i} differs, read alone"
        );
    }
    shared.len()
}

/// Some of the rows, copied from a column, are the leaf that their documents make.
fn kept(docs: &[Vec<u8>], column: &Column, options: LeafOptions) {
    let rows: Vec<u32> = (0..docs.len() as u32).filter(|row| row % 4 != 1).collect();
    let docs: Vec<Vec<u8>> = rows.iter().map(|&row| docs[row as usize].clone()).collect();
    let keys = (0..docs.len() as u64).map(|key| (key, false));
    let mut copied = VerticalBuilder::new(keys, 1, options).unwrap();
    let mut builder = copied.column(ColumnType::Json);
    builder.append(column, &rows).unwrap();
    copied.add(builder).unwrap();
    assert!(copied.finish().unwrap() == leaf_of(&docs, options));
}

fn every_way(name: &str, limit: f64) {
    let docs = documents(name);
    let bytes: usize = docs.iter().map(Vec::len).sum();
    for (min_path_values, path_cap) in [(1, 100_000), (1, 50), (48, 4000), (1, 0), (1 << 20, 4000)] {
        let options = LeafOptions {
            min_path_values,
            path_cap,
            ..LeafOptions::default()
        };
        check(&docs, options);
    }
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd(3)] {
        check(
            &docs,
            LeafOptions {
                compression,
                ..LeafOptions::default()
            },
        );
    }
    let size = check(&docs, LeafOptions::default());
    let ratio = size as f64 / bytes as f64;
    assert!(ratio < limit, "{size} bytes for {bytes} of jsonb is {ratio:.3}");
}

#[test]
fn crates() {
    every_way("crates_slice.jsonl.xz", 0.14);
}

#[test]
fn npm() {
    every_way("npm_slice.jsonl.xz", 0.40);
}

/// Paths of both samples, shredded and overflowing, are what the documents say.
#[test]
fn paths() {
    let key = |name: &str| PathStep::Key(name.as_bytes().to_vec());
    let at = PathStep::Index;
    let paths = [
        vec![key("name")],
        vec![key("deps"), at(0), key("name")],
        vec![key("deps"), at(-1), key("features"), at(-1)],
        vec![key("deps"), at(2)],
        vec![key("features"), key("default")],
        vec![key("features"), key("std"), at(0)],
        vec![key("features"), key("no such feature")],
        vec![key("repository")],
        vec![key("repository"), key("url")],
        vec![key("license")],
        vec![key("author"), key("name")],
        vec![key("exports"), key("."), key("import")],
        vec![key("dependencies"), key("debug")],
        vec![key("sideEffects")],
        vec![key("")],
        vec![],
    ];
    for name in ["crates_slice.jsonl.xz", "npm_slice.jsonl.xz"] {
        let docs = documents(name);
        let image = leaf_of(&docs, LeafOptions::default());
        let leaf = Leaf::open(image.as_slice(), image.len() as u64).unwrap();
        let mut buf = Vec::new();
        for path in &paths {
            let column = leaf.path(0, path).unwrap();
            for (i, doc) in docs.iter().enumerate() {
                let expected = get_in(amax_jsonb::root(doc).unwrap(), path);
                let found = column.get(i, &mut buf).unwrap();
                assert_eq!(
                    text(found),
                    expected.map(|v| {
                        let mut out = Vec::new();
                        amax_jsonb::json::write_text(v, &mut out).unwrap();
                        String::from_utf8(out).unwrap()
                    }),
                    "{path:?} of document {i}"
                );
            }
        }
    }
}

/// Equal rows give equal bytes: nothing depends on hash seeds.
#[test]
fn deterministic() {
    let docs = documents("npm_slice.jsonl.xz");
    assert!(leaf_of(&docs, LeafOptions::default()) == leaf_of(&docs, LeafOptions::default()));
}

/// Vectors hold what row by row access gives.
#[test]
fn vectors() {
    for (file, path, dense) in [
        ("crates_slice.jsonl.xz", vec!["name"], true),
        ("crates_slice.jsonl.xz", vec!["yanked"], true),
        ("crates_slice.jsonl.xz", vec!["v"], false),
        ("crates_slice.jsonl.xz", vec!["rust_version"], false),
        ("npm_slice.jsonl.xz", vec!["dist", "shasum"], true),
        ("npm_slice.jsonl.xz", vec!["repository", "url"], false),
    ] {
        let docs = documents(file);
        let image = leaf_of(&docs, LeafOptions::default());
        let leaf = Leaf::open(image.as_slice(), image.len() as u64).unwrap();
        let path: Vec<PathStep> = path.iter().map(|k| PathStep::Key(k.as_bytes().to_vec())).collect();
        let column = leaf.path(0, &path).unwrap();
        let vector = column.vector().unwrap_or_else(|| panic!("no vector for {path:?}"));
        assert_eq!(vector.is_dense(), dense, "{path:?}");
        assert_eq!(vector.rows().count(), vector.len());
        let mut buf = Vec::new();
        for row in 0..docs.len() {
            let expected = column.get(row, &mut buf).unwrap();
            let found = vector.position(row).map(|i| match vector.slices() {
                Slices::Bool(v) => Scalar::Bool(v[i]),
                Slices::Int(v) => Scalar::Int(v[i]),
                Slices::Bytes(v) => Scalar::String(v.get(i).unwrap()),
                Slices::Dictionary { entries, codes } => Scalar::String(entries.get(codes[i] as usize).unwrap()),
                other => panic!("{other:?}"),
            });
            assert_eq!(found, expected.filter(|v| *v != Scalar::Null), "{path:?} of {row}");
        }
    }
    // An array, and a path of several kinds, have no vector.
    let docs = documents("npm_slice.jsonl.xz");
    let image = leaf_of(&docs, LeafOptions::default());
    let leaf = Leaf::open(image.as_slice(), image.len() as u64).unwrap();
    for name in ["keywords", "repository", "scripts"] {
        let column = leaf.path(0, &[PathStep::Key(name.as_bytes().to_vec())]).unwrap();
        assert!(column.vector().is_none(), "{name}");
    }
}

/// A path read fetches little of the leaf.
#[test]
fn a_path_reads_its_megapages_only() {
    struct Counting<'a>(&'a [u8], &'a Cell<usize>);
    impl ReadAt for Counting<'_> {
        fn read_at(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
            self.1.set(self.1.get() + len);
            self.0.read_at(offset, len)
        }
    }
    let docs = documents("crates_slice.jsonl.xz");
    let image = leaf_of(&docs, LeafOptions::default());
    let read = Cell::new(0);
    let leaf = Leaf::open(Counting(&image, &read), image.len() as u64).unwrap();
    let opened = read.replace(0);
    assert!(opened <= 8168, "{opened} bytes to open");
    let column = leaf.path(0, &[PathStep::Key(b"yanked".to_vec())]).unwrap();
    assert_eq!(column.len(), docs.len());
    assert!(
        read.get() < 400,
        "{} bytes of {} for one boolean path",
        read.get(),
        image.len()
    );
}

fn text(value: Option<Scalar<'_>>) -> Option<String> {
    let mut builder = amax_jsonb::Builder::new();
    match value? {
        Scalar::Null => builder.null(),
        Scalar::Bool(b) => builder.bool(b),
        Scalar::Int(v) => builder.int(v),
        Scalar::Decimal { mantissa, scale } => builder.decimal(mantissa, scale),
        Scalar::Numeric(n) => builder.numeric(n),
        Scalar::String(s) => builder.string(s),
        Scalar::Payload(p) => builder.value(amax_jsonb::root(p).unwrap()),
    }
    Some(amax_jsonb::json::to_text(&builder.finish().unwrap()).unwrap())
}

fn get_in<'a>(mut value: amax_jsonb::Value<'a>, path: &[PathStep]) -> Option<amax_jsonb::Value<'a>> {
    for step in path {
        value = match (step, value) {
            (PathStep::Key(key), amax_jsonb::Value::Object(c)) => c.get(key).unwrap()?,
            (PathStep::Index(i), amax_jsonb::Value::Array(c)) => {
                let i = if *i < 0 { c.len() as i32 + i } else { *i };
                c.get_index(usize::try_from(i).ok()?).unwrap()?
            }
            _ => return None,
        };
    }
    Some(value)
}

/// A leaf that release 0.2.0 wrote: its bounds have eight bytes.
#[test]
fn a_leaf_of_version_2() {
    let path = format!("{}/tests/data/leaf_2.bin", env!("CARGO_MANIFEST_DIR"));
    let image = std::fs::read(path).unwrap();
    let leaf = Leaf::open(image.as_slice(), image.len() as u64).unwrap();
    assert_eq!(leaf.verify().unwrap(), Vec::<String>::new());
    let key = |name: &str| [PathStep::Key(name.into())];
    for (name, prefix) in [("at", b"2026-11-"), ("link", b"https://")] {
        let zone = leaf.path_zone(0, &key(name)).unwrap();
        let bound = Bound::Prefix(Prefix::of(prefix, 8));
        assert_eq!((zone.min, zone.max, zone.times), (bound, bound, None));
    }
    assert_eq!(leaf.path_zone(0, &key("n")).unwrap().max, Bound::Int(39));
    let column = leaf.column(0).unwrap();
    let mut buf = Vec::new();
    let docs: Vec<Vec<u8>> = (0..leaf.rows())
        .map(|i| match column.get(i, &mut buf).unwrap() {
            Value::Bytes(doc) => doc.to_vec(),
            _ => panic!("no document"),
        })
        .collect();
    // What is written of it has the bounds of today.
    let image = leaf_of(&docs, LeafOptions::default());
    kept(&docs, &column, LeafOptions::default());
    let leaf = Leaf::open(image.as_slice(), image.len() as u64).unwrap();
    let zone = leaf.path_zone(0, &key("at")).unwrap();
    assert_eq!(zone.min, Bound::Prefix(Prefix::of(b"2026-11-21T20:15:00Z", 20)));
    assert_eq!(zone.max, Bound::Prefix(Prefix::of(b"2026-11-21T20:15:39Z", 20)));
    assert!(
        zone.times
            .is_some_and(|times| times.ahead == Some((0, 0)) && times.alike == 19)
    );
}
