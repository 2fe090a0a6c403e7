//! Aggregates that keep all values: in passes, taken away, and sent.

use std::collections::BTreeMap;
use std::rc::Rc;

use amax_exec::{Aggregator, Collation, Function, Input, Output, Scalar, StringTable, Type, Vector, VectorBuilder};

const FUNCTIONS: [(Function, Option<Type>); 3] = [
    (Function::Values { nulls: true }, Some(Type::Text)),
    (Function::Values { nulls: false }, Some(Type::Numeric)),
    (Function::Count, None),
];

type Row = (i64, Option<String>, Option<(i64, u16)>);

fn rows(n: i64) -> Vec<Row> {
    let row = |i: i64| {
        let text = (i % 7 > 0).then(|| format!("text {}", i * i % 61));
        // One scale at first, then several.
        let number = (i % 5 > 0).then_some((i * 37 % 101, if i < n / 2 { 2 } else { (i % 3) as u16 }));
        (i % 13, text, number)
    };
    (0..n).map(row).collect()
}

fn update(aggregator: &mut Aggregator, rows: &[Row], keys: bool) {
    for batch in rows.chunks(40) {
        let mut texts = VectorBuilder::new(Type::Text);
        let mut numbers = VectorBuilder::new(Type::Numeric);
        for (_, text, number) in batch {
            match text {
                Some(text) => texts.push_text(text.as_bytes()),
                None => texts.push_null(),
            }
            match number {
                Some((mantissa, scale)) => {
                    let mut payload = Vec::new();
                    amax_jsonb::numeric::encode_decimal(*mantissa, *scale, &mut payload).expect("a number");
                    numbers.push_numeric(&payload);
                }
                None => numbers.push_null(),
            }
        }
        let key = Vector::of_words(Type::Int, batch.iter().map(|row| row.0).collect::<Vec<i64>>());
        let (texts, numbers) = (texts.finish(), numbers.finish());
        let input = |argument| Input {
            argument: Some(argument),
            ..Input::default()
        };
        let inputs = [input(&texts), input(&numbers), Input::default()];
        let keys = if keys { std::slice::from_ref(&key) } else { &[] };
        aggregator.update(batch.len(), keys, &inputs).expect("rows");
    }
}

/// A group's values as text.
fn shown(aggregator: &Aggregator, aggregate: usize, group: usize) -> Vec<String> {
    let values = aggregator.collected(aggregate, group).expect("they are kept");
    (0..values.len()).map(|row| format!("{:?}", values.get(row))).collect()
}

fn expected(rows: &[Row]) -> BTreeMap<i64, [Vec<String>; 2]> {
    let mut found = BTreeMap::<i64, [Vec<String>; 2]>::new();
    for (key, text, number) in rows {
        let group = found.entry(*key).or_default();
        let text = text
            .as_deref()
            .map_or(Scalar::Null, |text| Scalar::Text(text.as_bytes()));
        group[0].push(format!("{text:?}"));
        if let &Some((mantissa, scale)) = number {
            group[1].push(format!("{:?}", Scalar::Decimal { mantissa, scale }));
        }
    }
    found
}

fn all(aggregator: &mut Aggregator) -> BTreeMap<i64, [Vec<String>; 2]> {
    aggregator.arrange().expect("memory");
    let groups = 0..aggregator.grouping().len();
    let of = |group| {
        let Scalar::Int(key) = aggregator.grouping().key(0, group) else {
            panic!("a key is an integer")
        };
        (key, [0, 1].map(|aggregate| shown(aggregator, aggregate, group)))
    };
    groups.map(of).collect()
}

#[test]
fn values_keep_their_order_in_any_number_of_passes() {
    let rows = rows(2000);
    for limit in [usize::MAX, 8000, 2500] {
        let mut aggregator = Aggregator::new(&[Type::Int], &FUNCTIONS, limit).expect("functions");
        let (mut found, mut passes) = (BTreeMap::new(), 0);
        loop {
            update(&mut aggregator, &rows, true);
            found.extend(all(&mut aggregator));
            passes += 1;
            if !aggregator.next_pass() {
                break;
            }
        }
        assert_eq!(passes > 1, limit < usize::MAX);
        assert!(found == expected(&rows), "limit {limit}");
    }
}

