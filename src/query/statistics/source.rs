//! The tables that statistics are of: a table, or the children whose rows a parent has.

use crate::columnar::{self, OpenLeaf};
use crate::hash::Quick;
use crate::pg::Relation;
use crate::pg::expr::Var;
use crate::pg::node::Node;
use crate::pg::planner::{AppendRelInfo, PlannerInfo, RelOptInfo};
use crate::pg::relation::Opened;
use crate::query::expr::tree::rewrite;
use crate::storage::manifest;
use amax_lsm::Origin;
use pgrx::pg_sys;
use std::hash::Hasher;
use std::rc::Rc;

/// Rows that are looked at, and the leaves that they are of, at most.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub struct Size {
    pub rows: u64,
    pub leaves: u64,
}

/// Of a table.
pub const SIZE: Size = Size { rows: 8192, leaves: 16 };
/// Children of a parent that are looked at, and leaves of all of them, where each is asked about.
pub const CHILDREN: usize = 64;

/// Rows of one leaf.
pub struct Part {
    pub leaf: Rc<OpenLeaf>,
    pub origin: Option<Origin>,
    pub rows: Vec<u32>,
    /// Of which of the tables it is.
    pub member: usize,
}

pub struct Source<'a> {
    /// As the query names it: whose targets of statistics are honoured.
    pub table: pg_sys::Oid,
    /// Rows of it, or of all children.
    pub tuples: f64,
    pub members: Vec<Member<'a>>,
    pub size: Size,
}

/// A table.
pub struct Member<'a> {
    pub table: pg_sys::Oid,
    /// How it comes from the parent, its own parent first.
    way: Vec<&'a AppendRelInfo>,
}

impl Member<'_> {
    /// The attribute that one of the parent's is; None if it is none any more.
    pub fn attribute(&self, attribute: i16) -> Option<i16> {
        self.way.iter().rev().try_fold(attribute, |attribute, child| {
            let own = child.translated_vars().get((attribute as usize).checked_sub(1)?)?;
            own.as_a::<Var>().map(Var::varattno)
        })
    }

    /// An expression over the parent's columns, over its own.
    pub fn expression<'b>(&self, expression: &'b Node) -> &'b Node {
        rewrite(expression, &mut |node| {
            let var = node.as_a::<Var>().filter(|_| !self.way.is_empty())?;
            let (ty, typmod, collation) = (node.type_oid(), node.typmod(), node.collation());
            Some(Var::make(
                var.varno(),
                self.attribute(var.varattno())?,
                ty,
                typmod,
                collation,
            ))
        })
    }
}

impl<'a> Source<'a> {
    pub fn of_table(table: pg_sys::Oid, tuples: f64) -> Source<'a> {
        Source {
            table,
            tuples,
            members: vec![Member { table, way: Vec::new() }],
            size: SIZE,
        }
    }

    /// None if nothing of a relation is in columns.
    pub fn of(root: &'a PlannerInfo, rel: &RelOptInfo) -> Option<Source<'a>> {
        let rte = root.entry(rel.relid());
        if rte.rtekind() != pg_sys::RTEKind::RTE_RELATION {
            return None;
        }
        if !rte.inh() {
            let siblings = siblings(root, rel);
            return has_columns(rte.relid()).then(|| Source {
                size: shared(siblings),
                ..Source::of_table(rte.relid(), rel.tuples())
            });
        }
        let (mut tuples, mut members) = (0.0, Vec::new());
        for child in root.relations() {
            let (entry, mut way) = (root.entry(child.relid()), Vec::new());
            if entry.rtekind() == pg_sys::RTEKind::RTE_RELATION
                && !entry.inh()
                && !child.is_dummy()
                && is_below(root, child, rel, &mut way)
            {
                tuples += child.tuples();
                // Those of ours that have columns.
                let table = entry.relid();
                members.extend((child.offers(table) || has_columns(table)).then_some(Member { table, way }));
            }
        }
        // As many, from all over them.
        let mut number = 0;
        let all = members.len();
        members.retain(|_| {
            number += 1;
            all <= CHILDREN || number * CHILDREN / all > (number - 1) * CHILDREN / all
        });
        let size = Size {
            leaves: SIZE.leaves.max(members.len() as u64),
            ..SIZE
        };
        (!members.is_empty()).then_some(Source {
            table: rte.relid(),
            tuples,
            members,
            size,
        })
    }

    /// Rows from all over it.
    pub fn parts(&self) -> Vec<Part> {
        let open = |member: &Member| Opened::with_lock(member.table, pg_sys::NoLock);
        let opened: Vec<Opened> = self.members.iter().map(open).collect();
        parts(&opened.iter().map(|table| &**table).collect::<Vec<_>>(), self.size)
    }
}

