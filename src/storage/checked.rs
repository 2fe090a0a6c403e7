//! Which pages a backend has found sound, so that a page's checksum is computed when somebody has changed the page or
//! it has come into another buffer, not at each look.

use super::damage::corrupt;
use crate::pg::buffer::block_of;
use crate::pg::{Pin, Relation};
use pgrx::pg_sys;
use std::cell::Cell;

/// Buffers remembered.
const PLACES: usize = 256;

/// A page as it was: its relation's file, its block, its buffer and its LSN. (Pages that are not logged keep theirs:
/// they are looked at once.)
type Seen = (u32, u32, pg_sys::Buffer, u64);

thread_local! {
    static SEEN: [Cell<Seen>; PLACES] = const { [const { Cell::new((0, 0, 0, 0)) }; PLACES] };
}

/// What the page in a buffer is now; the caller has it locked.
fn as_it_is(rel: &Relation, buffer: pg_sys::Buffer, lsn: u64) -> Seen {
    (rel.file().2, block_of(buffer), buffer, lsn)
}

fn place<R>(buffer: pg_sys::Buffer, f: impl FnOnce(&Cell<Seen>) -> R) -> R {
    SEEN.with(|seen| f(&seen[buffer as u32 as usize % PLACES]))
}

/// Raises an error if the page, the bytes of which these are, is not what was written.
pub fn check(rel: &Relation, buffer: pg_sys::Buffer, lsn: u64, bytes: &[u8]) {
    let seen = as_it_is(rel, buffer, lsn);
    if place(buffer, Cell::get) == seen {
        return;
    }
    if let Err(damage) = amax_lsm::page::check(bytes, seen.1) {
        corrupt(rel, seen.1, &damage.to_string());
    }
    place(buffer, |place| place.set(seen));
}

/// Whether the page, which need not be locked, was found sound and has not changed since.
pub fn is_known(rel: &Relation, pin: &Pin) -> bool {
    place(pin.buffer(), Cell::get) == as_it_is(rel, pin.buffer(), pin.page().lsn())
}

/// The page, which is ours, has just been written.
pub fn note(rel: &Relation, buffer: pg_sys::Buffer, lsn: u64) {
    let seen = as_it_is(rel, buffer, lsn);
    place(buffer, |place| place.set(seen));
}

/// All are looked at again.
pub fn forget() {
    SEEN.with(|seen| seen.iter().for_each(|place| place.set(Seen::default())));
}
