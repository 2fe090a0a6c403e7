//! Aggregates of all of a group's values, such as percentiles, arrays and lists: here the values are kept.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::range::Range;
use crate::state::Output;
use crate::table::{NONE, renumbered};
use crate::vector::{LARGE, StringTable, Type, Vector, View};

/// The values of all groups, in the order of rows.
#[derive(Clone, Debug)]
pub(crate) struct Collected {
    ty: Type,
    /// Whether NULLs are kept too.
    nulls: bool,
    /// Whether rows say which group they are of; else there is one.
    grouped: bool,
    groups: usize,
    rows: Log,
    /// The group that some values of have been taken away.
    taken: Option<u32>,
    /// Rows by group: where each begins, one more, and the rows.
    starts: Vec<u32>,
    order: Vec<u32>,
}

/// Columns.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Log {
    groups: Vec<u32>,
    words: Vec<i64>,
    /// Of all rows, as long as it is the same.
    scale: u16,
    scales: Vec<u16>,
    valid: Vec<bool>,
    ends: Vec<u32>,
    data: Vec<u8>,
}

/// A single group has no more bytes of strings: no result is as long. Several have not either ([`crate::Aggregator::new`]).
const MOST_BYTES: usize = u32::MAX as usize;
/// What memory is asked for.
const VALUES: &str = "values of groups";
/// Bytes of what is made of a value of the group that is finished, at most.
const OF_A_GROUP: usize = 64;
const TOO_MANY: Error = Error::Limit("values");
const DAMAGED: Error = Error::Corrupt("serialized values are damaged");

impl Log {
    fn bytes(&self) -> usize {
        let columns = self.groups.len() * 4 + self.words.len() * 8 + self.scales.len() * 2 + self.valid.len();
        columns + self.ends.len() * 4 + self.data.len()
    }

    fn push_string(&mut self, string: &[u8]) -> Result<i64> {
        if self.data.len() + string.len() > MOST_BYTES {
            return Err(TOO_MANY);
        }
        self.data.extend_from_slice(string);
        self.ends.push(self.data.len() as u32);
        Ok(self.ends.len() as i64 - 1)
    }

    /// Makes room for display scales that differ.
    fn spread_scales(&mut self) {
        if self.scales.is_empty() {
            self.scales = vec![self.scale; self.words.len()];
        }
    }

    /// The strings of a batch: their numbers here, by row or, of a dictionary, by code.
    fn add_strings(&mut self, groups: &[u32], view: &View<'_>, is_string: impl Fn(usize) -> bool) -> Result<()> {
        let mut known = vec![-1; if view.dictionary { view.strings() } else { 0 }];
        for (row, &group) in groups.iter().enumerate() {
            if group == NONE {
                continue;
            }
            if !view.is_valid(row) || !is_string(row) {
                self.words.push(view.words[row]);
                continue;
            }
            let word = match known.get_mut(view.words[row] as usize) {
                Some(known) if *known >= 0 => *known,
                Some(known) => {
                    *known = self.push_string(view.string(row))?;
                    *known
                }
                None => self.push_string(view.string(row))?,
            };
            self.words.push(word);
        }
        Ok(())
    }

    /// Whether all of it is as [`Collected::update`] leaves it.
    fn is_sound(&self, ty: Type, nulls: bool, grouped: bool, groups: usize) -> bool {
        let n = self.words.len();
        let of_rows = |len: usize, there: bool| len == if there { n } else { 0 };
        let scale = |row: usize| self.scales.get(row).copied().unwrap_or(self.scale);
        let valid = |row: usize| self.valid.get(row).copied().unwrap_or(true);
        let is_string = |row: usize| ty == Type::Text || ty == Type::Numeric && scale(row) == LARGE;
        of_rows(self.groups.len(), grouped)
            && self.groups.iter().all(|&group| (group as usize) < groups)
            && (self.scales.is_empty() || self.scales.len() == n)
            && of_rows(self.valid.len(), nulls)
            && self.ends.is_sorted()
            && self.ends.last().is_none_or(|&end| end as usize <= self.data.len())
            && (0..n).all(|row| !valid(row) || !is_string(row) || (self.words[row] as usize) < self.ends.len())
    }
}

