//! Our pages in a relation's main fork, and logged changes of them.
//!
//! Every page that is not a row page looks *full and empty* to PostgreSQL (`pd_lower = pd_upper =` end of the header),
//! so that hio.c never puts a tuple there and a sequential reader of line pointers finds none. What is ours starts
//! behind the header: a tag (magic and kind), a checksum, then the payload (crates/lsm `page`).

use super::checked;
use super::damage::corrupt;
use crate::pg::buffer::Locked;
use crate::pg::{Lock, Page, PageMut, Pin, Relation, wal};
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

impl Kind {
    fn tag(self) -> u32 {
        MAGIC | self as u32
    }
}

/// Whether a page is one of ours, of any kind; as of now, if it is not locked. A row page does not look full and empty.
pub fn is_ours(page: Page) -> bool {
    is_full_and_empty(page) && page.word(PAGE_HEADER) & !0xff == MAGIC
}

/// As every page of ours looks to heap.
fn is_full_and_empty(page: Page) -> bool {
    usize::from(page.lower()) == PAGE_HEADER
        && page.upper() == page.lower()
        && u32::from(page.special()) == pg_sys::BLCKSZ
}

fn check_tag(rel: &Relation, block: u32, page: Page, kind: Kind) {
    let tag = page.word(PAGE_HEADER);
    if !is_full_and_empty(page) && tag != 0 {
        corrupt(rel, block, &format!("the header is not that of a {kind:?} page"));
    }
    if tag != kind.tag() {
        corrupt(rel, block, &format!("expected a {kind:?} page, found tag {tag:#010x}"));
    }
}

/// The payload of a page of a component's: nobody changes those while anybody may read them, so a pin is enough.
pub fn payload_unlocked(pin: &Pin) -> &[u8] {
    // SAFETY: see above. Whether it is such a page the checksums of what is in it tell.
    unsafe { &pin.page().bytes()[PAYLOAD_START..] }
}

/// One aligned word of a page's payload, read without its content lock: written by whole-page copies of the same bytes
/// or a single change.
pub fn word_unlocked(rel: &Relation, block: u32, at: usize) -> u32 {
    word(&Pin::read(rel, block), at)
}

/// The same of a page that is pinned.
pub fn word(pin: &Pin, at: usize) -> u32 {
    pin.page().word(PAYLOAD_START + at)
}

/// Has the processor fetch what is at byte `at` of the payload.
pub fn prefetch(buffer: pg_sys::Buffer, at: usize) {
    crate::pg::buffer::prefetch(buffer, PAYLOAD_START + at);
}

impl Lock<'_> {
    /// The payload of one of our pages, after checking that it is one, and sound.
    pub fn payload(&self, rel: &Relation, kind: Kind) -> &[u8] {
        let payload = self.tagged(rel, kind);
        checked::check(rel, self.buffer(), self.page().lsn(), self.bytes());
        payload
    }

    /// The payload of one of our pages, whose checksum is still to be looked at.
    pub fn tagged(&self, rel: &Relation, kind: Kind) -> &[u8] {
        check_tag(rel, self.block(), self.page(), kind);
        &self.bytes()[PAYLOAD_START..]
    }

    /// The same if it is one of that kind.
    pub fn payload_of(&self, rel: &Relation, kind: Kind) -> Option<&[u8]> {
        let is_of = self.is_ours() && self.page().word(PAGE_HEADER) == kind.tag();
        is_of.then(|| self.payload(rel, kind))
    }

    /// Whether the page is one of ours, of any kind.
    pub fn is_ours(&self) -> bool {
        is_ours(self.page())
    }
}

/// Changes a few bytes of the payload of one of our pages, if `which` says so of it: place and bytes. Returns whether.
pub fn patch<const N: usize>(
    rel: &Relation,
    block: u32,
    kind: Kind,
    which: impl FnOnce(&[u8]) -> Option<(usize, [u8; N])>,
) -> bool {
    let pin = Pin::read(rel, block);
    let lock = pin.exclusive();
    let payload = lock.payload(rel, kind);
    let Some((at, bytes)) = which(payload).filter(|(at, _)| at + N <= payload.len()) else {
        return false;
    };
    // SAFETY: such a page of the relation, locked.
    unsafe { wal::patch(rel, &lock, PAYLOAD_START + at, &bytes) };
    checked::note(rel, lock.buffer(), lock.page().lsn());
    true
}

