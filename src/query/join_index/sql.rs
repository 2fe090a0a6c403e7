//! Making, dropping and looking at join indexes by SQL functions.

use super::build;
use super::definition::{Definition, METHOD, Unusable, is_join_index, of_table, over_row, types};
use super::seen::{bound, each_number, rows_there};
use super::stored::Stored;
use crate::columnar::open_leaf;
use crate::maintenance::flush_for_owner;
use crate::pg::index;
use crate::pg::node::{Node, Nodes};
use crate::pg::parse::{Query, RawStmt};
use crate::pg::quote::{identifier, literal};
use crate::pg::relation::{Opened, may_be_read_whole};
use crate::pg::snapshot;
use crate::pg::{Relation, lookup, xid};
use crate::query::batch::raise::raise;
use crate::query::expr::entry::expressions;
use crate::storage::manifest;
use amax_exec::positions::Positions;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use std::ffi::CString;

/// A table's name, as SQL has it.
fn name_of(table: &Relation) -> String {
    let schema = lookup::schema_name(table.schema());
    format!("{}.{}", identifier(schema), identifier(table.name()))
}

/// Expressions over a table's row, given as a list in SQL.
fn parse(table: &Relation, keys: &str) -> Vec<&'static Node> {
    let text = format!("SELECT {keys} FROM ONLY {}", name_of(table));
    let refuse = || -> ! {
        ereport!(
            ERROR,
            PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
            format!(
                "\"{keys}\" is no list of expressions over the columns of \"{}\"",
                table.name()
            )
        );
    };
    let Ok(text) = CString::new(text) else { refuse() };
    // SAFETY: a string that ends with a zero.
    let statements = unsafe { Nodes::of(pg_sys::pg_parse_query(text.as_ptr())) };
    let [statement] = statements.to_vec()[..] else { refuse() };
    let statement = statement.as_a::<RawStmt>().unwrap_or_else(|| refuse());
    // SAFETY: what the parser has made of the text; a query.
    let query = unsafe {
        Query::of(pg_sys::parse_analyze_fixedparams(
            statement.raw(),
            text.as_ptr(),
            std::ptr::null(),
            0,
            std::ptr::null_mut(),
        ))
    };
    let is_plain = query.commandType() == pg_sys::CmdType::CMD_SELECT
        && query.utilityStmt().is_none()
        && query.rtable().len() == 1
        && query.cteList().is_empty()
        && !(query.hasAggs() || query.hasWindowFuncs() || query.hasTargetSRFs() || query.hasSubLinks())
        && query.sortClause().is_empty()
        && query.jointree().is_some_and(|from| from.quals().is_none());
    if !is_plain {
        refuse();
    }
    let keys = expressions(query.targetList()).into_iter();
    keys.map(|key| over_row(key.planned(), &[])).collect()
}

/// The unique index by whose keys rows of a table are found; None: its primary key.
fn key_of(dimension: &Relation, keys: &str) -> Option<String> {
    let wanted = parse(dimension, keys);
    let is = |id: pg_sys::Oid| {
        let unique = Opened::with_lock(id, pg_sys::AccessShareLock);
        let key = index::unique_key(&unique, dimension).unwrap_or_default();
        let equals = |(a, b): (&&'static Node, &&'static Node)| over_row(a, &[]).equals(b);
        key.len() == wanted.len() && key.iter().zip(&wanted).all(equals)
    };
    if index::primary_key(dimension).is_some_and(is) {
        return None;
    }
    let mut found = None;
    dimension.all_indexes(|index| {
        if is(index.id) {
            found = Some(index.id);
        }
        found.is_none()
    });
    let Some(found) = found else {
        ErrorReport::new(
            PgSqlErrorCode::ERRCODE_INVALID_FOREIGN_KEY,
            format!("there is no unique index of \"{}\" on {keys}", dimension.name()),
            "",
        )
        .set_detail("Rows are found by a unique index of the whole table that is checked at once.")
        .set_hint("Create one first, or name the columns of the primary key.")
        .report(PgLogLevel::ERROR);
        unreachable!("an error was raised")
    };
    Some(Opened::with_lock(found, pg_sys::NoLock).name())
}

/// `amax.create_join_index(table, keys, dimension, dimension_keys)`.
#[pg_extern]
fn create_join_index(table: pg_sys::Oid, keys: &str, dimension: pg_sys::Oid, dimension_keys: &str) -> pg_sys::Oid {
    xid::require_writable(c"amax.create_join_index()");
    let table_id = table;
    let table = Opened::with_lock(table_id, pg_sys::ShareLock);
    table.require_ours();
    table.require_owner();
    let dimension = Opened::for_reading(dimension, None);
    let own = parse(&table, keys);
    let key = key_of(&dimension, dimension_keys);
    let others = parse(&dimension, dimension_keys);
    if own.len() != others.len() {
        ereport!(
            ERROR,
            PgSqlErrorCode::ERRCODE_INVALID_FOREIGN_KEY,
            format!("{} keys cannot be compared with {}", own.len(), others.len()),
            "The table has to have a key for each of the dimension's."
        );
    }
    if types(&own, &others).is_err() {
        ereport!(
            ERROR,
            PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
            format!(
                "cannot compare keys of \"{}\" with those of \"{}\"",
                table.name(),
                dimension.name()
            ),
            "Keys have to be integers, times, uuids or text of a deterministic collation, and the same on both sides."
        );
    }
    let name = index::new_name(&table, &format!("{}_join", dimension.name()));
    let key = key.map_or("NULL".into(), |key| literal(key.as_bytes()));
    let statement = format!(
        "CREATE INDEX {} ON {} USING {} (amax.join_row({}::pg_catalog.regclass, {key}::pg_catalog.name, {keys}))",
        identifier(name.clone()),
        name_of(&table),
        METHOD.to_str().expect("ASCII"),
        literal(name_of(&dimension).as_bytes()),
    );
    let (schema, dimension_id) = (table.schema(), dimension.id());
    drop((table, dimension));
    [table_id, dimension_id].into_iter().for_each(flush_for_owner);
    Spi::run(&statement).unwrap_or_else(|e| error!("{e}"));
    index::id_of(&name, schema).expect("it has just been made")
}

