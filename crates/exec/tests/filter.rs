//! Conditions decided once per string are those decided row by row.

use amax_exec::{Batch, Columns, Comparison, Expr, External, JsonScalar, List, Pattern, Type, VectorBuilder};
use amax_format::{ColumnType, Dense, Leaf, LeafBuilder, LeafOptions, PathStep, Value};

struct One(Dense);

impl Columns for One {
    fn dense(&self, _: usize) -> &Dense {
        &self.0
    }
}

/// Constant `id` is `s` and that number.
struct Constants;

impl External for Constants {
    fn row(&mut self, _: usize, _: u32, _: &mut VectorBuilder) {
        unreachable!("no condition asks for it")
    }
    fn call(&mut self, _: usize, _: i64, _: &mut VectorBuilder) {
        unreachable!("no condition asks for it")
    }
    fn once(&mut self, id: usize, out: &mut VectorBuilder) {
        out.push_text(format!("s{id}").as_bytes());
    }
}

/// Path `a` of documents.
fn column(values: impl Iterator<Item = Option<String>>) -> Dense {
    let mut builder = LeafBuilder::new(&[ColumnType::Json], LeafOptions::default());
    for (key, value) in (1..).zip(values) {
        let text = value.map_or("{}".into(), |value| format!(r#"{{"a":{value}}}"#));
        let document = amax_jsonb::json::parse(&text).expect("JSON");
        let row = [Value::Bytes(&document)];
        builder.push(key, &row).expect("row");
    }
    let image = builder.finish().expect("leaf");
    let len = image.len() as u64;
    let leaf = Leaf::open(image, len).expect("opens");
    let path = leaf.path(0, &[PathStep::Key(b"a".to_vec())]);
    path.and_then(|path| path.dense()).expect("sound")
}

#[test]
fn by_code_as_by_row() {
    let constant = |id: usize| Expr::Once {
        id,
        ty: Type::Text,
        simple: true,
    };
    let compare = |comparison, id| Expr::Compare(comparison, Box::new(Expr::Text(0)), Box::new(constant(id)));
    let conditions = [
        compare(Comparison::Equal, 7),
        compare(Comparison::NotEqual, 7),
        compare(Comparison::Less, 12),
        Expr::Any(Box::new(Expr::Text(0)), List::new(Type::Text, vec![3, 299])),
        Expr::Like(Box::new(Expr::Text(0)), Pattern::like(b"%1").expect("sound")),
        Expr::Else(
            Box::new(Expr::Like(
                Box::new(Expr::Text(0)),
                Pattern::ilike(b"S_1").expect("sound"),
            )),
            Box::new(constant(0)),
        ),
        Expr::JsonEquals(0, JsonScalar::String(b"s7".to_vec())),
        Expr::JsonEquals(0, JsonScalar::String(b"none".to_vec())),
    ];
    let rows = 4000;
    // Codes of one and of two bytes; with rows that have none, or another kind of value.
    for (distinct, others) in [2, 20, 300].into_iter().flat_map(|n| [0, 1, 2, 3].map(|o| (n, o))) {
        let dense = column((0..rows).map(|row| match row % 11 {
            1 if others > 0 => None,
            2 if others > 1 => Some("null".into()),
            3 if others > 2 => Some("7".into()),
            _ => Some(format!(r#""s{}""#, row * 7 % distinct)),
        }));
        assert!(dense.is_dictionary(), "{distinct} strings, {others} others");
        let columns = One(dense);
        for step in [1, 3] {
            let selected: Vec<u32> = (0..rows as u32).step_by(step).collect();
            for condition in &conditions {
                let mut batch = Batch {
                    columns: &columns,
                    external: &mut Constants,
                };
                let value = batch.eval(condition, &selected);
                assert!(value.unsure.is_empty());
                let passes = |&(i, _): &(usize, &u32)| value.vector.is_valid(i) && value.vector.words[i] != 0;
                let expected: Vec<u32> = selected
                    .iter()
                    .enumerate()
                    .filter(passes)
                    .map(|(_, &row)| row)
                    .collect();
                let mut unsure = Vec::new();
                let found = batch.filter(condition, &selected, &mut unsure);
                assert_eq!((found, unsure), (expected, vec![]), "{condition:?}");
            }
        }
    }
}

/// Text of a megabyte for each row: `s7` and spaces in every eighth, as the constant is.
struct Wide {
    asked: usize,
}

fn wide(of: usize) -> Vec<u8> {
    let mut text = format!("s{of}").into_bytes();
    text.resize(1 << 20, b' ');
    text
}

impl External for Wide {
    fn row(&mut self, _: usize, row: u32, out: &mut VectorBuilder) {
        self.asked += 1;
        out.push_text(&wide(row as usize % 8));
    }
    fn call(&mut self, _: usize, _: i64, _: &mut VectorBuilder) {
        unreachable!("no condition asks for it")
    }
    fn once(&mut self, _: usize, out: &mut VectorBuilder) {
        out.push_text(&wide(7));
    }
}

#[test]
fn strings_of_a_batch_are_not_kept_without_limit() {
    let rows: Vec<u32> = (0..200).collect();
    let constant = Expr::Once {
        id: 0,
        ty: Type::Text,
        simple: true,
    };
    let filter = |column: Dense, inputs: &[usize]| {
        let text = Expr::External {
            id: 1,
            inputs: inputs.to_vec(),
            ty: Type::Text,
        };
        let equal = Expr::Compare(Comparison::Equal, Box::new(text), Box::new(constant.clone()));
        let mut external = Wide { asked: 0 };
        let mut batch = Batch {
            columns: &One(column),
            external: &mut external,
        };
        let mut unsure = Vec::new();
        let passed = batch.filter(&equal, &rows, &mut unsure);
        assert!(passed.iter().all(|row| row % 8 == 7));
        (passed.len(), unsure, external.asked)
    };
    // Eight strings are as many as there are, 200 are too many.
    let few = column((0..200).map(|i| Some(format!("\"t{}\"", i % 8))));
    assert!(few.is_dictionary());
    assert_eq!(filter(few.clone(), &[0]), (25, Vec::new(), 8));
    // So are combinations of two columns, and numbers.
    assert_eq!(filter(few, &[0, 1]), (25, Vec::new(), 8));
    let numbers = column((0..200).map(|i| Some((i % 8 * 100).to_string())));
    assert_eq!(filter(numbers, &[0]), (25, Vec::new(), 8));
    let many = column((0..200).map(|i| Some(i.to_string())));
    let (passed, unsure, asked) = filter(many, &[]);
    assert_eq!((passed, asked), (8, 64));
    assert_eq!(unsure, (64..200).collect::<Vec<u32>>());
}
