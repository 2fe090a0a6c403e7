//! Parts of documents: what lies at some paths, for functions that are known to look nowhere else.

use crate::error::{Error, Result};
use crate::leaf::Leaf;
use crate::load::Wanted;
use crate::path::{PathColumn, everything};
use crate::scalar::Scalar;
use crate::schema::{Body, Node};
use crate::tree::key_order;
use crate::types::{ColumnType, ReadAt};

/// The documents of a leaf without what does not lie at, below or above some paths of keys; arrays on the way are
/// whole.
#[derive(Clone, Debug)]
pub struct Part(PathColumn);

impl Part {
    /// The part of `row`'s document, assembled in `buf`; `None` if there is no document, or nothing of it at the paths.
    ///
    /// # Errors
    /// As [`PathColumn::get`].
    pub fn get<'a>(&'a self, row: usize, buf: &'a mut Vec<u8>) -> Result<Option<Scalar<'a>>> {
        self.0.get(row, buf)
    }

    /// Bytes of memory held.
    pub fn bytes_used(&self) -> usize {
        self.0.bytes_used()
    }
}

impl<R: ReadAt> Leaf<R> {
    /// Decodes the part of the documents of column `col` that lies at `paths`.
    ///
    /// # Errors
    /// As [`Leaf::path`].
    pub fn part(&self, col: usize, paths: &[Vec<Vec<u8>>]) -> Result<Part> {
        let (column_type, schema) = self.sql_column(col)?;
        if column_type != ColumnType::Json {
            return Err(Error::Misuse("part of a column that is not jsonb"));
        }
        let mut columns = Vec::new();
        for path in paths {
            wanted(&schema.roots, path, 0, &mut columns);
        }
        columns.sort_unstable_by_key(|w| w.column);
        columns.dedup_by_key(|w| w.column);
        let tree = self.tree(schema, &columns, None)?;
        Ok(Part(PathColumn::new(self.rows() as u32, tree, &[])))
    }
}

fn wanted(nodes: &[Node], path: &[Vec<u8>], arrays: usize, out: &mut Vec<Wanted>) {
    for node in nodes {
        match (path.split_first(), &node.body) {
            (Some((name, path)), Body::Object { keys, rest }) => {
                if let Ok(i) = keys.binary_search_by(|key| key_order(&key.name, name)) {
                    wanted(&keys[i].alternatives, path, arrays, out);
                }
                if let Some(rest) = rest {
                    out.push(Wanted {
                        column: *rest,
                        kind: crate::kind::Kind::Rest,
                        arrays,
                        values: true,
                    });
                }
            }
            _ => everything(node, arrays, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LeafOptions;
    use crate::testing::leaf;

    #[test]
    fn a_part_has_what_is_at_its_paths() {
        let documents = [
            (r#"{"a":{"b":1,"c":2},"d":3}"#, Some(r#"{"a": {"b": 1}}"#)),
            (r#"{"a":{"c":2},"d":3}"#, None),
            (r#"{"a":[{"b":1,"c":2}],"d":3}"#, Some(r#"{"a": [{"b": 1, "c": 2}]}"#)),
            (r#"{"a":5}"#, Some(r#"{"a": 5}"#)),
            (r#"[{"a":1,"d":2}]"#, Some(r#"[{"a": 1, "d": 2}]"#)),
            (r#"7"#, Some("7")),
            (r#"{"d":3}"#, None),
        ];
        let rows = documents.iter().flat_map(|(text, _)| [*text; 100]);
        let leaf = leaf(rows, LeafOptions::default());
        let path = vec![b"a".to_vec(), b"b".to_vec()];
        // Twice the same, and one below another.
        let paths = [path.clone(), path, vec![b"a".to_vec(), b"b".to_vec(), b"x".to_vec()]];
        let part = leaf.part(0, &paths).expect("part");
        let mut buf = Vec::new();
        for n in 0..documents.len() * 100 {
            let found = part.get(n, &mut buf).expect("sound");
            let text = found.map(|value| match value {
                Scalar::Payload(payload) => amax_jsonb::json::to_text(payload).expect("jsonb"),
                Scalar::Int(i) => i.to_string(),
                other => panic!("{other:?}"),
            });
            assert_eq!(text.as_deref(), documents[n / 100].1, "{}", documents[n / 100].0);
        }
    }
}
