//! One connection to PostgreSQL, and so one of its processes. Whichever way it is given up, that process ends, and what it runs
//! is cancelled first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, SimpleQueryMessage};
use tonic::Status;

use crate::cancel::{Cancel, Canceller};
use crate::database::Tls;
use crate::error;

/// How often a statement is cancelled that is given up, and how long it has to end each time. A cancel that comes between two messages
/// of ours is lost.
const CANCELS: usize = 10;
const PATIENCE: Duration = Duration::from_millis(500);

/// How long it may take to make a connection fit for another statement.
const RESET: Duration = Duration::from_secs(10);

/// What DISCARD ALL does, but for prepared statements: tokio-postgres keeps some of its own.
const DISCARD: &str = "CLOSE ALL; RESET SESSION AUTHORIZATION; RESET ALL; UNLISTEN *; \
                       SELECT pg_catalog.pg_advisory_unlock_all(); DISCARD PLANS; DISCARD TEMP; DISCARD SEQUENCES";

pub struct Backend {
    client: Option<Box<Client>>,
    /// What drives the connection.
    task: Option<JoinHandle<()>>,
    canceller: Arc<Canceller>,
    misread: Arc<AtomicBool>,
    /// It may be in the midst of a statement.
    pub busy: bool,
}

impl Backend {
    pub fn new(client: Client, task: JoinHandle<()>, misread: Arc<AtomicBool>, tls: Tls) -> Self {
        let token = client.cancel_token();
        Self {
            client: Some(Box::new(client)),
            task: Some(task),
            canceller: Arc::new(Canceller { token, tls }),
            misread,
            busy: false,
        }
    }

    pub fn client(&self) -> &Client {
        self.client.as_ref().expect("a connection until it is dropped")
    }

    /// For the next statement.
    pub fn cancel(&self) -> Cancel {
        Cancel::new(self.canceller.clone())
    }

    /// Whether PostgreSQL has ended it, or we have.
    pub fn is_closed(&self) -> bool {
        self.client().is_closed()
    }

    /// Whether we have, as statements would be read in another way than they are meant.
    pub fn is_misread(&self) -> bool {
        self.misread.load(Ordering::SeqCst)
    }

    /// Loads amax, without which COPY does not know Arrow.
    pub async fn load(&mut self) -> Result<(), Status> {
        self.busy = true;
        let mut loaded = self.client().batch_execute("SELECT amax.load()").await;
        if let Err(error) = &loaded
            && let Some(state) = error.code()
            && [
                SqlState::INVALID_SCHEMA_NAME,
                SqlState::UNDEFINED_FUNCTION,
                SqlState::INSUFFICIENT_PRIVILEGE,
            ]
            .contains(state)
        {
            // The server's settings may have loaded it. (Settings that nobody has defined are not in that view.)
            let found = "SELECT name FROM pg_catalog.pg_settings WHERE name = 'amax.arrow_batch_rows'";
            match self.client().simple_query(found).await {
                Ok(rows) if rows.iter().any(|row| matches!(row, SimpleQueryMessage::Row(_))) => loaded = Ok(()),
                Ok(_) => {
                    self.busy = false;
                    return Err(Status::failed_precondition(format!(
                        "the database has no amax that this role may use: CREATE EXTENSION amax, and GRANT USAGE ON SCHEMA amax ({})",
                        error::of(error).message()
                    )));
                }
                Err(error) => loaded = Err(error),
            }
        }
        loaded.map_err(|error| error::of(&error))?;
        self.busy = false;
        Ok(())
    }

    /// Takes back what statements have left in the session; false if it is no longer of use.
    pub async fn reset(&mut self, in_block: bool) -> bool {
        self.busy = true;
        let done = async {
            if in_block {
                self.client().batch_execute("ROLLBACK").await?;
            }
            self.client().batch_execute(DISCARD).await
        };
        let done = matches!(timeout(RESET, done).await, Ok(Ok(())));
        self.busy = !done;
        done
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        // The client's end says good-bye to PostgreSQL, once all that was asked for has been answered.
        let (Some(client), Some(mut task)) = (self.client.take(), self.task.take()) else {
            return;
        };
        let Ok(runtime) = Handle::try_current() else { return };
        if !self.busy {
            return;
        }
        let canceller = self.canceller.clone();
        runtime.spawn(async move {
            drop(client);
            for _ in 0..CANCELS {
                canceller.send().await;
                // Meanwhile what comes is read, and thrown away: a process that waits for us to read notices no cancel.
                if timeout(PATIENCE, &mut task).await.is_ok() {
                    return;
                }
            }
            // The socket closes, which PostgreSQL notices sooner or later, by client_connection_check_interval.
            task.abort();
        });
    }
}
