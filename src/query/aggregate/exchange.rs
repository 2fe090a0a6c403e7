//! Rows sent between the processes of a parallel aggregate, so that each group, or each of the distinct values that are
//! counted, is known to one of them only.
//!
//! Where groups are few, each process has all of them, and the leader merges them at the end. When one of the processes
//! finds that they are many, which would be to merge as much as was aggregated, it turns the *exchange* on, for all:
//! each divides what it has, and from then on sends the rows that belong to others. A queue (shm_mq.c) leads from each
//! process to each other one. Nobody ends before it has all that the others have sent; whoever waits reads what comes
//! meanwhile. No process waits for another in any other way until then, or none could be sure that it goes on.

use super::queues::{BY_KEYS, BY_VALUES, Kind, OFF, OPEN, Peer, Queues, SharedQueues, lost};
use super::rows::{Inputs, merge};
use crate::guc;
use crate::query::batch::raise::raise;
use crate::query::scan::source::is_worker;
use amax_exec::{Aggregator, By, Rows, rows};
use pgrx::pg_sys;
use std::sync::atomic::Ordering;

/// Rows of a message: few enough that it mostly is far shorter than a queue, and so is neither cut into pieces nor put
/// together again.
const ROWS: usize = 1024;
/// Bytes that may wait for a process that has no room for them; one that is only starting gets that far behind.
const WAITING: usize = 8 << 20;

/// A process's part in it.
pub struct Exchange {
    queues: Queues,
    /// In the leader.
    leads: *mut pg_sys::ParallelContext,
    me: u32,
    peers: Vec<Option<Peer>>,
    /// Once it is on.
    by: Option<By>,
    /// Rows that were aggregated before.
    rows: usize,
    pub received: u64,
    /// Most bytes that a worker's groups take before they go to the leader.
    limit: usize,
    /// Whether some have gone, so that the leader knows some of them too.
    pub spilled: bool,
}

impl Exchange {
    /// Takes the place of this process, which may lead others; None if there is room for no other. The query's memory
    /// context has to be the current one, and the shared memory is to stay until this leaves.
    ///
    /// # Safety
    /// `leads` is the query's, or null in a worker.
    pub unsafe fn join(queues: Queues, leads: *mut pg_sys::ParallelContext, limit: usize) -> Option<Exchange> {
        // SAFETY: a number of the process.
        let me = unsafe { pg_sys::ParallelWorkerNumber + 1 } as usize;
        let places = queues.places as usize;
        if places < 2 {
            return None;
        }
        let peer = |other: usize| (other != me).then(|| queues.attach(me, other));
        Some(Exchange {
            queues,
            leads,
            me: me as u32,
            peers: (0..places).map(peer).collect(),
            by: None,
            rows: 0,
            received: 0,
            limit,
            spilled: false,
        })
    }

    /// Lets go of the queues, before the shared memory goes or is begun anew.
    pub fn leave(self) {
        self.peers.into_iter().flatten().for_each(Peer::leave);
    }

    /// In the leader, when it begins to read: the workers have been started.
    pub fn started(&self) {
        // SAFETY: as for the room; those that it leads are there as long.
        unsafe {
            let parts = &self.queues.parts;
            if parts.load(Ordering::Relaxed) != 0 {
                return;
            }
            let workers = (*self.leads).nworkers_launched as usize;
            for (number, peer) in self.peers.iter().flatten().take(workers).enumerate() {
                let worker = (*(*self.leads).worker.add(number)).bgwhandle;
                pg_sys::shm_mq_set_handle(peer.to, worker);
                pg_sys::shm_mq_set_handle(peer.from, worker);
            }
            parts.store(1 + workers as u32, Ordering::Release);
        }
    }

    /// By what rows are exchanged, if they are.
    pub fn by(&self) -> Option<By> {
        self.by
    }

    /// After the last row: whether what this process has of its groups is all there is. What the leader leaves out of a
    /// pass it leaves out before it divides it, too.
    pub fn groups_are_complete(&self) -> bool {
        self.by == Some(By::Keys) && !self.queues.narrowed.load(Ordering::Acquire)
    }

    /// Whether rows are exchanged from now on.
    pub fn is_on(&mut self, aggregator: &mut Aggregator) -> bool {
        if self.by.is_none() {
            self.decide(aggregator);
        }
        self.by.is_some()
    }

    /// So many rows were aggregated here.
    pub fn aggregated(&mut self, rows: usize) {
        self.rows += rows;
    }

