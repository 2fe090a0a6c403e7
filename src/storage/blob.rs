//! Byte strings across pages: manifests, directories, leaf images.

use super::buffer::{Change, Kind, PAYLOAD, payload_unlocked};
use super::damage::corrupt;
use super::hand;
use crate::memory;
use crate::pg::stream::read_each;
use crate::pg::{Pin, Relation};
use amax_lsm::{Blob, Extent, FreeSpace};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering::Relaxed};

/// Pages logged by one generic WAL record.
const PER_RECORD: usize = 4;

/// Writes `bytes` to free pages, then appended ones. Nothing refers to them until the caller publishes the blob; a
/// crash before that leaks them until VACUUM finds them.
pub fn write(rel: &Relation, free: &mut FreeSpace, bytes: &[u8]) -> Blob {
    let pages = bytes.len().div_ceil(PAYLOAD) as u32;
    let mut reused = free.take(pages).into_iter().flat_map(|e| e.start..e.start + e.len);
    let mut extents: Vec<Extent> = Vec::new();
    for group in bytes.chunks(PAYLOAD * PER_RECORD) {
        let mut change = Change::begin(rel);
        let mut appended = FreeSpace::default();
        for chunk in group.chunks(PAYLOAD) {
            let (page, block) = match reused.next() {
                Some(block) => (change.format(Pin::read(rel, block).lock(), Kind::Blob), block),
                None => {
                    let (page, start) = change.append(Kind::Blob);
                    appended.give(Extent { start, len: 1 });
                    (page, start)
                }
            };
            change.payload_mut(page)[..chunk.len()].copy_from_slice(chunk);
            match extents.last_mut() {
                Some(last) if last.start + last.len == block => last.len += 1,
                _ => extents.push(Extent { start: block, len: 1 }),
            }
        }
        change.commit();
        // Not before: until then they are zeros, and hio.c may take the last of the file for a row page.
        hand::take(&appended);
        crate::memory::check_for_interrupts();
    }
    Blob {
        extents,
        len: bytes.len() as u64,
    }
}

/// All bytes of a blob.
pub fn read_all(rel: &Relation, blob: &Blob) -> Vec<u8> {
    pieces(rel, blob, 0, blob.len as usize, read_one_by_one, |pin, part, bytes| {
        bytes.extend_from_slice(&pin.share().payload(rel, Kind::Blob)[part])
    })
}

/// Bytes `offset..offset + len` of a blob, which have a checksum of their own: they do not change while anybody may read them, so a pin is
/// enough. For who reads much of the table.
pub fn read_checked(rel: &Relation, blob: &Blob, offset: u64, len: usize) -> Vec<u8> {
    pieces(rel, blob, offset, len, read_each, |pin, part, bytes| {
        bytes.extend_from_slice(&payload_unlocked(pin)[part])
    })
}

/// The same for who looks something up, and may come back.
pub fn look_up(rel: &Relation, blob: &Blob, offset: u64, len: usize) -> Vec<u8> {
    pieces(rel, blob, offset, len, read_one_by_one, |pin, part, bytes| {
        bytes.extend_from_slice(&payload_unlocked(pin)[part])
    })
}

fn read_one_by_one(rel: &Relation, blocks: &[u32], f: &mut dyn FnMut(Pin)) {
    blocks.iter().for_each(|&block| f(Pin::read(rel, block)));
}

/// The buffers that a blob's pages were last seen in.
pub struct Buffers {
    pages: Vec<AtomicI32>,
    reads: AtomicU32,
}

/// One read in so many looks its page up anew (see [`Pin::read_recent`]), and a step between numbers of reads that
/// spreads these over all pages, however regular the order is in which they are read.
const LOOK_UP: u32 = 8;
const STEP: u32 = 0x9E37_79B9;

impl Buffers {
    pub fn of(blob: &Blob) -> Buffers {
        Buffers {
            pages: (0..blob.pages()).map(|_| AtomicI32::new(0)).collect(),
            reads: AtomicU32::new(0),
        }
    }

    /// Memory that those of a blob take.
    pub fn bytes(blob: &Blob) -> usize {
        blob.pages() as usize * 4
    }

