//! Where rows are, for who looks up one after another: with the metapage pinned each look is at words of it, unlocked.
//! What they say held a moment ago, as what was read under a lock does once that is given back.

use super::buffer::word;
use super::{checked, manifest, map, meta};
use crate::pg::buffer::buffers;
use crate::pg::{Pin, Relation};
use amax_lsm::Manifest;
use amax_lsm::meta::{Map, Slot};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Of so many buffers a session keeps one for watches, which may be those of a thousand partitions' scans.
const SHARE: usize = 256;

thread_local! {
    /// Watches of this transaction.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// Owns nothing but pins: after an error the resource owner has released those, and nobody drops it.
pub struct Watch {
    metapage: Pin,
    /// The page of the forward map that was last looked at.
    map: RefCell<Option<Pin>>,
}

impl Watch {
    /// None while there is no metapage, and where its pins might be too many.
    pub fn begin(rel: &Relation) -> Option<Watch> {
        let count = COUNT.get();
        let metapage = (2 * count < buffers(rel) / SHARE).then(|| meta::pinned(rel))??;
        if !checked::is_known(rel, &metapage) {
            // Looks at its checksum.
            meta::read_pinned(rel, &metapage, |_| ());
        }
        COUNT.set(count + 1);
        Some(Watch {
            metapage,
            map: RefCell::new(None),
        })
    }

    /// When a transaction ends there are none any more, dropped or not.
    pub fn end_all() {
        COUNT.set(0);
    }

    /// The current manifest.
    pub fn manifest(&self, rel: &Relation) -> Rc<Manifest> {
        manifest::known(rel, &self.metapage).unwrap_or_else(|| manifest::of_pinned(rel, &self.metapage))
    }

    /// [`map::physical`].
    pub fn physical(&self, rel: &Relation, v: u32) -> Option<u32> {
        let p = match Map::Forward.slot(v)? {
            Slot::Inline(at) => word(&self.metapage, at),
            Slot::Tree { low, .. } => {
                let block = map::leaf(rel, Map::Forward, v);
                let mut last = self.map.borrow_mut();
                let pin = last.take().filter(|pin| pin.block() == block);
                let pin = pin.or_else(|| map::pinned(rel, block))?;
                word(last.insert(pin), low * 4)
            }
        };
        Some(p).filter(|&p| p != 0)
    }

    /// Whether the stub directory may have a page at an index: of a table without any the metapage says that it has not.
    pub fn may_have_stubs(&self, index: u32) -> bool {
        match Map::Stubs.slot(index) {
            Some(Slot::Tree { table, .. }) => word(&self.metapage, table) != 0,
            _ => true,
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        COUNT.set(COUNT.get().saturating_sub(1));
    }
}
