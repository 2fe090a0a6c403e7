//! Where things lie in memory that processes share: the index of a cache that is filled front to back, segment by
//! segment, and gives up its oldest segment when it is full.
//!
//! It knows no memory: who uses it places an [`Index`] where all processes see it, holds a lock around each call, and
//! makes, maps and drops the segments. A segment that is given up takes its things along; whoever has it mapped may go
//! on reading it.

pub mod counters;
pub mod requests;

/// Segments there may be at a time.
pub const SEGMENTS: usize = 64;
/// Things with the same bucket that are found.
const WAYS: usize = 16;
const BUCKETS: usize = if cfg!(test) { 64 } else { 2048 };

/// What a thing is found by: as good as unique.
pub type Key = [u64; 2];

/// Bytes at which things begin at multiples.
pub const ALIGN: usize = 64;

/// Where a thing lies, or may be put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The segment's number: segments are numbered from 1 as they come.
    pub segment: u64,
    /// What the segment was appended with.
    pub handle: u32,
    /// Bytes from its beginning.
    pub offset: usize,
    /// Bytes.
    pub len: usize,
}

/// All zeroes is an empty one.
#[repr(C)]
#[derive(Clone)]
pub struct Index {
    /// Segments that have been given up: all numbers up to this.
    gone: u64,
    /// The newest segment's number.
    newest: u64,
    /// Bytes of the segments there are.
    bytes: u64,
    /// By number, modulo.
    segments: [Segment; SEGMENTS],
    /// Handles and bytes of segments that have been given up while somebody may still have had them mapped; 0 bytes:
    /// none.
    ghosts: [(u32, u64); SEGMENTS],
    buckets: [[Entry; WAYS]; BUCKETS],
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Segment {
    handle: u32,
    size: u64,
    used: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Entry {
    key: Key,
    /// 0: none.
    segment: u64,
    offset: u64,
    len: u64,
}

impl Index {
    /// Segments up to this number have been given up.
    pub fn gone(&self) -> u64 {
        self.gone
    }

    /// Bytes of all segments.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many segments there are.
    pub fn segments(&self) -> u64 {
        self.newest - self.gone
    }

    /// How many things can be found.
    pub fn len(&self) -> usize {
        let entries = self.buckets.iter().flatten();
        entries.filter(|entry| entry.segment > self.gone).count()
    }

    /// Whether nothing can be found.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where a thing lies.
    pub fn find(&self, key: Key) -> Option<Place> {
        let found = |entry: &&Entry| entry.key == key && entry.segment > self.gone;
        let entry = self.buckets[bucket(key)].iter().find(found)?;
        Some(Place {
            segment: entry.segment,
            handle: self.segments[at(entry.segment)].handle,
            offset: entry.offset as usize,
            len: entry.len as usize,
        })
    }

    /// Room for a thing in the newest segment; None if another segment has to be appended first.
    pub fn reserve(&mut self, len: usize) -> Option<Place> {
        if self.newest == self.gone {
            return None;
        }
        let segment = &mut self.segments[at(self.newest)];
        let offset = segment.used;
        let end = offset.checked_add(len as u64)?;
        if end > segment.size {
            return None;
        }
        segment.used = end.next_multiple_of(ALIGN as u64);
        Some(Place {
            segment: self.newest,
            handle: segment.handle,
            offset: offset as usize,
            len,
        })
    }

    /// Notes that a thing has been put into its place.
    pub fn insert(&mut self, key: Key, place: Place) {
        if place.segment <= self.gone {
            return;
        }
        let ways = &mut self.buckets[bucket(key)];
        let same = ways.iter_mut().position(|entry| entry.key == key);
        let oldest = (0..WAYS).min_by_key(|&way| ways[way].segment);
        let way = same.or(oldest).expect("a bucket has entries");
        ways[way] = Entry {
            key,
            segment: place.segment,
            offset: place.offset as u64,
            len: place.len as u64,
        };
    }

    /// Segments that have been given up, and may still be mapped.
    pub fn ghosts(&self) -> Vec<u32> {
        let there = self.ghosts.iter().filter(|ghost| ghost.1 > 0);
        there.map(|ghost| ghost.0).collect()
    }

    /// Nobody has these mapped any more.
    pub fn forget(&mut self, ghosts: &[u32]) {
        let forgotten = |ghost: &&mut (u32, u64)| ghosts.contains(&ghost.0);
        let found = self.ghosts.iter_mut().filter(forgotten);
        found.for_each(|ghost| *ghost = (0, 0));
    }

    /// Whether a segment may be added: those given up that are still mapped take no more than `limit` bytes, nor do
    /// they number as many as there may be.
    pub fn may_append(&self, limit: usize) -> bool {
        let bytes: u64 = self.ghosts.iter().map(|ghost| ghost.1).sum();
        bytes <= limit as u64 && self.ghosts().len() < SEGMENTS / 2
    }

    /// Adds a segment, and gives up old ones so that together they have no more than `limit` bytes, unless it is larger
    /// by itself. The handles of those given up.
    pub fn append(&mut self, handle: u32, size: usize, limit: usize) -> Vec<u32> {
        let mut given_up = Vec::new();
        let most = (limit as u64).saturating_sub(size as u64);
        while self.segments() > 0 && (self.bytes > most || self.segments() == SEGMENTS as u64) {
            self.gone += 1;
            let segment = self.segments[at(self.gone)];
            self.bytes -= segment.size;
            given_up.push(segment.handle);
            // If there is no place for it, it is one too many that nobody counts.
            if let Some(ghost) = self.ghosts.iter_mut().find(|ghost| ghost.1 == 0) {
                *ghost = (segment.handle, segment.size);
            }
        }
        self.newest += 1;
        self.bytes += size as u64;
        self.segments[at(self.newest)] = Segment {
            handle,
            size: size as u64,
            used: 0,
        };
        given_up
    }
}

fn at(segment: u64) -> usize {
    (segment % SEGMENTS as u64) as usize
}

fn bucket(key: Key) -> usize {
    (key[0] % BUCKETS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn empty() -> Box<Index> {
        Box::new(Index {
            gone: 0,
            newest: 0,
            bytes: 0,
            segments: [Segment::default(); SEGMENTS],
            ghosts: [(0, 0); SEGMENTS],
            buckets: [[Entry::default(); WAYS]; BUCKETS],
        })
    }

    #[test]
    fn nothing_is_in_an_empty_one() {
        let mut index = empty();
        assert_eq!(index.find([0, 0]), None);
        assert_eq!(index.reserve(0), None);
        assert!(index.is_empty());
    }

    #[test]
    fn a_bucket_forgets_its_oldest() {
        let mut index = empty();
        index.append(1, 1 << 20, usize::MAX);
        let key = |i: u64| [7, i];
        for i in 0..WAYS as u64 {
            let place = index.reserve(10).expect("room");
            index.insert(key(i), place);
        }
        index.append(2, 1 << 20, usize::MAX);
        let place = index.reserve(10).expect("room");
        index.insert(key(100), place);
        assert_eq!(index.find(key(100)), Some(place));
        assert_eq!(index.len(), WAYS);
    }

    #[test]
    fn segments_are_no_more_than_can_be_numbered() {
        let mut index = empty();
        for handle in 0..SEGMENTS as u32 {
            assert!(index.append(handle, 1, usize::MAX).is_empty());
        }
        assert_eq!(index.append(7, 1, usize::MAX), [0]);
        assert_eq!(index.segments(), SEGMENTS as u64);
    }

    #[test]
    fn segments_that_are_still_mapped_keep_others_out() {
        let mut index = empty();
        for handle in 1..=3 {
            assert!(index.may_append(1000));
            index.append(handle, 600, 1000);
        }
        // 1 and 2 have been given up, with 1,200 bytes.
        assert_eq!(index.ghosts(), [1, 2]);
        assert!(!index.may_append(1000));
        index.forget(&[1]);
        assert_eq!(index.ghosts(), [2]);
        assert!(index.may_append(1000));
    }

    #[test]
    fn nothing_is_found_in_a_segment_that_went_before_it_was_put_there() {
        let mut index = empty();
        index.append(1, 600, 1000);
        let late = index.reserve(10).expect("room");
        index.append(2, 600, 1000);
        let place = index.reserve(10).expect("room");
        index.insert([1, 1], place);
        index.insert([1, 1], late);
        assert_eq!(index.find([1, 1]), Some(place));
    }

    proptest! {
        /// Against a model that forgets nothing: what is found is where it was put, in a segment that is there, and
        /// overlaps nothing.
        #[test]
        fn things_are_found_where_they_were_put(steps in prop::collection::vec((0u64..40, 1usize..400), 1..300)) {
            let mut index = empty();
            let mut known: HashMap<Key, Place> = HashMap::new();
            let mut there: Vec<(u32, usize)> = Vec::new();
            let limit = 4096;
            for (i, (key, len)) in steps.into_iter().enumerate() {
                let key = [key, key];
                let place = match index.reserve(len) {
                    Some(place) => place,
                    None => {
                        let size = len.max(1000);
                        there.push((i as u32, size));
                        let given_up = index.append(i as u32, size, limit);
                        for handle in given_up {
                            prop_assert_eq!(there.remove(0).0, handle);
                        }
                        index.reserve(len).expect("a new segment has room")
                    }
                };
                index.insert(key, place);
                known.insert(key, place);
                let bytes: usize = there.iter().map(|segment| segment.1).sum();
                prop_assert_eq!(index.bytes(), bytes as u64);
                prop_assert!(bytes <= limit || there.len() == 1);
                let mut found: Vec<Place> = Vec::new();
                for (key, place) in &known {
                    let alive = there.iter().any(|segment| segment.0 == place.handle);
                    prop_assert_eq!(index.find(*key), alive.then_some(*place));
                    found.extend(alive.then_some(*place));
                }
                prop_assert_eq!(index.len(), found.len());
                found.sort_by_key(|place| (place.segment, place.offset));
                for pair in found.windows(2) {
                    prop_assert_eq!(pair[0].offset % ALIGN, 0);
                    prop_assert!(pair[0].segment < pair[1].segment || pair[0].offset + pair[0].len <= pair[1].offset);
                }
            }
        }
    }
}
