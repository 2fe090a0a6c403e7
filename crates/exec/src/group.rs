//! Hash grouping: rows with equal keys get the number of one group.

use crate::codes::{Codes, limit};
use crate::error::{Error, Result};
use crate::range::{Order, Range};
use crate::store::{Numbers, Store, hash_rows, hash_words};
use crate::table::NONE;
use crate::tuples::{Tuples, check_members};
use crate::values::{UNKNOWN, Values};
use crate::vector::{Scalar, Type, Vector, View};

/// Which way the keys of rows go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Up,
    Down,
}

/// The groups of all rows so far, numbered in the order they were first seen.
///
/// A group is a tuple of its keys' numbers in [`Values`] per column; with one column its values are the groups.
#[derive(Clone, Debug)]
pub struct Grouping {
    columns: Vec<Values>,
    /// With two columns or more.
    tuples: Tuples,
    /// With two columns or more: each group's own of the equal values of a column, where they may look different.
    shown: Vec<Option<Numbers>>,
    /// Of the hashes of groups; rows of others are left out.
    range: Range,
    scratch: Scratch,
}

/// Of one batch.
#[derive(Clone, Debug, Default)]
struct Scratch {
    codes: Vec<u32>,
    /// Groups by their code, and which codes those are, if they are the same in the next batch; else none.
    memo: Vec<u32>,
    known: Vec<Codes>,
    rows: Vec<u32>,
    numbers: Vec<Vec<u32>>,
}

impl Grouping {
    /// By keys of these types; without any there is one group from the start.
    pub fn new(keys: &[Type]) -> Self {
        Self::of(
            keys.iter().copied().map(Values::new).collect(),
            Tuples::new(keys.len().max(1)),
        )
    }

    fn of(columns: Vec<Values>, tuples: Tuples) -> Self {
        let shown = match &*columns {
            [] | [_] => Vec::new(),
            columns => columns.iter().map(|column| shown(column.ty())).collect(),
        };
        Self {
            columns,
            tuples,
            shown,
            range: Range::ALL,
            scratch: Scratch::default(),
        }
    }

    /// How many groups.
    pub fn len(&self) -> usize {
        match &*self.columns {
            [] => 1,
            [column] => column.len(),
            _ => self.tuples.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Of the groups; what is kept for a batch is not counted.
    pub fn bytes_used(&self) -> usize {
        let columns = self.columns.iter().map(Values::heap_bytes);
        let shown = self.shown.iter().flatten().map(Numbers::heap_bytes);
        columns.sum::<usize>() + self.tuples.heap_bytes() + shown.sum::<usize>()
    }

    /// Key `column` of a group.
    pub fn key(&self, column: usize, group: usize) -> Scalar<'_> {
        let values = &self.columns[column];
        if self.columns.len() == 1 {
            return values.get(group as u32);
        }
        let key = values.get(self.tuples.get(group)[column]);
        match &self.shown[column] {
            Some(shown) if key != Scalar::Null => shown.scalar(group, values.ty()),
            _ => key,
        }
    }

    /// Key `column` of each group.
    pub fn keys(&self, column: usize) -> Vector<'_> {
        let values = self.columns[column].vector();
        if self.columns.len() == 1 {
            return values;
        }
        let members = self.tuples.members().iter().skip(column);
        let members = members.step_by(self.columns.len());
        let numbers = members.map(|&member| member as usize);
        let valid = values
            .valid
            .map(|valid| numbers.clone().map(|number| valid[number]).collect());
        if let Some(shown) = &self.shown[column] {
            return Vector {
                valid,
                ..shown.vector(values.ty)
            };
        }
        Vector {
            words: numbers.map(|number| values.words[number]).collect(),
            valid,
            dictionary: true,
            ..values
        }
    }

