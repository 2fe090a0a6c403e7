//! Query results as Apache Arrow IPC: `amax.arrow(query)` and `COPY … TO … WITH (FORMAT arrow)`.
//!
//! See README.md beside this file for the invariants. Rows come from PostgreSQL's executor; a batch is built
//! from the slots' datums and written with arrow-rs (Arrow = Li et al., *Mainlining Databases*, §5, "improved
//! wire protocol").

mod copy;
mod encoder;
mod error;
mod guc;
mod options;
mod output;
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
