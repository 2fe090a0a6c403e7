//! Aggregation against a plain model: any types, batches, FILTERs, limits of memory and numbers of workers.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use amax_exec::{Aggregator, Direction, Function, Input, LARGE, Output, Scalar, StringTable, Type, Vector};
use amax_jsonb::numeric;
use num_bigint::BigInt;
use proptest::prelude::*;
use proptest::sample::select;

/// A value; numerics in text.
#[derive(Clone, Debug)]
enum Val {
    Bool(bool),
    Int(i64),
    Float(f64),
    Numeric(String),
    Text(Vec<u8>),
}

const TYPES: [Type; 5] = [Type::Bool, Type::Int, Type::Float, Type::Numeric, Type::Text];

fn ints() -> impl Strategy<Value = i64> {
    prop_oneof![3 => -3..4_i64, 1 => any::<i64>(), 1 => select(vec![i64::MIN, i64::MAX])]
}

/// Their sums are exact, in whatever order.
fn floats() -> impl Strategy<Value = f64> {
    let negative_nan = f64::from_bits(0xFFF8_0000_0000_0001);
    prop_oneof![
        8 => (-8..8_i32).prop_map(|half| f64::from(half) / 2.0),
        2 => select(vec![0.0, -0.0]),
        1 => select(vec![f64::NAN, negative_nan, f64::INFINITY, f64::NEG_INFINITY]),
    ]
}

fn numerics() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => select(vec!["0", "0.00", "1", "1.0", "1.00", "-1", "-1.000", "10", "10.5", "0.001", "-0.001"])
            .prop_map(String::from),
        4 => select(vec![
            "9223372036854775807", "-9223372036854775808", "-9223372036854775809", "0.000000000000000000001",
            "1.00000000000000000000", "1000000000000000000000000000000000000000", "-99999999999999999999.9999",
            "1.2345678901234567890123456789", "99999999.99999999999999999999999999999999999",
        ]).prop_map(String::from),
        2 => "-?[1-9][0-9]{0,45}(\\.[0-9]{1,45})?",
        1 => select(vec!["NaN", "Infinity", "-Infinity"]).prop_map(String::from),
    ]
}

fn texts() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        2 => select(vec![&b""[..], b"a", b"ab", b"b", b"\xFF"]).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ]
}

fn values(ty: Type) -> BoxedStrategy<Val> {
    match ty {
        Type::Bool => any::<bool>().prop_map(Val::Bool).boxed(),
        Type::Int => ints().prop_map(Val::Int).boxed(),
        Type::Float => floats().prop_map(Val::Float).boxed(),
        Type::Numeric => numerics().prop_map(Val::Numeric).boxed(),
        Type::Text => texts().prop_map(Val::Text).boxed(),
    }
}

/// A value of each key and of each of `TYPES`, and what FILTER says.
#[derive(Clone, Debug)]
struct Row {
    keys: Vec<Option<Val>>,
    arguments: Vec<Option<Val>>,
    filter: bool,
}

fn optional(ty: Type, nulls: bool) -> BoxedStrategy<Option<Val>> {
    if nulls {
        prop::option::weighted(0.8, values(ty)).boxed()
    } else {
        values(ty).prop_map(Some).boxed()
    }
}

#[derive(Clone, Debug)]
struct Case {
    keys: Vec<Type>,
    rows: Vec<Row>,
    batch: usize,
    dictionary: bool,
    /// Numerics that fit a word are payloads all the same.
    payloads: bool,
    limit: usize,
    /// Whether passes are by the only key's order, and read what they need.
    order: Option<Direction>,
    workers: usize,
}

fn cases() -> impl Strategy<Value = Case> {
    let keys = prop::collection::vec(select(TYPES.to_vec()), 0..4);
    let keys = prop_oneof![3 => keys, 1 => Just(vec![Type::Int])];
    (keys, any::<bool>()).prop_flat_map(|(keys, nulls)| {
        let key_values: Vec<_> = keys.iter().map(|&ty| optional(ty, nulls)).collect();
        let arguments: Vec<_> = TYPES.iter().map(|&ty| optional(ty, nulls)).collect();
        let row = (key_values, arguments, any::<bool>()).prop_map(|(keys, arguments, filter)| Row {
            keys,
            arguments,
            filter,
        });
        let limit = prop_oneof![Just(usize::MAX), Just(0), 200..30_000_usize];
        (
            prop::collection::vec(row, 0..120),
            1..60_usize,
            any::<bool>(),
            any::<bool>(),
            limit,
            select(vec![None, Some(Direction::Up), Some(Direction::Down)]),
            0..4_usize,
        )
            .prop_map(move |(rows, batch, dictionary, payloads, limit, order, workers)| Case {
                keys: keys.clone(),
                rows,
                batch,
                dictionary,
                payloads,
                limit,
                order,
                workers,
            })
    })
}

