//! The paths by which our nodes read relations, whatever PostgreSQL thinks of them: add_path() frees a path that
//! another one beats, such as a scan of columns beside an index. A node above that takes its batches makes it cheaper
//! than either, and finds it here.

use super::workers::{Charging, is_planned};
use crate::pg::custom::CustomPath;
use crate::pg::planner::{HashPath, JoinPaths, Path, PlannerInfo, ProjectionPath, RelOptInfo};
use crate::pg::relids::Relids;
use pgrx::pg_sys::RelOptKind::RELOPT_JOINREL;
use std::cell::RefCell;

/// A path of a relation; one for all rows and one that workers share.
struct Kept {
    rel: &'static RelOptInfo,
    partial: bool,
    path: &'static CustomPath,
    /// What the conditions of the table cost, all of them.
    conditions: f64,
}

/// A hash join for a join relation, whatever PostgreSQL has chosen for it.
struct KeptJoin {
    rel: &'static RelOptInfo,
    path: &'static HashPath,
}

thread_local! {
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
    static JOINS: RefCell<Vec<KeptJoin>> = const { RefCell::new(Vec::new()) };
}

/// While one of these lives a query is planned, perhaps within the planning of another; what is kept for it goes with it.
pub struct Planning {
    kept: usize,
    joins: usize,
    _charging: Charging,
}

impl Planning {
    pub fn begin() -> Planning {
        Planning {
            kept: KEPT.with_borrow(Vec::len),
            joins: JOINS.with_borrow(Vec::len),
            _charging: Charging::begin(),
        }
    }
}

impl Drop for Planning {
    fn drop(&mut self) {
        KEPT.with_borrow_mut(|kept| kept.truncate(self.kept));
        JOINS.with_borrow_mut(|joins| joins.truncate(self.joins));
    }
}

/// Keeps a copy of a path, in place of a more expensive one. It is added to its relation afterwards.
pub fn keep(root: &PlannerInfo, partial: bool, path: &CustomPath, conditions: f64) {
    // SAFETY: the relation lives until the query has been planned, which is until Planning ends.
    let rel: &'static RelOptInfo = unsafe { RelOptInfo::of(path.parent().raw()) };
    // GEQO tries joins in memory that it empties meanwhile.
    if !is_planned() || (rel.reloptkind() == RELOPT_JOINREL && root.is_searched()) {
        return;
    }
    let copy = path.copy();
    KEPT.with_borrow_mut(
        |kept| match kept.iter_mut().find(|k| k.rel.is(rel) && k.partial == partial) {
            Some(known) if known.path.total_cost() <= copy.total_cost() => {}
            Some(known) => known.path = copy,
            None => kept.push(Kept {
                rel,
                partial,
                path: copy,
                conditions,
            }),
        },
    );
}

/// Keeps a hash join that is in no list, in place of a more expensive one.
pub fn keep_join(root: &PlannerInfo, path: &HashPath) {
    if !is_planned() || root.is_searched() {
        return;
    }
    // SAFETY: both live until the query has been planned, which is until Planning ends.
    let (rel, path): (&'static RelOptInfo, &'static HashPath) =
        unsafe { (RelOptInfo::of(path.as_path().parent().raw()), HashPath::of(path.raw())) };
    let cost = |path: &HashPath| path.as_path().total_cost();
    JOINS.with_borrow_mut(|joins| match joins.iter_mut().find(|kept| kept.rel.is(rel)) {
        Some(known) if cost(known.path) <= cost(path) => {}
        Some(known) => known.path = path,
        None => joins.push(KeptJoin { rel, path }),
    });
}

/// The hash join that has been kept for a relation.
pub fn kept_join(rel: &RelOptInfo) -> Option<&'static HashPath> {
    JOINS.with_borrow(|joins| Some(joins.iter().find(|kept| kept.rel.is(rel))?.path))
}

/// The path of a relation, which is not known to be empty.
fn kept(rel: &RelOptInfo, partial: bool) -> Option<&'static CustomPath> {
    if rel.is_dummy() {
        return None;
    }
    KEPT.with_borrow(|kept| {
        let found = kept.iter().find(|k| k.rel.is(rel) && k.partial == partial)?;
        Some(found.path)
    })
}

/// A path of ours of a relation that is wanted and needs nothing of other relations: the one that was kept, or the first of
/// PostgreSQL's list, but for a projection above it. `partial`: one that workers share.
pub fn path_with(rel: &RelOptInfo, partial: bool, is_wanted: impl Fn(&CustomPath) -> bool) -> Option<&CustomPath> {
    let listed = match partial {
        true => rel.partial_paths(),
        false => rel.paths(),
    };
    let below = |path: &'_ Path| -> Option<&'_ CustomPath> {
        // SAFETY: as the path, until one is added to the relation.
        let path: &Path = unsafe { Path::of(path.raw()) };
        path.as_a::<ProjectionPath>()
            .map_or(path, ProjectionPath::subpath)
            .as_a()
    };
    kept(rel, partial)
        .into_iter()
        .chain(listed.into_iter().filter_map(below))
        .find(|path| is_wanted(path) && path.param_info().is_none())
}

/// What the conditions of the tables among these relations cost that we have paths of.
pub fn conditions(root: &PlannerInfo, relids: Relids) -> f64 {
    KEPT.with_borrow(|kept| {
        let of_table = |k: &&Kept| {
            let relid = k.rel.relid();
            // Relations of another query have the same numbers.
            !k.partial && k.rel.reloptkind() != RELOPT_JOINREL && relids.contains(relid) && root.has(relid, k.rel)
        };
        kept.iter().filter(of_table).map(|k| k.conditions).sum()
    })
}
