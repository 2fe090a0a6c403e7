//! Arrow IPC and Parquet as they come in: streams and files, however damaged, as record batches ([`Stream`], [`Parquet`]), and the
//! rows of these as the text that COPY FROM reads ([`Rows`]), or their columns as they go to leaves ([`Columns`]).
//!
//! What comes in is not trusted: whatever a stream says of lengths is asked for before it is taken, arrow-rs checks what the
//! arrays hold, and a panic of its is damage, too.
//!
//! What goes out is built where the values come from; but for documents, which become nested columns here ([`Inference`], [`Nested`]).

mod batches;
mod cell;
mod documents;
mod error;
mod inferred;
mod nested;
mod numbers;
mod parquet;
mod plain;
mod rows;
mod stream;
mod target;
mod times;
mod values;
mod variant;
mod written;

pub use self::parquet::{Parquet, ReadAt};
pub use batches::Batches;
pub use error::{Error, Unfit, Unsuited, Unwritten};
pub use inferred::{Inference, Kind, Mixed, Nested, Nulls};
pub use plain::{Columns, Place, Plain};
pub use rows::Rows;
pub use stream::Stream;
pub use target::Target;
pub use times::put_interval;
pub use variant::{Unvaried, VARIANT, Variants};
pub use written::ParquetFile;
