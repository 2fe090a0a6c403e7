//! Pages as bufpage.h has them.

use pgrx::pg_sys;
use std::marker::PhantomData;

/// Bytes of a page.
pub const SIZE: usize = pg_sys::BLCKSZ as usize;
/// Bytes of its header (SizeOfPageHeaderData).
pub const HEADER: usize = std::mem::offset_of!(pg_sys::PageHeaderData, pd_linp);

/// A page that stays where it is while it is looked at: in a pinned buffer, or a copy. Without a lock on the buffer
/// others may be changing it: what is read is a hint then.
#[derive(Clone, Copy)]
pub struct Page<'a>(*mut u8, PhantomData<&'a ()>);

/// A page that its owner may change: a copy, or under an exclusive lock within a critical section.
pub struct PageMut<'a>(Page<'a>);

impl<'a> Page<'a> {
    /// # Safety
    /// `raw` is an aligned page that stays where it is.
    pub unsafe fn of(raw: pg_sys::Page) -> Page<'a> {
        Page(raw.cast(), PhantomData)
    }

    /// For PostgreSQL's functions.
    pub fn raw(self) -> pg_sys::Page {
        self.0.cast()
    }

    fn header(self) -> *mut pg_sys::PageHeaderData {
        self.0.cast()
    }

    pub fn lower(self) -> u16 {
        // SAFETY: a field of the header.
        unsafe { (*self.header()).pd_lower }
    }

    pub fn upper(self) -> u16 {
        // SAFETY: a field of the header.
        unsafe { (*self.header()).pd_upper }
    }

    pub fn special(self) -> u16 {
        // SAFETY: a field of the header.
        unsafe { (*self.header()).pd_special }
    }

    pub fn prune_xid(self) -> pg_sys::TransactionId {
        // SAFETY: a field of the header.
        unsafe { (*self.header()).pd_prune_xid }
    }

    pub fn lsn(self) -> u64 {
        // SAFETY: a field of the header.
        let lsn = unsafe { (*self.header()).pd_lsn };
        u64::from(lsn.xlogid) << 32 | u64::from(lsn.xrecoff)
    }

    /// PageIsNew().
    pub fn is_new(self) -> bool {
        self.upper() == 0
    }

    /// PageGetMaxOffsetNumber().
    pub fn max_offset(self) -> u16 {
        let line_pointers = usize::from(self.lower()).saturating_sub(HEADER);
        (line_pointers / size_of::<pg_sys::ItemIdData>()).min((SIZE - HEADER) / size_of::<pg_sys::ItemIdData>()) as u16
    }

    /// PageGetItemId(). None beyond the last.
    pub fn item_id(self, offset: u16) -> Option<pg_sys::ItemIdData> {
        if offset == 0 || offset > self.max_offset() {
            return None;
        }
        // SAFETY: within the page.
        Some(unsafe { *self.item_id_at(offset) })
    }

    /// # Safety
    /// The page has such a line pointer.
    unsafe fn item_id_at(self, offset: u16) -> *mut pg_sys::ItemIdData {
        // SAFETY: as the caller promises.
        unsafe { (*self.header()).pd_linp.as_mut_ptr().add(offset as usize - 1) }
    }

    /// Where byte `at` of it is.
    pub fn at(self, at: usize) -> *mut u8 {
        assert!(at < SIZE);
        self.0.wrapping_add(at)
    }

    pub fn byte(self, at: usize) -> u8 {
        // SAFETY: within the page.
        unsafe { self.at(at).read_volatile() }
    }

    /// The aligned word at byte `at`, read at once.
    pub fn word(self, at: usize) -> u32 {
        assert!(at.is_multiple_of(4) && at + 4 <= SIZE);
        // SAFETY: within the page, and aligned.
        u32::from_le(unsafe { self.at(at).cast::<u32>().read_volatile() })
    }

    /// PageGetHeapFreeSpace().
    pub fn heap_free_space(self) -> usize {
        // SAFETY: a page.
        unsafe { pg_sys::PageGetHeapFreeSpace(self.raw()) }
    }

    /// # Safety
    /// Nobody changes these bytes while they are borrowed.
    pub unsafe fn bytes(self) -> &'a [u8; SIZE] {
        // SAFETY: as the caller promises.
        unsafe { &*self.0.cast() }
    }
}

impl<'a> PageMut<'a> {
    /// # Safety
    /// As for [`Page::of`], and nobody else looks at the page.
    pub unsafe fn of(raw: pg_sys::Page) -> PageMut<'a> {
        // SAFETY: as the caller promises.
        PageMut(unsafe { Page::of(raw) })
    }

    pub fn set_lower(&mut self, lower: u16) {
        // SAFETY: a field of the header.
        unsafe { (*self.header()).pd_lower = lower }
    }

    pub fn set_upper(&mut self, upper: u16) {
        // SAFETY: a field of the header.
        unsafe { (*self.header()).pd_upper = upper }
    }

    pub fn set_prune_xid(&mut self, xid: pg_sys::TransactionId) {
        // SAFETY: a field of the header.
        unsafe { (*self.header()).pd_prune_xid = xid }
    }

    pub fn clear_flags(&mut self) {
        // SAFETY: a field of the header.
        unsafe { (*self.header()).pd_flags = 0 }
    }

    /// PageClearAllVisible(); whether it was set.
    pub fn clear_all_visible(&mut self) -> bool {
        const ALL_VISIBLE: u16 = pg_sys::PD_ALL_VISIBLE as u16;
        // SAFETY: a field of the header.
        unsafe {
            let was = (*self.header()).pd_flags & ALL_VISIBLE != 0;
            (*self.header()).pd_flags &= !ALL_VISIBLE;
            was
        }
    }

    /// ItemIdSetUnused().
    pub fn set_unused(&mut self, offset: u16) {
        assert!((1..=self.max_offset()).contains(&offset));
        // SAFETY: within the page.
        unsafe {
            let id = self.item_id_at(offset);
            (*id).set_lp_flags(0);
            (*id).set_lp_off(0);
            (*id).set_lp_len(0);
            // PageAddItem() looks for unused line pointers only with this hint.
            (*self.header()).pd_flags |= pg_sys::PD_HAS_FREE_LINES as u16;
        }
    }

    /// PageTruncateLinePointerArray().
    pub fn truncate_line_pointers(&mut self) {
        // SAFETY: a page of our own.
        unsafe { pg_sys::PageTruncateLinePointerArray(self.raw()) }
    }
}

impl<'a> std::ops::Deref for PageMut<'a> {
    type Target = Page<'a>;

    fn deref(&self) -> &Page<'a> {
        &self.0
    }
}
