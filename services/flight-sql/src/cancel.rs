//! Cancelling a statement, and no other. A request that comes late would hit what the connection runs next, so none is sent once the
//! statement is over, and a connection for which one was sent is not used again.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use tokio_postgres::{CancelToken, NoTls};

use crate::database::Tls;
use crate::error;

/// How long a request may take.
const REQUEST: Duration = Duration::from_secs(5);

/// Sends requests for one connection, whatever that runs.
pub struct Canceller {
    pub token: CancelToken,
    pub tls: Tls,
}

impl Canceller {
    /// Whether it comes in time, nobody knows.
    pub async fn send(&self) {
        let sent = async {
            match &self.tls {
                None => self.token.cancel_query(NoTls).await,
                Some(tls) => self.token.cancel_query(tls.clone()).await,
            }
        };
        match timeout(REQUEST, sent).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(error = error::chain(&error), "could not cancel a statement"),
            Err(_) => tracing::warn!("PostgreSQL does not take a cancel request"),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Runs,
    Cancelled,
    Over,
}

/// Cancels one statement, whoever has a clone of it.
#[derive(Clone)]
pub struct Cancel {
    canceller: Arc<Canceller>,
    state: Arc<watch::Sender<State>>,
}

impl Cancel {
    pub fn new(canceller: Arc<Canceller>) -> Self {
        Self {
            canceller,
            state: Arc::new(watch::Sender::new(State::Runs)),
        }
    }

    /// Cancels it, unless it is over. Who does so again asks again: a request that comes between two messages of ours is lost.
    pub async fn cancel(&self) {
        self.turn(State::Cancelled);
        if *self.state.borrow() == State::Cancelled {
            self.canceller.send().await;
        }
    }

    /// The statement is over; false if it has been cancelled before, so that a request may be on its way.
    pub fn end(&self) -> bool {
        self.turn(State::Over);
        *self.state.borrow() == State::Over
    }

    /// Waits until somebody cancels it.
    pub async fn cancelled(&self) {
        let mut state = self.state.subscribe();
        // The sender is ours, so there is no error.
        let _ = state.wait_for(|state| *state == State::Cancelled).await;
    }

    fn turn(&self, to: State) {
        self.state.send_if_modified(|state| {
            let runs = *state == State::Runs;
            if runs {
                *state = to;
            }
            runs
        });
    }
}