impl Collected {
    pub(crate) fn new(ty: Type, nulls: bool, grouped: bool) -> Self {
        Self {
            ty,
            nulls,
            grouped,
            groups: 0,
            rows: Log::default(),
            taken: None,
            starts: Vec::new(),
            order: Vec::new(),
        }
    }

    pub(crate) fn keeps_nulls(&self) -> bool {
        self.nulls
    }

    pub(crate) fn resize(&mut self, groups: usize) {
        self.groups = groups;
    }

    pub(crate) fn bytes_used(&self) -> usize {
        self.rows.bytes()
    }

    /// Adds the values of a batch to `groups`.
    pub(crate) fn update(&mut self, groups: &[u32], view: &View<'_>) -> Result<()> {
        let rows = &mut self.rows;
        if rows.words.len() + groups.len() > u32::MAX as usize {
            return Err(TOO_MANY);
        }
        let of_groups = || groups.iter().enumerate().filter(|&(_, &group)| group != NONE);
        let all = !groups.contains(&NONE);
        if self.ty == Type::Numeric {
            let known = rows.words.len();
            if known == 0 {
                rows.scale = of_groups().next().map_or(0, |(row, _)| view.scale(row));
            }
            let scale = rows.scale;
            if !rows.scales.is_empty() || of_groups().any(|(row, _)| view.is_valid(row) && view.scale(row) != scale) {
                rows.spread_scales();
                rows.scales.extend(of_groups().map(|(row, _)| view.scale(row)));
            }
        }
        match self.ty {
            Type::Text => rows.add_strings(groups, view, |_| true)?,
            Type::Numeric if view.strings() > 0 => rows.add_strings(groups, view, |row| view.scale(row) == LARGE)?,
            _ if all => rows.words.extend_from_slice(view.words),
            _ => rows.words.extend(of_groups().map(|(row, _)| view.words[row])),
        }
        if self.nulls {
            rows.valid.extend(of_groups().map(|(row, _)| view.is_valid(row)));
        }
        if self.grouped && all {
            rows.groups.extend_from_slice(groups);
        } else if self.grouped {
            rows.groups.extend(of_groups().map(|(_, &group)| group));
        }
        Ok(())
    }

