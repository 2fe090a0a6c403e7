//! Which paths of keys have columns in a leaf, from Page 0 alone.

use crate::error::{Error, Result};
use crate::json_type::{OBJECT, TYPES, type_of};
use crate::leaf::Leaf;
use crate::page0::Page0;
use crate::schema::{Body, Node};
use crate::types::{ColumnType, ReadAt};

/// Is given a path's keys, a type and how many values.
type Take<'f, 'a> = dyn FnMut(&[&'a [u8]], &'static str, u64) + 'f;

impl<R: ReadAt> Leaf<R> {
    /// Calls `f` for each path of keys of SQL column `col` and each type but objects that values there have, as `jsonb_typeof`
    /// calls it, with about how many there are. Arrays are not gone into, nor is what overflowed.
    ///
    /// # Errors
    /// [`Error::Misuse`] if there is no such column, or if it is not [`ColumnType::Json`].
    pub fn each_path<'a>(&'a self, col: usize, f: &mut Take<'_, 'a>) -> Result<()> {
        let (column_type, schema) = self.sql_column(col)?;
        if column_type != ColumnType::Json {
            return Err(Error::Misuse("paths of a column that is not jsonb"));
        }
        let mut keys = Vec::new();
        visit(&self.page0, &schema.roots, &mut keys, f);
        Ok(())
    }
}

fn visit<'a>(page0: &'a Page0, nodes: &'a [Node], path: &mut Vec<&'a [u8]>, f: &mut Take<'_, 'a>) {
    for node in nodes {
        if let Body::Object { keys, .. } = &node.body {
            for key in keys {
                path.push(&key.name);
                visit(page0, &key.alternatives, path, f);
                path.pop();
            }
            continue;
        }
        let Some(ty) = type_of(node.kind).filter(|&ty| ty != OBJECT && !path.is_empty()) else {
            continue;
        };
        // Of arrays their elements are counted.
        let entries = page0
            .entries
            .get(node.columns.start as usize..node.columns.end as usize);
        let values = entries.into_iter().flatten().map(|entry| u64::from(entry.count)).max();
        f(path, TYPES[ty], values.unwrap_or(0).min(page0.keys.len() as u64));
    }
}
