//! Documents to a leaf and back, byte for byte, and every path of them.

use amax_format::*;
use proptest::prelude::*;

/// JSON text with what makes documents hard: mixed kinds, empty containers, odd keys, exact numbers.
fn json() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "c", "dd", "", "x.y", "@k/l", "ü", "\"\\\n"]).prop_map(str::to_owned),
        1 => "[a-z]{1,6}",
    ];
    let scalar = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|b| b.to_string()),
        any::<i64>().prop_map(|v| v.to_string()),
        (-20i64..20).prop_map(|v| v.to_string()),
        (any::<i32>(), 1u32..9).prop_map(|(v, s)| format!("{v}e-{s}")),
        Just("1.10".to_owned()),
        Just("123456789012345678901234567890.5".to_owned()),
        Just("1e400".to_owned()),
        "[a-z]{0,12}".prop_map(|s| format!("\"{s}\"")),
        Just("\"a longer string, often repeated\"".to_owned()),
        "https://[a-z]{0,30}".prop_map(|s| format!("\"{s}\"")),
        "20[0-9]{2}-0[1-9]-[0-2][1-9]([T ]1[0-9]:00:5[0-9](\\.[0-9]{1,6})?(Z|[+-]0[0-9](:30)?)?)?"
            .prop_map(|s| format!("\"{s}\"")),
        Just(r#""a \"quoted\" \\ \u0001 \n\t\r\f\b \u007f ü""#.to_owned()),
        Just("-0.0000000000000000012".to_owned()),
    ];
    scalar.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|v| format!("[{}]", v.join(","))),
            prop::collection::btree_map(key.clone(), inner, 0..6).prop_map(|m| {
                let pairs: Vec<String> = m.into_iter().map(|(k, v)| format!("{k:?}:{v}")).collect();
                format!("{{{}}}", pairs.join(","))
            }),
        ]
    })
}

fn options() -> impl Strategy<Value = LeafOptions> {
    let compression = prop_oneof![
        Just(Compression::None),
        Just(Compression::Snappy),
        Just(Compression::Zstd(1)),
        Just(Compression::Lz4)
    ];
    (compression, 0usize..30, 1usize..6, 16usize..9000, 0.0..1.0).prop_map(
        |(compression, path_cap, min_path_values, page_size, empty_page_tolerance)| LeafOptions {
            compression,
            path_cap,
            min_path_values,
            page_size,
            empty_page_tolerance,
        },
    )
}

/// All paths of a value that lead somewhere, with what is there.
fn paths<'a>(
    value: amax_jsonb::Value<'a>,
    at: &mut Vec<PathStep>,
    out: &mut Vec<(Vec<PathStep>, amax_jsonb::Value<'a>)>,
) {
    out.push((at.clone(), value));
    match value {
        amax_jsonb::Value::Object(c) => {
            for pair in c.pairs() {
                let (key, value) = pair.unwrap();
                at.push(PathStep::Key(key.to_vec()));
                paths(value, at, out);
                at.pop();
            }
        }
        amax_jsonb::Value::Array(c) => {
            for (i, element) in c.elements().enumerate() {
                for index in [i as i32, i as i32 - c.len() as i32] {
                    at.push(PathStep::Index(index));
                    paths(element.clone().unwrap(), at, out);
                    at.pop();
                }
            }
        }
        _ => {}
    }
}

