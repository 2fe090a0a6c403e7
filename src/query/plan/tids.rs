//! Conditions on ctid as blocks that a scan keeps to. Rows of a leaf have the TIDs that its blocks say, so where such a condition is about
//! whole blocks it is true of all rows that are met.

use crate::pg::expr::{Const, OpExpr, Var};
use crate::pg::node::{Node, Nodes};
use crate::pg::planner::{PlannerInfo, RelOptInfo, RestrictInfo};
use pgrx::pg_sys;
use std::ops::Range;

/// Offsets that no row has: before and behind all of a block's.
const BEFORE: u16 = 0;
const BEHIND: u16 = u16::MAX;

/// Blocks whose rows a condition may be true of, and whether it is true of all of them.
struct Bound {
    blocks: Range<u32>,
    whole: bool,
}

/// Whether a condition may leave blocks out: not before a policy's, unless it is leakproof (tidpath.c).
pub fn may_bound(rel: &RelOptInfo, condition: &RestrictInfo) -> bool {
    condition.security_level() <= rel.baserestrict_min_security() || condition.leakproof()
}

/// The blocks that conditions leave of a relation.
pub fn blocks(rel: &RelOptInfo, conditions: Nodes<'_>) -> Range<u32> {
    let conditions = conditions.all::<RestrictInfo>();
    let bounds =
        conditions.filter_map(|condition| may_bound(rel, condition).then(|| bound(condition.clause())).flatten());
    bounds.fold(0..u32::MAX, |left, bound| {
        let end = left.end.min(bound.blocks.end);
        left.start.max(bound.blocks.start).min(end)..end
    })
}

/// Whether a condition leaves blocks out and is true of all rows in the others, so that nobody looks at it.
pub fn is_about_blocks(rel: &RelOptInfo, condition: &RestrictInfo) -> bool {
    may_bound(rel, condition) && bound(condition.clause()).is_some_and(|bound| bound.whole)
}

/// Which part of a relation's rows has TIDs in the blocks that its conditions leave, of so many.
pub fn part(rel: &RelOptInfo, all: u32) -> f64 {
    let blocks = blocks(rel, rel.baserestrictinfo());
    f64::from(blocks.end.min(all).saturating_sub(blocks.start)) / f64::from(all.max(1))
}

/// PostgreSQL takes TIDs to be in the pages that heap would have: it is told how many rows there are, and what a scan of its own by TIDs costs.
pub fn expect(root: &PlannerInfo, rel: &RelOptInfo, part: f64) {
    let is_range = |condition: &&RestrictInfo| may_bound(rel, condition) && bound(condition.clause()).is_some();
    let ranges = rel.baserestrictinfo().all::<RestrictInfo>().filter(is_range);
    let ranges: Nodes = ranges.map(|range| &**range).collect();
    if !ranges.is_some() {
        return;
    }
    let taken_for = root.selectivity_of_list(ranges);
    if taken_for > 0.0 {
        rel.expect((rel.rows() * part / taken_for).clamp(1.0, rel.tuples().max(1.0)));
    }
    let whole = root.sequential(rel).run_cost();
    rel.charge(|path| {
        if path.pathtype() == pg_sys::NodeTag::T_TidRangeScan && path.param_info().is_none() {
            path.add_cost((part * whole - path.run_cost()).max(0.0));
        }
    });
}

fn bound(condition: &Node) -> Option<Bound> {
    let op = condition.as_a::<OpExpr>()?;
    let args = op.args();
    let (left, right) = (args.get(0)?, args.get(1)?);
    match (is_ctid(left), is_ctid(right)) {
        (true, false) => compared(op.opno().to_u32(), constant(right)?),
        (false, true) => compared(mirrored(op.opno().to_u32())?, constant(left)?),
        _ => None,
    }
}

/// `ctid operator (block, offset)`.
fn compared(operator: u32, (block, offset): (u32, u16)) -> Option<Bound> {
    // The first block with rows that are not less, or that are greater.
    let from = |including: bool| match offset {
        BEFORE => (block, true),
        BEHIND if !including => (block.saturating_add(1), true),
        _ => (block, false),
    };
    let (blocks, whole) = match operator {
        pg_sys::TIDGreaterEqOperator | pg_sys::TIDGreaterOperator => {
            let (first, whole) = from(operator == pg_sys::TIDGreaterEqOperator);
            (first..u32::MAX, whole)
        }
        pg_sys::TIDLessOperator | pg_sys::TIDLessEqOperator => {
            let (end, whole) = from(operator == pg_sys::TIDLessOperator);
            (0..if whole { end } else { end.saturating_add(1) }, whole)
        }
        _ => return None,
    };
    Some(Bound { blocks, whole })
}

fn mirrored(operator: u32) -> Option<u32> {
    Some(match operator {
        pg_sys::TIDGreaterEqOperator => pg_sys::TIDLessEqOperator,
        pg_sys::TIDGreaterOperator => pg_sys::TIDLessOperator,
        pg_sys::TIDLessOperator => pg_sys::TIDGreaterOperator,
        pg_sys::TIDLessEqOperator => pg_sys::TIDGreaterEqOperator,
        _ => return None,
    })
}

fn is_ctid(node: &Node) -> bool {
    let var = node.as_a::<Var>();
    var.is_some_and(|var| i32::from(var.varattno()) == pg_sys::SelfItemPointerAttributeNumber && var.varlevelsup() == 0)
}

fn constant(node: &Node) -> Option<(u32, u16)> {
    let constant = node
        .as_a::<Const>()
        .filter(|constant| constant.consttype() == pg_sys::TIDOID);
    let value = constant?.value()?;
    // SAFETY: the value of a constant of the type tid.
    let pg_sys::ItemPointerData { ip_blkid, ip_posid } = unsafe { *value.cast_mut_ptr() };
    Some((u32::from(ip_blkid.bi_hi) << 16 | u32::from(ip_blkid.bi_lo), ip_posid))
}
