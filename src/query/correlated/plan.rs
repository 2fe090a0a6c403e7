//! What stands for documents in the arguments of subqueries.

use super::function;
use super::keys::{Keys, of_plan};
use crate::pg::datum::{array_of, of_bytes};
use crate::pg::expr::{Const, FuncExpr, SubPlan, Var};
use crate::pg::lookup::function_of_extension;
use crate::pg::node::Node;
use crate::pg::parse::RangeTblEntry;
use crate::pg::planner::{PlannerInfo, RelOptInfo};
use crate::query::expr::entry::expressions;
use crate::query::expr::tree::walk;
use pgrx::pg_sys::{Datum, InvalidOid, JSONBOID, TEXTARRAYOID, TEXTOID};

/// Gives subqueries of this query what they look at of the documents of a table.
pub fn narrow(root: &PlannerInfo, rel: &RelOptInfo) {
    if !root.glob().subplans().is_some() {
        return;
    }
    let parse = root.parse();
    let functions = parse.rtable().all::<RangeTblEntry>().map(RangeTblEntry::functions);
    let lists = functions
        .chain([root.processed_tlist()])
        .filter_map(|list| list.as_node());
    let from = parse.jointree().map(|from| &**from);
    let mut subqueries: Vec<&SubPlan> = Vec::new();
    for node in lists.chain(from).chain(parse.havingQual()) {
        walk(node, &mut |node| {
            subqueries.extend(node.as_a::<SubPlan>());
            true
        });
    }
    for subquery in subqueries {
        narrow_one(root, rel, subquery);
    }
}

fn narrow_one<'a>(root: &PlannerInfo, rel: &RelOptInfo, subquery: &'a SubPlan) {
    let parameters = subquery.parParam().as_node().map_or(Vec::new(), Node::integers);
    let args = subquery.args();
    if parameters.len() != args.len() || !args.iter().any(|arg| document(arg, rel)) {
        return;
    }
    let returned = expressions(root.processed_tlist());
    let narrowed = |(arg, &parameter): (&'a Node, &i32)| {
        // One that the query returns is put together in any case.
        let narrows = document(arg, rel) && !returned.iter().any(|node| node.equals(arg));
        let keys = narrows.then(|| of_plan(root, subquery.plan_id(), parameter));
        keys.flatten().and_then(|keys| call(arg, &keys)).unwrap_or(arg)
    };
    subquery.set_args(args.iter().zip(&parameters).map(narrowed).collect());
}

fn document(node: &Node, rel: &RelOptInfo) -> bool {
    let var = node.as_a::<Var>();
    var.is_some_and(|var| var.relation() == rel.relid() && var.varattno() > 0 && var.vartype() == JSONBOID)
}

/// `amax.part_of(document, keys)`.
fn call<'a>(document: &'a Node, keys: &[Keys]) -> Option<&'a Node> {
    let function = function_of_extension(function::NAME, &[JSONBOID, TEXTARRAYOID])?;
    let text = |key: &Vec<u8>| (of_bytes(key), false);
    let paths = keys.iter().map(|path| path.iter().map(text).collect::<Vec<_>>());
    let between = (Datum::from(0), true);
    let keys: Vec<(Datum, bool)> = paths.collect::<Vec<_>>().join(&between);
    let keys = Const::make(TEXTARRAYOID, InvalidOid, (-1, false), (array_of(TEXTOID, &keys), false));
    Some(FuncExpr::marked(
        function,
        JSONBOID,
        [document, keys].into_iter().collect(),
    ))
}
