//! What makes a relation look like another while heap's functions work on it. See README.md.

pub mod fill;
pub mod keys;
pub mod kind;
pub mod routine;
pub mod size;
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
pub mod unread;
