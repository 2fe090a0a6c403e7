//! Results as COPY gives them, message by message.

use std::pin::Pin;
use std::time::Duration;

use arrow_flight::FlightData;
use arrow_ipc::MessageHeader;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use tokio::time::timeout;
use tokio_postgres::CopyOutStream;
use tonic::Status;

use crate::error::{self, Failure};
use crate::ipc::Decoder;
use crate::place::Place;
use crate::pump::{Source, pump};
use crate::query::Queries;
use crate::schema::copy;
use crate::session::Running;

/// How long what a reader has left is read to its end, within a transaction.
const DRAIN: Duration = Duration::from_secs(10);

struct Reading {
    /// None when all is done.
    place: Option<Place>,
    copy: Option<Pin<Box<CopyOutStream>>>,
    decoder: Decoder,
    /// Of one schema: one for each row of parameters.
    queries: Queries,
    schema_sent: bool,
    _running: Running,
}

/// Runs queries, one after the other, as one result. Outside of a transaction they are one of their own, which is committed before the
/// result ends: a reader who has not seen its end must not take it for done.
pub async fn read(
    mut place: Place,
    mut queries: Queries,
    running: Running,
) -> Result<BoxStream<'static, Result<FlightData, Status>>, Status> {
    // What is wrong with the first is said in answer to the call, not in the midst of its result.
    let begun = async {
        place.begin().await?;
        begin(&place, &mut queries).await
    }
    .await;
    let copy = match begun {
        Ok(copy) => copy,
        Err(failure) => return place.settle(Err(failure)),
    };
    let (cancel, limits) = (place.cancel().clone(), running.limits());
    let reading = Reading {
        place: Some(place),
        copy,
        decoder: Decoder::default(),
        queries,
        schema_sent: false,
        _running: running,
    };
    Ok(pump(reading, cancel, limits))
}

async fn begin(place: &Place, queries: &mut Queries) -> Result<Option<Pin<Box<CopyOutStream>>>, Failure> {
    match queries.next() {
        Some(query) => Ok(Some(Box::pin(place.client().copy_out(copy(&query?).as_str()).await?))),
        None => Ok(None),
    }
}

impl Source for Reading {
    async fn next(&mut self) -> Result<Option<FlightData>, Status> {
        loop {
            match self.decoder.message()? {
                Some(message) if message.kind == MessageHeader::Schema && self.schema_sent => continue,
                Some(message) => {
                    self.schema_sent = true;
                    return Ok(Some(message.into()));
                }
                None => {}
            }
            let Some(copy) = &mut self.copy else { return Ok(None) };
            match copy.next().await {
                Some(Ok(piece)) => self.decoder.push(&piece)?,
                Some(Err(error)) => return Err(self.fail(error.into())),
                None => {
                    self.copy = None;
                    self.decoder.finish()?;
                    if let Err(failure) = self.go_on().await {
                        return Err(self.fail(failure));
                    }
                }
            }
        }
    }
}

impl Reading {
    /// Begins the next query, or commits.
    async fn go_on(&mut self) -> Result<(), Failure> {
        let Some(place) = &mut self.place else { return Ok(()) };
        self.copy = begin(place, &mut self.queries).await?;
        if self.copy.is_none() {
            place.commit().await?;
            if let Some(place) = self.place.take() {
                place.keep();
            }
        }
        Ok(())
    }

    fn fail(&mut self, failure: Failure) -> Status {
        self.copy = None;
        match (self.place.take(), failure) {
            (_, Failure::Own(status)) => status,
            (Some(place), Failure::Database(error)) => place.fail(&error),
            (None, Failure::Database(error)) => error::of(&error),
        }
    }
}

impl Drop for Reading {
    /// The reader goes before the end. On a connection of its own the statement is cancelled, and what it wrote is undone. Cancelled
    /// within a transaction, all of that would be lost, so the last query is read to its end there, if that does not take long.
    fn drop(&mut self) {
        let (Some(Place::Within(mut held)), copy) = (self.place.take(), self.copy.take()) else {
            return;
        };
        if !self.queries.is_over() {
            held.why = Some("the client left a statement before all of its parameters were used");
            return;
        }
        let (Some(copy), Ok(runtime)) = (copy, tokio::runtime::Handle::try_current()) else {
            return;
        };
        let place = Place::Within(held);
        runtime.spawn(async move {
            let rest = copy.try_for_each(|_| futures::future::ready(Ok(())));
            match place.wait(timeout(DRAIN, rest)).await {
                Ok(Ok(Ok(()))) => place.keep(),
                // The transaction has failed, and PostgreSQL will say so.
                Ok(Ok(Err(error))) => _ = place.fail(&error),
                Ok(Err(_)) => place.lose("the client left a result whose rest took too long to read"),
                Err(_) => place.lose("one of its statements was cancelled"),
            }
        });
    }
}
