//! `COPY … FROM … WITH (FORMAT arrow)`: rows of a stream as text, which PostgreSQL's COPY takes as any other, with all that its
//! tables have: defaults, constraints, triggers, partitions, WHERE. Where a table has nothing of these, columns go to its leaves (`direct`).

mod columns;
mod direct;
mod input;
mod source;
mod target;

use pgrx::pg_sys;

use super::options;
use super::scope::Scope;
use super::statement::Statement;
use crate::pg::copy::CopyFrom;
use crate::pg::relation::Opened;
use amax_arrow::Stream;
use columns::{listed, matched};
use input::Input;
use source::{Source, read};

/// Executes the statement and returns the number of rows. The privileges for its file or program have been checked.
pub fn run<'a>(statement: Statement<'a>, scope: Scope<'a>) -> u64 {
    let options = options::incoming(&statement);
    let name = statement.table().expect("only a table is copied to");
    // SAFETY: a node of the parser's.
    let table = unsafe { Opened::named(name, pg_sys::RowExclusiveLock) };
    // SAFETY: the statement's list of columns.
    let listed = unsafe { listed(statement.attributes(), &table) };
    let text = (scope.source(), scope.environment());
    // SAFETY: the statement is one that copies to the table, which is locked.
    let copy = unsafe { CopyFrom::begin(&table, statement.copy(), text, listed.as_deref().unwrap_or_default()) };
    let count = listed.as_ref().map_or(table.desc().natts(), Vec::len);
    let stream = read(Stream::open(Input::open(statement.destination(), count)));
    let columns = matched(stream.schema(), &table, listed.as_deref(), options.matching);
    let numbers: Vec<i16> = columns.iter().map(|column| column.number).collect();
    let mut source = Source::new(stream, &columns);
    let mut rows = 0;
    if !options.freeze
        && !copy.has_condition()
        && let Some(places) = direct::places(&table, &columns)
    {
        copy.check_rights(&numbers);
        rows = direct::load(&table, &columns, &places, &mut source);
    }
    if source.has_ended() {
        copy.end();
        return rows;
    }
    rows + copy.run(&numbers, options.freeze, rows, &mut |to| source.fill(to))
}
