//! The columnar side of a table: reading components, writing them, changing their rows through stubs. See README.md.

mod index_feed;
mod leaf;
mod leaf_cache;
pub mod merge;
pub mod origin;
mod pages;
mod revive;
mod row;
mod rows;
pub mod shared;
pub mod stub;
pub mod stub_keys;
mod value;
mod width;
pub mod write;

pub use index_feed::IndexFeed;
pub use leaf::{open as open_leaf, read_xids, Attribute, Keys, Level, OpenLeaf, Path};
pub use leaf_cache::{close as close_leaf, forget as forget_leaves, let_go};
pub use pages::Borrowed;
pub use row::{row_for_rewrite, Row, System};
pub use rows::{
    columnar_at, count_of_blocks, fetch, next_version, row_at, row_version, rows_for_analyze,
    rows_of_block, rows_of_blocks, LeafRows,
};
pub use value::{dense_to_datum, storage};
pub use width::Width;

use crate::storage::manifest;
use pgrx::prelude::*;

/// Raises what the format crate found as a PostgreSQL error.
pub fn raise(error: amax_format::Error) -> ! {
    use amax_format::Error::*;
    if let Replaced = error {
        manifest::cancel_replaced();
    }
    let code = match &error {
        OutOfMemory(error) => crate::memory::raise(*error),
        Limit(_) => PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        Version(_) => PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        Corrupt(_) | Jsonb(_) | Io(_) => PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
        _ => PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
    };
    ereport!(ERROR, code, error.to_string());
}
