//! Memory that may be refused.
//!
//! Rust's collections abort the process when they are refused memory, and most code grows collections. So an allocator
//! that is refused some takes it out of a reserve, once, and says so here ([`refused`]); code that works through data
//! looks from time to time whether that has happened ([`check`]), at least once for each piece of work that takes a few
//! megabytes, and ends with [`OutOfMemory`]. What may take more than a reserve has is asked for before it is begun
//! ([`ask`]), while no is still an answer, or taken by [`reserve`].
//!
//! A process has one allocator and so one state, for all of its threads.

pub mod cgroup;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Memory was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("out of memory")]
pub struct OutOfMemory {
    /// Bytes of the request that failed.
    pub bytes: usize,
    /// What was being done.
    pub what: &'static str,
}

/// Bytes of the first request refused since [`forget`]; 0: none.
static REFUSED: AtomicUsize = AtomicUsize::new(0);
static ASKING: AtomicBool = AtomicBool::new(false);

/// Requests smaller than this are not asked for beforehand: a reserve has room for many of them.
pub const SMALL: usize = 1 << 20;

/// For the allocator: a request was refused, and what was asked for came out of the reserve.
pub fn refused(bytes: usize) {
    let _ = REFUSED.compare_exchange(0, bytes.max(1), Relaxed, Relaxed);
}

/// For the allocator: whether who asks now can be told no.
pub fn is_asking() -> bool {
    ASKING.load(Relaxed)
}

/// The error is on its way, or the work has come to its end without one: what follows is judged by itself. Whether
/// there was one.
pub fn forget() -> bool {
    REFUSED.swap(0, Relaxed) != 0
}

/// # Errors
/// [`OutOfMemory`] if memory has been refused since [`forget`].
#[inline]
pub fn check(what: &'static str) -> Result<(), OutOfMemory> {
    match REFUSED.load(Relaxed) {
        0 => Ok(()),
        bytes => Err(OutOfMemory { bytes, what }),
    }
}

/// Asks for memory that work is about to take, and gives it back at once: nothing is touched. Who has many threads may
/// find it gone.
///
/// # Errors
/// [`OutOfMemory`] if it is not there, or as [`check`].
#[inline]
pub fn ask(bytes: usize, what: &'static str) -> Result<(), OutOfMemory> {
    check(what)?;
    match bytes {
        ..SMALL => Ok(()),
        _ => ask_allocator(bytes, what),
    }
}

#[cold]
fn ask_allocator(bytes: usize, what: &'static str) -> Result<(), OutOfMemory> {
    let mut memory: Vec<u8> = Vec::new();
    let answer = asking(|| memory.try_reserve_exact(bytes));
    // Without it the compiler may do without the request.
    std::hint::black_box(&memory);
    answer.map_err(|_| OutOfMemory { bytes, what })
}

fn asking<T>(request: impl FnOnce() -> T) -> T {
    ASKING.store(true, Relaxed);
    let answer = request();
    ASKING.store(false, Relaxed);
    answer
}

/// Makes room for more elements of a vector that may become large.
///
/// # Errors
/// As [`ask`].
#[inline]
pub fn reserve<T>(vec: &mut Vec<T>, more: usize, what: &'static str) -> Result<(), OutOfMemory> {
    if more <= vec.capacity() - vec.len() {
        return Ok(());
    }
    grow(vec, more, what)
}

#[cold]
fn grow<T>(vec: &mut Vec<T>, more: usize, what: &'static str) -> Result<(), OutOfMemory> {
    check(what)?;
    let bytes = vec.len().saturating_add(more).saturating_mul(size_of::<T>());
    if bytes < SMALL {
        vec.reserve(more);
        return Ok(());
    }
    asking(|| vec.try_reserve(more)).map_err(|_| OutOfMemory { bytes, what })
}

/// Appends to a vector that may become large.
///
/// # Errors
/// As [`ask`].
#[inline]
pub fn extend<T: Copy>(vec: &mut Vec<T>, more: &[T], what: &'static str) -> Result<(), OutOfMemory> {
    reserve(vec, more.len(), what)?;
    vec.extend_from_slice(more);
    Ok(())
}

/// A copy of what may be large.
///
/// # Errors
/// As [`ask`].
pub fn copy<T: Copy>(of: &[T], what: &'static str) -> Result<Vec<T>, OutOfMemory> {
    let mut copy = Vec::new();
    extend(&mut copy, of, what)?;
    Ok(copy)
}

/// So many zeroes in place of what is in a vector.
///
/// # Errors
/// As [`ask`].
pub fn zero(vec: &mut Vec<u8>, len: usize, what: &'static str) -> Result<(), OutOfMemory> {
    vec.clear();
    reserve(vec, len, what)?;
    vec.resize(len, 0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_an_error_until_it_is_forgotten() {
        assert_eq!(check("nothing"), Ok(()));
        refused(100);
        refused(200);
        let error = OutOfMemory {
            bytes: 100,
            what: "a test",
        };
        assert_eq!(check("a test"), Err(error));
        assert_eq!(ask(0, "a test"), Err(error));
        assert!(forget());
        assert!(!forget());
        assert_eq!(ask(1 << 20, "a test"), Ok(()));
        let most = isize::MAX as usize;
        assert!(ask(most, "a test").is_err());
        assert_eq!(check("a test"), Ok(()));
    }
}
