//! Generic WAL records, which PostgreSQL replays, made by us. Its own functions (generic_xlog.c) find what has changed
//! by comparing pages byte by byte: 4 µs a page, most of what a small change took. And where the log ends.

use super::buffer::Lock;
use super::page::{Page, PageMut};
use super::relation::Relation;
use amax_lsm::delta;
use amax_lsm::page;
use pgrx::pg_sys;
use std::cell::RefCell;

const PAGE: usize = pg_sys::BLCKSZ as usize;

thread_local! {
    static SPARE: RefCell<Vec<Box<Image>>> = const { RefCell::new(Vec::new()) };
}

/// Where the log ends: of what has been written, or on a standby replayed, so far.
pub fn end() -> u64 {
    // SAFETY: they read shared memory.
    unsafe {
        match pg_sys::RecoveryInProgress() {
            true => pg_sys::GetXLogReplayRecPtr(std::ptr::null_mut()),
            false => pg_sys::GetXLogInsertRecPtr(),
        }
    }
}

/// What a page is to become.
#[repr(C, align(8))]
pub struct Image(pub [u8; PAGE]);

impl Image {
    /// A copy of a page, which the caller has locked.
    pub fn of(page: Page) -> Box<Image> {
        if let Some(mut image) = SPARE.with_borrow_mut(Vec::pop) {
            // SAFETY: nobody changes the page.
            image.0.copy_from_slice(unsafe { page.bytes() });
            return image;
        }
        // SAFETY: every byte of the box is written.
        unsafe {
            let mut image = Box::<Image>::new_uninit();
            std::ptr::copy_nonoverlapping(page.raw() as *const Image, image.as_mut_ptr(), 1);
            image.assume_init()
        }
    }

    /// No longer needed: the next is copied to the same place.
    pub fn give_back(self: Box<Image>) {
        SPARE.with_borrow_mut(|spare| {
            if spare.len() < pg_sys::MAX_GENERIC_XLOG_PAGES as usize {
                spare.push(self);
            }
        });
    }

    /// Of [`PageInit`](pg_sys::PageInit).
    pub fn empty() -> Box<Image> {
        let mut image = Box::new(Image([0; PAGE]));
        // SAFETY: a page of our own.
        unsafe { pg_sys::PageInit(image.page().raw(), PAGE, 0) };
        image
    }

    pub fn page(&mut self) -> PageMut<'_> {
        // SAFETY: aligned, and ours alone.
        unsafe { PageMut::of(self.0.as_mut_ptr() as pg_sys::Page) }
    }
}

/// A page of a change.
pub struct Changed {
    /// Pinned and locked exclusively.
    pub buffer: pg_sys::Buffer,
    pub image: Box<Image>,
    /// Log the whole page: it need not have been anything before.
    pub whole: bool,
    /// Whether it is one of our pages, which have a checksum, and not a row page.
    pub ours: bool,
}

impl Changed {
    pub fn block(&self) -> u32 {
        super::buffer::block_of(self.buffer)
    }

    /// Notes the checksum of a page of ours.
    pub fn seal(&mut self) {
        let block = self.block();
        page::seal(&mut self.image.0, block);
    }

    /// The page in its buffer.
    pub fn now(&self) -> Page<'_> {
        // SAFETY: a pinned buffer.
        unsafe { Page::of(pg_sys::BufferGetPage(self.buffer)) }
    }
}

/// How a page, pinned and locked exclusively, becomes what it is to be.
struct Delta<'a> {
    buffer: pg_sys::Buffer,
    whole: Option<&'a Image>,
    /// As in the record (crates/lsm `delta`); nothing of a whole page.
    parts: Vec<u8>,
}

