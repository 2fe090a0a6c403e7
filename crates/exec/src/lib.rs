//! Vectorized execution, without PostgreSQL: what a columnar scan computes over the rows of a batch.
//!
//! * [`vector`]: the values of an expression for the selected rows of one batch; [`VectorBuilder`] makes them.
//! * [`expr`]: expressions over the columns of a leaf; [`batch`]: their values.
//! * [`Aggregator`]: grouping and aggregate functions in bounded memory; [`Grouping`] and [`Aggregate`] alone.
//! * [`rows`]: rows that processes send one another, so that each has groups or values of its own.
//! * [`Ordered`]: values in their order, for percentiles and the like.
//! * [`KeySet`]: which rows can have a match in a join; [`Lookup`]: which match they have.
//! * [`positions`]: the match that a join index says they have.
//! * [`Top`]: the first rows of an order; [`TopOfEach`]: the first row of each group.
//! * [`decimal`]: numerics as values.

pub mod aggregate;
pub mod aggregator;
mod arith;
pub mod batch;
mod best;
mod branches;
mod bucket;
mod builder;
mod call;
mod codes;
mod collation;
mod collect;
mod combinations;
mod compare;
mod concat;
pub mod decimal;
mod digits;
mod distinct;
pub mod error;
mod evaluated;
pub mod expr;
mod external;
mod filter;
mod functions;
pub mod group;
mod held;
mod keys;
mod like;
mod list;
mod lookup;
mod matches;
mod memo;
mod operators;
mod order;
mod ordered;
mod pairs;
pub mod positions;
mod probes;
mod range;
mod reach;
mod regex;
pub mod rows;
mod scaled;
mod sets;
mod skip;
mod spread;
mod state;
mod store;
mod strings;
mod sum;
mod table;
mod text;
mod times;
mod top;
mod top_of_each;
mod tops_of_each;
mod tuples;
mod values;
pub mod vector;
mod zones;

pub use aggregate::{Aggregate, Function, Input};
pub use aggregator::{Aggregator, By, Sent};
pub use batch::{Batch, Columns};
pub use bucket::Buckets;
pub use builder::VectorBuilder;
pub use collation::{Bytewise, Collation};
pub use decimal::Decimal;
pub use digits::{are_ordered, is_comparable};
pub use error::{Error, Result};
pub use evaluated::Evaluated;
pub use expr::Expr;
pub use external::External;
pub use functions::Function1;
pub use group::{Direction, Grouping};
pub use held::held_ints;
pub use keys::KeySet;
pub use like::Pattern;
pub use list::List;
pub use lookup::Lookup;
pub use matches::{Matches, Rounds};
pub use memo::Memo;
pub use operators::{Arithmetic, Comparison, From, JsonScalar, To};
pub use order::{SortKey, ordered};
pub use ordered::{Ordered, are_equal};
pub use probes::{Passed, Probes};
pub use regex::as_like;
pub use rows::Rows;
pub use sets::GroupingSets;
pub use skip::{is_harmless, passes_none};
pub use state::Output;
pub use strings::TextFunction;
pub use table::NONE;
pub use times::{TimeType, Unit};
pub use top::Top;
pub use top_of_each::TopOfEach;
pub use tops_of_each::TopsOfEach;
pub use vector::{LARGE, Scalar, StringTable, Type, Vector};
pub use zones::{Zones, words_between};
