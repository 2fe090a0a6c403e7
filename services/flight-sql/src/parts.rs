//! Results in parts, for clients that read several endpoints at a time. amax says what the parts are; each waits on a connection of its own, in a
//! transaction with the snapshot that all have, until it is fetched.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::try_join_all;
use tokio::time::timeout;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};
use tonic::{Code, Status};

use crate::error::Failure;
use crate::pool::Lease;
use crate::schema;
use crate::session::Session;
use crate::ticket::{Id, random};

/// How long it may take to begin all parts. The first has locked the table by then: who waits to alter it is in the way of the others.
const BEGIN: Duration = Duration::from_secs(5);

const BLOCK: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// A part may wait for longer than PostgreSQL's settings have it, as sessions have a limit of their own.
const SETTINGS: &str = "SET LOCAL idle_in_transaction_session_timeout = 0";

pub struct Part {
    pub lease: Lease,
    pub query: String,
}

/// Queries that together have a query's rows; one, if there are no parts of it.
pub async fn queries(client: &Client, query: &str, most: usize) -> Result<Vec<String>, Error> {
    let most = i32::try_from(most).unwrap_or(i32::MAX);
    let asked = "SELECT part FROM amax.arrow_parts($1, $2) AS parts(part)";
    let rows = client
        .query_typed(asked, &[(&query, Type::TEXT), (&most, Type::INT4)])
        .await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Begins the parts of a query, the first of them on this connection, and says what their schema is. None if there cannot be several now.
pub async fn begin(session: &Session, first: Lease, query: &str) -> Option<(Bytes, Vec<Part>)> {
    let mut leases = vec![first];
    let begun = timeout(BEGIN, begin_all(session, &mut leases, query)).await;
    let begun = begun.map_err(|_| Code::DeadlineExceeded);
    let (schema, queries) = match begun.and_then(|begun| begun.map_err(|failure| Status::from(failure).code())) {
        Ok(begun) => begun,
        Err(code) => {
            tracing::info!(?code, "a result has one endpoint");
            return None;
        }
    };
    // Nothing runs on any of them now.
    leases.iter_mut().for_each(|lease| lease.set_busy(false));
    // A cancel that has been sent may come late.
    let cancelled = leases.iter().any(|lease| !lease.cancel().end());
    let parts: Vec<_> = leases
        .into_iter()
        .zip(queries)
        .map(|(lease, query)| Part { lease, query })
        .collect();
    (parts.len() > 1 && !cancelled).then_some((schema, parts))
}

/// Gives connections to the parts, all of which have the first one's snapshot and have locked the table.
async fn begin_all(session: &Session, leases: &mut Vec<Lease>, query: &str) -> Result<(Bytes, Vec<String>), Failure> {
    leases.extend(session.pool.more(session.endpoints - 1).await);
    if leases.len() == 1 {
        return Ok(<_>::default());
    }
    begin_one(&mut leases[0], "").await?;
    let client = leases[0].client();
    let schema = schema::of_query(client, query).await?;
    let queries = queries(client, query, leases.len()).await?;
    let exported = client.query_typed_one("SELECT pg_catalog.pg_export_snapshot()", &[]);
    let snapshot: String = exported.await?.try_get(0)?;
    let snapshot = format!("SET TRANSACTION SNAPSHOT '{snapshot}'");
    for mut spare in leases.drain(queries.len().min(leases.len())..) {
        spare.set_busy(false);
    }
    let others = leases.iter_mut().zip(&queries).skip(1);
    let schemas = try_join_all(others.map(async |(lease, query)| {
        begin_one(lease, &snapshot).await?;
        schema::of_query(lease.client(), query).await
    }));
    let alike = schemas.await?.iter().all(|other| *other == schema);
    match alike && queries.len() == leases.len() {
        true => Ok((schema, queries)),
        false => Err(Failure::Own(Status::internal("parts that do not make the result"))),
    }
}

async fn begin_one(lease: &mut Lease, snapshot: &str) -> Result<(), Error> {
    lease.in_block = true;
    lease
        .client()
        .batch_execute(&format!("{BLOCK}; {snapshot}; {SETTINGS}"))
        .await
}

/// What has been begun in a session, and not been fetched.
#[derive(Default)]
pub struct Parts(Mutex<Vec<Split>>);

/// A result some of whose parts wait.
struct Split {
    waiting: HashMap<Id, Part>,
    /// Of all of its parts.
    ids: Vec<Id>,
    /// When one was fetched last, or being read.
    since: Instant,
}

impl Parts {
    /// Their names, in the order of the parts.
    pub fn wait(&self, parts: Vec<Part>) -> Result<Vec<Id>, Status> {
        let ids: Vec<Id> = parts.iter().map(|_| random()).collect::<Result<_, _>>()?;
        self.lock().push(Split {
            waiting: ids.iter().copied().zip(parts).collect(),
            ids: ids.clone(),
            since: Instant::now(),
        });
        Ok(ids)
    }

    pub fn fetch(&self, id: &[u8]) -> Result<Part, Status> {
        let part = self.remove(id).ok_or_else(|| {
            Status::failed_precondition(
                "this part of the result has been fetched, or given up, as it was cancelled, waited for long, or its clients were gone: ask for FlightInfo again",
            )
        })?;
        match part.lease.client().is_closed() {
            true => Err(Status::unavailable(
                "the connection to PostgreSQL was lost on which this part of the result waited, with its snapshot: ask for FlightInfo again",
            )),
            false => Ok(part),
        }
    }

    /// Whether it waited.
    pub fn give_up(&self, id: &[u8]) -> bool {
        self.remove(id).is_some()
    }

    fn remove(&self, id: &[u8]) -> Option<Part> {
        let mut all = self.lock();
        let part = all.iter_mut().find_map(|split| {
            let part = split.waiting.remove(id)?;
            split.since = Instant::now();
            Some(part)
        });
        all.retain(|split| !split.waiting.is_empty());
        part
    }

    /// Gives up those of results of which nobody has read anything for that long.
    pub fn sweep(&self, limit: Duration, running: &[Vec<u8>]) {
        self.lock().retain_mut(|split| {
            if split.ids.iter().any(|id| running.iter().any(|running| running == id)) {
                split.since = Instant::now();
            }
            split.since.elapsed() < limit
        });
    }

    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Split>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
