//! Pins, locks and logged changes of pages in a relation's main fork.
//!
//! Every page that is not a row page looks *full and empty* to PostgreSQL (`pd_lower = pd_upper =` end of the header),
//! so that hio.c never puts a tuple there and a sequential reader of line pointers finds none. What is ours starts
//! behind the header: a tag (magic and kind), a checksum, then the payload (crates/lsm `page`).

use super::damage::corrupt;
use super::{checked, wal};
use amax_lsm::page::{self, PAYLOAD_START};
use pgrx::pg_sys;

pub const PAGE_HEADER: usize = page::HEADER;
/// Bytes of payload in each of our pages.
pub const PAYLOAD: usize = pg_sys::BLCKSZ as usize - PAYLOAD_START;
const MAGIC: u32 = 0x584d_4100;

/// What one of our pages holds. Stored in the tag, checked on every read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    Meta = 1,
    Map = 2,
    Stubs = 3,
    Blob = 4,
}

/// True when an error is on its way through us. PostgreSQL's abort then releases locks and pins (and has already reset
/// the interrupt holdoff count that a release would decrement), so destructors keep out of its way.
fn aborting() -> bool {
    std::thread::panicking()
}

/// A pinned buffer.
pub struct Pin(pg_sys::Buffer);

impl Pin {
    pub fn read(rel: pg_sys::Relation, block: u32) -> Pin {
        // SAFETY: `rel` is an open relation; errors unwind.
        Pin(unsafe {
            pg_sys::ReadBufferExtended(
                rel,
                pg_sys::ForkNumber::MAIN_FORKNUM,
                block,
                pg_sys::ReadBufferMode::RBM_NORMAL,
                std::ptr::null_mut(),
            )
        })
    }

    /// The same; from here on nobody has the page's cleanup lock. A pin alone keeps others from getting it, not who has
    /// it already.
    pub fn hold(rel: pg_sys::Relation, block: u32) -> Pin {
        let pin = Pin::read(rel, block);
        drop(pin.share());
        pin
    }

    /// The block if it is still in this buffer, without looking it up. PostgreSQL does not count that as a use of the
    /// buffer, so who does it again and again looks the block up now and then, or the page is evicted.
    pub fn read_recent(rel: pg_sys::Relation, block: u32, recent: pg_sys::Buffer) -> Option<Pin> {
        // SAFETY: a buffer number that a pin had.
        unsafe { crate::compat::read_recent(rel, block, recent) }.then(|| Pin(recent))
    }

    /// Takes over a pin that a PostgreSQL function returned.
    pub fn adopt(buffer: pg_sys::Buffer) -> Pin {
        Pin(buffer)
    }

    pub fn buffer(&self) -> pg_sys::Buffer {
        self.0
    }

    pub fn block(&self) -> u32 {
        unsafe { pg_sys::BufferGetBlockNumber(self.0) }
    }

    pub fn page(&self) -> pg_sys::Page {
        unsafe { pg_sys::BufferGetPage(self.0) }
    }

    /// The payload of one of our pages that nobody changes while the pin is held.
    pub unsafe fn payload_unlocked(&self) -> &[u8] {
        let start = (self.page() as *const u8).add(PAYLOAD_START);
        std::slice::from_raw_parts(start, PAYLOAD)
    }

    /// Whether the page is one of ours, of any kind; as of now, if it is not locked. A row page does not look full and
    /// empty.
    pub fn seems_ours(&self) -> bool {
        // SAFETY: the page is pinned.
        unsafe {
            let tag = self.page().add(PAGE_HEADER) as *const u32;
            is_full_and_empty(self.page()) && u32::from_le(tag.read()) & !0xff == MAGIC
        }
    }

