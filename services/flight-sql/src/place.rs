//! Where a statement runs: on a connection of its own, or on that of a transaction.

use std::future::Future;

use tokio_postgres::{Client, Error};
use tonic::Status;

use crate::cancel::Cancel;
use crate::error::{self, Failure};
use crate::pool::Lease;
use crate::transaction::Held;

/// Dropped as it is, the statement is cancelled, and what it did undone. [`Place::keep`] says that it has ended.
pub enum Place {
    Alone(Lease),
    Within(Held),
}

impl Place {
    pub fn client(&self) -> &Client {
        self.lease().client()
    }

    pub fn cancel(&self) -> &Cancel {
        self.lease().cancel()
    }

    /// What a client is waited for, unless the statement is cancelled meanwhile.
    pub async fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, Status> {
        tokio::select! {
            done = work => Ok(done),
            () = self.cancel().cancelled() => Err(Status::cancelled("the statement was cancelled")),
        }
    }

    /// Begins a transaction block of the statement's own, unless there is one.
    pub async fn begin(&mut self) -> Result<(), Error> {
        if let Self::Alone(lease) = self
            && !lease.in_block
        {
            lease.in_block = true;
            lease.client().batch_execute("BEGIN").await?;
        }
        Ok(())
    }

    /// Commits that. Before it returns nothing may be called done.
    pub async fn commit(&mut self) -> Result<(), Error> {
        if let Self::Alone(lease) = self {
            lease.undecided = true;
            lease.client().batch_execute("COMMIT").await?;
            lease.undecided = false;
            lease.in_block = false;
        }
        Ok(())
    }

    /// What runs now commits by itself, unless it is in a transaction.
    pub fn decides(&mut self) {
        if let Self::Alone(lease) = self {
            lease.undecided = true;
        }
    }

    /// The connection is not to be used again.
    pub fn wear(&mut self) {
        self.lease_mut().worn = true;
    }

    /// PostgreSQL is ready for another statement.
    pub fn keep(mut self) {
        self.lease_mut().set_busy(false);
    }

    /// After the last of a statement's work: keeps the connection if it can be used. Failures of our own are such that PostgreSQL
    /// waits for the next statement.
    pub fn settle<T>(self, result: Result<T, Failure>) -> Result<T, Status> {
        match result {
            Ok(value) => {
                self.keep();
                Ok(value)
            }
            Err(Failure::Own(status)) => {
                self.keep();
                Err(status)
            }
            Err(Failure::Database(error)) => Err(self.fail(&error)),
        }
    }

    /// What is said of an error of PostgreSQL's.
    pub fn fail(mut self, error: &Error) -> Status {
        if error::is_survived(error) {
            self.keep();
            return error::of(error);
        }
        if let Self::Within(held) = &mut self {
            held.why = Some("its connection to PostgreSQL was lost");
        }
        let lease = self.lease();
        match (lease.is_misread(), lease.undecided) {
            (true, _) => Status::failed_precondition(
                "standard_conforming_strings or client_encoding was changed, so the connection was closed: statements would be read in \
                 another way than they are meant. Write E'…' for strings with backslashes",
            ),
            (false, true) => error::unknown(error),
            (false, false) => error::of(error),
        }
    }

    /// Undoes what has been done, the whole transaction if it ran in one.
    pub fn lose(self, why: &'static str) {
        if let Self::Within(mut held) = self {
            held.why = Some(why);
        }
    }

    fn lease(&self) -> &Lease {
        match self {
            Self::Alone(lease) => lease,
            Self::Within(held) => held.lease(),
        }
    }

    fn lease_mut(&mut self) -> &mut Lease {
        match self {
            Self::Alone(lease) => lease,
            Self::Within(held) => held.lease_mut(),
        }
    }
}
