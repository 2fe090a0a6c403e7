//! Pins and content locks of a relation's main fork.

use super::page::Page;
use super::plain;
use super::relation::Relation;
use pgrx::pg_sys;
use std::marker::PhantomData;
use std::ptr::null_mut;

/// True when an error is on its way through us. PostgreSQL's abort then releases locks and pins (and has already reset
/// the interrupt holdoff count that a release would decrement), so destructors keep out of its way.
fn aborting() -> bool {
    std::thread::panicking()
}

/// A pinned buffer.
pub struct Pin(pg_sys::Buffer);

impl Pin {
    pub fn read(rel: &Relation, block: u32) -> Pin {
        Pin(read(rel, block, pg_sys::ReadBufferMode::RBM_NORMAL, null_mut()))
    }

    /// The same, through a ring of buffers if there is one (src/pg/stream.rs).
    pub(super) fn read_in(rel: &Relation, block: u32, ring: pg_sys::BufferAccessStrategy) -> Pin {
        Pin(read(rel, block, pg_sys::ReadBufferMode::RBM_NORMAL, ring))
    }

    /// The same as [`Pin::read`]; from here on nobody has the page's cleanup lock. A pin alone keeps others from getting it, not who has
    /// it already.
    pub fn hold(rel: &Relation, block: u32) -> Pin {
        let pin = Pin::read(rel, block);
        drop(pin.share());
        pin
    }

    /// The block if it is still in this buffer, without looking it up. PostgreSQL does not count that as a use of the
    /// buffer, so who does it again and again looks the block up now and then, or the page is evicted.
    pub fn read_recent(rel: &Relation, block: u32, recent: pg_sys::Buffer) -> Option<Pin> {
        // SAFETY: a buffer number that a pin had. PostgreSQL looks whether the block is there.
        let found = unsafe { pg_sys::ReadRecentBuffer(rel.locator(), pg_sys::ForkNumber::MAIN_FORKNUM, block, recent) };
        if found {
            super::stats::count_hit(rel);
        }
        found.then(|| Pin(recent))
    }

    /// Appends a zeroed block, pinned and locked exclusively. The lock is taken before anyone can see the block
    /// (RBM_ZERO_AND_LOCK): hio.c tries a relation's last block, without the extension lock, and adopts a zeroed one.
    pub fn append(rel: &Relation) -> Locked {
        let _lock = super::lock::Extension::take(rel);
        const P_NEW: u32 = pg_sys::InvalidBlockNumber;
        Locked(read(rel, P_NEW, pg_sys::ReadBufferMode::RBM_ZERO_AND_LOCK, null_mut()))
    }

    /// Takes over a pin that a PostgreSQL function returned.
    ///
    /// # Safety
    /// It did, and nobody else releases it.
    pub unsafe fn adopt(buffer: pg_sys::Buffer) -> Pin {
        Pin(buffer)
    }

    /// Another pin of a buffer that somebody has pinned.
    ///
    /// # Safety
    /// Somebody has.
    pub unsafe fn of_other(buffer: pg_sys::Buffer) -> Pin {
        // SAFETY: as the caller promises.
        unsafe { pg_sys::IncrBufferRefCount(buffer) };
        Pin(buffer)
    }

    /// Another pin of the same buffer.
    pub fn again(&self) -> Pin {
        // SAFETY: we have pinned it.
        unsafe { Pin::of_other(self.0) }
    }

    pub fn buffer(&self) -> pg_sys::Buffer {
        self.0
    }

    pub fn block(&self) -> u32 {
        block_of(self.0)
    }

    pub fn page(&self) -> Page<'_> {
        // SAFETY: it stays in its buffer while that is pinned.
        unsafe { Page::of(pg_sys::BufferGetPage(self.0)) }
    }

    pub fn share(&self) -> Lock<'_> {
        // SAFETY: a pinned buffer.
        unsafe { pg_sys::LockBuffer(self.0, pg_sys::BUFFER_LOCK_SHARE as i32) };
        Lock::new(self)
    }

    pub fn exclusive(&self) -> Lock<'_> {
        // SAFETY: a pinned buffer.
        unsafe { pg_sys::LockBuffer(self.0, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32) };
        Lock::new(self)
    }

    /// The exclusive lock, if it can be had at once.
    pub fn try_exclusive(&self) -> Option<Lock<'_>> {
        // SAFETY: a pinned buffer.
        unsafe { pg_sys::ConditionalLockBuffer(self.0) }.then(|| Lock::new(self))
    }

    /// The cleanup lock (exclusive, and no other pin), if it can be had at once.
    pub fn try_cleanup(&self) -> Option<Lock<'_>> {
        // SAFETY: a pinned buffer.
        unsafe { pg_sys::ConditionalLockBufferForCleanup(self.0) }.then(|| Lock::new(self))
    }

    /// Waits for the cleanup lock.
    pub fn wait_cleanup(&self) -> Lock<'_> {
        // SAFETY: a pinned buffer.
        unsafe { pg_sys::LockBufferForCleanup(self.0) };
        Lock::new(self)
    }

    /// The exclusive lock, together with the pin.
    pub fn lock(self) -> Locked {
        std::mem::forget(self.exclusive());
        Locked(self.into_buffer())
    }

    /// The pin of a lock that was kept ([`Lock::keep`]), together with that.
    pub fn locked(self) -> Locked {
        Locked(self.into_buffer())
    }

    /// Gives the pin to the caller: the destructor does not release it.
    pub fn into_buffer(self) -> pg_sys::Buffer {
        let buffer = self.0;
        std::mem::forget(self);
        buffer
    }
}

