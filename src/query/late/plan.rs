//! Which documents are read late, and what stands in their place in the target list.

use super::function;
use crate::guc::{self, Materialization};
use crate::pg::expr::{Const, FuncExpr, PlaceHolderVar, TargetEntry, Var};
use crate::pg::lookup::function_of_extension;
use crate::pg::node::{Node, Nodes};
use crate::pg::parse::{FromExpr, JoinExpr, Query};
use crate::pg::planner::{PlannerInfo, RelOptInfo};
use crate::query::expr::tree::{rewrite_all, walk};
use pgrx::pg_sys::*;

/// Rows of the table for each one that is read late: to find a row costs as much as to scan ten, and most queries have
/// conditions.
const ROWS: f64 = 100.0;
/// The most rows: each is read by itself.
const MOST: i64 = 1000;

/// Puts calls of our function in the place of documents that a query only returns. Paths have been wrapped before: what
/// is left of a document's variable is the document.
pub fn postpone(root: &PlannerInfo, rel: &RelOptInfo, table: Oid) {
    let parse = root.parse();
    let Some(rows) = rows(parse) else { return };
    let pays = match guc::materialization() {
        Materialization::auto => rows as f64 * ROWS <= rel.tuples(),
        Materialization::ultra_late => true,
        Materialization::early | Materialization::late => false,
    };
    if rows > MOST || !pays || !joins(parse) {
        return;
    }
    let targets = root.processed_tlist();
    if !targets.all().any(|entry| late(targets, rel.relid(), entry).is_some()) {
        return;
    }
    let arguments = [REGCLASSOID, INT4OID, TIDOID];
    let Some(function) = function_of_extension(function::NAME, &arguments) else {
        return;
    };
    root.set_targets(rewrite_all(targets, &mut |node| {
        let entry = node.as_a::<TargetEntry>()?;
        let document = late(targets, rel.relid(), entry);
        Some(document.map_or(node, |document| entry.with(call(function, table, document))))
    }));
}

/// How many rows a query returns that sorts them and does nothing else, LIMIT and OFFSET being constants.
fn rows(parse: &Query) -> Option<i64> {
    let plain = parse.commandType() == CmdType::CMD_SELECT
        && parse.sortClause().is_some()
        && !parse.rowMarks().is_some()
        && !parse.groupClause().is_some()
        && !parse.distinctClause().is_some()
        && parse.setOperations().is_none()
        && !(parse.hasAggs() || parse.hasTargetSRFs());
    let number = |node: &Node| {
        node.as_a::<Const>()
            .and_then(Const::value)
            .map(|rows| rows.value() as i64)
    };
    let limit = number(parse.limitCount().filter(|_| plain)?)?;
    let offset = match parse.limitOffset() {
        Some(offset) => number(offset)?,
        None => 0,
    };
    Some(limit.saturating_add(offset))
}

fn joins(parse: &Query) -> bool {
    fn is_join(node: &Node) -> bool {
        node.is_a::<JoinExpr>()
            || node.as_a::<FromExpr>().is_some_and(|from| {
                let items = from.fromlist();
                items.len() > 1 || items.iter().any(is_join)
            })
    }
    parse.jointree().is_some_and(|from| is_join(from))
}

/// The document that an entry of the target list is, if it is nothing else: no sort key.
fn document(entry: &TargetEntry, relid: Index) -> Option<&Var> {
    let var = entry.expr()?.as_a::<Var>()?;
    let is_document = var.relation() == relid && var.varattno() > 0 && var.vartype() == JSONBOID;
    (is_document && entry.ressortgroupref() == 0).then_some(var)
}

/// The same of one that nothing else needs.
fn late<'a>(targets: Nodes<'_>, relid: Index, entry: &'a TargetEntry) -> Option<&'a Var> {
    document(entry, relid).filter(|document| !is_carried(targets, relid, document))
}

/// Whether the target list has a use of a document beside returning it.
fn is_carried(targets: Nodes<'_>, relid: Index, document_of: &Var) -> bool {
    let others = targets.all().filter(|entry| document(entry, relid).is_none());
    others.filter_map(TargetEntry::expr).any(|node| {
        let mut found = false;
        walk(node, &mut |node| {
            found |= node.equals(document_of);
            !node.is_a::<PlaceHolderVar>()
        });
        found
    })
}

/// `amax.late_document(table, attribute, ctid)`; NULL where an outer join has no row.
fn call<'a>(function: Oid, table: Oid, document: &Var) -> &'a Node {
    let number = |ty: Oid, value: Datum| Const::make(ty, InvalidOid, (4, true), (value, false));
    let arguments = [
        number(REGCLASSOID, table.into()),
        number(INT4OID, Datum::from(i32::from(document.varattno()))),
        document.ctid(),
    ];
    FuncExpr::marked(function, JSONBOID, arguments.into_iter().collect())
}