fn vector(ty: Type, values: &[&Option<Val>], case: &Case) -> Vector<'static> {
    let mut words = Vec::new();
    let mut scales = Vec::new();
    let mut strings: Vec<Vec<u8>> = Vec::new();
    let mut index = |string: &[u8]| {
        let found = strings.iter().position(|other| other == string);
        if let (true, Some(at)) = (case.dictionary, found) {
            return at as i64;
        }
        strings.push(string.to_vec());
        strings.len() as i64 - 1
    };
    for value in values {
        let (word, scale) = match value {
            None => (0x5555_5555_5555, 7), // of a NULL row it may be anything
            Some(Val::Bool(value)) => (i64::from(*value), 0),
            Some(Val::Int(value)) => (*value, 0),
            Some(Val::Float(value)) => (value.to_bits() as i64, 0),
            Some(Val::Text(value)) => (index(value), 0),
            Some(Val::Numeric(text)) => {
                let payload = numeric::from_text(text).expect("numeric");
                match numeric::decode(&payload) {
                    Some(numeric::Number::Int(value)) if !case.payloads => (value, 0),
                    Some(numeric::Number::Decimal { mantissa, scale }) if !case.payloads => (mantissa, scale),
                    _ => (index(&payload), LARGE),
                }
            }
        };
        words.push(word);
        scales.push(scale);
    }
    let valid: Vec<bool> = values.iter().map(|value| value.is_some()).collect();
    Vector {
        scales: (ty == Type::Numeric && scales.iter().any(|&scale| scale > 0)).then(|| scales.into()),
        valid: valid.contains(&false).then(|| valid.into()),
        strings: matches!(ty, Type::Text | Type::Numeric).then(|| strings.iter().collect::<StringTable>()),
        dictionary: case.dictionary,
        ..Vector::of_words(ty, words)
    }
}

fn functions() -> Vec<(Function, Option<Type>)> {
    use Function as F;
    use Type as T;
    let mut functions = vec![(F::Count, None)];
    for ty in TYPES {
        functions.push((F::Count, Some(ty)));
        functions.push((F::CountDistinct, Some(ty)));
        if ty != T::Bool {
            functions.push((F::Min, Some(ty)));
            functions.push((F::Max, Some(ty)));
        }
    }
    for ty in [T::Int, T::Float, T::Numeric] {
        functions.push((F::Sum, Some(ty)));
    }
    functions.push((F::SumFloat4, Some(T::Float)));
    functions.push((F::Accumulate, Some(T::Int)));
    functions.push((F::Accumulate, Some(T::Float)));
    functions.push((F::Accumulate, Some(T::Numeric)));
    functions.push((F::BoolAnd, Some(T::Bool)));
    functions.push((F::BoolOr, Some(T::Bool)));
    functions.extend([F::BitAnd, F::BitOr, F::BitXor].map(|function| (function, Some(T::Int))));
    functions.push((F::Pairs, Some(T::Float)));
    functions
}

/// Every other function has the FILTER.
fn filtered(function: usize) -> bool {
    function % 2 == 1
}

fn argument(ty: Option<Type>) -> Option<usize> {
    ty.map(|ty| TYPES.iter().position(|&other| other == ty).expect("type"))
}

// The model.

/// An exact finite numeric.
fn exact(text: &str) -> (BigInt, u32) {
    let scale = text.find('.').map_or(0, |at| text.len() - at - 1);
    let digits = text.replace('.', "");
    (digits.parse().expect("digits"), scale as u32)
}

fn scaled((value, scale): &(BigInt, u32), to: u32) -> BigInt {
    value * BigInt::from(10).pow(to - scale)
}

