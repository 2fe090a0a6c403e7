//! Aggregate functions over the groups of a scan.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::builder::VectorBuilder;
use crate::collation::{Collation, TextOrder};
use crate::collect::Collected;
use crate::concat::Concat;
use crate::distinct::Distinct;
use crate::error::{Error, Result};
use crate::pairs::Pairs;
use crate::range::Range;
use crate::spread::NumericMoments;
use crate::state::{
    Accumulated, BoolFold, Count, FloatExtreme, FloatSum, IntFold, IntSum, Moments, NumericExtreme, Output, State,
    TextExtreme, single,
};
use crate::sum::NumericSum;
use crate::table::NONE;
use crate::vector::{Type, Vector, View};

/// What is computed of a group's rows. Those without an argument's value, and those FILTER refuses, are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// count(*), without an argument, and count(value).
    Count,
    /// count(DISTINCT value).
    CountDistinct,
    /// sum; of integers and numerics avg too.
    Sum,
    /// sum of float4, which is not that of float8: each addition is rounded to single precision.
    SumFloat4,
    /// avg, variance and stddev of floats; variance and stddev of integers and numerics.
    Accumulate,
    /// min.
    Min,
    /// max.
    Max,
    /// bool_and, every.
    BoolAnd,
    /// bool_or.
    BoolOr,
    /// bit_and.
    BitAnd,
    /// bit_or.
    BitOr,
    /// bit_xor.
    BitXor,
    /// corr, covar_pop, regr_slope and the like, of two floats.
    Pairs,
    /// string_agg in the order of rows: of texts, each behind its second argument, a text too, but for the first; NULL there is nothing.
    Concat,
    /// Those that keep all values, such as percentile_disc and array_agg: [`crate::Aggregator::collected`].
    Values {
        /// NULLs too.
        nulls: bool,
    },
}

/// An aggregate of a batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Input<'a> {
    /// What it is computed of, if of anything.
    pub argument: Option<&'a Vector<'a>>,
    /// What it is computed of as well. Rows without a float are left out.
    pub second: Option<&'a Vector<'a>>,
    /// Its FILTER.
    pub filter: Option<&'a [bool]>,
}

/// One aggregate's states, by group.
#[derive(Clone, Debug)]
pub struct Aggregate {
    argument: Option<Type>,
    states: States,
    /// Of text, if it is not that of bytes.
    order: Option<TextOrder>,
    /// The groups of a batch, [`NONE`] where the row is left out.
    selected: Vec<u32>,
}

/// Declares the states there are, and evaluates a body for whichever it is.
macro_rules! states {
    ($($name:ident($state:ty),)*) => {
        #[derive(Clone, Debug)]
        enum States {
            $($name(Column<$state>),)*
            Distinct(Box<Distinct>),
            Collected(Box<Collected>),
        }

        macro_rules! with {
            ($states:expr, $column:ident => $body:expr, $other:ident => $otherwise:expr) => {
                match $states {
                    $(States::$name($column) => $body,)*
                    States::Distinct($other) => $otherwise,
                    States::Collected($other) => $otherwise,
                }
            };
        }

        impl States {
            /// What [`Aggregate::serialize`] wrote of states of this kind, of so many groups.
            fn deserialize(&self, groups: usize, from: &mut &[u8]) -> Result<Self> {
                Ok(match self {
                    $(Self::$name(_) => Self::$name(Column::deserialize(groups, from)?),)*
                    Self::Distinct(distinct) => {
                        Self::Distinct(Box::new(distinct.deserialize(groups, from)?))
                    }
                    Self::Collected(collected) => {
                        Self::Collected(Box::new(collected.deserialize(groups, from)?))
                    }
                })
            }

            /// # Errors
            /// If `other` is of another kind.
            fn merge(&mut self, other: &Self, groups: &[u32]) -> Result<()> {
                match (self, other) {
                    $((Self::$name(states), Self::$name(others)) => states.merge(others, groups),)*
                    (Self::Distinct(distinct), Self::Distinct(other)) => {
                        distinct.merge(other, groups)
                    }
                    (Self::Collected(collected), Self::Collected(other)) => {
                        collected.merge(other, groups)
                    }
                    _ => Err(Error::Corrupt("aggregates to merge differ")),
                }
            }
        }
    };
}

states! {
    Count(Count),
    IntSum(IntSum),
    Moments(Moments),
    NumericSum(NumericSum),
    NumericMoments(NumericMoments),
    Float4Sum(FloatSum<true>),
    Float8Sum(FloatSum<false>),
    Accumulated(Accumulated),
    IntMin(IntFold<'<'>),
    IntMax(IntFold<'>'>),
    FloatMin(FloatExtreme<false>),
    FloatMax(FloatExtreme<true>),
    NumericMin(NumericExtreme<false>),
    NumericMax(NumericExtreme<true>),
    TextMin(TextExtreme<false>),
    TextMax(TextExtreme<true>),
    And(BoolFold<false>),
    Or(BoolFold<true>),
    BitAnd(IntFold<'&'>),
    BitOr(IntFold<'|'>),
    BitXor(IntFold<'^'>),
    Pairs(Pairs),
    Concat(Concat),
}

