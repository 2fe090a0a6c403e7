//! Partitioned tables: a scan of all their partitions, for nodes that read it by batches. To PostgreSQL's own nodes its Append hands up the
//! partitions' rows.

use crate::pg::Relation;
use crate::pg::expr::Param;
use crate::pg::node::Node;
use crate::pg::planner::{AppendRelInfo, PlannerInfo, RelOptInfo};
use crate::pg::relation::Opened;
use crate::pg::tupdesc::name_bytes;
use crate::query::expr::tree::{any, has};
use crate::query::plan::wanted::conditions_of;
use pgrx::pg_sys;

/// The partitions that are left of a partitioned table, without those that are partitioned themselves; None if it is none, or if one scan cannot
/// take the place of theirs.
pub fn of<'a>(root: &'a PlannerInfo, rel: &RelOptInfo) -> Option<Vec<&'a RelOptInfo>> {
    let is_changed = root.rowMarks().is_some()
        || !matches!(
            root.parse().commandType(),
            pg_sys::CmdType::CMD_SELECT | pg_sys::CmdType::CMD_INSERT
        );
    let mut found = Vec::new();
    (!is_changed && collect(root, rel, &mut found)).then_some(found)
}

fn collect<'a>(root: &'a PlannerInfo, rel: &RelOptInfo, found: &mut Vec<&'a RelOptInfo>) -> bool {
    let rte = root.entry(rel.relid());
    if rte.relkind() != pg_sys::RELKIND_PARTITIONED_TABLE || !rte.inh() || may_leave_out_later(rel) {
        return false;
    }
    let parent = Opened::with_lock(rte.relid(), pg_sys::NoLock);
    let children = root.append_rel_list().all::<AppendRelInfo>();
    let mut children = children.filter(|child| child.parent_relid() == rel.relid());
    children.all(|child| {
        let Some(child) = root.relation(child.child_relid()).filter(|child| !child.is_dummy()) else {
            return true;
        };
        let entry = root.entry(child.relid());
        let table = Opened::with_lock(entry.relid(), pg_sys::NoLock);
        if !has_same_columns(&parent, &table) {
            return false;
        }
        if entry.relkind() == pg_sys::RELKIND_PARTITIONED_TABLE {
            return collect(root, child, found);
        }
        found.push(child);
        table.is_ours()
    })
}

/// Whether PostgreSQL's Append would leave out partitions when it runs, by values that are not known yet, where bounds of leaves do not do the same.
fn may_leave_out_later(rel: &RelOptInfo) -> bool {
    let keys = rel.listed_or_hashed();
    let is_later = |condition: &Node| any(condition, Node::is_a::<Param>) || condition.is_mutable();
    let is_of_key = |condition: &Node| any(condition, |node| has(&keys, node));
    let mut conditions = conditions_of(rel.baserestrictinfo()).into_iter();
    conditions.any(|condition| is_of_key(condition) && is_later(condition))
}

/// Whether rows of a partition look like those of its parent.
fn has_same_columns(parent: &Relation, partition: &Relation) -> bool {
    let (a, b) = (parent.desc(), partition.desc());
    let mut columns = a.attributes().zip(b.attributes());
    a.natts() == b.natts()
        && columns.all(|(a, b)| {
            let is_there = (a.attisdropped, b.attisdropped);
            is_there == (true, true) || is_there == (false, false) && name_bytes(a) == name_bytes(b)
        })
}
