//! Generic WAL records, which PostgreSQL replays, made by us. Its own functions (generic_xlog.c) find what has changed
//! by comparing pages byte by byte: 4 µs a page, most of what a small change took.

use super::buffer::Lock;
use super::page::{Page, PageMut};
use super::relation::Relation;
use amax_lsm::delta;
use amax_lsm::page::{self, PAYLOAD_START};
use pgrx::pg_sys;
use std::cell::RefCell;
use std::ops::Range;

const PAGE: usize = pg_sys::BLCKSZ as usize;

thread_local! {
    static SPARE: RefCell<Vec<Box<Image>>> = const { RefCell::new(Vec::new()) };
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
    /// Whole words that may differ, if that is known, of a page without a hole; no others do.
    pub touched: Option<Vec<Range<usize>>>,
}

impl Changed {
    pub fn block(&self) -> u32 {
        super::buffer::block_of(self.buffer)
    }

    /// Notes the checksum of a page of ours.
    pub fn seal(&mut self) {
        let block = self.block();
        let mut payload = self
            .touched
            .iter()
            .flatten()
            .filter(|range| range.start >= PAYLOAD_START);
        match (payload.next(), payload.next()) {
            (Some(changed), None) => {
                // SAFETY: the page is locked exclusively.
                let old = unsafe { &*(pg_sys::BufferGetPage(self.buffer) as *const Image) };
                page::reseal(&old.0, &mut self.image.0, changed.clone());
            }
            _ => page::seal(&mut self.image.0, block),
        }
    }

    /// The page in its buffer.
    pub fn now(&self) -> Page<'_> {
        // SAFETY: a pinned buffer.
        unsafe { Page::of(pg_sys::BufferGetPage(self.buffer)) }
    }
}

/// How a page gets there.
struct Delta {
    ranges: Vec<Range<usize>>,
    /// As in the record; none for a whole page.
    bytes: Vec<u8>,
}

impl Delta {
    /// The page is pinned and locked.
    ///
    /// # Safety
    /// As said.
    unsafe fn of(page: &Changed) -> Delta {
        if page.whole {
            return Delta {
                ranges: std::iter::once(0..PAGE).collect(),
                bytes: Vec::new(),
            };
        }
        // SAFETY: nobody else changes the page.
        let old = unsafe { &*(pg_sys::BufferGetPage(page.buffer) as *const Image) };
        let ranges = match &page.touched {
            Some(touched) => touched.clone(),
            None => delta::ranges(&old.0, &page.image.0),
        };
        let bytes = delta::encode(&page.image.0, &ranges);
        Delta { ranges, bytes }
    }
}

/// Gives pages their new content, and logs that as one record.
///
/// # Safety
/// All of them are pages of the relation, pinned and exclusively locked.
pub unsafe fn apply(rel: &Relation, pages: &[Changed]) {
    assert!(pages.len() <= pg_sys::MAX_GENERIC_XLOG_PAGES as usize);
    // Nothing may fail once a page has been touched: memory is taken before.
    // SAFETY: as the caller promises.
    let deltas: Vec<Delta> = pages.iter().map(|page| unsafe { Delta::of(page) }).collect();
    let logged = rel.needs_wal();
    // SAFETY: pages that are ours to change; the order is that of transam/README, "Write-Ahead Log Coding".
    unsafe {
        if logged {
            pg_sys::XLogBeginInsert();
        }
        pg_sys::CritSectionCount += 1;
        for (id, (page, delta)) in pages.iter().zip(&deltas).enumerate() {
            change(page, delta);
            if logged {
                register(id as u8, page, delta);
            }
        }
        if logged {
            let lsn = pg_sys::XLogInsert(pg_sys::RmgrIds::RM_GENERIC_ID as u8, 0);
            for page in pages {
                let header = pg_sys::BufferGetPage(page.buffer) as *mut pg_sys::PageHeaderData;
                (*header).pd_lsn.xlogid = (lsn >> 32) as u32;
                (*header).pd_lsn.xrecoff = lsn as u32;
            }
        }
        pg_sys::CritSectionCount -= 1;
    }
}

/// # Safety
/// The page is pinned and exclusively locked, and we are in a critical section.
unsafe fn change(page: &Changed, delta: &Delta) {
    // SAFETY: as the caller promises; the ranges are within a page.
    unsafe {
        let to = pg_sys::BufferGetPage(page.buffer) as *mut u8;
        for range in &delta.ranges {
            let from = page.image.0[range.clone()].as_ptr();
            std::ptr::copy_nonoverlapping(from, to.add(range.start), range.len());
        }
        pg_sys::MarkBufferDirty(page.buffer);
    }
}

/// # Safety
/// As for [`change`], which comes before; a record has been begun.
unsafe fn register(id: u8, page: &Changed, delta: &Delta) {
    let mut flags = pg_sys::REGBUF_STANDARD;
    if page.whole {
        flags |= pg_sys::REGBUF_FORCE_IMAGE;
    }
    // SAFETY: as the caller promises. PostgreSQL copies the data before `delta` goes.
    unsafe {
        pg_sys::XLogRegisterBuffer(id, page.buffer, flags as u8);
        if !page.whole {
            let data = delta.bytes.as_ptr().cast_mut().cast();
            pg_sys::XLogRegisterBufData(id, data, delta.bytes.len() as _);
        }
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
