//! Which paths a leaf names by its Page 0.

use amax_format::*;

#[test]
fn paths_of_keys() {
    let documents = [
        r#"{"a": 1, "b": {"c": "x", "d": null}, "tags": [1, {"e": 2}], "none": {}}"#,
        r#"{"a": "y", "b": {"c": "z"}, "tags": [], "none": {}}"#,
        r#"{"a": 2, "tags": [3], "none": {}}"#,
        "7",
    ];
    let options = LeafOptions {
        min_path_values: 0,
        ..LeafOptions::default()
    };
    let mut builder = LeafBuilder::new(&[ColumnType::Json, ColumnType::Int], options);
    for (i, text) in documents.iter().enumerate() {
        let payload = amax_jsonb::json::parse(text).unwrap();
        builder
            .push(i as u64 + 1, &[Value::Bytes(&payload), Value::Int(1)])
            .unwrap();
    }
    let image = builder.finish().unwrap();
    let len = image.len() as u64;
    let leaf = Leaf::open(image, len).unwrap();
    let mut found = Vec::new();
    let mut add = |keys: &[&[u8]], ty: &'static str, values: u64| {
        let keys: Vec<_> = keys.iter().map(|key| String::from_utf8_lossy(key)).collect();
        found.push(format!("{} {ty} {values}", keys.join(".")));
    };
    leaf.each_path(0, &mut add).unwrap();
    found.sort();
    let expected = [
        "a number 2",
        "a string 1",
        "b.c string 2",
        "b.d null 1",
        "tags array 1",
        "tags array 2",
    ];
    assert_eq!(found, expected);
    assert!(leaf.each_path(1, &mut |_, _, _| ()).is_err());
    assert!(leaf.each_path(2, &mut |_, _, _| ()).is_err());
}
