//! What every page of ours begins with, and its checksum. PostgreSQL's page checksums may be off, and what the
//! metapage, the maps and the stub directory say is believed: an entry with one bit changed leads to other rows.
//!
//! ```text
//!    0  PostgreSQL's page header: full and empty (see src/storage/buffer.rs)
//!   24  u32  tag: magic and kind
//!   28  u32  CRC-32C of the block's number, the header but for its first ten bytes, the tag and the payload
//!   32  payload
//! ```
//!
//! The header's first ten bytes, LSN and PostgreSQL's own checksum, are filled in when the change has been logged and
//! when the page is written.

use crate::Damaged;

/// Where the tag is: behind PostgreSQL's header.
pub const HEADER: usize = 24;
const CHECKSUM: usize = HEADER + 4;
/// Where what has the checksum starts (bufpage.h: pd_flags).
const FIRST: usize = 10;
/// Where a page's payload starts.
pub const PAYLOAD_START: usize = CHECKSUM + 4;

fn checksum(page: &[u8], block: u32) -> u32 {
    // With the block's number a page is not taken for another one that is as sound.
    let crc = crc32c::crc32c(&block.to_le_bytes());
    let crc = crc32c::crc32c_append(crc, &page[FIRST..CHECKSUM]);
    crc32c::crc32c_append(crc, &page[PAYLOAD_START..])
}

/// Notes the checksum of a page that is to be in `block`.
pub fn seal(page: &mut [u8], block: u32) {
    let crc = checksum(page, block);
    page[CHECKSUM..PAYLOAD_START].copy_from_slice(&crc.to_le_bytes());
}

/// The tag and the checksum of a page like `old`, which is sealed, but for these bytes of the payload: a sum of what has
/// changed, and not of all 8 kB. CRCs are linear: the page's changes by that of the differences, followed by as many zeros
/// as there are bytes behind them.
pub fn resealed(old: &[u8], start: usize, bytes: &[u8]) -> [u8; PAYLOAD_START - HEADER] {
    debug_assert!(start >= PAYLOAD_START);
    // From a state of 0, and left as it is.
    let mut sum = !0;
    let parts = old[start..].chunks(DIFFERENCES).zip(bytes.chunks(DIFFERENCES));
    for (old, new) in parts {
        let mut differences = [0; DIFFERENCES];
        let of = old.iter().zip(new);
        differences.iter_mut().zip(of).for_each(|(to, (a, b))| *to = a ^ b);
        sum = crc32c::crc32c_append(sum, &differences[..new.len()]);
    }
    let sum = word(old, CHECKSUM) ^ times(!sum, zeros(old.len() - start - bytes.len()));
    let mut head = [0; PAYLOAD_START - HEADER];
    head.copy_from_slice(&old[HEADER..PAYLOAD_START]);
    head[CHECKSUM - HEADER..].copy_from_slice(&sum.to_le_bytes());
    head
}

/// Bytes whose differences are taken at a time.
const DIFFERENCES: usize = 64;

fn word(page: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(page[at..at + 4].try_into().unwrap())
}

/// CRC-32C's polynomial, and the factor 1; the lowest power is in the highest bit.
const POLYNOMIAL: u32 = 0x82f6_3b78;
const ONE: u32 = 1 << 31;

/// The product of two polynomials, modulo CRC-32C's.
const fn times(a: u32, mut b: u32) -> u32 {
    let (mut product, mut bit) = (0, ONE);
    while bit != 0 {
        product ^= if a & bit != 0 { b } else { 0 };
        b = (b >> 1) ^ (POLYNOMIAL & (b & 1).wrapping_neg());
        bit >>= 1;
    }
    product
}

/// What a sum is multiplied by when so many zero bytes follow, fewer than a page has.
fn zeros(bytes: usize) -> u32 {
    times(FEW_ZEROS[bytes % STEP], MANY_ZEROS[bytes / STEP])
}

const STEP: usize = 128;

/// Of 0, 1, 2 … zero bytes.
const FEW_ZEROS: [u32; STEP] = powers(ONE >> 8);
/// Of so many times [`STEP`].
const MANY_ZEROS: [u32; STEP] = powers(times(FEW_ZEROS[STEP - 1], ONE >> 8));

const fn powers(factor: u32) -> [u32; STEP] {
    let mut powers = [ONE; STEP];
    let mut at = 1;
    while at < STEP {
        powers[at] = times(powers[at - 1], factor);
        at += 1;
    }
    powers
}

/// Whether the page is what was written to `block`.
pub fn check(page: &[u8], block: u32) -> Result<(), Damaged> {
    match checksum(page, block) == word(page, CHECKSUM) {
        true => Ok(()),
        false => Err(Damaged("page checksum does not match".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_bit_behind_the_lsn_counts() {
        let mut page: Vec<u8> = (0..8192u32).map(|i| (i * 7) as u8).collect();
        seal(&mut page, 9);
        check(&page, 9).unwrap();
        assert!(check(&page, 8).is_err());
        for bit in FIRST * 8..page.len() * 8 {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(check(&page, 9).is_err(), "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
        check(&page, 9).unwrap();
    }

    proptest! {
        /// The sum that is made of a change is that of the whole page.
        #[test]
        fn small_changes_are_sealed_as_pages_are(at in PAYLOAD_START..8192usize, len in 0..40usize, seed in any::<u8>()) {
            let mut old: Vec<u8> = (0..8192u32).map(|i| (i * 13) as u8).collect();
            seal(&mut old, 9);
            let mut new = old.clone();
            let changed = at..(at + len).min(8192);
            new[changed.clone()].iter_mut().for_each(|byte| *byte = byte.wrapping_mul(7) ^ seed);
            let head = resealed(&old, changed.start, &new[changed]);
            new[HEADER..PAYLOAD_START].copy_from_slice(&head);
            let mut whole = new.clone();
            seal(&mut whole, 9);
            prop_assert_eq!(new, whole);
        }
    }
}
