//! Arrow IPC as it comes in: streams and files, however damaged, as record batches ([`Stream`]), and the rows of these as
//! the text that COPY FROM reads ([`Rows`]).
//!
//! What comes in is not trusted: whatever a stream says of lengths is asked for before it is taken, arrow-rs checks what the
//! arrays hold, and a panic of its is damage, too.

mod cell;
mod error;
mod nested;
mod numbers;
mod rows;
mod stream;
mod target;
mod times;
mod values;

pub use error::{Error, Unfit, Unsuited, Unwritten};
pub use rows::Rows;
pub use stream::Stream;
pub use target::Target;
