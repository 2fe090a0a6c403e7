//! What a page in one of the delta encodings says of itself: parquet's decoders make room for it before they look.
//! (Parquet, "Encodings": DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY.)

/// Whether the sequence that a page begins with has so many numbers at most.
pub(super) fn is_sound(mut page: &[u8], most: usize) -> bool {
    Packed::of(&mut page).is_some_and(|packed| packed.values <= most)
}

/// How long the values of a page of DELTA_BYTE_ARRAY are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lengths {
    /// All of them together, at most.
    pub(super) all: u64,
    /// The longest, at most.
    pub(super) longest: u64,
}

/// Of each value such a page has the length of what it shares with the one before, and then of each that of the rest. None if there are
/// more than `most`, or it contradicts itself.
pub(super) fn lengths_of(mut page: &[u8], most: usize) -> Option<Lengths> {
    let shared = Packed::of(&mut page)?.lengths(&mut page, most)?;
    let rest = Packed::of(&mut page)?.lengths(&mut page, most)?;
    Some(Lengths {
        all: shared.all.checked_add(rest.all)?,
        longest: shared.longest + rest.longest,
    })
}

/// The head of a sequence.
struct Packed {
    /// Numbers of each part of a block, and parts of a block.
    per_mini: usize,
    minis: usize,
    values: usize,
    first: i64,
}

impl Packed {
    fn of(page: &mut &[u8]) -> Option<Self> {
        let mut number = || varint(page).and_then(|number| usize::try_from(number).ok());
        let (per_block, minis, values) = (number()?, number()?, number()?);
        let first = signed(page)?;
        let per_mini = per_block.checked_div(minis)?;
        let is_sound = per_block.is_multiple_of(minis) && per_mini > 0 && per_mini.is_multiple_of(32);
        is_sound.then_some(Self {
            per_mini,
            minis,
            values,
            first,
        })
    }

    /// Goes behind its blocks, of which the last one has only what has numbers in it. They are lengths.
    fn lengths(&self, page: &mut &[u8], most: usize) -> Option<Lengths> {
        let mut left = match self.values {
            0 => return Some(Lengths { all: 0, longest: 0 }),
            values => (values <= most).then_some(values - 1)?,
        };
        let mut length = i32::try_from(self.first).ok()?;
        let mut all = u64::try_from(length).ok()?;
        let mut longest = all;
        while left > 0 {
            let least = i32::try_from(signed(page)?).ok()?;
            let (widths, behind) = page.split_at_checked(self.minis)?;
            *page = behind;
            for &width in widths {
                if left == 0 {
                    break;
                }
                let width = usize::from(width);
                let bytes = self.per_mini.checked_mul(width)? / 8;
                let (packed, behind) = page.split_at_checked(bytes).filter(|_| width <= 32)?;
                *page = behind;
                let count = left.min(self.per_mini);
                for at in 0..count {
                    // Numbers that do not fit go around, as they did when they were written.
                    length = length
                        .wrapping_add(least)
                        .wrapping_add(bits(packed, at * width, width).cast_signed());
                    let this = u64::try_from(length).ok()?;
                    all += this;
                    longest = longest.max(this);
                }
                left -= count;
            }
        }
        Some(Lengths { all, longest })
    }
}

/// The number of so many bits, 32 at most, that begins at a bit.
fn bits(bytes: &[u8], at: usize, width: usize) -> u32 {
    let around = bytes[at / 8..].iter().take(5).rev();
    let value = around.fold(0_u64, |value, &byte| (value << 8) | u64::from(byte));
    ((value >> (at % 8)) & ((1 << width) - 1)) as u32
}

fn signed(page: &mut &[u8]) -> Option<i64> {
    let value = varint(page)?;
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

fn varint(page: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = page.split_first()?;
        *page = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Lengths, is_sound, lengths_of};

    fn of(page: &[u8], most: usize) -> Option<(u64, u64)> {
        lengths_of(page, most).map(|Lengths { all, longest }| (all, longest))
    }

    /// Blocks of 128 numbers in four parts; five numbers, of which the first is 1; then a block, in which each is one more than the one
    /// before, and what two bits say, 0, 0, 0 and 3: 2, 3, 4, 8.
    fn sequence() -> Vec<u8> {
        let mut page = vec![128, 1, 4, 5, 2, 2, 2, 0, 0, 0, 0b1100_0000];
        page.extend([0; 7]);
        page
    }

    #[test]
    fn values_that_are_there() {
        let page = sequence();
        assert!(is_sound(&page, 5));
        assert!(!is_sound(&page, 4));
        assert!(!is_sound(&[128, 1, 0, 5, 0], 100));
        assert!(!is_sound(&[128, 1, 3, 5, 0], 100));
        assert!(!is_sound(&[], 100));
    }

    #[test]
    fn bytes_of_values_that_share_them() {
        let two = [sequence(), sequence()].concat();
        assert_eq!(of(&two, 5), Some((36, 16)));
        assert_eq!(of(&two, 4), None);
        for end in 0..two.len() {
            assert_eq!(of(&two[..end], 5), None, "{end}");
        }
        // None, and one.
        assert_eq!(of(&[128, 1, 4, 0, 0, 128, 1, 4, 1, 6], 5), Some((3, 3)));
        // Lengths below zero: the first, and another.
        assert_eq!(of(&[128, 1, 4, 1, 1, 128, 1, 4, 1, 0], 5), None);
        let mut falling = sequence();
        falling[5] = 3;
        assert_eq!(of(&[falling, sequence()].concat(), 5), None);
        // Wider than a length.
        let mut wide = sequence();
        wide[6] = 33;
        wide.extend([0; 132]);
        assert_eq!(of(&[wide, sequence()].concat(), 5), None);
    }

    /// Few bytes are many: two thousand million each.
    #[test]
    fn values_that_are_long() {
        let mut page = vec![128, 1, 4, 128, 1, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0, 0];
        page.extend([128, 1, 4, 128, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(of(&page, 128), Some((128 * 0x7fff_ffff, 0x7fff_ffff)));
    }

    #[test]
    fn numbers_of_any_width() {
        // Of 32 bits, going around: 5, and 2³² - 3 more.
        let mut page = vec![128, 1, 4, 2, 10, 0, 32, 0, 0, 0];
        page.extend((-3_i32).to_le_bytes());
        page.extend([0; 124]);
        page.extend([128, 1, 4, 1, 0]);
        assert_eq!(of(&page, 2), Some((7, 5)));
        // Of 13 bits.
        let mut page = vec![128, 1, 4, 4, 0, 0, 13, 0, 0, 0];
        let packed = 0x1abc_u64 | 0x0123 << 13 | 0x1fff << 26;
        page.extend(packed.to_le_bytes());
        page.extend([0; 44]);
        page.extend([128, 1, 4, 1, 0]);
        assert_eq!(
            of(&page, 4),
            Some((
                0x1abc + (0x1abc + 0x123) + (0x1abc + 0x123 + 0x1fff),
                0x1abc + 0x123 + 0x1fff
            ))
        );
    }
}
