//! Broken bytes give errors, never a panic, and never pass for canonical.

use std::time::{Duration, Instant};

use amax_jsonb::{Builder, Event, StoredKeys, Value, is_canonical, json, numeric, root, walk};
use proptest::prelude::*;

/// Reads `bytes` in every way; asserts what must hold of any bytes.
fn exercise(bytes: &[u8], builder: &mut Builder) {
    let canonical = is_canonical(bytes);
    let Ok(value) = root(bytes) else {
        assert!(!canonical);
        return;
    };
    let _ = json::to_text(bytes);
    if let Value::Array(container) | Value::Object(container) = value {
        let _ = container.get(b"name");
        let _ = container.get(b"");
        for i in [0, 1, 31, 32, 33, container.len()] {
            let _ = container.get_index(i);
        }
    }
    let mut sound = true;
    for event in walk(value) {
        match event {
            Ok(event) => {
                if let Event::Scalar(Value::Numeric(payload)) = event {
                    let _ = numeric::decode(payload);
                }
                builder.event(event);
            }
            Err(_) => sound = false,
        }
    }
    if !sound {
        builder.reset();
        builder.value(value);
        assert!(builder.finish().is_err());
        assert!(!canonical);
        return;
    }
    let rebuilt = builder.finish().expect("events of a sound value");
    assert!(is_canonical(&rebuilt));
    assert_eq!(canonical, rebuilt == bytes);
    builder.value(value);
    assert_eq!(builder.finish().expect("a sound value"), rebuilt);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        exercise(&bytes, &mut Builder::new());
    }

    #[test]
    fn any_bytes_behind_a_likely_header(
        object: bool,
        entries in prop::collection::vec((0_u32..6, 0_u32..12, any::<bool>()), 0..70),
        data in prop::collection::vec(prop_oneof![2 => Just(0_u8), 1 => Just(0x20), 1 => Just(0x40), 1 => any::<u8>()], 0..200),
    ) {
        let count = if object { entries.len() as u32 / 2 } else { entries.len() as u32 };
        let mut bytes = (count | if object { 0x2000_0000 } else { 0x4000_0000 }).to_le_bytes().to_vec();
        let mut end = 0;
        for (i, (kind, len, offset)) in entries.into_iter().enumerate() {
            end += len;
            let kind = if object && i < count as usize { 0 } else { kind << 28 };
            let entry = kind | if offset { end | 0x8000_0000 } else { len };
            bytes.extend_from_slice(&entry.to_le_bytes());
        }
        bytes.extend_from_slice(&data);
        exercise(&bytes, &mut Builder::new());
    }

    #[test]
    fn any_text(text in "[\\[\\]{}:,\"0-9eE.+\\- tfnulrase\\\\]{0,30}") {
        if let Ok(payload) = json::parse(&text) {
            assert!(is_canonical(&payload));
            let printed = json::to_text(&payload).expect("payload");
            prop_assert_eq!(json::parse(&printed).expect("JSON"), payload);
        }
    }
}

#[test]
fn a_numeric_shorter_or_longer_than_its_entry_is_refused() {
    let payload = json::parse("[1]").expect("JSON");
    let header = payload.len() - 8;
    assert_eq!(payload[header], 8 << 2);
    for other in [0, 4 << 2, 6 << 2, 10 << 2, 8 << 2 | 1, 8 << 2 | 2] {
        let mut broken = payload.clone();
        broken[header] = other;
        let Ok(Value::Array(array)) = root(&broken) else {
            panic!("not an array")
        };
        assert!(array.get_index(0).is_err(), "{other}");
        assert!(!is_canonical(&broken));
    }
}

/// An object whose keys are stored as another's has the same keys, and the values that it has anyway, whatever is broken
/// in those.
#[test]
fn stored_keys_of_mutated_documents() {
    let seeds: Vec<Vec<u8>> = include_str!("golden/documents.tsv")
        .lines()
        .filter_map(|line| hex::decode(line.split('\t').nth(1)?).ok())
        .collect();
    let mut random = fastrand::Rng::with_seed(16);
    let (mut same, mut other) = (0, 0);
    for _ in 0..40_000 {
        let mut bytes = seeds[random.usize(..seeds.len())].clone();
        let of = bytes.clone();
        if random.bool() {
            mutate(&mut bytes, &seeds, &mut random);
        }
        let (Ok(Value::Object(of)), Ok(Value::Object(object))) = (root(&of), root(&bytes)) else {
            continue;
        };
        let keys = StoredKeys::of(&of).expect("an object");
        let Some(values) = object.values_of(&keys) else {
            other += 1;
            continue;
        };
        same += 1;
        assert_eq!(object.len(), of.len());
        let mut values = values;
        for (pair, expected) in object.pairs().zip(of.pairs()) {
            let value = values.next().expect("a value for each key");
            match (pair, value) {
                (Ok((key, one)), Ok(another)) => {
                    assert_eq!(key, expected.expect("sound").0);
                    assert_eq!(format!("{one:?}"), format!("{another:?}"));
                }
                (Err(one), Err(another)) => assert_eq!(one, another),
                (pair, value) => panic!("{pair:?} differs from {value:?}"),
            }
        }
    }
    assert!(same > 1000 && other > 200, "{same} {other}");
}

/// Five seconds of mutations of real and tricky documents, from a fixed seed.
#[test]
fn mutated_documents() {
    let seeds: Vec<Vec<u8>> = include_str!("golden/documents.tsv")
        .lines()
        .filter_map(|line| hex::decode(line.split('\t').nth(1)?).ok())
        .collect();
    assert!(seeds.len() > 400);
    let mut random = fastrand::Rng::with_seed(15);
    let mut builder = Builder::new();
    let until = Instant::now() + Duration::from_secs(5);
    let mut rounds = 0_u64;
    while Instant::now() < until {
        for _ in 0..200 {
            let mut bytes = seeds[random.usize(..seeds.len())].clone();
            for _ in 0..random.usize(1..4) {
                mutate(&mut bytes, &seeds, &mut random);
            }
            exercise(&bytes, &mut builder);
            rounds += 1;
        }
    }
    assert!(rounds > 1000, "{rounds}");
}

fn mutate(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut fastrand::Rng) {
    if bytes.is_empty() {
        return;
    }
    let at = random.usize(..bytes.len());
    // Headers and entries are near the start and at multiples of four.
    let word = random.usize(..=at) & !3;
    match random.u8(..8) {
        0 => bytes[at] ^= 1 << random.u8(..8),
        1 => bytes[at] = random.u8(..),
        2 => bytes.truncate(at),
        3 => bytes.insert(at, random.u8(..)),
        4 => {
            let other = &seeds[random.usize(..seeds.len())];
            let from = random.usize(..other.len()) & !3;
            bytes.splice(word.., other[from..].iter().copied());
        }
        5 => {
            let likely = [
                0,
                1,
                2,
                0x1000_0000,
                0x2000_0001,
                0x4000_0001,
                0x5000_0008,
                0x8000_0000,
                0xD000_0010,
                u32::MAX,
            ];
            let value = likely[random.usize(..likely.len())];
            if let Some(place) = bytes.get_mut(word..word + 4) {
                place.copy_from_slice(&value.to_le_bytes());
            }
        }
        6 => {
            // A small change of a count, length or offset.
            let change = random.i8(-4..=4);
            bytes[word] = bytes[word].wrapping_add_signed(change);
        }
        _ => {
            let len = (bytes.len() - at).min(random.usize(1..9));
            let copy = bytes[at..at + len].to_vec();
            bytes.splice(word..word, copy);
        }
    }
}