/// States by group.
#[derive(Clone, Debug)]
struct Column<S> {
    states: Vec<S>,
    /// Bytes the states have allocated.
    heap: usize,
}

impl<S: State> Column<S> {
    const NEW: Self = Self {
        states: Vec::new(),
        heap: 0,
    };

    fn update(&mut self, groups: &[u32], view: &View<'_>) -> Result<()> {
        if S::add_all(&mut self.states, groups, view, &mut self.heap) {
            return Ok(());
        }
        let rows = groups.iter().enumerate();
        if let Some(group) = single(groups) {
            // One state can stay in registers.
            if let Some(slot) = self.states.get_mut(group as usize) {
                let mut state = std::mem::take(slot);
                for row in 0..groups.len() {
                    state.add(view, row, &mut self.heap)?;
                }
                *slot = state;
            }
            return Ok(());
        }
        for (row, &group) in rows {
            // NONE is beyond all states.
            if let Some(state) = self.states.get_mut(group as usize) {
                state.add(view, row, &mut self.heap)?;
            }
        }
        Ok(())
    }

    fn merge(&mut self, other: &Self, groups: &[u32]) -> Result<()> {
        for (other, &group) in other.states.iter().zip(groups) {
            if let Some(state) = self.states.get_mut(group as usize) {
                state.combine(other, &mut self.heap)?;
            }
        }
        Ok(())
    }

    fn retain(&mut self, keep: &[bool]) {
        let mut kept = keep.iter();
        self.states.retain(|_| kept.next() == Some(&true));
        self.states.shrink_to_fit();
        self.heap = self.states.iter().map(State::heap_bytes).sum();
    }

    fn deserialize<'a>(groups: usize, from: &mut &'a [u8]) -> Result<Self>
    where
        S: Deserialize<'a>,
    {
        let (states, rest): (Vec<S>, _) = postcard::take_from_bytes(from).map_err(|_| DAMAGED)?;
        *from = rest;
        states.iter().try_for_each(State::check)?;
        if states.len() != groups {
            return Err(DAMAGED);
        }
        let heap = states.iter().map(State::heap_bytes).sum();
        Ok(Self { states, heap })
    }
}

/// The texts of states.
fn texts<S>(states: &[S], text: impl Fn(&S) -> Option<&[u8]>) -> Option<Vector<'static>> {
    let mut out = VectorBuilder::new(Type::Text);
    for state in states {
        match text(state) {
            Some(text) => out.push_text(text),
            None => out.push_null(),
        }
    }
    Some(out.finish())
}

const DAMAGED: Error = Error::Corrupt("serialized aggregate is damaged");

/// Adds the rows of each group to its count. One group after another would wait for the same few counters, so
/// four sets of them take turns.
fn count(counts: &mut [Count], groups: &[u32]) {
    const LANES: usize = 4;
    if let Some(group) = single(groups) {
        if let Some(count) = counts.get_mut(group as usize) {
            count.0 += groups.len() as i64;
        }
        return;
    }
    let len = counts.len();
    let (chunks, rest) = groups.as_chunks::<LANES>();
    if len > chunks.len() / 4 || len > 4096 {
        for &group in groups {
            if let Some(count) = counts.get_mut(group as usize) {
                count.0 += 1;
            }
        }
        return;
    }
    let mut lanes = vec![0_u32; LANES * len];
    {
        let (first, second) = lanes.split_at_mut(2 * len);
        let ((a, b), (c, d)) = (first.split_at_mut(len), second.split_at_mut(len));
        for chunk in chunks {
            for (lane, &group) in [&mut *a, b, c, d].into_iter().zip(chunk) {
                if let Some(count) = lane.get_mut(group as usize) {
                    *count += 1;
                }
            }
        }
        for &group in rest {
            if let Some(count) = a.get_mut(group as usize) {
                *count += 1;
            }
        }
    }
    for (group, count) in counts.iter_mut().enumerate() {
        let lanes = lanes.iter().skip(group).step_by(len);
        count.0 += lanes.map(|&lane| i64::from(lane)).sum::<i64>();
    }
}