impl Delta<'_> {
    /// # Safety
    /// The page is pinned and locked exclusively.
    unsafe fn of(page: &Changed) -> Delta<'_> {
        let buffer = page.buffer;
        if page.whole {
            return Delta {
                buffer,
                whole: Some(&page.image),
                parts: Vec::new(),
            };
        }
        // SAFETY: nobody else changes the page.
        let old = unsafe { &*(pg_sys::BufferGetPage(buffer) as *const Image) };
        let ranges = delta::ranges(&old.0, &page.image.0);
        let parts = ranges.into_iter().map(|range| (range.start, &page.image.0[range]));
        Delta {
            buffer,
            whole: None,
            parts: delta::encode(parts),
        }
    }

    /// # Safety
    /// The page is pinned and exclusively locked, and we are in a critical section.
    unsafe fn change(&self) {
        let put = |at: usize, bytes: &[u8]| {
            // SAFETY: as the caller promises; what is put is within a page.
            unsafe {
                let to = pg_sys::BufferGetPage(self.buffer) as *mut u8;
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.add(at), bytes.len());
            }
        };
        match self.whole {
            Some(image) => put(0, &image.0),
            None => delta::parts(&self.parts).for_each(|(at, bytes)| put(at, bytes)),
        }
        // SAFETY: as the caller promises.
        unsafe { pg_sys::MarkBufferDirty(self.buffer) }
    }

    /// # Safety
    /// As for [`Self::change`], which comes before; a record has been begun.
    unsafe fn register(&self, id: u8) {
        let mut flags = pg_sys::REGBUF_STANDARD;
        if self.whole.is_some() {
            flags |= pg_sys::REGBUF_FORCE_IMAGE;
        }
        // SAFETY: as the caller promises. PostgreSQL copies the data before `self` goes.
        unsafe {
            pg_sys::XLogRegisterBuffer(id, self.buffer, flags as u8);
            if self.whole.is_none() {
                let data = self.parts.as_ptr().cast_mut().cast();
                pg_sys::XLogRegisterBufData(id, data, self.parts.len() as _);
            }
        }
    }
}

/// Gives pages their new content, and logs that as one record.
///
/// # Safety
/// All of them are pages of the relation, pinned and exclusively locked.
pub unsafe fn apply(rel: &Relation, pages: &[Changed]) {
    // SAFETY: as the caller promises.
    unsafe {
        let deltas: Vec<Delta> = pages.iter().map(|page| Delta::of(page)).collect();
        log(rel, &deltas);
    }
}

/// Changes some bytes of the payload of one of our pages, and its checksum, and logs that: no copy of the page is made.
///
/// # Safety
/// It is one, of the relation, locked exclusively, and has so much payload.
pub unsafe fn patch(rel: &Relation, lock: &Lock, at: usize, bytes: &[u8]) {
    let page = lock.bytes();
    let start = at / delta::WORD * delta::WORD;
    let mut words = page[start..(at + bytes.len()).next_multiple_of(delta::WORD)].to_vec();
    words[at - start..at - start + bytes.len()].copy_from_slice(bytes);
    let head = page::resealed(page, start, &words);
    let delta = Delta {
        buffer: lock.buffer(),
        whole: None,
        parts: delta::encode([(page::HEADER, &head[..]), (start, &words)]),
    };
    // SAFETY: as the caller promises.
    unsafe { log(rel, &[delta]) }
}

/// # Safety
/// As for [`apply`].
unsafe fn log(rel: &Relation, deltas: &[Delta]) {
    // Nothing may fail once a page has been touched: memory was taken before.
    assert!(deltas.len() <= pg_sys::MAX_GENERIC_XLOG_PAGES as usize);
    let logged = rel.needs_wal();
    // SAFETY: pages that are ours to change; the order is that of transam/README, "Write-Ahead Log Coding".
    unsafe {
        if logged {
            pg_sys::XLogBeginInsert();
        }
        pg_sys::CritSectionCount += 1;
        for (id, delta) in (0..).zip(deltas) {
            delta.change();
            if logged {
                delta.register(id);
            }
        }
        if logged {
            let lsn = pg_sys::XLogInsert(pg_sys::RmgrIds::RM_GENERIC_ID as u8, 0);
            for delta in deltas {
                let header = pg_sys::BufferGetPage(delta.buffer) as *mut pg_sys::PageHeaderData;
                (*header).pd_lsn.xlogid = (lsn >> 32) as u32;
                (*header).pd_lsn.xrecoff = lsn as u32;
            }
        }
        pg_sys::CritSectionCount -= 1;
    }
}

/// Whether changes of row pages are logged as whole pages. Hint bits are not in the WAL, so the page on a standby may
/// have others; wal_consistency_checking takes that for damage (generic_mask() lets no bit differ), unless it is told
/// the whole page.
pub fn logs_rows_whole() -> bool {
    // SAFETY: PostgreSQL's array of a flag for each resource manager.
    unsafe { *pg_sys::wal_consistency_checking.add(pg_sys::RmgrIds::RM_GENERIC_ID as usize) }
}

/// Logs a page as it is, which the caller has changed and locked exclusively.
pub fn log_page(lock: &Lock) {
    // SAFETY: a critical section, so that a change is not left without its record.
    unsafe {
        pg_sys::CritSectionCount += 1;
        pg_sys::log_newpage_buffer(lock.buffer(), false);
        pg_sys::CritSectionCount -= 1;
    }
}
