//! Joins by all columns of a key that has several.
//!
//! PostgreSQL takes conditions on several columns to be independent of each other, unless they are a declared foreign key: of a join by a key of two
//! columns it expects a thousandth of the rows that there are, and then looks them up one by one. A unique index says how many values such a key has. So
//! the tables are taken to be joined as by a foreign key, each row finding the one that has its key; but not where one of the columns says by itself that
//! fewer are found, or where a table with more keys than the index has may have all that its columns' values make.

use crate::pg::custom::CustomPath;
use crate::pg::expr::{OpExpr, Var};
use crate::pg::foreign_key::Equal;
use crate::pg::node::Node;
use crate::pg::planner::{BitmapHeapPath, IndexOptInfo, IndexPath, Path, PlannerInfo, RelOptInfo, RestrictInfo};
use crate::pg::relation::Opened;
use pgrx::pg_sys;
use pgrx::pg_sys::RelOptKind::RELOPT_BASEREL;

/// Looks at the joins of a table of ours with those before it.
pub fn match_keys(root: &PlannerInfo, rel: &RelOptInfo) {
    if !may_match(root, rel) {
        return;
    }
    let before = root.relations().take_while(|before| !before.is(rel));
    for before in before.filter(|before| may_match(root, before)) {
        // The one with more rows has more keys.
        let (few, many) = if before.tuples() < rel.tuples() {
            (before, rel)
        } else {
            (rel, before)
        };
        if !refer(root, few, many) {
            refer(root, many, few);
        }
    }
}

/// Whether it is a table of ours, by itself, in which there is a key to be found.
fn may_match(root: &PlannerInfo, rel: &RelOptInfo) -> bool {
    let rte = root.entry(rel.relid());
    rel.reloptkind() == RELOPT_BASEREL
        && rte.rtekind() == pg_sys::RTEKind::RTE_RELATION
        && !rte.inh()
        && rel.lateral_relids().is_empty()
        && root.all_baserels().is_several()
        && Opened::with_lock(rte.relid(), pg_sys::NoLock).is_ours()
}

/// Has rows of one table find one row of another each, if they are joined by all columns of a key of that one.
fn refer(root: &PlannerInfo, of: &RelOptInfo, to: &RelOptInfo) -> bool {
    let Some(joined) = matched(root, of, to) else {
        return false;
    };
    let each = 1.0 / to.tuples().max(1.0);
    let few = joined.iter().any(|joined| joined.selectivity < each);
    let keys: f64 = joined
        .iter()
        .map(|joined| root.groups(&[joined.column], of.tuples()))
        .product();
    let others = keys <= of.tuples() && keys > to.tuples();
    let columns: Vec<Equal> = joined.iter().map(|joined| joined.equal).collect();
    if few || others || !root.expect_foreign_key(of, to, &columns) {
        return false;
    }
    let has = |column: &i16| columns.iter().any(|equal| equal.of == *column);
    if !unique(of).any(|key| key.iter().all(has)) {
        of.expect_of_each(to, of.rows() * each, |path| fetched(of, path));
    }
    true
}

/// The columns of its keys.
fn unique(rel: &RelOptInfo) -> impl Iterator<Item = Vec<i16>> {
    let indexes = rel.indexlist().all::<IndexOptInfo>();
    indexes.filter_map(IndexOptInfo::unique_columns)
}

/// A column of one table that is equal to one of another.
#[derive(Clone, Copy)]
struct Joined<'a> {
    column: &'a Node,
    equal: Equal,
    /// The part of all pairs of rows of which that is true.
    selectivity: f64,
}

/// The columns of one table that are equal to all columns of a key of another.
fn matched<'a>(root: &'a PlannerInfo, of: &'a RelOptInfo, to: &'a RelOptInfo) -> Option<Vec<Joined<'a>>> {
    let keys: Vec<Vec<i16>> = unique(to).filter(|key| key.len() > 1).collect();
    if keys.is_empty() {
        return None;
    }
    let joined = |condition: &'a RestrictInfo| {
        let op = condition.clause().as_a::<OpExpr>()?;
        let side = |at| op.args().get(at)?.as_a::<Var>();
        let (left, right) = (side(0)?, side(1)?);
        let (left, right) = if left.relation() == of.relid() {
            (left, right)
        } else {
            (right, left)
        };
        (left.relation() == of.relid() && right.relation() == to.relid()).then(|| Joined {
            column: left,
            equal: Equal {
                of: left.varattno(),
                to: right.varattno(),
                operator: op.opno(),
            },
            // What is known of samples (`joins`) is there.
            selectivity: match condition.norm_selec() {
                known if known >= 0.0 => known,
                _ => root.joined(op, pg_sys::JoinType::JOIN_INNER, of, to),
            },
        })
    };
    let all: Vec<Joined> = root
        .equalities(of, to)
        .all::<RestrictInfo>()
        .filter_map(joined)
        .collect();
    let columns = |key: Vec<i16>| -> Option<Vec<Joined<'a>>> {
        let column = |column: i16| all.iter().copied().find(|joined| joined.equal.to == column);
        key.into_iter().map(column).collect()
    };
    keys.into_iter().find_map(columns)
}

/// The rows that a path by an index looks at each time; None if it is no such path.
fn fetched(rel: &RelOptInfo, path: &Path) -> Option<f64> {
    if let Some(fetch) = path.as_a::<CustomPath>() {
        return fetched(rel, fetch.children().first()?);
    }
    let part = match path.as_a::<IndexPath>() {
        Some(scan) => scan.indexselectivity(),
        None => path.as_a::<BitmapHeapPath>()?.found().1,
    };
    Some(part * rel.tuples())
}
