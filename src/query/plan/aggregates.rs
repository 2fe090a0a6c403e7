//! The aggregate functions that crates/exec computes.

use super::collect::Collect;
use crate::encoding::shown;
use crate::pg::expr::{Aggref, TargetEntry};
use crate::pg::lookup::{function_name, is_deterministic};
use crate::pg::node::{Node, is_pure};
use crate::query::expr::collation::Collations;
use crate::query::expr::datum::type_of_node;
use crate::query::expr::why::no_vectors;
use amax_exec::{Aggregate, Function, Type};
use pgrx::pg_sys::*;
use std::string::String;

/// The argument of an aggregate that has one.
pub fn argument(aggregate: &Aggref) -> Option<&Node> {
    aggregate.args().get(0)?.as_a::<TargetEntry>()?.expr()
}

/// The second argument of an aggregate that has two.
pub fn second(aggregate: &Aggref) -> Option<&Node> {
    aggregate.args().get(1)?.as_a::<TargetEntry>()?.expr()
}

/// The second argument's type, of an aggregate that has one in each row.
pub fn of_second(aggregate: &Aggref) -> Option<Type> {
    match aggregate.aggfnoid().to_u32() {
        F_STRING_AGG_TEXT_TEXT if Collect::of(aggregate).is_none() => Some(Type::Text),
        _ if is_of_pairs(aggregate) => Some(Type::Float),
        _ => None,
    }
}

/// Whether an aggregate's state grows with each row, whose order counts.
pub fn keeps_rows(aggregate: &Aggref) -> bool {
    Collect::of(aggregate).is_some() || of_second(aggregate) == Some(Type::Text)
}

/// Whether an aggregate is of two floats.
fn is_of_pairs(aggregate: &Aggref) -> bool {
    matches!(
        aggregate.aggfnoid().to_u32(),
        F_CORR
            | F_COVAR_POP
            | F_COVAR_SAMP
            | F_REGR_AVGX
            | F_REGR_AVGY
            | F_REGR_COUNT
            | F_REGR_INTERCEPT
            | F_REGR_R2
            | F_REGR_SLOPE
            | F_REGR_SXX
            | F_REGR_SXY
            | F_REGR_SYY
    )
}

/// Whether an aggregate is of this query, and its FILTER may be evaluated as we do.
fn is_ours(aggregate: &Aggref) -> bool {
    aggregate.agglevelsup() == 0 && aggregate.aggfilter().is_none_or(is_pure)
}

/// The function that computes an aggregate at once, and the type of its argument; None if there is none.
pub fn function_of(aggregate: &Aggref) -> Option<(Function, Option<Type>)> {
    let at_once = aggregate.aggsplit() == AggSplit::AGGSPLIT_SIMPLE;
    at_once.then(|| function(aggregate)).flatten()
}

/// Why an aggregate is PostgreSQL's, in one part or in several, if it has to be.
pub fn why_not(aggregate: &Aggref) -> Option<String> {
    if function(aggregate).is_some() {
        return None;
    }
    let arguments = || aggregate.args().all::<TargetEntry>().filter_map(TargetEntry::expr);
    if !aggregate.aggfilter().into_iter().chain(arguments()).all(is_pure) {
        return Some("volatile, or a subquery".into());
    }
    arguments().find_map(no_vectors).or_else(|| {
        let with = match (aggregate.aggdistinct().is_some(), aggregate.aggorder().is_some()) {
            (true, _) => " with DISTINCT",
            (_, true) => " with ORDER BY",
            _ => "",
        };
        let name = function_name(aggregate.aggfnoid());
        Some(format!("no vectorized form of {}{with}", shown(&name)))
    })
}

