//! Requests that would take the process's memory cgroup to its limit are refused: the kernel would kill a process for
//! them, and the server restart.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Requests that count.
const LEAST: usize = 64 << 10;
/// Bytes that may be requested before the cgroup is looked at again, if there is no limit.
const FREE: usize = 256 << 20;
/// The same near the limit.
const STEP: usize = 1 << 20;
/// What is left to everything else: small requests, PostgreSQL's, other processes' until they look, and those that
/// cannot be told no.
const SPARED: usize = 8 << 20;

/// Bytes that may be requested before the cgroup is looked at again. What is given back in the meantime does not
/// count, as others may have taken it.
static GRANTED: AtomicUsize = AtomicUsize::new(0);
/// Whether the last look refused.
static IS_AT_LIMIT: AtomicBool = AtomicBool::new(false);
/// Bytes of what is spared that are left for requests that cannot be told no.
static LENDING: AtomicUsize = AtomicUsize::new(SPARED);

/// Whether a request is to fail.
#[inline]
pub fn refuses(size: usize) -> bool {
    size >= LEAST && !take(size)
}

#[inline]
fn take(size: usize) -> bool {
    match GRANTED.load(Relaxed).checked_sub(size) {
        Some(left) => GRANTED.store(left, Relaxed),
        None => return look(size),
    }
    true
}

/// Looking requests memory itself, but little.
#[cold]
fn look(size: usize) -> bool {
    let more = match amax_memory::cgroup::room() {
        None => Some(FREE),
        Some(room) => {
            let left = room.checked_sub(SPARED.saturating_add(size) as u64);
            left.map(|left| ((left / 16) as usize).clamp(STEP, FREE))
        }
    };
    GRANTED.store(more.unwrap_or(0), Relaxed);
    IS_AT_LIMIT.store(more.is_none(), Relaxed);
    more.is_some()
}

/// What serves a request that was refused, and cannot be told no: what is spared, if it was the cgroup that refused it;
/// past that the kernel would kill.
pub fn lends(size: usize) -> Option<bool> {
    let lends = || {
        LENDING
            .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(size))
            .is_ok()
    };
    IS_AT_LIMIT.load(Relaxed).then(lends)
}

/// A (sub)transaction has ended, and what was lent is given back.
pub fn settle() {
    LENDING.store(SPARED, Relaxed);
    IS_AT_LIMIT.store(false, Relaxed);
}
