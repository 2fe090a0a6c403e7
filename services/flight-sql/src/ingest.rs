//! Bulk ingestion: batches into a table, which may be made for them, all or nothing.

use arrow_flight::FlightData;
use arrow_flight::sql::{CommandStatementIngest, TableExistsOption, TableNotExistOption};
use arrow_ipc::MessageHeader;
use arrow_ipc::convert::try_schema_from_flatbuffer_bytes;
use arrow_schema::Schema;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{SinkExt, StreamExt};
use tokio_postgres::{Client, SimpleQueryMessage};
use tonic::Status;

use crate::error::{self, Failure};
use crate::ipc;
use crate::parameters::{literal, quoted};
use crate::place::Place;
use crate::types;

/// Where rows go.
pub struct Target {
    schema: Option<String>,
    table: String,
    temporary: bool,
    /// Access method of a table that is made.
    using: String,
    if_missing: TableNotExistOption,
    if_there: TableExistsOption,
}

impl Target {
    pub fn of(command: &CommandStatementIngest, using: &str) -> Result<Self, Status> {
        let mut using = using.to_owned();
        for (name, value) in &command.options {
            match name.as_str() {
                "using" => using.clone_from(value),
                _ => {
                    return Err(Status::invalid_argument(format!(
                        "there is no option \"{name}\" of bulk ingestion"
                    )));
                }
            }
        }
        if command.temporary && command.transaction_id.is_none() {
            return Err(Status::failed_precondition(
                "a temporary table outside of a transaction would be gone at once, as each statement may have another connection",
            ));
        }
        let schema = command.schema.clone().filter(|schema| !schema.is_empty());
        let schema = match (command.temporary, schema) {
            (true, Some(_)) => return Err(Status::invalid_argument("temporary tables are in no schema")),
            // By this name no other table is found.
            (true, None) => Some("pg_temp".to_owned()),
            (false, schema) => schema,
        };
        // Without a word about it, rows go to a table that is there.
        let (if_missing, if_there) = match &command.table_definition_options {
            Some(options) => (options.if_not_exist(), options.if_exists()),
            None => (TableNotExistOption::Fail, TableExistsOption::Append),
        };
        if if_missing == TableNotExistOption::Unspecified || if_there == TableExistsOption::Unspecified {
            return Err(Status::invalid_argument(
                "what to do if the table exists, or does not, is not said",
            ));
        }
        Ok(Self {
            schema,
            table: command.table.clone(),
            temporary: command.temporary,
            using,
            if_missing,
            if_there,
        })
    }

    /// As SQL has it.
    fn name(&self) -> String {
        match &self.schema {
            Some(schema) => format!("{}.{}", quoted(schema), quoted(&self.table)),
            None => quoted(&self.table),
        }
    }

    /// Makes the table, or not, as has been asked for.
    async fn prepare(&mut self, client: &Client, catalog: Option<&str>, columns: &Schema) -> Result<(), Failure> {
        let asked = format!(
            "SELECT pg_catalog.current_database(), (SELECT n.nspname FROM pg_catalog.pg_class c \
               JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = pg_catalog.to_regclass({}))",
            literal(&self.name())
        );
        let (mut database, mut found) = (String::new(), None);
        for message in client.simple_query(&asked).await? {
            if let SimpleQueryMessage::Row(row) = message {
                database = row.try_get(0)?.unwrap_or_default().to_owned();
                found = row.try_get(1)?.map(str::to_owned);
            }
        }
        if catalog.is_some_and(|catalog| !catalog.is_empty() && catalog != database) {
            return Err(Status::invalid_argument(format!("the catalog is \"{database}\"")).into());
        }
        let there = found.is_some();
        if there && !self.temporary {
            // Where it is found, not where it would be made.
            self.schema = found;
        }
        match (there, self.if_missing, self.if_there) {
            (true, _, TableExistsOption::Append) => Ok(()),
            (true, _, TableExistsOption::Replace) => {
                client.batch_execute(&format!("DROP TABLE {}", self.name())).await?;
                self.create(client, columns).await
            }
            (true, ..) => Err(Status::already_exists(format!("table {} exists", self.name())).into()),
            (false, TableNotExistOption::Create, _) => self.create(client, columns).await,
            (false, ..) => Err(Status::not_found(format!("table {} does not exist", self.name())).into()),
        }
    }

    async fn create(&self, client: &Client, columns: &Schema) -> Result<(), Failure> {
        let columns = columns.fields().iter().map(|field| {
            let not_null = if field.is_nullable() { "" } else { " NOT NULL" };
            format!("{} {}{not_null}", quoted(field.name()), types::sql(field))
        });
        let columns = columns.collect::<Vec<_>>().join(", ");
        let using = match self.temporary {
            true => String::new(),
            false => format!(" USING {}", quoted(&self.using)),
        };
        let create = format!("CREATE TABLE {} ({columns}){using}", self.name());
        Ok(client.batch_execute(&create).await?)
    }
}

/// Takes all that comes, and returns how many rows that were. Whatever goes wrong in between, the place is given up with the copy
/// under way, which undoes it.
pub async fn run(
    mut place: Place,
    command: &CommandStatementIngest,
    mut target: Target,
    mut messages: BoxStream<'static, Result<FlightData, Status>>,
) -> Result<i64, Status> {
    // The first of Arrow's messages: before it, there is nothing to make a table from.
    let first = loop {
        let Some(message) = place.wait(messages.next()).await? else {
            place.keep();
            return Err(Status::invalid_argument("the stream has no schema"));
        };
        let message = message?;
        match ipc::kind(&message)? {
            None => {}
            Some(MessageHeader::Schema) => break message,
            Some(_) => {
                place.keep();
                return Err(Status::invalid_argument("the stream does not begin with a schema"));
            }
        }
    };
    let prepared = async {
        let schema = try_schema_from_flatbuffer_bytes(&first.data_header).map_err(|error| error::damaged(&error))?;
        place.begin().await?;
        target
            .prepare(place.client(), command.catalog.as_deref(), &schema)
            .await?;
        let copy = format!("COPY {} FROM STDIN (FORMAT arrow)", target.name());
        Ok::<_, Failure>(place.client().copy_in::<_, Bytes>(copy.as_str()).await?)
    }
    .await;
    let mut copy = match prepared {
        Ok(copy) => Box::pin(copy),
        Err(failure) => return place.settle(Err(failure)),
    };
    let mut next = Some(first);
    loop {
        if let Some(message) = next.take()
            && ipc::kind(&message)?.is_some()
        {
            for piece in ipc::pieces(message)? {
                if let Err(error) = copy.feed(piece).await {
                    return Err(place.fail(&error));
                }
            }
        }
        match place.wait(messages.next()).await? {
            Some(message) => next = Some(message?),
            None => break,
        }
    }
    let copied = async {
        copy.feed(Bytes::from_static(&ipc::END)).await?;
        let rows = copy.as_mut().finish().await?;
        place.commit().await?;
        Ok::<_, Failure>(rows.cast_signed())
    }
    .await;
    place.settle(copied)
}
