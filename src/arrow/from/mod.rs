//! `COPY … FROM … WITH (FORMAT arrow)`: rows of a stream as text, which PostgreSQL's COPY takes as any other, with all that its
//! tables have: defaults, constraints, triggers, partitions, WHERE.

mod columns;
mod input;
mod source;
mod target;

use pgrx::pg_sys;

use super::options;
use super::scope::Scope;
use super::statement::Statement;
use crate::pg::copy::{copy_from, require_writable};
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
    require_writable(&table);
    // SAFETY: the statement's list of columns.
    let listed = unsafe { listed(statement.attributes(), &table) };
    let count = listed.as_ref().map_or(table.desc().natts(), Vec::len);
    let stream = read(Stream::open(Input::open(statement.destination(), count)));
    let columns = matched(stream.schema(), &table, listed.as_deref(), options.matching);
    let names: Vec<_> = columns.iter().map(|column| column.name).collect();
    let mut source = Source::new(stream, &columns);
    // SAFETY: the statement is one that copies to the table, which is locked.
    unsafe {
        copy_from(
            &table,
            statement.copy(),
            (scope.source(), scope.environment()),
            &names,
            options.freeze,
            &mut |to| source.fill(to),
        )
    }
}
