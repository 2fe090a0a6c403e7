//! Requests that would take the process's memory cgroup to its limit are refused: the kernel would kill a process for
//! them, and the server restart.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Requests that count.
const LEAST: usize = 64 << 10;
/// Bytes that may be requested before the cgroup is looked at again, if there is no limit.
const FREE: usize = 256 << 20;
/// The same near the limit.
const STEP: usize = 1 << 20;
/// What is left to everything else: small requests, PostgreSQL's, other processes' until they look.
const SPARED: u64 = 8 << 20;

/// Bytes that may be requested before the cgroup is looked at again. What is given back in the meantime does not
/// count, as others may have taken it.
static GRANTED: AtomicUsize = AtomicUsize::new(0);

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
            let left = room.checked_sub(SPARED.saturating_add(size as u64));
            left.map(|left| ((left / 16) as usize).clamp(STEP, FREE))
        }
    };
    GRANTED.store(more.unwrap_or(0), Relaxed);
    more.is_some()
}
