//! Planning scans that unnest: a join of our scan and a function in FROM that takes an array of its documents apart, as
//! one node.
//!
//! PostgreSQL's own nested loop of the two is planned as well, and its pieces are taken: its conditions, in its order.

use crate::query::batch::Operator;
use crate::query::expr::entry::{Entry, collect, collect_elements, entry_of, target_list, variables};
use crate::query::expr::path::{call_of, path_of};
use crate::query::expr::tree::{is_a, list, make, nodes, rewrite, walk};
use crate::query::expr::unnesting::Unnesting;
use crate::query::plan::conditions::charge_wrapped_paths;
use crate::query::plan::costs;
use crate::query::plan::kept::keep;
use crate::query::plan::methods::{PathMethods, ScanMethods, path_with};
use crate::query::plan::private::Private;
use crate::query::scan::batches::view;
use crate::query::scan::node::METHODS;
use crate::query::scan::node::create;
use crate::query::scan::plan;
use crate::query::scan::private::{Level, Place, ReadToEnd, ScanPlan, read_to_end};
use amax_format::PathStep;
use pgrx::pg_sys::*;
use pgrx::prelude::*;

pub static PATH: PathMethods = PathMethods::new(c"AmaxUnnest", plan_path);

pub static SCAN: ScanMethods = ScanMethods::new(c"AmaxUnnest", create);

pub static OPERATOR: Operator = Operator {
    path: &PATH,
    plan: &SCAN,
    exec: &METHODS,
    read_to_end,
    view,
};

/// The expression without the PlaceHolderVars in it.
///
/// # Safety
/// What the planner hands over.
unsafe fn bare(node: *mut Node) -> *mut Node {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        rewrite(node, &mut |node| {
            is_a(node, NodeTag::T_PlaceHolderVar).then(|| bare((*(node as *mut PlaceHolderVar)).phexpr as *mut Node))
        })
    }
}

/// The relation of the documents that relation `function` takes apart, if it does no more.
///
/// # Safety
/// What the planner hands over.
unsafe fn unnests(function: Index, rte: *mut RangeTblEntry) -> Option<(Index, Unnesting)> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        match nodes((*rte).functions)[..] {
            [call] if (*rte).rtekind == RTEKind::RTE_FUNCTION => {
                unnested_by((*(call as *mut RangeTblFunction)).funcexpr, function)
            }
            _ => None,
        }
    }
}

/// The relation of the documents that a call takes apart: jsonb_array_elements[_text], jsonb_each[_text] or
/// jsonb_object_keys of a path by keys, or of a whole document or element.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn unnested_by(call: *mut Node, relation: Index) -> Option<(Index, Unnesting)> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let (function, args) = call_of(call)?;
        let by = Unnesting::by(relation, function)?;
        let array = bare(args[0]);
        let base = std::cell::Cell::new(0);
        let path = path_of(array, &|var| {
            base.set(var.varno as Index);
            true
        });
        if let Some(path) = path {
            let keys = path.steps.iter().all(|s| matches!(s, PathStep::Key(_)));
            return (keys && !path.text).then(|| (base.get(), by));
        }
        let var = array as *mut Var;
        (is_a(array, NodeTag::T_Var) && (*var).varattno > 0 && (*var).varlevelsup == 0 && (*var).vartype == JSONBOID)
            .then(|| ((*var).varno as Index, by))
    }
}

/// The relations whose functions take arrays of relation `table` apart, and those that take apart arrays in their
/// elements.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn unnesting(root: *mut PlannerInfo, table: Index) -> Vec<Index> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let mut found = vec![table];
        for (i, rte) in nodes((*(*root).parse).rtable).into_iter().enumerate() {
            let function = i as Index + 1;
            let base = unnests(function, rte as *mut RangeTblEntry);
            if base.is_some_and(|(base, _)| found.contains(&base)) {
                found.push(function);
            }
        }
        found.split_off(1)
    }
}

