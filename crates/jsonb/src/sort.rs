//! Ordering an object's keys as `lengthCompareJsonbPair` does.

/// A key to order: where its bytes lie, and what decides most comparisons without them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SortKey {
    /// The key's length in bytes; shorter sorts first.
    pub len: u32,
    /// The key's first eight bytes, big-endian, zero-padded.
    pub prefix: u64,
    /// Where the key's bytes start in the arena.
    pub start: u32,
    /// The key's node; a later one of equal keys sorts first.
    pub node: u32,
}

impl SortKey {
    pub fn new(key: &[u8], start: u32, node: u32) -> Self {
        let mut prefix = [0; 8];
        let head = key.len().min(8);
        prefix[..head].copy_from_slice(&key[..head]);
        Self {
            len: key.len() as u32,
            prefix: u64::from_be_bytes(prefix),
            start,
            node,
        }
    }

    fn bytes<'a>(&self, arena: &'a [u8]) -> &'a [u8] {
        &arena[self.start as usize..][..self.len as usize]
    }
}

/// Sorts by (length, bytes); of equal keys the last given stays, as in `uniqueifyJsonbObject`.
pub(crate) fn sort_unique(keys: &mut Vec<SortKey>, arena: &[u8]) {
    keys.sort_unstable_by(|a, b| {
        (a.len, a.prefix)
            .cmp(&(b.len, b.prefix))
            .then_with(|| {
                if a.len <= 8 {
                    std::cmp::Ordering::Equal
                } else {
                    a.bytes(arena).cmp(b.bytes(arena))
                }
            })
            .then_with(|| b.node.cmp(&a.node))
    });
    keys.dedup_by(|later, kept| {
        later.len == kept.len && later.prefix == kept.prefix && later.bytes(arena) == kept.bytes(arena)
    });
}
