//! Where megapages lie in the image (AMAX paper §4.2): largest first, each right behind the one before,
//! except that a page's last bytes stay empty if the next megapage does not fit them and they are no more
//! than the tolerance. Offsets follow from the lengths, so Page 0 does not store them.

use crate::error::{Result, corrupt};

/// Offsets of megapages of these lengths, the first at or after `start`, and where the last ends.
/// `tolerance` is in bytes.
pub(crate) fn place(lengths: &[u32], start: u64, page_size: u32, tolerance: u32) -> Result<(Vec<u64>, u64)> {
    if page_size == 0 {
        return corrupt("page size is zero");
    }
    let page = u64::from(page_size);
    let mut order: Vec<u32> = (0..lengths.len() as u32).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(lengths[i as usize]));
    let mut offsets = vec![0; lengths.len()];
    let mut at = start;
    for i in order {
        let length = u64::from(lengths[i as usize]);
        let left = page - at % page;
        if length > left && left <= u64::from(tolerance) {
            at += left;
        }
        offsets[i as usize] = at;
        at += length;
    }
    Ok((offsets, at))
}

#[cfg(test)]
mod tests {
    #[test]
    fn largest_first_and_tolerant() {
        let (offsets, end) = super::place(&[10, 95, 30, 0], 0, 100, 10).unwrap();
        // 95 leaves five bytes, which the next megapage leaves empty.
        assert_eq!((offsets, end), (vec![130, 0, 100, 140], 140));
        let (offsets, end) = super::place(&[10, 95, 30], 0, 100, 4).unwrap();
        assert_eq!((offsets, end), (vec![125, 0, 95], 135));
    }
}
