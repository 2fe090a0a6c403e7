//! Shred, encode, decode, assemble: MB of jsonb per second on real documents.

use amax_format::{ColumnType, Leaf, LeafBuilder, LeafOptions, PathStep, Value};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

fn documents(name: &str) -> Vec<Vec<u8>> {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut file = std::io::BufReader::new(std::fs::File::open(path).expect("documents"));
    let mut text = Vec::new();
    lzma_rs::xz_decompress(&mut file, &mut text).expect("xz");
    let text = String::from_utf8(text).expect("UTF-8");
    text.lines()
        .map(|line| amax_jsonb::json::parse(line).expect("JSON"))
        .collect()
}

fn shred(docs: &[Vec<u8>]) -> LeafBuilder {
    let mut builder = LeafBuilder::new(&[ColumnType::Json], LeafOptions::default());
    for (i, doc) in docs.iter().enumerate() {
        builder.push(i as u64, &[Value::Bytes(doc)]).expect("push");
    }
    builder
}

fn leaf(c: &mut Criterion) {
    for name in ["crates_slice", "npm_slice"] {
        let docs = documents(&format!("{name}.jsonl.xz"));
        let image = shred(&docs).finish().expect("finish");
        let leaf = Leaf::open(image.as_slice(), image.len() as u64).expect("open");
        let column = leaf.column(0).expect("column");
        let mut group = c.benchmark_group(name);
        group.sample_size(20);
        group.throughput(Throughput::BytesDecimal(docs.iter().map(|d| d.len() as u64).sum()));
        group.bench_function("shred", |b| b.iter_with_large_drop(|| shred(&docs)));
        group.bench_function("encode", |b| {
            b.iter_batched(|| shred(&docs), |builder| builder.finish(), BatchSize::LargeInput);
        });
        group.bench_function("decode", |b| b.iter_with_large_drop(|| leaf.column(0)));
        let mut buf = Vec::new();
        group.bench_function("assemble", |b| {
            b.iter(|| (0..docs.len()).filter(|&i| column.get(i, &mut buf).is_ok()).count());
        });
        group.bench_function("text", |b| {
            let mut text = |i| {
                buf.clear();
                column.text(i, usize::MAX, &mut buf).is_ok()
            };
            b.iter(|| (0..docs.len()).map(&mut text).filter(|ok| *ok).count());
        });
        let path = [PathStep::Key(b"name".to_vec())];
        group.bench_function("path", |b| {
            b.iter(|| {
                let column = leaf.path(0, &path).expect("path");
                (0..docs.len())
                    .filter(|&i| matches!(column.get(i, &mut buf), Ok(Some(_))))
                    .count()
            });
        });
        group.finish();
    }
}

/// A leaf of SQL columns as a star schema's fact table has them, in values per second.
fn sql(c: &mut Criterion) {
    const ROWS: u64 = 15_000;
    let types = [
        ColumnType::Int,
        ColumnType::Int,
        ColumnType::Int,
        ColumnType::Numeric,
        ColumnType::Bytes,
    ];
    let mut rng = fastrand::Rng::with_seed(1);
    let modes: [&[u8]; 4] = [b"AIR", b"TRUCK", b"SHIP", b"REG AIR"];
    let rows: Vec<_> = (0..ROWS)
        .map(|i| {
            let price = amax_jsonb::numeric::from_text(&format!("{}.{:02}", rng.u32(..99_999), rng.u8(..100)));
            (
                i as i64 / 4,
                rng.i64(1..51),
                rng.i64(1..200_000),
                price.expect("number"),
                modes[rng.usize(..4)],
            )
        })
        .collect();
    let shred = || {
        let mut builder = LeafBuilder::new(&types, LeafOptions::default());
        for (i, (order, quantity, part, price, mode)) in rows.iter().enumerate() {
            let row = [
                Value::Int(*order),
                Value::Int(*quantity),
                Value::Int(*part),
                Value::Bytes(price),
                Value::Bytes(mode),
            ];
            builder.push(i as u64, &row).expect("push");
        }
        builder
    };
    let image = shred().finish().expect("finish");
    let leaf = Leaf::open(image.as_slice(), image.len() as u64).expect("open");
    let mut group = c.benchmark_group("sql");
    group.sample_size(20);
    group.throughput(Throughput::Elements(ROWS * types.len() as u64));
    group.bench_function("shred", |b| b.iter_with_large_drop(shred));
    group.bench_function("encode", |b| {
        b.iter_batched(shred, |builder| builder.finish(), BatchSize::LargeInput)
    });
    group.bench_function("decode", |b| {
        b.iter_with_large_drop(|| (0..types.len()).map(|col| leaf.column(col)).collect::<Vec<_>>());
    });
    let columns: Vec<_> = (0..types.len()).map(|col| leaf.column(col).expect("column")).collect();
    let mut buf = Vec::new();
    group.bench_function("get", |b| {
        b.iter(|| {
            let rows = 0..ROWS as usize;
            rows.map(|row| columns.iter().filter(|c| c.get(row, &mut buf).is_ok()).count())
                .sum::<usize>()
        });
    });
    group.finish();
}

criterion_group!(benches, leaf, sql);
criterion_main!(benches);
