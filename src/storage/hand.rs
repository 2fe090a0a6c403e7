//! Pages in hand: taken from the free ones or appended by maintenance under way, and in no manifest yet. When it fails
//! they are to be free again; a crash leaves them to VACUUM's search for lost pages. Pages are in hand once they are
//! pages of ours, not before.

use amax_lsm::FreeSpace;
use std::cell::RefCell;

thread_local! {
    static PAGES: RefCell<Option<FreeSpace>> = const { RefCell::new(None) };
}

/// From now on pages are noted.
pub fn begin() {
    PAGES.set(Some(FreeSpace::default()));
}

/// Notes pages, if somebody has begun.
pub fn take(more: &FreeSpace) {
    PAGES.with_borrow_mut(|pages| {
        if let Some(pages) = pages {
            pages.give_all(more);
        }
    });
}

/// What was in hand is in the manifest now.
pub fn empty() {
    PAGES.with_borrow_mut(|pages| {
        if let Some(pages) = pages {
            *pages = FreeSpace::default();
        }
    });
}

/// Nothing more is noted; returns what is still in hand.
pub fn end() -> FreeSpace {
    PAGES.take().unwrap_or_default()
}
