//! Results that COPY does not take (EXPLAIN, SHOW, CALL …), as columns of text.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_flight::FlightData;
use arrow_flight::utils::batches_to_flight_data;
use arrow_schema::SchemaRef;
use futures::StreamExt;
use futures::stream::BoxStream;
use tokio_postgres::{Error, SimpleQueryMessage, SimpleQueryRow, SimpleQueryStream};
use tonic::Status;

use crate::error;
use crate::place::Place;
use crate::pump::{Source, pump};
use crate::schema;
use crate::session::Running;
use crate::statement::Statement;

/// When a batch is sent.
const ROWS: usize = 10_000;
const BYTES: usize = 1 << 20;

struct Reading {
    /// None when all is done.
    place: Option<Place>,
    rows: Pin<Box<SimpleQueryStream>>,
    schema: SchemaRef,
    /// What has been made and not been sent: the schema, and a batch.
    messages: VecDeque<FlightData>,
    _running: Running,
}

/// Runs a statement that has been prepared, so that it is known to be a single one.
pub async fn read(
    mut place: Place,
    statement: &Statement<'_>,
    prepared: &tokio_postgres::Statement,
    running: Running,
) -> Result<BoxStream<'static, Result<FlightData, Status>>, Status> {
    let schema = Arc::new(schema::of_texts(prepared));
    let messages = encode(&schema, None)?.into();
    place.decides();
    let rows = match place.client().simple_query_raw(statement.text()).await {
        Ok(rows) => Box::pin(rows),
        Err(error) => return Err(place.fail(&error)),
    };
    let (cancel, limits) = (place.cancel().clone(), running.limits());
    let reading = Reading {
        place: Some(place),
        rows,
        schema,
        messages,
        _running: running,
    };
    Ok(pump(reading, cancel, limits))
}

impl Source for Reading {
    async fn next(&mut self) -> Result<Option<FlightData>, Status> {
        if self.messages.is_empty()
            && let Some(batch) = self.batch().await?
        {
            self.messages.extend(encode(&self.schema, Some(&batch))?.split_off(1));
        }
        Ok(self.messages.pop_front())
    }
}

impl Reading {
    /// Rows until a batch is full; None when the statement has ended, and is committed.
    async fn batch(&mut self) -> Result<Option<RecordBatch>, Status> {
        if self.place.is_none() {
            return Ok(None);
        }
        let mut batch = Batch::new(self.schema.clone());
        while !batch.is_full() {
            let pushed = match self.rows.next().await {
                Some(Ok(SimpleQueryMessage::Row(row))) => batch.push(&row),
                Some(Ok(_)) => Ok(()),
                Some(Err(error)) => Err(error),
                None => {
                    if let Some(place) = self.place.take() {
                        place.keep();
                    }
                    break;
                }
            };
            if let Err(error) = pushed {
                return Err(match self.place.take() {
                    Some(place) => place.fail(&error),
                    None => error::of(&error),
                });
            }
        }
        batch.finish()
    }
}

struct Batch {
    schema: SchemaRef,
    columns: Vec<StringBuilder>,
    rows: usize,
    bytes: usize,
}

impl Batch {
    fn new(schema: SchemaRef) -> Self {
        let columns = schema.fields().iter().map(|_| StringBuilder::new()).collect();
        Self {
            schema,
            columns,
            rows: 0,
            bytes: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.rows >= ROWS || self.bytes >= BYTES
    }

    fn push(&mut self, row: &SimpleQueryRow) -> Result<(), Error> {
        for (at, column) in self.columns.iter_mut().enumerate() {
            let value = row.try_get(at)?;
            self.bytes += value.map_or(0, str::len);
            column.append_option(value);
        }
        self.rows += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<Option<RecordBatch>, Status> {
        if self.rows == 0 {
            return Ok(None);
        }
        let arrays = self
            .columns
            .iter_mut()
            .map(|column| Arc::new(column.finish()) as ArrayRef)
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        let batch = RecordBatch::try_new_with_options(self.schema, arrays, &options);
        batch.map(Some).map_err(error::internal)
    }
}

/// The schema's message, and a batch's.
pub fn encode(schema: &SchemaRef, batch: Option<&RecordBatch>) -> Result<Vec<FlightData>, Status> {
    batches_to_flight_data(schema, batch).map_err(error::internal)
}