/// Adds paths to those that the planner has for a join.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn add_paths(
    root: *mut PlannerInfo,
    joinrel: *mut RelOptInfo,
    outer: *mut RelOptInfo,
    inner: *mut RelOptInfo,
    jointype: JoinType::Type,
    extra: *mut JoinPathExtraData,
) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let candidate = matches!(jointype, JoinType::JOIN_INNER | JoinType::JOIN_LEFT)
            && (*joinrel).reloptkind == RelOptKind::RELOPT_JOINREL
            && (*inner).reloptkind == RelOptKind::RELOPT_BASEREL
            && (*inner).rtekind == RTEKind::RTE_FUNCTION
            && bms_membership((*joinrel).lateral_relids) == BMS_Membership::BMS_EMPTY_SET
            // Rows that are locked or changed are rechecked; conditions without variables put a node between.
            && (*root).rowMarks.is_null()
            && !(*root).hasPseudoConstantQuals;
        if !candidate {
            return;
        }
        let function = nodes((*inner).pathlist)
            .into_iter()
            .map(|path| path as *mut Path)
            .find(|&path| (*path).pathtype == NodeTag::T_FunctionScan);
        let (Some(scan), Some(function)) = (scan_in(outer, false), function) else {
            return;
        };
        let rte = *(*root).simple_rte_array.add((*inner).relid as usize);
        let whole_row = *(*inner).attr_needed.offset(-isize::from((*inner).min_attr));
        let Some((base, by)) = unnests((*inner).relid, rte) else {
            return;
        };
        if relations(scan).last() != Some(&base)
            || bms_membership(whole_row) != BMS_Membership::BMS_EMPTY_SET
            || jointype == JoinType::JOIN_LEFT && computes_before_join(joinrel, by, extra)
        {
            return;
        }
        charge_wrapped_paths(root, (*inner).baserestrictinfo);
        if let Some(parameters) = (*function).param_info.as_ref() {
            charge_wrapped_paths(root, parameters.ppi_clauses);
        }
        let mut join = Join {
            root,
            joinrel,
            jointype,
            extra,
            function,
        };
        join.add(scan, false);
        if let (true, Some(scan)) = (
            (*joinrel).consider_parallel && (*function).parallel_safe,
            scan_in(outer, true),
        ) {
            join.add(scan, true);
        }
    }
}

/// Whether something is computed of elements below the outer join that our node, which computes it above, would not
/// find NULL there. Paths are strict.
///
/// # Safety
/// What the planner hands over.
unsafe fn computes_before_join(joinrel: *mut RelOptInfo, by: Unnesting, extra: *mut JoinPathExtraData) -> bool {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let mut found = false;
        let mut look = |node: *mut Node| {
            walk(node, &mut |node| {
                if is_a(node, NodeTag::T_PlaceHolderVar) {
                    let phv = &*(node as *mut PlaceHolderVar);
                    let inner = bare(phv.phexpr as *mut Node);
                    found |= bms_is_member(by.relation as i32, phv.phrels)
                        && matches!(entry_of(inner, &[by]), Entry::Expression);
                }
                true
            });
        };
        nodes((*(*joinrel).reltarget).exprs).into_iter().for_each(&mut look);
        for restriction in nodes((*extra).restrictlist) {
            look((*(restriction as *mut RestrictInfo)).clause as *mut Node);
        }
        found
    }
}

/// The table that one of our paths scans, and the functions it unnests by.
///
/// # Safety
/// What the planner hands over.
unsafe fn relations(path: *mut Path) -> Vec<Index> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let custom = path as *mut CustomPath;
        if !std::ptr::eq((*custom).methods, &PATH.0) {
            return vec![(*(*path).parent).relid];
        }
        let nest = nodes((*custom).custom_paths)[0] as *mut NestPath;
        let mut found = relations((*nest).jpath.outerjoinpath);
        found.push((*(*(*nest).jpath.innerjoinpath).parent).relid);
        found
    }
}

struct Join {
    root: *mut PlannerInfo,
    joinrel: *mut RelOptInfo,
    jointype: JoinType::Type,
    extra: *mut JoinPathExtraData,
    function: *mut Path,
}

impl Join {
    /// # Safety
    /// What the planner hands over.
    unsafe fn add(&mut self, scan: *mut Path, partial: bool) {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let path = self.path(scan);
            // What its table's conditions cost is kept with the table's own path.
            keep(self.root, partial, path, 0.0);
            match partial {
                true => add_partial_path(self.joinrel, path as *mut Path),
                false => add_path(self.joinrel, path as *mut Path),
            }
        }
    }

    /// # Safety
    /// What the planner hands over.
    unsafe fn path(&mut self, scan: *mut Path) -> *mut CustomPath {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let mut workspace = std::mem::zeroed();
            initial_cost_nestloop(
                self.root,
                &mut workspace,
                self.jointype,
                scan,
                self.function,
                self.extra,
            );
            let nest = create_nestloop_path(
                self.root,
                self.joinrel,
                self.jointype,
                &mut workspace,
                self.extra,
                scan,
                self.function,
                (*self.extra).restrictlist,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            );
            let nested = &(*nest).jpath.path;
            let custom = make::<CustomPath>(NodeTag::T_CustomPath);
            let path = &mut (*custom).path;
            path.pathtype = NodeTag::T_CustomScan;
            path.parent = self.joinrel;
            path.pathtarget = (*self.joinrel).reltarget;
            path.parallel_aware = (*scan).parallel_aware;
            path.parallel_safe = nested.parallel_safe;
            path.parallel_workers = (*scan).parallel_workers;
            path.rows = nested.rows;
            path.startup_cost = (*scan).startup_cost;
            // A function's call for each row is what we spare.
            path.total_cost = costs::unnest((*scan).total_cost, nested.total_cost, nested.rows);
            (*custom).flags = CUSTOMPATH_SUPPORT_PROJECTION;
            (*custom).custom_paths = list([nest]);
            (*custom).methods = &PATH.0;
            custom
        }
    }
}

