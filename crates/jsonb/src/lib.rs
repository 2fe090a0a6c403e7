//! A safe codec for PostgreSQL's binary jsonb and numeric, on plain bytes and without a server.
//!
//! A *payload* is what `VARDATA` of a jsonb datum points at: the root container, after the varlena
//! header, in the layout `src/include/utils/jsonb.h` describes, on a little-endian host. Reading
//! accepts hostile bytes: it reports [`Error`] and never panics. Writing produces the bytes
//! PostgreSQL itself would (`JsonbValueToJsonb` in `src/backend/utils/adt/jsonb_util.c`).
//!
//! * [`root`], [`Value`], [`Container`]: reading in place, without allocation.
//! * [`walk()`]: a whole value as a flat stream of events, at any depth.
//! * [`Builder`]: building from events, with keys in any order.
//! * [`Writer`]: the same in place, for who knows containers' sizes and has keys in order.
//! * [`TextWriter`]: writing text, value by value.
//! * [`is_canonical`]: whether bytes are exactly what PostgreSQL would have written.
//! * [`numeric`]: numbers; [`json`]: text; [`jsonpath`]: what a path looks at, and the condition that it is.

mod builder;
mod canonical;
mod error;
pub mod json;
pub mod jsonpath;
mod layout;
pub mod numeric;
mod reader;
mod sort;
mod text;
mod walk;
mod writer;

pub use builder::Builder;
pub use canonical::is_canonical;
pub use error::Error;
pub use reader::{Container, Elements, Pairs, StoredKeys, Value, root};
pub use text::{Key, TextWriter};
pub use walk::{Event, Walk, walk};
pub use writer::{Keys, Open, Writer};
