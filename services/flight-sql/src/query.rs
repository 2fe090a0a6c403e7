//! Queries: what their result looks like, and the result. Statements without a result are run when they are asked about, as there is
//! nothing to fetch.

use std::sync::Arc;

use arrow_flight::sql::{ProstMessageExt, TicketStatementQuery};
use arrow_flight::{FlightData, FlightDescriptor, FlightEndpoint, FlightInfo};
use arrow_schema::Schema;
use bytes::Bytes;
use futures::stream::BoxStream;
use prost::Message;
use tokio_postgres::types::Type;
use tonic::Status;

use crate::error::{self, Failure};
use crate::parameters::{Row, expression};
use crate::parts;
use crate::place::Place;
use crate::prepared::{Binding, Bound};
use crate::reading;
use crate::rows;
use crate::schema::{self, Route, describe};
use crate::session::Session;
use crate::statement::Statement;
use crate::ticket::Ticket;
use crate::update;

/// Bytes of a query that may be in parts: each has it in memory, until it is fetched.
const LONGEST: usize = 64 << 10;

/// A statement that a client asks about, or runs.
pub struct Asked {
    pub query: String,
    pub transaction: Option<Vec<u8>>,
    /// The handle of the prepared statement that it is.
    prepared: Option<Vec<u8>>,
    binding: Binding,
}

impl Asked {
    pub fn plain(query: String, transaction: Option<Bytes>) -> Self {
        Self {
            query,
            transaction: transaction.map(Vec::from),
            prepared: None,
            binding: Binding::default(),
        }
    }

    /// With the parameters that are bound now.
    pub fn prepared(session: &Session, handle: &[u8]) -> Result<Self, Status> {
        let prepared = session.prepared(handle)?;
        Ok(Self {
            query: prepared.query.clone(),
            transaction: prepared.transaction.clone(),
            prepared: Some(handle.to_vec()),
            binding: prepared.binding(),
        })
    }

    /// With the parameters that were bound when the ticket was made.
    pub fn of(session: &Session, ticket: &Ticket) -> Result<Self, Status> {
        let Some(handle) = &ticket.prepared else {
            return Ok(Self::plain(
                ticket.query.clone(),
                ticket.transaction.clone().map(Bytes::from),
            ));
        };
        let asked = Self::prepared(session, handle)?;
        match asked.binding.number == ticket.binding {
            true => Ok(asked),
            false => Err(Status::failed_precondition(
                "other parameters have been bound since the ticket was made: ask for FlightInfo again",
            )),
        }
    }

    /// Its parameters, if some are bound.
    pub fn rows(&self) -> Option<&[Row]> {
        self.binding.rows.as_ref().map(|bound| bound.rows.as_slice())
    }

    /// The statement, once it is known to be one that may run, and where it runs.
    pub async fn enter(&self, session: &Arc<Session>) -> Result<(Statement<'_>, Place), Status> {
        let statement = Statement::read(&self.query)?;
        statement.check(self.transaction.is_some())?;
        let mut place = session.place(self.transaction.as_deref()).await?;
        if statement.leaves_traces() {
            place.wear();
        }
        Ok((statement, place))
    }
}

/// What FlightInfo is asked for.
enum Found {
    /// It has no result, and has changed so many rows.
    Changed(i64),
    Whole,
    /// With its parameters in it.
    Divisible(String),
}

/// FlightInfo of a statement. One without a result runs now; it has no endpoints then, and as many records as rows were changed.
pub async fn info(session: &Arc<Session>, asked: Asked, descriptor: FlightDescriptor) -> Result<FlightInfo, Status> {
    let (statement, mut place) = asked.enter(session).await?;
    let _running = session.register(&[], &place);
    let found = async {
        let prepared = place.client().prepare(statement.text()).await?;
        let schema = describe(place.client(), &statement, &prepared).await?;
        let found = match Route::of(&statement, &prepared) {
            Route::Nothing => Found::Changed(update::run(&mut place, &prepared, asked.rows()).await?),
            Route::Copy => match divisible(session, &place, &asked, &statement, &prepared).await? {
                Some(query) => Found::Divisible(query),
                None => Found::Whole,
            },
            Route::Rows => Found::Whole,
        };
        Ok::<_, Failure>((schema, found))
    }
    .await;
    let mut info = FlightInfo::new().with_descriptor(descriptor);
    match (found, place) {
        (Ok((whole, Found::Divisible(query))), Place::Alone(lease)) => {
            if let Some((schema, parts)) = parts::begin(session, lease, &query).await {
                info.schema = schema;
                let ids = session.wait(parts)?;
                return Ok(ids
                    .into_iter()
                    .fold(info, |info, id| info.with_endpoint(endpoint(&Ticket::part(id)))));
            }
            info.schema = whole;
        }
        (found, place) => {
            let (schema, found) = place.settle(found)?;
            info.schema = schema;
            if let Found::Changed(changed) = found {
                return Ok(info.with_total_records(changed));
            }
        }
    }
    let ticket = Ticket {
        id: session.issue()?.to_vec(),
        query: match &asked.prepared {
            Some(_) => String::new(),
            None => asked.query,
        },
        transaction: asked.transaction,
        prepared: asked.prepared,
        binding: asked.binding.number,
        part: false,
    };
    // Rows come in the query's order.
    Ok(info.with_endpoint(endpoint(&ticket)).with_ordered(true))
}

fn endpoint(ticket: &Ticket) -> FlightEndpoint {
    let handle = TicketStatementQuery {
        statement_handle: ticket.encode_to_vec().into(),
    };
    FlightEndpoint::new().with_ticket(arrow_flight::Ticket::new(handle.as_any().encode_to_vec()))
}

