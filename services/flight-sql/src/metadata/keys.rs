//! Primary and foreign keys.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, UInt8Array};
use arrow_flight::sql::{
    CommandGetCrossReference, CommandGetExportedKeys, CommandGetImportedKeys, CommandGetPrimaryKeys,
};
use arrow_schema::{DataType, SchemaRef};
use tokio_postgres::Row;
use tonic::Status;

use super::{ask, batch, described, texts, usable};
use crate::error;
use crate::session::Session;

/// A table as commands name it: catalog, schema, name.
type Named = (Option<String>, Option<String>, String);

pub fn primary_schema() -> SchemaRef {
    described(&[
        ("catalog_name", DataType::Utf8, true),
        ("db_schema_name", DataType::Utf8, true),
        ("table_name", DataType::Utf8, false),
        ("column_name", DataType::Utf8, false),
        ("key_name", DataType::Utf8, true),
        ("key_sequence", DataType::Int32, false),
    ])
}

pub async fn primary(session: &Arc<Session>, command: CommandGetPrimaryKeys) -> Result<RecordBatch, Status> {
    let query = format!(
        "SELECT pg_catalog.current_database()::pg_catalog.text, n.nspname::pg_catalog.text, c.relname::pg_catalog.text, \
           a.attname::pg_catalog.text, k.conname::pg_catalog.text, u.at::pg_catalog.int4 \
         FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid \
           JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
           CROSS JOIN LATERAL pg_catalog.unnest(k.conkey) WITH ORDINALITY AS u(number, at) \
           JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = u.number \
         WHERE k.contype = 'p' AND {} AND {} ORDER BY n.nspname, c.relname, k.conname, u.at",
        usable("c", "n"),
        of("", 1)
    );
    let rows = ask(session, &query, &[&command.catalog, &command.db_schema, &command.table]).await?;
    let mut columns: Vec<ArrayRef> = (0..5).map(|at| texts(&rows, at)).collect::<Result<_, _>>()?;
    columns.push(Arc::new(numbers(&rows, 5)?));
    batch(primary_schema(), columns)
}

pub fn foreign_schema() -> SchemaRef {
    described(&[
        ("pk_catalog_name", DataType::Utf8, true),
        ("pk_db_schema_name", DataType::Utf8, true),
        ("pk_table_name", DataType::Utf8, false),
        ("pk_column_name", DataType::Utf8, false),
        ("fk_catalog_name", DataType::Utf8, true),
        ("fk_db_schema_name", DataType::Utf8, true),
        ("fk_table_name", DataType::Utf8, false),
        ("fk_column_name", DataType::Utf8, false),
        ("key_sequence", DataType::Int32, false),
        ("fk_key_name", DataType::Utf8, true),
        ("pk_key_name", DataType::Utf8, true),
        ("update_rule", DataType::UInt8, false),
        ("delete_rule", DataType::UInt8, false),
    ])
}

/// Keys that refer to a table.
pub async fn exported(session: &Arc<Session>, command: CommandGetExportedKeys) -> Result<RecordBatch, Status> {
    let table = (command.catalog, command.db_schema, command.table);
    foreign(session, Some(table), None).await
}

/// Keys of a table.
pub async fn imported(session: &Arc<Session>, command: CommandGetImportedKeys) -> Result<RecordBatch, Status> {
    let table = (command.catalog, command.db_schema, command.table);
    foreign(session, None, Some(table)).await
}

/// Keys of one that refer to another.
pub async fn cross(session: &Arc<Session>, command: CommandGetCrossReference) -> Result<RecordBatch, Status> {
    let referred = (command.pk_catalog, command.pk_db_schema, command.pk_table);
    let referring = (command.fk_catalog, command.fk_db_schema, command.fk_table);
    foreign(session, Some(referred), Some(referring)).await
}

