//! SQL functions behind `amax.stats`: statistics of paths, as the planner is told of them.

use crate::encoding::plain;
use crate::inspect::open_column;
use crate::query::statistics::{Shown, of_paths};
use pgrx::AnyElement;
use pgrx::pg_sys;
use pgrx::prelude::*;

/// `amax.path_statistics(table, attribute)`: a row per expression over a path of a document column.
#[pg_extern]
fn path_statistics(
    table: pg_sys::Oid,
    attribute: i16,
) -> TableIterator<'static, (name!(expression, String), name!(statistics, AnyElement))> {
    let opened = open_column(table, attribute);
    let row = |shown: Shown| (plain(shown.expression.clone()), shown.statistics().to_value());
    TableIterator::new(of_paths(&opened, attribute).into_iter().map(row))
}
