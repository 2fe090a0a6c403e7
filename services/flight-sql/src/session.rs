//! What one login has: connections, transactions, prepared statements, and what runs.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tonic::Status;

use crate::budget::{Budget, Share};
use crate::cancel::Cancel;
use crate::parts::{Part, Parts};
use crate::peer::Peer;
use crate::place::Place;
use crate::pool::Pool;
use crate::prepared::Prepared;
use crate::pump::Limits;
use crate::ticket::{Id, random};
use crate::transaction::{self, Transaction};

/// Transactions that a session may have begun and not ended.
const TRANSACTIONS: usize = 100;

/// Prepared statements that it may have.
const STATEMENTS: usize = 1000;

/// Tickets that wait to be used; older ones are forgotten.
const TICKETS: usize = 4096;

pub struct Session {
    pub pool: Arc<Pool>,
    pub limits: Limits,
    /// That a result may have.
    pub endpoints: usize,
    budget: Budget,
    transactions: Mutex<HashMap<Id, Arc<Transaction>>>,
    prepared: Mutex<HashMap<Id, Arc<Prepared>>>,
    running: Mutex<HashMap<u64, Run>>,
    next_run: AtomicU64,
    tickets: Mutex<VecDeque<Id>>,
    parts: Parts,
    /// Connections of clients that it has been used from.
    peers: Mutex<Vec<Weak<Peer>>>,
    last_used: Mutex<Instant>,
    ended: AtomicBool,
}

/// A statement that is under way.
struct Run {
    id: Vec<u8>,
    cancel: Cancel,
}

impl Session {
    pub fn new(pool: Arc<Pool>, limits: Limits, endpoints: usize) -> Arc<Self> {
        Arc::new(Self {
            pool,
            limits,
            endpoints,
            budget: Budget::default(),
            transactions: Mutex::default(),
            prepared: Mutex::default(),
            running: Mutex::default(),
            next_run: AtomicU64::new(0),
            tickets: Mutex::default(),
            parts: Parts::default(),
            peers: Mutex::default(),
            last_used: Mutex::new(Instant::now()),
            ended: AtomicBool::new(false),
        })
    }

    // Connections of clients

