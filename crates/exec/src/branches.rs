//! CASE, COALESCE, NULLIF, GREATEST and LEAST: each part is evaluated for the rows that need it, and no part for none.

use crate::batch::{Batch, TRUE};
use crate::compare;
use crate::evaluated::{Evaluated, union};
use crate::expr::Expr;
use crate::operators::Comparison;
use crate::vector::{LARGE, StringTable, Type, Vector};

/// Values of rows that are found in parts.
struct Merged {
    vector: Vector<'static>,
    unsure: Vec<u32>,
}

impl Merged {
    /// All are NULL at first.
    fn new(ty: Type, rows: usize) -> Self {
        let mut vector = Vector::of_words(ty, vec![0; rows]);
        vector.scales = (ty == Type::Numeric).then(|| vec![0; rows].into());
        vector.valid = Some(vec![false; rows].into());
        vector.strings = Some(StringTable::default());
        vector.dictionary = true;
        Self {
            vector,
            unsure: Vec::new(),
        }
    }

    /// Value `i` is that of row `positions[i]`.
    fn put(&mut self, positions: &[u32], found: &Evaluated<'_>) {
        let to = &mut self.vector;
        let (words, valid) = (to.words.to_mut(), to.valid.get_or_insert_default().to_mut());
        let strings = to.strings.get_or_insert_default();
        let from = found.vector.view();
        self.unsure.extend(found.unsure.iter().map(|&i| positions[i as usize]));
        for (i, &at) in positions.iter().enumerate() {
            words[at as usize] = from.words[i];
            valid[at as usize] = from.is_valid(i);
        }
        match from.ty {
            Type::Numeric => {
                let scales = to.scales.get_or_insert_default().to_mut();
                for (i, &at) in positions.iter().enumerate() {
                    scales[at as usize] = from.scale(i);
                    if from.scale(i) == LARGE && from.is_valid(i) {
                        words[at as usize] = strings.len() as i64;
                        strings.push(from.string(i));
                    }
                }
            }
            Type::Text if from.dictionary && from.strings() <= positions.len() => {
                let first = strings.len() as i64;
                let all = found.vector.strings.iter().flat_map(|s| (0..s.len()).map(|i| s.get(i)));
                all.for_each(|string| strings.push(string));
                positions
                    .iter()
                    .for_each(|&at| words[at as usize] = words[at as usize].wrapping_add(first));
            }
            Type::Text => {
                to.dictionary = false;
                for (i, &at) in positions.iter().enumerate() {
                    if from.is_valid(i) {
                        words[at as usize] = strings.len() as i64;
                        strings.push(from.string(i));
                    }
                }
            }
            _ => {}
        }
    }

    fn finish(mut self) -> Evaluated<'static> {
        self.unsure.sort_unstable();
        self.vector.valid = self.vector.valid.filter(|valid| valid.contains(&false));
        Evaluated {
            vector: self.vector,
            unsure: self.unsure,
        }
    }
}

/// The rows of a batch that are still to be decided: their positions among all, and the rows.
struct Open {
    positions: Vec<u32>,
    rows: Vec<u32>,
}

impl Open {
    fn all(rows: &[u32]) -> Self {
        Self {
            positions: (0..rows.len() as u32).collect(),
            rows: rows.to_vec(),
        }
    }

    /// Takes those out of which `is` is true, given their places here.
    fn take(&mut self, is: impl Fn(usize) -> bool) -> Self {
        let mut taken = Self {
            positions: Vec::with_capacity(self.rows.len()),
            rows: Vec::with_capacity(self.rows.len()),
        };
        let mut left = 0;
        for i in 0..self.rows.len() {
            let (position, row) = (self.positions[i], self.rows[i]);
            if is(i) {
                taken.positions.push(position);
                taken.rows.push(row);
            } else {
                (self.positions[left], self.rows[left]) = (position, row);
                left += 1;
            }
        }
        self.positions.truncate(left);
        self.rows.truncate(left);
        taken
    }
}

