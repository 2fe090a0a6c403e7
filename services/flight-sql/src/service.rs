//! Flight's calls, by what they ask for.

use std::pin::Pin;
use std::sync::Arc;

use arrow_flight::flight_service_server::FlightService;
use arrow_flight::sql::{
    ActionBeginTransactionRequest, ActionBeginTransactionResult, ActionCancelQueryRequest, ActionCancelQueryResult,
    ActionClosePreparedStatementRequest, ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult,
    ActionEndTransactionRequest, Any, Command, CommandStatementIngest, DoPutPreparedStatementResult, DoPutUpdateResult,
    EndTransaction, ProstMessageExt,
};
use arrow_flight::{
    Action, ActionType, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus, Criteria, Empty, FlightData,
    FlightDescriptor, FlightEndpoint, FlightInfo, HandshakeRequest, HandshakeResponse, PollInfo, PutResult,
    SchemaResult, Ticket,
};
use bytes::Bytes;
use futures::stream::{BoxStream, iter, once};
use futures::{Stream, StreamExt};
use prost::Message;
use tonic::metadata::{AsciiMetadataValue, MetadataMap};
use tonic::{Extensions, Request, Response, Status, Streaming};

use crate::ingest::{self, Target};
use crate::login::Logins;
use crate::metadata;
use crate::options::Options;
use crate::peer::Peer;
use crate::prepared::Prepared;
use crate::puts;
use crate::query::{self, Asked};
use crate::schema;
use crate::session::Session;
use crate::sessions::{Sessions, Token};
use crate::ticket;

type Streamed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// CancelResult of Flight SQL's ActionCancelQueryResult.
const CANCELLING: i32 = 2;
const NOT_CANCELLABLE: i32 = 3;

/// Actions, and what list_actions says of them.
const ACTIONS: [(&str, &str); 7] = [
    ("CreatePreparedStatement", "Prepares a statement."),
    ("ClosePreparedStatement", "Forgets a prepared statement."),
    ("BeginTransaction", "Begins a transaction."),
    ("EndTransaction", "Commits a transaction or rolls it back."),
    ("CancelQuery", "Cancels a statement (Flight SQL)."),
    ("CancelFlightInfo", "Cancels a statement (Flight)."),
    ("CloseSession", "Ends the session."),
];

pub struct Service {
    logins: Logins,
    sessions: Arc<Sessions>,
    create_using: String,
}

impl Service {
    pub fn new(options: &Options, logins: Logins, sessions: Arc<Sessions>) -> Self {
        Self {
            logins,
            sessions,
            create_using: options.create_using.clone(),
        }
    }

    /// Whose call it is.
    async fn enter(
        &self,
        metadata: &MetadataMap,
        extensions: &Extensions,
    ) -> Result<(Arc<Session>, Option<Token>), Status> {
        self.logins.enter(metadata, peer(extensions)?).await
    }

    async fn ingest(
        &self,
        session: &Arc<Session>,
        command: CommandStatementIngest,
        messages: BoxStream<'static, Result<FlightData, Status>>,
    ) -> Result<i64, Status> {
        let target = Target::of(&command, &self.create_using)?;
        let place = session.place(command.transaction_id.as_deref()).await?;
        let _running = session.register(&[], &place);
        ingest::run(place, &command, target, messages).await
    }
}

#[tonic::async_trait]
impl FlightService for Service {
    type HandshakeStream = Streamed<HandshakeResponse>;
    type ListFlightsStream = Streamed<FlightInfo>;
    type DoGetStream = Streamed<FlightData>;
    type DoPutStream = Streamed<PutResult>;
    type DoExchangeStream = Streamed<FlightData>;
    type DoActionStream = Streamed<arrow_flight::Result>;
    type ListActionsStream = Streamed<ActionType>;

