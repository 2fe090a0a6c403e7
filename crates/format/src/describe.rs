//! What is in a leaf, for people: one line per column, from Page 0 alone.

use crate::encode::values;
use crate::kind::Kind;
use crate::leaf::Leaf;
use crate::page0::Levels;
use crate::schema::{Body, Node};
use crate::types::{ColumnType, ReadAt};
use crate::zone::{self, Bound};

/// One column of a leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnInfo {
    /// The SQL column, from 0.
    pub col: usize,
    /// The path in the document, `$` for the value itself: `$.deps[*].name`. An overflow column ends in
    /// `.**`.
    pub path: String,
    /// What kind of value it holds.
    pub type_name: String,
    /// How the values are encoded, and the levels if they are stored with other columns'.
    pub encoding: String,
    /// How the megapage is compressed.
    pub compression: String,
    /// Bytes of the megapage as stored; shared levels are counted in none.
    pub compressed_bytes: u64,
    /// Bytes of the megapage decompressed.
    pub raw_bytes: u64,
    /// Values.
    pub values: u64,
    /// Rows without a value of this kind at this path, if the path is not below an array.
    pub absent: Option<u64>,
    /// The smallest value, or a prefix of it.
    pub min: Option<String>,
    /// The largest value, or a prefix of it.
    pub max: Option<String>,
}

impl<R: ReadAt> Leaf<R> {
    /// All columns, in the order of their paths.
    pub fn describe(&self) -> Vec<ColumnInfo> {
        let mut out = Vec::with_capacity(self.page0.entries.len());
        for (col, (column_type, schema)) in self.page0.columns.iter().enumerate() {
            let mut path = String::from("$");
            for node in &schema.roots {
                self.describe_node(col, *column_type, node, &mut path, false, &mut out);
            }
        }
        out
    }

    fn describe_node(
        &self,
        col: usize,
        column_type: ColumnType,
        node: &Node,
        path: &mut String,
        nested: bool,
        out: &mut Vec<ColumnInfo>,
    ) {
        let len = path.len();
        match &node.body {
            Body::Leaf => self.describe_column(col, column_type, node.kind, node.columns.start, path, nested, out),
            Body::Array(elements) => {
                path.push_str("[*]");
                for node in elements {
                    self.describe_node(col, column_type, node, path, true, out);
                }
            }
            Body::Object { keys, rest } => {
                for key in keys {
                    push_key(path, &key.name);
                    for node in &key.alternatives {
                        self.describe_node(col, column_type, node, path, nested, out);
                    }
                    path.truncate(len);
                }
                if let Some(rest) = rest {
                    path.push_str(".**");
                    self.describe_column(col, column_type, Kind::Rest, *rest, path, nested, out);
                }
            }
        }
        path.truncate(len);
    }

    #[allow(clippy::too_many_arguments)]
    fn describe_column(
        &self,
        col: usize,
        column_type: ColumnType,
        kind: Kind,
        column: u32,
        path: &str,
        nested: bool,
        out: &mut Vec<ColumnInfo>,
    ) {
        let Some(entry) = self.page0.entries.get(column as usize) else {
            return;
        };
        let mut encoding = values::describe(entry.encoding, kind).to_owned();
        if let Levels::Shared(id) = entry.levels {
            encoding.push_str(&format!(", levels {id}"));
        }
        let first = entry.blocks.as_ref().and_then(|blocks| blocks.list.first());
        let blob = first.unwrap_or(&entry.blob);
        let zone = entry.zone.as_ref().and_then(|zone| zone::zone(kind, zone));
        let show = |bound| show(bound, kind);
        out.push(ColumnInfo {
            col,
            path: path.to_owned(),
            type_name: match (column_type, kind) {
                (ColumnType::Bytes, Kind::Bytes) => "bytes".to_owned(),
                _ => kind.name().to_owned(),
            },
            encoding,
            compression: blob.codec.name().to_owned(),
            compressed_bytes: u64::from(entry.blob.stored_len),
            raw_bytes: match &entry.blocks {
                None => u64::from(blob.raw_len),
                Some(blocks) => blocks.raw_len(),
            },
            values: u64::from(entry.count),
            absent: (!nested).then(|| (self.rows() as u64).saturating_sub(u64::from(entry.count))),
            min: zone.map(|zone| show(zone.min)),
            max: zone.map(|zone| show(zone.max)),
        });
    }
}

/// Appends `.key`, quoted as in SQL/JSON paths unless it is a plain identifier.
pub(crate) fn push_key(path: &mut String, key: &[u8]) {
    let key = String::from_utf8_lossy(key);
    let plain = key
        .chars()
        .enumerate()
        .all(|(i, c)| c == '_' || c.is_alphabetic() || (i > 0 && c.is_alphanumeric()));
    path.push('.');
    if plain && !key.is_empty() {
        path.push_str(&key);
        return;
    }
    path.push('"');
    for c in key.chars() {
        match c {
            '"' | '\\' => {
                path.push('\\');
                path.push(c);
            }
            c if c.is_control() => path.push_str(&format!("\\u{:04x}", c as u32)),
            c => path.push(c),
        }
    }
    path.push('"');
}

fn show(bound: Bound, kind: Kind) -> String {
    match bound {
        Bound::Int(v) if kind == Kind::Bool => (v != 0).to_string(),
        Bound::Int(v) => v.to_string(),
        Bound::Float(v) => v.to_string(),
        Bound::Prefix(prefix) => {
            let bytes = prefix.bytes();
            let end = bytes.iter().rposition(|&b| b != 0).map_or(0, |i| i + 1);
            let mut text = &bytes[..end];
            // A prefix may cut a character.
            if let Err(error) = std::str::from_utf8(text)
                && error.error_len().is_none()
            {
                text = &text[..error.valid_up_to()];
            }
            let shown = String::from_utf8_lossy(text).into_owned();
            shown
                .chars()
                .map(|c| if c.is_control() { '\u{fffd}' } else { c })
                .collect()
        }
    }
}
