//! The aggregate functions that crates/exec computes.

use crate::query::expr::datum::type_of;
use crate::query::expr::tree::{is_pure, nodes};
use amax_exec::{Aggregate, Function, Type};
use pgrx::pg_sys::*;

/// The argument of an aggregate that has one.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn argument(aggregate: &Aggref) -> Option<*mut Node> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        nodes(aggregate.args)
            .first()
            .map(|&entry| (*(entry as *mut TargetEntry)).expr as *mut Node)
    }
}

/// The function that computes an aggregate, and the type of its argument; None if there is none.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn function_of(aggregate: &Aggref) -> Option<(Function, Option<Type>)> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let plain = aggregate.agglevelsup == 0
            && aggregate.aggorder.is_null()
            && aggregate.aggdirectargs.is_null()
            && aggregate.aggsplit == AggSplit::AGGSPLIT_SIMPLE
            && nodes(aggregate.args).len() <= 1
            && (aggregate.aggfilter.is_null() || is_pure(aggregate.aggfilter as *mut Node));
        if !plain {
            return None;
        }
        let argument = match argument(aggregate) {
            None => None,
            Some(argument) if is_pure(argument) => Some(type_of(exprType(argument), exprCollation(argument))?),
            Some(_) => return None,
        };
        let distinct = !aggregate.aggdistinct.is_null();
        let function = match aggregate.aggfnoid.to_u32() {
            F_COUNT_ANY if distinct => Function::CountDistinct,
            _ if distinct => return None,
            F_COUNT_ | F_COUNT_ANY => Function::Count,
            F_SUM_INT2 | F_SUM_INT4 | F_SUM_INT8 | F_SUM_NUMERIC | F_SUM_FLOAT8 | F_AVG_INT2 | F_AVG_INT4
            | F_AVG_INT8 | F_AVG_NUMERIC => Function::Sum,
            F_SUM_FLOAT4 => Function::SumFloat4,
            F_AVG_FLOAT4 | F_AVG_FLOAT8 => Function::Accumulate,
            F_MIN_INT2 | F_MIN_INT4 | F_MIN_INT8 | F_MIN_FLOAT4 | F_MIN_FLOAT8 | F_MIN_NUMERIC | F_MIN_DATE
            | F_MIN_TIME | F_MIN_TIMESTAMP | F_MIN_TIMESTAMPTZ => Function::Min,
            F_MAX_INT2 | F_MAX_INT4 | F_MAX_INT8 | F_MAX_FLOAT4 | F_MAX_FLOAT8 | F_MAX_NUMERIC | F_MAX_DATE
            | F_MAX_TIME | F_MAX_TIMESTAMP | F_MAX_TIMESTAMPTZ => Function::Max,
            F_MIN_TEXT if aggregate.inputcollid == C_COLLATION_OID => Function::Min,
            F_MAX_TEXT if aggregate.inputcollid == C_COLLATION_OID => Function::Max,
            F_BOOL_AND | F_EVERY => Function::BoolAnd,
            F_BOOL_OR => Function::BoolOr,
            _ => return None,
        };
        Aggregate::new(function, argument, true).map(|_| (function, argument))
    }
}
