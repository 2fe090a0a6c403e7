//! What the processes of a parallel aggregate send each other rows through: shared memory, and a queue from each to each
//! other.

use crate::pg::shm;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::collections::VecDeque;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32};

/// Bytes of all queues that lead to one process.
const QUEUES: usize = 1 << 20;

/// What the processes of a parallel aggregate share: this, then the queues.
#[repr(C)]
pub struct SharedQueues {
    /// Processes that there is room for: the leader, and the workers that were planned.
    pub places: u32,
    /// Those that take part: as many as have been started; 0 as long as the leader does not know.
    pub parts: AtomicU32,
    /// One of the following.
    pub state: AtomicU32,
    /// Whether the leader has left out groups, so that workers may have a part of them.
    pub narrowed: AtomicBool,
    pub queue: usize,
}

/// Each process has its own groups, so far.
pub const OPEN: u32 = 0;
/// It stays so, as one has ended.
pub const OFF: u32 = 1;
pub const BY_KEYS: u32 = 2;
pub const BY_VALUES: u32 = 3;

/// Bytes of shared memory for so many workers; without any if there is not enough.
pub fn size(workers: usize) -> usize {
    let places = workers + 1;
    let queues = places * (places - 1) * queue_size(places);
    size_of::<SharedQueues>() + if shm::there_is_room(queues) { queues } else { 0 }
}

fn queue_size(places: usize) -> usize {
    (QUEUES / places).next_multiple_of(64)
}

/// [`SharedQueues`] in the memory of their query, which stays as long as this is used.
#[derive(Clone, Copy)]
pub struct Queues {
    shared: &'static SharedQueues,
    first: NonNull<u8>,
}

impl Deref for Queues {
    type Target = SharedQueues;

    fn deref(&self) -> &SharedQueues {
        self.shared
    }
}

impl Queues {
    /// For the queries' processes, with the leader in the first place; `size` is as [`size`] said. It stays off unless it is
    /// `open`.
    ///
    /// # Safety
    /// Shared memory of that size, which stays as long as this is used.
    pub unsafe fn init(memory: NonNull<u8>, workers: usize, size: usize, open: bool) {
        let there = size > size_of::<SharedQueues>();
        let places = if there { workers + 1 } else { 1 };
        // SAFETY: as the caller promises: there is room for so many queues.
        unsafe {
            memory.cast().write(SharedQueues {
                places: places as u32,
                parts: AtomicU32::new(0),
                state: AtomicU32::new(if open { OPEN } else { OFF }),
                narrowed: AtomicBool::new(false),
                queue: queue_size(places),
            });
            let made = Queues::of(memory);
            for from in 0..places {
                for to in (0..places).filter(|&to| to != from) {
                    pg_sys::shm_mq_create(made.queue(from, to).cast(), made.queue);
                }
            }
        }
    }

    /// # Safety
    /// As above, and it has been initialized.
    pub unsafe fn of(memory: NonNull<u8>) -> Queues {
        // SAFETY: as the caller promises; what changes in it is atomic.
        unsafe {
            Queues {
                shared: memory.cast().as_ref(),
                first: memory.cast::<SharedQueues>().add(1).cast(),
            }
        }
    }

    /// The queue from one process to another, by their places.
    fn queue(&self, from: usize, to: usize) -> *mut pg_sys::shm_mq {
        let others = self.places as usize - 1;
        let at = from * others + to - usize::from(to > from);
        self.first.as_ptr().wrapping_add(at * self.queue).cast()
    }

    /// Attaches to the queues between this process and another.
    pub fn attach(&self, me: usize, other: usize) -> Peer {
        let (to, from) = (self.queue(me, other), self.queue(other, me));
        let none = std::ptr::null_mut();
        // SAFETY: two of the queues, each with one process at each end.
        unsafe {
            pg_sys::shm_mq_set_sender(to, pg_sys::MyProc);
            pg_sys::shm_mq_set_receiver(from, pg_sys::MyProc);
            Peer {
                to: pg_sys::shm_mq_attach(to, none, std::ptr::null_mut()),
                from: pg_sys::shm_mq_attach(from, none, std::ptr::null_mut()),
                waiting: VecDeque::new(),
                bytes: 0,
                partial: Vec::new(),
                ended: false,
            }
        }
    }
}

/// The queues to and from another process.
pub struct Peer {
    pub to: *mut pg_sys::shm_mq_handle,
    pub from: *mut pg_sys::shm_mq_handle,
    /// Messages that had no room yet, the first of them perhaps sent in part.
    pub waiting: VecDeque<Vec<u8>>,
    pub bytes: usize,
    /// What has come of something that is longer than a message.
    pub partial: Vec<u8>,
    /// Whether all has come that will.
    pub ended: bool,
}

impl Peer {
    /// Lets go of the queues.
    pub fn leave(self) {
        // SAFETY: attached to by us.
        unsafe {
            pg_sys::shm_mq_detach(self.to);
            pg_sys::shm_mq_detach(self.from);
        }
    }
}

/// What a message begins with.
#[derive(Clone, Copy, PartialEq)]
#[repr(u8)]
pub enum Kind {
    /// More of it follows.
    Part,
    Rows,
    Groups,
    End,
}

impl Kind {
    pub fn of(byte: u8) -> Kind {
        let kinds = [Kind::Part, Kind::Rows, Kind::Groups, Kind::End];
        kinds[usize::from(byte)]
    }
}

/// Another process is gone: it has said why, unless it was killed.
pub fn lost() -> ! {
    crate::memory::check_for_interrupts();
    ereport!(
        ERROR,
        PgSqlErrorCode::ERRCODE_ADMIN_SHUTDOWN,
        "lost connection to a process of a parallel aggregate"
    );
}
