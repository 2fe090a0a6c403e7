//! Rows per second of grouping and aggregates, over batches the size of a leaf's.

use amax_exec::{Aggregator, Function, Input, StringTable, Type, Vector};
use criterion::measurement::WallTime;
use criterion::{criterion_group, criterion_main, BenchmarkGroup, Criterion, Throughput};

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
    batches: &[Batch],
) {
    let keys: Vec<Type> = batches[0].keys.iter().map(|key| key.ty).collect();
    let functions = [(
        function,
        batches[0].argument.as_ref().map(|vector| vector.ty),
    )];
    group.bench_function(name, |b| {
        b.iter_with_large_drop(|| {
            let mut aggregator = Aggregator::new(&keys, &functions, usize::MAX).expect("function");
            for batch in batches {
                let input = Input {
                    argument: batch.argument.as_ref(),
                    filter: None,
                };
                aggregator
                    .update(BATCH, &batch.keys, &[input])
                    .expect("update");
            }
            aggregator
        });
    });
}

fn codes(rng: &mut fastrand::Rng, distinct: usize) -> Vector<'static> {
    let strings: StringTable = (0..distinct)
        .map(|i| format!("app.bsky.feed.{i}"))
        .collect();
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
    let mut group = c.benchmark_group("aggregate");
    group.sample_size(10);
    group.throughput(Throughput::Elements((BATCH * BATCHES) as u64));
    let mut rng = fastrand::Rng::with_seed(1);
    let rng = &mut rng;
    let mut bench = |name: &str, function, batch: &mut dyn FnMut() -> Batch| {
        let batches: Vec<Batch> = (0..BATCHES).map(|_| batch()).collect();
        run(&mut group, name, function, &batches);
    };
    use Function as F;
    let batch = |keys, argument| Batch { keys, argument };
    bench("count by code", F::Count, &mut || {
        batch(vec![codes(rng, 20)], None)
    });
    bench("count by code, nullable", F::Count, &mut || {
        let key = codes(rng, 20);
        batch(vec![with_nulls(rng, key)], None)
    });
    bench("count by code, hour", F::Count, &mut || {
        batch(vec![codes(rng, 20), ints(rng, 0..24)], None)
    });
    bench("count by 1M strings", F::Count, &mut || {
        batch(vec![strings(rng, 1 << 20)], None)
    });
    bench("count by 100k strings", F::Count, &mut || {
        batch(vec![strings(rng, 100_000)], None)
    });
    bench("count by 1M ints", F::Count, &mut || {
        batch(vec![ints(rng, 0..1 << 40)], None)
    });
    bench("count distinct 1M strings", F::CountDistinct, &mut || {
        batch(vec![], Some(strings(rng, 1 << 20)))
    });
    bench(
        "count distinct 1M strings by code",
        F::CountDistinct,
        &mut || batch(vec![codes(rng, 20)], Some(strings(rng, 1 << 20))),
    );
    bench(
        "count distinct codes by code",
        F::CountDistinct,
        &mut || batch(vec![codes(rng, 20)], Some(codes(rng, 100))),
    );
    bench("sum of ints", F::Sum, &mut || {
        batch(vec![], Some(ints(rng, 0..1000)))
    });
    bench("sum of ints by code", F::Sum, &mut || {
        batch(vec![codes(rng, 20)], Some(ints(rng, 0..1000)))
    });
    bench("sum of numerics by code", F::Sum, &mut || {
        batch(vec![codes(rng, 20)], Some(decimals(rng)))
    });
    bench("avg of floats by code", F::Accumulate, &mut || {
        batch(vec![codes(rng, 20)], Some(floats(rng)))
    });
    bench("min of ints by 1M strings", F::Min, &mut || {
        batch(vec![strings(rng, 1 << 20)], Some(ints(rng, 0..1 << 40)))
    });
    bench("min of strings by code", F::Min, &mut || {
        batch(vec![codes(rng, 20)], Some(strings(rng, 1 << 20)))
    });
}

criterion_group!(benches, aggregate);
criterion_main!(benches);