impl Aggregate {
    /// `function` over an argument of a type, over groups if `grouped`.
    ///
    /// # Errors
    /// `None` if there is no such function.
    pub fn new(function: Function, argument: Option<Type>, grouped: bool) -> Option<Self> {
        use Function as F;
        use Type as T;
        let states = match (function, argument) {
            (F::Count, _) => States::Count(Column::NEW),
            (F::CountDistinct, Some(ty)) => States::Distinct(Box::new(Distinct::new(ty, grouped))),
            (F::Sum, Some(T::Int)) => States::IntSum(Column::NEW),
            (F::Sum, Some(T::Numeric)) => States::NumericSum(Column::NEW),
            (F::Sum, Some(T::Float)) => States::Float8Sum(Column::NEW),
            (F::SumFloat4, Some(T::Float)) => States::Float4Sum(Column::NEW),
            (F::Accumulate, Some(T::Int)) => States::Moments(Column::NEW),
            (F::Accumulate, Some(T::Numeric)) => States::NumericMoments(Column::NEW),
            (F::Accumulate, Some(T::Float)) => States::Accumulated(Column::NEW),
            (F::Min, Some(T::Int)) => States::IntMin(Column::NEW),
            (F::Max, Some(T::Int)) => States::IntMax(Column::NEW),
            (F::Min, Some(T::Float)) => States::FloatMin(Column::NEW),
            (F::Max, Some(T::Float)) => States::FloatMax(Column::NEW),
            (F::Min, Some(T::Numeric)) => States::NumericMin(Column::NEW),
            (F::Max, Some(T::Numeric)) => States::NumericMax(Column::NEW),
            (F::Min, Some(T::Text)) => States::TextMin(Column::NEW),
            (F::Max, Some(T::Text)) => States::TextMax(Column::NEW),
            (F::BoolAnd, Some(T::Bool)) => States::And(Column::NEW),
            (F::BoolOr, Some(T::Bool)) => States::Or(Column::NEW),
            (F::BitAnd, Some(T::Int)) => States::BitAnd(Column::NEW),
            (F::BitOr, Some(T::Int)) => States::BitOr(Column::NEW),
            (F::BitXor, Some(T::Int)) => States::BitXor(Column::NEW),
            (F::Values { nulls }, Some(ty)) => States::Collected(Box::new(Collected::new(ty, nulls, grouped))),
            (F::Pairs, Some(T::Float)) => States::Pairs(Column::NEW),
            (F::Concat, Some(T::Text)) => States::Concat(Column::NEW),
            _ => return None,
        };
        Some(Self {
            argument,
            states,
            order: None,
            selected: Vec::new(),
        })
    }

    /// With the order of text that key `key` of a collation has.
    pub(crate) fn set_collation(&mut self, collation: &Rc<dyn Collation>, key: usize) {
        self.order = TextOrder::new(collation, key);
    }

    /// Makes room for groups below `groups`.
    pub fn resize(&mut self, groups: usize) {
        with!(&mut self.states,
            column => column.states.resize_with(groups, Default::default),
            other => other.resize(groups));
    }

    /// Of the states; what is kept for a batch is not counted.
    pub fn bytes_used(&self) -> usize {
        fn used<S>(column: &Column<S>) -> usize {
            column.states.len() * size_of::<S>() + column.heap
        }
        with!(&self.states, column => used(column), other => other.bytes_used())
    }

    /// Adds the rows of a batch to their groups, which there is room for; to none where `groups` is
    /// [`NONE`], where the filter is false and where an argument is NULL.
    ///
    /// # Errors
    /// Any [`Error`]; the states are then of no use.
    ///
    /// # Panics
    /// If slices differ in length, an argument is not of the declared type, or a second one is missing.
    pub fn update(&mut self, groups: &[u32], input: &Input<'_>) -> Result<()> {
        let Input {
            argument,
            second,
            filter,
        } = *input;
        assert_eq!(argument.map(|vector| vector.ty), self.argument, "argument");
        let mut view = argument.map(Vector::view);
        let second = second.map(Vector::view);
        for view in view.iter().chain(&second) {
            assert_eq!(view.words.len(), groups.len(), "rows of a batch");
        }
        let of_second = match self.states {
            States::Pairs(_) => Some(Type::Float),
            States::Concat(_) => Some(Type::Text),
            _ => second.map(|view| view.ty),
        };
        assert_eq!(second.map(|view| view.ty), of_second, "second argument");
        let keeps_nulls = matches!(&self.states, States::Collected(collected) if collected.keeps_nulls());
        let valid = view.and_then(|view| view.valid).filter(|_| !keeps_nulls);
        let keeps_rows = matches!(self.states, States::Concat(_));
        let second_valid = second.and_then(|view| view.valid).filter(|_| !keeps_rows);
        if let Some(view) = &mut view {
            view.second = second.as_ref();
            view.order = self.order.as_ref();
        }
        let selected = &mut self.selected;
        let groups = if valid.is_none() && second_valid.is_none() && filter.is_none() {
            groups
        } else {
            selected.clear();
            selected.extend_from_slice(groups);
            for keep in [valid, second_valid, filter].into_iter().flatten() {
                assert_eq!(keep.len(), groups.len(), "rows of a batch");
                for (group, &keep) in selected.iter_mut().zip(keep) {
                    *group = if keep { *group } else { NONE };
                }
            }
            selected
        };
        match (&mut self.states, &view) {
            (States::Count(column), _) => {
                count(&mut column.states, groups);
                Ok(())
            }
            (states, Some(view)) => with!(states,
                column => column.update(groups, view),
                other => other.update(groups, view)),
            (_, None) => Ok(()), // only count takes no argument
        }
    }

