//! count(distinct value).

use crate::codes::{Codes, limit};
use crate::error::{Error, Result};
use crate::range::Range;
use crate::state::Output;
use crate::store::hash_row;
use crate::table::{NONE, renumbered};
use crate::tuples::{Tuples, check_members};
use crate::values::Values;
use crate::vector::{Type, View};

/// The pairs of a group and a value of it, counted by group.
#[derive(Clone, Debug)]
pub(crate) struct Distinct {
    values: Values,
    pairs: Pairs,
    counts: Vec<i64>,
    /// Of the hashes of values that are counted in this pass.
    range: Range,
    seen: Vec<bool>,
    numbers: Vec<u32>,
    numbered: Vec<u32>,
    rows: Vec<u32>,
}

#[derive(Clone, Debug)]
enum Pairs {
    /// Without grouping every value makes one.
    Values,
    /// The groups of each value as bits, as long as there are few groups.
    Masks(Vec<u64>),
    Tuples(Tuples),
}

/// Groups that masks have bits for.
const BITS: usize = u64::BITS as usize;

/// The bits of a mask that are set.
fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros());
        mask &= mask.wrapping_sub(1);
        bit
    })
}

impl Pairs {
    fn new(grouped: bool) -> Self {
        if grouped { Self::Masks(Vec::new()) } else { Self::Values }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Values => 0,
            Self::Masks(masks) => masks.len() * 8,
            Self::Tuples(tuples) => tuples.heap_bytes(),
        }
    }

    /// Calls `visit` with every group and value.
    fn each(&self, mut visit: impl FnMut(u32, u32)) {
        match self {
            Self::Values => {}
            Self::Masks(masks) => {
                for (value, &mask) in masks.iter().enumerate() {
                    bits(mask).for_each(|group| visit(group, value as u32));
                }
            }
            Self::Tuples(tuples) => {
                let pairs = tuples.members().chunks_exact(2);
                pairs.for_each(|pair| visit(pair[0], pair[1]));
            }
        }
    }

    /// Groups or values are numbered anew, or gone, which is [`NONE`].
    fn renumber(&mut self, groups: impl Fn(u32) -> u32, values: &[u32]) {
        match self {
            Self::Values => {}
            Self::Masks(masks) => {
                let kept = masks.iter().zip(values).filter(|&(_, &to)| to != NONE);
                let moved = kept.map(|(&mask, _)| {
                    let groups = bits(mask).map(&groups).filter(|&group| group != NONE);
                    groups.fold(0, |mask, group| mask | 1 << group)
                });
                *masks = moved.collect();
            }
            Self::Tuples(tuples) => tuples.retain(|pair| {
                let (group, value) = (groups(pair[0]), values[pair[1] as usize]);
                pair.copy_from_slice(&[group, value]);
                group != NONE && value != NONE
            }),
        }
    }
}

