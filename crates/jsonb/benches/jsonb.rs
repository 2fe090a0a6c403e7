//! Throughput on release records like those of a package registry: nested arrays of small objects,
//! mostly strings, some numbers. `AMAX_JSONB_SAMPLE=documents.jsonl` measures other documents.
//! Bytes are those of the payloads, for `parse` those of the text.

use std::hint::black_box;

use amax_jsonb::{Builder, Event, Value, is_canonical, json, numeric, root, walk};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn documents() -> Vec<String> {
    if let Ok(path) = std::env::var("AMAX_JSONB_SAMPLE") {
        let text = std::fs::read_to_string(path).expect("readable sample");
        return text.lines().take(5000).map(str::to_owned).collect();
    }
    let mut random = fastrand::Rng::with_seed(1);
    (0..2000)
        .map(|i| {
            let deps: Vec<_> = (0..random.usize(0..12))
                .map(|d| {
                    format!(
                        r#"{{"name":"crate-{}","req":"^{}.{d}","features":["std","f{d}"],"optional":{},"target":null,"kind":"normal"}}"#,
                        random.u16(..),
                        random.u8(..),
                        random.bool()
                    )
                })
                .collect();
            format!(
                r#"{{"name":"package-{i}","vers":"1.{i}.0","deps":[{}],"cksum":"{:032x}{:032x}","size":{},"score":{}.{:03},"yanked":false,"time":{}}}"#,
                deps.join(","),
                random.u128(..),
                random.u128(..),
                random.u32(..),
                random.u8(..),
                random.u16(..1000),
                1_700_000_000_000_i64 + i
            )
        })
        .collect()
}

fn bench(criterion: &mut Criterion) {
    let texts = documents();
    let payloads: Vec<_> = texts.iter().map(|text| json::parse(text).expect("JSON")).collect();
    let bytes = |parts: &mut dyn Iterator<Item = usize>| Throughput::Bytes(parts.sum::<usize>() as u64);
    let mut group = criterion.benchmark_group("jsonb");
    let mut builder = Builder::new();
    let mut out = Vec::new();

    group.throughput(bytes(&mut texts.iter().map(String::len)));
    group.bench_function("parse", |bencher| {
        bencher.iter(|| {
            for text in &texts {
                json::parse_into(text, &mut builder).expect("JSON");
                out.clear();
                builder.finish_into(&mut out).expect("one value");
                black_box(&out);
            }
        });
    });

    group.throughput(bytes(&mut payloads.iter().map(Vec::len)));
    group.bench_function("walk", |bencher| {
        bencher.iter(|| {
            let mut sum = 0;
            for event in payloads
                .iter()
                .flat_map(|payload| walk(root(payload).expect("payload")))
            {
                sum += match event.expect("event") {
                    Event::Key(bytes) | Event::Scalar(Value::String(bytes)) => bytes.len(),
                    Event::Scalar(Value::Numeric(payload)) => numeric::decode(payload).is_some().into(),
                    _ => 1,
                };
            }
            black_box(sum)
        });
    });
    group.bench_function("is_canonical", |bencher| {
        bencher.iter(|| payloads.iter().all(|payload| is_canonical(payload)));
    });
    group.bench_function("rebuild", |bencher| {
        bencher.iter(|| {
            for payload in &payloads {
                for event in walk(root(payload).expect("payload")) {
                    builder.event(event.expect("event"));
                }
                out.clear();
                builder.finish_into(&mut out).expect("one value");
                black_box(&out);
            }
        });
    });
    // Without the reader: the events recorded beforehand.
    let events: Vec<Vec<_>> = payloads
        .iter()
        .map(|payload| {
            walk(root(payload).expect("payload"))
                .map(|event| event.expect("event"))
                .collect()
        })
        .collect();
    group.bench_function("build", |bencher| {
        bencher.iter(|| {
            for events in &events {
                for event in events {
                    builder.event(*event);
                }
                out.clear();
                builder.finish_into(&mut out).expect("one value");
                black_box(&out);
            }
        });
    });
    group.bench_function("copy", |bencher| {
        bencher.iter(|| {
            for payload in &payloads {
                builder.value(root(payload).expect("payload"));
                out.clear();
                builder.finish_into(&mut out).expect("one value");
                black_box(&out);
            }
        });
    });
    group.bench_function("to_text", |bencher| {
        bencher.iter(|| {
            payloads
                .iter()
                .map(|payload| json::to_text(payload).expect("payload").len())
                .sum::<usize>()
        });
    });
    group.finish();

    let numbers: Vec<_> = (0..1000_i64)
        .map(|i| {
            let mut payload = Vec::new();
            match i % 2 {
                0 => numeric::encode_int(i * 1_234_567, &mut payload),
                _ => numeric::encode_decimal(i * 1_234_567, 2, &mut payload).expect("scale"),
            }
            payload
        })
        .collect();
    let mut group = criterion.benchmark_group("numeric");
    group.throughput(Throughput::Elements(numbers.len() as u64));
    group.bench_function("decode", |bencher| {
        bencher.iter(|| {
            numbers
                .iter()
                .filter_map(|payload| numeric::decode(black_box(payload)))
                .count()
        });
    });
    group.bench_function("encode", |bencher| {
        bencher.iter(|| {
            for i in 0..1000_i64 {
                out.clear();
                numeric::encode_decimal(black_box(i * 1_234_567), 2, &mut out).expect("scale");
                black_box(&out);
            }
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(std::time::Duration::from_millis(500)).measurement_time(std::time::Duration::from_secs(2));
    targets = bench
}
criterion_main!(benches);
