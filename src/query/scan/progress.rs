//! How far a scan has come in the rows of its unit, for what PostgreSQL counts. Vectors look at many rows at once, but
//! those that count are the ones up to the row that is handed up: as many as heap's scan has met by then.

use amax_format::RowNumbers;

#[derive(Default)]
pub(super) struct Progress {
    /// The unit's rows in a leaf, ascending; None of a row page, whose rows are numbered from 0.
    rows: Option<RowNumbers>,
    len: usize,
    /// Where it is between the rows.
    at: usize,
    /// Of those still to come, rows without a match in a join above: no condition removes them.
    pub(super) unmatched: usize,
}

impl Progress {
    /// At the start, or the end, of a leaf's rows.
    pub(super) fn of_leaf(rows: RowNumbers, forward: bool) -> Progress {
        Progress {
            rows: Some(rows.clone()),
            ..Progress::of_page(rows.len(), forward)
        }
    }

    /// Of a row page's.
    pub(super) fn of_page(len: usize, forward: bool) -> Progress {
        Progress {
            rows: None,
            len,
            at: if forward { 0 } else { len },
            unmatched: 0,
        }
    }

    /// Moves past a row; how many rows that is.
    pub(super) fn pass(&mut self, row: u32, forward: bool) -> usize {
        let at = match &self.rows {
            None => row as usize + usize::from(forward),
            Some(rows) if forward && rows.get(self.at) == Some(&row) => self.at + 1,
            Some(rows) if forward => rows.partition_point(|&r| r <= row),
            Some(rows) => rows.partition_point(|&r| r < row),
        };
        std::mem::replace(&mut self.at, at).abs_diff(at)
    }

    /// Moves past the rows that are left; how many they are.
    pub(super) fn finish(&mut self, forward: bool) -> usize {
        let at = if forward { self.len } else { 0 };
        std::mem::replace(&mut self.at, at).abs_diff(at)
    }
}
