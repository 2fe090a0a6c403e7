//! Numbers of so many bits each, one behind the other, the lowest first.

/// So many numbers are packed together.
pub(super) const GROUP: usize = 32;

/// Appends numbers that have no more bits than `width`, which is 64 at most.
pub(super) fn pack(numbers: &[u64; GROUP], width: usize, to: &mut Vec<u8>) {
    PACKERS[width](numbers, to);
}

/// The width is known when it is compiled: so are all shifts.
fn packed<const WIDTH: usize>(numbers: &[u64; GROUP], to: &mut Vec<u8>) {
    let from = to.len();
    to.resize(from + GROUP / 8 * WIDTH, 0);
    let (mut word, mut words) = (0, to[from..].chunks_exact_mut(8));
    for (i, &number) in numbers.iter().enumerate() {
        let shift = i * WIDTH % 64;
        word |= number << shift;
        if shift + WIDTH >= 64 {
            if let Some(bytes) = words.next() {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
            word = if shift + WIDTH > 64 { number >> (64 - shift) } else { 0 };
        }
    }
    // Of an odd width half a word is left.
    let half = words.into_remainder();
    half.copy_from_slice(&word.to_le_bytes()[..half.len()]);
}

macro_rules! packers {
    ($($width:literal)*) => { [$(packed::<$width>),*] };
}

type Packer = fn(&[u64; GROUP], &mut Vec<u8>);

/// By width.
static PACKERS: [Packer; 65] = packers!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
    33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64
);

/// How many bits a number has.
pub(super) fn width(number: u64) -> usize {
    (u64::BITS - number.leading_zeros()) as usize
}

/// Appends a number of Parquet's: seven bits a byte, the lowest first.
pub(super) fn put_varint(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::{GROUP, pack, put_varint, width};

    #[test]
    fn bits_are_where_they_belong() {
        for bits in 0..=64 {
            let most = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
            let numbers: [u64; GROUP] =
                std::array::from_fn(|i| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) & most);
            let mut bytes = vec![7];
            pack(&numbers, bits as usize, &mut bytes);
            assert_eq!(bytes.len(), 1 + 4 * bits as usize);
            let bit = |at: usize| u64::from(bytes[1 + at / 8] >> (at % 8) & 1);
            for (i, number) in numbers.into_iter().enumerate() {
                let found = (0..bits as usize).fold(0, |found, at| found | bit(i * bits as usize + at) << at);
                assert_eq!(found, number, "{bits} bits, {i}");
            }
        }
    }

    #[test]
    fn widths() {
        assert_eq!([0, 1, 2, 255, 256, u64::MAX].map(width), [0, 1, 2, 8, 9, 64]);
    }

    #[test]
    fn varints() {
        let mut bytes = Vec::new();
        [0, 127, 128, 300]
            .into_iter()
            .for_each(|number| put_varint(number, &mut bytes));
        assert_eq!(bytes, [0, 127, 128, 1, 172, 2]);
    }
}