    /// The result for a group.
    ///
    /// # Errors
    /// [`Error::NumericOverflow`].
    pub fn output(&self, group: usize) -> Result<Output> {
        with!(&self.states,
            column => column.states[group].output(),
            other => Ok(other.output(group)))
    }

    /// As [`crate::Aggregator::number`].
    pub(crate) fn number(&self, group: usize) -> Option<Option<(i128, u16)>> {
        if let States::NumericSum(column) = &self.states {
            return column.states[group].number();
        }
        match self.output(group).ok()? {
            Output::Null => Some(None),
            Output::Count(value) | Output::Int(value) => Some(Some((value.into(), 0))),
            // int8.c adds in 64 bits.
            Output::IntSum { sum, .. } => i64::try_from(sum).ok().map(|_| Some((sum, 0))),
            _ => None,
        }
    }

    /// Adds the states of another of the same kind, whose group `g` is `groups[g]` here, or left out if that
    /// is [`NONE`].
    ///
    /// # Errors
    /// Any [`Error`]; the states are then of no use.
    pub fn merge(&mut self, other: &Self, groups: &[u32]) -> Result<()> {
        if self.argument != other.argument {
            return Err(Error::Corrupt("aggregates to merge differ"));
        }
        let texts = match &other.states {
            States::TextMin(column) => texts(&column.states, TextExtreme::text),
            States::TextMax(column) => texts(&column.states, TextExtreme::text),
            _ => None,
        };
        if let (Some(texts), Some(_)) = (texts, &self.order) {
            let argument = Some(&texts);
            return self.update(
                groups,
                &Input {
                    argument,
                    ..Input::default()
                },
            );
        }
        self.states.merge(&other.states, groups)
    }

    /// Leaves out the groups that `keep` does not say.
    pub(crate) fn retain(&mut self, keep: &[bool]) -> Result<()> {
        with!(&mut self.states,
            column => { column.retain(keep); Ok(()) },
            other => other.retain(keep))
    }

    /// Begins with no groups; distinct values are counted of a range of their hashes.
    pub(crate) fn restart(&mut self, values: Range) {
        fn clear<S: State>(column: &mut Column<S>) {
            *column = Column::NEW;
        }
        with!(&mut self.states,
            column => clear(column),
            other => { other.resize(0); other.restart(values) });
    }

    /// Forgets all rows, but no group.
    pub(crate) fn clear(&mut self, groups: usize) {
        self.restart(Range::ALL);
        self.resize(groups);
    }

    /// Of count(DISTINCT).
    pub(crate) fn distinct(&mut self) -> Option<&mut Distinct> {
        match &mut self.states {
            States::Distinct(distinct) => Some(distinct),
            _ => None,
        }
    }

    /// Of one that keeps all values.
    pub(crate) fn collected(&mut self) -> Option<&mut Collected> {
        match &mut self.states {
            States::Collected(collected) => Some(collected),
            _ => None,
        }
    }

    /// As [`Aggregate::collected`].
    pub(crate) fn as_collected(&self) -> Option<&Collected> {
        match &self.states {
            States::Collected(collected) => Some(collected),
            _ => None,
        }
    }

    /// As [`Aggregate::distinct`].
    pub(crate) fn as_distinct(&self) -> Option<&Distinct> {
        match &self.states {
            States::Distinct(distinct) => Some(distinct),
            _ => None,
        }
    }

    pub(crate) fn serialize(&self, counted: bool, out: Vec<u8>) -> Vec<u8> {
        fn states<S: Serialize>(column: &Column<S>, out: Vec<u8>) -> Vec<u8> {
            postcard::to_extend(&column.states, out).expect("memory does not refuse bytes")
        }
        with!(&self.states, column => states(column, out), other => other.serialize(counted, out))
    }

    /// What [`Aggregate::serialize`] wrote of one like this, of so many groups.
    pub(crate) fn deserialize(&self, groups: usize, from: &mut &[u8]) -> Result<Self> {
        Ok(Self {
            argument: self.argument,
            order: self.order.clone(),
            states: self.states.deserialize(groups, from)?,
            selected: Vec::new(),
        })
    }
}
