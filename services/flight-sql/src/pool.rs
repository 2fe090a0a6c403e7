//! The connections to PostgreSQL of one session. All are of one role, and go to no other session.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_postgres::{Client, Config};
use tonic::{Code, Status};

use crate::backend::Backend;
use crate::cancel::Cancel;
use crate::database::Database;

/// How long a statement waits for one of the session's connections.
const WAIT: Duration = Duration::from_secs(30);

/// How long a connection is kept that nobody uses.
pub const KEPT: Duration = Duration::from_secs(30);

pub struct Pool {
    database: Arc<Database>,
    /// For further connections, with the password. That is in memory as long as the session, and nowhere else.
    config: Config,
    permits: Arc<Semaphore>,
    size: usize,
    idle: Mutex<Vec<(Backend, Instant)>>,
    /// A connection is kept, or gone.
    returned: Notify,
    closed: AtomicBool,
}

impl Pool {
    /// With the connection that the login was shown by.
    pub fn new(database: Arc<Database>, config: Config, first: Backend, size: usize) -> Arc<Self> {
        Arc::new(Self {
            database,
            config,
            permits: Arc::new(Semaphore::new(size)),
            size,
            idle: Mutex::new(vec![(first, Instant::now())]),
            returned: Notify::new(),
            closed: AtomicBool::new(false),
        })
    }

    pub fn user(&self) -> &str {
        self.config.get_user().unwrap_or_default()
    }

    /// A connection for a statement, or a transaction.
    pub async fn take(self: &Arc<Self>) -> Result<Lease, Status> {
        let permit = match timeout(WAIT, self.permits.clone().acquire_owned()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) => return Err(ended()),
            Err(_) => {
                return Err(Status::resource_exhausted(
                    "all connections of the session are in use, by results that are not read to their end, or by transactions \
                     (--session-connections)",
                ));
            }
        };
        let backend = loop {
            match self.backend().await {
                // The role may have no more: one of the session's own comes back.
                Err(status) if status.code() == Code::ResourceExhausted => {
                    let others = self.permits.available_permits() + 1 < self.size;
                    if let Some(backend) = self.kept() {
                        break backend;
                    }
                    if !others || timeout(WAIT, self.returned.notified()).await.is_err() {
                        return Err(status);
                    }
                }
                backend => break backend?,
            }
        };
        self.lease(backend, permit)
    }

    /// Up to so many further connections for the same result, if they are to be had at once, and half of all stay for others. None if the
    /// database refuses one: others may want what it has left.
    pub async fn more(self: &Arc<Self>, most: usize) -> Vec<Lease> {
        let free = self.permits.available_permits().saturating_sub(self.size / 2);
        let permits = (0..most.min(free)).map_while(|_| self.permits.clone().try_acquire_owned().ok());
        let leases = permits.map(async |permit| self.lease(self.backend().await?, permit));
        let leases = join_all(leases).await;
        if leases.iter().all(Result::is_ok) {
            return leases.into_iter().flatten().collect();
        }
        for mut lease in leases.into_iter().flatten() {
            lease.worn = true;
            lease.set_busy(false);
        }
        Vec::new()
    }

    async fn backend(&self) -> Result<Backend, Status> {
        let kept = self.kept();
        match kept {
            Some(backend) => Ok(backend),
            None => self.database.connect(&self.config).await,
        }
    }

    fn lease(self: &Arc<Self>, mut backend: Backend, permit: OwnedSemaphorePermit) -> Result<Lease, Status> {
        if self.is_closed() {
            return Err(ended());
        }
        backend.busy = true;
        Ok(Lease {
            cancel: backend.cancel(),
            backend: Some(backend),
            pool: self.clone(),
            permit: Some(permit),
            in_block: false,
            undecided: false,
            worn: false,
        })
    }

    /// The youngest of the connections that wait.
    fn kept(&self) -> Option<Backend> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((backend, _)) = idle.pop() {
            if !backend.is_closed() {
                return Some(backend);
            }
        }
        None
    }

    fn put(&self, backend: Backend) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_closed() {
            idle.push((backend, Instant::now()));
        }
    }

    /// Closes connections that nobody has used for a while: all, if the clients are gone.
    pub fn sweep(&self, all: bool) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(backend, since)| !all && since.elapsed() < KEPT && !backend.is_closed());
    }

    /// Nobody gets a connection any more, and those that come back are closed.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.permits.close();
        self.sweep(true);
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}

fn ended() -> Status {
    Status::unauthenticated("the session has ended: log in again")
}

/// A connection as long as somebody uses it. Dropped in the midst of a statement, it is closed, and the statement cancelled.
pub struct Lease {
    backend: Option<Backend>,
    pool: Arc<Pool>,
    permit: Option<OwnedSemaphorePermit>,
    /// Of what runs on it now.
    cancel: Cancel,
    /// A transaction block has been begun.
    pub in_block: bool,
    /// It is about to commit: if the connection is lost, nobody knows whether it has.
    pub undecided: bool,
    /// It has what cannot be taken back, and is closed afterwards.
    pub worn: bool,
}

impl Lease {
    pub fn client(&self) -> &Client {
        self.backend().client()
    }

    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// For another statement, which cancels of those before do not reach.
    pub fn renew(&mut self) {
        self.cancel = self.backend().cancel();
        self.set_busy(true);
    }

    pub fn is_busy(&self) -> bool {
        self.backend().busy
    }

    pub fn is_misread(&self) -> bool {
        self.backend().is_misread()
    }

    /// Whether a statement is under way, whose end is not known.
    pub fn set_busy(&mut self, busy: bool) {
        if let Some(backend) = &mut self.backend {
            backend.busy = busy;
        }
    }

    fn backend(&self) -> &Backend {
        self.backend.as_ref().expect("a lease until it is dropped")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(mut backend) = self.backend.take() else { return };
        if !self.cancel.end() || backend.busy || self.worn || self.pool.is_closed() || backend.is_closed() {
            self.pool.returned.notify_one();
            return;
        }
        let (pool, permit, in_block) = (self.pool.clone(), self.permit.take(), self.in_block);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if backend.reset(in_block).await {
                    pool.put(backend);
                }
                drop(permit);
                pool.returned.notify_one();
            });
        }
    }
}