    pub fn share(&self) -> Lock<'_> {
        unsafe { pg_sys::LockBuffer(self.0, pg_sys::BUFFER_LOCK_SHARE as i32) };
        Lock(self)
    }

    pub fn exclusive(&self) -> Lock<'_> {
        unsafe { pg_sys::LockBuffer(self.0, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32) };
        Lock(self)
    }

    /// The exclusive lock, if it can be had at once.
    pub fn try_exclusive(&self) -> Option<Lock<'_>> {
        unsafe { pg_sys::ConditionalLockBuffer(self.0) }.then(|| Lock(self))
    }

    /// The cleanup lock (exclusive, and no other pin), if it can be had at once.
    pub fn try_cleanup(&self) -> Option<Lock<'_>> {
        unsafe { pg_sys::ConditionalLockBufferForCleanup(self.0) }.then(|| Lock(self))
    }

    /// Waits for the cleanup lock.
    pub fn wait_cleanup(&self) -> Lock<'_> {
        unsafe { pg_sys::LockBufferForCleanup(self.0) };
        Lock(self)
    }

    /// Gives the pin to the caller: the destructor does not release it.
    pub fn into_buffer(self) -> pg_sys::Buffer {
        let buffer = self.0;
        std::mem::forget(self);
        buffer
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        if !aborting() {
            unsafe { pg_sys::ReleaseBuffer(self.0) }
        }
    }
}

/// Has the processor fetch a shared buffer's descriptor and 128 bytes of its page's payload.
pub fn prefetch(buffer: pg_sys::Buffer, at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Ok(buffer) = usize::try_from(buffer - 1) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: addresses of shared memory, of a buffer that was pinned before; a prefetch reads nothing.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(pg_sys::BufferDescriptors.add(buffer) as *const i8);
            let page = pg_sys::BufferBlocks.add(buffer * pg_sys::BLCKSZ as usize);
            _mm_prefetch::<_MM_HINT_T0>(page.add(PAYLOAD_START + at));
            _mm_prefetch::<_MM_HINT_T0>(page.add((PAYLOAD_START + at + 64).min(8191)));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (buffer, at);
}

/// A content lock on a pinned buffer.
pub struct Lock<'a>(&'a Pin);

impl Lock<'_> {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the page is locked for as long as `self` lives.
        unsafe { std::slice::from_raw_parts(self.0.page() as *const u8, pg_sys::BLCKSZ as usize) }
    }

    /// The payload of one of our pages, after checking that it is one, and sound.
    pub fn payload(&self, rel: pg_sys::Relation, kind: Kind) -> &[u8] {
        let payload = self.tagged(rel, kind);
        checked::check(rel, self.0.buffer(), self.bytes());
        payload
    }

    /// The payload of one of our pages, whose checksum is still to be looked at.
    pub fn tagged(&self, rel: pg_sys::Relation, kind: Kind) -> &[u8] {
        check_tag(rel, self.0.block(), self.bytes(), kind);
        &self.bytes()[PAYLOAD_START..]
    }

    /// The same if it is one of that kind.
    pub fn payload_of(&self, rel: pg_sys::Relation, kind: Kind) -> Option<&[u8]> {
        let tag = (MAGIC | kind as u32).to_le_bytes();
        let is_of = self.is_ours() && self.bytes()[PAGE_HEADER..].starts_with(&tag);
        is_of.then(|| self.payload(rel, kind))
    }

    /// Whether the page is one of ours, of any kind.
    pub fn is_ours(&self) -> bool {
        self.0.seems_ours()
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        if !aborting() {
            unsafe { pg_sys::LockBuffer(self.0.0, pg_sys::BUFFER_LOCK_UNLOCK as i32) }
        }
    }
}

/// As every page of ours looks to heap.
unsafe fn is_full_and_empty(page: pg_sys::Page) -> bool {
    let header = &*(page as *const pg_sys::PageHeaderData);
    header.pd_lower as usize == PAGE_HEADER
        && header.pd_upper == header.pd_lower
        && u32::from(header.pd_special) == pg_sys::BLCKSZ
}

