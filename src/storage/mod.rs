//! Storage: pages in a relation's main fork. See README.md.

pub mod blob;
pub mod buffer;
pub mod cache;
pub mod census;
pub mod checked;
pub mod damage;
pub mod hand;
pub mod manifest;
pub mod map;
pub mod meta;
pub mod rowpage;
pub mod space;
pub mod version;
pub mod watch;
