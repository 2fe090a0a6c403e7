//! Statistics of expressions over documents, which the planner finds as it finds those of an index. See README.md.

mod counted;
mod documents;
mod elements;
mod expressions;
mod hashes;
mod iso;
mod joins;
mod kept;
mod keys;
mod sample;
mod shown;
mod source;

pub use elements::{expect as expect_elements, expect_all};
pub use joins::compare as compare_joins;
pub use kept::{begin, forget};
pub use keys::match_keys;
pub use shown::{Shown, of_paths};

use self::elements::Arrays;
use self::sample::Of;
use self::source::Source;
use crate::guc;
use crate::pg::expr::{TargetEntry, Var};
use crate::pg::node::Node;
use crate::pg::parse::RangeTblEntry;
use crate::pg::planner::{AppendRelInfo, PlannerInfo, RelOptInfo};
use crate::pg::statistics::VariableStatData;
use pgrx::pg_sys;

/// Tells the planner that there are statistics of what a query computes of a relation's documents; of its parents' too.
pub fn offer(root: &PlannerInfo, rel: &RelOptInfo, table: pg_sys::Oid) {
    if rel.offers(table) {
        return;
    }
    let relid = rel.relid();
    let parent = |child: &&AppendRelInfo| root.entry(child.parent_relid()).rtekind() == pg_sys::RTEKind::RTE_RELATION;
    let expressions = match root.parent(relid).filter(parent) {
        None => expressions::of_relation(root, relid),
        Some(child) => {
            let Some(parent) = root.relation(child.parent_relid()) else {
                return;
            };
            let of_parent = root.entry(parent.relid()).relid();
            offer(root, parent, of_parent);
            // In the same order.
            let all = parent.all_offered(of_parent);
            all.iter().map(|e| root.translated(e, child)).collect()
        }
    };
    if !expressions.is_empty() {
        rel.offer_statistics(table, expressions.into_iter().collect());
    }
}

/// The statistics of such an expression, by the column that it is of the index; false if it is none of ours.
pub fn of_index(root: &PlannerInfo, index: pg_sys::Oid, column: i16, data: &VariableStatData) -> bool {
    // Who estimates what a scan by an index costs leaves the struct's fields as they happen to be (brincostestimate()).
    let is_ours = root.relations().any(|rel| rel.offers(index));
    let Some(rel) = is_ours.then(|| data.rel()).flatten() else {
        return false;
    };
    let Some(expression) = rel.offered(index, column) else {
        return false;
    };
    let relid = rel.relid();
    match root.entry(relid).rtekind() {
        pg_sys::RTEKind::RTE_RELATION if documents::give(root, rel, &|node| node.equals(expression), data) => {}
        pg_sys::RTEKind::RTE_RELATION => {
            if let Some(parent) = source::crowd(root, rel) {
                kept::give_shared(root, rel, (parent, column), data);
            } else if let Some(source) = Source::of(root, rel) {
                kept::give(root, rel, (&source, Of::Rows, source.tuples), expression, data);
            }
        }
        _ => match Arrays::of(root, relid, root.entry(relid)) {
            Some(arrays) => arrays.give(root, rel, expression, data),
            None => return false,
        },
    }
    true
}

/// Says of a parent that it has the rows of all its children, as one table has them: PostgreSQL takes those that their conditions leave for all.
pub fn count_rows(root: &PlannerInfo, rel: &RelOptInfo) {
    let rte = root.entry(rel.relid());
    if rte.rtekind() == pg_sys::RTEKind::RTE_RELATION
        && rte.inh()
        && rel.offers(rte.relid())
        && let Some(source) = Source::of(root, rel)
    {
        rel.set_tuples(source.tuples.max(rel.rows()));
    }
}

/// The statistics of a document by what is asked of it, of elements themselves, or of an expression that a subquery or CTE selects, where each row of its is one of its table's.
/// PostgreSQL itself looks for those of columns.
pub fn of_column(root: &PlannerInfo, rte: &RangeTblEntry, column: i16, data: &VariableStatData) -> bool {
    if !guc::custom_scan() {
        return false;
    }
    if rte.rtekind() == pg_sys::RTEKind::RTE_RELATION {
        // `data` may say nothing; see above.
        let rel = root.relations().find(|rel| std::ptr::eq(root.entry(rel.relid()), rte));
        let of_rel = |var: &Var, rel: &RelOptInfo| var.relation() == rel.relid() && var.varattno() == column;
        return rel.filter(|rel| rel.offers(rte.relid())).is_some_and(|rel| {
            let is_it = |node: &Node| node.as_a::<Var>().is_some_and(|var| of_rel(var, rel));
            documents::give(root, rel, &is_it, data)
        });
    }
    if expressions::refuse_patterns(root) {
        return false;
    }
    if rte.rtekind() == pg_sys::RTEKind::RTE_FUNCTION {
        let Some((rel, var)) = data.rel().zip(data.var()).filter(|_| column == 1) else {
            return false;
        };
        let arrays = var.as_a::<Var>().and_then(|var| Arrays::of(root, var.relation(), rte));
        let is_known = arrays.is_some();
        arrays.into_iter().for_each(|arrays| arrays.give(root, rel, var, data));
        return is_known;
    }
    let Some((root, rel, source, expression)) = selected(root, rte, column) else {
        return false;
    };
    kept::give(root, rel, (&source, Of::Rows, source.tuples), expression, data);
    true
}

/// The expression that a column stands for, and the relation that it is of, with what is known of that.
fn selected<'a>(
    root: &'a PlannerInfo,
    rte: &RangeTblEntry,
    column: i16,
) -> Option<(&'a PlannerInfo, &'a RelOptInfo, Source<'a>, &'a Node)> {
    let root = root.subquery(rte)?;
    let parse = root.parse();
    let of_rows = !parse.groupClause().is_some()
        && !parse.groupingSets().is_some()
        && !parse.distinctClause().is_some()
        && parse.setOperations().is_none();
    let target = parse.targetList().get((column as usize).checked_sub(1)?)?;
    let expression = target.as_a::<TargetEntry>()?.expr().filter(|_| of_rows)?;
    if let Some(var) = expression.as_a::<Var>().filter(|var| var.varlevelsup() == 0) {
        return selected(root, root.entry(var.relation()), var.varattno());
    }
    let relid = root.varnos(expression);
    let rel = root.relation(relid.is_one().then(|| relid.at(0))?)?;
    let source = expressions::is_known(expression, rel.relid()).then(|| Source::of(root, rel))?;
    Some((root, rel, source?, expression))
}
