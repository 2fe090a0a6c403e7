//! Statistics of expressions over documents, which the planner finds as it finds those of an index. See README.md.

mod counted;
mod documents;
mod elements;
mod expressions;
mod hashes;
mod iso;
mod joins;
mod kept;
mod sample;
mod shown;

pub use elements::{expect as expect_elements, expect_all};
pub use joins::compare as compare_joins;
pub use kept::forget;
pub use shown::{Shown, of_paths};

use self::elements::Arrays;
use self::sample::Of;
use crate::guc;
use crate::pg::expr::{TargetEntry, Var};
use crate::pg::node::Node;
use crate::pg::parse::RangeTblEntry;
use crate::pg::planner::{PlannerInfo, RelOptInfo};
use crate::pg::statistics::VariableStatData;
use pgrx::pg_sys;

/// Tells the planner that there are statistics of what a query computes of a relation's documents.
pub fn offer(root: &PlannerInfo, rel: &RelOptInfo, table: pg_sys::Oid) {
    let expressions = expressions::of_relation(root, rel.relid());
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
        pg_sys::RTEKind::RTE_RELATION => kept::give(root, (rel, index), Of::Rows, expression, rel.tuples(), data),
        _ => match Arrays::of(root, relid, root.entry(relid)) {
            Some(arrays) => arrays.give(root, rel, expression, data),
            None => return false,
        },
    }
    true
}

/// The statistics of a document by what is asked of it, of elements themselves, or of an expression that a subquery or CTE selects, where each row of its is one of its table's.
/// PostgreSQL itself looks for those of columns.
pub fn of_column(root: &PlannerInfo, rte: &RangeTblEntry, column: i16, data: &VariableStatData) -> bool {
    if !guc::custom_scan() {
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
    if rte.rtekind() == pg_sys::RTEKind::RTE_RELATION {
        // `data` may say nothing; see above.
        let rel = root.relations().find(|rel| std::ptr::eq(root.entry(rel.relid()), rte));
        let of_rel = |var: &Var, rel: &RelOptInfo| var.relation() == rel.relid() && var.varattno() == column;
        return rel.filter(|rel| rel.offers(rte.relid())).is_some_and(|rel| {
            let is_it = |node: &Node| node.as_a::<Var>().is_some_and(|var| of_rel(var, rel));
            documents::give(root, rel, &is_it, data)
        });
    }
    let Some((root, rel, expression)) = selected(root, rte, column) else {
        return false;
    };
    let table = root.entry(rel.relid()).relid();
    kept::give(root, (rel, table), Of::Rows, expression, rel.tuples(), data);
    true
}

/// The expression that a column stands for, and the relation that it is of.
fn selected<'a>(
    root: &'a PlannerInfo,
    rte: &RangeTblEntry,
    column: i16,
) -> Option<(&'a PlannerInfo, &'a RelOptInfo, &'a Node)> {
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
    let rte = root.entry(rel.relid());
    let known = expressions::is_known(expression, rel.relid())
        && rte.rtekind() == pg_sys::RTEKind::RTE_RELATION
        && kept::has_columns(rte.relid());
    known.then_some((root, rel, expression))
}
