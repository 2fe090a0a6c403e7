//! count(distinct value).

use crate::codes::{limit, Codes};
use crate::error::{Error, Result};
use crate::range::Range;
use crate::state::Output;
use crate::table::NONE;
use crate::tuples::{check_members, Tuples};
use crate::values::Values;
use crate::vector::{Type, View};

/// The pairs of a group and a value of it, counted by group. Without grouping the values are enough.
#[derive(Clone, Debug)]
pub(crate) struct Distinct {
    values: Values,
    pairs: Option<Tuples>,
    counts: Vec<i64>,
    /// Of the hashes of values that are counted in this pass.
    range: Range,
    seen: Vec<bool>,
    numbers: Vec<u32>,
    numbered: Vec<u32>,
    rows: Vec<u32>,
}

impl Distinct {
    pub(crate) fn new(ty: Type, grouped: bool) -> Self {
        Self {
            values: Values::new(ty),
            pairs: grouped.then(|| Tuples::new(2)),
            counts: Vec::new(),
            range: Range::ALL,
            seen: Vec::new(),
            numbers: Vec::new(),
            numbered: Vec::new(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn resize(&mut self, groups: usize) {
        self.counts.resize(groups, 0);
    }

    pub(crate) fn bytes_used(&self) -> usize {
        let pairs = self.pairs.as_ref().map_or(0, Tuples::heap_bytes);
        self.values.heap_bytes() + pairs + self.counts.capacity() * 8
    }

    pub(crate) fn values(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn range(&self) -> Range {
        self.range
    }

    pub(crate) fn output(&self, group: usize) -> Output {
        Output::Count(self.counts[group])
    }

    /// Adds the values of a batch to `groups`; rows that are NULL have none.
    pub(crate) fn update(&mut self, groups: &[u32], view: &View<'_>) -> Result<()> {
        self.values.check(view)?;
        if let Some(codes) = Codes::of(view) {
            if self.counts.len().saturating_mul(codes.len()) <= limit(groups.len()) {
                let len = codes.len();
                return match view.valid {
                    None => self.update_by_code(groups, view, len, codes.dense(view)),
                    Some(valid) => {
                        self.update_by_code(groups, view, len, codes.nullable(view, valid))
                    }
                };
            }
        }
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.clear();
        numbers.extend_from_slice(groups);
        let before = self.values.len();
        self.values.numbers(view, &mut self.range, &mut numbers)?;
        self.add_pairs(groups, &numbers, before)?;
        self.numbers = numbers;
        Ok(())
    }

    /// Adds pairs of groups and the numbers of values, of which there were `before`.
    fn add_pairs(&mut self, groups: &[u32], numbers: &[u32], before: usize) -> Result<()> {
        let Some(pairs) = &mut self.pairs else {
            self.counts[0] += (self.values.len() - before) as i64;
            return Ok(());
        };
        let before = pairs.len();
        let rows = (0..numbers.len() as u32).filter(|&row| numbers[row as usize] != NONE);
        self.rows.clear();
        self.rows.extend(rows);
        self.numbered.resize(numbers.len(), 0);
        pairs.numbers(&[groups, numbers], &self.rows, &mut self.numbered)?;
        for pair in before..pairs.len() {
            self.counts[pairs.get(pair)[0] as usize] += 1;
        }
        Ok(())
    }

    /// As [`Distinct::update`], with one look-up for each pair of a group and one of `codes` in the batch.
    #[inline(never)]
    fn update_by_code(
        &mut self,
        groups: &[u32],
        view: &View<'_>,
        codes: usize,
        row_codes: impl Iterator<Item = usize>,
    ) -> Result<()> {
        let mut seen = std::mem::take(&mut self.seen);
        seen.clear();
        seen.resize(self.counts.len() * codes, false);
        for (row, (&group, code)) in groups.iter().zip(row_codes).enumerate() {
            if group == NONE {
                continue;
            }
            let seen = &mut seen[group as usize * codes + code];
            if !*seen {
                *seen = true;
                self.add(group, view, row)?;
            }
        }
        self.seen = seen;
        Ok(())
    }

    #[inline(never)]
    fn add(&mut self, group: u32, view: &View<'_>, row: usize) -> Result<()> {
        if !self.range.is_all() && !self.range.admit(self.values.hash_row(view, row)) {
            return Ok(());
        }
        let before = self.values.len();
        let number = self.values.number(view, row)?;
        let added = match &mut self.pairs {
            None => self.values.len() - before,
            Some(pairs) => {
                let before = pairs.len();
                pairs.number(&[group, number])?;
                pairs.len() - before
            }
        };
        self.counts[group as usize] += added as i64;
        Ok(())
    }

    /// Adds the pairs of another, whose group `g` is `groups[g]` here.
    pub(crate) fn merge(&mut self, other: &Self, groups: &[u32]) -> Result<()> {
        let vector = other.values.vector();
        let before = self.values.len();
        let Some(pairs) = &other.pairs else {
            let mut numbers = vec![0; other.values.len()];
            self.values
                .numbers(&vector.view(), &mut self.range, &mut numbers)?;
            return self.add_pairs(&[], &[], before);
        };
        // Values of other groups alone are not ours to keep.
        let mut numbers = vec![NONE; other.values.len()];
        for pair in pairs.members().chunks_exact(2) {
            if groups[pair[0] as usize] != NONE {
                numbers[pair[1] as usize] = 0;
            }
        }
        self.values
            .numbers(&vector.view(), &mut self.range, &mut numbers)?;
        let (mut to_groups, mut to_values) = (Vec::new(), Vec::new());
        for pair in pairs.members().chunks_exact(2) {
            let (group, value) = (groups[pair[0] as usize], numbers[pair[1] as usize]);
            if group != NONE && value != NONE {
                to_groups.push(group);
                to_values.push(value);
            }
        }
        self.add_pairs(&to_groups, &to_values, before)
    }

    /// Leaves out the groups that `keep` does not say.
    pub(crate) fn retain(&mut self, keep: &[bool]) -> Result<()> {
        let mut next = 0;
        let moved: Vec<u32> = keep
            .iter()
            .map(|&keep| {
                let number = if keep { next } else { NONE };
                next += u32::from(keep);
                number
            })
            .collect();
        let mut kept = keep.iter();
        self.counts.retain(|_| kept.next() == Some(&true));
        self.counts.shrink_to_fit();
        let Some(pairs) = &mut self.pairs else {
            return Ok(());
        };
        let mut used = vec![false; self.values.len()];
        pairs.retain(|pair| {
            pair[0] = moved[pair[0] as usize];
            used[pair[1] as usize] |= pair[0] != NONE;
            pair[0] != NONE
        });
        self.retain_values(&used)
    }

    fn retain_values(&mut self, keep: &[bool]) -> Result<()> {
        let moved = self.values.retain(keep)?;
        if let Some(pairs) = &mut self.pairs {
            pairs.retain(|pair| {
                pair[1] = moved[pair[1] as usize];
                pair[1] != NONE
            });
        }
        Ok(())
    }

    /// Takes back the values that are not in `range`, which is part of the present one.
    pub(crate) fn narrow(&mut self, range: Range) -> Result<()> {
        self.range = range;
        let hashes = (0..self.values.len()).map(|value| self.values.hash(value as u32));
        let keep: Vec<bool> = hashes.map(|hash| self.range.admit(hash)).collect();
        match &self.pairs {
            None => self.counts[0] -= keep.iter().filter(|&&keep| !keep).count() as i64,
            Some(pairs) => {
                for pair in pairs.members().chunks_exact(2) {
                    self.counts[pair[0] as usize] -= i64::from(!keep[pair[1] as usize]);
                }
            }
        }
        self.retain_values(&keep)
    }

    /// Goes on to count the values of another range.
    pub(crate) fn restart(&mut self, range: Range) {
        let fresh = Self::new(self.values.ty(), self.pairs.is_some());
        let counts = std::mem::take(&mut self.counts);
        *self = Self {
            counts,
            range,
            ..fresh
        };
    }

    pub(crate) fn serialize(&self, out: Vec<u8>) -> Vec<u8> {
        let members = self.pairs.as_ref().map_or(&[][..], Tuples::members);
        postcard::to_extend(members, self.values.serialize(out))
            .expect("memory does not refuse bytes")
    }

    /// What [`Distinct::serialize`] wrote of one like this, of so many groups; only to be merged.
    pub(crate) fn deserialize(&self, groups: usize, from: &mut &[u8]) -> Result<Self> {
        let values = Values::deserialize(self.values.ty(), from)?;
        let (members, rest): (Vec<u32>, _) = postcard::take_from_bytes(from)
            .map_err(|_| Error::Corrupt("serialized distinct values are damaged"))?;
        *from = rest;
        let limits = match self.pairs {
            Some(_) => [groups, values.len()],
            None => [0, 0],
        };
        check_members(&members, &limits)?;
        Ok(Self {
            pairs: self
                .pairs
                .as_ref()
                .map(|_| Tuples::without_table(2, members)),
            values,
            ..Self::new(self.values.ty(), false)
        })
    }
}
