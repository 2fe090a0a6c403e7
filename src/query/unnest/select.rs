//! A set-returning function in the select list as one in FROM, where the two are the same to the letter: then a scan
//! unnests (plan.rs), and what the planner does with a join's rows it does with elements.
//!
//! PostgreSQL calls such a function for each row that FROM and WHERE give (ProjectSet), before it groups and sorts if
//! keys are made of its results, else after. This is done when subqueries have been pulled up and conditions pushed
//! down, so that the function stays as much of a barrier to them as it was; but before, in a subquery that computes
//! nothing else: then nobody can tell, and it is pulled up.

use crate::guc;
use crate::pg::expr::{Aggref, FieldSelect, FuncExpr, OpExpr, TargetEntry, Var, returns_set};
use crate::pg::lookup::{function_is_leakproof, has_children};
use crate::pg::node::{Node, Nodes};
use crate::pg::parse::{CommonTableExpr, FromExpr, Query, RangeTblEntry, RangeTblRef, SortGroupClause};
use crate::pg::planner::PlannerInfo;
use crate::query::expr::path::{call_of, path_of};
use crate::query::expr::tree::{any, rewrite_all, walk, walk_all};
use crate::query::expr::unnesting::{Column, Unnesting, unnested_by};
use crate::query::scan::plan::Columnar;
use amax_format::Parts;
use pgrx::pg_sys::{CmdType, Index, NodeTag, RTEKind};
use std::ffi::CStr;

/// Functions in the select lists of subqueries, before the query is planned.
pub fn in_subqueries(query: &Query) {
    // Nobody counts how often a function that is not volatile is called for rows or for elements.
    if guc::custom_scan() && !query.is_volatile() {
        look_in_subqueries(query);
    }
}

fn look_in_subqueries(query: &Query) {
    for rte in query.rtable().all::<RangeTblEntry>() {
        if rte.rtekind() == RTEKind::RTE_SUBQUERY && !rte.security_barrier() {
            rte.subquery().into_iter().for_each(move_to_from_early);
        }
    }
    for cte in query.cteList().all::<CommonTableExpr>() {
        let query = cte.ctequery().and_then(|query| query.as_a::<Query>());
        query.into_iter().for_each(move_to_from_early);
    }
}

/// Of a subquery over one table that does nothing but select paths and call such a function.
fn move_to_from_early(query: &Query) {
    look_in_subqueries(query);
    let plain = query.hasTargetSRFs()
        && query.commandType() == CmdType::CMD_SELECT
        && !query.hasAggs()
        && !query.hasWindowFuncs()
        && query.havingQual().is_none()
        && query.limitCount().is_none()
        && query.limitOffset().is_none()
        && query.setOperations().is_none();
    let clauses = [
        query.cteList(),
        query.groupClause(),
        query.groupingSets(),
        query.distinctClause(),
        query.sortClause(),
        query.rowMarks(),
    ];
    if !plain || clauses.iter().any(|clause| clause.is_some()) {
        return;
    }
    let Some((relid, rte)) = alone(query).and_then(|relid| Some((relid, query.relation(relid)?))) else {
        return;
    };
    // A view's has more.
    let is_table = rte.rtekind() == RTEKind::RTE_RELATION
        && rte.tablesample().is_none()
        && !rte.securityQuals().is_some()
        && !(rte.inh() && has_children(rte.relid()));
    if !is_table || Columnar::of(rte.relid()).is_none() {
        return;
    }
    let Some(moved) = Moved::of(query.targetList(), relid, query.rtable().len()) else {
        return;
    };
    if !entries(moved.target_list).all(|entry| entry.expr().is_some_and(is_safe)) {
        return;
    }
    for &(call, by) in &moved.calls {
        add(query, call, by);
    }
    query.set_targets(moved.target_list);
}

/// Of a query over one relation, if no row is lost or moved, nor an error, by it.
pub fn move_to_from(root: &PlannerInfo, relid: Index) {
    let parse = root.parse();
    let plain = parse.hasTargetSRFs()
        && parse.commandType() == CmdType::CMD_SELECT
        && !parse.hasWindowFuncs()
        && !parse.hasDistinctOn()
        && !parse.groupingSets().is_some()
        && !root.rowMarks().is_some()
        && !parse.rowMarks().is_some()
        && alone(parse) == Some(relid)
        // PostgreSQL would look at them for each element.
        && !parse.jointree().is_some_and(|from| from.is_volatile());
    if !plain {
        return;
    }
    let Some(moved) = Moved::of(root.processed_tlist(), relid, parse.rtable().len()) else {
        return;
    };
    let pairs = || entries(root.processed_tlist()).zip(entries(moved.target_list));
    let is_set = |entry: &TargetEntry| entry.expr().is_some_and(returns_set);
    let is_safe = |entry: &TargetEntry| entry.expr().is_some_and(is_safe);
    let groups = parse.groupClause().is_some() || parse.hasAggs() || root.hasHavingQual();
    let clauses = parse.groupClause().all::<SortGroupClause>();
    let grouped: Vec<u32> = clauses.map(SortGroupClause::tleSortGroupRef).collect();
    let sorts = parse.sortClause().is_some();
    let in_time = if groups {
        // Only groups' keys are computed before grouping.
        pairs().all(|(old, _)| !is_set(old) || grouped.contains(&old.ressortgroupref()))
    } else {
        // make_sort_input_target() of planner.c.
        !sorts || pairs().any(|(old, _)| old.ressortgroupref() != 0 && is_set(old))
    };
    // What is computed of elements before the sort may be put off until after it where it is no function's result
    // itself.
    let put_off = sorts && pairs().any(|(old, new)| old.ressortgroupref() == 0 && is_set(old) && !is_safe(new));
    // What is beside the last function is computed for rows without elements as well, unless something is computed of
    // its result (split_pathtarget_at_srfs() of tlist.c).
    let beside = || pairs().filter(|(old, _)| !groups || grouped.contains(&old.ressortgroupref()));
    let is_computed = |entry: &TargetEntry| entry.expr().is_some_and(|node| moved.is_in(node));
    let computed_after = moved.selects || beside().any(|(_, new)| is_computed(new));
    let harmless = computed_after || beside().all(|(_, new)| is_safe(new));
    if !in_time || put_off || !harmless {
        return;
    }
    for &(call, by) in &moved.calls {
        let rte = add(parse, call, by);
        // The planner is about to walk FROM (add_base_rels_to_query), and comes to it later.
        root.add_lateral(by.relation, rte);
    }
    root.set_targets(moved.target_list);
    parse.set_targets(moved.target_list);
}

