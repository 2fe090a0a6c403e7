//! Which calls give the same whenever a query makes them.

use super::constant::{bytes, constant, interval};
use super::path::call_of;
use super::times::DAY;
use super::tree::any;
use crate::pg::lookup::function_is_immutable;
use crate::pg::node::Node;
use amax_exec::Unit;
use pgrx::pg_sys::*;

/// Whether an expression over the value of a CASE depends on nothing else but the time zone. Others may change while a cursor
/// is open, with a setting or a parameter.
pub fn is_lasting(node: &Node) -> bool {
    !any(node, |node| match node.tag() {
        NodeTag::T_Const | NodeTag::T_CaseTestExpr | NodeTag::T_RelabelType | NodeTag::T_List => false,
        _ => !call_of(node)
            .is_some_and(|(function, _)| depends_on_zone(function) || function_is_immutable(function.into())),
    })
}

fn depends_on_zone(function: u32) -> bool {
    matches!(
        function,
        F_TIMESTAMPTZ_DATE
            | F_TIMESTAMPTZ_TIMESTAMP
            | F_TIMESTAMP_TIMESTAMPTZ
            | F_DATE_TIMESTAMPTZ
            | F_DATE_TRUNC_TEXT_TIMESTAMPTZ
            | F_DATE_PART_TEXT_TIMESTAMPTZ
            | F_EXTRACT_TEXT_TIMESTAMPTZ
    )
}

/// Whether it is the time of the query, or one that is told from that, and no row: it is the same for all rows, and computing it
/// raises nothing.
pub fn is_time_of_query(node: &Node) -> bool {
    const MONTHS: u32 = 1200;
    const DAYS: u32 = 36_500;
    // What is far away may be out of range.
    const STEPS: usize = 8;
    let mut node = node;
    for _ in 0..STEPS {
        if node.tag() == NodeTag::T_SQLValueFunction {
            return matches!(node.type_oid(), DATEOID | TIMESTAMPOID | TIMESTAMPTZOID);
        }
        let Some((function, args)) = call_of(node) else {
            return false;
        };
        node = match (function, &args[..]) {
            (F_NOW | F_TRANSACTION_TIMESTAMP | F_STATEMENT_TIMESTAMP, []) => return true,
            (
                F_TIMESTAMPTZ_DATE
                | F_TIMESTAMPTZ_TIMESTAMP
                | F_TIMESTAMP_DATE
                | F_TIMESTAMP_TIMESTAMPTZ
                | F_DATE_TIMESTAMP
                | F_DATE_TIMESTAMPTZ,
                &[arg],
            ) => arg,
            (
                F_TIMESTAMPTZ_MI_INTERVAL
                | F_TIMESTAMPTZ_PL_INTERVAL
                | F_TIMESTAMP_MI_INTERVAL
                | F_TIMESTAMP_PL_INTERVAL
                | F_DATE_MI_INTERVAL
                | F_DATE_PL_INTERVAL,
                &[base, by],
            ) => {
                let is_small = |by: &Interval| {
                    let short = by.day.unsigned_abs() <= DAYS && by.time.unsigned_abs() <= DAY as u64 * u64::from(DAYS);
                    short && by.month.unsigned_abs() <= MONTHS
                };
                match interval(by).is_some_and(is_small) {
                    true => base,
                    false => return false,
                }
            }
            (F_DATE_TRUNC_TEXT_TIMESTAMPTZ | F_DATE_TRUNC_TEXT_TIMESTAMP, &[unit, arg])
                if bytes(unit).and_then(Unit::by_name).is_some_and(Unit::cuts) =>
            {
                arg
            }
            (F_DATE_PLI | F_DATE_MII, &[date, by])
                if constant(by, INT4OID).is_some_and(|by| (by.value() as i32).unsigned_abs() <= DAYS) =>
            {
                date
            }
            _ => return false,
        };
    }
    false
}
