//! Hostile leaves: mutated images and arbitrary bytes must give errors, never a panic, and never more memory
//! than was granted.
//!
//! Runs for `AMAX_FUZZ_SECONDS` seconds (default 10) from seed `AMAX_FUZZ_SEED` (default: the clock).

use std::time::{Duration, Instant, SystemTime};

use amax_format::*;
use amax_jsonb::jsonpath::Shape;

/// What a reader is granted, and what all the process may take: an allocation beyond that aborts the test.
const GRANTED: usize = 4 << 20;
const PROCESS: usize = 512 << 20;

#[global_allocator]
static ALLOCATOR: cap::Cap<std::alloc::System> = cap::Cap::new(std::alloc::System, PROCESS);

fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        r#"{"name":"a","deps":[{"name":"x","features":["p","q"],"optional":true},{"name":"y","target":null}],"n":1,"at":"2026-11-21T20:15:00Z"}"#,
        r#"{"name":"b","deps":[],"features":{"default":["std"],"std":[]},"n":2.50,"at":"2026-11-22 01:02:03.5+02"}"#,
        r#"{"name":["mixed",1,null,{"k":[]}],"deps":[{"features":[["deep"],[[1,2],[]]]}],"rare":{"once":{}}}"#,
        r#"{"name":null,"n":123456789012345678901234567890,"rare2":{"a":[1,{"b":"c"}]},"":{"":0}}"#,
        r#"[1,2.5,"three",[],{},null,true]"#,
        r#""sha512-0123456789abcdef==""#,
        "7",
    ];
    let docs: Vec<Vec<u8>> = texts.iter().map(|t| amax_jsonb::json::parse(t).unwrap()).collect();
    let number = amax_jsonb::numeric::from_text("1.25").unwrap();
    let types = [
        ColumnType::Json,
        ColumnType::Bool,
        ColumnType::Int,
        ColumnType::Float4,
        ColumnType::Float8,
        ColumnType::Numeric,
        ColumnType::Bytes,
    ];
    let mut images = small_seeds(&docs);
    for compression in [
        Compression::None,
        Compression::Snappy,
        Compression::Zstd(1),
        Compression::Lz4,
    ] {
        for (rows, min_path_values) in [(0, 1), (7, 1), (40, 3), (300, 1), (300, 50)] {
            let options = LeafOptions {
                compression,
                min_path_values,
                page_size: 64,
                ..LeafOptions::default()
            };
            let mut builder = LeafBuilder::new(&types, options);
            for i in 0..rows as usize {
                if i % 13 == 12 {
                    builder.push_antimatter(i as u64).unwrap();
                    continue;
                }
                let digest = format!("{:032x}", (i as u128).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060));
                let row = [
                    Value::Bytes(&docs[(i * i) % docs.len()]),
                    Value::Bool(i % 3 == 0),
                    Value::Int(i as i64 * 7),
                    Value::Float4(i as f32),
                    Value::Float8(-(i as f64)),
                    Value::Bytes(&number),
                    if i % 5 == 0 {
                        Value::Null
                    } else {
                        Value::Bytes(digest.as_bytes())
                    },
                ];
                builder.push(i as u64, &row).unwrap();
            }
            images.push(builder.finish().unwrap());
        }
    }
    images
}

