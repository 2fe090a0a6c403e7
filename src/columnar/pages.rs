//! A leaf's bytes, read through the buffer manager when a column is decoded.

use crate::pg::Relation;
use crate::pg::relation::{Borrowed, FileId};
use crate::storage::{blob, manifest};
use amax_format::{Error, ReadAt};
use amax_lsm::Blob;
use pgrx::pg_sys;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Reads a leaf's bytes through the buffer manager. Columns are decoded long after the leaf was opened, by a slot that
/// knows no relation, so it is looked up by OID; its users hold a lock on it.
#[derive(Clone)]
pub struct Pages {
    relid: pg_sys::Oid,
    file: FileId,
    component: u64,
    image: Blob,
    buffers: Arc<blob::Buffers>,
}

impl Pages {
    pub fn new(rel: &Relation, component: u64, image: &Blob) -> Pages {
        Pages {
            relid: rel.id(),
            file: rel.file(),
            component,
            image: image.clone(),
            buffers: Arc::new(blob::Buffers::of(image)),
        }
    }

    /// Calls `f` with the relation, if these bytes are there.
    fn with<R>(&self, offset: u64, len: usize, f: impl FnOnce(&Relation) -> R) -> Result<R, Error> {
        with_relation(self.relid, |rel| self.with_open(rel, offset, len, f))
    }

    fn with_open<R>(
        &self,
        rel: &Relation,
        offset: u64,
        len: usize,
        f: impl FnOnce(&Relation) -> R,
    ) -> Result<R, Error> {
        if rel.file() != self.file {
            return Err(Error::Io("the relation was rewritten".into()));
        }
        if offset.checked_add(len as u64).is_none_or(|end| end > self.image.len) {
            return Err(Error::Corrupt("leaf image is truncated".into()));
        }
        let result = f(rel);
        let confirmed = manifest::confirm(rel, self.component);
        confirmed.map_err(|manifest::Replaced| Error::Replaced)?;
        Ok(result)
    }
}

/// Where a leaf's bytes are: in the table, or, made again after their place was given to others, in memory.
#[derive(Clone)]
pub enum Image {
    Pages(Pages),
    Memory(Arc<Vec<u8>>),
}

impl ReadAt for Image {
    fn read_at(&self, offset: u64, len: usize) -> Result<Vec<u8>, Error> {
        match self {
            Image::Pages(pages) => pages.read_at(offset, len),
            Image::Memory(bytes) => bytes.as_slice().read_at(offset, len),
        }
    }

    fn visit_at(
        &self,
        offset: u64,
        len: usize,
        f: &mut dyn FnMut(&[u8], u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Image::Pages(pages) => pages.visit_at(offset, len, f),
            Image::Memory(bytes) => bytes.as_slice().visit_at(offset, len, f),
        }
    }

    fn expect(&self, offset: u64) {
        if let Image::Pages(pages) = self {
            pages.expect(offset);
        }
    }
}

impl ReadAt for Pages {
    fn read_at(&self, offset: u64, len: usize) -> Result<Vec<u8>, Error> {
        self.with(offset, len, |rel| blob::read_checked(rel, &self.image, offset, len))
    }

    fn visit_at(
        &self,
        offset: u64,
        len: usize,
        f: &mut dyn FnMut(&[u8], u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if manifest::on_standby() {
            // The page may change while it is looked at.
            let bytes = self.with(offset, len, |rel| blob::look_up(rel, &self.image, offset, len))?;
            return f(&bytes, 0);
        }
        self.with(offset, len, |rel| {
            blob::visit_checked(rel, &self.image, &self.buffers, offset, len, f)
        })?
    }

    fn expect(&self, offset: u64) {
        self.buffers.prefetch(offset);
    }
}

/// The relation whose leaves are read, once it has been looked up.
type Hand = (pg_sys::Oid, Option<Rc<Borrowed>>);

thread_local! {
    static AT_HAND: RefCell<Option<Hand>> = const { RefCell::new(None) };
}

/// Runs `f` with a relation that somebody has locked.
pub fn with_relation<R>(relid: pg_sys::Oid, f: impl FnOnce(&Relation) -> R) -> R {
    let known = AT_HAND.with_borrow(|at_hand| at_hand.clone().filter(|of| of.0 == relid));
    match known {
        Some((_, Some(rel))) => f(&rel),
        Some((_, None)) => {
            let rel = Rc::new(Borrowed::open(relid));
            AT_HAND.set(Some((relid, Some(rel.clone()))));
            f(&rel)
        }
        None => f(&Borrowed::open(relid)),
    }
}

/// A relation looked up once for all reads of its leaves while this lives; not at all if there are none.
pub struct AtHand(());

impl AtHand {
    pub fn open(relid: pg_sys::Oid) -> AtHand {
        AT_HAND.set(Some((relid, None)));
        AtHand(())
    }
}

impl Drop for AtHand {
    fn drop(&mut self) {
        AT_HAND.set(None);
    }
}
