//! A client's connection. When the last that a session was used from closes, what the session runs is cancelled and its transactions
//! are rolled back: a client that disappears leaves nothing behind.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as Gate, Semaphore};

use crate::session::Session;

/// Calls that may wait for a first login on a connection: each has its message in memory.
const STRANGERS: usize = 16;

pub struct Peer {
    pub address: IpAddr,
    pub strangers: Semaphore,
    /// The last login by a header on this connection, and which: clients that know nothing of tokens send it with each call.
    pub login: Gate<Option<([u8; 32], Weak<Session>)>>,
    sessions: Mutex<Vec<Weak<Session>>>,
    logged_in: AtomicBool,
}

impl Peer {
    pub fn new(address: IpAddr) -> Arc<Self> {
        Arc::new(Self {
            address: address.to_canonical(),
            strangers: Semaphore::new(STRANGERS),
            login: Gate::default(),
            sessions: Mutex::default(),
            logged_in: AtomicBool::new(false),
        })
    }

    /// Whether it has been used by a session, of which there need not be much left.
    pub fn has_logged_in(&self) -> bool {
        self.logged_in.load(Ordering::SeqCst)
    }

    /// This session is told when the connection closes.
    pub fn remember(&self, session: &Arc<Session>) {
        self.logged_in.store(true, Ordering::SeqCst);
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|known| known.strong_count() > 0);
        sessions.push(Arc::downgrade(session));
    }
}

/// Nobody has it any more: the socket is closed, and no call is under way.
impl Drop for Peer {
    fn drop(&mut self) {
        let sessions = std::mem::take(self.sessions.get_mut().unwrap_or_else(PoisonError::into_inner));
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        for session in sessions.iter().filter_map(Weak::upgrade) {
            runtime.spawn(async move { session.release().await });
        }
    }
}
