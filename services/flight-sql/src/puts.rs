//! Statements that come with DoPut: updates, and parameters.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_flight::FlightData;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_ipc::MessageHeader;
use futures::stream::{BoxStream, unfold};
use futures::{StreamExt, TryStreamExt};
use tokio::time::timeout;
use tonic::{Status, Streaming};

use crate::error::{self, Failure};
use crate::ipc;
use crate::parameters;
use crate::prepared::Bound;
use crate::pump::stalled;
use crate::query::Asked;
use crate::session::Session;
use crate::update;

/// Messages of a client that is not waited for for ever.
pub fn patient(messages: Streaming<FlightData>, stall: Duration) -> BoxStream<'static, Result<FlightData, Status>> {
    unfold(messages, move |mut messages| async move {
        match timeout(stall, messages.message()).await {
            Ok(message) => message.transpose().map(|message| (message, messages)),
            Err(_) => Some((Err(stalled(stall)), messages)),
        }
    })
    .boxed()
}

/// A statement without parameters.
pub async fn update(session: &Arc<Session>, asked: &Asked) -> Result<i64, Status> {
    let (statement, mut place) = asked.enter(session).await?;
    let _running = session.register(&[], &place);
    let changed = async {
        let prepared = place.client().prepare(statement.text()).await?;
        update::run(&mut place, &prepared, None).await
    }
    .await;
    place.settle(changed)
}

/// A prepared statement, once for each row of parameters that comes, all or none.
pub async fn update_prepared(
    session: &Arc<Session>,
    handle: &[u8],
    messages: BoxStream<'static, Result<FlightData, Status>>,
) -> Result<i64, Status> {
    let asked = Asked::prepared(session, handle)?;
    let (statement, mut place) = asked.enter(session).await?;
    let _running = session.register(&[], &place);
    let mut batches = batches(session, messages);
    let mut halfway = false;
    let changed = async {
        let prepared = place.client().prepare(statement.text()).await?;
        if prepared.params().is_empty() {
            return update::run(&mut place, &prepared, None).await;
        }
        let mut changed = None;
        while let Some(batch) = place.wait(batches.next()).await? {
            let batch = batch?;
            // What drivers send who have bound nothing.
            if batch.num_columns() == 0 {
                continue;
            }
            if changed.is_none() {
                place.begin().await?;
            }
            halfway = true;
            let mut sum = changed.unwrap_or(0);
            for from in (0..batch.num_rows()).step_by(update::TOGETHER) {
                let part = batch.slice(from, update::TOGETHER.min(batch.num_rows() - from));
                let rows = parameters::rows(&part, &mut session.share())?;
                sum += update::run_rows(place.client(), &prepared, &rows).await?;
            }
            changed = Some(sum);
        }
        let Some(changed) = changed else {
            return update::run(&mut place, &prepared, asked.rows()).await;
        };
        place.commit().await?;
        Ok::<_, Failure>(changed)
    }
    .await;
    match changed {
        // PostgreSQL knows of no error, but what was done before has to go.
        Err(Failure::Own(status)) if halfway => {
            place.lose("one of its statements failed with some of its parameters used");
            Err(status)
        }
        changed => place.settle(changed),
    }
}

/// Parameters for the next executions of a prepared statement.
pub async fn bind(
    session: &Arc<Session>,
    handle: &[u8],
    messages: BoxStream<'static, Result<FlightData, Status>>,
) -> Result<(), Status> {
    let prepared = session.prepared(handle)?;
    let mut batches = batches(session, messages);
    let mut bound = Bound {
        rows: Vec::new(),
        share: session.share(),
    };
    while let Some(batch) = batches.next().await {
        let more = parameters::rows(&batch?, &mut bound.share)?;
        bound.rows.extend(more);
    }
    prepared.bind(bound);
    Ok(())
}

/// The batches of a stream, which may begin with messages that have none of Arrow's.
fn batches(
    session: &Session,
    messages: BoxStream<'static, Result<FlightData, Status>>,
) -> BoxStream<'static, Result<RecordBatch, Status>> {
    let mut dictionaries = session.share();
    let messages = messages.try_filter_map(move |message| {
        let kept = ipc::checked_batch(&message).and_then(|kind| match kind {
            None => Ok(None),
            Some(kind) => {
                // Those are kept as long as the stream lasts.
                if kind == MessageHeader::DictionaryBatch {
                    dictionaries.take(message.data_body.len())?;
                }
                Ok(Some(message))
            }
        });
        futures::future::ready(kept)
    });
    FlightRecordBatchStream::new_from_flight_data(messages.map_err(FlightError::from))
        .map_err(|error| match error {
            FlightError::Tonic(status) => *status,
            FlightError::Arrow(error) => error::damaged(&error),
            other => Status::invalid_argument(other.to_string()),
        })
        .boxed()
}
