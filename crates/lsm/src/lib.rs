//! The LSM tree's bookkeeping, without a server: which logical blocks belong to which component, where components lie
//! on disk, what was given up and when it may be reused. See README.md for the invariants.

mod blob;
pub mod delta;
pub mod extents;
pub mod manifest;
pub mod merge;
pub mod meta;
pub mod page;
pub mod ranges;
mod seal;
pub mod sidecar;
pub mod tid;
pub mod xids;

pub use blob::Blob;
pub use extents::{Extent, FreeSpace};
pub use manifest::{
    Component, Directory, LeafEntry, Manifest, Origin, Retired, RetiredPages, Suspects, UNKNOWN_XID, Unswept,
};
pub use ranges::RangeSet;
pub use sidecar::{Sidecar, Sidecars};
pub use tid::Key;
pub use xids::{LeafXids, Xids};

/// Why bytes read from disk were refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damaged(pub String);

impl std::fmt::Display for Damaged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Damaged {}
