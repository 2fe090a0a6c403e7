//! The AMAX columnar format: one mega leaf of rows, SQL columns and shredded jsonb documents, as bytes.
//!
//! After Alkowaileet & Carey, *Columnar Formats for Schemaless LSM-based Document Stores* (PVLDB 15(10),
//! 2022). See `README.md` for the byte layout and where it differs from the paper.

mod ask;
mod assemble;
mod blob;
mod blocks;
mod budget;
mod builder;
mod bytes;
mod column;
mod columns;
mod condition;
mod contains;
mod dense;
mod describe;
mod direct;
mod encode;
mod error;
mod grow;
mod image;
mod json_type;
mod keep;
mod keys;
mod kind;
mod layout;
mod lazy;
mod leaf;
mod levels;
mod load;
mod outline;
mod overflow;
mod page0;
mod part;
mod path;
mod paths;
mod presence;
mod scalar;
mod schema;
mod select;
mod shapes;
mod shred;
mod sink;
mod strings;
mod tag;
#[cfg(test)]
mod testing;
mod tokens;
mod tree;
mod types;
mod unnest;
mod values;
mod vector;
mod verify;
mod words;
mod zone;

pub use ask::Question;
pub use builder::{ColumnBuilder, LeafBuilder, VerticalBuilder};
pub use column::Column;
pub use dense::Dense;
pub use describe::ColumnInfo;
pub use encode::compress::Compression;
pub use error::{Error, Result};
pub use keys::Keys;
pub use lazy::forget_blocks;
pub use leaf::{Leaf, ReadOptions};
pub use outline::{Line, Lines, Outline};
pub use part::Part;
pub use path::PathColumn;
pub use scalar::Scalar;
pub use tag::Tag;
pub use types::{ColumnType, LeafOptions, PathStep, ReadAt, Value};
pub use unnest::{Elements, Parts, Unnest};
pub use vector::{Slices, Strings, Vector};
pub use words::Words;
pub use zone::{Bound, Zone};