    /// The group of each of the `n` rows of a batch, [`NONE`] if it is out of range: `out` is cleared first.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Limit`]; groups may have been added then.
    ///
    /// # Panics
    /// If `keys` are not of the declared types, or not `n` long.
    pub fn assign(&mut self, keys: &[Vector<'_>], n: usize, out: &mut Vec<u32>) -> Result<()> {
        assert_eq!(keys.len(), self.columns.len(), "keys of a batch");
        let views: Vec<View<'_>> = keys.iter().map(Vector::view).collect();
        for (column, view) in self.columns.iter().zip(&views) {
            assert_eq!(view.words.len(), n, "rows of a batch");
            column.check(view)?;
        }
        out.clear();
        out.resize(n, 0);
        match &mut *self.columns {
            [] => Ok(()),
            [column] => column.numbers(&views[0], &mut self.range, out),
            _ => {
                let mut scratch = std::mem::take(&mut self.scratch);
                let done = self.assign_tuples(&views, &mut scratch, out);
                self.scratch = scratch;
                done
            }
        }
    }

    fn assign_tuples(&mut self, views: &[View<'_>], scratch: &mut Scratch, out: &mut [u32]) -> Result<()> {
        if let Some(codes) = combined(views, out.len()) {
            return self.assign_by_code(views, &codes, scratch, out);
        }
        if !self.range.is_all() {
            for (row, out) in out.iter_mut().enumerate() {
                if !self.range.admit(hash_rows(views, row)) {
                    *out = NONE;
                }
            }
        }
        scratch.numbers.resize(views.len(), Vec::new());
        let mut all = Range::ALL;
        for ((column, view), numbers) in self.columns.iter_mut().zip(views).zip(&mut scratch.numbers) {
            numbers.clear();
            numbers.extend_from_slice(out);
            column.numbers(view, &mut all, numbers)?;
        }
        let rows = (0..out.len() as u32).filter(|&row| out[row as usize] != NONE);
        scratch.rows.clear();
        scratch.rows.extend(rows);
        let numbers: Vec<&[u32]> = scratch.numbers.iter().map(Vec::as_slice).collect();
        let mut next = self.tuples.len() as u32;
        self.tuples.numbers(&numbers, &scratch.rows, out)?;
        for &row in &scratch.rows {
            // Groups are numbered in the order of the rows that are their first.
            if out[row as usize] == next {
                self.show(views, row as usize)?;
                next += 1;
            }
        }
        Ok(())
    }

    /// Keeps a new group's keys as they are in its first row.
    fn show(&mut self, views: &[View<'_>], row: usize) -> Result<()> {
        for (shown, view) in self.shown.iter_mut().zip(views) {
            match shown {
                Some(shown) if view.is_valid(row) => shown.push(Numbers::key(view, row))?,
                Some(shown) => shown.push_none(),
                None => {}
            }
        }
        Ok(())
    }

    /// One look-up per combination of codes, for keys that have few.
    fn assign_by_code(
        &mut self,
        views: &[View<'_>],
        codes: &[Codes],
        scratch: &mut Scratch,
        out: &mut [u32],
    ) -> Result<()> {
        let lasts = views.iter().all(|view| Codes::last(view.ty));
        let known = std::mem::take(&mut scratch.known);
        let both: Vec<Codes> = known.iter().zip(codes).map(|(&a, &b)| a.with(b)).collect();
        let all = match lasts && !known.is_empty() && (both == known || fits(&both, out.len())) {
            true => both,
            false => codes.to_vec(),
        };
        scratch.codes.clear();
        scratch.codes.resize(out.len(), 0);
        let mut stride = 1;
        for (codes, view) in all.iter().zip(views) {
            codes.add_to(view, stride, &mut scratch.codes);
            stride *= codes.len() as u32;
        }
        let memo = &mut scratch.memo;
        if known != all {
            memo.clear();
            memo.resize(stride as usize, UNKNOWN);
        }
        if lasts {
            scratch.known = all;
        }
        for (row, (&code, out)) in scratch.codes.iter().zip(out).enumerate() {
            let mut group = memo[code as usize];
            if group == UNKNOWN {
                group = self.group(views, row)?;
                memo[code as usize] = group;
            }
            *out = group;
        }
        Ok(())
    }

    /// The group of one row.
    fn group(&mut self, views: &[View<'_>], row: usize) -> Result<u32> {
        let range = &mut self.range;
        if !range.is_all() && !range.admit(hash_rows(views, row)) {
            return Ok(NONE);
        }
        let columns = self.columns.iter_mut().zip(views);
        let tuple: Result<Vec<u32>> = columns.map(|(column, view)| column.number(view, row)).collect();
        let next = self.tuples.len() as u32;
        let group = self.tuples.number(&tuple?)?;
        if group == next {
            self.show(views, row)?;
        }
        Ok(group)
    }

    /// Of its keys' hashes, or its only key's.
    pub(crate) fn hash(&self, group: usize) -> u64 {
        match &*self.columns {
            [] => 0,
            [column] => column.hash(group as u32),
            columns => {
                let members = columns.iter().zip(self.tuples.get(group));
                hash_words(members.map(|(column, &member)| column.hash(member)))
            }
        }
    }

    /// What a range is asked for.
    fn place(&self, group: usize, range: &Range) -> u64 {
        match &*self.columns {
            [column] => column.place(group as u32, range),
            _ => self.hash(group),
        }
    }

    /// Half of the range; of words in their order at least one group is outside, if there are two.
    pub(crate) fn half(&self) -> Option<Range> {
        if !self.range.is_ordered() {
            return self.range.halve();
        }
        let places = (0..self.len()).map(|group| self.place(group, &self.range));
        self.range.halve_below(places.max()?)
    }

    /// Has ranges be of the only key's words in their order, from what is there of them on, before there is more than one range.
    pub(crate) fn order(&mut self, order: Direction) {
        let [column] = &*self.columns else { return };
        let words = column.vector();
        let valid = (0..column.len()).filter(|&group| words.is_valid(group));
        let words = valid.map(|group| words.words[group]);
        let order = match order {
            // From the one before: NULL has its place.
            Direction::Up => words.min().map(|word| Order::Up(word.wrapping_sub(1))),
            Direction::Down => words.max().map(|word| Order::Down(word.wrapping_add(1))),
        };
        self.range = order.map_or(Range::ALL, Range::of_words);
    }

    /// What of all groups is done in this pass.
    pub(crate) fn range(&self) -> Range {
        self.range
    }

    /// Rows with such words as their key were passed over, none of them of this pass.
    pub(crate) fn pass_over(&mut self, least: i64, most: i64) {
        self.range.pass_over(least, most);
    }

    /// Leaves out the groups that are not in `range`. Returns which are kept.
    pub(crate) fn narrow(&mut self, range: Range) -> Result<Vec<bool>> {
        let places: Vec<u64> = (0..self.len()).map(|group| self.place(group, &range)).collect();
        self.range = range;
        let keep: Vec<bool> = places.iter().map(|&place| self.range.admit(place)).collect();
        self.retain(&keep)?;
        Ok(keep)
    }

    /// Leaves out the groups that `keep` does not say.
    pub(crate) fn retain(&mut self, keep: &[bool]) -> Result<()> {
        // They have other numbers now, and others may be out of range.
        self.scratch.known.clear();
        match &mut *self.columns {
            [] => {}
            [column] => drop(column.retain(keep)?),
            columns => {
                for shown in self.shown.iter_mut().flatten() {
                    *shown = shown.filter(keep)?;
                }
                let mut kept = keep.iter();
                self.tuples.retain(|_| kept.next() == Some(&true));
                let width = columns.len();
                let mut moved = Vec::with_capacity(width);
                for (place, column) in columns.iter_mut().enumerate() {
                    let mut used = vec![false; column.len()];
                    for &member in self.tuples.members().iter().skip(place).step_by(width) {
                        used[member as usize] = true;
                    }
                    moved.push(column.retain(&used)?);
                }
                self.tuples.retain(|tuple| {
                    for (member, moved) in tuple.iter_mut().zip(&moved) {
                        *member = moved[*member as usize];
                    }
                    true
                });
            }
        }
        Ok(())
    }

    /// Begins with no groups of another range.
    pub(crate) fn restart(&mut self, range: Range) {
        let types: Vec<Type> = self.columns.iter().map(Values::ty).collect();
        *self = Self::new(&types);
        self.range = range;
    }

    pub(crate) fn serialize(&self, mut out: Vec<u8>) -> Vec<u8> {
        for column in &self.columns {
            out = column.serialize(out);
        }
        let sent = (self.tuples.members(), &self.shown);
        postcard::to_extend(&sent, out).expect("memory does not refuse bytes")
    }

    /// What [`Grouping::serialize`] wrote of groups by these keys; nothing is found in it.
    pub(crate) fn deserialize(keys: &[Type], from: &mut &[u8]) -> Result<Self> {
        let columns: Result<Vec<Values>> = keys.iter().map(|&key| Values::deserialize(key, from)).collect();
        let columns = columns?;
        type Sent = (Vec<u32>, Vec<Option<Numbers>>);
        let ((members, shown), rest): (Sent, _) = postcard::take_from_bytes(from).map_err(|_| DAMAGED)?;
        *from = rest;
        match &*columns {
            [] | [_] => check_members(&members, &[0])?,
            columns => {
                let limits: Vec<usize> = columns.iter().map(Values::len).collect();
                check_members(&members, &limits)?;
            }
        }
        let tuples = Tuples::without_table(keys.len().max(1), members);
        let grouping = Self::of(columns, tuples);
        let mut pairs = shown.iter().zip(&grouping.shown);
        if shown.len() != grouping.shown.len() || !pairs.all(|(sent, new)| sent.is_some() == new.is_some()) {
            return Err(DAMAGED);
        }
        for (shown, &key) in shown.iter().zip(keys) {
            if let Some(shown) = shown {
                shown.check(key)?;
                if shown.len() != grouping.len() {
                    return Err(DAMAGED);
                }
            }
        }
        Ok(Self { shown, ..grouping })
    }
}

const DAMAGED: Error = Error::Corrupt("serialized groups are damaged");

/// What values look like that can be equal and look different: -0 and 0, 1.0 and 1.00.
fn shown(ty: Type) -> Option<Numbers> {
    matches!(ty, Type::Float | Type::Numeric).then(Numbers::default)
}

/// The codes of all keys, if they have and their combinations are few.
fn combined(views: &[View<'_>], rows: usize) -> Option<Vec<Codes>> {
    let codes: Vec<Codes> = views.iter().map(Codes::of).collect::<Option<_>>()?;
    fits(&codes, rows).then_some(codes)
}

/// Whether the combinations of codes are few.
fn fits(codes: &[Codes], rows: usize) -> bool {
    let mut combinations = codes.iter().map(Codes::len);
    let product = combinations.try_fold(1_usize, |product, len| product.checked_mul(len));
    product.is_some_and(|product| product <= limit(rows))
}
