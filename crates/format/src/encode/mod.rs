//! Value encodings: those of Apache Parquet (bit-packing and run-length hybrid, delta binary packed,
//! delta length, delta strings, dictionary), frame of reference and packed alphabets.
//!
//! Decoders take hostile bytes: they return an error, never panic, and allocate no more than a small
//! multiple of the value count their caller has already granted.

pub(crate) mod bitpack;
pub(crate) mod blocks;
pub(crate) mod compress;
pub(crate) mod delta;
pub(crate) mod hybrid;
pub(crate) mod ints;
pub(crate) mod packed;
pub(crate) mod strings;
pub(crate) mod value;
pub(crate) mod values;