    /// It is used from this connection, too.
    pub fn attach(self: &Arc<Self>, peer: &Arc<Peer>) {
        *lock(&self.last_used) = Instant::now();
        let mut peers = lock(&self.peers);
        if !peers
            .iter()
            .any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(peer)))
        {
            peers.retain(|known| known.strong_count() > 0);
            peers.push(Arc::downgrade(peer));
            peer.remember(self);
        }
    }

    /// Whether all connections of clients that it was used from are closed.
    pub fn is_orphan(&self) -> bool {
        lock(&self.peers).iter().all(|peer| peer.strong_count() == 0)
    }

    /// How long nobody has used it.
    pub fn idle_for(&self) -> Duration {
        match lock(&self.running).is_empty() {
            true => lock(&self.last_used).elapsed(),
            false => Duration::ZERO,
        }
    }

    // Where statements run

    /// A connection for a statement, in the transaction that it names.
    pub async fn place(self: &Arc<Self>, transaction: Option<&[u8]>) -> Result<Place, Status> {
        Ok(match transaction {
            None => Place::Alone(self.pool.take().await?),
            Some(id) => Place::Within(self.transaction(id)?.enter(&self.pool).await?),
        })
    }

    /// Says that a statement runs there, as long as what it returns lives.
    pub fn register(self: &Arc<Self>, id: &[u8], place: &Place) -> Running {
        let number = self.next_run.fetch_add(1, Ordering::Relaxed);
        let run = Run {
            id: id.to_vec(),
            cancel: place.cancel().clone(),
        };
        lock(&self.running).insert(number, run);
        Running {
            session: self.clone(),
            number,
        }
    }

    /// Cancels what runs, or waits, for a ticket; false if nothing does.
    pub async fn cancel(&self, id: &[u8]) -> bool {
        let found: Vec<_> = lock(&self.running)
            .values()
            .filter(|run| run.id == id)
            .map(|run| run.cancel.clone())
            .collect();
        for run in &found {
            run.cancel().await;
        }
        self.parts.give_up(id) || !found.is_empty()
    }

    // Tickets

    /// The name of a ticket.
    pub fn issue(&self) -> Result<Id, Status> {
        let id = random()?;
        let mut tickets = lock(&self.tickets);
        if tickets.len() == TICKETS {
            tickets.pop_front();
        }
        tickets.push_back(id);
        Ok(id)
    }

    /// A ticket is used: an error the second time, as what the statement does would be done again.
    pub fn redeem(&self, id: &[u8]) -> Result<(), Status> {
        let mut tickets = lock(&self.tickets);
        let at = tickets.iter().position(|known| known == id);
        at.and_then(|at| tickets.remove(at)).map(drop).ok_or_else(|| {
            Status::failed_precondition(
                "the ticket has been used, or forgotten: each is good for one DoGet. Ask for FlightInfo again",
            )
        })
    }

    /// The names of a result's parts, which wait from now on to be fetched.
    pub fn wait(&self, parts: Vec<Part>) -> Result<Vec<Id>, Status> {
        let ids = self.parts.wait(parts)?;
        // Who ended it meanwhile may not have seen them.
        if self.has_ended() {
            self.parts.clear();
        }
        Ok(ids)
    }

    /// A part of a result: where it runs, its query, and that it does.
    pub fn fetch(self: &Arc<Self>, id: &[u8]) -> Result<(Place, String, Running), Status> {
        let mut part = self.parts.fetch(id)?;
        part.lease.renew();
        let place = Place::Alone(part.lease);
        let running = self.register(id, &place);
        Ok((place, part.query, running))
    }

    // Transactions

    pub fn begin(&self) -> Result<Id, Status> {
        let id = random()?;
        let mut transactions = lock(&self.transactions);
        if transactions.len() >= TRANSACTIONS {
            return Err(Status::resource_exhausted(format!(
                "a session may have {TRANSACTIONS} transactions that it has not ended"
            )));
        }
        transactions.insert(id, Transaction::new());
        Ok(id)
    }

    pub async fn end_transaction(&self, id: &[u8], commit: bool) -> Result<(), Status> {
        let transaction = self.transaction(id)?;
        transaction.end(commit).await?;
        lock(&self.transactions).retain(|known, _| known != id);
        Ok(())
    }

    fn transaction(&self, id: &[u8]) -> Result<Arc<Transaction>, Status> {
        let id: Id = id.try_into().map_err(|_| transaction::unknown())?;
        lock(&self.transactions)
            .get(&id)
            .cloned()
            .ok_or_else(transaction::unknown)
    }

    // Prepared statements

    pub fn prepare(&self, statement: Prepared) -> Result<Id, Status> {
        if let Some(id) = &statement.transaction {
            self.transaction(id)?;
        }
        let id = random()?;
        let mut prepared = lock(&self.prepared);
        if prepared.len() >= STATEMENTS {
            return Err(Status::resource_exhausted(format!(
                "a session may have {STATEMENTS} prepared statements"
            )));
        }
        prepared.insert(id, Arc::new(statement));
        Ok(id)
    }

    pub fn prepared(&self, handle: &[u8]) -> Result<Arc<Prepared>, Status> {
        let id = Id::try_from(handle).ok();
        id.and_then(|id| lock(&self.prepared).get(&id).cloned())
            .ok_or_else(|| Status::not_found("there is no such prepared statement"))
    }

    /// For what it keeps in memory.
    pub fn share(&self) -> Share {
        self.budget.share()
    }

    pub fn forget(&self, handle: &[u8]) {
        lock(&self.prepared).retain(|known, _| known != handle);
    }

    // The end

    /// Gives up what nobody uses.
    pub fn sweep(&self) {
        self.pool.sweep(self.is_orphan());
        let running: Vec<_> = lock(&self.running).values().map(|run| run.id.clone()).collect();
        self.parts.sweep(self.limits.stall, &running);
    }

    /// Its clients are gone: what runs is cancelled, and transactions rolled back. Who has the token may go on with it.
    pub async fn release(&self) {
        if !self.is_orphan() {
            return;
        }
        self.stop().await;
        self.pool.sweep(true);
    }

    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Nothing is left of it.
    pub async fn end(&self) {
        if self.ended.swap(true, Ordering::SeqCst) {
            return;
        }
        self.pool.close();
        self.stop().await;
    }

    async fn stop(&self) {
        let running: Vec<_> = lock(&self.running).values().map(|run| run.cancel.clone()).collect();
        self.parts.clear();
        futures::future::join_all(running.iter().map(Cancel::cancel)).await;
        let transactions: Vec<_> = lock(&self.transactions).values().cloned().collect();
        futures::future::join_all(transactions.iter().map(|transaction| transaction.abandon())).await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A statement is under way as long as it lives.
pub struct Running {
    session: Arc<Session>,
    number: u64,
}

impl Running {
    pub fn limits(&self) -> Limits {
        self.session.limits
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        lock(&self.session.running).remove(&self.number);
        *lock(&self.session.last_used) = Instant::now();
    }
}
