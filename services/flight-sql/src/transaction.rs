//! Transactions that clients have begun. Each is one of PostgreSQL's, on one connection.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex as Gate, MutexGuard, OwnedMutexGuard};
use tokio::time::timeout;
use tonic::Status;

use crate::cancel::Cancel;
use crate::error;
use crate::pool::{Lease, Pool};

/// How long a statement waits for the one before it.
const WAIT: Duration = Duration::from_secs(30);

/// How often a statement is cancelled that is in the way of the transaction's end, and how long it has to end each time.
const CANCELS: usize = 10;
const PATIENCE: Duration = Duration::from_millis(500);

pub struct Transaction {
    state: Arc<Gate<State>>,
    /// Of the statement that is under way.
    running: Mutex<Option<Cancel>>,
}

enum State {
    /// Nothing has been done in it, so it has no connection yet: clients begin one as soon as they can.
    Unbegun,
    Open(Lease),
    /// What is said to further calls. It stays known until the client rolls it back.
    Lost(String),
    Ended,
}

impl Transaction {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Arc::new(Gate::new(State::Unbegun)),
            running: Mutex::new(None),
        })
    }

    /// Its connection, for one statement.
    pub async fn enter(self: &Arc<Self>, pool: &Arc<Pool>) -> Result<Held, Status> {
        let Ok(mut state) = timeout(WAIT, self.state.clone().lock_owned()).await else {
            return Err(Status::failed_precondition(
                "another statement of the transaction has not ended: its result has to be read to the end, or closed",
            ));
        };
        match &mut *state {
            State::Unbegun => {
                let mut lease = pool.take().await?;
                lease.in_block = true;
                let begun = lease.client().batch_execute("BEGIN").await;
                begun.map_err(|error| error::of(&error))?;
                *state = State::Open(lease);
            }
            State::Open(lease) => lease.renew(),
            State::Lost(reason) => return Err(Status::aborted(reason.as_str())),
            State::Ended => return Err(unknown()),
        }
        let held = Held {
            state,
            transaction: self.clone(),
            why: None,
        };
        *self.running() = Some(held.lease().cancel().clone());
        Ok(held)
    }

    /// Commits it or rolls it back. A rollback always succeeds; after a commit that fails, it is what is left to do.
    pub async fn end(&self, commit: bool) -> Result<(), Status> {
        match commit {
            true => self.commit().await,
            false => {
                self.roll_back().await;
                Ok(())
            }
        }
    }

    async fn commit(&self) -> Result<(), Status> {
        let Ok(mut state) = timeout(WAIT, self.state.lock()).await else {
            return Err(Status::failed_precondition(
                "a statement of the transaction has not ended: its result has to be read to the end, or closed",
            ));
        };
        // If the client goes away meanwhile, that is what remains.
        let interrupted = State::Lost("the commit was interrupted: whether it was done is not known".into());
        match std::mem::replace(&mut *state, interrupted) {
            State::Unbegun => *state = State::Ended,
            State::Open(mut lease) => {
                lease.renew();
                // COMMIT of a transaction that has failed is no error in PostgreSQL: it rolls back. SAVEPOINT is one, and outside
                // of a transaction, too.
                let committed = lease.client().batch_execute("SAVEPOINT amax_flight_sql; COMMIT").await;
                match committed {
                    Ok(()) => {
                        lease.in_block = false;
                        lease.set_busy(false);
                        *state = State::Ended;
                    }
                    Err(error) if error::is_survived(&error) => {
                        lease.set_busy(false);
                        let status = error::of(&error);
                        *state = State::Lost(lost(&format!("it could not be committed: {}", status.message())));
                        return Err(status);
                    }
                    Err(error) => {
                        let status = error::unknown(&error);
                        *state = State::Lost(status.message().to_owned());
                        return Err(status);
                    }
                }
            }
            State::Lost(reason) => {
                let status = Status::aborted(reason.as_str());
                *state = State::Lost(reason);
                return Err(status);
            }
            State::Ended => {
                *state = State::Ended;
                return Err(unknown());
            }
        }
        Ok(())
    }

    async fn roll_back(&self) {
        let Some(mut state) = self.seize().await else { return };
        if let State::Open(mut lease) = std::mem::replace(&mut *state, State::Ended) {
            // Before the answer: what comes after it should see rows unlocked.
            lease.renew();
            if lease.client().batch_execute("ROLLBACK").await.is_ok() {
                lease.in_block = false;
                lease.set_busy(false);
            }
        }
    }

    /// Rolls it back because its clients are gone. It stays known, and says so.
    pub async fn abandon(&self) {
        if let Some(mut state) = self.seize().await
            && matches!(*state, State::Open(_))
        {
            *state = State::Lost(lost("all connections that it was used from were closed"));
        }
    }

    /// The state, once what runs has been cancelled. None if that does not end: whenever it does, it leaves nothing that could be committed.
    async fn seize(&self) -> Option<MutexGuard<'_, State>> {
        if let Ok(state) = self.state.try_lock() {
            return Some(state);
        }
        for _ in 0..CANCELS {
            let running = self.running().clone();
            if let Some(running) = running {
                running.cancel().await;
            }
            if let Ok(state) = timeout(PATIENCE, self.state.lock()).await {
                return Some(state);
            }
        }
        None
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Option<Cancel>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is said of a transaction that has ended, or never was.
pub fn unknown() -> Status {
    Status::not_found("there is no such transaction: it has ended, or was never begun")
}

fn lost(reason: &str) -> String {
    format!("the transaction has been rolled back: {reason}")
}

/// The connection of a transaction while a statement runs on it. Dropped in the midst of that, the transaction is lost:
/// a statement that was undone does not go unnoticed.
pub struct Held {
    state: OwnedMutexGuard<State>,
    transaction: Arc<Transaction>,
    /// What is said if it is lost.
    pub why: Option<&'static str>,
}

impl Held {
    pub fn lease(&self) -> &Lease {
        match &*self.state {
            State::Open(lease) => lease,
            _ => unreachable!("what is held is open"),
        }
    }

    pub fn lease_mut(&mut self) -> &mut Lease {
        match &mut *self.state {
            State::Open(lease) => lease,
            _ => unreachable!("what is held is open"),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        *self.transaction.running() = None;
        let why = match (self.lease().cancel().end(), self.lease().is_busy()) {
            (true, false) => return,
            (true, true) => "the client left one of its statements before the end",
            (false, _) => "one of its statements was cancelled",
        };
        *self.state = State::Lost(lost(self.why.unwrap_or(why)));
    }
}