fn compare_numerics(left: &str, right: &str) -> Ordering {
    let rank = |text: &str| match text {
        "-Infinity" => 0,
        "Infinity" => 2,
        "NaN" => 3,
        _ => 1,
    };
    rank(left).cmp(&rank(right)).then_with(|| {
        if rank(left) != 1 {
            return Ordering::Equal;
        }
        let (left, right) = (exact(left), exact(right));
        let scale = left.1.max(right.1);
        scaled(&left, scale).cmp(&scaled(&right, scale))
    })
}

fn show_scaled(value: &BigInt, scale: u32) -> String {
    let negative = value < &BigInt::from(0);
    let digits = value.magnitude().to_string();
    let digits = format!("{digits:0>width$}", width = scale as usize + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
    let point = if scale > 0 { "." } else { "" };
    format!("{}{whole}{point}{fraction}", if negative { "-" } else { "" })
}

fn compare(left: &Val, right: &Val) -> Ordering {
    match (left, right) {
        (Val::Bool(left), Val::Bool(right)) => left.cmp(right),
        (Val::Int(left), Val::Int(right)) => left.cmp(right),
        (Val::Text(left), Val::Text(right)) => left.cmp(right),
        (Val::Numeric(left), Val::Numeric(right)) => compare_numerics(left, right),
        (Val::Float(left), Val::Float(right)) => match (left.is_nan(), right.is_nan()) {
            (false, false) => left.partial_cmp(right).expect("ordered"),
            (left, right) => left.cmp(&right),
        },
        _ => panic!("types differ"),
    }
}

/// With PostgreSQL's order, NULL first.
#[derive(Clone, Debug)]
struct Key(Vec<Option<Val>>);

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let pairs = self.0.iter().zip(&other.0);
        pairs
            .map(|pair| match pair {
                (Some(left), Some(right)) => compare(left, right),
                (left, right) => left.is_some().cmp(&right.is_some()),
            })
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}

/// As PostgreSQL shows it, with NaN's sign lost and -0 kept.
fn show(value: &Option<Val>) -> String {
    match value {
        None => "NULL".into(),
        Some(Val::Float(value)) if value.is_nan() => "NaN".into(),
        Some(Val::Float(value)) => format!("{value:?}"),
        Some(Val::Numeric(text)) => text.clone(),
        Some(value) => format!("{value:?}"),
    }
}

fn show_scalar(scalar: Scalar<'_>) -> String {
    let number = |mantissa, scale| {
        let mut payload = Vec::new();
        numeric::encode_decimal(mantissa, scale, &mut payload).expect("scale");
        numeric::to_text(&payload).expect("numeric")
    };
    show(&match scalar {
        Scalar::Null => None,
        Scalar::Bool(value) => Some(Val::Bool(value)),
        Scalar::Int(value) => Some(Val::Int(value)),
        Scalar::Float(value) => Some(Val::Float(value)),
        Scalar::Decimal { mantissa, scale } => Some(Val::Numeric(number(mantissa, scale))),
        Scalar::Numeric(payload) => Some(Val::Numeric(numeric::to_text(payload).expect("numeric"))),
        Scalar::Text(value) => Some(Val::Text(value.to_vec())),
    })
}