/// The query with its parameters, if its result may be in parts. What amax has no answer to may not.
async fn divisible(
    session: &Session,
    place: &Place,
    asked: &Asked,
    statement: &Statement<'_>,
    prepared: &tokio_postgres::Statement,
) -> Result<Option<String>, Failure> {
    if session.endpoints == 1 || asked.transaction.is_some() || statement.writes() {
        return Ok(None);
    }
    let queries = Queries::of(statement, prepared, asked.binding.rows.clone());
    match queries.ok().and_then(Queries::only) {
        Some(Ok(query)) if query.len() <= LONGEST => {
            match parts::queries(place.client(), &query, session.endpoints).await {
                Ok(parts) => Ok((parts.len() > 1).then_some(query)),
                Err(error) if error::is_survived(&error) => Ok(None),
                Err(error) => Err(error.into()),
            }
        }
        _ => Ok(None),
    }
}

/// The schema alone: nothing runs.
pub async fn schema(session: &Arc<Session>, asked: Asked) -> Result<Bytes, Status> {
    let schema = prepare(session, &asked).await?.0;
    match schema.is_empty() {
        true => schema::encoded(&Schema::empty()),
        false => Ok(schema),
    }
}

/// The schema of the result, none if there is none, and that of the parameters.
pub async fn prepare(session: &Arc<Session>, asked: &Asked) -> Result<(Bytes, Bytes), Status> {
    let (statement, place) = asked.enter(session).await?;
    let _running = session.register(&[], &place);
    let found = async {
        let prepared = place.client().prepare(statement.text()).await?;
        let parameters = schema::encoded(&schema::of_parameters(&prepared))?;
        let result = match Route::of(&statement, &prepared) {
            Route::Nothing => Bytes::new(),
            Route::Copy | Route::Rows => describe(place.client(), &statement, &prepared).await?,
        };
        Ok::<_, Failure>((result, parameters))
    }
    .await;
    place.settle(found)
}

/// A result, by whose name it may be cancelled.
pub async fn read(
    session: &Arc<Session>,
    asked: Asked,
    id: &[u8],
) -> Result<BoxStream<'static, Result<FlightData, Status>>, Status> {
    let (statement, place) = asked.enter(session).await?;
    let running = session.register(id, &place);
    if statement.is_copyable() && asked.prepared.is_none() {
        // If it should have parameters, PostgreSQL says that there are none.
        return reading::read(place, Queries::one(&statement), running).await;
    }
    let prepared = match place.client().prepare(statement.text()).await {
        Ok(prepared) => prepared,
        Err(error) => return Err(place.fail(&error)),
    };
    let refused = match Route::of(&statement, &prepared) {
        Route::Copy => match Queries::of(&statement, &prepared, asked.binding.rows.clone()) {
            Ok(queries) => return reading::read(place, queries, running).await,
            Err(status) => status,
        },
        Route::Rows if prepared.params().is_empty() => return rows::read(place, &statement, &prepared, running).await,
        Route::Rows => Status::unimplemented("statements of this kind have no parameters here"),
        Route::Nothing => Status::invalid_argument("the statement has no result"),
    };
    place.keep();
    Err(refused)
}

/// A part of a result, which waits.
pub async fn read_part(
    session: &Arc<Session>,
    id: &[u8],
) -> Result<BoxStream<'static, Result<FlightData, Status>>, Status> {
    let (place, query, running) = session.fetch(id)?;
    reading::read(place, Queries::text(query), running).await
}

/// A statement with each row of parameters in it, one after the other.
pub struct Queries {
    text: String,
    types: Vec<Type>,
    /// None: one without parameters.
    bound: Option<Arc<Bound>>,
    next: usize,
}

impl Queries {
    /// A statement without parameters.
    fn one(statement: &Statement<'_>) -> Self {
        Self::text(statement.text().to_owned())
    }

    fn text(text: String) -> Self {
        Self {
            text,
            types: Vec::new(),
            bound: None,
            next: 0,
        }
    }

    fn of(
        statement: &Statement<'_>,
        prepared: &tokio_postgres::Statement,
        bound: Option<Arc<Bound>>,
    ) -> Result<Self, Status> {
        if prepared.params().is_empty() {
            return Ok(Self::one(statement));
        }
        let bound = bound.ok_or_else(|| update::unbound(prepared))?;
        bound.rows.iter().try_for_each(|row| update::fits(prepared, row))?;
        if bound.rows.is_empty() {
            return Err(Status::invalid_argument("no row of parameters is bound"));
        }
        Ok(Self {
            text: statement.text().to_owned(),
            types: prepared.params().to_vec(),
            bound: Some(bound),
            next: 0,
        })
    }

    pub fn next(&mut self) -> Option<Result<String, Status>> {
        let at = self.next;
        self.next += 1;
        let Some(bound) = &self.bound else {
            return (at == 0).then(|| Ok(self.text.clone()));
        };
        let values = bound.rows.get(at)?.iter().zip(&self.types);
        let expressions: Vec<_> = values.map(|(value, of)| expression(value.as_deref(), of)).collect();
        Some(Statement::read(&self.text).and_then(|statement| statement.with(&expressions)))
    }

    /// The first, if there is no other.
    fn only(mut self) -> Option<Result<String, Status>> {
        let first = self.next();
        first.filter(|_| self.is_over())
    }

    pub fn is_over(&self) -> bool {
        self.next >= self.bound.as_ref().map_or(1, |bound| bound.rows.len())
    }
}
