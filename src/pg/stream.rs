//! Blocks of a relation that are read one after the other.

use super::buffer::{Pin, buffers};
use super::relation::Relation;
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
use pgrx::pg_guard;
use pgrx::pg_sys;
use std::cell::Cell;
use std::ptr::null_mut;

thread_local! {
    static RING: Cell<pg_sys::BufferAccessStrategy> = const { Cell::new(null_mut()) };
}

/// The ring of buffers that reads of much of a large relation go through, so that they leave the others to those that come back; none for
/// a relation of no more than a quarter of all buffers (initscan() of heapam.c). It is the session's.
fn ring(rel: &Relation) -> pg_sys::BufferAccessStrategy {
    if rel.file().is_temporary() || rel.physical_blocks() as usize <= buffers(rel) / 4 {
        return null_mut();
    }
    if RING.get().is_null() {
        // SAFETY: it is made where it stays.
        unsafe {
            let before = pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
            RING.set(pg_sys::GetAccessStrategy(
                pg_sys::BufferAccessStrategyType::BAS_BULKREAD,
            ));
            pg_sys::MemoryContextSwitchTo(before);
        }
    }
    RING.get()
}

/// Hands each of these blocks to `f`, in their order, as part of reading much of the relation.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub fn read_each(rel: &Relation, blocks: &[u32], f: &mut dyn FnMut(Pin)) {
    let ring = ring(rel);
    blocks.iter().for_each(|&block| f(Pin::read_in(rel, block, ring)));
}

/// Hands each of these blocks to `f`, in their order, as part of reading much of the relation: ahead of `f`, and neighbours together (read_stream.c).
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
pub fn read_each(rel: &Relation, blocks: &[u32], f: &mut dyn FnMut(Pin)) {
    /// Fewer are in buffers before a stream is made.
    const FEW: usize = 3;
    let ring = ring(rel);
    if blocks.len() <= FEW {
        return blocks.iter().for_each(|&block| f(Pin::read_in(rel, block, ring)));
    }
    let flags = pg_sys::READ_STREAM_FULL;
    // The callback waits for nothing.
    #[cfg(not(feature = "pg17"))]
    let flags = flags | pg_sys::READ_STREAM_USE_BATCHING;
    let mut left = blocks.iter();
    let (main, state) = (pg_sys::ForkNumber::MAIN_FORKNUM, (&raw mut left).cast());
    // SAFETY: an open relation; the callback's state stays until the stream has ended. After an error nobody asks it for more, and its pins are PostgreSQL's to release.
    unsafe {
        let stream = pg_sys::read_stream_begin_relation(flags as i32, ring, rel.raw(), main, Some(next), state, 0);
        for _ in blocks {
            f(Pin::adopt(pg_sys::read_stream_next_buffer(stream, null_mut())));
        }
        pg_sys::read_stream_end(stream);
    }
}

/// The stream's next block.
///
/// # Safety
/// The state is an iterator over blocks.
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
#[pg_guard]
unsafe extern "C-unwind" fn next(
    _stream: *mut pg_sys::ReadStream,
    state: *mut std::ffi::c_void,
    _per_buffer: *mut std::ffi::c_void,
) -> pg_sys::BlockNumber {
    // SAFETY: as the caller promises.
    let left = unsafe { &mut *state.cast::<std::slice::Iter<u32>>() };
    left.next().map_or(pg_sys::InvalidBlockNumber, |&block| block)
}
