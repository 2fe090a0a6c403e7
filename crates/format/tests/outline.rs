//! The outline of leaves against one made from the documents themselves.

use std::collections::BTreeMap;

use amax_format::*;
use amax_jsonb::Value as Json;
use proptest::prelude::*;

/// A step of a path, in the order of lines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Element,
    Key(usize, String),
}

#[derive(Default)]
struct Seen {
    types: BTreeMap<&'static str, u64>,
    empty_arrays: u64,
    leaves: std::collections::BTreeSet<usize>,
}

fn see(value: &Json<'_>, leaf: usize, at: &mut Vec<Step>, seen: &mut BTreeMap<Vec<Step>, Seen>) {
    let here = seen.entry(at.clone()).or_default();
    let name = match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Numeric(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    };
    *here.types.entry(name).or_default() += 1;
    here.leaves.insert(leaf);
    match value {
        Json::Array(array) => {
            here.empty_arrays += u64::from(array.is_empty());
            for element in array.elements() {
                at.push(Step::Element);
                see(&element.unwrap(), leaf, at, seen);
                at.pop();
            }
        }
        Json::Object(object) => {
            for pair in object.pairs() {
                let (key, value) = pair.unwrap();
                at.push(Step::Key(key.len(), String::from_utf8(key.to_vec()).unwrap()));
                see(&value, leaf, at, seen);
                at.pop();
            }
        }
        _ => {}
    }
}

/// The lines that rows of several leaves must give. Keys here need no quotes.
fn expected(leaves: &[Vec<Option<String>>]) -> Vec<Line> {
    let mut seen = BTreeMap::new();
    seen.insert(Vec::new(), Seen::default());
    for (number, rows) in leaves.iter().enumerate() {
        for text in rows.iter().flatten() {
            let payload = amax_jsonb::json::parse(text).unwrap();
            see(&amax_jsonb::root(&payload).unwrap(), number, &mut Vec::new(), &mut seen);
        }
    }
    let of = |at: &[Step], name: &str| seen[at].types.get(name).copied().unwrap_or(0);
    let lines = seen.iter().map(|(at, here)| {
        let values = here.types.values().sum();
        let (parents, optional) = match at.split_last() {
            None => {
                let rows = leaves.iter().map(Vec::len).sum::<usize>() as u64;
                (rows, values < rows)
            }
            Some((Step::Element, above)) => (of(above, "array"), seen[above].empty_arrays > 0),
            Some((Step::Key(..), above)) => {
                let objects = of(above, "object");
                (objects, values < objects)
            }
        };
        let steps = at.iter().map(|step| match step {
            Step::Element => "[*]".to_owned(),
            Step::Key(_, key) => format!(".{key}"),
        });
        let order = ["null", "boolean", "number", "string", "array", "object"];
        let mut types: Vec<_> = order
            .into_iter()
            .filter_map(|name| Some((name, *here.types.get(name)?)))
            .collect();
        types.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        Line {
            path: format!("${}", steps.collect::<String>()),
            depth: at.len() as u32,
            types,
            values,
            parents,
            optional,
            leaves: here.leaves.len() as u32,
        }
    });
    match leaves.iter().all(Vec::is_empty) {
        true => Vec::new(),
        false => lines.collect(),
    }
}

fn outline(leaves: &[Vec<Option<String>>], options: LeafOptions) -> Vec<Line> {
    let mut outline = Outline::default();
    for rows in leaves {
        let mut builder = LeafBuilder::new(&[ColumnType::Json], options);
        for (i, text) in rows.iter().enumerate() {
            let payload = text.as_ref().map(|text| amax_jsonb::json::parse(text).unwrap());
            let value = payload.as_deref().map_or(Value::Null, Value::Bytes);
            builder.push(i as u64 + 1, &[value]).unwrap();
        }
        let image = builder.finish().unwrap();
        let len = image.len() as u64;
        outline.add_leaf(&Leaf::open(image, len).unwrap(), 0).unwrap();
    }
    outline.into_lines().collect()
}

fn document() -> impl Strategy<Value = String> {
    let scalar = prop::sample::select(vec!["null", "true", "1", "1.50", "1e400", r#""s""#, "{}", "[]"]);
    let key = prop::sample::select(vec!["a", "b", "c", "dd", "eee", "z"]);
    scalar.prop_map(str::to_owned).prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|v| format!("[{}]", v.join(","))),
            prop::collection::btree_map(key.clone(), inner, 0..5).prop_map(|m| {
                let pairs: Vec<String> = m.into_iter().map(|(k, v)| format!("{k:?}:{v}")).collect();
                format!("{{{}}}", pairs.join(","))
            }),
        ]
    })
}

fn options(path_cap: usize, min_path_values: usize) -> LeafOptions {
    LeafOptions {
        path_cap,
        min_path_values,
        ..LeafOptions::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_the_documents_say(
        leaves in prop::collection::vec(prop::collection::vec(prop::option::weighted(0.9, document()), 0..12), 0..4),
        cap in 0usize..30,
        min in 1usize..6,
    ) {
        prop_assert_eq!(outline(&leaves, options(cap, min)), expected(&leaves));
    }
}

#[test]
fn documents_nested_more_deeply_than_columns() {
    let nested = |depth: usize| format!("{}[]{}", r#"[{"a":"#.repeat(depth), "}]".repeat(depth));
    let leaves = vec![vec![Some(nested(3)), Some(nested(300)), None]];
    for min in [1, 48] {
        assert_eq!(outline(&leaves, options(4000, min)), expected(&leaves));
    }
}

#[test]
fn leaves_without_the_column() {
    let payload = amax_jsonb::json::parse(r#"{"a":[1,[]]}"#).unwrap();
    let mut added = Outline::default();
    added.add_same(3, Some(&payload)).unwrap();
    added.add_same(2, None).unwrap();
    let same = vec![Some(r#"{"a":[1,[]]}"#.to_owned()); 3];
    assert_eq!(added.into_lines().collect::<Vec<_>>(), expected(&[same, vec![None; 2]]));
    assert_eq!(Outline::default().into_lines().count(), 0);
}

#[test]
fn keys_that_need_quotes() {
    let leaves = [vec![Some(r#"{"a b": {"": 1}}"#.to_owned())]];
    let paths: Vec<_> = outline(&leaves, LeafOptions::default())
        .into_iter()
        .map(|line| line.path)
        .collect();
    assert_eq!(paths, ["$", r#"$."a b""#, r#"$."a b"."""#]);
}
