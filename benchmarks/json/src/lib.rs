//! The event stream of a social network, invented: what is public about such streams is their shape. Nested objects,
//! optional fields, arrays of objects, a field that is a string in some events and an object in others, ids that do not
//! compress.
//!
//! Every event is a function of (seed, size of the stream, its number): streams are written in constant memory and
//! repeat byte for byte.

pub mod event;
pub mod ids;
pub mod stream;
pub mod text;
pub mod view;