    /// Has the processor fetch what is at `offset`, if the page is where it was; no harm done if it is not.
    pub fn prefetch(&self, offset: u64) {
        let known = self.pages.get((offset / PAYLOAD as u64) as usize);
        if let Some(buffer) = known.map(|buffer| buffer.load(Relaxed)) {
            super::buffer::prefetch(buffer, (offset % PAYLOAD as u64) as usize);
        }
    }

    fn pin(&self, rel: &Relation, blob: &Blob, page: u64) -> Pin {
        let (Some(known), Some(block)) = (self.pages.get(page as usize), blob.page(page)) else {
            past_end(rel, blob, page * PAYLOAD as u64)
        };
        let anew = self.reads.fetch_add(STEP, Relaxed) < u32::MAX / LOOK_UP;
        let recent = Some(known.load(Relaxed)).filter(|&buffer| buffer != 0 && !anew);
        if let Some(pin) = recent.and_then(|buffer| Pin::read_recent(rel, block, buffer)) {
            return pin;
        }
        let pin = Pin::read(rel, block);
        known.store(pin.buffer(), Relaxed);
        pin
    }
}

thread_local! {
    static TWO_PAGES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Passes the bytes that [`look_up`] reads to `f`, without a copy if they are in one page, and a number for the
/// buffers they are in: pages are checked when they come into a buffer, not again while they stay, or come back to the
/// same one. It is 0 for more than two pages.
pub fn visit_checked<R>(
    rel: &Relation,
    blob: &Blob,
    buffers: &Buffers,
    offset: u64,
    len: usize,
    f: impl FnOnce(&[u8], u64) -> R,
) -> R {
    let (page, start) = (offset / PAYLOAD as u64, (offset % PAYLOAD as u64) as usize);
    let number = |pin: &Pin| u64::from(pin.buffer() as u32);
    if start + len > 2 * PAYLOAD {
        return f(&look_up(rel, blob, offset, len), 0);
    }
    let first = buffers.pin(rel, blob, page);
    let bytes = &payload_unlocked(&first)[start..];
    if let Some(bytes) = bytes.get(..len) {
        return f(bytes, number(&first));
    }
    let second = buffers.pin(rel, blob, page + 1);
    let mut both = TWO_PAGES.take();
    both.clear();
    both.extend_from_slice(bytes);
    both.extend_from_slice(&payload_unlocked(&second)[..len - bytes.len()]);
    let result = f(&both, number(&first) << 32 | number(&second));
    TWO_PAGES.set(both);
    result
}

/// The bytes of a blob's pages, which `read` hands over, taken from each by `take_part`.
fn pieces(
    rel: &Relation,
    blob: &Blob,
    offset: u64,
    len: usize,
    read: fn(&Relation, &[u32], &mut dyn FnMut(Pin)),
    take_part: impl Fn(&Pin, Range<usize>, &mut Vec<u8>),
) -> Vec<u8> {
    let mut bytes = Vec::new();
    memory::make_room(&mut bytes, len, "bytes of a leaf");
    let pages = offset / PAYLOAD as u64..(offset + len as u64).div_ceil(PAYLOAD as u64);
    let of = |page| {
        blob.page(page)
            .unwrap_or_else(|| past_end(rel, blob, page * PAYLOAD as u64))
    };
    let blocks: Vec<u32> = pages.map(of).collect();
    let mut start = (offset % PAYLOAD as u64) as usize;
    read(rel, &blocks, &mut |pin| {
        let take = (PAYLOAD - start).min(len - bytes.len());
        take_part(&pin, start..start + take, &mut bytes);
        start = 0;
    });
    bytes
}

fn past_end(rel: &Relation, blob: &Blob, at: u64) -> ! {
    let detail = format!("a byte string of {} bytes has no byte {at}", blob.len);
    corrupt(rel, 0, &detail)
}

/// Checks every page that a blob was written to, also where nothing is read. (A manifest may have more, taken in vain:
/// what is on those nobody knows after a crash.)
pub fn check(rel: &Relation, blob: &Blob) {
    let pages = blob.extents.iter().flat_map(|e| e.start..e.start + e.len);
    for page in pages.take(blob.len.div_ceil(PAYLOAD as u64) as usize) {
        crate::memory::check_for_interrupts();
        Pin::read(rel, page).share().payload(rel, Kind::Blob);
    }
}