/// What a function gives for the values of a group, those that are not NULL and pass FILTER, in order.
fn expected(function: Function, values: &[Val], parallel: bool) -> String {
    let floats = || {
        values.iter().map(|value| match value {
            Val::Float(value) => *value,
            _ => panic!("not a float"),
        })
    };
    let numerics = || -> Vec<&str> {
        fn text(value: &Val) -> &str {
            match value {
                Val::Numeric(text) => text.as_str(),
                _ => panic!("not a numeric"),
            }
        }
        values.iter().map(text).collect()
    };
    let extreme = |worse: Ordering| {
        let best = values.iter().fold(None, |best: Option<&Val>, value| {
            let stays = best.is_some_and(|best| compare(best, value) == worse);
            if stays { best } else { Some(value) }
        });
        show(&best.cloned())
    };
    if values.is_empty() && !matches!(function, Function::Count | Function::CountDistinct) {
        return "NULL".into();
    }
    match function {
        Function::Count => values.len().to_string(),
        Function::CountDistinct => {
            let keys = values.iter().map(|value| Key(vec![Some(value.clone())]));
            keys.collect::<BTreeSet<_>>().len().to_string()
        }
        Function::Min => extreme(Ordering::Less),
        Function::Max => extreme(Ordering::Greater),
        Function::BoolAnd => values.iter().all(|value| matches!(value, Val::Bool(true))).to_string(),
        Function::BoolOr => values.iter().any(|value| matches!(value, Val::Bool(true))).to_string(),
        Function::BitAnd => bits(values, |a, b| a & b),
        Function::BitOr => bits(values, |a, b| a | b),
        Function::BitXor => bits(values, |a, b| a ^ b),
        Function::Pairs => expected(Function::Accumulate, values, true),
        Function::Concat | Function::Values { .. } => unreachable!("tests/collect.rs has them"),
        Function::SumFloat4 => show(&Some(Val::Float(floats().sum()))),
        Function::Accumulate if matches!(values[0], Val::Int(_)) => {
            let ints = || values.iter().map(int);
            let squares = ints().map(|value| BigInt::from(value) * value).sum::<BigInt>();
            format!("{} and {squares} of {}", ints().sum::<i128>(), values.len())
        }
        Function::Accumulate if matches!(values[0], Val::Numeric(_)) => {
            let texts = numerics();
            format!("{} and {}", sum_of_numerics(&texts), squares_of_numerics(&texts))
        }
        Function::Accumulate => {
            let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
            for value in floats() {
                n += 1.0;
                sum += value;
                if n > 1.0 {
                    let difference: f64 = value * n - sum;
                    squares += difference * difference / (n * (n - 1.0));
                }
                if !sum.is_finite() {
                    squares = f64::NAN;
                }
            }
            accumulated(n, sum, squares, parallel)
        }
        Function::Sum => match values[0] {
            Val::Float(_) => show(&Some(Val::Float(floats().reduce(|a, b| a + b).expect("one")))),
            Val::Int(_) => format!("{} of {}", values.iter().map(int).sum::<i128>(), values.len()),
            _ => {
                let texts = numerics();
                sum_of_numerics(&texts)
            }
        },
    }
}

fn bits(values: &[Val], fold: fn(i128, i128) -> i128) -> String {
    let folded = values.iter().map(int).reduce(fold);
    show(&folded.map(|value| Val::Int(value as i64)))
}

fn int(value: &Val) -> i128 {
    match value {
        Val::Int(value) => i128::from(*value),
        _ => panic!("not an integer"),
    }
}

fn squares_of_numerics(texts: &[&str]) -> String {
    let finite = texts.iter().filter(|text| !text.contains('N') && !text.contains('I'));
    let squares: Vec<_> = finite
        .map(|text| exact(text))
        .map(|(mantissa, scale)| (&mantissa * &mantissa, 2 * scale))
        .collect();
    match squares.iter().map(|square| square.1).max() {
        Some(scale) => show_scaled(&squares.iter().map(|square| scaled(square, scale)).sum(), scale),
        None => "none".into(),
    }
}

fn sum_of_numerics(texts: &[&str]) -> String {
    let has = |what: &str| texts.contains(&what);
    let finite: Vec<_> = texts
        .iter()
        .filter(|text| !text.contains('N') && !text.contains('I'))
        .map(|text| exact(text))
        .collect();
    let sum = if has("NaN") || (has("Infinity") && has("-Infinity")) {
        "NaN".into()
    } else if has("Infinity") {
        "Infinity".into()
    } else if has("-Infinity") {
        "-Infinity".into()
    } else {
        let scale = finite.iter().map(|number| number.1).max().expect("one");
        let sum = finite.iter().map(|number| scaled(number, scale)).sum();
        show_scaled(&sum, scale)
    };
    format!("{sum} of {}", finite.len())
}

fn accumulated(count: f64, sum: f64, squares: f64, parallel: bool) -> String {
    let squares = match squares {
        _ if parallel => "?".into(), // depends on how rows are spread
        squares if squares.is_nan() => "NaN".into(),
        squares => format!("{squares:?}"),
    };
    format!("{count} {} {squares}", show(&Some(Val::Float(sum))))
}

