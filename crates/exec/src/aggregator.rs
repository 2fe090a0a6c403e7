//! Grouping and aggregates in bounded memory.

use crate::aggregate::{Aggregate, Function};
use crate::error::{Error, Result};
use crate::group::Grouping;
use crate::range::Range;
use crate::state::Output;
use crate::vector::{Type, Vector};

/// An aggregate of a batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Input<'a> {
    /// What it is computed of, if of anything.
    pub argument: Option<&'a Vector<'a>>,
    /// Its FILTER.
    pub filter: Option<&'a [bool]>,
}

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
    limit: usize,
    groups: Vec<u32>,
}

impl Aggregator {
    /// Groups by keys of the given types, with these functions and the types of their arguments, in about
    /// `limit` bytes: what one batch adds comes on top, and a single group is never split but by its distinct values.
    /// `None` if there is no such function.
    pub fn new(
        keys: &[Type],
        functions: &[(Function, Option<Type>)],
        limit: usize,
    ) -> Option<Self> {
        let grouped = !keys.is_empty();
        let aggregates = functions
            .iter()
            .map(|&(function, argument)| Aggregate::new(function, argument, grouped));
        let mut aggregator = Self {
            keys: keys.to_vec(),
            grouping: Grouping::new(keys),
            aggregates: aggregates.collect::<Option<_>>()?,
            again: false,
            limit,
            groups: Vec::new(),
        };
        aggregator.resize();
        Some(aggregator)
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

    /// Of all groups and states; what is kept for a batch is not counted, nor what vectors have allocated beyond their ends, which
    /// nothing has touched yet.
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
        let mut groups = std::mem::take(&mut self.groups);
        self.grouping.assign(keys, n, &mut groups)?;
        self.resize();
        for (aggregate, input) in self.aggregates.iter_mut().zip(inputs) {
            if !self.again || aggregate.distinct().is_some() {
                aggregate.update(&groups, input.argument, input.filter)?;
            }
        }
        self.groups = groups;
        self.shrink()
    }

    /// Halves the range of groups, or of the values of the only one, until the limit is kept.
    fn shrink(&mut self) -> Result<()> {
        while self.bytes_used() > self.limit {
            let groups = self.grouping.range().halve();
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
            .reduce(|(values, range), (other, seen)| {
                (values.max(other), range.join(&seen).unwrap_or(range))
            })
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

    fn start(&mut self, groups: Range) {
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
        let mut groups = std::mem::take(&mut self.groups);
        self.grouping
            .assign(&keys, other.grouping.len(), &mut groups)?;
        self.resize();
        for (aggregate, other) in self.aggregates.iter_mut().zip(&other.aggregates) {
            if !self.again || aggregate.distinct().is_some() {
                aggregate.merge(other, &groups)?;
            }
        }
        self.groups = groups;
        self.shrink()
    }

    /// All groups and states of a worker, which has no limit, for [`Aggregator::deserialize`].
    ///
    /// # Panics
    /// If groups were left out.
    pub fn serialize(&self) -> Vec<u8> {
        let values = self.values().is_none_or(|(_, range)| range.is_all());
        assert!(self.grouping.range().is_all() && values && !self.again);
        let mut out = self.grouping.serialize(Vec::new());
        for aggregate in &self.aggregates {
            out = aggregate.serialize(out);
        }
        out
    }

    /// What a worker with the keys and functions of this one has serialized.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if `bytes` are not that.
    pub fn deserialize(&self, bytes: &[u8]) -> Result<Sent> {
        let mut rest = bytes;
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
        Ok(Sent(Self {
            keys: self.keys.clone(),
            grouping,
            aggregates,
            again: false,
            limit: self.limit,
            groups: Vec::new(),
        }))
    }
}

/// What a worker sent: only to be merged, since nothing can be looked up in it.
#[derive(Clone, Debug)]
pub struct Sent(Aggregator);
