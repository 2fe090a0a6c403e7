//! A set-returning function in the select list as one in FROM, where the two are the same to the letter: then a scan
//! unnests (plan.rs), and what the planner does with a join's rows it does with elements.
//!
//! PostgreSQL calls such a function for each row that FROM and WHERE give (ProjectSet), before it groups and sorts if
//! keys are made of its results, else after. This is done when subqueries have been pulled up and conditions pushed
//! down, so that the function stays as much of a barrier to them as it was; but before, in a subquery that computes
//! nothing else: then nobody can tell, and it is pulled up.

use super::plan::unnested_by;
use crate::guc;
use crate::query::expr::path::{call_of, path_of};
use crate::query::expr::tree::{equal, is_a, list, make, nodes, rewrite, walk};
use crate::query::expr::unnesting::{Column, Unnesting};
use crate::query::scan::plan::columnar_share;
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag;

/// Functions in the select lists of subqueries, before the query is planned.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn in_subqueries(query: *mut pg_sys::Query) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        // Nobody counts how often a function that is not volatile is called for rows or for elements.
        if guc::custom_scan() && !pg_sys::contain_volatile_functions(query as *mut pg_sys::Node) {
            look_in_subqueries(query);
        }
    }
}
/// # Safety
/// What the planner hands over.
unsafe fn look_in_subqueries(query: *mut pg_sys::Query) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        for rte in nodes((*query).rtable) {
            let rte = &*(rte as *mut pg_sys::RangeTblEntry);
            if rte.rtekind == pg_sys::RTEKind::RTE_SUBQUERY && !rte.security_barrier {
                move_to_from_early(rte.subquery);
            }
        }
        for cte in nodes((*query).cteList) {
            let query = (*(cte as *mut pg_sys::CommonTableExpr)).ctequery;
            if is_a(query, NodeTag::T_Query) {
                move_to_from_early(query as *mut pg_sys::Query);
            }
        }
    }
}

/// Of a subquery over one table that does nothing but select paths and call such a function.
///
/// # Safety
/// What the planner hands over.
unsafe fn move_to_from_early(query: *mut pg_sys::Query) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        look_in_subqueries(query);
        let parse = &mut *query;
        let plain = parse.hasTargetSRFs
            && parse.commandType == pg_sys::CmdType::CMD_SELECT
            && !parse.hasAggs
            && !parse.hasWindowFuncs
            && parse.cteList.is_null()
            && parse.groupClause.is_null()
            && parse.groupingSets.is_null()
            && parse.havingQual.is_null()
            && parse.distinctClause.is_null()
            && parse.sortClause.is_null()
            && parse.limitCount.is_null()
            && parse.limitOffset.is_null()
            && parse.rowMarks.is_null()
            && parse.setOperations.is_null();
        if !plain {
            return;
        }
        let Some(relid) = alone(parse.jointree as *mut pg_sys::Node) else {
            return;
        };
        // A view's has more.
        let relations = nodes(parse.rtable);
        let rte = &*(relations[relid as usize - 1] as *mut pg_sys::RangeTblEntry);
        let is_table = rte.rtekind == pg_sys::RTEKind::RTE_RELATION
            && rte.tablesample.is_null()
            && rte.securityQuals.is_null()
            && !(rte.inh && pg_sys::has_subclass(rte.relid));
        if !is_table || columnar_share(rte.relid).is_none() {
            return;
        }
        let Some(moved) = Moved::of(parse.targetList, relid, relations.len()) else {
            return;
        };
        let entries = nodes(moved.target_list).into_iter();
        if !entries.map(|e| Entry::of(e)).all(|e| is_safe(e.expression)) {
            return;
        }
        for &(call, by) in &moved.calls {
            add(parse, call, by);
        }
        parse.targetList = moved.target_list;
        parse.hasTargetSRFs = false;
    }
}

