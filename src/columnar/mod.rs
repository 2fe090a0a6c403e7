//! The columnar side of a table: reading components, writing them, changing their rows through stubs. See README.md.

mod alive;
mod error;
mod form;
pub mod idle;
mod leaf;
mod leaf_cache;
mod leaf_read;
mod lookup;
pub mod merge;
mod needs;
pub mod origin;
mod page_leaf;
mod pages;
mod revive;
mod row;
mod rows;
pub mod shared;
mod source;
pub mod stub;
pub mod stub_keys;
mod system;
mod value;
mod width;
pub mod write;

pub use error::raise;
pub use leaf::{Attribute, Keys, Level, OpenLeaf, Path};
pub use leaf_cache::{
    close as close_leaf, drop_stale, forget_file, forget_file_everywhere, invalidate, open as open_leaf,
};
pub use leaf_read::read_xids;
pub use lookup::{columnar_at, row_at};
pub use needs::{Need, Needs};
pub use page_leaf::{PageLeaf, find as page_leaf};
pub use row::{Instead, Row};
pub use rows::{
    LeafRows, Pick, count_of_blocks, fetch, next_version, row_version, rows_for_analyze, rows_of_block, rows_of_blocks,
    within,
};
pub use system::{System, row_for_rewrite};
pub use value::{dense_to_datum, storage};
pub use width::{Width, most_bytes};
