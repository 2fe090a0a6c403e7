//! What is unusual in size or shape, and what is refused.

use amax_format::*;

fn roundtrip(docs: &[Vec<u8>], options: LeafOptions) -> Vec<ColumnInfo> {
    let mut builder = LeafBuilder::new(&[ColumnType::Json], options);
    for (i, doc) in docs.iter().enumerate() {
        builder.push(i as u64, &[Value::Bytes(doc)]).unwrap();
    }
    let image = builder.finish().unwrap();
    let (column, columns) = holds(&image, docs);
    // Behind others that were shredded or copied, of which there may be too many keys by then.
    let keys = (0..3 * docs.len() as u64).map(|key| (key, false));
    let mut copied = VerticalBuilder::new(keys, 1, options).unwrap();
    let mut builder = copied.column(ColumnType::Json);
    let rows: Vec<u32> = (0..docs.len() as u32).collect();
    builder.append(&column, &rows).unwrap();
    for doc in docs {
        builder.push(Value::Bytes(doc)).unwrap();
    }
    builder.append(&column, &rows).unwrap();
    copied.add(builder).unwrap();
    holds(&copied.finish().unwrap(), &[docs, docs, docs].concat());
    columns
}

/// The column of a leaf of these documents, and what columns that has.
fn holds(image: &[u8], docs: &[Vec<u8>]) -> (Column, Vec<ColumnInfo>) {
    let leaf = Leaf::open(image, image.len() as u64).unwrap();
    assert_eq!(leaf.verify().unwrap(), Vec::<String>::new());
    let column = leaf.column(0).unwrap();
    let mut buf = Vec::new();
    for (i, doc) in docs.iter().enumerate() {
        assert!(
            column.get(i, &mut buf).unwrap() == Value::Bytes(doc),
            "document {i} differs"
        );
    }
    (column, leaf.describe())
}

fn parse(text: &str) -> Vec<u8> {
    amax_jsonb::json::parse(text).unwrap()
}

/// Nesting past what is shredded, and past what overflow tokens nest, stays jsonb.
#[test]
fn deep_nesting() {
    let mut docs = Vec::new();
    for depth in [1, 50, 99, 100, 101, 102, 255, 300, 700] {
        docs.push(parse(&format!("{}1{}", "[".repeat(depth), "]".repeat(depth))));
        docs.push(parse(&format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth))));
        docs.push(parse(&format!(
            "{}1{}",
            "{\"a\":[2,".repeat(depth / 2 + 1),
            "]}".repeat(depth / 2 + 1)
        )));
    }
    for min_path_values in [1, 1000] {
        roundtrip(
            &docs,
            LeafOptions {
                min_path_values,
                ..LeafOptions::default()
            },
        );
    }
    // Into what was kept as jsonb.
    let doc = parse(&format!("{}1{}", "{\"a\":".repeat(120), "}".repeat(120)));
    let mut builder = LeafBuilder::new(&[ColumnType::Json], LeafOptions::default());
    builder.push(1, &[Value::Bytes(&doc)]).unwrap();
    let image = builder.finish().unwrap();
    let leaf = Leaf::open(image.as_slice(), image.len() as u64).unwrap();
    let path = vec![PathStep::Key(b"a".to_vec()); 120];
    assert_eq!(
        leaf.path(0, &path).unwrap().get(0, &mut Vec::new()).unwrap(),
        Some(Scalar::Int(1))
    );
    assert_eq!(leaf.path(0, &path[..119]).unwrap().len(), 1);
}