/// Of a query over one relation, if no row is lost or moved, nor an error, by it.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn move_to_from(root: *mut pg_sys::PlannerInfo, relid: pg_sys::Index) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let parse = &mut *(*root).parse;
        let plain = parse.hasTargetSRFs
            && parse.commandType == pg_sys::CmdType::CMD_SELECT
            && !parse.hasWindowFuncs
            && !parse.hasDistinctOn
            && parse.groupingSets.is_null()
            && (*root).rowMarks.is_null()
            && parse.rowMarks.is_null()
            && alone(parse.jointree as *mut pg_sys::Node) == Some(relid)
            // PostgreSQL would look at them for each element.
            && !pg_sys::contain_volatile_functions(parse.jointree as *mut pg_sys::Node);
        if !plain {
            return;
        }
        let Some(moved) = Moved::of((*root).processed_tlist, relid, nodes(parse.rtable).len()) else {
            return;
        };
        let entries = || {
            let pairs = nodes((*root).processed_tlist).into_iter();
            pairs
                .zip(nodes(moved.target_list))
                .map(|(old, new)| (Entry::of(old), Entry::of(new)))
        };
        let returns_set = |entry: &Entry| pg_sys::expression_returns_set(entry.expression);
        let groups = !parse.groupClause.is_null() || parse.hasAggs || (*root).hasHavingQual;
        let grouped: Vec<u32> = nodes(parse.groupClause)
            .into_iter()
            .map(|clause| (*(clause as *mut pg_sys::SortGroupClause)).tleSortGroupRef)
            .collect();
        let in_time = if groups {
            // Only groups' keys are computed before grouping.
            entries().all(|(old, _)| !returns_set(&old) || grouped.contains(&old.key))
        } else {
            // make_sort_input_target() of planner.c.
            parse.sortClause.is_null() || entries().any(|(old, _)| old.key != 0 && returns_set(&old))
        };
        // What is computed of elements before the sort may be put off until after it where it is no function's result
        // itself.
        let put_off = !parse.sortClause.is_null()
            && entries().any(|(old, new)| old.key == 0 && returns_set(&old) && !is_safe(new.expression));
        // What is beside the last function is computed for rows without elements as well, unless something is computed of
        // its result (split_pathtarget_at_srfs() of tlist.c).
        let beside = || entries().filter(|(old, _)| !groups || grouped.contains(&old.key));
        let computed_after = moved.selects || beside().any(|(_, new)| moved.is_in(new.expression));
        let harmless = computed_after || beside().all(|(_, new)| is_safe(new.expression));
        if !in_time || put_off || !harmless {
            return;
        }
        for &(call, by) in &moved.calls {
            let rte = add(parse, call, by);
            // The planner is about to walk FROM (add_base_rels_to_query), and comes to it later.
            pg_sys::expand_planner_arrays(root, 1);
            *(*root).simple_rte_array.add(by.relation as usize) = rte;
        }
        (*root).processed_tlist = moved.target_list;
        parse.targetList = moved.target_list;
        parse.hasTargetSRFs = false;
        (*root).hasLateralRTEs = true;
    }
}

/// The relation that FROM is.
///
/// # Safety
/// What the planner hands over.
unsafe fn alone(node: *mut pg_sys::Node) -> Option<pg_sys::Index> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        if is_a(node, NodeTag::T_FromExpr) {
            return match nodes((*(node as *mut pg_sys::FromExpr)).fromlist)[..] {
                [one] => alone(one),
                _ => None,
            };
        }
        let reference = node as *mut pg_sys::RangeTblRef;
        is_a(node, NodeTag::T_RangeTblRef).then(|| (*reference).rtindex as pg_sys::Index)
    }
}

/// An entry of a target list.
struct Entry {
    expression: *mut pg_sys::Node,
    /// By which clauses to group and sort refer to it.
    key: u32,
}

impl Entry {
    /// # Safety
    /// What the planner hands over.
    unsafe fn of(node: *mut pg_sys::Node) -> Entry {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let entry = &*(node as *mut pg_sys::TargetEntry);
            Entry {
                expression: entry.expr as *mut pg_sys::Node,
                key: entry.ressortgroupref,
            }
        }
    }
}

struct Moved {
    /// Each over the relation or over the one before.
    calls: Vec<(*mut pg_sys::FuncExpr, Unnesting)>,
    /// With variables in their place.
    target_list: *mut pg_sys::List,
    /// Whether a column is selected from the last one's result.
    selects: bool,
}

