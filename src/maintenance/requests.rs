//! What commits leave to the background worker (`worker`): tables that are due, in memory that processes share.

use crate::guc;
use crate::pg::shm::{InShared, Kept, Segment};
use crate::pg::worker;
use amax_cache::requests::{Asked, Requests};
use pgrx::pg_sys;
use std::cell::{Cell, OnceCell};

/// The last number is that of the form of requests.
const NAME: &str = concat!("amax ", env!("CARGO_PKG_VERSION"), " requests 1");

// SAFETY: numbers alone.
unsafe impl InShared for Requests {}

thread_local! {
    /// None if there can be none in this server.
    static REQUESTS: OnceCell<Option<Kept<Requests>>> = const { OnceCell::new() };
    /// Whether this process is a worker.
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`, which raises nothing, unless there is no memory for them.
pub fn with<R>(f: impl FnOnce(&mut Requests) -> R) -> Option<R> {
    REQUESTS.with(|requests| {
        let requests = requests.get_or_init(|| Kept::find(NAME, c"amax_requests")).as_ref()?;
        requests.write(Segment::create, f)
    })
}

pub fn now() -> u64 {
    // SAFETY: it reads a clock.
    unsafe { pg_sys::GetCurrentTimestamp() as u64 }
}

pub fn be_worker() {
    IS_WORKER.set(true);
}

pub fn is_worker() -> bool {
    IS_WORKER.get()
}

/// Whether a worker will soon see to a table that is due.
pub fn ask(table: pg_sys::Oid) -> bool {
    // SAFETY: flags of the process.
    let (is_served, database) = unsafe { (pg_sys::IsUnderPostmaster, pg_sys::MyDatabaseId.to_u32()) };
    if !guc::background_worker() || !is_served {
        return false;
    }
    // One that was killed is found to be gone once.
    for _ in 0..2 {
        match with(|requests| requests.ask(database, table.to_u32(), now())) {
            Some(Asked::Wake(process)) if worker::wake(process) => return true,
            Some(Asked::Wake(process)) => drop(with(|requests| requests.gone(database, process))),
            Some(Asked::Starting) => return true,
            Some(Asked::Start) => {
                let started = worker::start("amax worker", "amax_worker", pg_sys::Datum::from(database));
                if !started {
                    with(|requests| requests.gone(database, 0));
                }
                return started;
            }
            Some(Asked::No) | None => return false,
        }
    }
    false
}