/// Whether the table of a side is the one that three parameters name.
fn of(side: &str, first: usize) -> String {
    let (second, third) = (first + 1, first + 2);
    format!(
        "(${first}::pg_catalog.text IS NULL OR pg_catalog.current_database() = ${first}) \
         AND (${second}::pg_catalog.text IS NULL OR {side}n.nspname = ${second}) \
         AND (${third}::pg_catalog.text IS NULL OR {side}c.relname = ${third})"
    )
}

/// Keys of one table that refer to another; None: to any, or of any. They are in the order of the other side.
async fn foreign(
    session: &Arc<Session>,
    referred: Option<Named>,
    referring: Option<Named>,
) -> Result<RecordBatch, Status> {
    let order = match referring {
        Some(_) => "pn.nspname, pc.relname, pk.conname, u.at",
        None => "fn.nspname, fc.relname, k.conname, u.at",
    };
    let rule = |column: &str| {
        // UpdateDeleteRules of Flight SQL.
        format!(
            "CASE k.{column} WHEN 'c' THEN 0 WHEN 'r' THEN 1 WHEN 'n' THEN 2 WHEN 'd' THEN 4 ELSE 3 END::pg_catalog.int4"
        )
    };
    let query = format!(
        "SELECT pg_catalog.current_database()::pg_catalog.text, pn.nspname::pg_catalog.text, pc.relname::pg_catalog.text, \
           pa.attname::pg_catalog.text, pg_catalog.current_database()::pg_catalog.text, fn.nspname::pg_catalog.text, \
           fc.relname::pg_catalog.text, fa.attname::pg_catalog.text, u.at::pg_catalog.int4, k.conname::pg_catalog.text, \
           pk.conname::pg_catalog.text, {}, {} \
         FROM pg_catalog.pg_constraint k \
           JOIN pg_catalog.pg_class fc ON fc.oid = k.conrelid JOIN pg_catalog.pg_namespace fn ON fn.oid = fc.relnamespace \
           JOIN pg_catalog.pg_class pc ON pc.oid = k.confrelid JOIN pg_catalog.pg_namespace pn ON pn.oid = pc.relnamespace \
           CROSS JOIN LATERAL ROWS FROM (pg_catalog.unnest(k.conkey), pg_catalog.unnest(k.confkey)) WITH ORDINALITY AS u(f, p, at) \
           JOIN pg_catalog.pg_attribute fa ON fa.attrelid = fc.oid AND fa.attnum = u.f \
           JOIN pg_catalog.pg_attribute pa ON pa.attrelid = pc.oid AND pa.attnum = u.p \
           LEFT JOIN pg_catalog.pg_constraint pk ON pk.conindid = k.conindid AND pk.conrelid = k.confrelid AND pk.contype IN ('p', 'u') \
         WHERE k.contype = 'f' AND {} AND {} AND {} AND {} ORDER BY {order}",
        rule("confupdtype"),
        rule("confdeltype"),
        usable("fc", "fn"),
        usable("pc", "pn"),
        of("p", 1),
        of("f", 4),
    );
    let any = |table: Option<Named>| match table {
        Some((catalog, schema, name)) => [catalog, schema, Some(name)],
        None => [None, None, None],
    };
    let ([a, b, c], [d, e, f]) = (any(referred), any(referring));
    let rows = ask(session, &query, &[&a, &b, &c, &d, &e, &f]).await?;
    let columns = (0..13).map(|at| match at {
        8 => Ok(Arc::new(numbers(&rows, at)?) as ArrayRef),
        11 | 12 => {
            let rules = numbers(&rows, at)?;
            let rules = rules.values().iter().map(|rule| *rule as u8);
            Ok(Arc::new(UInt8Array::from_iter_values(rules)) as ArrayRef)
        }
        _ => texts(&rows, at),
    });
    batch(foreign_schema(), columns.collect::<Result<_, Status>>()?)
}

fn numbers(rows: &[Row], at: usize) -> Result<Int32Array, Status> {
    let values: Result<Vec<i32>, _> = rows.iter().map(|row| row.try_get(at)).collect();
    Ok(Int32Array::from(values.map_err(|error| error::of(&error))?))
}
