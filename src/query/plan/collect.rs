//! What aggregates that keep all values of a group ask for: percentiles, the most frequent value, arrays and lists of values.

use super::sorts::is_descending;
use crate::pg::expr::{Aggref, Const, TargetEntry, Var};
use crate::pg::node::{Node, is_pure};
use crate::pg::parse::SortGroupClause;
use crate::query::expr::constant::bytes;
use crate::query::expr::datum::type_of_node;
use crate::query::expr::tree::any;
use amax_exec::Function;
use pgrx::pg_sys;
use pgrx::pg_sys::{
    BOOLOID, F_ARRAY_AGG_ANYNONARRAY, F_JSONB_AGG, F_MODE, F_PERCENTILE_CONT_FLOAT8_FLOAT8,
    F_PERCENTILE_DISC_FLOAT8_ANYELEMENT, F_STRING_AGG_TEXT_TEXT, INT2OID, INT4OID, INT8OID, NUMERICOID, TEXTOID,
    VARCHAROID,
};

/// What becomes of the values.
#[derive(Clone, Debug)]
pub enum Into {
    /// percentile_cont.
    Between,
    /// percentile_disc.
    Nth,
    /// mode.
    MostFrequent,
    /// array_agg.
    Array,
    /// string_agg of sorted values, with what stands between them.
    Text(Vec<u8>),
    /// jsonb_agg.
    Json,
}

/// Such an aggregate.
#[derive(Clone, Debug)]
pub struct Collect {
    pub into: Into,
    /// How values are sorted, if they are.
    pub sorted: Option<Sorted>,
    pub distinct: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Sorted {
    pub descending: bool,
    pub nulls_first: bool,
}

impl Collect {
    /// None if it is another one, or sorted by anything but its values. What all aggregates must be is not looked at.
    pub fn of(aggregate: &Aggref) -> Option<Collect> {
        let entry = aggregate.args().get(0)?.as_a::<TargetEntry>()?;
        let input = entry.expr()?;
        type_of_node(input)?;
        let mut others = aggregate.args().iter().skip(1).filter_map(Node::as_a::<TargetEntry>);
        let (direct, other) = (aggregate.aggdirectargs(), others.next());
        let into = match aggregate.aggfnoid().to_u32() {
            F_PERCENTILE_CONT_FLOAT8_FLOAT8 => Into::Between,
            F_PERCENTILE_DISC_FLOAT8_ANYELEMENT => Into::Nth,
            F_MODE => Into::MostFrequent,
            F_ARRAY_AGG_ANYNONARRAY => Into::Array,
            F_STRING_AGG_TEXT_TEXT => Into::Text(match other?.expr()?.as_a::<Const>() {
                Some(between) if between.value().is_none() => Vec::new(),
                _ => bytes(other?.expr()?)?.to_vec(),
            }),
            F_JSONB_AGG if is_plain_in_json(input.type_oid()) => Into::Json,
            _ => return None,
        };
        let is_list = matches!(into, Into::Text(_));
        let is_known = |node: &Node| is_pure(node) && !any(node, |node| node.is_a::<Var>());
        if other.is_some() != is_list || others.next().is_some() || !direct.iter().all(is_known) {
            return None;
        }
        let distinct = aggregate.aggdistinct().is_some();
        let clauses = if distinct {
            aggregate.aggdistinct()
        } else {
            aggregate.aggorder()
        };
        let mut sorted = None;
        for clause in clauses.all::<SortGroupClause>() {
            // What stands between values is always the same.
            if clause.tleSortGroupRef() == entry.ressortgroupref() && sorted.is_none() {
                sorted = Some(Sorted {
                    descending: is_descending(clause, input)?,
                    nulls_first: clause.nulls_first(),
                });
            } else if clause.tleSortGroupRef() != entry.ressortgroupref() && !is_list {
                return None;
            }
        }
        // A list in the order of rows is a text at once ([`Function::Concat`]).
        if (clauses.is_some() || is_list) && sorted.is_none() {
            return None;
        }
        Some(Collect { into, sorted, distinct })
    }

    pub fn function(&self) -> Function {
        Function::Values {
            nulls: matches!(self.into, Into::Array | Into::Json),
        }
    }

    /// Whether values may wait on disk to be sorted.
    pub fn is_sorted(&self) -> bool {
        self.sorted.is_some()
    }
}

/// Whether jsonb has a type's values as numbers, booleans or the text that they are.
fn is_plain_in_json(ty: pg_sys::Oid) -> bool {
    matches!(
        ty,
        INT2OID | INT4OID | INT8OID | NUMERICOID | BOOLOID | TEXTOID | VARCHAROID
    )
}