/// Leaves of one column without compression, where a changed byte reaches the decoders it belongs to.
fn small_seeds(docs: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut images = Vec::new();
    let words: [&[u8]; 5] = [b"one", b"two", b"three", b"four", b"fifth"];
    for (rows, variant) in [1usize, 12, 64, 200]
        .into_iter()
        .flat_map(|rows| (0..10).map(move |v| (rows, v)))
    {
        let (column_type, min_path_values) = match variant {
            0 => (ColumnType::Bool, 1),
            1 => (ColumnType::Float8, 1),
            2 | 3 => (ColumnType::Int, 1),
            4..=6 => (ColumnType::Bytes, 1),
            7 => (ColumnType::Json, 1),
            _ => (ColumnType::Json, 1000),
        };
        let options = LeafOptions {
            compression: Compression::None,
            min_path_values,
            path_cap: if variant == 9 { 0 } else { 4000 },
            ..LeafOptions::default()
        };
        let mut builder = LeafBuilder::new(&[column_type], options);
        for i in 0..rows {
            let digest = format!("sha-{:016x}=", (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let value = match variant {
                0 => Value::Bool(i % 3 == 0),
                1 => Value::Float8(i as f64),
                2 => Value::Int((i * i % 7) as i64),
                3 => Value::Int(i as i64 * 1000 + (i % 3) as i64),
                4 => Value::Bytes(words[i * i % 5]),
                5 => Value::Bytes(digest.as_bytes()),
                6 => Value::Bytes(&digest.as_bytes()[..i % 20]),
                _ => Value::Bytes(&docs[i % docs.len()]),
            };
            builder
                .push(i as u64, &[if i % 9 == 8 { Value::Null } else { value }])
                .unwrap();
        }
        images.push(builder.finish().unwrap());
    }
    images.extend([Compression::None, Compression::Snappy].map(long_columns));
    images
}

/// A leaf whose columns are long enough to be in blocks.
fn long_columns(compression: Compression) -> Vec<u8> {
    let types = [
        ColumnType::Int,
        ColumnType::Float4,
        ColumnType::Float8,
        ColumnType::Numeric,
        ColumnType::Bytes,
        ColumnType::Json,
    ];
    let options = LeafOptions {
        compression,
        ..LeafOptions::default()
    };
    let mut builder = LeafBuilder::new(&types, options);
    for i in 0..2500u64 {
        let digest = format!("{:016x}{i:04x}", i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let text = digest.repeat(i as usize % 4);
        let number = amax_jsonb::numeric::from_text(&format!("{i}.{:02}", i % 100)).unwrap();
        let doc = amax_jsonb::json::parse(&format!(
            r#"{{"id":{i},"n":{i}.5,"hash":"{digest}","list":[{{"a":{i}}},{{"b":"{text}"}}],"some":{}}}"#,
            if i % 3 == 0 { "null" } else { "12.25" },
        ))
        .unwrap();
        let row = [
            Value::Int(i as i64 * 7919),
            Value::Float4(i as f32),
            Value::Float8(-(i as f64)),
            Value::Bytes(&number),
            if i % 5 == 0 {
                Value::Null
            } else {
                Value::Bytes(digest.as_bytes())
            },
            Value::Bytes(&doc),
        ];
        builder.push(i, &row).unwrap();
    }
    builder.finish().unwrap()
}

fn mutate(rng: &mut fastrand::Rng, image: &mut Vec<u8>, other: &[u8]) {
    // Most of the structure is in front: half of the changes go there.
    let at = |rng: &mut fastrand::Rng, len: usize| {
        let end = if rng.bool() { len.min(600) } else { len };
        if end == 0 { 0 } else { rng.usize(0..end) }
    };
    for _ in 0..rng.usize(1..6) {
        let i = at(rng, image.len());
        if image.is_empty() {
            return;
        }
        match rng.u8(0..8) {
            0 => image[i] ^= 1 << rng.u8(0..8),
            1 => image[i] = rng.u8(..),
            2 => image[i] = [0, 1, 0x7f, 0x80, 0xff][rng.usize(0..5)],
            3 => image[i] = image[i].wrapping_add(1),
            4 => {
                let n = rng.usize(0..8).min(image.len() - i);
                image[i..i + n].fill(0xff);
            }
            5 => {
                let n = rng.usize(0..64).min(image.len() - i);
                let j = at(rng, image.len() - n + 1);
                image.copy_within(i..i + n, j);
            }
            6 if !other.is_empty() => {
                let j = at(rng, other.len());
                let n = rng.usize(0..64).min(image.len() - i).min(other.len() - j);
                image[i..i + n].copy_from_slice(&other[j..j + n]);
            }
            _ if rng.u8(0..4) == 0 => image.truncate(i),
            _ => image[i] = image[i].wrapping_sub(1),
        }
    }
}

/// Looks at all values of a vector.
fn touch(vector: Option<Vector<'_>>) {
    let Some(vector) = vector else { return };
    let values = match vector.slices() {
        Slices::Bool(v) => v.len(),
        Slices::Int(v) => v.len(),
        Slices::Decimal { mantissa, scale } => mantissa.len().min(scale.len()),
        Slices::Float4(v) => v.len(),
        Slices::Float8(v) => v.len(),
        Slices::Bytes(v) => (0..v.len()).filter(|&i| v.get(i).is_some()).count(),
        Slices::Dictionary { entries, codes } => codes
            .iter()
            .filter(|&&code| entries.get(code as usize).is_some())
            .count(),
    };
    assert_eq!(values, vector.len());
    assert!(
        vector
            .rows()
            .take(1000)
            .enumerate()
            .all(|(i, row)| vector.position(row) == Some(i))
    );
}

/// Uses all of a leaf; only that it returns matters.
fn exercise(image: &[u8], rng: &mut fastrand::Rng, options: ReadOptions) -> bool {
    let Ok(leaf) = Leaf::open_with(image, image.len() as u64, options) else {
        return false;
    };
    let mut buf = Vec::new();
    for _ in leaf.describe() {}
    let columns = leaf.schema().count();
    for col in 0..columns.min(8) {
        leaf.zone(col);
        if let Ok(column) = leaf.column(col) {
            touch(column.vector());
            for row in 0..column.len().min(400) {
                let _ = column.get(row, &mut buf);
            }
        }
    }
    let shared = std::sync::Arc::new(image.to_vec());
    let lazy = Leaf::open_with(shared, image.len() as u64, options).expect("opened above");
    for col in 0..columns.min(8) {
        if let Ok(column) = lazy.lazy_column(col) {
            for _ in 0..100.min(column.len()) {
                let _ = column.get(rng.usize(0..column.len()), &mut buf);
            }
        }
    }
    let names: [&[u8]; 8] = [b"name", b"deps", b"features", b"n", b"at", b"rare", b"", b"once"];
    for _ in 0..6 {
        let path: Vec<PathStep> = (0..rng.usize(0..4))
            .map(|_| match rng.u8(0..3) {
                0 => PathStep::Index(rng.i32(-3..4)),
                _ => PathStep::Key(names[rng.usize(0..names.len())].to_vec()),
            })
            .collect();
        leaf.path_zone(0, &path);
        if let Ok(column) = leaf.path(0, &path) {
            touch(column.vector());
            for row in 0..column.len().min(400) {
                let _ = column.get(row, &mut buf);
            }
        }
        for text in [
            r#"{"name":"a","deps":[{"name":"x"}]}"#,
            r#"[{"features":[[]],"k":{}},1]"#,
        ] {
            let sought = amax_jsonb::json::parse(text).expect("JSON");
            let _ = leaf.ask(0, &path, &Question::contains(&sought).expect("usable"));
        }
        let _ = leaf.ask(0, &path, &Question::HasAny(vec![b"n".to_vec()]));
        for text in [
            r#"$."deps"[*]?(@."name" >= "x" && !(@."features"[last] == "q"))"#,
            r#"$[0]?($."n" > 1)"#,
        ] {
            let _ = leaf.ask(0, &path, &Question::path_exists(text).expect("known"));
            for first in [true, false] {
                let question = Question::path_values(text, first).expect("known");
                if let Ok(found) = leaf.found(0, &path, &question) {
                    let _ = found.get(rng.usize(0..400), &mut buf);
                }
            }
            if let Ok(shaped) = leaf.shaped(0, &Shape::of_path(text, false).expect("known")) {
                let _ = shaped.get(rng.usize(0..400), &mut buf);
            }
        }
        if let Ok(column) = lazy.lazy_path(0, &path) {
            for _ in 0..20.min(column.len()) {
                let _ = column.get(rng.usize(0..column.len()), &mut buf);
            }
        }
    }
    let _ = leaf.verify();
    true
}

#[test]
fn hostile_images() {
    let env = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let clock = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |d| d.as_nanos() as u64);
    let seed = env("AMAX_FUZZ_SEED").unwrap_or(clock);
    let seconds = Duration::from_secs(env("AMAX_FUZZ_SECONDS").unwrap_or(10));
    println!("AMAX_FUZZ_SEED={seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let images = seeds();
    let lenient = ReadOptions {
        memory_limit: GRANTED,
        checksums: false,
    };
    let strict = ReadOptions {
        memory_limit: GRANTED,
        checksums: true,
    };
    for image in &images {
        assert!(exercise(image, &mut rng, strict), "a sound leaf must open");
    }
    let start = Instant::now();
    let (mut rounds, mut opened) = (0u64, 0u64);
    while start.elapsed() < seconds {
        for _ in 0..50 {
            rounds += 1;
            let other = &images[rng.usize(0..images.len())];
            let mut image = images[rng.usize(0..images.len())].clone();
            if rng.u8(0..20) == 0 {
                let n = rng.usize(0..200);
                image = std::iter::repeat_with(|| rng.u8(..)).take(n).collect();
            } else {
                mutate(&mut rng, &mut image, other);
            }
            opened += u64::from(exercise(&image, &mut rng, lenient));
        }
    }
    println!("{rounds} leaves, {opened} of them opened");
    assert!(opened > 0, "no mutation got past Page 0");
}

/// With checksums, a changed byte is found: by an error, or by `verify` unless it lies in unused bytes.
#[test]
fn checksums_find_changes() {
    let mut rng = fastrand::Rng::with_seed(7);
    for image in seeds() {
        for _ in 0..20 {
            let mut changed = image.clone();
            let at = rng.usize(0..changed.len());
            changed[at] ^= 1 << rng.u8(0..8);
            let found = match Leaf::open(changed.as_slice(), changed.len() as u64) {
                Err(_) => true,
                Ok(leaf) => !leaf.verify().unwrap().is_empty(),
            };
            // Bytes left empty between megapages are zero and belong to nothing.
            assert!(found || image[at] == 0, "byte {at} changed unnoticed");
        }
    }
}
