//! The statistics that a session has made, for as long as the table is much the same.

use super::expressions;
use super::sample::{self, Made, Of, Wanted};
use super::source::{Size, Source};
use crate::pg::memory::Context;
use crate::pg::node::Node;
use crate::pg::planner::{PlannerInfo, RelOptInfo};
use crate::pg::relation::{FileId, Opened};
use crate::pg::statistics::{Rights, VariableStatData};
use crate::query::expr::tree::rewrite;
use crate::storage::manifest;
use pgrx::pg_sys;
use std::cell::RefCell;
use std::collections::HashMap;
use std::iter;
use std::rc::Rc;

/// What is known of some tables.
struct Known {
    files: Vec<FileId>,
    /// Their columnar rows then.
    rows: u64,
    expressions: Vec<Expression>,
    /// Where those are.
    context: Context,
}

struct Expression {
    of: Of,
    expression: &'static Node,
    wanted: Wanted,
    size: Size,
    made: Rc<Made>,
}

/// Expressions, of all tables.
const MOST: usize = 1000;

thread_local! {
    /// By the source's table, and its members.
    static KEPT: RefCell<HashMap<Vec<pg_sys::Oid>, Known>> = RefCell::default();
    static SHARED: RefCell<Shared> = RefCell::default();
}

/// Tells of an expression over a source's rows, or elements in them, of which there are `tuples`.
pub fn give(
    root: &PlannerInfo,
    rel: &RelOptInfo,
    (source, of, tuples): (&Source, Of, f64),
    expression: &Node,
    data: &VariableStatData,
) {
    let rights = Rights::of(root, rel);
    let made = get(source, &of, expression, tuples, wanted_with(rights));
    tell(made.as_ref(), rights, data);
}

fn wanted_with(rights: Rights) -> Wanted {
    match rights {
        Rights::Counts => Wanted::Counts,
        Rights::All | Rights::Leakproof => Wanted::Values,
    }
}

fn tell(made: Option<&Rc<Made>>, rights: Rights, data: &VariableStatData) {
    if let Some(Made::Statistics(found)) = made.map(|made| &**made) {
        data.set(found, rights == Rights::All);
    }
}

/// What a parent's children are told while a query is planned: where its planner is, and the parent's number, column and what is wanted of it.
type Shared = HashMap<(usize, pg_sys::Index, i16, bool), Option<Rc<Made>>>;

/// Tells of one of very many children what is known of them together. The same is asked of each: so it is looked up once in a query.
pub fn give_shared(
    root: &PlannerInfo,
    rel: &RelOptInfo,
    (parent, column): (&RelOptInfo, i16),
    data: &VariableStatData,
) {
    let rights = Rights::of(root, rel);
    let wanted = wanted_with(rights);
    let key = (
        std::ptr::from_ref(root) as usize,
        parent.relid(),
        column,
        wanted == Wanted::Values,
    );
    let known = SHARED.with_borrow(|shared| shared.get(&key).cloned());
    let made = known.unwrap_or_else(|| {
        let expression = parent.offered(root.entry(parent.relid()).relid(), column);
        let asked = Source::of(root, parent).zip(expression);
        let made = asked.and_then(|(source, e)| get(&source, &Of::Rows, e, source.tuples, wanted));
        SHARED.with_borrow_mut(|shared| shared.insert(key, made.clone()));
        made
    });
    tell(made.as_ref(), rights, data);
}

/// Another query is planned.
pub fn begin() {
    SHARED.with_borrow_mut(HashMap::clear);
}

/// What is known of an expression over a source's rows, or elements in them, of which there are about `tuples`.
pub fn get(source: &Source, of: &Of, expression: &Node, tuples: f64, wanted: Wanted) -> Option<Rc<Made>> {
    let expression = rewrite(expression, &mut |node| expressions::of_table(node, of));
    if let [member] = &source.members[..]
        && member.table != source.table
    {
        // Of one child it is that child's.
        let own = Source {
            size: source.size,
            ..Source::of_table(member.table, source.tuples)
        };
        return get(
            &own,
            &of.of_member(member)?,
            of.over_member(member, expression),
            tuples,
            wanted,
        );
    }
    let members = source.members.iter().map(|member| member.table);
    let key: Vec<pg_sys::Oid> = iter::once(source.table).chain(members).collect();
    let (mut files, mut rows) = (Vec::new(), 0);
    for member in &source.members {
        let rel = Opened::with_lock(member.table, pg_sys::NoLock);
        files.push(rel.file());
        rows += manifest::current(&rel).rows();
    }
    let is_same = |known: &Known| known.files == files && known.rows.abs_diff(rows) <= known.rows / 10;
    let found = KEPT.with_borrow(|kept| {
        let known = kept.get(&key).filter(|known| is_same(known))?;
        let is_it = |known: &&Expression| {
            known.wanted == wanted
                && known.of == *of
                && known.size >= source.size
                && known.expression.equals(expression)
        };
        known.expressions.iter().find(is_it).map(|known| known.made.clone())
    });
    if found.is_some() {
        return found;
    }
    let made = Rc::new(sample::make(source, of, expression, tuples, wanted)?);
    KEPT.with_borrow_mut(|kept| {
        if kept.values().map(|known| known.expressions.len()).sum::<usize>() >= MOST {
            kept.clear();
        }
        if kept.get(&key).is_some_and(|known| !is_same(known)) {
            kept.remove(&key);
        }
        let known = kept.entry(key).or_insert_with(|| Known {
            files: files.clone(),
            rows,
            expressions: Vec::new(),
            context: Context::lasting("amax statistics"),
        });
        known.expressions.push(Expression {
            of: of.clone(),
            expression: known.context.within(|| expression.copy()),
            wanted,
            size: source.size,
            made: made.clone(),
        });
    });
    Some(made)
}

/// A table has changed, or any may have: by ANALYZE, too.
pub fn forget(table: pg_sys::Oid) {
    KEPT.with_borrow_mut(|kept| match table {
        pg_sys::InvalidOid => kept.clear(),
        table => kept.retain(|tables, _| !tables.contains(&table)),
    });
}