/// The relation that FROM is.
fn alone(query: &Query) -> Option<Index> {
    let mut node: &Node = query.jointree()?;
    while let Some(from) = node.as_a::<FromExpr>() {
        if from.fromlist().len() != 1 {
            return None;
        }
        node = from.fromlist().get(0)?;
    }
    Some(node.as_a::<RangeTblRef>()?.rtindex())
}

fn entries<'a>(targets: Nodes<'a>) -> impl Iterator<Item = &'a TargetEntry> {
    targets.all()
}

struct Moved<'a> {
    /// Each over the relation or over the one before.
    calls: Vec<(&'a Node, Unnesting)>,
    /// With variables in their place.
    target_list: Nodes<'a>,
    /// Whether a column is selected from the last one's result.
    selects: bool,
}

impl<'a> Moved<'a> {
    /// None if there is a function that is not for us, or if two are called side by side.
    fn of(target_list: Nodes<'a>, relid: Index, before: usize) -> Option<Moved<'a>> {
        let mut moved = Moved {
            calls: Vec::new(),
            target_list,
            selects: false,
        };
        let mut base = relid;
        while let Some(call) = innermost(moved.target_list) {
            let function = (before + moved.calls.len() + 1) as Index;
            let (_, by) =
                unnested_by(call, function).filter(|found| found.0 == base && found.1.parts() != Parts::Pairs)?;
            let is_row = by.columns().len() > 1;
            let mut selects = false;
            moved.target_list = rewrite_all(moved.target_list, &mut |node| {
                if node.is_a::<Aggref>() {
                    // It has no such function in it, and PostgreSQL knows it by its place (from 16 on it sorts what some of them want).
                    return Some(node);
                }
                if !is_row {
                    return node.equals(call).then(|| column(function, 1, call));
                }
                let select = node.as_a::<FieldSelect>()?;
                select.arg()?.equals(call).then_some(())?;
                selects = true;
                Some(column(function, select.fieldnum(), node))
            });
            moved.selects = selects;
            let target_list = moved.target_list.as_node();
            if target_list.is_some_and(|targets| any(targets, |node| node.equals(call))) {
                // A whole row is wanted.
                return None;
            }
            moved.calls.push((call, by));
            base = function;
        }
        (!moved.calls.is_empty()).then_some(moved)
    }

    /// Whether something is computed of the last function's result by an expression.
    fn is_in(&self, expression: &Node) -> bool {
        let last = self.calls[self.calls.len() - 1].1.relation;
        any(expression, |node| {
            !std::ptr::eq(node, expression) && node.as_a::<Var>().is_some_and(|var| var.relation() == last)
        })
    }
}

/// Puts a function into FROM.
fn add<'a>(query: &'a Query, call: &'a Node, by: Unnesting) -> &'a RangeTblEntry {
    let name = |column: &Column| match column {
        Column::Key => c"key",
        Column::Value | Column::Pair => c"value",
    };
    let names: Vec<&CStr> = by.columns().iter().map(name).collect();
    let function = call.as_a::<FuncExpr>().expect("it unnests by a function").funcid();
    query.add_function(call, function, &names, by.relation)
}

/// A column of a function's result, in the place of an expression.
fn column<'a>(function: Index, number: i16, of: &Node) -> &'a Node {
    Var::make(function as i32, number, of.type_oid(), -1, of.collation())
}

/// A call of a set-returning function whose arguments call none.
fn innermost<'a>(targets: Nodes<'a>) -> Option<&'a Node> {
    let mut found = None;
    walk_all(targets, &mut |node| {
        let function = node.as_a::<FuncExpr>().is_some_and(FuncExpr::funcretset);
        // Those above come first.
        if function || node.as_a::<OpExpr>().is_some_and(OpExpr::opretset) {
            found = Some(node);
        }
        true
    });
    found
}

/// Whether an expression can be left out for a row without anyone noticing: it raises no error, whatever is in the row.
fn is_safe(expression: &Node) -> bool {
    let mut safe = true;
    walk(expression, &mut |node| {
        if path_of(node, &|_| true).is_some() {
            return false;
        }
        safe &= match node.tag() {
            NodeTag::T_FuncExpr | NodeTag::T_OpExpr => {
                call_of(node).is_some_and(|(function, _)| function_is_leakproof(function.into()))
            }
            NodeTag::T_Var
            | NodeTag::T_Const
            | NodeTag::T_RelabelType
            | NodeTag::T_BoolExpr
            | NodeTag::T_NullTest
            | NodeTag::T_BooleanTest
            | NodeTag::T_List => true,
            _ => false,
        };
        safe
    });
    safe
}