    fn vector<'a>(&'a self, places: Option<&[u32]>) -> Vector<'a> {
        fn at<'a, T: Copy>(values: &'a [T], places: Option<&[u32]>) -> std::borrow::Cow<'a, [T]> {
            match places {
                None => values.into(),
                Some(places) => places.iter().map(|&place| values[place as usize]).collect(),
            }
        }
        let rows = &self.rows;
        let mut vector = Vector::of_words(self.ty, at(&rows.words, places));
        if self.ty == Type::Numeric {
            vector.scales = Some(match rows.scales.is_empty() {
                true => vec![rows.scale; vector.len()].into(),
                false => at(&rows.scales, places),
            });
        }
        vector.valid = self.nulls.then(|| at(&rows.valid, places));
        vector.strings = Some(StringTable::new(&rows.ends, &rows.data));
        vector.dictionary = self.ty == Type::Text && rows.ends.len() < rows.words.len();
        vector
    }

    /// Says which rows are of which group, once all have been added.
    pub(crate) fn arrange(&mut self) -> Result<()> {
        self.order.clear();
        self.starts.clear();
        if !self.grouped {
            return Ok(amax_memory::ask(self.rows.words.len() * OF_A_GROUP, VALUES)?);
        }
        amax_memory::ask(self.rows.words.len() * 4 + self.groups * 8, VALUES)?;
        self.starts = vec![0; self.groups + 1];
        for &group in &self.rows.groups {
            self.starts[group as usize + 1] += 1;
        }
        for group in 0..self.groups {
            self.starts[group + 1] += self.starts[group];
        }
        let mut next = self.starts.clone();
        self.order = vec![0; self.rows.groups.len()];
        for (row, &group) in (0_u32..).zip(&self.rows.groups) {
            let place = &mut next[group as usize];
            self.order[*place as usize] = row;
            *place += 1;
        }
        let lengths = self.starts.windows(2).map(|ends| ends[1] - ends[0]);
        let most = lengths.max().unwrap_or(0) as usize;
        Ok(amax_memory::ask(most * OF_A_GROUP, VALUES)?)
    }

    /// The values of a group, in the order of rows, as [`Collected::arrange`] has found them.
    pub(crate) fn values(&self, group: usize) -> Vector<'_> {
        if !self.grouped {
            return self.vector(None);
        }
        let of_group = self.starts[group] as usize..self.starts[group + 1] as usize;
        self.vector(Some(&self.order[of_group]))
    }

    /// The group that values have been taken away of.
    pub(crate) fn taken(&self) -> Option<u32> {
        self.taken
    }

    /// Takes all values away, which are of one group; what `visit` gives.
    pub(crate) fn take<R>(&mut self, visit: impl FnOnce(&Vector<'_>) -> R) -> R {
        let found = visit(&self.vector(None));
        self.rows = Log::default();
        self.taken = Some(0);
        found
    }

    /// Leaves out the groups that `keep` does not say.
    pub(crate) fn retain(&mut self, keep: &[bool]) -> Result<()> {
        let moved = renumbered(keep);
        self.taken = self
            .taken
            .map(|group| moved[group as usize])
            .filter(|&group| group != NONE);
        amax_memory::ask(self.rows.bytes(), VALUES)?;
        let old = std::mem::take(self);
        let groups: Vec<u32> = match old.grouped {
            true => old.rows.groups.iter().map(|&group| moved[group as usize]).collect(),
            false => vec![moved.first().copied().unwrap_or(NONE); old.rows.words.len()],
        };
        *self = Self {
            taken: old.taken,
            groups: keep.iter().filter(|&&keep| keep).count(),
            ..Self::new(old.ty, old.nulls, old.grouped)
        };
        self.update(&groups, &old.vector(None).view())
    }

    /// There is no other result than the values.
    pub(crate) fn output(&self, _group: usize) -> Output {
        Output::Null
    }

    /// Forgets all.
    pub(crate) fn restart(&mut self, _: Range) {
        *self = Self::new(self.ty, self.nulls, self.grouped);
    }

    /// Adds the values of another, whose rows come after these.
    pub(crate) fn merge(&mut self, other: &Self, groups: &[u32]) -> Result<()> {
        let to: Vec<u32> = match other.grouped {
            true => other.rows.groups.iter().map(|&group| groups[group as usize]).collect(),
            false => vec![groups.first().copied().unwrap_or(NONE); other.rows.words.len()],
        };
        self.update(&to, &other.vector(None).view())
    }

    pub(crate) fn serialize(&self, _counted: bool, out: Vec<u8>) -> Vec<u8> {
        postcard::to_extend(&self.rows, out).expect("memory does not refuse bytes")
    }

    /// What [`Collected::serialize`] wrote of one like this, of so many groups.
    pub(crate) fn deserialize(&self, groups: usize, from: &mut &[u8]) -> Result<Self> {
        let (rows, rest): (Log, _) = postcard::take_from_bytes(from).map_err(|_| DAMAGED)?;
        *from = rest;
        if !rows.is_sound(self.ty, self.nulls, self.grouped, groups) {
            return Err(DAMAGED);
        }
        Ok(Self {
            rows,
            groups,
            ..Self::new(self.ty, self.nulls, self.grouped)
        })
    }
}

impl Default for Collected {
    fn default() -> Self {
        Self::new(Type::Int, false, false)
    }
}