fn check_tag(rel: pg_sys::Relation, block: u32, page: &[u8], kind: Kind) {
    let tag = u32::from_le_bytes(page[PAGE_HEADER..PAGE_HEADER + 4].try_into().unwrap());
    // SAFETY: the bytes are a whole page.
    if !unsafe { is_full_and_empty(page.as_ptr() as pg_sys::Page) } && tag != 0 {
        let detail = format!("the header is not that of a {kind:?} page");
        corrupt(rel, block, &detail);
    }
    if tag != MAGIC | kind as u32 {
        corrupt(rel, block, &format!("expected a {kind:?} page, found tag {tag:#010x}"));
    }
}

/// Copies of up to four pages, changed together and logged as one generic WAL record (see [`wal`]).
pub struct Change {
    rel: pg_sys::Relation,
    pages: Vec<wal::Changed>,
    /// Those that the change holds pins and locks of.
    held: Vec<pg_sys::Buffer>,
}

impl Change {
    pub fn begin(rel: pg_sys::Relation) -> Change {
        Change {
            rel,
            pages: Vec::with_capacity(4),
            held: Vec::with_capacity(4),
        }
    }

    /// Locks one of our pages and adds it to the change. Returns its handle.
    pub fn page(&mut self, block: u32, kind: Kind) -> usize {
        let pin = Pin::read(self.rel, block);
        std::mem::forget(pin.exclusive());
        let handle = self.hold(pin.into_buffer(), false);
        check_tag(self.rel, block, self.image(handle), kind);
        let changed = &mut self.pages[handle];
        changed.ours = true;
        checked::check(self.rel, changed.buffer, &changed.image.0);
        handle
    }

    /// Adds a row page that the caller has pinned and locked exclusively; this takes over pin and lock.
    pub fn locked(&mut self, buffer: pg_sys::Buffer) -> usize {
        self.hold(buffer, log_rows_whole())
    }

    /// Adds a row page that the caller has locked exclusively and keeps.
    pub fn borrowed(&mut self, buffer: pg_sys::Buffer) -> usize {
        self.add(buffer, log_rows_whole(), wal::Image::of(buffer))
    }

    /// Appends a block to the relation, formatted as an empty page of ours. Returns its handle and number.
    pub fn append(&mut self, kind: Kind) -> (usize, u32) {
        let (buffer, block) = extend(self.rel);
        let handle = self.format(buffer, kind);
        (handle, block)
    }

    /// Formats a free page (pinned and locked by the caller, who hands it over) as an empty page of ours.
    pub fn format(&mut self, buffer: pg_sys::Buffer, kind: Kind) -> usize {
        let handle = self.format_rows(buffer);
        self.make_ours(handle, kind);
        handle
    }

    /// Formats a free page (pinned and locked by the caller, who hands it over) as an empty row page.
    pub fn format_rows(&mut self, buffer: pg_sys::Buffer) -> usize {
        self.held.push(buffer);
        self.add(buffer, true, wal::Image::empty())
    }

    /// Makes a row page, which the caller has locked exclusively and keeps, one of ours. What else was on it stays
    /// behind the tag: the record is short.
    pub fn give_up(&mut self, buffer: pg_sys::Buffer, kind: Kind) {
        let handle = self.borrowed(buffer);
        self.make_ours(handle, kind);
    }

    fn make_ours(&mut self, handle: usize, kind: Kind) {
        let header = self.raw(handle) as *mut pg_sys::PageHeaderData;
        unsafe {
            (*header).pd_lower = PAGE_HEADER as u16;
            (*header).pd_upper = PAGE_HEADER as u16;
            (*header).pd_flags = 0;
            (*header).pd_prune_xid = pg_sys::InvalidTransactionId;
        }
        let tag = (MAGIC | kind as u32).to_le_bytes();
        self.image_mut(handle)[PAGE_HEADER..PAGE_HEADER + 4].copy_from_slice(&tag);
        self.pages[handle].ours = true;
    }

    fn hold(&mut self, buffer: pg_sys::Buffer, whole: bool) -> usize {
        self.held.push(buffer);
        self.add(buffer, whole, wal::Image::of(buffer))
    }