fn same(found: Option<Scalar<'_>>, expected: Option<amax_jsonb::Value<'_>>) -> bool {
    use amax_jsonb::Value as J;
    match (found, expected) {
        (None, None) => true,
        (Some(found), Some(expected)) => match (found, expected) {
            (Scalar::Null, J::Null) => true,
            (Scalar::Bool(a), J::Bool(b)) => a == b,
            (Scalar::String(a), J::String(b)) => a == b,
            (Scalar::Int(v), J::Numeric(n)) => {
                let mut bytes = Vec::new();
                amax_jsonb::numeric::encode_int(v, &mut bytes);
                bytes == n
            }
            (Scalar::Decimal { mantissa, scale }, J::Numeric(n)) => {
                let mut bytes = Vec::new();
                amax_jsonb::numeric::encode_decimal(mantissa, scale, &mut bytes).unwrap();
                bytes == n
            }
            (Scalar::Numeric(a), J::Numeric(b)) => a == b,
            (Scalar::Payload(a), J::Object(b) | J::Array(b)) => a == b.bytes(),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a value is between its path's bounds.
fn within(found: Option<Scalar<'_>>, zone: &Zone) -> bool {
    match (found, zone.min, zone.max) {
        (None | Some(Scalar::Null), ..) => true,
        (Some(Scalar::Int(v)), Bound::Int(min), Bound::Int(max)) => min <= v && v <= max,
        (Some(Scalar::Bool(v)), Bound::Int(min), Bound::Int(max)) => min <= i64::from(v) && i64::from(v) <= max,
        (Some(Scalar::Decimal { mantissa, scale }), Bound::Int(min), Bound::Int(max)) => {
            let unit = 10i128.pow(u32::from(scale).min(30));
            i128::from(min) * unit <= i128::from(mantissa) && i128::from(mantissa) <= i128::from(max) * unit
        }
        (Some(Scalar::String(v)), Bound::Prefix(min), Bound::Prefix(max)) => {
            min.bytes().len() == max.bytes().len()
                && min.compare(v).is_le()
                && max.compare(v).is_ge()
                && zone.times.is_none_or(|times| is_among(v, &times))
        }
        _ => false,
    }
}

/// Whether a text is one of such times.
fn is_among(text: &[u8], times: &Times) -> bool {
    let Some(time) = iso::IsoTime::read(text) else {
        return false;
    };
    let separator = (times.alike > 10).then(|| time.separator.is_some());
    (times.min..=times.max).contains(&time.local())
        && separator != Some(false)
        && times
            .ahead
            .is_none_or(|(least, most)| time.ahead.is_some_and(|ahead| (least..=most).contains(&ahead)))
}

fn get_in<'a>(mut value: amax_jsonb::Value<'a>, path: &[PathStep]) -> Option<amax_jsonb::Value<'a>> {
    for step in path {
        value = match (step, value) {
            (PathStep::Key(key), amax_jsonb::Value::Object(c)) => c.get(key).unwrap()?,
            (PathStep::Index(i), amax_jsonb::Value::Array(c)) => {
                let i = if *i < 0 { c.len() as i32 + i } else { *i };
                c.get_index(usize::try_from(i).ok()?).unwrap()?
            }
            _ => return None,
        };
    }
    Some(value)
}

/// The text of a row is that of its document, behind what is in the vector, and no longer than it may be.
fn text(column: &Column, row: usize, document: Option<&[u8]>) {
    let mut out = b"before".to_vec();
    assert_eq!(column.text(row, usize::MAX, &mut out).unwrap(), document.is_some());
    let expected = document.map_or(String::new(), |d| amax_jsonb::json::to_text(d).unwrap());
    assert_eq!(String::from_utf8(out.split_off(6)).unwrap(), expected);
    assert_eq!(out, b"before");
    if document.is_some() {
        let error = column.text(row, 6 + expected.len() - 1, &mut out).unwrap_err();
        assert!(error.is_of_long_text(), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn documents(docs in prop::collection::vec(prop::option::weighted(0.9, json()), 0..40), options in options()) {
        let docs: Vec<Option<Vec<u8>>> =
            docs.iter().map(|d| d.as_ref().map(|d| amax_jsonb::json::parse(d).unwrap())).collect();
        let mut builder = LeafBuilder::new(&[ColumnType::Json], options);
        for (i, doc) in docs.iter().enumerate() {
            let value = doc.as_ref().map_or(Value::Null, |d| Value::Bytes(d));
            builder.push(i as u64 * 3, &[value]).unwrap();
        }
        let image = builder.finish().unwrap();
        let leaf = Leaf::open(image.as_slice(), image.len() as u64).unwrap();
        prop_assert_eq!(leaf.rows(), docs.len());
        prop_assert_eq!(leaf.verify().unwrap(), Vec::<String>::new());
        let column = leaf.column(0).unwrap();
        let mut buf = Vec::new();
        for (i, doc) in docs.iter().enumerate() {
            let found = column.get(i, &mut buf).unwrap();
            prop_assert_eq!(found, doc.as_ref().map_or(Value::Null, |d| Value::Bytes(d)));
            text(&column, i, doc.as_deref());
        }
        // Every path of a few documents, read over all rows.
        let mut all = Vec::new();
        for doc in docs.iter().flatten().take(4) {
            paths(amax_jsonb::root(doc).unwrap(), &mut Vec::new(), &mut all);
        }
        all.sort_by(|a, b| format!("{:?}", a.0).cmp(&format!("{:?}", b.0)));
        all.dedup_by(|a, b| a.0 == b.0);
        for (path, _) in all.iter().take(60) {
            let column = leaf.path(0, path).unwrap();
            let vector = column.vector();
            let zone = leaf.path_zone(0, path);
            for (i, doc) in docs.iter().enumerate() {
                let expected = doc.as_ref().and_then(|d| get_in(amax_jsonb::root(d).unwrap(), path));
                let found = column.get(i, &mut buf).unwrap();
                if let Some(vector) = vector {
                    prop_assert_eq!(vector.position(i).is_some(), !matches!(found, None | Some(Scalar::Null)));
                    if let (Some(at), Slices::Int(v)) = (vector.position(i), vector.slices()) {
                        prop_assert_eq!(found, Some(Scalar::Int(v[at])));
                    }
                }
                prop_assert!(zone.is_none_or(|zone| within(found, &zone)), "{:?} outside {:?}", found, zone);
                prop_assert!(same(found, expected), "{:?} of row {}: {:?} for {:?}", path, i, found, expected);
            }
        }
    }
}

fn sql_value() -> impl Strategy<Value = Vec<Option<u64>>> {
    prop::collection::vec(prop::option::weighted(0.8, prop_oneof![any::<u64>(), 0u64..5]), 7)
}

proptest! {
    #[test]
    fn sql_columns(rows in prop::collection::vec(sql_value(), 0..80), options in options()) {
        let types = [
            ColumnType::Bool, ColumnType::Int, ColumnType::Float4, ColumnType::Float8, ColumnType::Numeric,
            ColumnType::Bytes, ColumnType::Json,
        ];
        let texts: Vec<Vec<Option<Vec<u8>>>> = rows.iter().map(|row| {
            row.iter().enumerate().map(|(i, seed)| seed.map(|seed| match i {
                4 => amax_jsonb::numeric::from_text(&match seed % 4 {
                    0 => "NaN".to_owned(),
                    1 => format!("{seed}.{seed}"),
                    2 => format!("-{}", seed % 1000),
                    _ => format!("{}.50", seed % 9),
                }).unwrap(),
                6 => amax_jsonb::json::parse(&format!("{{\"a\":{}}}", seed % 7)).unwrap(),
                _ => seed.to_le_bytes()[..(seed % 9) as usize].to_vec(),
            })).collect()
        }).collect();
        let expected = |row: usize, col: usize| -> Value<'_> {
            match (rows[row][col], col) {
                (None, _) => Value::Null,
                (Some(v), 0) => Value::Bool(v % 2 == 0),
                (Some(v), 1) => Value::Int(v as i64),
                (Some(v), 2) => Value::Float4(f32::from_bits(v as u32)),
                (Some(v), 3) => Value::Float8(f64::from_bits(v)),
                _ => Value::Bytes(texts[row][col].as_ref().unwrap()),
            }
        };
        let mut builder = LeafBuilder::new(&types, options);
        for row in 0..rows.len() {
            if row % 5 == 4 {
                builder.push_antimatter(row as u64).unwrap();
            } else {
                let values: Vec<Value<'_>> = (0..7).map(|col| expected(row, col)).collect();
                builder.push(row as u64, &values).unwrap();
            }
        }
        let image = builder.finish().unwrap();
        let leaf = Leaf::open(image.as_slice(), image.len() as u64).unwrap();
        prop_assert_eq!(leaf.verify().unwrap(), Vec::<String>::new());
        // A leaf written column by column is the same, byte for byte.
        let keys = (0..rows.len()).map(|row| (row as u64, row % 5 == 4));
        let mut vertical = VerticalBuilder::new(keys, types.len(), options).unwrap();
        for (col, &column_type) in types.iter().enumerate() {
            let mut column = vertical.column(column_type);
            for row in 0..rows.len() {
                let value = if row % 5 == 4 { Value::Null } else { expected(row, col) };
                column.push(value).unwrap();
            }
            vertical.add(column).unwrap();
        }
        prop_assert!(vertical.finish().unwrap() == image);
        // So is one of the columns of another.
        let keys = (0..rows.len()).map(|row| (row as u64, row % 5 == 4));
        let mut copied = VerticalBuilder::new(keys, types.len(), options).unwrap();
        let all: Vec<u32> = (0..rows.len() as u32).collect();
        for (col, &column_type) in types.iter().enumerate() {
            let mut column = copied.column(column_type);
            column.append(&leaf.column(col).unwrap(), &all).unwrap();
            copied.add(column).unwrap();
        }
        prop_assert!(copied.finish().unwrap() == image);
        prop_assert!(leaf.schema().eq(types));
        let mut buf = Vec::new();
        for (col, column_type) in types.iter().enumerate() {
            let column = leaf.column(col).unwrap();
            for row in 0..rows.len() {
                prop_assert_eq!(leaf.is_antimatter(row), row % 5 == 4);
                let expected = if row % 5 == 4 { Value::Null } else { expected(row, col) };
                let found = column.get(row, &mut buf).unwrap();
                let same = match (found, expected) {
                    (Value::Float4(a), Value::Float4(b)) => a.to_bits() == b.to_bits(),
                    (Value::Float8(a), Value::Float8(b)) => a.to_bits() == b.to_bits(),
                    (a, b) => a == b,
                };
                prop_assert!(same, "column {} row {}: {:?} for {:?}", col, row, found, expected);
                let put_together = matches!(column_type, ColumnType::Json | ColumnType::Numeric);
                let kept = column.kept(row);
                prop_assert!(kept.is_some() || put_together, "column {} row {}", col, row);
                let as_found = kept.is_none_or(|kept| format!("{kept:?}") == format!("{found:?}"));
                prop_assert!(as_found, "column {} row {}: {:?} kept, {:?} found", col, row, kept, found);
            }
        }
        for (col, low) in [(1, true), (3, false)] {
            if let Some((min, max)) = leaf.zone(col).map(|zone| (zone.min, zone.max)) {
                let column = leaf.column(col).unwrap();
                for row in 0..rows.len() {
                    match (column.get(row, &mut buf).unwrap(), min, max) {
                        (Value::Null, ..) => {}
                        (Value::Int(v), Bound::Int(min), Bound::Int(max)) => prop_assert!(low && min <= v && v <= max),
                        (Value::Float8(v), Bound::Float(min), Bound::Float(max)) => {
                            prop_assert!(v.is_nan() && max.is_nan() || min <= v && (v <= max || max.is_nan()));
                        }
                        other => prop_assert!(false, "{:?}", other),
                    }
                }
            }
        }
    }
}

/// Which columns and rows a merge copies: documents of several leaves, and of each which are kept.
fn leaves() -> impl Strategy<Value = Vec<Vec<(Option<String>, bool)>>> {
    let row = (prop::option::weighted(0.9, json()), prop::bool::weighted(0.7));
    prop::collection::vec(prop::collection::vec(row, 1..50), 1..4)
}

proptest! {
    /// Rows of decoded columns that are written anew are the leaf that their documents make, byte for byte.
    #[test]
    fn rows_kept(leaves in leaves(), options in options(), sources in options(), runs in 1usize..20) {
        let mut kept: Vec<Option<Vec<u8>>> = Vec::new();
        let mut columns: Vec<(Column, Vec<u32>)> = Vec::new();
        for rows in &leaves {
            let mut builder = LeafBuilder::new(&[ColumnType::Json], sources);
            for (i, (doc, _)) in rows.iter().enumerate() {
                let doc = doc.as_ref().map(|text| amax_jsonb::json::parse(text).unwrap());
                builder.push(i as u64, &[doc.as_deref().map_or(Value::Null, Value::Bytes)]).unwrap();
            }
            let image = builder.finish().unwrap();
            let column = Leaf::open(image.as_slice(), image.len() as u64).unwrap().column(0).unwrap();
            let of_leaf = rows.iter().zip(0..).filter(|((_, keep), _)| *keep);
            let of_leaf = of_leaf.map(|((doc, _), row)| (doc.as_ref().map(|text| amax_jsonb::json::parse(text).unwrap()), row));
            let (docs, rows): (Vec<_>, Vec<u32>) = of_leaf.unzip();
            kept.extend(docs);
            columns.push((column, rows));
        }
        let keys = || (0..kept.len()).map(|row| (row as u64, false));
        let mut shredded = VerticalBuilder::new(keys(), 1, options).unwrap();
        let mut column = shredded.column(ColumnType::Json);
        for doc in &kept {
            column.push(doc.as_deref().map_or(Value::Null, Value::Bytes)).unwrap();
        }
        shredded.add(column).unwrap();
        let mut copied = VerticalBuilder::new(keys(), 1, options).unwrap();
        let mut column = copied.column(ColumnType::Json);
        for (source, rows) in &columns {
            rows.chunks(runs).try_for_each(|rows| column.append(source, rows)).unwrap();
        }
        copied.add(column).unwrap();
        prop_assert!(copied.finish().unwrap() == shredded.finish().unwrap());
    }
}
