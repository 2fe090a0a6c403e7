//! `COPY … FROM … WITH (FORMAT arrow | parquet)`: rows of batches as text, which PostgreSQL's COPY takes as any other, with all that its
//! tables have: defaults, constraints, triggers, partitions, WHERE. Where a table has nothing of these, columns go to its leaves (`direct`).

mod columns;
mod direct;
mod input;
mod random;
mod source;
mod target;

use std::sync::Arc;

use pgrx::pg_sys;

use super::format::Format;
use super::options;
use super::scope::Scope;
use super::statement::Statement;
use crate::pg::copy::CopyFrom;
use crate::pg::relation::Opened;
use amax_arrow::{Batches, Parquet, Stream};
use columns::{How, listed, matched};
use input::Input;
use random::{Handle, Random};
use source::{Source, read};

/// Executes the statement and returns the number of rows. The privileges for its file or program have been checked.
pub fn run<'a>(statement: Statement<'a>, format: Format, scope: Scope<'a>) -> u64 {
    let options = options::incoming(&statement, format);
    let name = statement.table().expect("only a table is copied to");
    // SAFETY: a node of the parser's.
    let table = unsafe { Opened::named(name, pg_sys::RowExclusiveLock) };
    // SAFETY: the statement's list of columns.
    let listed = unsafe { listed(statement.attributes(), &table) };
    let text = (scope.source(), scope.environment());
    // SAFETY: the statement is one that copies to the table, which is locked.
    let copy = unsafe { CopyFrom::begin(&table, statement.copy(), text, listed.as_deref().unwrap_or_default()) };
    let count = listed.as_ref().map_or(table.desc().natts(), Vec::len);
    let input = Input::open(statement.destination(), count);
    let how = How {
        table: &table,
        listed: listed.as_deref(),
        by: options.matching,
        format,
    };
    match format {
        Format::Arrow => load(copy, read(Stream::open(input), format), &how, options.freeze),
        Format::Parquet => {
            let random = Arc::new(Random::of(input));
            let parquet = read(Parquet::open(Handle(Arc::clone(&random))), format);
            let rows = load(copy, parquet, &how, options.freeze);
            Arc::into_inner(random).expect("nobody reads it any more").close();
            rows
        }
    }
}

/// Copies what comes in into the columns that it has.
fn load(copy: CopyFrom<'_>, batches: impl Batches, how: &How<'_>, freeze: bool) -> u64 {
    let (table, columns) = (how.table, matched(batches.schema(), how));
    let numbers: Vec<i16> = columns.iter().map(|column| column.number).collect();
    let mut source = Source::new(batches, &columns, how.format);
    let mut rows = 0;
    if !freeze
        && !copy.has_condition()
        && let Some(places) = direct::places(table, &columns)
    {
        copy.check_rights(&numbers);
        rows = direct::load(table, &columns, &places, &mut source);
    }
    if source.has_ended() {
        copy.end();
        return rows;
    }
    rows + copy.run(&numbers, freeze, rows, &mut |to| source.fill(to))
}