impl<'a> Batch<'a, '_> {
    /// The result of the first condition that holds.
    pub(crate) fn case(&mut self, arms: &[(Expr, Expr)], default: &Expr, ty: Type, rows: &[u32]) -> Evaluated<'a> {
        let mut merged = Merged::new(ty, rows.len());
        let mut open = Open::all(rows);
        for (condition, result) in arms {
            if open.rows.is_empty() {
                break;
            }
            let found = self.eval(condition, &open.rows);
            let mut is_unsure = vec![false; open.rows.len()];
            found.unsure.iter().for_each(|&i| is_unsure[i as usize] = true);
            let holds = |i: usize| found.vector.words[i] == TRUE && found.vector.is_valid(i) && !is_unsure[i];
            // Places move when rows are taken out, so those that are unsure go first.
            let kept: Vec<bool> = (0..open.rows.len()).filter(|&i| !is_unsure[i]).map(holds).collect();
            merged.unsure.extend(open.take(|i| is_unsure[i]).positions);
            let taken = open.take(|i| kept[i]);
            if !taken.rows.is_empty() {
                merged.put(&taken.positions, &self.eval(result, &taken.rows));
            }
        }
        if !open.rows.is_empty() {
            merged.put(&open.positions, &self.eval(default, &open.rows));
        }
        merged.finish()
    }

    /// The first value that is not NULL.
    pub(crate) fn coalesce(&mut self, args: &[Expr], ty: Type, rows: &[u32]) -> Evaluated<'a> {
        if let [first, rest @ ..] = args {
            let found = self.eval(first, rows);
            if found.vector.valid.is_none() {
                return found;
            }
            let mut merged = Merged::new(ty, rows.len());
            let mut open = Open::all(rows);
            self.coalesce_from(found, &mut open, &mut merged);
            for arg in rest {
                if open.rows.is_empty() {
                    break;
                }
                let found = self.eval(arg, &open.rows);
                self.coalesce_from(found, &mut open, &mut merged);
            }
            return merged.finish();
        }
        Merged::new(ty, rows.len()).finish()
    }

    /// Takes the rows out that have a value, and those that are unsure.
    fn coalesce_from(&mut self, found: Evaluated<'a>, open: &mut Open, merged: &mut Merged) {
        merged.put(&open.positions, &found);
        let mut done: Vec<bool> = (0..open.rows.len()).map(|i| found.vector.is_valid(i)).collect();
        found.unsure.iter().for_each(|&i| done[i as usize] = true);
        open.take(|i| done[i]);
    }

    /// The left operand, or NULL where the right one is equal.
    pub(crate) fn null_if(&mut self, left: &Expr, right: &Expr, rows: &[u32]) -> Evaluated<'a> {
        let mut left = self.eval(left, rows);
        let right = self.eval(right, rows);
        let equal = compare::each(Comparison::Equal, &left.vector, &right.vector);
        let unknown = compare::incomparable(&left.vector, &right.vector);
        left.unsure = union(left.unsure, union(right.unsure, unknown));
        let both = |i: usize| left.vector.is_valid(i) && right.vector.is_valid(i);
        let valid: Vec<bool> = (0..rows.len())
            .map(|i| left.vector.is_valid(i) && !(both(i) && equal[i] == TRUE))
            .collect();
        left.vector.valid = valid.contains(&false).then(|| valid.into());
        left
    }

    /// The greatest or least of the values that are not NULL; of equal ones the first.
    pub(crate) fn extreme(&mut self, greatest: bool, args: &[Expr], ty: Type, rows: &[u32]) -> Evaluated<'a> {
        let comparison = if greatest {
            Comparison::Greater
        } else {
            Comparison::Less
        };
        let mut merged = Merged::new(ty, rows.len());
        for arg in args {
            let found = self.eval(arg, rows);
            let better = compare::each(comparison, &found.vector, &merged.vector);
            let unknown = compare::incomparable(&found.vector, &merged.vector);
            let best = &merged.vector;
            let replaces = |i: usize| found.vector.is_valid(i) && (!best.is_valid(i) || better[i] == TRUE);
            let places: Vec<u32> = (0..rows.len()).filter(|&i| replaces(i)).map(|i| i as u32).collect();
            merged.unsure = union(std::mem::take(&mut merged.unsure), union(found.unsure, unknown));
            let picked = Evaluated {
                vector: found.vector.pick(&places),
                unsure: Vec::new(),
            };
            merged.put(&places, &picked);
        }
        merged.finish()
    }
}
