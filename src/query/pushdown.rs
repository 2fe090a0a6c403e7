//! Paths instead of documents above the scan: PostgreSQL's scans and joins hand up plain variables only, and whatever
//! is above them computes its expressions from those. A path wrapped in a PlaceHolderVar is computed at the bottom, and
//! only its value goes up, through joins, sorts, windows, set-returning functions and aggregates. Paths are strict, so
//! it does not matter on which side of an outer join they are computed.

use super::expr::path::{JsonPath, path_of, question_of};
use super::expr::tree::{equal, is_a, make, nodes, rewrite, walk};
use super::scan::plan::columnar_share;
use super::unnest::plan::unnesting;
use super::unnest::select::move_to_from;
use crate::guc;
use amax_format::Question;
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag;

/// When the planner learns of a relation: the first place after the tree has been preprocessed, and the last before
/// variables are handed out.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn relation_info(
    root: *mut pg_sys::PlannerInfo,
    table: pg_sys::Oid,
    inhparent: bool,
    rel: *mut pg_sys::RelOptInfo,
) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let parse = (*root).parse;
        let computes_above = nodes((*parse).rtable).len() > 1
            || (*parse).hasAggs
            || (*parse).hasWindowFuncs
            || (*parse).hasTargetSRFs
            || !(*parse).groupClause.is_null();
        let scanned = guc::custom_scan()
            && !inhparent
            && (*rel).reloptkind == pg_sys::RelOptKind::RELOPT_BASEREL
            && computes_above;
        if !scanned || columnar_share(table).is_none() {
            return;
        }
        move_to_from(root, (*rel).relid);
        // The elements of its documents' arrays are read by the scan as well.
        let elements = unnesting(root, (*rel).relid);
        let mut wrapper = Wrapper::new(root, (*rel).relid, indexed_paths(rel));
        wrapper.wrap_query();
        wrapper.keep_statistics(rel);
        for function in elements {
            let mut wrapper = Wrapper::new(root, function, Vec::new());
            wrapper.of_table = false;
            wrapper.wrap_query();
        }
    }
}

struct Wrapper {
    root: *mut pg_sys::PlannerInfo,
    relid: pg_sys::Index,
    /// Of elements only paths are wrapped.
    of_table: bool,
    /// Paths in expressions that are indexed: PostgreSQL has to recognize them.
    indexed: Vec<JsonPath>,
    /// Paths met, and what takes their place.
    known: Vec<(*mut pg_sys::Node, *mut pg_sys::Node)>,
    /// Above grouping sets: the groups' keys. A path is computed of those there, which are NULL in some of the sets.
    keys: Option<Vec<*mut pg_sys::Node>>,
}