impl Moved {
    /// None if there is a function that is not for us, or if two are called side by side.
    ///
    /// # Safety
    /// What the planner hands over.
    unsafe fn of(target_list: *mut pg_sys::List, relid: pg_sys::Index, before: usize) -> Option<Moved> {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let mut moved = Moved {
                calls: Vec::new(),
                target_list,
                selects: false,
            };
            let mut base = relid;
            while let Some(call) = innermost(moved.target_list as *mut pg_sys::Node) {
                let function = (before + moved.calls.len() + 1) as pg_sys::Index;
                let (_, by) = unnested_by(call, function).filter(|found| found.0 == base)?;
                let is_row = by.columns().len() > 1;
                moved.selects = false;
                moved.target_list = rewrite(moved.target_list as *mut pg_sys::Node, &mut |node| {
                    let select = node as *mut pg_sys::FieldSelect;
                    if is_row && is_a(node, NodeTag::T_FieldSelect) && equal((*select).arg, call) {
                        moved.selects = true;
                        return Some(column(function, (*select).fieldnum, node));
                    }
                    (!is_row && equal(node, call)).then(|| column(function, 1, call))
                }) as *mut pg_sys::List;
                if calls(moved.target_list, call) {
                    // A whole row is wanted.
                    return None;
                }
                moved.calls.push((call as *mut pg_sys::FuncExpr, by));
                base = function;
            }
            (!moved.calls.is_empty()).then_some(moved)
        }
    }

    /// Whether something is computed of the last function's result by an expression.
    ///
    /// # Safety
    /// What the planner hands over.
    unsafe fn is_in(&self, expression: *mut pg_sys::Node) -> bool {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let last = self.calls[self.calls.len() - 1].1.relation;
            let mut found = false;
            walk(expression, &mut |node| {
                let var = node as *mut pg_sys::Var;
                found |= node != expression && is_a(node, NodeTag::T_Var) && (*var).varno as pg_sys::Index == last;
                true
            });
            found
        }
    }
}

/// Puts a function into FROM.
///
/// # Safety
/// What the planner hands over.
unsafe fn add(parse: &mut pg_sys::Query, call: *mut pg_sys::FuncExpr, by: Unnesting) -> *mut pg_sys::RangeTblEntry {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let function = make::<pg_sys::RangeTblFunction>(NodeTag::T_RangeTblFunction);
        (*function).funcexpr = call as *mut pg_sys::Node;
        (*function).funccolcount = by.columns().len() as i32;
        let names = by.columns().iter().map(|column| match column {
            Column::Key => c"key",
            Column::Value => c"value",
        });
        let names = names.map(|name| pg_sys::makeString(pg_sys::pstrdup(name.as_ptr())));
        let rte = make::<pg_sys::RangeTblEntry>(NodeTag::T_RangeTblEntry);
        (*rte).rtekind = pg_sys::RTEKind::RTE_FUNCTION;
        (*rte).functions = list([function]);
        (*rte).lateral = true;
        (*rte).inFromCl = true;
        (*rte).eref = pg_sys::makeAlias(pg_sys::get_func_name((*call).funcid), list(names));
        parse.rtable = pg_sys::lappend(parse.rtable, rte as *mut _);
        let reference = make::<pg_sys::RangeTblRef>(NodeTag::T_RangeTblRef);
        (*reference).rtindex = by.relation as i32;
        let from = &mut *parse.jointree;
        from.fromlist = pg_sys::lappend(from.fromlist, reference as *mut _);
        rte
    }
}

/// A column of a function's result, in the place of an expression.
///
/// # Safety
/// What the planner hands over.
unsafe fn column(function: pg_sys::Index, number: i16, of: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        pg_sys::makeVar(
            function as _,
            number,
            pg_sys::exprType(of),
            -1,
            pg_sys::exprCollation(of),
            0,
        ) as *mut pg_sys::Node
    }
}

/// Whether a call is somewhere in a target list.
///
/// # Safety
/// What the planner hands over.
unsafe fn calls(target_list: *mut pg_sys::List, call: *mut pg_sys::Node) -> bool {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let mut found = false;
        walk(target_list as *mut pg_sys::Node, &mut |node| {
            found |= equal(node, call);
            !found
        });
        found
    }
}

/// A call of a set-returning function whose arguments call none.
///
/// # Safety
/// What the planner hands over.
unsafe fn innermost(node: *mut pg_sys::Node) -> Option<*mut pg_sys::Node> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let mut found = None;
        walk(node, &mut |node| {
            let returns_set = match (*node).type_ {
                NodeTag::T_FuncExpr => (*(node as *mut pg_sys::FuncExpr)).funcretset,
                NodeTag::T_OpExpr => (*(node as *mut pg_sys::OpExpr)).opretset,
                _ => false,
            };
            // Those above come first.
            if returns_set {
                found = Some(node);
            }
            true
        });
        found
    }
}

/// Whether an expression can be left out for a row without anyone noticing: it raises no error, whatever is in the row.
///
/// # Safety
/// What the planner hands over.
unsafe fn is_safe(expression: *mut pg_sys::Node) -> bool {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let mut safe = true;
        walk(expression, &mut |node| {
            if path_of(node, &|_| true).is_some() {
                return false;
            }
            safe &= match (*node).type_ {
                NodeTag::T_FuncExpr | NodeTag::T_OpExpr => {
                    call_of(node).is_some_and(|(function, _)| pg_sys::get_func_leakproof(function.into()))
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
}
