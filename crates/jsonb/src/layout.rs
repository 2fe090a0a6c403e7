//! The constants of `src/include/utils/jsonb.h` (JEntry and JsonbContainer).

/// Low 28 bits of a JEntry: a length or an end offset, in bytes.
pub(crate) const JENTRY_OFFLENMASK: u32 = 0x0FFF_FFFF;
pub(crate) const JENTRY_TYPEMASK: u32 = 0x7000_0000;
pub(crate) const JENTRY_HAS_OFF: u32 = 0x8000_0000;

pub(crate) const JENTRY_ISSTRING: u32 = 0x0000_0000;
pub(crate) const JENTRY_ISNUMERIC: u32 = 0x1000_0000;
pub(crate) const JENTRY_ISBOOL_FALSE: u32 = 0x2000_0000;
pub(crate) const JENTRY_ISBOOL_TRUE: u32 = 0x3000_0000;
pub(crate) const JENTRY_ISNULL: u32 = 0x4000_0000;
pub(crate) const JENTRY_ISCONTAINER: u32 = 0x5000_0000;

/// Every 32nd JEntry holds an end offset instead of a length. A reader must look at
/// `JENTRY_HAS_OFF` instead; only the writer relies on the stride.
pub(crate) const JB_OFFSET_STRIDE: usize = 32;

/// Low 28 bits of a container header: elements, or key/value pairs.
pub(crate) const JB_CMASK: u32 = 0x0FFF_FFFF;
pub(crate) const JB_FSCALAR: u32 = 0x1000_0000;
pub(crate) const JB_FOBJECT: u32 = 0x2000_0000;
pub(crate) const JB_FARRAY: u32 = 0x4000_0000;

/// Bytes of a container header, of a JEntry, and of a numeric's varlena header.
pub(crate) const WORD: usize = 4;

/// `INTALIGN`: the next multiple of four.
#[inline]
pub(crate) fn int_align(offset: usize) -> usize {
    (offset + 3) & !3
}

/// The little-endian word at `offset`, if there is one.
#[inline]
pub(crate) fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..)?.first_chunk::<WORD>()?;
    Some(u32::from_le_bytes(*bytes))
}
