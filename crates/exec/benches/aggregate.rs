//! Rows per second of grouping and aggregates, over batches the size of a leaf's.

use std::hint::black_box;
use std::time::Duration;

use amax_exec::{Aggregator, Function, Input, StringTable, Type, Vector};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};

const BATCH: usize = 1 << 15;
const BATCHES: usize = 32;

/// Keys and an argument.
struct Batch {
    keys: Vec<Vector<'static>>,
    argument: Option<Vector<'static>>,
}

fn run(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    function: Function,
    rounds: usize,
    mut batch: impl FnMut(&mut fastrand::Rng) -> Batch,
) {
    group.throughput(Throughput::Elements((BATCH * BATCHES * rounds) as u64));
    group.bench_function(name, |b| {
        let mut rng = fastrand::Rng::with_seed(1);
        let batches: Vec<Batch> = (0..BATCHES).map(|_| batch(&mut rng)).collect();
        b.iter_custom(|iterations| {
            let mut time = Duration::ZERO;
            for _ in 0..iterations {
                let start = cpu_time();
                let aggregator = black_box(scan(function, &batches, rounds));
                time += cpu_time() - start;
                drop(aggregator);
            }
            time
        });
    });
}

fn scan(function: Function, batches: &[Batch], rounds: usize) -> Aggregator {
    let keys: Vec<Type> = batches[0].keys.iter().map(|key| key.ty).collect();
    let functions = [(function, batches[0].argument.as_ref().map(|vector| vector.ty))];
    let mut aggregator = Aggregator::new(&keys, &functions, usize::MAX).expect("function");
    for batch in (0..rounds).flat_map(|_| batches) {
        let input = Input {
            argument: batch.argument.as_ref(),
            ..Input::default()
        };
        let done = aggregator.update(BATCH, &batch.keys, &[input]);
        done.expect("update");
    }
    aggregator
}

/// Of this thread, so that other work of the machine does not count.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("schedstat");
    let running = stat.split(' ').next().expect("three numbers");
    Duration::from_nanos(running.parse().expect("nanoseconds"))
}

fn codes(rng: &mut fastrand::Rng, distinct: usize) -> Vector<'static> {
    let strings: StringTable = (0..distinct).map(|i| format!("app.bsky.feed.{i}")).collect();
    let codes: Vec<i64> = (0..BATCH).map(|_| rng.i64(0..distinct as i64)).collect();
    Vector::of_codes(codes, strings)
}

/// Strings of 32 bytes.
fn strings(rng: &mut fastrand::Rng, distinct: u64) -> Vector<'static> {
    let string = |i: u64| format!("did:plc:{:024x}", i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    Vector::of_strings((0..BATCH).map(|_| string(rng.u64(0..distinct))).collect())
}

fn ints(rng: &mut fastrand::Rng, range: std::ops::Range<i64>) -> Vector<'static> {
    let words: Vec<i64> = (0..BATCH).map(|_| rng.i64(range.clone())).collect();
    Vector::of_words(Type::Int, words)
}

fn decimals(rng: &mut fastrand::Rng) -> Vector<'static> {
    Vector {
        scales: Some(vec![2; BATCH].into()),
        ty: Type::Numeric,
        ..ints(rng, 0..1_000_000)
    }
}

fn floats(rng: &mut fastrand::Rng) -> Vector<'static> {
    let words: Vec<i64> = (0..BATCH).map(|_| rng.f64().to_bits() as i64).collect();
    Vector::of_words(Type::Float, words)
}

fn with_nulls(rng: &mut fastrand::Rng, vector: Vector<'static>) -> Vector<'static> {
    let valid: Vec<bool> = (0..BATCH).map(|_| rng.u8(0..10) > 0).collect();
    Vector {
        valid: Some(valid.into()),
        ..vector
    }
}

fn aggregate(c: &mut Criterion) {
    use Function as F;
    let mut group = c.benchmark_group("aggregate");
    group.sample_size(10);
    let group = &mut group;
    let batch = |keys, argument| Batch { keys, argument };
    let million = 1 << 20;

    run(group, "count by code", F::Count, 1, |rng| {
        batch(vec![codes(rng, 20)], None)
    });
    run(group, "count by code with NULLs", F::Count, 1, |rng| {
        let key = codes(rng, 20);
        batch(vec![with_nulls(rng, key)], None)
    });
    run(group, "count by code and hour", F::Count, 1, |rng| {
        batch(vec![codes(rng, 20), ints(rng, 0..24)], None)
    });
    run(group, "count by 1M strings", F::Count, 8, |rng| {
        batch(vec![strings(rng, million)], None)
    });
    run(group, "count by 1M strings, mostly new", F::Count, 1, |rng| {
        batch(vec![strings(rng, million)], None)
    });
    run(group, "count by 100k strings", F::Count, 1, |rng| {
        batch(vec![strings(rng, 100_000)], None)
    });
    run(group, "count by 1M ints, mostly new", F::Count, 1, |rng| {
        batch(vec![ints(rng, 0..1 << 40)], None)
    });
    let distinct = F::CountDistinct;
    run(group, "count distinct 1M strings, mostly new", distinct, 1, |rng| {
        batch(vec![], Some(strings(rng, million)))
    });
    run(
        group,
        "count distinct 1M strings by code, mostly new",
        distinct,
        1,
        |rng| batch(vec![codes(rng, 20)], Some(strings(rng, million))),
    );
    run(group, "count distinct codes by code", distinct, 1, |rng| {
        batch(vec![codes(rng, 20)], Some(codes(rng, 100)))
    });
    run(group, "sum of ints", F::Sum, 1, |rng| {
        batch(vec![], Some(ints(rng, 0..1000)))
    });
    run(group, "sum of ints by code", F::Sum, 1, |rng| {
        batch(vec![codes(rng, 20)], Some(ints(rng, 0..1000)))
    });
    run(group, "sum of numerics by code", F::Sum, 1, |rng| {
        batch(vec![codes(rng, 20)], Some(decimals(rng)))
    });
    run(group, "avg of floats by code", F::Accumulate, 1, |rng| {
        batch(vec![codes(rng, 20)], Some(floats(rng)))
    });
    run(group, "min of ints by 1M strings", F::Min, 8, |rng| {
        batch(vec![strings(rng, million)], Some(ints(rng, 0..1 << 40)))
    });
    run(group, "min of strings by code", F::Min, 1, |rng| {
        batch(vec![codes(rng, 20)], Some(strings(rng, million)))
    });
}

criterion_group!(benches, aggregate);
criterion_main!(benches);