/// Copies of up to four pages, changed together and logged as one generic WAL record (see [`wal`]).
pub struct Change<'a> {
    rel: &'a Relation,
    pages: Vec<wal::Changed>,
    /// Those that the change has pinned and locked, or was given so.
    held: Vec<Locked>,
}

impl<'a> Change<'a> {
    pub fn begin(rel: &'a Relation) -> Change<'a> {
        Change {
            rel,
            pages: Vec::with_capacity(4),
            held: Vec::with_capacity(4),
        }
    }

    /// Locks one of our pages and adds it to the change. Returns its handle.
    pub fn page(&mut self, block: u32, kind: Kind) -> usize {
        let page = Pin::read(self.rel, block).lock();
        let buffer = page.buffer();
        let handle = self.hold(page, false);
        check_tag(self.rel, block, *self.pages[handle].image.page(), kind);
        let changed = &mut self.pages[handle];
        changed.ours = true;
        let lsn = changed.image.page().lsn();
        checked::check(self.rel, buffer, lsn, &changed.image.0);
        handle
    }

    /// Adds a row page.
    pub fn locked(&mut self, page: Locked) -> usize {
        self.hold(page, wal::logs_rows_whole())
    }

    /// Adds a row page that the caller has locked exclusively and keeps.
    pub fn borrowed(&mut self, lock: &'a Lock<'_>) -> usize {
        self.add(lock.buffer(), wal::logs_rows_whole(), wal::Image::of(lock.page()))
    }

    /// Appends a block to the relation, formatted as an empty page of ours. Returns its handle and number.
    pub fn append(&mut self, kind: Kind) -> (usize, u32) {
        let page = Pin::append(self.rel);
        let block = page.block();
        (self.format(page, kind), block)
    }

    /// Formats a free page as an empty page of ours.
    pub fn format(&mut self, page: Locked, kind: Kind) -> usize {
        let handle = self.format_rows(page);
        self.make_ours(handle, kind);
        handle
    }

    /// Formats a free page as an empty row page.
    pub fn format_rows(&mut self, page: Locked) -> usize {
        let buffer = page.buffer();
        self.held.push(page);
        self.add(buffer, true, wal::Image::empty())
    }

    /// Makes a row page, which the caller has locked exclusively and keeps, one of ours. What else was on it stays
    /// behind the tag: the record is short.
    pub fn give_up(&mut self, lock: &'a Lock<'_>, kind: Kind) {
        let handle = self.borrowed(lock);
        self.make_ours(handle, kind);
    }

    fn make_ours(&mut self, handle: usize, kind: Kind) {
        let mut page = self.whole(handle);
        page.set_lower(PAGE_HEADER as u16);
        page.set_upper(PAGE_HEADER as u16);
        page.clear_flags();
        page.set_prune_xid(pg_sys::InvalidTransactionId);
        let changed = &mut self.pages[handle];
        changed.image.0[PAGE_HEADER..PAGE_HEADER + 4].copy_from_slice(&kind.tag().to_le_bytes());
        changed.ours = true;
    }

    fn hold(&mut self, page: Locked, whole: bool) -> usize {
        let (buffer, image) = (page.buffer(), wal::Image::of(page.page()));
        self.held.push(page);
        self.add(buffer, whole, image)
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

    /// The copy of the whole page, header included.
    pub fn whole(&mut self, handle: usize) -> PageMut<'_> {
        self.pages[handle].image.page()
    }

    pub fn payload(&self, handle: usize) -> &[u8] {
        &self.pages[handle].image.0[PAYLOAD_START..]
    }

    pub fn payload_mut(&mut self, handle: usize) -> &mut [u8] {
        &mut self.pages[handle].image.0[PAYLOAD_START..]
    }

    /// Applies and logs the change, then releases its pages. A change that is not committed leaves no trace.
    pub fn commit(mut self) {
        for changed in self.pages.iter_mut().filter(|page| page.ours) {
            changed.seal();
        }
        // SAFETY: all pages are pinned and locked: those held, and those of locks that outlive us.
        unsafe { wal::apply(self.rel, &self.pages) };
        for changed in self.pages.iter().filter(|page| page.ours) {
            checked::note(self.rel, changed.buffer, changed.now().lsn());
        }
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        self.pages.drain(..).for_each(|page| page.image.give_back());
    }
}