    async fn handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        let token = self
            .logins
            .handshake(request.metadata(), peer(request.extensions())?)
            .await?;
        // The token is in the headers; some clients want a message, too.
        let message = HandshakeResponse {
            protocol_version: 0,
            payload: Bytes::copy_from_slice(token.0.as_bytes()),
        };
        answer(iter([Ok(message)]).boxed(), Some(token))
    }

    async fn get_flight_info(&self, request: Request<FlightDescriptor>) -> Result<Response<FlightInfo>, Status> {
        let (session, token) = self.enter(request.metadata(), request.extensions()).await?;
        let descriptor = request.into_inner();
        let info = match command(&descriptor.cmd)? {
            Command::CommandStatementQuery(command) => {
                let asked = Asked::plain(command.query, command.transaction_id);
                query::info(&session, asked, descriptor).await?
            }
            Command::CommandPreparedStatementQuery(command) => {
                let asked = Asked::prepared(&session, &command.prepared_statement_handle)?;
                query::info(&session, asked, descriptor).await?
            }
            other => match metadata::schema(&other) {
                Some(schema) => {
                    let ticket = Ticket::new(descriptor.cmd.clone());
                    let endpoint = FlightEndpoint::new().with_ticket(ticket);
                    let mut info = FlightInfo::new().with_descriptor(descriptor).with_endpoint(endpoint);
                    info.schema = schema::encoded(&schema)?;
                    info
                }
                None => return Err(unknown(&other)),
            },
        };
        answer(info, token)
    }

    async fn get_schema(&self, request: Request<FlightDescriptor>) -> Result<Response<SchemaResult>, Status> {
        let (session, token) = self.enter(request.metadata(), request.extensions()).await?;
        let schema = match command(&request.get_ref().cmd)? {
            Command::CommandStatementQuery(command) => {
                query::schema(&session, Asked::plain(command.query, command.transaction_id)).await?
            }
            Command::CommandPreparedStatementQuery(command) => {
                let asked = Asked::prepared(&session, &command.prepared_statement_handle)?;
                query::schema(&session, asked).await?
            }
            other => match metadata::schema(&other) {
                Some(schema) => schema::encoded(&schema)?,
                None => return Err(unknown(&other)),
            },
        };
        answer(SchemaResult { schema }, token)
    }

    async fn do_get(&self, request: Request<Ticket>) -> Result<Response<Self::DoGetStream>, Status> {
        let (session, token) = self.enter(request.metadata(), request.extensions()).await?;
        let stream = match command(&request.get_ref().ticket)? {
            Command::TicketStatementQuery(command) => {
                let ticket = ticket::Ticket::read(&command.statement_handle)?;
                if ticket.part {
                    return answer(query::read_part(&session, &ticket.id).await?, token);
                }
                let asked = Asked::of(&session, &ticket)?;
                session.redeem(&ticket.id)?;
                query::read(&session, asked, &ticket.id).await?
            }
            // Some drivers make a ticket of it.
            Command::CommandPreparedStatementQuery(command) => {
                let asked = Asked::prepared(&session, &command.prepared_statement_handle)?;
                query::read(&session, asked, &[]).await?
            }
            other => {
                let messages = metadata::read(&session, other).await?;
                iter(messages.into_iter().map(Ok)).boxed()
            }
        };
        answer(stream, token)
    }

    async fn do_put(&self, request: Request<Streaming<FlightData>>) -> Result<Response<Self::DoPutStream>, Status> {
        let (session, token) = self.enter(request.metadata(), request.extensions()).await?;
        let mut messages = puts::patient(request.into_inner(), session.limits.stall);
        let first = messages.next().await;
        let first = first.ok_or_else(|| Status::invalid_argument("the stream is empty"))??;
        let descriptor = first.flight_descriptor.as_ref();
        let descriptor =
            descriptor.ok_or_else(|| Status::invalid_argument("the stream does not begin with a descriptor"))?;
        let command = command(&descriptor.cmd)?;
        let messages = once(futures::future::ready(Ok(first))).chain(messages).boxed();
        let changed = match command {
            Command::CommandStatementUpdate(command) => {
                puts::update(&session, &Asked::plain(command.query, command.transaction_id)).await?
            }
            Command::CommandPreparedStatementUpdate(command) => {
                puts::update_prepared(&session, &command.prepared_statement_handle, messages).await?
            }
            Command::CommandStatementIngest(command) => self.ingest(&session, command, messages).await?,
            Command::CommandPreparedStatementQuery(command) => {
                puts::bind(&session, &command.prepared_statement_handle, messages).await?;
                let result = DoPutPreparedStatementResult {
                    prepared_statement_handle: Some(command.prepared_statement_handle),
                };
                return answer(put(&result), token);
            }
            other => return Err(unknown(&other)),
        };
        answer(put(&DoPutUpdateResult { record_count: changed }), token)
    }

    async fn do_action(&self, request: Request<Action>) -> Result<Response<Self::DoActionStream>, Status> {
        let (session, token) = self.enter(request.metadata(), request.extensions()).await?;
        let header = request
            .metadata()
            .get("authorization")
            .and_then(|header| header.to_str().ok());
        let bearer = header.and_then(crate::login::bearer).map(str::to_owned);
        let action = request.into_inner();
        let body = match action.r#type.as_str() {
            "CreatePreparedStatement" => {
                let request: ActionCreatePreparedStatementRequest = packed(&action.body)?;
                let asked = Asked::plain(request.query, request.transaction_id);
                let (dataset_schema, parameter_schema) = query::prepare(&session, &asked).await?;
                let mut share = session.share();
                share.take(256 + asked.query.len())?;
                let handle = session.prepare(Prepared::new(asked.query, asked.transaction, share))?;
                let result = ActionCreatePreparedStatementResult {
                    prepared_statement_handle: Bytes::copy_from_slice(&handle),
                    dataset_schema,
                    parameter_schema,
                };
                Some(result.as_any().encode_to_vec())
            }
            "ClosePreparedStatement" => {
                let request: ActionClosePreparedStatementRequest = packed(&action.body)?;
                session.forget(&request.prepared_statement_handle);
                None
            }
            "BeginTransaction" => {
                let _: ActionBeginTransactionRequest = packed(&action.body)?;
                let transaction_id = Bytes::copy_from_slice(&session.begin()?);
                Some(ActionBeginTransactionResult { transaction_id }.as_any().encode_to_vec())
            }
            "EndTransaction" => {
                let request: ActionEndTransactionRequest = packed(&action.body)?;
                let commit = match request.action() {
                    EndTransaction::Commit => true,
                    EndTransaction::Rollback => false,
                    EndTransaction::Unspecified => {
                        return Err(Status::invalid_argument(
                            "whether to commit or to roll back is not said",
                        ));
                    }
                };
                session.end_transaction(&request.transaction_id, commit).await?;
                None
            }
            "CancelQuery" => {
                let request: ActionCancelQueryRequest = packed(&action.body)?;
                let info = FlightInfo::decode(request.info).map_err(|_| unreadable())?;
                let result = match cancel(&session, &info).await? {
                    true => CANCELLING,
                    false => NOT_CANCELLABLE,
                };
                Some(ActionCancelQueryResult { result }.as_any().encode_to_vec())
            }
            "CancelFlightInfo" => {
                let request = CancelFlightInfoRequest::decode(action.body).map_err(|_| unreadable())?;
                let status = match cancel(&session, &request.info.unwrap_or_default()).await? {
                    true => CancelStatus::Cancelling,
                    false => CancelStatus::NotCancellable,
                };
                Some(CancelFlightInfoResult::new(status).encode_to_vec())
            }
            "CloseSession" => {
                if let Some(bearer) = &bearer {
                    self.sessions.close(bearer).await;
                }
                session.end().await;
                // CloseSessionResult: its status, field 1, is CLOSED, 1.
                Some(vec![0x08, 0x01])
            }
            "BeginSavepoint" | "EndSavepoint" => {
                return Err(Status::unimplemented(
                    "there are no actions for savepoints: use SAVEPOINT, RELEASE and ROLLBACK TO as statements of the transaction",
                ));
            }
            other => return Err(Status::unimplemented(format!("there is no action {other:?}"))),
        };
        let results = body.map(|body| Ok(arrow_flight::Result::new(body)));
        answer(iter(results).boxed(), token)
    }

    async fn list_actions(&self, request: Request<Empty>) -> Result<Response<Self::ListActionsStream>, Status> {
        let (_, token) = self.enter(request.metadata(), request.extensions()).await?;
        let actions = ACTIONS.map(|(name, description)| {
            Ok(ActionType {
                r#type: name.to_owned(),
                description: description.to_owned(),
            })
        });
        answer(iter(actions).boxed(), token)
    }

    async fn list_flights(&self, _: Request<Criteria>) -> Result<Response<Self::ListFlightsStream>, Status> {
        Err(Status::unimplemented("this is a Flight SQL server: ask for its tables"))
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> Result<Response<PollInfo>, Status> {
        Err(Status::unimplemented("results are not made before they are fetched"))
    }

    async fn do_exchange(&self, _: Request<Streaming<FlightData>>) -> Result<Response<Self::DoExchangeStream>, Status> {
        Err(Status::unimplemented("Flight SQL has no use for DoExchange"))
    }
}

