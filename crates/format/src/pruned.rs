//! Documents without some keys of theirs, whose columns are not read.

use amax_jsonb::jsonpath::Shape;

use crate::error::{Error, Result};
use crate::leaf::Leaf;
use crate::load::Wanted;
use crate::path::{PathColumn, everything, overflow};
use crate::scalar::{EMPTY_OBJECT, Scalar};
use crate::schema::Body;
use crate::types::{ColumnType, ReadAt};

/// The documents of a leaf without some keys: those that overflowed are there.
#[derive(Clone, Debug)]
pub struct Pruned {
    column: PathColumn,
    /// Of objects: which rows have one, as there may be nothing else left of it.
    objects: PathColumn,
}

impl<R: ReadAt> Leaf<R> {
    /// Decodes what there is of the documents of column `col` beside the keys that a shape is without.
    ///
    /// # Errors
    /// As [`Leaf::path`].
    pub fn pruned(&self, col: usize, shape: &Shape) -> Result<Pruned> {
        let (column_type, schema) = self.sql_column(col)?;
        if column_type != ColumnType::Json {
            return Err(Error::Misuse("part of a column that is not jsonb"));
        }
        let (mut kept, mut existence) = (Vec::new(), Vec::new());
        for node in &schema.roots {
            if let Body::Object { keys, rest } = &node.body {
                let left = keys
                    .iter()
                    .filter(|key| !shape.without.iter().any(|name| **name == *key.name));
                left.flat_map(|key| &key.alternatives)
                    .for_each(|node| everything(node, 0, &mut kept));
                kept.extend(rest.map(|rest| overflow(rest, 0)));
                self.existence(node, 0, &mut existence);
            } else {
                everything(node, 0, &mut kept);
            }
        }
        let column = |mut columns: Vec<Wanted>| {
            columns.sort_unstable_by_key(|w| w.column);
            let tree = self.tree(schema, &columns, None)?;
            Ok::<_, Error>(PathColumn::new(self.rows() as u32, tree, &[]))
        };
        Ok(Pruned {
            column: column(kept)?,
            objects: column(existence)?,
        })
    }
}

impl Pruned {
    /// What is left of `row`'s document, assembled in `buf`; `None` if there is no document.
    ///
    /// # Errors
    /// As [`PathColumn::get`].
    pub fn get<'a>(&'a self, row: usize, buf: &'a mut Vec<u8>) -> Result<Option<Scalar<'a>>> {
        if self.column.find(row, buf)?.is_some() {
            return self.column.get(row, buf);
        }
        let object = self.objects.find(row, buf)?;
        Ok(object.map(|_| Scalar::Payload(EMPTY_OBJECT)))
    }

    /// Bytes of memory held.
    pub fn bytes_used(&self) -> usize {
        self.column.bytes_used() + self.objects.bytes_used()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LeafOptions;
    use crate::testing::leaf;

    #[test]
    fn what_is_left_of_documents() {
        let documents = [
            (r#"{"a":{"b":1},"d":3,"c":[{"a":1}]}"#, r#"{"c": [{"a": 1}]}"#),
            (r#"{"a":[],"d":"x"}"#, "{}"),
            (r#"{"a":1}"#, "{}"),
            ("{}", "{}"),
            (r#"{"e":{},"f":null}"#, r#"{"e": {}, "f": null}"#),
            (r#"[{"a":1,"d":2},"a"]"#, r#"[{"a": 1, "d": 2}, "a"]"#),
            ("7", "7"),
            (r#""a""#, r#""a""#),
        ];
        let shape = Shape::without(vec![b"a".to_vec(), b"d".to_vec(), b"none".to_vec()]);
        let rows = documents.iter().flat_map(|(text, _)| [*text; 100]);
        let leaf = leaf(rows, LeafOptions::default());
        let pruned = leaf.pruned(0, &shape).expect("sound");
        let mut buf = Vec::new();
        for row in 0..documents.len() * 100 {
            let text = match pruned.get(row, &mut buf).expect("sound") {
                Some(Scalar::Payload(payload)) => amax_jsonb::json::to_text(payload).expect("jsonb"),
                Some(Scalar::Int(i)) => i.to_string(),
                Some(Scalar::String(s)) => format!("{:?}", String::from_utf8_lossy(s)),
                other => panic!("{other:?}"),
            };
            assert_eq!(text, documents[row / 100].1, "{}", documents[row / 100].0);
        }
        assert!(pruned.get(documents.len() * 100, &mut buf).expect("sound").is_none());
    }
}