fn require_index(index: Opened) -> Opened {
    if index.kind() != pg_sys::RELKIND_INDEX || !is_join_index(&index) {
        ereport!(
            ERROR,
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!("\"{}\" is not a join index", index.name()),
            "amax.join_indexes lists those that there are."
        );
    }
    index
}

/// `amax.drop_join_index(index)`.
#[pg_extern]
fn drop_join_index(index: pg_sys::Oid) {
    let index = require_index(Opened::with_lock(index, pg_sys::AccessShareLock));
    let statement = format!("DROP INDEX {}", name_of(&index));
    drop(index);
    Spi::run(&statement).unwrap_or_else(|e| error!("{e}"));
}

/// What `amax.join_indexes` shows of one: of the table's columnar rows, how many it has, and of how many of these it knows a row that the query sees.
#[pg_extern]
#[allow(clippy::type_complexity)]
fn join_index_state(
    index: pg_sys::Oid,
) -> TableIterator<
    'static,
    (
        name!(dimension, Option<pg_sys::Oid>),
        name!(rows, Option<i64>),
        name!(covered, Option<i64>),
        name!(found, Option<i64>),
        name!(reason, Option<String>),
    ),
> {
    // What somebody has dropped meanwhile is no index.
    let Some(index) = Opened::find(index, pg_sys::AccessShareLock).map(require_index) else {
        return TableIterator::new([]);
    };
    let Some(definition) = Definition::of(&index) else {
        return TableIterator::once((None, None, None, None, Some("it is no call of amax.join_row()".into())));
    };
    let of = Some(definition.dimension);
    let id = index::table_of(&index);
    if !(may_be_read_whole(id) && may_be_read_whole(definition.dimension)) {
        return TableIterator::once((of, None, None, None, None));
    }
    let tables = [id, definition.dimension].map(|id| Opened::find(id, pg_sys::AccessShareLock));
    let [Some(table), Some(dimension)] = tables else {
        return TableIterator::new([]);
    };
    if !table.is_ours() {
        return TableIterator::once((of, None, None, None, Some(Unusable::NotColumnar.to_string())));
    }
    let rows = manifest::current(&table).rows() as i64;
    let keys = match definition.keys(&dimension) {
        Ok(keys) => keys,
        Err(why) => return TableIterator::once((of, Some(rows), None, None, Some(why.to_string()))),
    };
    let about = keys.about(&table, &dimension);
    let stored = Stored::open(index).filter(|stored| Some(stored.sidecars.about) == about);
    let Some(stored) = stored else {
        let is_empty = manifest::current(&dimension).components.is_empty();
        let why = build::cannot_make(&table, &dimension, &keys).map(|why| why.to_string());
        let why = why.or((rows > 0).then(|| match is_empty {
            true => "the dimension has no columnar rows".into(),
            false => format!("VACUUM of \"{}\" has to make it anew", table.name()),
        }));
        return TableIterator::once((of, Some(rows), Some(0), Some(0), why));
    };
    let known = known(&dimension);
    let (mut covered, mut found) = (0, 0);
    let manifest = manifest::current(&table);
    for component in &manifest.components {
        for at in 0..component.leaves as usize {
            crate::memory::check_for_interrupts();
            let leaf = open_leaf(&table, component, at).ok();
            if let Some((_, values)) = leaf.and_then(|leaf| stored.values(&leaf)) {
                covered += values.len() as i64;
                found += (values.len() - known.count_unknown(values.words(), values.len())) as i64;
            }
        }
    }
    TableIterator::once((of, Some(rows), Some(covered), Some(found), None))
}

/// The rows of a table that the query sees; what was not found is known not to be there.
fn known(table: &Relation) -> Positions {
    let mut known = Positions::new(bound(table), true).unwrap_or_else(|e| raise(e));
    rows_there(table, snapshot::active(), |leaf, _, rows, _| {
        each_number(leaf, &rows, |number| known.add(number));
    });
    known
}

/// What is wrong with the join indexes of a table.
pub fn check(table: &Relation) -> Vec<String> {
    let mut problems = Vec::new();
    for id in of_table(table) {
        let index = Opened::with_lock(id, pg_sys::AccessShareLock);
        // One that is of no use says nothing.
        let found = build::check(table, &index).unwrap_or_default();
        problems.extend(
            found
                .into_iter()
                .map(|problem| format!("join index \"{}\": {problem}", index.name())),
        );
    }
    problems
}
