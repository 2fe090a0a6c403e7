//! Grouping and aggregates in bounded memory.

use std::rc::Rc;

use crate::aggregate::{Aggregate, Function, Input};
use crate::collation::Collation;
use crate::collect::Collected;
use crate::distinct::Distinct;
use crate::error::{Error, Result};
use crate::group::{Direction, Grouping};
use crate::range::Range;
use crate::rows::owner;
use crate::state::Output;
use crate::vector::{Type, Vector};

/// Groups rows and computes aggregates. When that takes more than its limit of memory, it goes on with a part of
/// the groups, and the rest takes further passes over the same rows:
///
/// ```
/// # use amax_exec::{Aggregator, Function, Input, Type, Vector};
/// # let mut aggregator = Aggregator::new(&[Type::Int], &[(Function::Count, None)], 1000).unwrap();
/// # let batches = vec![vec![1, 2, 1], vec![3]];
/// # let mut groups = 0;
/// loop {
///     for words in &batches {
///         let key = Vector::of_words(Type::Int, words);
///         aggregator.update(words.len(), &[key], &[Input::default()])?;
///     }
///     if aggregator.scan_again() {
///         continue; // with the same rows: one group's distinct values alone exceed the limit
///     }
///     for group in 0..aggregator.grouping().len() {
///         aggregator.output(0, group)?;
/// #       groups += 1;
///     }
///     if !aggregator.next_pass() {
///         break;
///     }
/// }
/// # assert_eq!(groups, 3);
/// # Ok::<(), amax_exec::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Aggregator {
    keys: Vec<Type>,
    grouping: Grouping,
    aggregates: Vec<Aggregate>,
    /// Whether the groups have had a pass.
    again: bool,
    /// Whether distinct values were counted that are not here.
    counted: bool,
    limit: usize,
    /// If passes are by the only key, an integer, in its order.
    order: Option<Direction>,
    /// Up to so many bytes memory has been asked for.
    asked: usize,
    groups: Vec<u32>,
}

/// By what rows are shared out among processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A group's rows belong to one process.
    Keys,
    /// Rows with one of the distinct values that are counted do.
    Values,
}

/// What memory is asked for.
const GROUPS: &str = "groups";

/// Bytes, where all values are kept: their strings end at a place of 32 bits.
const MOST_COLLECTED: usize = 1 << 31;

/// With so many rows for each it is cheaper to merge groups than to send rows.
const ROWS: usize = 8;
/// So few rows tell nothing.
const FEW: usize = 256;

impl Aggregator {
    /// Groups by keys of the given types, with these functions and the types of their arguments, in about
    /// `limit` bytes: what one batch adds comes on top, and a single group is never split but by its distinct values.
    /// `None` if there is no such function.
    pub fn new(keys: &[Type], functions: &[(Function, Option<Type>)], limit: usize) -> Option<Self> {
        let grouped = !keys.is_empty();
        let aggregates = functions
            .iter()
            .map(|&(function, argument)| Aggregate::new(function, argument, grouped));
        let aggregates: Vec<Aggregate> = aggregates.collect::<Option<_>>()?;
        let most = match aggregates.iter().any(|aggregate| aggregate.as_collected().is_some()) {
            true => MOST_COLLECTED,
            false => usize::MAX,
        };
        let limit = limit.min(most);
        let mut aggregator = Self {
            keys: keys.to_vec(),
            grouping: Grouping::new(keys),
            aggregates,
            again: false,
            counted: false,
            limit,
            order: None,
            asked: amax_memory::SMALL,
            groups: Vec::new(),
        };
        aggregator.resize();
        Some(aggregator)
    }

    /// With orders of text that may be others than those of bytes: key `i` of the collation is that of aggregate `i`.
    #[must_use]
    pub fn with_collation(mut self, collation: &Rc<dyn Collation>) -> Self {
        for (key, aggregate) in self.aggregates.iter_mut().enumerate() {
            aggregate.set_collation(collation, key);
        }
        self
    }

    /// Has each pass do groups whose only key, an integer, is next to each other, so that rows in that order have their groups in few
    /// passes each. What [`Aggregator::words`] says then is all that a pass needs.
    pub fn take_in_order(&mut self, order: Option<Direction>) {
        self.order = order.filter(|_| self.keys == [Type::Int]);
    }

    /// The keys from the first to the last that a pass after the first needs, if they are next to each other.
    pub fn words(&self) -> Option<(i64, i64)> {
        self.grouping.range().words()
    }

    /// Rows of the pass whose keys are from one to another were left out, as it needs other ones now: a later pass has to have them.
    pub fn pass_over(&mut self, least: i64, most: i64) {
        self.grouping.pass_over(least, most);
    }