    /// Adds rows, here or to those they belong to, and what has come from them.
    pub fn add(&mut self, inputs: &Inputs, aggregator: &mut Aggregator, batch: &Rows) {
        self.is_on(aggregator);
        let Some(by) = self.by else {
            self.aggregated(batch.len);
            return inputs.add(aggregator, batch);
        };
        let parts = self.queues.parts.load(Ordering::Acquire);
        let mut of_parts = vec![Vec::new(); parts as usize];
        let owners = rows::owners(&inputs.shared(by, aggregator, batch), batch.len, parts);
        for (row, owner) in owners.into_iter().enumerate() {
            of_parts[owner as usize].push(row as u32);
        }
        for (part, rows) in of_parts.into_iter().enumerate() {
            if rows.is_empty() {
                continue;
            }
            if part as u32 == self.me {
                inputs.add(aggregator, &batch.pick(&rows));
                continue;
            }
            for rows in rows.chunks(ROWS) {
                let mut message = vec![Kind::Rows as u8];
                let written = batch.write(rows, &mut message);
                written.unwrap_or_else(|e| raise(e));
                self.send(part, message);
            }
            self.make_room(part, inputs, aggregator);
        }
        self.receive(inputs, aggregator);
    }

    /// Turns it on if that is worth it, or if somebody else has.
    fn decide(&mut self, aggregator: &mut Aggregator) {
        let SharedQueues { parts, state, .. } = &*self.queues;
        let parts = parts.load(Ordering::Acquire);
        if parts < 2 {
            return;
        }
        if state.load(Ordering::Acquire) == OPEN {
            let Some(by) = aggregator.share(self.rows, guc::exchange_threshold_bytes()) else {
                return;
            };
            let on = match by {
                By::Keys => BY_KEYS,
                By::Values => BY_VALUES,
            };
            // Whoever comes first decides.
            let _ = state.compare_exchange(OPEN, on, Ordering::AcqRel, Ordering::Acquire);
        }
        let by = match state.load(Ordering::Acquire) {
            BY_KEYS => By::Keys,
            BY_VALUES => By::Values,
            _ => return,
        };
        self.by = Some(by);
        let divided = aggregator.divide(by, parts, self.me);
        for (part, groups) in divided.unwrap_or_else(|e| raise(e)) {
            self.send_groups(part as usize, &groups);
        }
    }

    /// After the last row: until all have sent all. It can no longer be turned on then.
    pub fn finish(&mut self, inputs: &Inputs, aggregator: &mut Aggregator) {
        if !self.stay_out(aggregator) {
            return;
        }
        // Rows that it leaves out from now on are of groups that nobody else has.
        if aggregator.is_narrowed() {
            self.queues.narrowed.store(true, Ordering::Release);
        }
        let parts = self.queues.parts.load(Ordering::Acquire) as usize;
        let mut others: Vec<usize> = (0..parts).filter(|&part| part as u32 != self.me).collect();
        // What comes now may be too much for a worker's memory: the leader is told last.
        let last = if is_worker() { Some(others.remove(0)) } else { None };
        for part in others {
            self.send(part, vec![Kind::End as u8]);
        }
        while self.peers.iter().take(parts).flatten().any(|peer| !peer.ended) {
            self.step(inputs, aggregator);
        }
        if let Some(leader) = last {
            self.send(leader, vec![Kind::End as u8]);
        }
        while self.peers.iter().flatten().any(|peer| !peer.waiting.is_empty()) {
            self.step(inputs, aggregator);
        }
    }

    /// Before this process waits for another in any other way. False if the exchange is off for good; otherwise this
    /// one takes part.
    pub fn stay_out(&mut self, aggregator: &mut Aggregator) -> bool {
        let state = &self.queues.state;
        let _ = state.compare_exchange(OPEN, OFF, Ordering::AcqRel, Ordering::Acquire);
        if self.by.is_none() {
            self.decide(aggregator);
        }
        self.by.is_some()
    }

    fn send_groups(&mut self, part: usize, groups: &[u8]) {
        self.send(part, [&[Kind::Groups as u8], groups].concat());
    }

    /// To be sent to another process when there is room; what does not fit its queue goes in pieces.
    fn send(&mut self, part: usize, message: Vec<u8>) {
        let most = self.queues.queue / 2;
        let peer = self.peers[part].as_mut().expect("another process");
        peer.bytes += message.len();
        if message.len() <= most {
            peer.waiting.push_back(message);
            return;
        }
        let pieces = message[1..].chunks(most - 1);
        let last = pieces.len() - 1;
        for (i, piece) in pieces.enumerate() {
            let kind = if i < last { Kind::Part as u8 } else { message[0] };
            peer.waiting.push_back([&[kind], piece].concat());
        }
        peer.bytes += last;
    }

