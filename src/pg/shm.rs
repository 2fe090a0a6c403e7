//! Shared memory that comes and goes while the server runs (dsm.c), and a word in the server's own, which all processes
//! find.

use arrow_buffer::Buffer;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::cell::OnceCell;
use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

/// A segment mapped into this process until it is dropped.
pub struct Segment {
    segment: *mut pg_sys::dsm_segment,
}

// SAFETY: a backend has one thread; Arrow's buffers ask for more than they need here.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Drop for Segment {
    fn drop(&mut self) {
        // A process that ends has let go of all of them before its thread's values are dropped.
        // SAFETY: a flag of the process.
        if unsafe { !pg_sys::proc_exit_inprogress } {
            // SAFETY: mapped by us.
            unsafe { pg_sys::dsm_detach(self.segment) }
        }
    }
}

/// PostgreSQL's segments belong to the resource owner of the moment, unless there is none.
fn without_owner<T>(f: impl FnOnce() -> T) -> T {
    struct Restore(pg_sys::ResourceOwner);
    impl Drop for Restore {
        fn drop(&mut self) {
            // SAFETY: the owner of before, which outlives what we are part of.
            unsafe { pg_sys::CurrentResourceOwner = self.0 }
        }
    }
    // SAFETY: a global of the backend.
    let _restore = Restore(unsafe { pg_sys::CurrentResourceOwner });
    // SAFETY: as above.
    unsafe { pg_sys::CurrentResourceOwner = std::ptr::null_mut() };
    f()
}

impl Segment {
    /// A new segment of so many bytes, which are zero; None if there is no memory for it. Raises nothing.
    pub fn create(bytes: usize) -> Option<Segment> {
        if !there_is_room(bytes) {
            return None;
        }
        const FLAGS: i32 = pg_sys::DSM_CREATE_NULL_IF_MAXSEGMENTS as i32;
        // SAFETY: errors unwind.
        let create = AssertUnwindSafe(|| unsafe { pg_sys::dsm_create(bytes, FLAGS) });
        let segment = without_owner(|| {
            PgTryBuilder::new(create)
                // It has been undone but for a few bytes, and there are no locks held.
                .catch_others(|_| std::ptr::null_mut())
                .execute()
        });
        let made = Segment::of(segment)?;
        // SAFETY: it has so many bytes, and nobody else knows of it.
        unsafe { std::ptr::write_bytes(made.address().as_ptr(), 0, bytes) };
        Some(made)
    }

    /// None if it is gone, or cannot be mapped. Not to be called while it is mapped.
    pub fn attach(handle: u32) -> Option<Segment> {
        // SAFETY: it looks a number up; errors unwind.
        let attach = AssertUnwindSafe(|| unsafe { pg_sys::dsm_attach(handle) });
        let segment = without_owner(|| {
            PgTryBuilder::new(attach)
                // SAFETY: a mapping of ours.
                .catch_others(|_| unsafe {
                    // PostgreSQL leaves it to the resource owner to undo this half of it.
                    let half = pg_sys::dsm_find_mapping(handle);
                    if !half.is_null() {
                        pg_sys::dsm_detach(half);
                    }
                    std::ptr::null_mut()
                })
                .execute()
        });
        Segment::of(segment)
    }

    /// Whether any process has it mapped, or it is pinned.
    pub fn is_there(handle: u32) -> bool {
        // SAFETY: it looks a number up.
        unsafe { !pg_sys::dsm_find_mapping(handle).is_null() || Segment::attach(handle).is_some() }
    }

    fn of(segment: *mut pg_sys::dsm_segment) -> Option<Segment> {
        (!segment.is_null()).then(|| Segment { segment })
    }

    pub fn handle(&self) -> u32 {
        // SAFETY: mapped by us.
        unsafe { pg_sys::dsm_segment_handle(self.segment) }
    }

