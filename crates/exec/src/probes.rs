//! In which order rows are looked up in several tables: those that leave few rows come first, as batches before have shown.

use std::ops::Range;

/// Batches after which the order is looked at again.
const AGAIN: usize = 8;

/// What a table was asked and what it left, of some batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    pub asked: u64,
    pub left: u64,
}

impl Passed {
    /// The share of rows that it left; all, if it has not been asked, and rather too many if it was asked about few.
    fn rate(&self) -> f64 {
        (self.left + 1) as f64 / (self.asked + 1) as f64
    }

    fn add(&mut self, other: Passed) {
        self.asked += other.asked;
        self.left += other.left;
    }
}

#[derive(Clone, Debug)]
pub struct Probes {
    /// Tables, in the order in which they are asked.
    order: Vec<usize>,
    /// Parts of the order in which any order will do.
    free: Vec<Range<usize>>,
    all: Vec<Passed>,
    /// Since the order was last looked at.
    recent: Vec<Passed>,
    batches: usize,
}

impl Probes {
    /// Of as many tables; those that `may_move` change places with their neighbours of which the same is true.
    pub fn new(may_move: &[bool]) -> Self {
        let n = may_move.len();
        let mut free = Vec::new();
        let mut start = 0;
        while start < n {
            let end = (start..n).find(|&at| !may_move[at]).unwrap_or(n);
            if end - start > 1 {
                free.push(start..end);
            }
            start = end + 1;
        }
        Self {
            order: (0..n).collect(),
            free,
            all: vec![Passed::default(); n],
            recent: vec![Passed::default(); n],
            batches: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The table that is asked at a place in the order.
    pub fn at(&self, place: usize) -> usize {
        self.order[place]
    }

    /// What has become of rows so far, by table.
    pub fn passed(&self, table: usize) -> Passed {
        self.all[table]
    }

    /// Notes what a table was asked and what it left.
    pub fn note(&mut self, table: usize, asked: u64, left: u64) {
        let passed = Passed { asked, left };
        self.all[table].add(passed);
        self.recent[table].add(passed);
    }

    /// A batch has ended. The order of the next ones follows what the last ones have shown.
    pub fn end_batch(&mut self) {
        self.batches += 1;
        if self.batches < AGAIN || self.free.is_empty() {
            return;
        }
        self.batches = 0;
        let recent = std::mem::replace(&mut self.recent, vec![Passed::default(); self.order.len()]);
        for free in &self.free {
            self.order[free.clone()].sort_by(|&a, &b| recent[a].rate().total_cmp(&recent[b].rate()));
        }
    }

    /// Another order, for tests: each part that is free, turned by one.
    pub fn turn(&mut self) {
        for free in &self.free {
            self.order[free.clone()].rotate_left(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(probes: &Probes) -> Vec<usize> {
        (0..probes.len()).map(|place| probes.at(place)).collect()
    }

    /// Batches of 100 rows through tables that leave these shares, in hundredths.
    fn run(probes: &mut Probes, shares: &[u64], batches: usize) {
        for _ in 0..batches {
            let mut rows = 100;
            for table in order(probes) {
                let left = rows * shares[table] / 100;
                probes.note(table, rows, left);
                rows = left;
                if rows == 0 {
                    break;
                }
            }
            probes.end_batch();
        }
    }

    #[test]
    fn the_one_that_leaves_least_comes_first() {
        let mut probes = Probes::new(&[true; 3]);
        run(&mut probes, &[90, 50, 10], AGAIN - 1);
        assert_eq!(order(&probes), [0, 1, 2]);
        run(&mut probes, &[90, 50, 10], 1);
        assert_eq!(order(&probes), [2, 1, 0]);
        assert_eq!(probes.passed(0), Passed { asked: 800, left: 720 });
        // Other rows, another order.
        run(&mut probes, &[10, 90, 50], AGAIN);
        assert_eq!(order(&probes), [0, 2, 1]);
    }

    #[test]
    fn those_that_must_not_move_stay_and_part_the_others() {
        let mut probes = Probes::new(&[true, true, false, true, true, true]);
        run(&mut probes, &[90, 10, 1, 80, 60, 70], AGAIN * 100);
        assert_eq!(order(&probes)[2], 2);
        assert_eq!(order(&probes)[..2], [1, 0]);
        assert!(Probes::new(&[true, false, true]).free.is_empty());
    }

    #[test]
    fn few_rows_say_little() {
        let mut probes = Probes::new(&[true; 2]);
        for _ in 0..AGAIN * 10 {
            probes.note(0, 1000, 5);
            probes.note(1, 5, 0);
            probes.end_batch();
            assert_eq!(order(&probes), [0, 1]);
        }
    }

    #[test]
    fn who_is_not_asked_stays_behind() {
        let mut probes = Probes::new(&[true; 3]);
        run(&mut probes, &[90, 0, 5], AGAIN);
        assert_eq!(order(&probes), [1, 0, 2]);
    }
}
