//! Memory that is refused is an error, whatever is being done.

#[path = "../../memory/testing/allocator.rs"]
mod allocator;

use allocator::refuse_each;
use amax_format::*;

const ROWS: usize = 12_000;
const TRIES: usize = 6;

/// None if memory ran out; nothing else may be wrong.
fn unless_refused<T>(result: Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(Error::OutOfMemory(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

fn documents() -> Vec<Vec<u8>> {
    let document = |i: usize| {
        let (few, deep) = (i % 40, i % 13);
        let text = format!(
            r#"{{"n":{i},"s":"{:032x}","few":"value {few}","x":{{"y":{i}.25}},"tags":["tag {few}",{deep},{{"deep":{deep}}}]}}"#,
            i.wrapping_mul(0x9E37_79B9_7F4A_7C15)
        );
        amax_jsonb::json::parse(&text).expect("JSON")
    };
    (0..ROWS).map(document).collect()
}

fn build(documents: &[Vec<u8>], compression: Compression) -> Result<Vec<u8>> {
    let options = LeafOptions {
        compression,
        ..LeafOptions::default()
    };
    let mut builder = LeafBuilder::new(&[ColumnType::Int, ColumnType::Json], options);
    for (i, document) in documents.iter().enumerate() {
        builder.push(i as u64, &[Value::Int(i as i64), Value::Bytes(document)])?;
    }
    builder.finish()
}

fn open(image: &[u8]) -> Result<Leaf<&[u8]>> {
    Leaf::open(image, image.len() as u64)
}

/// As a merge does it.
fn rewrite(image: &[u8]) -> Result<Vec<u8>> {
    let leaf = open(image)?;
    let keys = (0..ROWS).map(|row| (leaf.keys().get(row), false));
    let mut builder = VerticalBuilder::new(keys, 2, LeafOptions::default())?;
    let mut buffer = Vec::new();
    for (at, column_type) in [ColumnType::Int, ColumnType::Json].into_iter().enumerate() {
        let source = leaf.column(at)?;
        let mut column = builder.column(column_type);
        for row in 0..ROWS {
            column.push(source.get(row, &mut buffer)?)?;
        }
        builder.add(column)?;
    }
    builder.finish()
}

/// One test: there is one allocator.
#[test]
fn refused_memory_is_an_error() {
    let documents = documents();
    for compression in [Compression::None, Compression::Snappy, Compression::Zstd(1)] {
        refuse_each("build", TRIES, &|| unless_refused(build(&documents, compression)));
    }
    let image = build(&documents, Compression::Snappy).expect("leaf");
    refuse_each("merge", TRIES, &|| unless_refused(rewrite(&image)));
    refuse_each("documents", TRIES, &|| {
        let read = || {
            let column = open(&image)?.column(1)?;
            let mut buffer = Vec::new();
            let mut bytes = 0;
            for row in 0..ROWS {
                if let Value::Bytes(document) = column.get(row, &mut buffer)? {
                    bytes += document.len();
                }
            }
            Ok(bytes)
        };
        unless_refused(read())
    });
    let key = |name: &str| PathStep::Key(name.as_bytes().to_vec());
    refuse_each("path", TRIES, &|| {
        let read = || {
            let leaf = open(&image)?;
            let dense = leaf.path(1, &[key("s")])?.dense()?;
            let few = leaf.path(1, &[key("few")])?.dense()?;
            Ok((dense.len(), dense.strings().len(), few.strings().len()))
        };
        unless_refused(read())
    });
    refuse_each("question", TRIES, &|| {
        let read = || {
            let question =
                Question::contains(&amax_jsonb::json::parse(r#"[{"deep":3}]"#)?).ok_or(Error::Misuse("a question"))?;
            let dense = open(&image)?.ask(1, &[key("tags")], &question)?;
            Ok((0..dense.len()).filter(|&row| dense.word(row) == 1).count())
        };
        unless_refused(read())
    });
    refuse_each("condition", TRIES, &|| {
        let read = || {
            let question = Question::path_matches(r#"($."tags"[*]?(@."deep" > 3)."deep" == 5 && $."s" != "x")"#);
            let question = question.ok_or(Error::Misuse("a question"))?;
            let dense = open(&image)?.ask(1, &[], &question)?;
            Ok((0..dense.len()).filter(|&row| dense.word(row) == 1).count())
        };
        unless_refused(read())
    });
    refuse_each("unnest", TRIES, &|| {
        let read = || {
            let unnest = Unnest {
                array: vec![b"tags".to_vec()],
                parts: Parts::Elements,
                wanted: vec![vec![], vec![key("deep")]],
                asked: Vec::new(),
            };
            let elements = open(&image)?.unnest(1, &[unnest])?;
            let deep = elements[0].paths[1].dense()?;
            Ok((elements[0].of(ROWS - 1), deep.len()))
        };
        unless_refused(read())
    });
    refuse_each("verify", TRIES, &|| {
        unless_refused(open(&image).and_then(|leaf| leaf.verify()))
    });

    // One string, one array and one object, each larger than the reserve.
    let long = amax_jsonb::json::parse(&format!(r#"{{"s":"{}"}}"#, "x".repeat(40 << 20)));
    let numbers: Vec<String> = (0..2_000_000).map(|i| i.to_string()).collect();
    let array = amax_jsonb::json::parse(&format!("[{}]", numbers.join(",")));
    let pairs: Vec<String> = (0..300_000).map(|i| format!(r#""key{i}":{i}"#)).collect();
    let object = amax_jsonb::json::parse(&format!("{{{}}}", pairs.join(",")));
    for (name, document) in [("string", long), ("array", array), ("object", object)] {
        let documents = [document.expect("JSON")];
        refuse_each(name, TRIES, &|| unless_refused(build(&documents, Compression::Snappy)));
        let image = build(&documents, Compression::Snappy).expect("leaf");
        refuse_each(name, TRIES, &|| {
            let read = || {
                let column = open(&image)?.column(1)?;
                let mut buffer = Vec::new();
                let value = column.get(0, &mut buffer)?;
                Ok(value == Value::Bytes(&documents[0]))
            };
            unless_refused(read())
        });
    }
}