    /// It stays when no process has it mapped, until [`unpin`].
    pub fn pin(&self) {
        // SAFETY: mapped by us.
        unsafe { pg_sys::dsm_pin_segment(self.segment) }
    }

    pub fn address(&self) -> NonNull<u8> {
        // SAFETY: mapped by us.
        let address = unsafe { pg_sys::dsm_segment_address(self.segment) };
        NonNull::new(address as *mut u8).expect("it is mapped")
    }

    /// Some of its bytes, which nobody changes any more. They keep it mapped.
    ///
    /// # Panics
    /// If it has no such bytes.
    pub fn bytes(self: &Arc<Self>, offset: usize, len: usize) -> Buffer {
        // SAFETY: mapped by us.
        let all = unsafe { pg_sys::dsm_segment_map_length(self.segment) };
        assert!(offset <= all && len <= all - offset, "bytes of a segment");
        // SAFETY: they are mapped as long as the segment lives, which the buffer owns a share of.
        unsafe { Buffer::from_custom_allocation(self.address().add(offset), len, self.clone()) }
    }
}

/// A pinned segment is no longer kept; it goes when no process has it mapped.
pub fn unpin(handle: u32) {
    // SAFETY: it looks a number up.
    unsafe { pg_sys::dsm_unpin_segment(handle) }
}

/// Whether so much may be taken of the file system that segments are files of, without making it tight for others:
/// containers have little of it.
pub fn there_is_room(bytes: usize) -> bool {
    // DSM_IMPL_POSIX
    // SAFETY: a setting.
    if unsafe { pg_sys::dynamic_shared_memory_type } != pg_sys::DSM_IMPL_POSIX as i32 {
        return true;
    }
    match rustix::fs::statvfs(c"/dev/shm") {
        Ok(found) => found.f_bavail.saturating_mul(found.f_frsize) / 4 >= bytes as u64,
        Err(_) => true,
    }
}

/// A word that all processes of the server share, behind a lock. 0 at first, and after a crash.
pub struct Shared {
    word: NonNull<Word>,
}

#[repr(C)]
struct Word {
    lock: pg_sys::LWLock,
    tranche: i32,
    word: u32,
}

/// AddinShmemInitLock of lwlocknames.h: the same in PostgreSQL 15 to 18.
const ADDIN_SHMEM_INIT_LOCK: usize = 21;

impl Shared {
    /// By its name; None if what the server's shared memory has left is not even enough for that. Raises nothing.
    pub fn find(name: &str, tranche: &'static CStr) -> Option<Shared> {
        let name = CString::new(name).expect("a name has no zero byte");
        // SAFETY: as in xfunc.sgml, "Shared Memory", and as autoprewarm.c does it in a server that has started.
        unsafe {
            let lock = &raw mut (*pg_sys::MainLWLockArray.add(ADDIN_SHMEM_INIT_LOCK)).lock;
            let held = pg_sys::InterruptHoldoffCount;
            let find = AssertUnwindSafe(|| {
                pg_sys::LWLockAcquire(lock, pg_sys::LWLockMode::LW_EXCLUSIVE);
                let mut found = false;
                let size = size_of::<Word>();
                let word = pg_sys::ShmemInitStruct(name.as_ptr(), size, &mut found) as *mut Word;
                if !found {
                    (*word).tranche = pg_sys::LWLockNewTrancheId();
                    pg_sys::LWLockInitialize(&raw mut (*word).lock, (*word).tranche);
                    (*word).word = 0;
                }
                pg_sys::LWLockRelease(lock);
                word
            });
            let word = PgTryBuilder::new(find)
                .catch_others(|_| {
                    if pg_sys::LWLockHeldByMe(lock) {
                        // The error forgot that a lock holds off interrupts.
                        pg_sys::InterruptHoldoffCount = held + 1;
                        pg_sys::LWLockRelease(lock);
                    }
                    std::ptr::null_mut()
                })
                .execute();
            let word = NonNull::new(word)?;
            pg_sys::LWLockRegisterTranche((*word.as_ptr()).tranche, tranche.as_ptr());
            Some(Shared { word })
        }
    }