/// # Safety
/// What the planner hands over.
#[pg_guard]
unsafe extern "C-unwind" fn plan_path(
    root: *mut PlannerInfo,
    rel: *mut RelOptInfo,
    best: *mut CustomPath,
    tlist: *mut List,
    _clauses: *mut List,
    plans: *mut List,
) -> *mut Plan {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let relations = relations(best as *mut Path);
        let nest = nodes(plans)[0] as *mut NestLoop;
        let below = (*nest).join.plan.lefttree as *mut CustomScan;
        let function = (*nest).join.plan.righttree as *mut FunctionScan;
        assert!(
            is_a(nest as *mut Node, NodeTag::T_NestLoop)
                && is_ours(below as *mut Node)
                && is_a(function as *mut Node, NodeTag::T_FunctionScan),
            "a nested loop has what its path has"
        );
        // The function's side sees the other's variables as parameters.
        let restore = |node: *mut Node| {
            rewrite(node, &mut |node| {
                let param = node as *mut Param;
                if !is_a(node, NodeTag::T_Param) || (*param).paramkind != ParamKind::PARAM_EXEC {
                    return None;
                }
                let given = nodes((*nest).nestParams)
                    .into_iter()
                    .map(|given| given as *mut NestLoopParam)
                    .find(|&given| (*given).paramno == (*param).paramid)?;
                Some((*given).paramval as *mut Node)
            })
        };
        let mut private = ScanPlan::of_plan(below);
        let (mut conditions, mut calls) = private.expressions(below);
        let before = conditions.len();
        let own = nodes((*function).scan.plan.qual).into_iter();
        conditions.extend(own.map(restore));
        conditions.extend(nodes((*nest).join.joinqual));
        let matching = conditions.len() - before;
        conditions.extend(nodes((*nest).join.plan.qual));
        // Among more relations than below.
        let place = |at: usize| Place::of(relations[at], (*rel).relids);
        private.table = Some(place(0));
        for (i, level) in private.levels.iter_mut().enumerate() {
            level.function = place(i + 1);
        }
        private.levels.push(Level {
            function: place(relations.len() - 1),
            outer: (*nest).join.jointype == JoinType::JOIN_LEFT,
            matching,
            others: conditions.len() - before - matching,
        });
        private.all = ReadToEnd::of(root, bms_is_subset((*root).all_baserels, (*rel).relids));
        let called = nodes((*function).functions)[0] as *mut RangeTblFunction;
        calls.push(bare(restore((*called).funcexpr)));

        let mut wanted = Vec::new();
        let target = nodes((*(*rel).reltarget).exprs);
        let mut sources = nodes((*root).processed_tlist);
        sources.push((*(*root).parse).havingQual);
        let table = relations[0];
        let collect = |node, relation, found: &mut Vec<*mut Node>| {
            if relation == table {
                collect(root, node, relation, found);
            } else {
                collect_elements(node, relation, found);
            }
        };
        for &relation in &relations {
            for &source in &sources {
                collect(source, relation, &mut wanted);
            }
        }
        // A variable counts only if something that is computed here has it by itself.
        wanted.retain(|&e| !is_a(e, NodeTag::T_Var));
        let tlist_nodes = nodes(tlist);
        let computed = tlist_nodes.iter().chain(&conditions).chain(&calls);
        for &node in computed.chain(&target) {
            for &relation in &relations {
                collect(node, relation, &mut wanted);
            }
        }
        // See plan.rs: another target list may come.
        for &node in &target {
            for &relation in &relations {
                variables(node, relation, &mut wanted);
            }
        }
        let scan = make::<CustomScan>(NodeTag::T_CustomScan);
        let plan = &mut (*scan).scan.plan;
        plan.targetlist = tlist;
        (*scan).flags = (*best).flags;
        (*scan).custom_scan_tlist = target_list(&wanted);
        (*scan).custom_exprs = list(conditions.into_iter().chain(calls));
        (*scan).custom_private = private.to_list();
        (*scan).methods = &SCAN.0;
        plan
    }
}

/// Whether a plan is one of our scans.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn is_ours(plan: *mut Node) -> bool {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let methods = (*(plan as *mut CustomScan)).methods;
        is_a(plan, NodeTag::T_CustomScan) && (std::ptr::eq(methods, &plan::SCAN.0) || std::ptr::eq(methods, &SCAN.0))
    }
}

/// Our scan of a relation, if it needs nothing of other relations.
///
/// # Safety
/// What the planner hands over.
unsafe fn scan_in(rel: *mut RelOptInfo, partial: bool) -> Option<*mut Path> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        path_with(rel, partial, |methods| {
            std::ptr::eq(methods, &plan::PATH.0) || std::ptr::eq(methods, &PATH.0)
        })
    }
}
