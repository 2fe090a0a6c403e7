//! The schema of one SQL column as Page 0 holds it: a tree of kinds whose leaves are columns, numbered
//! depth first through all SQL columns.

use std::ops::Range;

use crate::bytes::Reader;
use crate::error::{Result, corrupt};
use crate::kind::Kind;
use crate::levels::MAX_ARRAYS;
use crate::tree::key_order;
use crate::types::ColumnType;

/// Columns of a leaf at most: what bounds the memory a schema takes.
pub(crate) const MAX_COLUMNS: u32 = 1 << 19;

/// Nodes below one another that a reader follows.
const MAX_DEPTH: usize = 220;

#[derive(Clone, Debug)]
pub(crate) struct Schema {
    pub(crate) roots: Vec<Node>,
    /// The columns of the whole SQL column.
    pub(crate) columns: Range<u32>,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// The columns at or below this node.
    pub(crate) columns: Range<u32>,
    pub(crate) body: Body,
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    Leaf,
    Array(Vec<Node>),
    Object {
        /// Ascending.
        keys: Vec<Key>,
        /// The overflow column.
        rest: Option<u32>,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: Box<[u8]>,
    /// The overflow column may hold this key too, with another kind of value.
    pub(crate) in_rest: bool,
    pub(crate) alternatives: Vec<Node>,
}

/// Flags of an object: it has an overflow column.
pub(crate) const HAS_REST: u8 = 1;

impl Schema {
    /// Reads the schema of an SQL column whose first column is `first`.
    pub(crate) fn read(reader: &mut Reader<'_>, column_type: ColumnType, first: u32) -> Result<Self> {
        let mut next = first;
        let roots = alternatives(reader, &mut next, 0, 0)?;
        if !fits(column_type, &roots) {
            return corrupt("schema does not fit the column's type");
        }
        Ok(Self {
            roots,
            columns: first..next,
        })
    }
}

/// Whether a schema is what columns of an SQL type have.
fn fits(column_type: ColumnType, roots: &[Node]) -> bool {
    roots.iter().all(|node| match column_type {
        ColumnType::Json => !matches!(node.kind, Kind::Float4 | Kind::Float8),
        ColumnType::Bool => node.kind == Kind::Bool,
        ColumnType::Int => node.kind == Kind::Int,
        ColumnType::Float4 => node.kind == Kind::Float4,
        ColumnType::Float8 => node.kind == Kind::Float8,
        ColumnType::Numeric => matches!(node.kind, Kind::Int | Kind::Decimal | Kind::Numeric),
        ColumnType::Bytes => node.kind == Kind::Bytes,
    })
}

fn alternatives(reader: &mut Reader<'_>, next: &mut u32, arrays: usize, depth: usize) -> Result<Vec<Node>> {
    if depth > MAX_DEPTH || arrays > MAX_ARRAYS {
        return corrupt("schema is nested too deeply");
    }
    let count = reader.count(crate::kind::KINDS, "number of kinds")?;
    let mut nodes: Vec<Node> = Vec::with_capacity(count);
    if *next > MAX_COLUMNS {
        return corrupt("too many columns");
    }
    for _ in 0..count {
        let kind = Kind::from_u8(reader.u8()?)?;
        if nodes.last().is_some_and(|last| last.kind >= kind) || kind == Kind::Rest {
            return corrupt("kinds of one place do not ascend");
        }
        let start = *next;
        let body = match kind {
            Kind::Array => Body::Array(alternatives(reader, next, arrays + 1, depth + 1)?),
            Kind::Object => object(reader, next, arrays, depth)?,
            _ => {
                *next += 1;
                Body::Leaf
            }
        };
        // So inner nodes are bounded by columns and depth, too.
        if *next == start {
            return corrupt("schema node without columns");
        }
        nodes.push(Node {
            kind,
            columns: start..*next,
            body,
        });
    }
    Ok(nodes)
}

fn object(reader: &mut Reader<'_>, next: &mut u32, arrays: usize, depth: usize) -> Result<Body> {
    let flags = reader.u8()?;
    let count = reader.count(reader.rest().len(), "number of keys")?;
    let mut keys: Vec<Key> = Vec::with_capacity(count.min(1024));
    for _ in 0..count {
        let in_rest = match reader.u8()? {
            0 => false,
            1 => true,
            _ => return corrupt("unknown flags of a key"),
        };
        let name: Box<[u8]> = reader.sized()?.into();
        if keys.last().is_some_and(|last| key_order(&last.name, &name).is_ge()) {
            return corrupt("keys of an object do not ascend");
        }
        let start = *next;
        let key = Key {
            name,
            in_rest,
            alternatives: alternatives(reader, next, arrays, depth + 1)?,
        };
        if *next == start {
            return corrupt("key without columns");
        }
        keys.push(key);
    }
    let rest = match flags {
        0 => None,
        HAS_REST => {
            *next += 1;
            Some(*next - 1)
        }
        _ => return corrupt("unknown flags of an object"),
    };
    Ok(Body::Object { keys, rest })
}