fn show_output(output: Output, parallel: bool) -> String {
    let text = |payload: &[u8]| numeric::to_text(payload).expect("numeric");
    match output {
        Output::Null => "NULL".into(),
        Output::Count(count) => count.to_string(),
        Output::Int(value) => show(&Some(Val::Int(value))),
        Output::Bool(value) => value.to_string(),
        Output::Float(value) => show(&Some(Val::Float(value))),
        Output::Numeric(payload) => text(&payload),
        Output::Text(value) => show(&Some(Val::Text(value))),
        Output::IntSum { sum, count } => format!("{sum} of {count}"),
        Output::Moments { count, sum, squares } => {
            let squares = (BigInt::from(squares[0]) << 64) + squares[1];
            format!("{sum} and {squares} of {count}")
        }
        Output::NumericSum { sum, count } => format!("{} of {count}", text(&sum)),
        Output::NumericMoments {
            count, sum, squares, ..
        } => {
            let squares = if squares.is_empty() {
                "none".into()
            } else {
                text(&squares)
            };
            format!("{} of {count} and {squares}", text(&sum))
        }
        Output::Accumulated { count, sum, squares } => accumulated(count, sum, squares, parallel),
        Output::Pairs([count, x, squares, y, of_y, products]) => {
            assert_eq!(format!("{x} {squares} {squares}"), format!("{y} {of_y} {products}"));
            accumulated(count, x, squares, true)
        }
    }
}

/// Each group's keys as first seen, and the results.
type Groups = BTreeMap<Key, (Vec<String>, Vec<String>)>;

fn model(case: &Case) -> Groups {
    let mut groups: BTreeMap<Key, Vec<&Row>> = BTreeMap::new();
    if case.keys.is_empty() {
        groups.insert(Key(Vec::new()), Vec::new());
    }
    for row in &case.rows {
        let rows = groups.entry(Key(row.keys.clone())).or_default();
        rows.push(row);
    }
    let results = |(key, rows): (Key, Vec<&Row>)| {
        let shown = key.0.iter().map(show).collect();
        let results = functions().into_iter().enumerate().map(|(i, (function, ty))| {
            let rows = rows.iter().filter(|row| !filtered(i) || row.filter);
            let values: Vec<Val> = match argument(ty) {
                None => rows.map(|_| Val::Bool(true)).collect(),
                Some(at) => rows.filter_map(|row| row.arguments[at].clone()).collect(),
            };
            expected(function, &values, case.workers > 0)
        });
        let results = results.collect();
        (key, (shown, results))
    };
    groups.into_iter().map(results).collect()
}

fn add(aggregator: &mut Aggregator, rows: &[Row], case: &Case) {
    let functions = functions();
    for rows in rows.chunks(case.batch) {
        let keys: Vec<_> = (0..case.keys.len())
            .map(|at| {
                let values: Vec<_> = rows.iter().map(|row| &row.keys[at]).collect();
                vector(case.keys[at], &values, case)
            })
            .collect();
        let arguments: Vec<_> = (0..TYPES.len())
            .map(|at| {
                let values: Vec<_> = rows.iter().map(|row| &row.arguments[at]).collect();
                vector(TYPES[at], &values, case)
            })
            .collect();
        let filter: Vec<bool> = rows.iter().map(|row| row.filter).collect();
        let inputs: Vec<_> = functions
            .iter()
            .enumerate()
            .map(|(i, (function, ty))| Input {
                argument: argument(*ty).map(|at| &arguments[at]),
                // Of two that are the same.
                second: argument(*ty)
                    .filter(|_| *function == Function::Pairs)
                    .map(|at| &arguments[at]),
                filter: filtered(i).then_some(&filter[..]),
            })
            .collect();
        aggregator.update(rows.len(), &keys, &inputs).expect("update");
    }
}

/// Of a pass after the first, without the leaves that it does not need when their turn comes.
fn scan_needed(aggregator: &mut Aggregator, rows: &[Row], case: &Case) {
    let mut passed_over = Vec::new();
    for leaf in rows.chunks(case.batch) {
        let keys = leaf.iter().filter_map(|row| match row.keys[0] {
            Some(Val::Int(key)) => Some(key),
            _ => None,
        });
        let (least, most) = (keys.clone().min().expect("rows"), keys.max().expect("rows"));
        match aggregator.words() {
            Some((first, last)) if most < first || last < least => passed_over.push((least, most)),
            _ => add(aggregator, leaf, case),
        }
    }
    passed_over
        .into_iter()
        .for_each(|(least, most)| aggregator.pass_over(least, most));
}

