//! Numbers of rows: of a leaf's or a batch's, ascending; where rows have been joined or unnested the same one may come again. Nearly always they are
//! consecutive: those are not written for each leaf again.

use arrow_buffer::ScalarBuffer;
use std::cell::RefCell;
use std::ops::Range;

pub type RowNumbers = ScalarBuffer<u32>;

/// More than these are not kept.
const MOST: usize = 1 << 20;

thread_local! {
    /// All from 0 on, as many as have been asked for so far.
    static ALL: RefCell<RowNumbers> = RefCell::default();
}

/// Those of a range.
pub fn row_numbers(rows: Range<u32>) -> RowNumbers {
    let (start, end) = (rows.start as usize, rows.end as usize);
    if end > MOST {
        return rows.collect();
    }
    ALL.with_borrow_mut(|all| {
        if all.len() < end {
            *all = (0..end.next_power_of_two() as u32).collect();
        }
        all.slice(start, end - start)
    })
}

/// Row numbers that come as runs, ascending.
#[derive(Default)]
pub struct Runs {
    /// The last of the runs, and the numbers before it.
    last: Range<u32>,
    before: Vec<u32>,
}

impl Runs {
    /// Adds a run behind those that are there.
    pub fn push(&mut self, run: Range<u32>) {
        if run.is_empty() {
            return;
        }
        if self.last.end != run.start {
            self.before
                .extend(std::mem::replace(&mut self.last, run.start..run.start));
        }
        self.last.end = run.end;
    }

    pub fn finish(mut self) -> RowNumbers {
        if self.before.is_empty() {
            return row_numbers(self.last);
        }
        self.before.extend(self.last);
        self.before.shrink_to_fit();
        self.before.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_as_their_rows_one_by_one(runs in proptest::collection::vec((0..3u32, 0..50u32), 0..20), more in 0..2000u32) {
            let (mut all, mut expected, mut at) = (Runs::default(), Vec::new(), 0);
            for (gap, len) in runs {
                let run = at + gap..at + gap + len;
                at = run.end;
                all.push(run.clone());
                expected.extend(run);
            }
            let found = all.finish();
            prop_assert_eq!(&found[..], &expected);
            // What was handed out stays as it is when others want more.
            prop_assert_eq!(row_numbers(at..at + more).len(), more as usize);
            prop_assert_eq!(&found[..], &expected);
        }
    }

    #[test]
    fn many_are_not_kept() {
        let many = MOST as u32 - 1..MOST as u32 + 2;
        assert_eq!(row_numbers(many.clone()), many.collect::<Vec<u32>>());
        assert!(ALL.with_borrow(|all| all.len() <= MOST));
    }
}
