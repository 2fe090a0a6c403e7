//! Generic WAL records, which PostgreSQL replays, made by us. Its own functions (generic_xlog.c) find what has changed
//! by comparing pages byte by byte: 4 µs a page, most of what a small change took.

use amax_lsm::delta;
use pgrx::pg_sys;
use std::ops::Range;

const PAGE: usize = pg_sys::BLCKSZ as usize;

/// What a page is to become.
#[repr(C, align(8))]
pub struct Image(pub [u8; PAGE]);

impl Image {
    /// A copy of the buffer's page, which the caller has locked.
    pub fn of(buffer: pg_sys::Buffer) -> Box<Image> {
        // SAFETY: the buffer is pinned and locked; every byte of the box is written.
        unsafe {
            let mut image = Box::<Image>::new_uninit();
            let page = pg_sys::BufferGetPage(buffer) as *const Image;
            std::ptr::copy_nonoverlapping(page, image.as_mut_ptr(), 1);
            image.assume_init()
        }
    }

    /// Of [`PageInit`](pg_sys::PageInit).
    pub fn empty() -> Box<Image> {
        let mut image = Box::new(Image([0; PAGE]));
        unsafe { pg_sys::PageInit(image.page(), PAGE, 0) };
        image
    }

    pub fn page(&mut self) -> pg_sys::Page {
        self.0.as_mut_ptr() as pg_sys::Page
    }
}

/// A page of a change.
pub struct Changed {
    pub buffer: pg_sys::Buffer,
    pub image: Box<Image>,
    /// Log the whole page: it need not have been anything before.
    pub whole: bool,
    /// Whether it is one of our pages, which have a checksum, and not a row page.
    pub ours: bool,
}

/// How a page gets there.
struct Delta {
    ranges: Vec<Range<usize>>,
    /// As in the record; none for a whole page.
    bytes: Vec<u8>,
}

impl Delta {
    /// The page is pinned and locked.
    unsafe fn of(page: &Changed) -> Delta {
        if page.whole {
            return Delta {
                ranges: std::iter::once(0..PAGE).collect(),
                bytes: Vec::new(),
            };
        }
        let old = &*(pg_sys::BufferGetPage(page.buffer) as *const Image);
        let ranges = delta::ranges(&old.0, &page.image.0);
        let bytes = delta::encode(&page.image.0, &ranges);
        Delta { ranges, bytes }
    }
}

/// Gives pages, all pinned and exclusively locked, their new content, and logs that as one record.
pub unsafe fn apply(rel: pg_sys::Relation, pages: &[Changed]) {
    assert!(pages.len() <= pg_sys::MAX_GENERIC_XLOG_PAGES as usize);
    // Nothing may fail once a page has been touched: memory is taken before.
    let deltas: Vec<Delta> = pages.iter().map(|page| Delta::of(page)).collect();
    let logged = needs_wal(rel);
    if logged {
        pg_sys::XLogBeginInsert();
    }
    pg_sys::CritSectionCount += 1;
    for (id, (page, delta)) in pages.iter().zip(&deltas).enumerate() {
        let to = pg_sys::BufferGetPage(page.buffer) as *mut u8;
        for range in &delta.ranges {
            let from = page.image.0[range.clone()].as_ptr();
            std::ptr::copy_nonoverlapping(from, to.add(range.start), range.len());
        }
        pg_sys::MarkBufferDirty(page.buffer);
        if !logged {
            continue;
        }
        let mut flags = pg_sys::REGBUF_STANDARD;
        if page.whole {
            flags |= pg_sys::REGBUF_FORCE_IMAGE;
        }
        pg_sys::XLogRegisterBuffer(id as u8, page.buffer, flags as u8);
        if !page.whole {
            let data = delta.bytes.as_ptr().cast_mut().cast();
            pg_sys::XLogRegisterBufData(id as u8, data, delta.bytes.len() as _);
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

/// RelationNeedsWAL() (rel.h).
unsafe fn needs_wal(rel: pg_sys::Relation) -> bool {
    #[cfg(feature = "pg15")]
    let new_file = (*rel).rd_firstRelfilenodeSubid;
    #[cfg(not(feature = "pg15"))]
    let new_file = (*rel).rd_firstRelfilelocatorSubid;
    const NONE: pg_sys::SubTransactionId = 0; // InvalidSubTransactionId
    let permanent = (*(*rel).rd_rel).relpersistence == pg_sys::RELPERSISTENCE_PERMANENT as i8;
    let minimal = pg_sys::wal_level < pg_sys::WalLevel::WAL_LEVEL_REPLICA as i32;
    permanent && !(minimal && ((*rel).rd_createSubid != NONE || new_file != NONE))
}