/// One pass over all rows: the first share in the aggregator itself, the others in workers.
fn scan(aggregator: &mut Aggregator, case: &Case) {
    let words = aggregator.words();
    let needed = |row: &&Row| match (words, &row.keys[..]) {
        (Some((first, last)), [Some(Val::Int(key))]) => (first..=last).contains(key),
        (Some(_), _) => false,
        (None, _) => true,
    };
    let rows: Vec<Row> = case.rows.iter().filter(needed).cloned().collect();
    if words.is_some() && case.workers == 0 {
        return scan_needed(aggregator, &rows, case);
    }
    let share = rows.len().div_ceil(case.workers + 1).max(1);
    let mut shares = rows.chunks(share);
    add(aggregator, shares.next().unwrap_or(&[]), case);
    for rows in shares {
        let mut worker = unlimited(case);
        // It sends what it has, and goes on with nothing.
        let (some, others) = rows.split_at(rows.len() / 3);
        for rows in [some, others] {
            add(&mut worker, rows, case);
            let sent = aggregator
                .deserialize(&worker.serialize(false).unwrap())
                .expect("deserialize");
            aggregator.merge(&sent).expect("merge");
            worker.restart();
        }
    }
}

fn new(case: &Case) -> Aggregator {
    Aggregator::new(&case.keys, &functions(), case.limit).expect("functions")
}

fn unlimited(case: &Case) -> Aggregator {
    Aggregator::new(&case.keys, &functions(), usize::MAX).expect("functions")
}

/// The groups, and how many passes they took.
fn run(case: &Case) -> (Groups, usize) {
    let mut aggregator = new(case);
    aggregator.take_in_order(case.order);
    let mut groups = Groups::new();
    let mut passes = 0;
    loop {
        loop {
            scan(&mut aggregator, case);
            passes += 1;
            assert!(passes < 10_000, "passes do not end");
            if !aggregator.scan_again() {
                break;
            }
        }
        let grouping = aggregator.grouping();
        let keys: Vec<_> = (0..case.keys.len()).map(|at| grouping.keys(at)).collect();
        for group in 0..grouping.len() {
            let shown: Vec<_> = keys.iter().map(|key| show_scalar(key.get(group))).collect();
            for (column, shown) in shown.iter().enumerate() {
                assert_eq!(shown, &show_scalar(grouping.key(column, group)));
            }
            let key = keys.iter().map(|key| value(key.get(group))).collect();
            let results = (0..functions().len())
                .map(|at| {
                    let output = aggregator.output(at, group).expect("output");
                    show_output(output, case.workers > 0)
                })
                .collect();
            let before = groups.insert(Key(key), (shown, results));
            assert!(before.is_none(), "a group came twice");
        }
        if !aggregator.next_pass() {
            return (groups, passes);
        }
    }
}

fn value(scalar: Scalar<'_>) -> Option<Val> {
    Some(match scalar {
        Scalar::Null => return None,
        Scalar::Bool(value) => Val::Bool(value),
        Scalar::Int(value) => Val::Int(value),
        Scalar::Float(value) => Val::Float(value),
        Scalar::Text(value) => Val::Text(value.to_vec()),
        scalar => Val::Numeric(show_scalar(scalar)),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn as_the_model(case in cases()) {
        let (groups, passes) = run(&case);
        let model = model(&case);
        prop_assert_eq!(groups.keys().collect::<Vec<_>>(), model.keys().collect::<Vec<_>>());
        for ((shown, results), (model_shown, model_results)) in groups.values().zip(model.values()) {
            prop_assert_eq!(shown, model_shown);
            for (i, function) in functions().iter().enumerate() {
                prop_assert_eq!(&results[i], &model_results[i], "{:?} of {:?}", function, shown);
            }
        }
        prop_assert!(case.limit != usize::MAX || passes == 1);
    }

    #[test]
    fn damaged_bytes_are_refused_or_merged(case in cases(), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut worker = unlimited(&case);
        add(&mut worker, &case.rows, &case);
        let mut bytes = worker.serialize(false).unwrap();
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let mut aggregator = unlimited(&case);
        if let Ok(sent) = aggregator.deserialize(&bytes) {
            let _ = aggregator.merge(&sent);
            for group in 0..aggregator.grouping().len() {
                for function in 0..functions().len() {
                    let _ = aggregator.output(function, group);
                }
            }
        }
    }
}