fn read(
    rel: &Relation,
    block: u32,
    mode: pg_sys::ReadBufferMode::Type,
    strategy: pg_sys::BufferAccessStrategy,
) -> pg_sys::Buffer {
    let main = pg_sys::ForkNumber::MAIN_FORKNUM;
    // SAFETY: an open relation, and a strategy of the session's or none; errors unwind.
    unsafe { pg_sys::ReadBufferExtended(rel.raw(), main, block, mode, strategy) }
}

impl Drop for Pin {
    fn drop(&mut self) {
        if !aborting() {
            // SAFETY: our pin.
            unsafe { plain::ReleaseBuffer(self.0) }
        }
    }
}

/// A content lock on a pinned buffer.
pub struct Lock<'a> {
    buffer: pg_sys::Buffer,
    of: PhantomData<&'a Pin>,
}

impl<'a> Lock<'a> {
    fn new(pin: &'a Pin) -> Lock<'a> {
        Lock {
            buffer: pin.0,
            of: PhantomData,
        }
    }

    pub fn buffer(&self) -> pg_sys::Buffer {
        self.buffer
    }

    pub fn block(&self) -> u32 {
        block_of(self.buffer)
    }

    pub fn page(&self) -> Page<'_> {
        // SAFETY: the buffer is pinned.
        unsafe { Page::of(pg_sys::BufferGetPage(self.buffer)) }
    }

    /// The page, which nobody changes while this lives, but for hints of row pages.
    pub fn bytes(&self) -> &[u8; super::page::SIZE] {
        // SAFETY: the page is locked.
        unsafe { self.page().bytes() }
    }

    /// Locks the buffer for good: who has the pin releases both.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        if !aborting() {
            // SAFETY: our lock, and the pin is still there.
            unsafe { plain::LockBuffer(self.buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32) }
        }
    }
}

/// A buffer that is pinned and locked exclusively, both released on drop.
pub struct Locked(pg_sys::Buffer);

impl Locked {
    pub fn buffer(&self) -> pg_sys::Buffer {
        self.0
    }

    pub fn block(&self) -> u32 {
        block_of(self.0)
    }

    pub fn page(&self) -> Page<'_> {
        // SAFETY: the buffer is pinned.
        unsafe { Page::of(pg_sys::BufferGetPage(self.0)) }
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        if !aborting() {
            // SAFETY: our pin and lock.
            unsafe { plain::UnlockReleaseBuffer(self.0) }
        }
    }
}

/// How many buffers there are for a relation's pages.
pub fn buffers(rel: &Relation) -> usize {
    // SAFETY: settings.
    let (temporary, shared) = unsafe { (pg_sys::num_temp_buffers, pg_sys::NBuffers) };
    if rel.file().is_temporary() {
        temporary as usize
    } else {
        shared as usize
    }
}

/// The block in a buffer that somebody has pinned.
pub fn block_of(buffer: pg_sys::Buffer) -> u32 {
    // SAFETY: of another buffer it tells some number.
    unsafe { plain::BufferGetBlockNumber(buffer) }
}

/// Has the processor fetch a shared buffer's descriptor and 128 bytes of its page, from `at` on.
pub fn prefetch(buffer: pg_sys::Buffer, at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Ok(buffer) = usize::try_from(buffer - 1) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: addresses of shared memory, of a buffer that was pinned before; a prefetch reads nothing.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(pg_sys::BufferDescriptors.add(buffer) as *const i8);
            let page = pg_sys::BufferBlocks.add(buffer * pg_sys::BLCKSZ as usize);
            _mm_prefetch::<_MM_HINT_T0>(page.add(at));
            _mm_prefetch::<_MM_HINT_T0>(page.add((at + 64).min(8191)));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (buffer, at);
}
