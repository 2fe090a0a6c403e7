//! All sessions, by their tokens.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use tokio_postgres::Config;
use tonic::Status;

use crate::backend::Backend;
use crate::database::Database;
use crate::options::Options;
use crate::peer::Peer;
use crate::pool::Pool;
use crate::pump::Limits;
use crate::session::Session;
use crate::ticket::random;

/// How often sessions are looked at that nobody uses.
const SWEEP: Duration = Duration::from_secs(2);

pub struct Sessions {
    database: Arc<Database>,
    /// By the tokens' digests: how long it takes to find one says nothing about those there are.
    all: Mutex<HashMap<[u8; 32], Arc<Session>>>,
    most: usize,
    /// How long a session lives that nobody uses; for its clients, too.
    limits: Limits,
    connections: usize,
    endpoints: usize,
}

/// Shows who has logged in.
pub struct Token(pub String);

impl Sessions {
    pub fn new(options: &Options, database: Arc<Database>) -> Self {
        Self {
            database,
            all: Mutex::default(),
            most: options.max_sessions,
            limits: Limits {
                stall: options.idle,
                statement: options.statement_timeout,
            },
            connections: options.session_connections,
            endpoints: options.endpoints,
        }
    }

    /// Whether there is room for another. Sessions whose clients are gone make room.
    pub async fn make_room(&self) -> Result<(), Status> {
        let oldest = {
            let mut all = self.lock();
            if all.len() < self.most {
                return Ok(());
            }
            let orphans = all.iter().filter(|(_, session)| session.is_orphan());
            let oldest = orphans
                .max_by_key(|(_, session)| session.idle_for())
                .map(|(digest, _)| *digest);
            oldest.and_then(|digest| all.remove(&digest))
        };
        match oldest {
            Some(session) => {
                session.end().await;
                Ok(())
            }
            None => Err(too_many()),
        }
    }

    /// A session of who has shown to be that role.
    pub fn open(&self, config: Config, backend: Backend, peer: &Arc<Peer>) -> Result<(Token, Arc<Session>), Status> {
        let token = BASE64_URL_SAFE_NO_PAD.encode(random::<32>()?);
        let pool = Pool::new(self.database.clone(), config, backend, self.connections);
        let session = Session::new(pool, self.limits, self.endpoints);
        // Before others can find it: a session without clients would have to make room.
        session.attach(peer);
        let mut all = self.lock();
        if all.len() >= self.most {
            return Err(too_many());
        }
        all.insert(digest(&token), session.clone());
        Ok((Token(token), session))
    }

    pub fn find(&self, token: &str) -> Option<Arc<Session>> {
        let found = self.lock().get(&digest(token)).cloned();
        found.filter(|session| !session.has_ended())
    }

    /// Ends the session of a token.
    pub async fn close(&self, token: &str) {
        let session = self.lock().remove(&digest(token));
        if let Some(session) = session {
            session.end().await;
        }
    }

    /// Ends sessions that nobody has used for long, for ever.
    pub async fn sweep(self: Arc<Self>) {
        loop {
            tokio::time::sleep(SWEEP).await;
            let mut over = Vec::new();
            self.lock().retain(|_, session| {
                let stays = session.idle_for() < self.limits.stall && !session.has_ended();
                match stays {
                    true => session.sweep(),
                    false => over.push(session.clone()),
                }
                stays
            });
            for session in over {
                tracing::info!(user = session.pool.user(), "session has expired");
                // Not one after the other: ending one may take as long as its statements do.
                tokio::spawn(async move { session.end().await });
            }
        }
    }

    /// The server stops.
    pub async fn end_all(&self) {
        let all: Vec<_> = self.lock().drain().map(|(_, session)| session).collect();
        futures::future::join_all(all.iter().map(|session| session.end())).await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Arc<Session>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_many() -> Status {
    Status::resource_exhausted("too many sessions: others have to end first (--max-sessions)")
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
