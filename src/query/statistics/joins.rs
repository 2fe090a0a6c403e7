//! Joins by equality whose sides have fewer values in common than PostgreSQL takes them to have.
//!
//! It takes all values of the side with fewer to be on the other, too (eqjoinsel()). Samples of both sides may show that this is not so, if they
//! are of all leaves: what the tables have in common may lie side by side.

use super::elements::Arrays;
use super::hashes::LEAST;
use super::kept;
use super::sample::{Made, Of, Wanted};
use super::source::{Member, SIZE, Source};
use super::{expressions, selected};
use crate::pg::expr::{OpExpr, Var};
use crate::pg::lookup::hash_functions;
use crate::pg::node::Node;
use crate::pg::planner::{PlannerInfo, RelOptInfo, RestrictInfo, SpecialJoinInfo};
use crate::pg::relation::Opened;
use crate::pg::statistics::Rights;
use crate::storage::manifest;
use pgrx::pg_sys;
use pgrx::pg_sys::JoinType::{JOIN_ANTI, JOIN_INNER, JOIN_SEMI};
use std::rc::Rc;

/// Common values that have to be expected in the samples, and how many times less have to be there.
const ENOUGH: f64 = 16.0;
const FEWER: f64 = 4.0;
/// The part of a table's rows that has to be in columns.
const COLUMNAR: f64 = 0.9;

/// Looks at the joins of a relation with those before it.
pub fn compare(root: &PlannerInfo, rel: &RelOptInfo) {
    if rel.reloptkind() != pg_sys::RelOptKind::RELOPT_BASEREL || !may_be_known(root, rel) {
        return;
    }
    let before = root.relations().take_while(|before| !before.is(rel));
    let before = before.filter(|before| may_be_known(root, before));
    let equal = before.flat_map(|before| root.equalities(before, rel).all::<RestrictInfo>());
    let others = rel.joininfo().all::<RestrictInfo>();
    for condition in equal.chain(others.filter(|condition| condition.can_join())) {
        let (left, right) = (condition.left_relids(), condition.right_relids());
        if left.is_one() && right.is_one() && left.at(0).max(right.at(0)) == rel.relid() {
            compare_sides(root, condition);
        }
    }
}

/// False for others' tables: what is asked of two of them costs their queries nothing.
fn may_be_known(root: &PlannerInfo, rel: &RelOptInfo) -> bool {
    let rte = root.entry(rel.relid());
    rte.rtekind() != pg_sys::RTEKind::RTE_RELATION || rel.offers(rte.relid())
}

fn compare_sides(root: &PlannerInfo, condition: &RestrictInfo) -> Option<()> {
    let op = condition.clause().as_a::<OpExpr>()?;
    let (left, right) = (condition.left_relids().at(0), condition.right_relids().at(0));
    let functions = hash_functions(condition.hashjoinoperator())?;
    let hashes =
        |relation, at, function| Side::of(root, relation, op.args().get(at)?)?.hashes(function, op.inputcollid());
    let sides = (hashes(left, 0, functions.0)?, hashes(right, 1, functions.1)?);
    let (Made::Hashes(of_left), Made::Hashes(of_right)) = (&*sides.0, &*sides.1) else {
        return None;
    };
    let (common, wanted) = (of_left.common(of_right).count() as f64, of_left.expected(of_right));
    if wanted < ENOUGH || common * FEWER >= wanted {
        return None;
    }
    let (left, right) = (root.relation(left)?, root.relation(right)?);
    let inner = match of_left.pairs(of_right) {
        0.0 => root.joined(condition.clause(), JOIN_INNER, left, right) * LEAST / wanted,
        found => found / of_left.rows / of_right.rows,
    };
    let outer = match half_join(root, left.relid(), right.relid()) {
        None => inner,
        Some(true) => of_left.matched(of_right),
        Some(false) => of_right.matched(of_left),
    };
    condition.set_selectivity(inner, outer);
    Some(())
}

/// Whether two relations are joined by a semijoin or an antijoin, and the first of them is that whose rows it has.
fn half_join(root: &PlannerInfo, left: pg_sys::Index, right: pg_sys::Index) -> Option<bool> {
    let mut joins = root.join_info_list().all::<SpecialJoinInfo>();
    joins.find_map(|join| {
        let is = |outer, inner| join.syn_lefthand().contains(outer) && join.syn_righthand().contains(inner);
        let is_half = matches!(join.jointype(), JOIN_SEMI | JOIN_ANTI);
        (is_half && (is(left, right) || is(right, left))).then(|| is(left, right))
    })
}

/// A side of a join.
struct Side<'a> {
    source: Source<'a>,
    of: Of,
    expression: &'a Node,
    tuples: f64,
}

impl<'a> Side<'a> {
    /// None if nothing is known of it, or may be.
    fn of(root: &'a PlannerInfo, relation: pg_sys::Index, expression: &'a Node) -> Option<Side<'a>> {
        let (rel, rte) = (root.relation(relation)?, root.entry(relation));
        let (root, rel, source, of, expression) = match rte.rtekind() {
            pg_sys::RTEKind::RTE_RELATION => {
                let known = rel.offers(rte.relid()) && expressions::is_known(expression, relation);
                let source = known.then(|| Source::of(root, rel))??;
                (root, rel, source, Of::Rows, expression)
            }
            pg_sys::RTEKind::RTE_FUNCTION => {
                let arrays = Arrays::of(root, relation, rte)?;
                (root, arrays.rel, arrays.source, Of::Elements(arrays.path), expression)
            }
            _ => {
                let column = expression.as_a::<Var>()?.varattno();
                let (root, rel, source, expression) = selected(root, rte, column)?;
                (root, rel, source, Of::Rows, expression)
            }
        };
        let tuples = match of {
            Of::Rows => source.tuples,
            Of::Elements(_) => root.relation(relation)?.tuples(),
        };
        let current = |member: &Member| manifest::current(&Opened::with_lock(member.table, pg_sys::NoLock));
        let manifests: Vec<_> = source.members.iter().map(current).collect();
        let components = manifests.iter().flat_map(|manifest| &manifest.components);
        let leaves = components.map(|component| u64::from(component.leaves)).sum::<u64>();
        let rows = manifests.iter().map(|manifest| manifest.rows()).sum::<u64>();
        let is_seen = leaves <= SIZE.leaves && rows as f64 >= COLUMNAR * source.tuples;
        (is_seen && Rights::of(root, rel) == Rights::All).then_some(Side {
            source,
            of,
            expression,
            tuples,
        })
    }

    fn hashes(&self, function: pg_sys::Oid, collation: pg_sys::Oid) -> Option<Rc<Made>> {
        let wanted = Wanted::Hashes(function, collation);
        kept::get(&self.source, &self.of, self.expression, self.tuples, wanted)
    }
}