fn peer(extensions: &Extensions) -> Result<&Arc<Peer>, Status> {
    extensions
        .get()
        .ok_or_else(|| Status::internal("a call without a connection"))
}

/// An answer, with the token of a session that the call has begun.
fn answer<T>(message: T, token: Option<Token>) -> Result<Response<T>, Status> {
    let mut response = Response::new(message);
    if let Some(token) = token {
        let mut value = format!("Bearer {}", token.0)
            .parse::<AsciiMetadataValue>()
            .map_err(|_| Status::internal("a token that is no header"))?;
        value.set_sensitive(true);
        response.metadata_mut().insert("authorization", value);
    }
    Ok(response)
}

fn command(bytes: &Bytes) -> Result<Command, Status> {
    let any = Any::decode(bytes.clone()).map_err(|_| unreadable())?;
    Command::try_from(any).map_err(|_| unreadable())
}

/// An action's body.
fn packed<T: ProstMessageExt>(body: &Bytes) -> Result<T, Status> {
    let any = Any::decode(body.clone()).map_err(|_| unreadable())?;
    any.unpack().ok().flatten().ok_or_else(unreadable)
}

fn unreadable() -> Status {
    Status::invalid_argument("the message is none of Flight SQL's")
}

fn unknown(command: &Command) -> Status {
    Status::unimplemented(format!("there is nothing here for {}", command.type_url()))
}

fn put(result: &impl Message) -> Streamed<PutResult> {
    let result = PutResult {
        app_metadata: result.encode_to_vec().into(),
    };
    iter([Ok(result)]).boxed()
}

/// Cancels what runs, or waits, for the tickets of a FlightInfo; false if nothing does.
async fn cancel(session: &Arc<Session>, info: &FlightInfo) -> Result<bool, Status> {
    let mut found = false;
    for endpoint in &info.endpoint {
        let ticket = endpoint
            .ticket
            .as_ref()
            .map(|ticket| command(&ticket.ticket))
            .transpose()?;
        if let Some(Command::TicketStatementQuery(ticket)) = ticket {
            let ticket = ticket::Ticket::read(&ticket.statement_handle)?;
            found |= !ticket.id.is_empty() && session.cancel(&ticket.id).await;
        }
    }
    Ok(found)
}
