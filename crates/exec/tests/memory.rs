//! Memory that is refused is an error, whatever is being aggregated.

#[path = "../../memory/testing/allocator.rs"]
mod allocator;

use allocator::refuse_each;
use amax_exec::{Aggregator, Error, Function, Input, Result, StringTable, Type, Vector};

const BATCH: usize = 10_000;
const BATCHES: usize = 15;
const TRIES: usize = 10;

/// None if memory ran out; nothing else may be wrong.
fn unless_refused<T>(result: Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(Error::OutOfMemory(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

fn words(batch: usize) -> Vec<i64> {
    (batch * BATCH..(batch + 1) * BATCH).map(|i| i as i64).collect()
}

fn strings(batch: usize) -> (Vec<u32>, Vec<u8>) {
    let (mut ends, mut data) = (Vec::new(), Vec::new());
    for word in words(batch) {
        data.extend_from_slice(format!("string {word}").as_bytes());
        ends.push(data.len() as u32);
    }
    (ends, data)
}

fn update(aggregator: &mut Aggregator, batches: std::ops::Range<usize>) -> Result<()> {
    for batch in batches {
        let words = words(batch);
        let (ends, data) = strings(batch);
        let codes = words.clone();
        let number = Vector::of_words(Type::Int, &codes);
        let text = Vector::of_strings(StringTable::new(&ends, &data));
        let input = |argument| Input {
            argument,
            ..Input::default()
        };
        let inputs = [input(None), input(Some(&number)), input(Some(&text))];
        aggregator.update(BATCH, std::slice::from_ref(&text), &inputs)?;
    }
    Ok(())
}

fn aggregator(limit: usize) -> Aggregator {
    let functions = [
        (Function::Count, None),
        (Function::Sum, Some(Type::Int)),
        (Function::CountDistinct, Some(Type::Text)),
    ];
    Aggregator::new(&[Type::Text], &functions, limit).expect("functions")
}

/// One test: there is one allocator.
#[test]
fn refused_memory_is_an_error() {
    refuse_each("groups", TRIES, &|| {
        let run = || {
            let mut aggregator = aggregator(usize::MAX);
            update(&mut aggregator, 0..BATCHES)?;
            Ok(aggregator.grouping().len())
        };
        unless_refused(run())
    });
    refuse_each("groups within a limit", TRIES, &|| {
        let run = || {
            let mut aggregator = aggregator(4 << 20);
            update(&mut aggregator, 0..BATCHES)?;
            Ok(aggregator.is_narrowed())
        };
        unless_refused(run())
    });
    refuse_each("groups of workers", TRIES, &|| {
        let run = || {
            let mut all = aggregator(usize::MAX);
            for worker in 0..3 {
                let mut part = aggregator(usize::MAX);
                update(&mut part, worker * 5..worker * 5 + 8)?;
                let sent = part.serialize(false)?;
                all.merge(&all.deserialize(&sent)?)?;
            }
            Ok(all.grouping().len())
        };
        unless_refused(run())
    });
}
