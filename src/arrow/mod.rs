//! Query results as Apache Arrow IPC or Parquet: `amax.arrow(query)` and `COPY … TO … WITH (FORMAT arrow | parquet)`; and the other
//! way, `COPY … FROM … WITH (FORMAT arrow | parquet)`.
//!
//! See README.md beside this file for the invariants. Rows come from PostgreSQL's executor, or columns from a node of
//! ours; a batch is built of these and written with arrow-rs (Arrow = Li et al., *Mainlining Databases*, §5, "improved
//! wire protocol").

mod copy;
mod direct;
mod encoder;
mod endpoint;
mod error;
mod format;
mod from;
mod guc;
mod options;
mod output;
mod parts;
mod plan;
mod query;
mod receiver;
mod relation;
mod row_groups;
mod scope;
mod spool;
mod srf;
mod statement;
mod temporary;
mod tree;
mod types;
mod writer;

pub use copy::run as copy;
pub use format::is_ours;
pub use guc::init;
pub use scope::Scope;
pub use statement::Statement;