/// More keys than are inferred: those that come late overflow on their own, at the root and below.
#[test]
fn more_keys_than_are_inferred() {
    let object = |from: usize, to: usize, nested: &str| {
        let pairs: Vec<String> = (from..to).map(|i| format!("\"k{i}\":{i}")).collect();
        parse(&format!("{{\"n\":{{{}}},{}}}", nested, pairs.join(",")))
    };
    let docs = [
        object(0, 70_000, r#""x":1"#),
        object(60_000, 135_000, r#""x":2"#),
        object(130_000, 150_000, r#""late":{"later":[{}, 3]},"x":3"#),
        object(0, 10, r#""late":null,"x":{"y":4}"#),
        parse(r#"{"n":{"w":[{"late":1},{"latest":2},{"z":[]}]}}"#),
    ];
    for (min_path_values, path_cap) in [(1, 4000), (2, 100_000), (9, 4000)] {
        roundtrip(
            &docs,
            LeafOptions {
                min_path_values,
                path_cap,
                ..LeafOptions::default()
            },
        );
    }
}

/// Objects with the same keys as before, with others for some rows, and for many.
#[test]
fn objects_of_few_shapes() {
    let shapes: [fn(usize) -> String; 5] = [
        |i| format!(r#"{{"a":{i},"b":{{"c":"x{i}","d":[{{"e":1}},{{"e":{i}}},{{"f":null}}]}},"long":true}}"#),
        |i| format!(r#"{{"a":"{i}","b":{{"c":"x{i}","d":[{{"e":2}},{{"e":[]}}]}},"long":{{}}}}"#),
        |i| format!(r#"{{"a":{i},"b":{{"c":1.5,"g":{i}}},"lang":false}}"#),
        |i| format!(r#"{{"a":{i},"b":{{"d":{i},"c":1.5}},"long":false,"{}":1}}"#, i % 9),
        |_| "{}".to_string(),
    ];
    let docs: Vec<Vec<u8>> = (0..1200)
        .map(|i| {
            let shape = match i / 100 % 4 {
                0 => 0,
                1 => i % 2,
                2 => i % shapes.len(),
                _ => (i / 9) % shapes.len(),
            };
            parse(&shapes[shape](i))
        })
        .collect();
    for (min_path_values, path_cap) in [(1, 4000), (20, 4000), (1, 5)] {
        roundtrip(
            &docs,
            LeafOptions {
                min_path_values,
                path_cap,
                ..LeafOptions::default()
            },
        );
    }
}

/// The path cap holds, and the most frequent paths are the ones kept.
#[test]
fn path_cap() {
    let docs: Vec<Vec<u8>> = (0..400)
        .map(|i| {
            let rare: Vec<String> = (0..30)
                .filter(|k| i % (k + 2) == 0)
                .map(|k| format!("\"r{k}\":{i}"))
                .collect();
            parse(&format!(
                "{{\"common\":{i},\"o\":{{\"also\":\"{i}\"}}{}{}}}",
                if rare.is_empty() { "" } else { "," },
                rare.join(",")
            ))
        })
        .collect();
    let columns = roundtrip(
        &docs,
        LeafOptions {
            path_cap: 5,
            min_path_values: 1,
            ..LeafOptions::default()
        },
    );
    assert!(columns.len() <= 5, "{} columns", columns.len());
    for path in ["$.common", "$.o.also", "$.**"] {
        assert!(
            columns.iter().any(|c| c.path == path),
            "{path} is not among {columns:?}"
        );
    }
    let all = roundtrip(
        &docs,
        LeafOptions {
            path_cap: 1000,
            min_path_values: 1,
            ..LeafOptions::default()
        },
    );
    assert_eq!(all.len(), 32);
    assert_eq!(all.iter().find(|c| c.path == "$.r0").unwrap().absent, Some(200));
}

/// Many rows of few values: runs, not lists.
#[test]
fn constant_rows_are_small() {
    let doc = parse(r#"{"a":1,"b":"x","c":[1,2,3],"d":null,"e":{},"f":[]}"#);
    let docs = vec![doc; 15_000];
    let mut builder = LeafBuilder::new(&[ColumnType::Json], LeafOptions::default());
    for (i, doc) in docs.iter().enumerate() {
        builder.push(i as u64, &[Value::Bytes(doc)]).unwrap();
    }
    let image = builder.finish().unwrap();
    assert!(image.len() < 12_000, "{} bytes", image.len());
    roundtrip(&docs, LeafOptions::default());
}

#[test]
fn misuse_is_an_error() {
    let mut builder = LeafBuilder::new(&[ColumnType::Int], LeafOptions::default());
    builder.push(5, &[Value::Int(1)]).unwrap();
    assert!(matches!(builder.push(5, &[Value::Int(1)]), Err(Error::Misuse(_))));
    builder.push(6, &[Value::Null]).unwrap();
    assert!(matches!(builder.push(7, &[Value::Bool(true)]), Err(Error::Misuse(_))));
    assert!(matches!(builder.finish(), Err(Error::Misuse(_))));
    let mut builder = LeafBuilder::new(&[ColumnType::Json], LeafOptions::default());
    assert!(builder.push(1, &[Value::Bytes(b"not jsonb")]).is_err());
    let image = LeafBuilder::new(&[ColumnType::Bytes], LeafOptions::default())
        .finish()
        .unwrap();
    let leaf = Leaf::open(image.as_slice(), image.len() as u64).unwrap();
    assert_eq!((leaf.rows(), leaf.column(0).unwrap().len()), (0, 0));
    assert!(matches!(leaf.column(1), Err(Error::Misuse(_))));
    assert!(matches!(leaf.path(0, &[]), Err(Error::Misuse(_))));
    assert!(matches!(
        leaf.column(0).unwrap().get(0, &mut Vec::new()),
        Err(Error::Misuse(_))
    ));
    // No columns at all is a table PostgreSQL allows.
    let mut builder = LeafBuilder::new(&[], LeafOptions::default());
    builder.push(1, &[]).unwrap();
    let image = builder.finish().unwrap();
    assert_eq!(
        Leaf::open(image.as_slice(), image.len() as u64)
            .unwrap()
            .keys()
            .iter()
            .collect::<Vec<_>>(),
        [1]
    );
}

#[test]
fn other_versions_are_named() {
    let mut image = LeafBuilder::new(&[], LeafOptions::default()).finish().unwrap();
    image[8] = 9;
    assert!(matches!(
        Leaf::open(image.as_slice(), image.len() as u64),
        Err(Error::Version(9))
    ));
    image[0] = b'X';
    assert!(matches!(
        Leaf::open(image.as_slice(), image.len() as u64),
        Err(Error::Corrupt(_))
    ));
}

/// 1,600 SQL columns, most of them NULL.
#[test]
fn many_sql_columns() {
    let types = vec![ColumnType::Bytes; 1600];
    let mut builder = LeafBuilder::new(&types, LeafOptions::default());
    for i in 0..100 {
        let mut row = vec![Value::Null; 1600];
        row[i * 16] = Value::Bytes(b"here");
        builder.push(i as u64, &row).unwrap();
    }
    let image = builder.finish().unwrap();
    assert!(image.len() < 16_000, "{} bytes", image.len());
    let leaf = Leaf::open(image.as_slice(), image.len() as u64).unwrap();
    let mut buf = Vec::new();
    for i in 0..100 {
        assert_eq!(
            leaf.column(i * 16).unwrap().get(i, &mut buf).unwrap(),
            Value::Bytes(b"here")
        );
        assert_eq!(leaf.column(i * 16 + 1).unwrap().get(i, &mut buf).unwrap(), Value::Null);
    }
}

/// A path to an object or to values of several kinds has no zone, whatever the columns below it have.
#[test]
fn zones_are_of_the_path_itself() {
    let zone = |doc: &str, path: &[PathStep]| {
        let doc = parse(doc);
        let mut builder = LeafBuilder::new(&[ColumnType::Json], LeafOptions::default());
        builder.push(1, &[Value::Bytes(&doc)]).unwrap();
        builder
            .push(2, &[Value::Bytes(&parse(r#"{"b":true,"c":2.5}"#))])
            .unwrap();
        let image = builder.finish().unwrap();
        let leaf = Leaf::open(image.as_slice(), image.len() as u64).unwrap();
        leaf.path_zone(0, path).map(|zone| (zone.min, zone.max))
    };
    let key = |k: &str| PathStep::Key(k.into());
    let doc = r#"{"a":{"x":7},"b":1,"c":-1,"d":[3,9]}"#;
    assert_eq!(zone(doc, &[]), None);
    assert_eq!(zone(doc, &[key("a")]), None);
    assert_eq!(zone(doc, &[key("a"), key("x")]), Some((Bound::Int(7), Bound::Int(7))));
    assert_eq!(zone(doc, &[key("b")]), None);
    assert_eq!(zone(doc, &[key("c")]), Some((Bound::Int(-1), Bound::Int(3))));
    assert_eq!(
        zone(doc, &[key("d"), PathStep::Index(0)]),
        Some((Bound::Int(3), Bound::Int(9)))
    );
}
