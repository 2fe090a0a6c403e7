//! A table's rows, wherever they are: what the access method and custom scans read and write them by. See README.md.

pub mod block;
pub mod load;
pub mod row_pages;
pub mod slot;
