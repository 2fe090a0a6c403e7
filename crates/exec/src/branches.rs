//! CASE, COALESCE, NULLIF, GREATEST and LEAST: each part is evaluated for the rows that need it, and no part for none.

use crate::batch::{Batch, TRUE};
use crate::compare;
use crate::evaluated::{Evaluated, union};
use crate::expr::Expr;
use crate::operators::Comparison;
use crate::scaled::scale_of;
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

    /// Takes those out of which `is` is true, by their places here.
    fn take(&mut self, is: &[bool]) -> Self {
        let mut taken = Self {
            positions: vec![0; is.len()],
            rows: vec![0; is.len()],
        };
        let (mut took, mut left) = (0, 0);
        // Without a branch: conditions are hard to predict.
        for (i, &is) in is.iter().enumerate() {
            let (position, row) = (self.positions[i], self.rows[i]);
            (taken.positions[took], taken.rows[took]) = (position, row);
            (self.positions[left], self.rows[left]) = (position, row);
            took += usize::from(is);
            left += usize::from(!is);
        }
        for list in [&mut taken.positions, &mut taken.rows] {
            list.truncate(took);
        }
        for list in [&mut self.positions, &mut self.rows] {
            list.truncate(left);
        }
        taken
    }
}

/// Whether it is little work to have it for rows that do not need it, which shows in nothing.
fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_, ty) => *ty != Type::Text,
        Expr::Once { simple, ty, .. } => *simple && *ty != Type::Text,
        Expr::Arithmetic { left, right, .. } => !expr.is_work() && is_plain(left) && is_plain(right),
        _ => false,
    }
}

/// One of two values of each row.
fn either<T: Copy>(first: &[bool], a: impl Iterator<Item = T>, b: impl Iterator<Item = T>) -> Vec<T> {
    let pairs = first.iter().zip(a.zip(b));
    pairs.map(|(&first, (a, b))| if first { a } else { b }).collect()
}

/// Of each row the value of `a` if it is `first`, or else that of `b`; None if they are not words alone.
fn choose<'a>(first: &[bool], a: &Evaluated<'_>, b: &Evaluated<'_>) -> Option<Evaluated<'a>> {
    let (x, y) = (a.vector.view(), b.vector.view());
    let mut vector = Vector::of_words(x.ty, either(first, x.words.iter().copied(), y.words.iter().copied()));
    if x.ty == Type::Numeric {
        let scales = match (scale_of(&x), scale_of(&y)) {
            (Some(s), Some(t)) => first.iter().map(|&first| if first { s } else { t }).collect(),
            _ => {
                let rows = 0..first.len();
                let scales = either(first, rows.clone().map(|i| x.scale(i)), rows.map(|i| y.scale(i)));
                (!scales.contains(&LARGE)).then_some(scales)?
            }
        };
        vector.scales = Some(scales.into());
    }
    if x.valid.is_some() || y.valid.is_some() {
        let rows = 0..first.len();
        let valid = either(first, rows.clone().map(|i| x.is_valid(i)), rows.map(|i| y.is_valid(i)));
        vector.valid = Some(valid.into());
    }
    let of_first = a.unsure.iter().filter(|&&i| first[i as usize]);
    let of_others = b.unsure.iter().filter(|&&i| !first[i as usize]);
    let unsure = union(of_first.copied().collect(), of_others.copied().collect());
    Some(Evaluated { vector, unsure })
}

/// Where a condition holds.
fn truths(found: &Vector<'_>) -> Vec<bool> {
    let holds = found.words.iter().map(|&word| word == TRUE);
    match &found.valid {
        None => holds.collect(),
        Some(valid) => holds.zip(valid.iter()).map(|(holds, &valid)| holds & valid).collect(),
    }
}

impl<'a> Batch<'a, '_> {
    /// The result of the first condition that holds.
    pub(crate) fn case(&mut self, arms: &[(Expr, Expr)], default: &Expr, ty: Type, rows: &[u32]) -> Evaluated<'a> {
        if let [(condition, result)] = arms
            && is_plain(result)
            && is_plain(default)
        {
            let (result, default) = (self.eval(result, rows), self.eval(default, rows));
            let found = self.eval(condition, rows);
            if let Some(mut chosen) = choose(&truths(&found.vector), &result, &default) {
                chosen.unsure = union(chosen.unsure, found.unsure);
                return chosen;
            }
        }
        let mut merged = Merged::new(ty, rows.len());
        let mut open = Open::all(rows);
        for (condition, result) in arms {
            if open.rows.is_empty() {
                break;
            }
            let found = self.eval(condition, &open.rows);
            let mut holds = truths(&found.vector);
            if !found.unsure.is_empty() {
                let mut is_unsure = vec![false; open.rows.len()];
                found.unsure.iter().for_each(|&i| is_unsure[i as usize] = true);
                // Places move when rows are taken out, so those that are unsure go first.
                let mut kept = is_unsure.iter().map(|&is_unsure| !is_unsure);
                holds.retain(|_| kept.next() == Some(true));
                merged.unsure.extend(open.take(&is_unsure).positions);
            }
            let taken = open.take(&holds);
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
        open.take(&done);
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
