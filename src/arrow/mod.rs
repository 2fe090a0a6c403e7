//! Query results as Apache Arrow IPC: `amax.arrow(query)` and `COPY … TO … WITH (FORMAT arrow)`; and the other way, `COPY …
//! FROM … WITH (FORMAT arrow)`.
//!
//! See README.md beside this file for the invariants. Rows come from PostgreSQL's executor, or columns from a node of
//! ours; a batch is built of these and written with arrow-rs (Arrow = Li et al., *Mainlining Databases*, §5, "improved
//! wire protocol").

mod copy;
mod direct;
mod encoder;
mod endpoint;
mod error;
mod from;
mod guc;
mod options;
mod output;
mod plan;
mod query;
mod receiver;
mod relation;
mod scope;
mod srf;
mod statement;
mod tree;
mod types;

pub use copy::run as copy;
pub use guc::init;
pub use options::is_arrow;
pub use scope::Scope;
pub use statement::Statement;