impl Distinct {
    pub(crate) fn new(ty: Type, grouped: bool) -> Self {
        Self {
            values: Values::new(ty),
            pairs: Pairs::new(grouped),
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
        if groups > BITS && matches!(self.pairs, Pairs::Masks(_)) {
            let mut members = Vec::new();
            self.pairs.each(|group, value| members.extend([group, value]));
            self.pairs = Pairs::Tuples(Tuples::of_members(2, members));
        }
    }

    pub(crate) fn bytes_used(&self) -> usize {
        self.values.heap_bytes() + self.pairs.heap_bytes() + self.counts.len() * 8
    }

    pub(crate) fn values(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn range(&self) -> Range {
        self.range
    }

    /// Of what another process sent: whether its values are counted, and not known.
    pub(crate) fn is_counted(&self) -> bool {
        !self.counts.is_empty()
    }

    pub(crate) fn output(&self, group: usize) -> Output {
        Output::Count(self.counts[group])
    }

    /// Adds the values of a batch to `groups`; rows that are NULL have none.
    pub(crate) fn update(&mut self, groups: &[u32], view: &View<'_>) -> Result<()> {
        self.values.check(view)?;
        if let Some(codes) = Codes::of(view)
            && self.counts.len().saturating_mul(codes.len()) <= limit(groups.len())
        {
            let len = codes.len();
            return match view.valid {
                None => self.update_by_code(groups, view, len, codes.dense(view)),
                Some(valid) => self.update_by_code(groups, view, len, codes.nullable(view, valid)),
            };
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
        match &mut self.pairs {
            Pairs::Values => self.counts[0] += (self.values.len() - before) as i64,
            Pairs::Masks(masks) => {
                masks.resize(self.values.len(), 0);
                for (&group, &number) in groups.iter().zip(numbers) {
                    if let Some(mask) = masks.get_mut(number as usize) {
                        let bit = 1 << group;
                        self.counts[group as usize] += i64::from(*mask & bit == 0);
                        *mask |= bit;
                    }
                }
            }
            Pairs::Tuples(pairs) => {
                let before = pairs.len();
                let rows = (0..numbers.len() as u32).filter(|&row| numbers[row as usize] != NONE);
                self.rows.clear();
                self.rows.extend(rows);
                self.numbered.resize(numbers.len(), 0);
                pairs.numbers(&[groups, numbers], &self.rows, &mut self.numbered)?;
                for pair in before..pairs.len() {
                    self.counts[pairs.get(pair)[0] as usize] += 1;
                }
            }
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
        if !self.range.is_all() && !self.range.admit(hash_row(view, row)) {
            return Ok(());
        }
        let before = self.values.len();
        let number = self.values.number(view, row)?;
        self.add_pairs(&[group], &[number], before)
    }

    /// Adds the pairs of another, whose group `g` is `groups[g]` here.
    pub(crate) fn merge(&mut self, other: &Self, groups: &[u32]) -> Result<()> {
        for (&count, &group) in other.counts.iter().zip(groups) {
            if let Some(to) = self.counts.get_mut(group as usize) {
                *to += count;
            }
        }
        let vector = other.values.vector();
        let before = self.values.len();
        if matches!(other.pairs, Pairs::Values) {
            let mut numbers = vec![0; other.values.len()];
            self.values.numbers(&vector.view(), &mut self.range, &mut numbers)?;
            return self.add_pairs(&[], &[], before);
        }
        // Values of other groups alone are not ours to keep.
        let mut numbers = vec![NONE; other.values.len()];
        other.pairs.each(|group, value| {
            if groups[group as usize] != NONE {
                numbers[value as usize] = 0;
            }
        });
        self.values.numbers(&vector.view(), &mut self.range, &mut numbers)?;
        let (mut to_groups, mut to_values) = (Vec::new(), Vec::new());
        other.pairs.each(|group, value| {
            let (group, value) = (groups[group as usize], numbers[value as usize]);
            if group != NONE && value != NONE {
                to_groups.push(group);
                to_values.push(value);
            }
        });
        self.add_pairs(&to_groups, &to_values, before)
    }

    /// Leaves out the groups that `keep` does not say.
    pub(crate) fn retain(&mut self, keep: &[bool]) -> Result<()> {
        let moved = renumbered(keep);
        let mut kept = keep.iter();
        self.counts.retain(|_| kept.next() == Some(&true));
        self.counts.shrink_to_fit();
        let mut used = vec![matches!(self.pairs, Pairs::Values); self.values.len()];
        self.pairs
            .each(|group, value| used[value as usize] |= keep[group as usize]);
        let values = self.values.retain(&used)?;
        self.pairs.renumber(|group| moved[group as usize], &values);
        Ok(())
    }

    /// Takes back the values that are not in `range`, which is part of the present one.
    pub(crate) fn narrow(&mut self, range: Range) -> Result<()> {
        self.range = range;
        let hashes = self.hashes();
        let keep: Vec<bool> = hashes.into_iter().map(|hash| self.range.admit(hash)).collect();
        self.retain_values(&keep)
    }

    /// The values' hashes, by number.
    pub(crate) fn hashes(&self) -> Vec<u64> {
        let values = 0..self.values.len() as u32;
        values.map(|value| self.values.hash(value)).collect()
    }

    /// Takes back the values that `keep` does not say.
    pub(crate) fn retain_values(&mut self, keep: &[bool]) -> Result<()> {
        match &self.pairs {
            Pairs::Values => {
                self.counts[0] -= keep.iter().filter(|&&keep| !keep).count() as i64;
            }
            pairs => pairs.each(|group, value| {
                self.counts[group as usize] -= i64::from(!keep[value as usize]);
            }),
        }
        let values = self.values.retain(keep)?;
        self.pairs.renumber(|group| group, &values);
        Ok(())
    }

    /// Goes on to count the values of another range.
    pub(crate) fn restart(&mut self, range: Range) {
        let fresh = Self::new(self.values.ty(), !matches!(self.pairs, Pairs::Values));
        let counts = std::mem::take(&mut self.counts);
        *self = Self { counts, range, ..fresh };
    }

    /// If nobody else has any of the values their counts will do.
    pub(crate) fn serialize(&self, counted: bool, out: Vec<u8>) -> Vec<u8> {
        if counted {
            return Self::new(self.values.ty(), false).write(&self.counts, out);
        }
        self.write(&[], out)
    }

    fn write(&self, counts: &[i64], out: Vec<u8>) -> Vec<u8> {
        let (masks, members) = match &self.pairs {
            Pairs::Values => (&[][..], &[][..]),
            Pairs::Masks(masks) => (&masks[..], &[][..]),
            Pairs::Tuples(tuples) => (&[][..], tuples.members()),
        };
        postcard::to_extend(&(masks, members, counts), self.values.serialize(out))
            .expect("memory does not refuse bytes")
    }

    /// What [`Distinct::serialize`] wrote of one like this, of so many groups; only to be merged.
    pub(crate) fn deserialize(&self, groups: usize, from: &mut &[u8]) -> Result<Self> {
        let values = Values::deserialize(self.values.ty(), from)?;
        type Sent = (Vec<u64>, Vec<u32>, Vec<i64>);
        let ((masks, members, counts), rest): (Sent, _) = postcard::take_from_bytes(from).map_err(|_| DAMAGED)?;
        *from = rest;
        check_members(&members, &[groups, values.len()])?;
        let beyond = u64::MAX.checked_shl(groups as u32).unwrap_or(0);
        let counted = counts.len() == groups || counts.is_empty();
        if masks.len() > values.len() || masks.iter().any(|mask| mask & beyond != 0) || !counted {
            return Err(DAMAGED);
        }
        let pairs = match &self.pairs {
            Pairs::Values => Pairs::Values,
            _ if members.is_empty() => Pairs::Masks(masks),
            _ => Pairs::Tuples(Tuples::without_table(2, members)),
        };
        Ok(Self {
            pairs,
            values,
            counts,
            ..Self::new(self.values.ty(), false)
        })
    }
}

const DAMAGED: Error = Error::Corrupt("serialized distinct values are damaged");