#[test]
fn groups_that_are_sent_are_the_same() {
    let rows = rows(120);
    let new = || Aggregator::new(&[Type::Int], &FUNCTIONS, usize::MAX).expect("functions");
    let (mut first, mut second) = (new(), new());
    update(&mut first, &rows[..60], true);
    update(&mut second, &rows[60..], true);
    let bytes = second.serialize(false).expect("memory");
    let sent = first.deserialize(&bytes).expect("what was sent");
    first.merge(&sent).expect("groups");
    assert!(all(&mut first) == expected(&rows));
    for at in 0..bytes.len() {
        for value in [0, bytes[at] ^ 1] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            if let Ok(sent) = first.deserialize(&damaged) {
                let mut other = new();
                let _ = other.merge(&sent).map(|()| all(&mut other));
            }
        }
    }
}

/// What string_agg gives by group for rows, each with what stands before it.
fn joined(rows: &[Row], before: &[Option<&str>]) -> BTreeMap<i64, Option<String>> {
    let mut found = BTreeMap::<i64, Option<String>>::new();
    for ((key, text, _), before) in rows.iter().zip(before) {
        let group = found.entry(*key).or_default();
        match (group, text) {
            (_, None) => {}
            (Some(joined), Some(text)) => joined.extend([before.unwrap_or_default(), text]),
            (group, Some(text)) => *group = Some(text.clone()),
        }
    }
    found
}

#[test]
fn texts_are_joined_in_the_order_of_rows() {
    const FUNCTIONS: [(Function, Option<Type>); 1] = [(Function::Concat, Some(Type::Text))];
    let texts = |values: &mut dyn Iterator<Item = Option<&str>>| {
        let mut out = VectorBuilder::new(Type::Text);
        for value in values {
            match value {
                Some(value) => out.push_text(value.as_bytes()),
                None => out.push_null(),
            }
        }
        out.finish()
    };
    let update = |aggregator: &mut Aggregator, rows: &[Row], before: &[Option<&str>]| {
        for (batch, before) in rows.chunks(40).zip(before.chunks(40)) {
            let key = Vector::of_words(Type::Int, batch.iter().map(|row| row.0).collect::<Vec<i64>>());
            let text = texts(&mut batch.iter().map(|row| row.1.as_deref()));
            let before = texts(&mut before.iter().copied());
            let inputs = [Input {
                argument: Some(&text),
                second: Some(&before),
                filter: None,
            }];
            aggregator.update(batch.len(), &[key], &inputs).expect("rows");
        }
    };
    let all = |aggregator: &Aggregator| -> BTreeMap<i64, Option<String>> {
        let of = |group| match (aggregator.grouping().key(0, group), aggregator.output(0, group)) {
            (Scalar::Int(key), Ok(Output::Text(text))) => (key, Some(String::from_utf8(text).expect("text"))),
            (Scalar::Int(key), Ok(Output::Null)) => (key, None),
            other => panic!("{other:?}"),
        };
        (0..aggregator.grouping().len()).map(of).collect()
    };
    let mut rows = rows(2000);
    rows.iter_mut().filter(|row| row.0 == 12).for_each(|row| row.1 = None);
    let before: Vec<Option<&str>> = [", ", "", "é"]
        .into_iter()
        .map(Some)
        .chain([None])
        .cycle()
        .take(2000)
        .collect();
    let expected = joined(&rows, &before);
    assert_eq!(expected[&12], None);
    let new = |limit| Aggregator::new(&[Type::Int], &FUNCTIONS, limit).expect("functions");
    for limit in [usize::MAX, 4000, 0] {
        let (mut aggregator, mut found, mut passes) = (new(limit), BTreeMap::new(), 0);
        loop {
            update(&mut aggregator, &rows, &before);
            found.extend(all(&aggregator));
            passes += 1;
            if !aggregator.next_pass() {
                break;
            }
        }
        assert_eq!(passes > 1, limit < usize::MAX);
        assert!(found == expected, "limit {limit}");
    }
    let (mut first, mut second) = (new(usize::MAX), new(usize::MAX));
    update(&mut first, &rows[..990], &before[..990]);
    update(&mut second, &rows[990..], &before[990..]);
    let bytes = second.serialize(false).expect("memory");
    let sent = first.deserialize(&bytes).expect("what was sent");
    first.merge(&sent).expect("groups");
    assert!(all(&first) == expected);
}

