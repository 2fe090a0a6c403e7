//! What a scan's conditions cost: those that vectors decide by the cost model's constant, those that PostgreSQL is called for, row by row, what that takes
//! beside what it says. They come in its order, and each is looked at for the rows that the others have left.

use super::{costs, tids};
use crate::pg::expr::{FuncExpr, OpExpr, PlaceHolderVar, ScalarArrayOpExpr};
use crate::pg::node::{Node, Nodes};
use crate::pg::planner::{PlannerInfo, RelOptInfo, RestrictInfo};
use crate::query::expr::compile::Compiler;
use crate::query::expr::containment::split;
use crate::query::expr::entry::{Entry, collect, entry_of, is_document, over_entries};
use crate::query::expr::path::{path_of, question_of};
use crate::query::expr::tree::{any, rewrite};
use crate::query::expr::unnesting::bare;
use amax_exec::Expr;
use pgrx::pg_sys::NodeTag::{T_AlternativeSubPlan, T_SubPlan};
use pgrx::pg_sys::Oid;

/// Of all rows of a relation.
#[derive(Default)]
pub struct Conditions {
    /// What is done before the first row, such as running subqueries.
    pub startup: f64,
    /// The rest.
    pub run: f64,
}

/// A scan's conditions in the order in which it looks at them: that of order_qual_clauses() of createplan.c, but a policy's
/// come before the user's, which PostgreSQL may look at first if they are cheap and leakproof.
pub fn in_order<'a>(root: &PlannerInfo, infos: Nodes<'a>) -> Vec<&'a RestrictInfo> {
    let mut infos: Vec<_> = infos
        .all::<RestrictInfo>()
        .filter(|info| !info.pseudoconstant())
        .map(|info| {
            let (cost, level) = (root.cost_of(info).per_tuple, info.security_level());
            let cheap = info.leakproof() && cost < 10.0 * costs::operator();
            // What reads no column tells of no row.
            let policy = if info.clause_relids().is_empty() { 0 } else { level };
            ((policy, if cheap { 0 } else { level }, cost), info)
        })
        .collect();
    infos.sort_by(|a, b| a.0.partial_cmp(&b.0).expect("costs are numbers"));
    infos.into_iter().map(|(_, info)| info).collect()
}

/// Makes conditions cost what they do where paths are not wrapped in PlaceHolderVars, which cost nothing: by that they are
/// ordered. PostgreSQL keeps a condition's cost.
pub fn charge_wrapped_paths(root: &PlannerInfo, infos: Nodes<'_>) {
    // Nothing in the query is wrapped.
    if !root.placeholder_list().is_some() {
        return;
    }
    for info in infos.all::<RestrictInfo>() {
        let mut found = false;
        let bare = rewrite(info.clause(), &mut |node| {
            let inner = node.as_a::<PlaceHolderVar>()?.phexpr()?;
            let ours = path_of(inner, &|_| true).is_some() || question_of(inner, &|_| true).is_some();
            found |= ours;
            Some(if ours { inner } else { node })
        });
        if found {
            info.set_cost(root.cost_of(bare));
        }
    }
}

/// Those of a table of which so many rows, in so many leaves, are in the blocks that are scanned.
pub fn of(root: &PlannerInfo, rel: &RelOptInfo, tuples: f64, leaves: f64) -> Conditions {
    let mut found = Conditions::default();
    let mut rows = tuples;
    let conditions = in_order(root, rel.baserestrictinfo()).into_iter();
    for condition in conditions.filter(|condition| !tids::is_about_blocks(rel, condition)) {
        let cost = root.cost_of(condition);
        found.startup += cost.startup;
        let (mut parts, mut read) = (Vec::new(), Vec::new());
        split(bare(condition.clause()), &mut parts);
        parts
            .iter()
            .for_each(|part| collect(root, part, rel.relid(), &mut read));
        let documents = read.iter().any(|node| is_document(node));
        let call = costs::by_row(read.len(), documents) + cost.per_tuple;
        let share = |read: &[&Node]| share(root, rel, (tuples, leaves), read);
        found.run += costs::looks(rows) + share_called(root, &parts, &read, share) * call * rows;
        if parts.iter().any(|part| compares_texts(part)) {
            found.run += costs::compares_texts(share(&read).min(1.0) * rows);
        }
        rows *= root.selectivity(condition);
    }
    found
}

/// Of which part of so many rows, in so many leaves, something is evaluated that is evaluated once for what many rows of a leaf have, of these expressions.
fn share(root: &PlannerInfo, rel: &RelOptInfo, (tuples, leaves): (f64, f64), read: &[&Node]) -> f64 {
    match read {
        [] => 1.0,
        read => read.iter().map(|node| root.values(node, rel)).product::<f64>() * leaves / tuples.max(1.0),
    }
}

/// For which part of the rows PostgreSQL evaluates a condition, or some of it: of values that many rows of a leaf have it does that once for each leaf.
/// What it evaluates once for each number is taken for nothing.
fn share_called(root: &PlannerInfo, parts: &[&Node], read: &[&Node], share: impl Fn(&[&Node]) -> f64) -> f64 {
    let entries: Vec<Entry> = read.iter().map(|node| entry_of(node, &[])).collect();
    let mut compiler = Compiler::while_planning(&entries);
    let share_of = |inputs: &[usize]| share(&inputs.iter().map(|&at| read[at]).collect::<Vec<_>>());
    let mut share = |part: &Node| {
        let vector = (!calls(part, root)).then(|| compiler.compile(over_entries(part, read)));
        let vector = vector.flatten();
        let outside = vector.as_ref().map(Expr::evaluated_outside);
        outside.map_or(1.0, |outside| outside.into_iter().map(share_of).fold(0.0, f64::max))
    };
    parts.iter().map(|part| share(part)).fold(0.0, f64::max).min(1.0)
}

/// Whether a condition has an operator of texts.
fn compares_texts(condition: &Node) -> bool {
    any(condition, |node| {
        let of_one = OpExpr::like(node).map(OpExpr::inputcollid);
        let collation = of_one.or_else(|| node.as_a::<ScalarArrayOpExpr>().map(ScalarArrayOpExpr::inputcollid));
        collation.is_some_and(|collation| collation != Oid::INVALID)
    })
}

/// Whether evaluating an expression calls something that costs more than an operator: no vector does that.
fn calls(node: &Node, root: &PlannerInfo) -> bool {
    any(node, |node| {
        let function = if let Some(op) = OpExpr::like(node) {
            op.function()
        } else if let Some(op) = node.as_a::<ScalarArrayOpExpr>() {
            op.function()
        } else if let Some(call) = node.as_a::<FuncExpr>() {
            call.funcid()
        } else {
            return matches!(node.tag(), T_SubPlan | T_AlternativeSubPlan);
        };
        root.cost_of_call(function, node).per_tuple > costs::operator()
    })
}