fn function(aggregate: &Aggref) -> Option<(Function, Option<Type>)> {
    if let Some(collect) = Collect::of(aggregate).filter(|_| is_ours(aggregate)) {
        let ty = argument(aggregate)
            .filter(|argument| is_pure(argument))
            .and_then(type_of_node)?;
        return Some((collect.function(), Some(ty)));
    }
    let plain = is_ours(aggregate)
        && !aggregate.aggorder().is_some()
        && !aggregate.aggdirectargs().is_some()
        && second(aggregate)
            .filter(|second| is_pure(second))
            .and_then(type_of_node)
            == of_second(aggregate)
        && aggregate.args().len() <= 2;
    if !plain {
        return None;
    }
    let argument = argument(aggregate);
    // Numerics without a precision may have squares that are no numerics.
    let bounded = argument.is_none_or(|argument| argument.typmod() >= 0);
    let argument = match argument {
        None => None,
        Some(argument) if is_pure(argument) => Some(type_of_node(argument)?),
        Some(_) => return None,
    };
    let distinct = aggregate.aggdistinct().is_some();
    let function = match aggregate.aggfnoid().to_u32() {
        F_COUNT_ANY if distinct => Function::CountDistinct,
        _ if distinct => return None,
        F_COUNT_ | F_COUNT_ANY => Function::Count,
        F_SUM_INT2 | F_SUM_INT4 | F_SUM_INT8 | F_SUM_NUMERIC | F_SUM_FLOAT8 | F_AVG_INT2 | F_AVG_INT4 | F_AVG_INT8
        | F_AVG_NUMERIC => Function::Sum,
        F_SUM_FLOAT4 => Function::SumFloat4,
        F_AVG_FLOAT4 | F_AVG_FLOAT8 => Function::Accumulate,
        function if spread(function).is_some() && (bounded || argument != Some(Type::Numeric)) => Function::Accumulate,
        F_MIN_INT2 | F_MIN_INT4 | F_MIN_INT8 | F_MIN_FLOAT4 | F_MIN_FLOAT8 | F_MIN_NUMERIC | F_MIN_DATE
        | F_MIN_TIME | F_MIN_TIMESTAMP | F_MIN_TIMESTAMPTZ => Function::Min,
        F_MAX_INT2 | F_MAX_INT4 | F_MAX_INT8 | F_MAX_FLOAT4 | F_MAX_FLOAT8 | F_MAX_NUMERIC | F_MAX_DATE
        | F_MAX_TIME | F_MAX_TIMESTAMP | F_MAX_TIMESTAMPTZ => Function::Max,
        F_MIN_TEXT | F_MIN_BPCHAR if is_ordered(aggregate) => Function::Min,
        F_MAX_TEXT | F_MAX_BPCHAR if is_ordered(aggregate) => Function::Max,
        F_BOOL_AND | F_EVERY => Function::BoolAnd,
        F_BOOL_OR => Function::BoolOr,
        F_BIT_AND_INT2 | F_BIT_AND_INT4 | F_BIT_AND_INT8 => Function::BitAnd,
        F_BIT_OR_INT2 | F_BIT_OR_INT4 | F_BIT_OR_INT8 => Function::BitOr,
        F_BIT_XOR_INT2 | F_BIT_XOR_INT4 | F_BIT_XOR_INT8 => Function::BitXor,
        F_REGR_COUNT => Function::Count,
        F_STRING_AGG_TEXT_TEXT => Function::Concat,
        _ if is_of_pairs(aggregate) => Function::Pairs,
        _ => return None,
    };
    Aggregate::new(function, argument, true).map(|_| (function, argument))
}

/// Whether texts that are equal are the same; without a collation PostgreSQL raises an error.
fn is_ordered(aggregate: &Aggref) -> bool {
    let collation = aggregate.inputcollid();
    collation != InvalidOid && is_deterministic(collation)
}

/// The orders of aggregates' text.
pub fn collations(aggregates: &[&Aggref]) -> Collations {
    let order = |aggregate: &&Aggref| {
        let argument = argument(aggregate);
        let is_padded = argument.is_some_and(|argument| argument.type_oid() == BPCHAROID);
        // Those that sort do it by their argument's.
        let collation = argument
            .filter(|_| Collect::of(aggregate).is_some())
            .map(Node::collation);
        (collation.unwrap_or(aggregate.inputcollid()), is_padded)
    };
    Collations::of_aggregates(aggregates.iter().map(order))
}

/// What stddev, variance and the like give.
#[derive(Clone, Copy)]
pub struct Spread {
    /// The variance's root.
    pub root: bool,
    /// Of a sample: by one less than there are values.
    pub sample: bool,
}

pub fn spread(function: u32) -> Option<Spread> {
    let (root, sample) = match function {
        F_VARIANCE_INT2 | F_VARIANCE_INT4 | F_VARIANCE_INT8 | F_VARIANCE_FLOAT4 | F_VARIANCE_FLOAT8
        | F_VARIANCE_NUMERIC | F_VAR_SAMP_INT2 | F_VAR_SAMP_INT4 | F_VAR_SAMP_INT8 | F_VAR_SAMP_FLOAT4
        | F_VAR_SAMP_FLOAT8 | F_VAR_SAMP_NUMERIC => (false, true),
        F_VAR_POP_INT2 | F_VAR_POP_INT4 | F_VAR_POP_INT8 | F_VAR_POP_FLOAT4 | F_VAR_POP_FLOAT8 | F_VAR_POP_NUMERIC => {
            (false, false)
        }
        F_STDDEV_INT2
        | F_STDDEV_INT4
        | F_STDDEV_INT8
        | F_STDDEV_FLOAT4
        | F_STDDEV_FLOAT8
        | F_STDDEV_NUMERIC
        | F_STDDEV_SAMP_INT2
        | F_STDDEV_SAMP_INT4
        | F_STDDEV_SAMP_INT8
        | F_STDDEV_SAMP_FLOAT4
        | F_STDDEV_SAMP_FLOAT8
        | F_STDDEV_SAMP_NUMERIC => (true, true),
        F_STDDEV_POP_INT2 | F_STDDEV_POP_INT4 | F_STDDEV_POP_INT8 | F_STDDEV_POP_FLOAT4 | F_STDDEV_POP_FLOAT8
        | F_STDDEV_POP_NUMERIC => (true, false),
        _ => return None,
    };
    Some(Spread { root, sample })
}
