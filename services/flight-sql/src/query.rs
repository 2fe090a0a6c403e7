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

use crate::error::Failure;
use crate::parameters::{Row, expression};
use crate::place::Place;
use crate::prepared::{Binding, Bound};
use crate::reading;
use crate::rows;
use crate::schema::{self, Route, describe};
use crate::session::Session;
use crate::statement::Statement;
use crate::ticket::Ticket;
use crate::update;

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

/// FlightInfo of a statement. One without a result runs now; it has no endpoints then, and as many records as rows were changed.
pub async fn info(session: &Arc<Session>, asked: Asked, descriptor: FlightDescriptor) -> Result<FlightInfo, Status> {
    let (statement, mut place) = asked.enter(session).await?;
    let _running = session.register(&[], &place);
    let found = async {
        let prepared = place.client().prepare(statement.text()).await?;
        let schema = describe(place.client(), &statement, &prepared).await?;
        Ok::<_, Failure>(match Route::of(&statement, &prepared) {
            Route::Nothing => (schema, Some(update::run(&mut place, &prepared, asked.rows()).await?)),
            Route::Copy | Route::Rows => (schema, None),
        })
    }
    .await;
    let (schema, changed) = place.settle(found)?;
    let mut info = FlightInfo::new().with_descriptor(descriptor);
    info.schema = schema;
    if let Some(changed) = changed {
        return Ok(info.with_total_records(changed));
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
    };
    let handle = TicketStatementQuery {
        statement_handle: ticket.encode_to_vec().into(),
    };
    let ticket = arrow_flight::Ticket::new(handle.as_any().encode_to_vec());
    // Rows come in the query's order.
    Ok(info
        .with_endpoint(FlightEndpoint::new().with_ticket(ticket))
        .with_ordered(true))
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
        Self {
            text: statement.text().to_owned(),
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

    pub fn is_over(&self) -> bool {
        self.next >= self.bound.as_ref().map_or(1, |bound| bound.rows.len())
    }
}
