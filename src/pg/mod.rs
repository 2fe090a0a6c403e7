//! What stands between this crate and PostgreSQL's C. See README.md.

pub mod buffer;
pub mod catalog;
pub mod cluster;
pub mod executor;
pub mod free_space;
pub mod guard;
mod handle;
pub mod horizon;
pub mod index;
pub mod index_scan;
pub mod lock;
pub mod memory;
pub mod node;
pub mod page;
pub mod parallel;
pub mod relation;
pub mod sample;
pub mod settings;
pub mod shm;
pub mod slot;
pub mod snapshot;
pub mod stats;
pub mod tupdesc;
pub mod tuple;
pub mod vacuum;
pub mod values;
pub mod wal;
pub mod xid;

pub use buffer::{Lock, Pin};
pub use page::{Page, PageMut};
pub use relation::Relation;
pub use slot::Slot;
pub use snapshot::Snapshot;
pub use tupdesc::TupleDesc;
pub use tuple::Tuple;
pub use values::Values;