    fn resize(&mut self) {
        for aggregate in &mut self.aggregates {
            aggregate.resize(self.grouping.len());
        }
    }

    /// The groups of this pass, of which not all may be complete before its end.
    pub fn grouping(&self) -> &Grouping {
        &self.grouping
    }

    /// The result of an aggregate for a group.
    ///
    /// # Errors
    /// [`Error::NumericOverflow`].
    pub fn output(&self, aggregate: usize, group: usize) -> Result<Output> {
        self.aggregates[aggregate].output(group)
    }

    /// The result for a group as a mantissa and a scale, or NULL; None if it is no number, if its final function may say
    /// otherwise (an average is its sum here) or if it might be an error.
    pub fn number(&self, aggregate: usize, group: usize) -> Option<Option<(i128, u16)>> {
        self.aggregates[aggregate].number(group)
    }

    /// Of an aggregate that keeps all values: those of a group, in the order of rows, but for those that were taken away.
    /// None of any other.
    pub fn collected(&self, aggregate: usize, group: usize) -> Option<Vector<'_>> {
        Some(self.aggregates[aggregate].as_collected()?.values(group))
    }

    /// To be called after the last row, before [`Aggregator::collected`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; the aggregator is then of no use.
    pub fn arrange(&mut self) -> Result<()> {
        let mut collected = self.aggregates.iter_mut().filter_map(Aggregate::collected);
        collected.try_for_each(Collected::arrange)
    }

    /// Whether the only group takes more memory than all may.
    pub fn is_full(&self) -> bool {
        self.grouping.len() == 1 && self.bytes_used() > self.limit
    }

    /// Takes the values away that an aggregate has kept of the only group; what `visit` makes of them.
    ///
    /// # Panics
    /// If it does not keep all values.
    pub fn take_values<R>(&mut self, aggregate: usize, visit: impl FnOnce(&Vector<'_>) -> R) -> R {
        let collected = self.aggregates[aggregate].collected();
        collected.expect("an aggregate that keeps values").take(visit)
    }

    /// The group that values of an aggregate have been taken away of, if it is still there.
    pub fn taken(&self, aggregate: usize) -> Option<u32> {
        self.aggregates[aggregate].as_collected()?.taken()
    }

    /// Of all groups and states; what is kept for a batch is not counted, nor what vectors have allocated beyond their
    /// ends, which nothing has touched yet.
    pub fn bytes_used(&self) -> usize {
        let aggregates = self.aggregates.iter().map(Aggregate::bytes_used);
        self.grouping.bytes_used() + aggregates.sum::<usize>()
    }

    /// Adds the `n` rows of a batch: the keys, and an input for each aggregate.
    ///
    /// # Errors
    /// Any [`Error`]; the aggregator is then of no use.
    ///
    /// # Panics
    /// If vectors are not of the declared types, or not `n` long.
    pub fn update(&mut self, n: usize, keys: &[Vector<'_>], inputs: &[Input<'_>]) -> Result<()> {
        assert_eq!(inputs.len(), self.aggregates.len(), "aggregates of a batch");
        self.room(0)?;
        let mut groups = std::mem::take(&mut self.groups);
        self.grouping.assign(keys, n, &mut groups)?;
        self.resize();
        for (aggregate, input) in self.aggregates.iter_mut().zip(inputs) {
            if !self.again || aggregate.distinct().is_some() {
                aggregate.update(&groups, input)?;
            }
        }
        self.groups = groups;
        self.shrink()
    }

    /// Asks for the memory that vectors take when they grow: they double, and have their old memory until they have
    /// moved.
    fn room(&mut self, more: usize) -> Result<()> {
        let bytes = self.bytes_used() + more;
        amax_memory::check(GROUPS)?;
        if bytes > self.asked {
            amax_memory::ask(2 * bytes, GROUPS)?;
            self.asked = bytes + bytes / 4 + amax_memory::SMALL;
        }
        Ok(())
    }

    /// Halves the range of groups, or of the values of the only one, until the limit is kept.
    fn shrink(&mut self) -> Result<()> {
        while self.bytes_used() > self.limit {
            amax_memory::check(GROUPS)?;
            if let Some(order) = self.order.filter(|_| self.grouping.range().is_all()) {
                self.grouping.order(order);
            }
            let groups = self.grouping.half();
            if let (true, Some(groups)) = (self.grouping.len() > 1, groups) {
                self.narrow_groups(groups)?;
                continue;
            }
            match self.values() {
                Some((values, range)) if values > 1 => match range.halve() {
                    Some(range) => self.narrow_values(range)?,
                    None => break,
                },
                _ => break,
            }
        }
        Ok(())
    }

    /// The most values any count of distinct ones holds, and the range of their hashes with all that was seen.
    fn values(&self) -> Option<(usize, Range)> {
        let distinct = self.aggregates.iter().filter_map(Aggregate::as_distinct);
        distinct
            .map(|distinct| (distinct.values(), distinct.range()))
            .reduce(|(values, range), (other, seen)| (values.max(other), range.join(&seen).unwrap_or(range)))
    }

    fn narrow_groups(&mut self, range: Range) -> Result<()> {
        let keep = self.grouping.narrow(range)?;
        let mut aggregates = self.aggregates.iter_mut();
        aggregates.try_for_each(|aggregate| aggregate.retain(&keep))
    }

    fn narrow_values(&mut self, range: Range) -> Result<()> {
        let mut distinct = self.aggregates.iter_mut().filter_map(Aggregate::distinct);
        distinct.try_for_each(|distinct| distinct.narrow(range))
    }

    /// To be called after the last row: whether the groups need all rows once more before they are complete.
    pub fn scan_again(&mut self) -> bool {
        let Some(next) = self.values().and_then(|(_, range)| range.next()) else {
            return false;
        };
        self.again = true;
        let distinct = self.aggregates.iter_mut().filter_map(Aggregate::distinct);
        distinct.for_each(|distinct| distinct.restart(next));
        true
    }

    /// To be called when the groups are complete and done with: whether there are more, which need all rows
    /// again. The groups so far are gone then.
    pub fn next_pass(&mut self) -> bool {
        let next = self.grouping.range().next();
        if let Some(groups) = next {
            self.start(groups);
        }
        next.is_some()
    }

    /// Begins anew with no groups, as for the first pass.
    pub fn restart(&mut self) {
        self.start(Range::ALL);
    }

    /// Begins this pass anew.
    pub fn begin_again(&mut self) {
        self.start(self.grouping.range());
    }

    fn start(&mut self, groups: Range) {
        self.counted = false;
        self.grouping.restart(groups);
        for aggregate in &mut self.aggregates {
            aggregate.restart(Range::ALL);
        }
        self.again = false;
        self.resize();
    }

    /// Adds what a worker has made of other rows. What is not of this pass is left out, as rows are.
    ///
    /// # Errors
    /// Any [`Error`]; the aggregator is then of no use.
    pub fn merge(&mut self, sent: &Sent) -> Result<()> {
        let other = &sent.0;
        if self.keys != other.keys || self.aggregates.len() != other.aggregates.len() {
            return Err(Error::Corrupt("aggregates to merge differ"));
        }
        let keys: Vec<Vector<'_>> = (0..other.keys.len())
            .map(|column| other.grouping.keys(column))
            .collect();
        self.add_groups(other, &keys)?;
        self.counted |= other.counted;
        Ok(())
    }

    /// Adds the groups of another with the same aggregates to those with these keys, one for each.
    pub(crate) fn add_groups(&mut self, other: &Self, keys: &[Vector<'_>]) -> Result<()> {
        self.room(other.bytes_used())?;
        let mut groups = std::mem::take(&mut self.groups);
        self.grouping.assign(keys, other.grouping.len(), &mut groups)?;
        self.resize();
        for (aggregate, other) in self.aggregates.iter_mut().zip(&other.aggregates) {
            if !self.again || aggregate.distinct().is_some() {
                aggregate.merge(other, &groups)?;
            }
        }
        self.groups = groups;
        self.shrink()
    }

    /// Makes a group of which there need be no row, unless it is there or of another pass.
    pub(crate) fn add_group(&mut self, keys: &[Vector<'_>]) -> Result<()> {
        self.grouping.assign(keys, 1, &mut Vec::new())?;
        self.resize();
        self.shrink()
    }

    /// By what rows are best shared out, after so many: None while it is better that each process has groups of its
    /// own, as these take fewer bytes than `least` or will not become many more.
    pub fn share(&self, rows: usize, least: usize) -> Option<By> {
        let are_many = |n: usize| n.saturating_mul(ROWS) > rows;
        if rows < FEW || self.bytes_used() < least {
            return None;
        }
        if !self.keys.is_empty() && are_many(self.grouping.len()) {
            return Some(By::Keys);
        }
        let mut distinct = self.aggregates.iter().filter_map(Aggregate::as_distinct);
        let only = distinct.next().filter(|_| distinct.next().is_none())?;
        are_many(only.values()).then_some(By::Values)
    }

    /// The aggregate whose values are what rows are shared out by.
    pub fn shared_values(&self) -> Option<usize> {
        let distinct = |aggregate: &Aggregate| aggregate.as_distinct().is_some();
        self.aggregates.iter().position(distinct)
    }

    /// Keeps what belongs to process `me` of `parts`. What belongs to each other one is returned, serialized; of a
    /// leader's pass it is what the pass is about.
    ///
    /// # Errors
    /// [`Error::Limit`]; the aggregator is then of no use.
    pub fn divide(&mut self, by: By, parts: u32, me: u32) -> Result<Vec<(u32, Vec<u8>)>> {
        let hashes: Vec<u64> = match by {
            By::Keys => (0..self.grouping.len()).map(|g| self.grouping.hash(g)).collect(),
            By::Values => self
                .aggregates
                .iter()
                .find_map(Aggregate::as_distinct)
                .map_or_else(Vec::new, Distinct::hashes),
        };
        let belongs = |part: u32| -> Vec<bool> { hashes.iter().map(|&hash| owner(hash, parts) == part).collect() };
        let mut others = Vec::new();
        for part in (0..parts).filter(|&part| part != me) {
            amax_memory::ask(2 * self.bytes_used(), GROUPS)?;
            let mut other = self.clone();
            if by == By::Values {
                // Other aggregates of these rows stay where they are.
                let groups = other.grouping.len();
                let plain = other.aggregates.iter_mut().filter(|a| a.as_distinct().is_none());
                plain.for_each(|aggregate| aggregate.clear(groups));
            }
            other.keep(by, &belongs(part))?;
            others.push((part, other.write(false)?));
        }
        self.keep(by, &belongs(me))?;
        Ok(others)
    }

    fn keep(&mut self, by: By, keep: &[bool]) -> Result<()> {
        match by {
            By::Keys => self.retain(keep),
            By::Values => {
                let mut distinct = self.aggregates.iter_mut().filter_map(Aggregate::distinct);
                distinct.try_for_each(|distinct| distinct.retain_values(keep))
            }
        }
    }

    /// Leaves out the groups that `keep` does not say.
    ///
    /// # Errors
    /// [`Error::Limit`]; the aggregator is then of no use.
    pub fn retain(&mut self, keep: &[bool]) -> Result<()> {
        self.grouping.retain(keep)?;
        let mut aggregates = self.aggregates.iter_mut();
        aggregates.try_for_each(|aggregate| aggregate.retain(keep))
    }

    /// Whether this pass leaves out groups.
    pub fn is_narrowed(&self) -> bool {
        !self.grouping.range().is_all()
    }

    /// Whether values were counted elsewhere of which some should wait for another pass: the pass has to begin again,
    /// with values sent.
    pub fn is_spoiled(&self) -> bool {
        self.counted && self.values().is_some_and(|(_, range)| !range.is_all())
    }

    /// All groups and states of a worker, which has no limit, for [`Aggregator::deserialize`]. Distinct values are sent
    /// as their counts if they are `counted`: then nobody else may have any of them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    ///
    /// # Panics
    /// If groups were left out.
    pub fn serialize(&self, counted: bool) -> Result<Vec<u8>> {
        let values = self.values().is_none_or(|(_, range)| range.is_all());
        assert!(self.grouping.range().is_all() && values && !self.again);
        self.write(counted)
    }

    fn write(&self, counted: bool) -> Result<Vec<u8>> {
        amax_memory::ask(2 * self.bytes_used(), GROUPS)?;
        let mut out = self.grouping.serialize(Vec::new());
        for aggregate in &self.aggregates {
            amax_memory::check(GROUPS)?;
            out = aggregate.serialize(counted, out);
        }
        Ok(out)
    }

    /// What a worker with the keys and functions of this one has serialized.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if `bytes` are not that.
    pub fn deserialize(&self, bytes: &[u8]) -> Result<Sent> {
        let mut rest = bytes;
        amax_memory::ask(2 * bytes.len(), GROUPS)?;
        let grouping = Grouping::deserialize(&self.keys, &mut rest)?;
        let aggregates: Result<Vec<Aggregate>> = self
            .aggregates
            .iter()
            .map(|aggregate| aggregate.deserialize(grouping.len(), &mut rest))
            .collect();
        let aggregates = aggregates?;
        if !rest.is_empty() {
            return Err(Error::Corrupt("serialized aggregates are damaged"));
        }
        let mut distinct = aggregates.iter().filter_map(Aggregate::as_distinct);
        Ok(Sent(Self {
            counted: distinct.any(Distinct::is_counted),
            keys: self.keys.clone(),
            grouping,
            aggregates,
            again: false,
            limit: self.limit,
            order: self.order,
            asked: amax_memory::SMALL,
            groups: Vec::new(),
        }))
    }
}

/// What a worker sent: only to be merged, since nothing can be looked up in it.
#[derive(Clone, Debug)]
pub struct Sent(Aggregator);