    /// Runs `f`, which raises nothing and does not wait, while nobody changes what the word stands for.
    pub fn read<R>(&self, f: impl FnOnce(u32) -> R) -> R {
        // SAFETY: nobody writes it under this lock.
        self.locked(pg_sys::LWLockMode::LW_SHARED, |word| f(unsafe { *word }))
    }

    /// The same, while nobody reads.
    pub fn write<R>(&self, f: impl FnOnce(&mut u32) -> R) -> R {
        // SAFETY: nobody else has it under this lock.
        self.locked(pg_sys::LWLockMode::LW_EXCLUSIVE, |word| f(unsafe { &mut *word }))
    }

    fn locked<R>(&self, mode: pg_sys::LWLockMode::Type, f: impl FnOnce(*mut u32) -> R) -> R {
        // SAFETY: in the server's shared memory for as long as it runs.
        unsafe {
            let word = self.word.as_ptr();
            pg_sys::LWLockAcquire(&raw mut (*word).lock, mode);
            let result = f(&raw mut (*word).word);
            pg_sys::LWLockRelease(&raw mut (*word).lock);
            result
        }
    }
}

/// What may lie in memory that processes share.
///
/// # Safety
/// It has no pointers, all its bytes may be zero, and others may have it mapped elsewhere.
pub unsafe trait InShared {}

/// A value that all processes share, behind a lock, in a segment that the first to write to it makes and that stays as long as the server
/// runs. All zeroes at first, and after a crash.
pub struct Kept<T> {
    /// The segment's handle.
    shared: Shared,
    segment: OnceCell<Segment>,
    value: PhantomData<T>,
}

impl<T: InShared> Kept<T> {
    /// See [`Shared::find`].
    pub fn find(name: &str, tranche: &'static CStr) -> Option<Self> {
        Some(Self {
            shared: Shared::find(name, tranche)?,
            segment: OnceCell::new(),
            value: PhantomData,
        })
    }

    /// Runs `f`, which raises nothing and does not wait, while nobody writes; None if nobody has written yet.
    pub fn read<R>(&self, f: impl FnOnce(&T) -> R) -> Option<R> {
        let value = self.value(|| None)?;
        // SAFETY: pinned for as long as the server runs; nobody writes while the lock is held.
        Some(self.shared.read(|_| f(unsafe { value.as_ref() })))
    }

    /// The same while nobody reads. None if there is no segment for it; `create` makes one.
    pub fn write<R>(&self, create: impl FnOnce(usize) -> Option<Segment>, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut value = self.value(|| create(size_of::<T>()))?;
        // SAFETY: the same, and nobody reads.
        Some(self.shared.write(|_| f(unsafe { value.as_mut() })))
    }

    /// Maps the segment, which `create` may make if there is none.
    fn value(&self, create: impl FnOnce() -> Option<Segment>) -> Option<NonNull<T>> {
        if self.segment.get().is_none() {
            let mut handle = self.shared.read(|handle| handle);
            let mut mapped = None;
            if handle == 0 {
                let made = create()?;
                made.pin();
                let ours = made.handle();
                handle = self.shared.write(|handle| {
                    if *handle == 0 {
                        *handle = ours;
                    }
                    *handle
                });
                match handle == ours {
                    true => mapped = Some(made),
                    false => unpin(ours),
                }
            }
            let segment = mapped.or_else(|| Segment::attach(handle))?;
            self.segment.get_or_init(|| segment);
        }
        Some(self.segment.get()?.address().cast())
    }
}

/// Processes that are connected to a database.
pub fn sessions() -> usize {
    // SAFETY: without a database, those of all.
    unsafe { pg_sys::CountDBBackends(pg_sys::InvalidOid) }.max(1) as usize
}
