//! A background worker that does what commits would do (`inline`), and merges what VACUUM would. The first commit that asks (`requests`) has
//! one started for its database; it ends when nobody has asked for a while, so that DROP DATABASE, which waits five seconds, succeeds.

use super::inline;
use super::requests::{be_worker, now, with};
use crate::memory::is_ending;
use crate::pg::worker;
use pgrx::prelude::*;

/// Milliseconds.
const PATIENCE: i64 = 2000;

fn own_process() -> i32 {
    std::process::id() as i32
}

/// What the worker runs.
#[pg_guard]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn amax_worker(database: pg_sys::Datum) {
    be_worker();
    let database = database.value() as u32;
    worker::join(pg_sys::Oid::from(database));
    if with(|requests| requests.begin(database, own_process(), now())) != Some(true) {
        return;
    }
    worker::at_exit(ended);
    loop {
        while let Some(table) = with(|requests| requests.take(database)).flatten() {
            worker::says(Some(c"amax: flush and merge"));
            worker::in_transaction(|| inline::at_request(pg_sys::Oid::from(table)));
            worker::report();
            if inline::was_refused() {
                with(|requests| requests.failed(database, own_process()));
                return;
            }
        }
        worker::says(None);
        if !worker::wait(PATIENCE) && with(|requests| requests.end(database, own_process())) != Some(false) {
            return;
        }
    }
}

/// Its process ends, whyever it does.
#[pg_guard]
unsafe extern "C-unwind" fn ended(code: i32, _argument: pg_sys::Datum) {
    if !is_ending() {
        // SAFETY: a global of the backend.
        let database = unsafe { pg_sys::MyDatabaseId }.to_u32();
        with(|requests| match code {
            0 => requests.gone(database, own_process()),
            _ => requests.failed(database, own_process()),
        });
    }
}