/// Rows from all over some tables, in leaves that are as far from one another as may be.
fn parts(tables: &[&Relation], size: Size) -> Vec<Part> {
    let manifests: Vec<_> = tables.iter().map(|table| manifest::current(table)).collect();
    let all = manifests.iter().map(|manifest| manifest.rows()).sum::<u64>().max(1);
    let distance = (all / size.leaves).max(1);
    let (mut parts, mut before, mut next) = (Vec::new(), 0, distance / 2);
    for (member, (table, manifest)) in tables.iter().zip(&manifests).enumerate() {
        for component in &manifest.components {
            // Its directory is read only if it has some of the leaves.
            let end = before + component.rows;
            let Some(directory) = (end > next)
                .then(|| manifest::read_directory(table, component).ok())
                .flatten()
            else {
                before = end;
                continue;
            };
            for (at, entry) in directory.leaves.iter().enumerate() {
                let rows = u64::from(entry.rows);
                before += rows;
                if before <= next || rows == 0 {
                    continue;
                }
                // As many as are nearer to this leaf than to others.
                let steps = (before - next).div_ceil(distance);
                next += steps * distance;
                let Ok(leaf) = columnar::open_leaf(table, component, at) else {
                    continue;
                };
                let wanted = (steps * size.rows / size.leaves).clamp(1, rows);
                parts.push(Part {
                    leaf,
                    origin: component.origin,
                    rows: (0..wanted)
                        .map(|n| any_of(before, n * rows / wanted, (n + 1) * rows / wanted))
                        .collect(),
                    member,
                });
            }
        }
    }
    parts
}

/// A row of these of a leaf, the same each time: what comes round every so many rows is not to be met always, or never.
fn any_of(leaf: u64, first: u64, end: u64) -> u32 {
    let mut hasher = Quick::default();
    hasher.write_u64(leaf);
    hasher.write_u64(first);
    hasher.write_u64(end);
    (first + hasher.finish() % (end - first)) as u32
}

/// Whether it is a table of ours that has something in columns.
fn has_columns(table: pg_sys::Oid) -> bool {
    let rel = Opened::with_lock(table, pg_sys::NoLock);
    rel.is_ours() && manifest::current(&rel).rows() > 0
}

/// Whether a relation is among a parent's children, and theirs; `way`: how.
fn is_below<'a>(
    root: &'a PlannerInfo,
    child: &RelOptInfo,
    parent: &RelOptInfo,
    way: &mut Vec<&'a AppendRelInfo>,
) -> bool {
    let mut relation = child.relid();
    while let Some(step) = root.parent(relation) {
        way.push(step);
        relation = step.parent_relid();
        if relation == parent.relid() {
            return true;
        }
    }
    false
}

/// The parent in a query of a table that is there as its child.
fn topmost(root: &PlannerInfo, relation: pg_sys::Index) -> pg_sys::Index {
    let mut top = relation;
    while let Some(step) = root.parent(top)
        && root.entry(step.parent_relid()).rtekind() == pg_sys::RTEKind::RTE_RELATION
    {
        top = step.parent_relid();
    }
    top
}

/// How many tables come from the same parent as this one, with it; one more than [`CHILDREN`] if they are more than that.
fn siblings(root: &PlannerInfo, rel: &RelOptInfo) -> usize {
    let top = topmost(root, rel.relid());
    if top == rel.relid() {
        return 1;
    }
    let all = root.relations().filter(|other| {
        let rte = root.entry(other.relid());
        !rte.inh() && topmost(root, other.relid()) == top
    });
    all.take(CHILDREN + 1).count()
}

/// The parent of a table that has more than [`CHILDREN`] others beside it.
pub fn crowd<'a>(root: &'a PlannerInfo, rel: &RelOptInfo) -> Option<&'a RelOptInfo> {
    (siblings(root, rel) > CHILDREN).then(|| root.relation(topmost(root, rel.relid())))?
}

/// What is looked at of each of so many tables: together not much more than of one.
fn shared(tables: usize) -> Size {
    let tables = tables.max(1) as u64;
    Size {
        rows: (2 * SIZE.rows / tables).min(SIZE.rows),
        leaves: (CHILDREN as u64 / tables).clamp(1, SIZE.leaves),
    }
}