#[test]
fn a_group_that_is_too_large_gives_its_values_away() {
    let rows = rows(1000);
    let mut aggregator = Aggregator::new(&[], &FUNCTIONS, 2000).expect("functions");
    let mut taken = Vec::new();
    for part in rows.chunks(100) {
        update(&mut aggregator, part, false);
        if aggregator.is_full() {
            aggregator.take_values(1, |values| {
                taken.extend((0..values.len()).map(|row| format!("{:?}", values.get(row))));
            });
        }
    }
    assert_eq!((aggregator.taken(0), aggregator.taken(1)), (None, Some(0)));
    aggregator.arrange().expect("memory");
    taken.extend(shown(&aggregator, 1, 0));
    let of_all: usize = expected(&rows).values().map(|group| group[1].len()).sum();
    assert_eq!((taken.len(), shown(&aggregator, 0, 0).len()), (of_all, rows.len()));
    aggregator.restart();
    assert_eq!(aggregator.taken(1), None);
}

#[derive(Debug)]
struct Length;

impl Collation for Length {
    fn compare(&self, _key: usize, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        (a.len(), a).cmp(&(b.len(), b))
    }

    fn is_bytewise(&self, key: usize) -> bool {
        key == 1
    }
}

/// The least by length, the least and the greatest by bytes, and the greatest by length, of each group.
#[test]
fn text_is_compared_by_its_collation() {
    use Function::{Max, Min};
    let functions = [Min, Min, Max, Max].map(|function| (function, Some(Type::Text)));
    let collation: Rc<dyn Collation> = Rc::new(Length);
    let new = |keys: &[Type]| {
        let aggregator = Aggregator::new(keys, &functions, usize::MAX).expect("functions");
        aggregator.with_collation(&collation)
    };
    let strings = ["bb", "aaa", "c", "", "zz", "dddd"];
    for (dictionary, nulls) in [(false, false), (false, true), (true, false), (true, true)] {
        for keys in [&[][..], &[Type::Int]] {
            let (mut whole, mut other) = (new(keys), new(keys));
            let batch = |codes: Vec<i64>, to: &mut Aggregator| {
                let groups = Vector::of_words(Type::Int, codes.iter().map(|code| code % 2).collect::<Vec<i64>>());
                let valid = codes.iter().map(|&code| code != 3).collect::<Vec<bool>>();
                let text = Vector {
                    dictionary,
                    valid: nulls.then(|| valid.into()),
                    ..Vector::of_codes(codes, strings.into_iter().collect::<StringTable<'_>>())
                };
                let argument = Some(&text);
                let inputs = [Input {
                    argument,
                    ..Input::default()
                }; 4];
                let keys = if keys.is_empty() {
                    &[]
                } else {
                    std::slice::from_ref(&groups)
                };
                to.update(text.len(), keys, &inputs).expect("rows");
            };
            batch(vec![0, 1, 0, 1, 0, 1, 0, 1, 3], &mut whole);
            batch(vec![2, 3, 4, 5, 4, 5, 2, 3, 4, 5, 2, 3], &mut other);
            let bytes = other.serialize(false).expect("memory");
            let sent = whole.deserialize(&bytes).expect("what was sent");
            whole.merge(&sent).expect("groups");
            for group in 0..whole.grouping().len() {
                let mut of_group: Vec<&str> = (0..6)
                    .filter(|code| keys.is_empty() || code % 2 == group)
                    .filter(|&code| !nulls || code != 3)
                    .map(|code| strings[code])
                    .collect();
                of_group.sort_unstable();
                let (least, greatest) = (of_group[0], of_group[of_group.len() - 1]);
                of_group.sort_by_key(|text| text.len());
                let wanted = [of_group[0], least, greatest, of_group[of_group.len() - 1]];
                for (aggregate, wanted) in wanted.into_iter().enumerate() {
                    // Only the second is compared by bytes.
                    if aggregate == 2 {
                        continue;
                    }
                    let found = whole.output(aggregate, group).expect("text");
                    assert_eq!(
                        found,
                        Output::Text(wanted.into()),
                        "{aggregate} of {group}, {dictionary} {nulls}"
                    );
                }
            }
        }
    }
}
