//! Reading a join index.

use crate::columnar::{OpenLeaf, raise, shared};
use crate::pg::Relation;
use crate::pg::relation::{FileId, Opened};
use crate::storage::{blob, cache, manifest};
use amax_exec::positions::{UNKNOWN, carry};
use amax_format::{Dense, Error, Keys, Leaf};
use amax_lsm::{Sidecar, Sidecars};
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// A join index as it was when it was opened.
pub struct Stored {
    pub index: Opened,
    component: u64,
    pub sidecars: Rc<Sidecars>,
}

/// What a list is of: a file and a component, which is another one when the index has changed.
type Of = (FileId, u64);

/// Lists that a session remembers.
const KNOWN: usize = 16;

thread_local! {
    static LISTS: RefCell<Vec<(Of, Rc<Sidecars>)>> = const { RefCell::new(Vec::new()) };
}

impl Stored {
    /// None if it holds nothing, or, on a standby, is being replaced.
    pub fn open(index: Opened) -> Option<Stored> {
        let (component, sidecars) = sidecars(&index)?;
        Some(Stored {
            index,
            component,
            sidecars,
        })
    }

    /// What it says of the rows of a leaf, an integer for each (crates/exec, `positions`).
    pub fn values(&self, leaf: &OpenLeaf) -> Option<(&Sidecar, Dense)> {
        let sidecar = self.of_leaf(leaf)?;
        let shares = !self.index.is_temporary() && shared::is_on();
        let key = shares.then(|| self.key(sidecar));
        if let Some(found) = key.and_then(shared::get) {
            return Some((sidecar, found.dense));
        }
        let (_, dense) = self.read(sidecar)?;
        let found = key.and_then(|key| shared::put(key, &dense));
        Some((sidecar, found.map_or(dense, |found| found.dense)))
    }

    /// What there is of a leaf.
    pub fn of_leaf(&self, leaf: &OpenLeaf) -> Option<&Sidecar> {
        let entry = &leaf.entry;
        self.sidecars.of((entry.first, entry.last), entry.rows, leaf.digest()?)
    }

    /// Where sessions find what one has decoded: its pages may be another one's when the index has changed, or in another file.
    fn key(&self, sidecar: &Sidecar) -> shared::Key {
        let of = (self.index.file(), self.component);
        [0u64, 1].map(|half| {
            let mut hasher = DefaultHasher::new();
            let image = (sidecar.image.page(0), sidecar.image.len);
            (half, "join index", of, self.sidecars.about, sidecar.digest, image).hash(&mut hasher);
            hasher.finish()
        })
    }

    /// The keys of rows, and what it says of them. None if, on a standby, its pages have been given to others.
    pub fn read(&self, sidecar: &Sidecar) -> Option<(Keys, Dense)> {
        let bytes = blob::read_checked(&self.index, &sidecar.image, 0, sidecar.image.len as usize);
        manifest::confirm(&self.index, self.component).ok()?;
        let len = bytes.len() as u64;
        let decode = || -> Result<(Keys, Dense), Error> {
            let leaf = Leaf::open(bytes, len)?;
            let dense = leaf.column(0)?.dense()?;
            match dense.len() == sidecar.rows as usize {
                true => Ok((leaf.keys().clone(), dense)),
                false => Err(Error::Corrupt("a join index has other rows than its leaf".into())),
            }
        };
        Some(decode().unwrap_or_else(|e| raise(e)))
    }
}

/// What an index says of rows that a merge has put into other leaves: those have the TIDs that they had.
pub struct Carried<'a> {
    stored: &'a Stored,
    /// Of leaves that the last one asked about had rows of: their places in the list.
    open: Vec<(usize, (Keys, Dense))>,
}

impl<'a> Carried<'a> {
    pub fn of(stored: &'a Stored) -> Carried<'a> {
        Carried {
            stored,
            open: Vec::new(),
        }
    }

    /// A value for each row of a leaf, UNKNOWN for those that the index has none of.
    pub fn values(&mut self, leaf: &OpenLeaf) -> Vec<i64> {
        let mut values = vec![UNKNOWN; leaf.rows()];
        let leaves = &self.stored.sidecars.leaves;
        let before = leaves.partition_point(|sidecar| sidecar.first <= leaf.entry.last);
        let of_it = (0..before).filter(|&at| leaves[at].last >= leaf.entry.first);
        let mut known = std::mem::take(&mut self.open);
        for at in of_it {
            let found = known.iter().position(|known| known.0 == at);
            let read = || self.stored.read(&leaves[at]);
            if let Some(found) = found.map(|found| known.swap_remove(found).1).or_else(read) {
                carry(&mut values, leaf.keys(), (&found.0, &found.1));
                self.open.push((at, found));
            }
        }
        values
    }
}

/// The list of what an open join index holds, and the component that it is of.
pub fn sidecars(index: &Relation) -> Option<(u64, Rc<Sidecars>)> {
    let manifest = manifest::current(index);
    let component = manifest.components.first()?;
    let key = (index.file(), component.id);
    let known = LISTS.with_borrow(|lists| lists.iter().find(|known| known.0 == key).map(|known| known.1.clone()));
    if let Some(known) = known {
        return Some((component.id, known));
    }
    let blob = &component.directory;
    let read = manifest::read_blob(index, component.id, blob, "list of leaves", Sidecars::decode).ok()?;
    let read = Rc::new(read);
    LISTS.with_borrow_mut(|lists| {
        // Another one of the file is of no use any more.
        lists.retain(|known| known.0.0 != key.0);
        lists.truncate(KNOWN - 1);
        lists.insert(0, (key, read.clone()));
    });
    Some((component.id, read))
}

/// Nothing that is remembered of an index's file holds.
pub fn forget(index: &Relation) {
    cache::forget(index);
    let file = index.file();
    LISTS.with_borrow_mut(|lists| lists.retain(|known| known.0.0 != file));
}
