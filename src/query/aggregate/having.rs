//! HAVING: groups that a comparison of an aggregate with a constant excludes are left out before they are made rows. All others
//! are PostgreSQL's to look at.

use crate::pg::expr::{Aggref, Const, OpExpr};
use crate::pg::node::Node;
use crate::query::expr::datum;
use crate::query::expr::entry::reference_of;
use crate::query::expr::operators::comparison;
use crate::query::plan::aggregates::function_of;
use amax_exec::decimal::compare_scaled;
use amax_exec::{Aggregator, Comparison, Function, Scalar, Type, VectorBuilder};
use pgrx::pg_sys::{F_AVG_INT2, F_AVG_INT4, F_AVG_INT8, F_AVG_NUMERIC};

pub struct Having {
    /// In their order. Those after the first that is not known are not here: it might raise an error before they are asked.
    conditions: Vec<Condition>,
    /// Aggregates whose results might be an error, unless they are numbers that fit: PostgreSQL computes all before HAVING.
    sums: Vec<usize>,
}

struct Condition {
    aggregate: usize,
    comparison: Comparison,
    /// Mantissa and scale.
    bound: (i128, u16),
}

impl Having {
    /// Of conditions over entries, of which those from `keys` on are the aggregates; None if it can say nothing.
    pub fn new(conditions: &[&Node], keys: usize, aggregates: &[&Node]) -> Option<Having> {
        let mut sums = Vec::new();
        for (i, aggregate) in aggregates.iter().enumerate() {
            use Function::*;
            match function_of(aggregate.as_a()?)?.0 {
                Count | CountDistinct | Min | Max | BoolAnd | BoolOr | BitAnd | BitOr | BitXor => {}
                Sum | SumFloat4 => sums.push(i),
                _ => return None,
            }
        }
        let known = |condition: &&Node| Condition::of(condition, keys, aggregates);
        let conditions: Vec<Condition> = conditions.iter().map_while(known).collect();
        (!conditions.is_empty()).then_some(Having { conditions, sums })
    }

    /// The groups that are left.
    pub fn groups(&self, aggregator: &Aggregator) -> Vec<u32> {
        let groups = 0..aggregator.grouping().len() as u32;
        groups
            .filter(|&group| !self.excludes(aggregator, group as usize))
            .collect()
    }

    fn excludes(&self, aggregator: &Aggregator, group: usize) -> bool {
        let holds = |condition: &Condition| match aggregator.number(condition.aggregate, group)? {
            Some(number) => compare_scaled(number, condition.bound).map(|order| condition.comparison.holds(order)),
            None => Some(false),
        };
        let fails = self.conditions.iter().map(holds).find(|holds| *holds != Some(true));
        fails == Some(Some(false)) && self.sums.iter().all(|&sum| aggregator.number(sum, group).is_some())
    }
}

impl Condition {
    fn of(condition: &Node, keys: usize, aggregates: &[&Node]) -> Option<Condition> {
        let op = condition.as_a::<OpExpr>()?;
        let (comparison, ty) = comparison(op.function().to_u32(), op.inputcollid())?;
        let (left, right) = (op.args().get(0)?, op.args().get(1)?);
        let (comparison, aggregate, constant) = match reference_of(left) {
            Some(aggregate) => (comparison, aggregate, right),
            None => (comparison.flip(), reference_of(right)?, left),
        };
        let aggregate = aggregate.checked_sub(keys).filter(|&at| at < aggregates.len())?;
        let is_average = matches!(
            aggregates[aggregate].as_a::<Aggref>()?.aggfnoid().to_u32(),
            F_AVG_INT2 | F_AVG_INT4 | F_AVG_INT8 | F_AVG_NUMERIC
        );
        if is_average || !matches!(ty, Type::Int | Type::Numeric) {
            return None;
        }
        let value = constant.as_a::<Const>()?.value()?;
        let mut bound = VectorBuilder::new(ty);
        // SAFETY: a value of that type, which the operator takes.
        unsafe { datum::push(&mut bound, constant.type_oid(), value, false) };
        let bound = match bound.finish().get(0) {
            Scalar::Int(value) => (value.into(), 0),
            Scalar::Decimal { mantissa, scale } => (mantissa.into(), scale),
            _ => return None,
        };
        Some(Condition {
            aggregate,
            comparison,
            bound,
        })
    }
}
