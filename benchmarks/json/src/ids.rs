//! Identifiers: hashes of what they name, so that the same thing has the same id everywhere, and no id compresses.

use amax_ssb::rng::RowRng;

const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// An alphabet in ASCII's order, so that ids made of times sort like them.
const SORTED: &[u8; 32] = b"234567abcdefghijklmnopqrstuvwxyz";

/// Streams of random numbers; see [`RowRng::new`].
pub mod streams {
    pub const EVENT: u64 = 0x10;
    pub const USER: u64 = 0x11;
    pub const CONTENT: u64 = 0x12;
    pub const BLOB: u64 = 0x13;
    pub const ORDER: u64 = 0x14;
    pub const VIEW: u64 = 0x15;
}

fn hash(seed: u64, stream: u64, number: u64, length: usize, out: &mut String) {
    let mut rng = RowRng::new(seed, stream, number);
    for _ in 0..length {
        out.push(char::from(BASE32[rng.below(32) as usize]));
    }
}

/// A user.
pub fn did(seed: u64, user: u64) -> String {
    let mut id = String::with_capacity(32);
    id.push_str("did:plc:");
    hash(seed, streams::USER, user, 24, &mut id);
    id
}

/// What event `number` wrote.
pub fn cid(seed: u64, number: u64) -> String {
    let mut id = String::with_capacity(59);
    id.push_str("bafyrei");
    hash(seed, streams::CONTENT, number, 52, &mut id);
    id
}

/// An uploaded file.
pub fn blob(seed: u64, number: u64) -> String {
    let mut id = String::with_capacity(59);
    id.push_str("bafkrei");
    hash(seed, streams::BLOB, number, 52, &mut id);
    id
}

/// A record's key: microseconds, and ten bits that tell clocks apart; 13 characters that sort like the times.
pub fn tid(time_us: u64, clock: u64) -> String {
    let value = time_us << 10 | clock & 0x3ff;
    (0..13)
        .rev()
        .map(|digit| char::from(SORTED[(value >> (5 * digit) & 31) as usize]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_name_one_thing() {
        assert_eq!(did(1, 7), did(1, 7));
        assert_ne!(did(1, 7), did(1, 8));
        assert_ne!(did(1, 7), did(2, 7));
        assert_eq!((did(1, 7).len(), cid(1, 7).len(), blob(1, 7).len()), (32, 59, 59));
        assert_ne!(cid(1, 7)[7..], blob(1, 7)[7..]);
    }

    #[test]
    fn keys_sort_like_times() {
        let (a, b, c) = (tid(1_000_000, 1023), tid(1_000_001, 0), tid(1_772_000_000_000_000, 5));
        assert!(a < b && b < c, "{a} {b} {c}");
        assert_eq!(c.len(), 13);
    }
}
