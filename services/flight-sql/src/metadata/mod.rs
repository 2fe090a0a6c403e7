//! What a database has, as far as the role may use it: catalogs, schemas, tables, keys, types, and what the server can do. Each answer has
//! the schema that Flight SQL prescribes.

mod info;
mod keys;
mod tables;
mod types;

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_flight::FlightData;
use arrow_flight::sql::Command;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use tonic::Status;

use crate::error;
use crate::rows::encode;
use crate::session::Session;

/// Rows of a message: clients do not take one of any size.
const ROWS: usize = 1000;

/// The schema of an answer; None if the command asks for something else.
pub fn schema(command: &Command) -> Option<SchemaRef> {
    Some(match command {
        Command::CommandGetCatalogs(_) => tables::catalogs_schema(),
        Command::CommandGetDbSchemas(_) => tables::schemas_schema(),
        Command::CommandGetTables(command) => tables::tables_schema(command.include_schema),
        Command::CommandGetTableTypes(_) => tables::table_types_schema(),
        Command::CommandGetPrimaryKeys(_) => keys::primary_schema(),
        Command::CommandGetExportedKeys(_)
        | Command::CommandGetImportedKeys(_)
        | Command::CommandGetCrossReference(_) => keys::foreign_schema(),
        Command::CommandGetXdbcTypeInfo(_) => types::schema(),
        Command::CommandGetSqlInfo(_) => info::schema(),
        _ => return None,
    })
}

/// The answer.
pub async fn read(session: &Arc<Session>, command: Command) -> Result<Vec<FlightData>, Status> {
    let batch = match command {
        Command::CommandGetCatalogs(_) => tables::catalogs(session).await?,
        Command::CommandGetDbSchemas(command) => tables::schemas(session, command).await?,
        Command::CommandGetTables(command) => tables::tables(session, command).await?,
        Command::CommandGetTableTypes(_) => tables::table_types()?,
        Command::CommandGetPrimaryKeys(command) => keys::primary(session, command).await?,
        Command::CommandGetExportedKeys(command) => keys::exported(session, command).await?,
        Command::CommandGetImportedKeys(command) => keys::imported(session, command).await?,
        Command::CommandGetCrossReference(command) => keys::cross(session, command).await?,
        Command::CommandGetXdbcTypeInfo(command) => types::read(command)?,
        Command::CommandGetSqlInfo(command) => info::read(session, command).await?,
        _ => return Err(Status::invalid_argument("no ticket of this server's")),
    };
    let mut messages = encode(&batch.schema(), None)?;
    let mut from = 0;
    while from < batch.num_rows() {
        let count = ROWS.min(batch.num_rows() - from);
        let part = batch.slice(from, count);
        messages.extend(encode(&batch.schema(), Some(&part))?.split_off(1));
        from += count;
    }
    Ok(messages)
}

/// Asks the catalog, as the role. What it may not see is left out by each query.
async fn ask(session: &Arc<Session>, query: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Status> {
    let place = session.place(None).await?;
    let _running = session.register(&[], &place);
    let rows = place.client().query(query, parameters).await;
    place.settle(rows.map_err(error::Failure::from))
}

/// Whether the role may use a relation: what information_schema.tables asks, and that its schema can be reached.
fn usable(relation: &str, schema: &str) -> String {
    format!(
        "(pg_catalog.has_schema_privilege({schema}.oid, 'USAGE') \
         AND (pg_catalog.has_table_privilege({relation}.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') \
              OR pg_catalog.has_any_column_privilege({relation}.oid, 'SELECT, INSERT, UPDATE, REFERENCES')))"
    )
}

fn described(fields: &[(&str, DataType, bool)]) -> SchemaRef {
    let fields = fields
        .iter()
        .map(|(name, of, nullable)| Field::new(*name, of.clone(), *nullable));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn batch(schema: SchemaRef, columns: Vec<ArrayRef>) -> Result<RecordBatch, Status> {
    RecordBatch::try_new(schema, columns).map_err(error::internal)
}

/// A column of a catalog query, as text.
fn texts(rows: &[Row], at: usize) -> Result<ArrayRef, Status> {
    let values: Result<Vec<Option<String>>, _> = rows.iter().map(|row| row.try_get(at)).collect();
    Ok(Arc::new(StringArray::from(values.map_err(|error| error::of(&error))?)))
}
