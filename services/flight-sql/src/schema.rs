//! What a result will look like, before the statement runs: as COPY itself says it, asked for no rows.

use std::sync::Arc;

use arrow_flight::{IpcMessage, SchemaAsIpc};
use arrow_ipc::MessageHeader;
use arrow_ipc::writer::IpcWriteOptions;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use futures::TryStreamExt;
use tokio_postgres::{Client, Error, SimpleQueryMessage};
use tonic::Status;

use crate::error::{self, Failure};
use crate::ipc::{Decoder, encapsulated};
use crate::parameters::{expression, quoted};
use crate::statement::Statement;

/// How a statement's result leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// There is none.
    Nothing,
    /// By COPY, as Arrow.
    Copy,
    /// Row by row, as text: what COPY does not take.
    Rows,
}

impl Route {
    pub fn of(statement: &Statement<'_>, prepared: &tokio_postgres::Statement) -> Self {
        match (prepared.columns().is_empty(), statement.is_copyable()) {
            (true, _) => Self::Nothing,
            (false, true) => Self::Copy,
            (false, false) => Self::Rows,
        }
    }
}

/// The schema of a statement's result, as FlightInfo has it. Nothing runs.
pub async fn describe(
    client: &Client,
    statement: &Statement<'_>,
    prepared: &tokio_postgres::Statement,
) -> Result<Bytes, Failure> {
    match Route::of(statement, prepared) {
        Route::Nothing => encoded(&Schema::empty()).map_err(Failure::Own),
        Route::Rows => encoded(&of_texts(prepared)).map_err(Failure::Own),
        Route::Copy if statement.writes() => {
            // It cannot be part of a query, so a query is made of the types of its columns.
            let query = of_types(client, prepared).await?;
            asked(client, &query).await
        }
        Route::Copy => {
            let nulls: Vec<_> = prepared.params().iter().map(|of| expression(None, of)).collect();
            of_query(client, &statement.with(&nulls)?).await
        }
    }
}

/// The schema of a query without parameters. Until the transaction ends, its tables stay as they are.
pub async fn of_query(client: &Client, query: &str) -> Result<Bytes, Failure> {
    asked(client, &format!("SELECT * FROM ({query}\n) AS q LIMIT 0")).await
}

/// What COPY says of a query's schema.
async fn asked(client: &Client, query: &str) -> Result<Bytes, Failure> {
    let pieces: Vec<Bytes> = client.copy_out(copy(query).as_str()).await?.try_collect().await?;
    let mut decoder = Decoder::default();
    pieces.iter().try_for_each(|piece| decoder.push(piece))?;
    match decoder.message()? {
        Some(message) if message.kind == MessageHeader::Schema => Ok(encapsulated(&message.header)),
        _ => Err(Failure::Own(Status::internal("COPY gave no schema"))),
    }
}

/// COPY of a query.
pub fn copy(query: &str) -> String {
    format!("COPY ({query}\n) TO STDOUT (FORMAT arrow)")
}

async fn of_types(client: &Client, prepared: &tokio_postgres::Statement) -> Result<String, Error> {
    let list = |numbers: Vec<String>| format!("'{{{}}}'", numbers.join(","));
    let columns = prepared.columns();
    let types = list(columns.iter().map(|column| column.type_().oid().to_string()).collect());
    let modifiers = list(
        columns
            .iter()
            .map(|column| column.type_modifier().to_string())
            .collect(),
    );
    let shown = format!(
        "SELECT pg_catalog.format_type(t, m) FROM ROWS FROM (pg_catalog.unnest({types}::pg_catalog.oid[]), \
         pg_catalog.unnest({modifiers}::pg_catalog.int4[])) WITH ORDINALITY AS c(t, m, n) ORDER BY n"
    );
    let mut names = Vec::new();
    for message in client.simple_query(&shown).await? {
        if let SimpleQueryMessage::Row(row) = message {
            names.push(row.try_get(0)?.unwrap_or("pg_catalog.text").to_owned());
        }
    }
    let nulls = names.iter().zip(columns);
    let nulls: Vec<_> = nulls
        .map(|(of, column)| format!("NULL::{of} AS {}", quoted(column.name())))
        .collect();
    Ok(format!("SELECT {} WHERE false", nulls.join(", ")))
}

/// Columns of text.
pub fn of_texts(prepared: &tokio_postgres::Statement) -> Schema {
    let columns = prepared.columns().iter();
    Schema::new(
        columns
            .map(|column| Field::new(column.name(), DataType::Utf8, true))
            .collect::<Vec<_>>(),
    )
}

/// A schema as FlightInfo has it.
pub fn encoded(schema: &Schema) -> Result<Bytes, Status> {
    let options = IpcWriteOptions::default();
    let message = IpcMessage::try_from(SchemaAsIpc::new(schema, &options)).map_err(error::internal)?;
    Ok(message.0)
}

/// The schema of parameters.
pub fn of_parameters(prepared: &tokio_postgres::Statement) -> SchemaRef {
    let fields = prepared.params().iter().zip(1..);
    Arc::new(Schema::new(
        fields
            .map(|(of, number)| crate::types::parameter(&format!("${number}"), of))
            .collect::<Vec<_>>(),
    ))
}