impl Wrapper {
    fn new(root: *mut pg_sys::PlannerInfo, relid: pg_sys::Index, indexed: Vec<JsonPath>) -> Wrapper {
        Wrapper {
            root,
            relid,
            of_table: true,
            indexed,
            known: Vec::new(),
            keys: None,
        }
    }
    /// # Safety
    /// What the planner hands over.
    unsafe fn wrap_query(&mut self) {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let (root, parse) = (self.root, (*self.root).parse);
            self.keys = keys_of_sets(root);
            (*root).processed_tlist = self.wrap((*root).processed_tlist as *mut pg_sys::Node) as *mut pg_sys::List;
            (*parse).havingQual = self.wrap((*parse).havingQual);
            self.keys = None;
            self.wrap_joins((*parse).jointree as *mut pg_sys::Node);
            for rte in nodes((*parse).rtable) {
                let rte = &mut *(rte as *mut pg_sys::RangeTblEntry);
                if rte.lateral && rte.rtekind == pg_sys::RTEKind::RTE_FUNCTION {
                    rte.functions = self.wrap(rte.functions as *mut pg_sys::Node) as *mut pg_sys::List;
                }
            }
        }
    }

    /// Extended statistics on expressions are found by the expressions: those of wrapped paths, too.
    ///
    /// # Safety
    /// What the planner hands over.
    unsafe fn keep_statistics(&self, rel: *mut pg_sys::RelOptInfo) {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            for known in nodes((*rel).statlist) {
                let known = known as *mut pg_sys::StatisticExtInfo;
                let mut changed = false;
                let expressions = rewrite((*known).exprs as *mut pg_sys::Node, &mut |node| {
                    let (_, wrapped) = self.known.iter().find(|known| equal(known.0, node))?;
                    changed = true;
                    Some(*wrapped)
                });
                if changed {
                    let info = make::<pg_sys::StatisticExtInfo>(NodeTag::T_StatisticExtInfo);
                    std::ptr::copy_nonoverlapping(known, info, 1);
                    (*info).exprs = expressions as *mut pg_sys::List;
                    (*rel).statlist = pg_sys::lappend((*rel).statlist, info as *mut _);
                }
            }
        }
    }
    /// # Safety
    /// What the planner hands over.
    unsafe fn wrap(&mut self, node: *mut pg_sys::Node) -> *mut pg_sys::Node {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let (relid, of_table) = (self.relid, self.of_table);
            rewrite(node, &mut |node| {
                if is_a(node, NodeTag::T_PlaceHolderVar) {
                    // Somebody else's; what is in it is computed where that is.
                    return Some(node);
                }
                if is_a(node, NodeTag::T_WindowFunc) {
                    // In place: the planner has made its lists of them (find_window_functions).
                    let call = &mut *(node as *mut pg_sys::WindowFunc);
                    call.args = self.wrap(call.args as *mut pg_sys::Node) as *mut pg_sys::List;
                    call.aggfilter = self.wrap(call.aggfilter as *mut pg_sys::Node) as *mut pg_sys::Expr;
                    return Some(node);
                }
                if let Some(keys) = self.keys.take() {
                    // What is aggregated is of rows, unless it has arguments of the group.
                    let call = node as *mut pg_sys::Aggref;
                    let of_rows = is_a(node, NodeTag::T_Aggref) && (*call).aggdirectargs.is_null();
                    let wraps = of_rows || keys.iter().any(|&key| equal(key, node));
                    let wrapped = wraps.then(|| self.wrap(node));
                    self.keys = Some(keys);
                    return wrapped;
                }
                let is_ours = |var: &pg_sys::Var| var.varno as pg_sys::Index == relid;
                let path = match question_of(node, &is_ours).filter(|_| of_table) {
                    // It may raise an error, so it stays where the query has it; what it asks about may go.
                    Some((_, Question::Length)) => return None,
                    Some((path, _)) => path,
                    None => path_of(node, &is_ours)?,
                };
                if self.indexed.contains(&path) {
                    return Some(node);
                }
                if let Some(known) = self.known.iter().find(|known| equal(known.0, node)) {
                    return Some(known.1);
                }
                let wrapped = self.placeholder(node);
                self.known.push((node, wrapped));
                Some(wrapped)
            })
        }
    }

    /// make_placeholder_expr() of placeholder.c.
    ///
    /// # Safety
    /// What the planner hands over.
    unsafe fn placeholder(&self, expression: *mut pg_sys::Node) -> *mut pg_sys::Node {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let phv = make::<pg_sys::PlaceHolderVar>(NodeTag::T_PlaceHolderVar);
            (*phv).phrels = pg_sys::bms_make_singleton(self.relid as i32);
            let glob = (*self.root).glob;
            (*glob).lastPHId += 1;
            (*phv).phid = (*glob).lastPHId;
            #[cfg(feature = "pg15")]
            {
                (*phv).phexpr = expression as *mut pg_sys::Expr;
            }
            #[cfg(not(feature = "pg15"))]
            {
                // Below the outer joins that may make it NULL.
                let mut nulling = std::ptr::null_mut();
                let bottom = rewrite(expression, &mut |node| {
                    is_a(node, NodeTag::T_Var).then(|| {
                        let var = pg_sys::copyObjectImpl(node as _) as *mut pg_sys::Var;
                        nulling = (*var).varnullingrels;
                        (*var).varnullingrels = std::ptr::null_mut();
                        var as *mut pg_sys::Node
                    })
                });
                (*phv).phexpr = bottom as *mut pg_sys::Expr;
                (*phv).phnullingrels = nulling;
            }
            phv as *mut pg_sys::Node
        }
    }

    /// Conditions between relations; those of one are the scan's own.
    ///
    /// # Safety
    /// What the planner hands over.
    unsafe fn wrap_joins(&mut self, node: *mut pg_sys::Node) {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            if is_a(node, NodeTag::T_FromExpr) {
                let from = &mut *(node as *mut pg_sys::FromExpr);
                nodes(from.fromlist).into_iter().for_each(|item| self.wrap_joins(item));
                from.quals = self.wrap_conditions(from.quals);
            } else if is_a(node, NodeTag::T_JoinExpr) {
                let join = &mut *(node as *mut pg_sys::JoinExpr);
                self.wrap_joins(join.larg);
                self.wrap_joins(join.rarg);
                join.quals = self.wrap_conditions(join.quals);
            }
        }
    }
    /// # Safety
    /// What the planner hands over.
    unsafe fn wrap_conditions(&mut self, quals: *mut pg_sys::Node) -> *mut pg_sys::Node {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let conditions = nodes(quals as *mut pg_sys::List).into_iter().map(|condition| {
                let relids = pg_sys::pull_varnos(self.root, condition);
                if pg_sys::bms_membership(relids) == pg_sys::BMS_Membership::BMS_MULTIPLE {
                    self.wrap(condition)
                } else {
                    condition
                }
            });
            super::expr::tree::list(conditions.collect::<Vec<_>>()) as *mut pg_sys::Node
        }
    }
}

/// The expressions that a query with grouping sets groups by.
///
/// # Safety
/// What the planner hands over.
unsafe fn keys_of_sets(root: *mut pg_sys::PlannerInfo) -> Option<Vec<*mut pg_sys::Node>> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let parse = &*(*root).parse;
        let key = |clause: *mut pg_sys::Node| {
            let clause = clause as *mut pg_sys::SortGroupClause;
            pg_sys::get_sortgroupclause_expr(clause, (*root).processed_tlist)
        };
        let keys = nodes(parse.groupClause).into_iter().map(key);
        (!parse.groupingSets.is_null()).then(|| keys.collect())
    }
}

/// Paths in the expressions and predicates of a relation's indexes.
///
/// # Safety
/// What the planner hands over.
unsafe fn indexed_paths(rel: *mut pg_sys::RelOptInfo) -> Vec<JsonPath> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let mut found = Vec::new();
        for index in nodes((*rel).indexlist) {
            let index = &*(index as *mut pg_sys::IndexOptInfo);
            for list in [index.indexprs, index.indpred] {
                walk(list as *mut pg_sys::Node, &mut |node| {
                    let question = || question_of(node, &|_| true).map(|(path, _)| path);
                    let path = path_of(node, &|_| true).or_else(question);
                    let inner = path.is_none();
                    found.extend(path);
                    inner
                });
            }
        }
        found
    }
}