    /// Waits until not too much waits for a process.
    fn make_room(&mut self, part: usize, inputs: &Inputs, aggregator: &mut Aggregator) {
        self.push();
        while self.peers[part].as_ref().is_some_and(|peer| peer.bytes > WAITING) {
            self.step(inputs, aggregator);
        }
    }

    /// Sends and receives what can be; waits if nothing can.
    fn step(&mut self, inputs: &Inputs, aggregator: &mut Aggregator) {
        crate::memory::check_for_interrupts();
        let sent = self.push();
        if self.receive(inputs, aggregator) || sent {
            return;
        }
        let events = pg_sys::WL_LATCH_SET | pg_sys::WL_EXIT_ON_PM_DEATH;
        // SAFETY: every process has a latch.
        unsafe {
            pg_sys::WaitLatch(pg_sys::MyLatch, events as i32, -1, pg_sys::PG_WAIT_EXTENSION);
            pg_sys::ResetLatch(pg_sys::MyLatch);
        }
    }

    /// Sends what there is room for; whether anything was sent.
    fn push(&mut self) -> bool {
        let mut any = false;
        for peer in self.peers.iter_mut().flatten() {
            while let Some(message) = peer.waiting.front() {
                // SAFETY: the queues live until this leaves, see `join`.
                let sent = unsafe { pg_sys::shm_mq_send(peer.to, message.len(), message.as_ptr().cast(), true, true) };
                match sent {
                    pg_sys::shm_mq_result::SHM_MQ_SUCCESS => {}
                    pg_sys::shm_mq_result::SHM_MQ_WOULD_BLOCK => break,
                    _ => lost(),
                }
                any = true;
                peer.bytes -= message.len();
                peer.waiting.pop_front();
            }
        }
        any
    }

    /// Adds what has come; whether anything has.
    fn receive(&mut self, inputs: &Inputs, aggregator: &mut Aggregator) -> bool {
        let mut any = false;
        for at in 0..self.peers.len() {
            while let Some((kind, bytes)) = self.next_message(at) {
                any = true;
                let peer = self.peers[at].as_mut().expect("it had a message");
                if kind == Kind::Part {
                    peer.partial.extend_from_slice(bytes);
                    continue;
                }
                let whole;
                let bytes = if peer.partial.is_empty() {
                    bytes
                } else {
                    peer.partial.extend_from_slice(bytes);
                    whole = std::mem::take(&mut peer.partial);
                    &whole
                };
                match kind {
                    Kind::End => peer.ended = true,
                    Kind::Groups => merge(aggregator, bytes),
                    _ => inputs.add(aggregator, &inputs.read(bytes)),
                }
                self.spill(aggregator);
            }
        }
        any
    }

    /// The next message from another process, with its kind; there until the next one is asked for.
    fn next_message<'a>(&mut self, from: usize) -> Option<(Kind, &'a [u8])> {
        // A worker that has given up groups waits until the leader has taken them.
        let behind = self.peers[0].as_ref().is_some_and(|peer| peer.bytes > WAITING);
        let peer = self.peers[from].as_ref().filter(|peer| !peer.ended && !behind)?;
        let (mut len, mut data) = (0, std::ptr::null_mut());
        // SAFETY: the queues live until this leaves, see `join`.
        match unsafe { pg_sys::shm_mq_receive(peer.from, &mut len, &mut data, true) } {
            pg_sys::shm_mq_result::SHM_MQ_SUCCESS => {}
            pg_sys::shm_mq_result::SHM_MQ_WOULD_BLOCK => return None,
            _ => lost(),
        }
        self.received += len as u64;
        // SAFETY: so many bytes are there until the next are received.
        let message = unsafe { std::slice::from_raw_parts(data as *const u8, len) };
        let (&kind, bytes) = message.split_first().expect("messages have a kind");
        Some((Kind::of(kind), bytes))
    }

    /// In a worker whose groups take too much memory while the exchange is on: gives them to the leader.
    fn spill(&mut self, aggregator: &mut Aggregator) {
        if is_worker() && self.by.is_some() && aggregator.bytes_used() > self.limit {
            let groups = aggregator.serialize(false).unwrap_or_else(|e| raise(e));
            self.send_groups(0, &groups);
            aggregator.restart();
            self.spilled = true;
        }
    }

    /// The same, once the leader has taken most of what went before.
    pub fn give_up_groups(&mut self, inputs: &Inputs, aggregator: &mut Aggregator) {
        self.spill(aggregator);
        self.make_room(0, inputs, aggregator);
    }
}
