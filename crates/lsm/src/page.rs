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

/// Whether the page is what was written to `block`.
pub fn check(page: &[u8], block: u32) -> Result<(), Damaged> {
    let stored = u32::from_le_bytes(page[CHECKSUM..PAYLOAD_START].try_into().unwrap());
    match checksum(page, block) == stored {
        true => Ok(()),
        false => Err(Damaged("page checksum does not match".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