    fn add(&mut self, buffer: pg_sys::Buffer, whole: bool, image: Box<wal::Image>) -> usize {
        self.pages.push(wal::Changed {
            buffer,
            image,
            whole,
            ours: false,
        });
        self.pages.len() - 1
    }

    fn image(&self, handle: usize) -> &[u8] {
        &self.pages[handle].image.0
    }

    fn image_mut(&mut self, handle: usize) -> &mut [u8] {
        &mut self.pages[handle].image.0
    }

    /// The copy of the whole page, header included.
    pub fn raw(&mut self, handle: usize) -> pg_sys::Page {
        self.pages[handle].image.page()
    }

    pub fn payload(&self, handle: usize) -> &[u8] {
        &self.image(handle)[PAYLOAD_START..]
    }

    pub fn payload_mut(&mut self, handle: usize) -> &mut [u8] {
        &mut self.image_mut(handle)[PAYLOAD_START..]
    }

    /// Applies and logs the change, then releases its pages.
    pub fn commit(mut self) {
        for changed in self.pages.iter_mut().filter(|page| page.ours) {
            let block = unsafe { pg_sys::BufferGetBlockNumber(changed.buffer) };
            page::seal(&mut changed.image.0, block);
        }
        // SAFETY: all pages are pinned and locked. Dropping the change releases them.
        unsafe { wal::apply(self.rel, &self.pages) };
        for changed in self.pages.iter().filter(|page| page.ours) {
            checked::note(self.rel, changed.buffer);
        }
    }
}

impl Drop for Change {
    /// A change that was not committed leaves no trace.
    fn drop(&mut self) {
        if !aborting() {
            for buffer in self.held.drain(..) {
                unsafe { pg_sys::UnlockReleaseBuffer(buffer) }
            }
        }
    }
}

/// Whether changes of row pages are logged as whole pages. Hint bits are not in the WAL, so the page on a standby may
/// have others; wal_consistency_checking takes that for damage (generic_mask() lets no bit differ), unless it is told
/// the whole page.
fn log_rows_whole() -> bool {
    // SAFETY: PostgreSQL's array of a flag for each resource manager.
    unsafe { *pg_sys::wal_consistency_checking.add(pg_sys::RmgrIds::RM_GENERIC_ID as usize) }
}

/// Appends a zeroed block; returns it pinned and locked. The lock is taken before anyone can see the block
/// (RBM_ZERO_AND_LOCK): hio.c tries a relation's last block, without the extension lock, and adopts a zeroed one.
fn extend(rel: pg_sys::Relation) -> (pg_sys::Buffer, u32) {
    unsafe {
        let lock = ExtensionLock::take(rel);
        let buffer = pg_sys::ReadBufferExtended(
            rel,
            pg_sys::ForkNumber::MAIN_FORKNUM,
            pg_sys::InvalidBlockNumber, // P_NEW
            pg_sys::ReadBufferMode::RBM_ZERO_AND_LOCK,
            std::ptr::null_mut(),
        );
        drop(lock);
        (buffer, pg_sys::BufferGetBlockNumber(buffer))
    }
}

/// The relation extension lock.
pub struct ExtensionLock(pg_sys::Relation);

impl ExtensionLock {
    pub fn take(rel: pg_sys::Relation) -> ExtensionLock {
        unsafe { pg_sys::LockRelationForExtension(rel, pg_sys::ExclusiveLock as i32) };
        ExtensionLock(rel)
    }
}

impl Drop for ExtensionLock {
    fn drop(&mut self) {
        if !aborting() {
            unsafe { pg_sys::UnlockRelationForExtension(self.0, pg_sys::ExclusiveLock as i32) }
        }
    }
}

/// Blocks in the relation's main fork, as the storage manager counts them.
pub fn physical_blocks(rel: pg_sys::Relation) -> u32 {
    unsafe { pg_sys::smgrnblocks(crate::compat::smgr(rel), pg_sys::ForkNumber::MAIN_FORKNUM) }
}
