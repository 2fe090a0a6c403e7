//! Byte strings across pages: manifests, directories, leaf images.

use super::buffer::{corrupt, Change, Kind, Pin, PAYLOAD};
use amax_lsm::{Blob, Extent, FreeSpace};
use pgrx::pg_sys;
use std::ops::Range;

/// Pages logged by one generic WAL record.
const PER_RECORD: usize = 4;

/// Writes `bytes` to free pages, then appended ones. Nothing refers to them until the caller publishes the blob; a crash
/// before that leaks them until VACUUM finds them.
pub fn write(rel: pg_sys::Relation, free: &mut FreeSpace, bytes: &[u8]) -> Blob {
    let pages = bytes.len().div_ceil(PAYLOAD) as u32;
    let mut reused = free
        .take(pages)
        .into_iter()
        .flat_map(|e| e.start..e.start + e.len);
    let mut extents: Vec<Extent> = Vec::new();
    for group in bytes.chunks(PAYLOAD * PER_RECORD) {
        let mut change = Change::begin(rel);
        for chunk in group.chunks(PAYLOAD) {
            let (page, block) = match reused.next() {
                Some(block) => {
                    let pin = Pin::read(rel, block);
                    std::mem::forget(pin.exclusive());
                    (change.format(pin.into_buffer(), Kind::Blob), block)
                }
                None => change.append(Kind::Blob),
            };
            change.payload_mut(page)[..chunk.len()].copy_from_slice(chunk);
            match extents.last_mut() {
                Some(last) if last.start + last.len == block => last.len += 1,
                _ => extents.push(Extent {
                    start: block,
                    len: 1,
                }),
            }
        }
        change.commit();
        pgrx::check_for_interrupts!();
    }
    Blob {
        extents,
        len: bytes.len() as u64,
    }
}

/// Bytes `offset..offset + len` of a blob.
pub fn read(rel: pg_sys::Relation, blob: &Blob, offset: u64, len: usize) -> Vec<u8> {
    pieces(rel, blob, offset, len, |pin, part, bytes| {
        bytes.extend_from_slice(&pin.share().payload(rel, Kind::Blob)[part])
    })
}

/// The same for bytes that have a checksum of their own: they do not change while anybody may read them, so a pin is enough.
pub fn read_checked(rel: pg_sys::Relation, blob: &Blob, offset: u64, len: usize) -> Vec<u8> {
    pieces(rel, blob, offset, len, |pin, part, bytes| {
        // SAFETY: nobody changes the page (above).
        bytes.extend_from_slice(unsafe { &pin.payload_unlocked()[part] })
    })
}

fn pieces(
    rel: pg_sys::Relation,
    blob: &Blob,
    offset: u64,
    len: usize,
    take_part: impl Fn(&Pin, Range<usize>, &mut Vec<u8>),
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len);
    let mut at = offset;
    while bytes.len() < len {
        let Some(block) = blob.page(at / PAYLOAD as u64) else {
            corrupt(
                rel,
                0,
                &format!("a byte string of {} bytes has no byte {at}", blob.len),
            );
        };
        let start = (at % PAYLOAD as u64) as usize;
        let take = (PAYLOAD - start).min(len - bytes.len());
        take_part(&Pin::read(rel, block), start..start + take, &mut bytes);
        at += take as u64;
    }
    bytes
}

pub fn read_all(rel: pg_sys::Relation, blob: &Blob) -> Vec<u8> {
    read(rel, blob, 0, blob.len as usize)
}
