//! The columns answer as binary jsonb does; what that answers is compared to PostgreSQL in the SQL tests.

use proptest::prelude::*;

use crate::testing::leaf;
use crate::{LeafOptions, PathStep, Question, Tag};

/// Values that paths meet: few keys, so that they do.
fn document() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("null".to_string()),
        any::<bool>().prop_map(|b| b.to_string()),
        (-2..4i64).prop_map(|n| n.to_string()),
        (-20..40i64).prop_map(|n| format!("{}.{}", n / 10, n.unsigned_abs() % 10)),
        proptest::sample::select(vec![
            "1.00",
            "1e30",
            "-1e30",
            "9223372036854775808",
            "1.000000000000000000000000001",
        ])
        .prop_map(str::to_string),
        proptest::sample::select(vec!["", "x", "xy", "y", "é"]).prop_map(|s| format!("{s:?}")),
        Just("{}".to_string()),
        Just("[]".to_string()),
    ];
    scalar.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            1 => proptest::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            2 => proptest::collection::vec((key(), inner), 0..4).prop_map(|fields| {
                let fields: Vec<_> = fields.iter().map(|(key, value)| format!("{key:?}:{value}")).collect();
                format!("{{{}}}", fields.join(","))
            }),
        ]
    })
}

fn key() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec!["a", "b", "c", "rare"])
}

fn literal() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "null",
        "true",
        "false",
        "0",
        "1",
        "1.0",
        "-0.5",
        "1000000000000000000000000000000",
        "9223372036854775808",
        "\"\"",
        "\"x\"",
        "\"é\"",
    ])
}

/// Steps without filters, then a filter or not, and steps again.
fn path(start: &'static str, filter: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    let step = prop_oneof![
        3 => key().prop_map(|key| format!(".{key:?}")),
        2 => Just("[*]".to_string()),
        1 => proptest::sample::select(vec!["[0]", "[1]", "[last]"]).prop_map(str::to_string),
    ];
    let steps = || proptest::collection::vec(step.clone(), 0..3).prop_map(|steps| steps.concat());
    (steps(), proptest::option::of(filter), steps()).prop_map(move |(before, filter, after)| match filter {
        Some(filter) => format!("{start}{before}?({filter}){after}"),
        None => format!("{start}{before}"),
    })
}

/// Conditions as `jsonpath_out` writes them; `deep`: with filters so deep.
fn condition(start: &'static str, deep: usize) -> BoxedStrategy<String> {
    let filter = match deep {
        0 => Just("@ == 1".to_string()).boxed(),
        _ => prop_oneof![4 => condition("@", deep - 1), 1 => condition("$", deep - 1)].boxed(),
    };
    let operator = proptest::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let leaf = prop_oneof![
        4 => (path(start, filter.clone()), operator.clone(), literal()).prop_map(|(path, op, l)| format!("{path} {op} {l}")),
        1 => (path(start, filter.clone()), operator, literal()).prop_map(|(path, op, l)| format!("{l} {op} {path}")),
        1 => path(start, filter.clone()).prop_map(|path| format!("{path} starts with \"x\"")),
        2 => path(start, filter).prop_map(|path| format!("exists ({path})")),
    ];
    leaf.prop_recursive(2, 4, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(({a}) && ({b}))")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(({a}) || ({b}))")),
            inner.clone().prop_map(|a| format!("!({a})")),
            inner.prop_map(|a| format!("({a}) is unknown")),
        ]
    })
    .boxed()
}

fn question() -> impl Strategy<Value = Question> {
    prop_oneof![
        condition("$", 2).prop_map(|text| Question::path_matches(&text).expect(&text)),
        path("$", condition("@", 2)).prop_map(|text| Question::path_exists(&text).expect(&text)),
    ]
}

fn check(documents: &[String], copies: usize, path: &[PathStep], questions: &[Question]) {
    let rows = documents.iter().flat_map(|text| vec![text.as_str(); copies]);
    let leaf = leaf(rows, LeafOptions::default());
    for question in questions {
        let Question::Condition(condition, text) = question else {
            panic!("another question");
        };
        let dense = leaf.ask(0, path, question).expect("answers");
        for (at, document) in documents.iter().enumerate() {
            let payload = amax_jsonb::json::parse(document).expect("JSON");
            let value = crate::path::inside(&payload, path).expect("jsonb");
            let truth = value.and_then(|value| super::json::holds(condition, value).expect("jsonb").known());
            let expected = match truth {
                Some(truth) => (Tag::Bool, i64::from(truth)),
                None => (Tag::Missing, 0),
            };
            let row = at * copies;
            let word = if dense.tag(row).has_word() { dense.word(row) } else { 0 };
            assert_eq!((dense.tag(row), word), expected, "{text} at {path:?} of {document}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    // With few rows all of it is in overflow columns, with many in columns of its own.
    #[test]
    fn columns_answer_as_jsonb(
        documents in proptest::collection::vec(document(), 1..8),
        questions in proptest::collection::vec(question(), 1..16),
        copies in proptest::sample::select(vec![1usize, 3, 60]),
        below in any::<bool>(),
    ) {
        let path = if below { vec![PathStep::Key(b"a".to_vec())] } else { Vec::new() };
        check(&documents, copies, &path, &questions);
    }
}
