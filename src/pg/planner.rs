//! What the planner knows of a query and its relations, and the paths it has (pathnodes.h); paths of PostgreSQL's to be made.
//!
//! A path that add_path() finds to be worse than another is freed, so a `&Path` is good until one is added to its relation.

use super::expr::TargetEntry;
#[cfg(not(feature = "pg15"))]
use super::expr::Var;
use super::guard::guarded;
use super::handle::handle;
use super::lookup::may_be_selected_by;
use super::node::{Node, Nodes, copied, fields, nodes};
use super::parse::{CommonTableExpr, Query, RangeTblEntry, WindowClause};
use super::relids::Relids;
use pgrx::pg_sys;
use std::ops::Deref;

nodes! {
    /// What the planner knows of a query.
    PlannerInfo: T_PlannerInfo {
        parse: of(Query), processed_tlist: list, rowMarks: list, hasHavingQual: value(bool), hasPseudoConstantQuals: value(bool),
        sort_pathkeys: list, window_pathkeys: list, distinct_pathkeys: list, query_pathkeys: list, limit_tuples: value(f64), tuple_fraction: value(f64),
        all_baserels: rels, append_rel_list: list, placeholder_list: list, qual_security_level: value(u32),
        join_info_list: list, parent_root: some(PlannerInfo), glob: of(PlannerGlobal), cte_plan_ids: node,
    }
    /// What all queries of a statement have in common.
    PlannerGlobal: T_PlannerGlobal { subplans: list, subroots: list }
    /// What it knows of a relation, or of a step of the query.
    RelOptInfo: T_RelOptInfo {
        reloptkind: value(pg_sys::RelOptKind::Type), relids: rels, relid: value(pg_sys::Index),
        rtekind: value(pg_sys::RTEKind::Type), rows: value(f64), tuples: value(f64), pages: value(u32),
        consider_parallel: value(bool), reltarget: of(PathTarget), lateral_relids: rels, baserestrictinfo: list,
        baserestrict_min_security: value(u32), joininfo: list, statlist: list, indexlist: list, cheapest_total_path: some(Path),
        subroot: some(PlannerInfo),
    }
    PathTarget: T_PathTarget { exprs: list, width: value(i32) }
    RestrictInfo: T_RestrictInfo {
        clause: of(Node), orclause: node, norm_selec: value(f64), outer_selec: value(f64), pseudoconstant: value(bool), leakproof: value(bool), security_level: value(u32), clause_relids: rels,
        can_join: value(bool), hashjoinoperator: value(pg_sys::Oid), left_relids: rels, right_relids: rels,
    }
    AppendRelInfo: T_AppendRelInfo { parent_relid: value(pg_sys::Index), child_relid: value(pg_sys::Index), translated_vars: list }
    SpecialJoinInfo: T_SpecialJoinInfo { jointype: value(pg_sys::JoinType::Type), syn_lefthand: rels, syn_righthand: rels }
    StatisticExtInfo: T_StatisticExtInfo { exprs: list }
    IndexOptInfo: T_IndexOptInfo {
        relam: value(pg_sys::Oid), indexoid: value(pg_sys::Oid), hypothetical: value(bool),
        indexprs: list, indpred: list, indextlist: list,
    }
    IndexClause: T_IndexClause { rinfo: of(RestrictInfo), lossy: value(bool) }
    ParamPathInfo: T_ParamPathInfo { ppi_req_outer: rels, ppi_clauses: list }
    IndexPath: T_IndexPath {
        indexinfo: of(IndexOptInfo), indexclauses: list, indexorderbys: list, indextotalcost: value(f64), indexselectivity: value(f64),
    }
    BitmapHeapPath: T_BitmapHeapPath { bitmapqual: of(Path) }
    BitmapAndPath: T_BitmapAndPath { bitmapquals: list }
    BitmapOrPath: T_BitmapOrPath { bitmapquals: list }
    ProjectionPath: T_ProjectionPath { subpath: of(Path) }
    NestPath: T_NestPath {}
    HashPath: T_HashPath { path_hashclauses: list }
}

handle! {
    /// What is told of a join that paths are added to.
    JoinPathExtraData, pg_sys::JoinPathExtraData
}
fields!(JoinPathExtraData { restrictlist: list });

handle! {
    /// A path of any kind.
    Path, pg_sys::Path
}

fields!(Path {
    pathtype: value(pg_sys::NodeTag),
    parent: of(RelOptInfo),
    pathtarget: of(PathTarget),
    param_info: some(ParamPathInfo),
    parallel_aware: value(bool),
    parallel_safe: value(bool),
    parallel_workers: value(i32),
    rows: value(f64),
    startup_cost: value(f64),
    total_cost: value(f64),
    pathkeys: list,
});

impl Deref for Path {
    type Target = Node;

    fn deref(&self) -> &Node {
        // SAFETY: every path begins with a node's tag.
        unsafe { Node::of(self.raw().cast()) }
    }
}

/// The paths of a list of paths.
pub fn paths<'a>(list: Nodes<'a>) -> impl Iterator<Item = &'a Path> {
    // SAFETY: nothing but paths is in such a list.
    list.iter().map(|path| unsafe { Path::of(path.raw().cast()) })
}

impl Path {
    /// A copy; None of one that has more than what all paths have.
    pub fn plain_copy(&self) -> Option<&Path> {
        // SAFETY: the struct, whole.
        let copy = || unsafe { Path::of(copied(self.raw())) };
        (self.tag() == pg_sys::NodeTag::T_Path).then(copy)
    }

    /// What it costs after its start.
    pub fn run_cost(&self) -> f64 {
        self.total_cost() - self.startup_cost()
    }

    /// How many nodes it has that a setting (enable_…) switches off. Before 18 these cost very much instead.
    pub fn disabled_nodes(&self) -> i32 {
        #[cfg(feature = "pg18")]
        // SAFETY: a field of the struct.
        return unsafe { (*self.raw()).disabled_nodes };
        #[cfg(not(feature = "pg18"))]
        0
    }

    pub fn add_cost(&self, cost: f64) {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).total_cost += cost }
    }
}

/// The fields of paths of joins of all kinds.
pub trait JoinPaths {
    fn join(&self) -> *mut pg_sys::JoinPath;

    fn as_path(&self) -> &Path {
        // SAFETY: it begins with one.
        unsafe { Path::of(self.join().cast()) }
    }

    fn outer(&self) -> &Path {
        // SAFETY: a join has two.
        unsafe { Path::of((*self.join()).outerjoinpath) }
    }

    fn inner(&self) -> &Path {
        // SAFETY: as above.
        unsafe { Path::of((*self.join()).innerjoinpath) }
    }

    fn kind(&self) -> pg_sys::JoinType::Type {
        // SAFETY: a field of the struct.
        unsafe { (*self.join()).jointype }
    }

    /// All conditions of the join, its keys among them.
    fn conditions(&self) -> Nodes<'_> {
        // SAFETY: as above.
        unsafe { Nodes::of((*self.join()).joinrestrictinfo) }
    }
}

impl JoinPaths for NestPath {
    fn join(&self) -> *mut pg_sys::JoinPath {
        self.raw().cast()
    }
}

impl JoinPaths for HashPath {
    fn join(&self) -> *mut pg_sys::JoinPath {
        self.raw().cast()
    }
}

impl HashPath {
    /// The same join of other paths of its sides, which may have changed places if it is an inner one; its hash table is of one process.
    pub fn with(&self, outer: &Path, inner: &Path, rows: f64, startup_cost: f64, total_cost: f64) -> &HashPath {
        // SAFETY: the struct, whole; fields of the copy, which is ours.
        unsafe {
            let copy = copied(self.raw());
            let join = &mut (*copy).jpath;
            join.outerjoinpath = outer.raw();
            join.innerjoinpath = inner.raw();
            join.inner_unique = false;
            join.path.parallel_aware = false;
            join.path.parallel_safe =
                self.as_path().parent().consider_parallel() && outer.parallel_safe() && inner.parallel_safe();
            join.path.parallel_workers = outer.parallel_workers();
            (join.path.rows, join.path.startup_cost, join.path.total_cost) = (rows, startup_cost, total_cost);
            HashPath::of(copy)
        }
    }
}

impl BitmapHeapPath {
    pub fn as_path(&self) -> &Path {
        // SAFETY: it begins with one.
        unsafe { Path::of(self.raw().cast()) }
    }

    /// What finding its rows costs, and which part of all rows they are.
    pub fn found(&self) -> (f64, f64) {
        let (mut cost, mut selectivity) = (0.0, 0.0);
        // SAFETY: the path below, of indexes.
        unsafe { pg_sys::cost_bitmap_tree_node(self.bitmapqual().raw(), &mut cost, &mut selectivity) }
        (cost, selectivity)
    }
}

impl PathTarget {
    /// By what number clauses to sort and group by refer to its expressions; None if they do to none.
    pub fn sort_refs(&self) -> Option<&[u32]> {
        let len = self.exprs().len();
        // SAFETY: an array of as many as there are expressions, or null.
        unsafe {
            let refs = (*self.raw()).sortgrouprefs;
            (!refs.is_null()).then(|| std::slice::from_raw_parts(refs, len))
        }
    }

    /// Of one expression, so many bytes wide.
    pub fn of_one(expression: &Node, width: i32) -> &PathTarget {
        // SAFETY: a new struct.
        unsafe {
            let made = pg_sys::create_empty_pathtarget();
            pg_sys::add_column_to_pathtarget(made, expression.raw().cast(), 0);
            (*made).width = width;
            PathTarget::of(made)
        }
    }
}

impl StatisticExtInfo {
    /// The same, of other expressions.
    pub fn with<'a>(&self, expressions: Nodes<'a>) -> &'a StatisticExtInfo {
        let copy = super::node::duplicate(self);
        // SAFETY: a field of the struct, which is ours.
        unsafe { (*copy.raw()).exprs = expressions.raw() }
        copy
    }
}

impl IndexOptInfo {
    /// The same, of other expressions: those alone, and its columns with them in their places.
    pub fn with<'a>(&self, expressions: Nodes<'a>, columns: Nodes<'a>) -> &'a IndexOptInfo {
        let copy = super::node::duplicate(self);
        // SAFETY: fields of the struct, which is ours.
        unsafe {
            (*copy.raw()).indexprs = expressions.raw();
            (*copy.raw()).indextlist = columns.raw();
        }
        copy
    }
}

impl RestrictInfo {
    /// What PostgreSQL keeps as the part of the rows of which it is true: of one relation's or an inner join's, and of another join's.
    pub fn set_selectivity(&self, inner: f64, outer: f64) {
        // SAFETY: fields of the struct.
        unsafe {
            (*self.raw()).norm_selec = inner;
            (*self.raw()).outer_selec = outer;
        }
    }

    /// What PostgreSQL keeps as its cost.
    pub fn set_cost(&self, cost: pg_sys::QualCost) {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).eval_cost = cost }
    }
}

impl RelOptInfo {
    pub fn is(&self, other: &RelOptInfo) -> bool {
        std::ptr::eq(self, other)
    }

    /// Whether it is known to have no rows.
    pub fn is_dummy(&self) -> bool {
        // SAFETY: a relation of the planner's.
        unsafe { pg_sys::is_dummy_rel(self.raw()) }
    }

    pub fn paths(&self) -> Vec<&Path> {
        // SAFETY: a field of the struct.
        paths(unsafe { Nodes::of((*self.raw()).pathlist) }).collect()
    }

    pub fn partial_paths(&self) -> Vec<&Path> {
        // SAFETY: as above.
        paths(unsafe { Nodes::of((*self.raw()).partial_pathlist) }).collect()
    }

    pub fn add_path(&self, path: &Path) {
        // SAFETY: a path of this relation.
        unsafe { pg_sys::add_path(self.raw(), path.raw()) }
    }

    pub fn add_partial_path(&self, path: &Path) {
        // SAFETY: as above.
        unsafe { pg_sys::add_partial_path(self.raw(), path.raw()) }
    }

    /// Has its paths put in order again after `change` has changed what they cost.
    pub fn charge(&self, change: impl Fn(&Path)) {
        let (paths, partial) = (self.paths(), self.partial_paths());
        // SAFETY: fields of the struct, which are filled again.
        unsafe {
            (*self.raw()).pathlist = std::ptr::null_mut();
            (*self.raw()).partial_pathlist = std::ptr::null_mut();
        }
        for path in paths {
            change(path);
            self.add_path(path);
        }
        for path in partial {
            change(path);
            self.add_partial_path(path);
        }
    }

    pub fn set_tuples(&self, tuples: f64) {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).tuples = tuples }
    }

    /// It has other rows than the planner has taken it to have, and so have its paths, which cost as much more or less. They may be
    /// less than one, where there are none for most rows of another relation.
    pub fn set_rows(&self, rows: f64) {
        let factor = rows / self.rows();
        // SAFETY: fields of the structs.
        unsafe {
            (*self.raw()).rows = rows;
            for path in self.paths().into_iter().chain(self.partial_paths()) {
                if let Some(parameters) = (*path.raw()).param_info.as_mut() {
                    parameters.ppi_rows = rows;
                }
                (*path.raw()).rows = rows;
                (*path.raw()).total_cost = path.startup_cost() + path.run_cost() * factor;
            }
        }
    }

    /// It has other rows than the planner has taken it to have, and so have its paths, which cost what they do.
    pub fn expect(&self, rows: f64) {
        let factor = rows / self.rows();
        // SAFETY: fields of the structs.
        unsafe {
            (*self.raw()).rows = rows;
            for path in self.paths().into_iter().chain(self.partial_paths()) {
                (*path.raw()).rows *= factor;
            }
        }
    }

    /// Has its paths by rows of another relation find so many for each, if they are expected to find fewer; `fetched`: how many rows such a path
    /// looks at, if that is what it costs.
    pub fn expect_of_each(&self, other: &RelOptInfo, rows: f64, fetched: impl Fn(&Path) -> Option<f64>) {
        let by_other = |path: &&Path| {
            let by = path.param_info().map(ParamPathInfo::ppi_req_outer);
            by.is_some_and(|by| by.is_one() && by.contains(other.relid()))
        };
        for path in self
            .paths()
            .into_iter()
            .filter(by_other)
            .filter(|path| path.rows() < rows)
        {
            let more = fetched(path).map_or(0.0, |fetched| (rows / fetched.max(1.0) - 1.0).max(0.0));
            path.add_cost(path.run_cost() * more);
            // SAFETY: fields of the structs.
            unsafe {
                (*(*path.raw()).param_info).ppi_rows = rows;
                (*path.raw()).rows = rows;
            }
        }
    }

    /// The same, once its paths are made.
    pub fn expect_rows(&self, rows: f64) {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).rows = rows }
    }

    /// By what a table is partitioned, if not by ranges.
    pub fn listed_or_hashed(&self) -> Vec<&Node> {
        // SAFETY: fields; what partitioned tables of one kind have in common, and a list for each of its keys.
        unsafe {
            let Some(scheme) = (*self.raw()).part_scheme.as_ref() else {
                return Vec::new();
            };
            if scheme.strategy as u8 == pg_sys::PARTITION_STRATEGY_RANGE {
                return Vec::new();
            }
            let keys = (0..scheme.partnatts as usize).map(|key| Nodes::of(*(*self.raw()).partexprs.add(key)));
            keys.flat_map(Nodes::iter).collect()
        }
    }

    /// Workers for a scan of all its pages (compute_parallel_worker()).
    pub fn workers(&self) -> i32 {
        // SAFETY: a table; a setting.
        unsafe {
            let most = pg_sys::max_parallel_workers_per_gather;
            pg_sys::compute_parallel_worker(self.raw(), f64::from(self.pages()), -1.0, most)
        }
    }

    /// The relations that ask for its whole row.
    pub fn whole_row_needed(&self) -> Relids {
        // SAFETY: the array begins with attribute `min_attr`, which is below 0; the whole row is attribute 0.
        unsafe {
            let needed = (*self.raw()).attr_needed;
            assert!(!needed.is_null(), "a relation of FROM");
            Relids::of(*needed.offset(-isize::from((*self.raw()).min_attr)))
        }
    }

    pub fn add_index(&self, index: &IndexOptInfo) {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).indexlist = self.indexlist().with(index).raw() }
    }

    pub fn add_statistics(&self, statistics: &StatisticExtInfo) {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).statlist = self.statlist().with(statistics).raw() }
    }
}

impl PlannerInfo {
    /// The entry of a relation.
    pub fn entry(&self, relation: pg_sys::Index) -> &RangeTblEntry {
        // SAFETY: the planner has all of the query's relations in this array.
        unsafe { RangeTblEntry::of(*(*self.raw()).simple_rte_array.add(relation as usize)) }
    }

    /// Whether a relation of this query has a number.
    pub fn has(&self, number: pg_sys::Index, rel: &RelOptInfo) -> bool {
        // SAFETY: as above.
        unsafe { *(*self.raw()).simple_rel_array.add(number as usize) == rel.raw() }
    }

    /// Whether its groups have a path before its relations do: one to what is least or greatest, by indexes (planagg.c).
    pub fn may_have_ends_by_index(&self) -> bool {
        // SAFETY: the planner has a list of relations for each step, or null.
        let groups =
            unsafe { Nodes::of((*self.raw()).upper_rels[pg_sys::UpperRelationKind::UPPERREL_GROUP_AGG as usize]) };
        groups.all::<RelOptInfo>().any(|rel| !rel.paths().is_empty())
    }

    /// The planned query that an entry of FROM stands for, if it is a subquery or a CTE, and not a security barrier.
    pub fn subquery(&self, rte: &RangeTblEntry) -> Option<&PlannerInfo> {
        match rte.rtekind() {
            _ if rte.security_barrier() => None,
            pg_sys::RTEKind::RTE_SUBQUERY => {
                let mut all = self.relations();
                all.find(|rel| std::ptr::eq(self.entry(rel.relid()), rte))?.subroot()
            }
            pg_sys::RTEKind::RTE_CTE if !rte.self_reference() => {
                let root = (0..rte.ctelevelsup()).try_fold(self, |root, _| root.parent_root())?;
                let mut all = root.parse().cteList().all::<CommonTableExpr>();
                let at = all.position(|cte| Some(cte.name()) == rte.cte())?;
                // Of those that have been planned so far; -1 for one that has no plan.
                let plan = *root.cte_plan_ids()?.integers().get(at)?;
                root.glob().subroots().get((plan - 1) as usize)?.as_a()
            }
            _ => None,
        }
    }

    /// All relations that have been looked at.
    pub fn relations(&self) -> impl Iterator<Item = &RelOptInfo> {
        // SAFETY: a field of the struct.
        let size = unsafe { (*self.raw()).simple_rel_array_size };
        (1..size.max(1) as pg_sys::Index).filter_map(|number| self.relation(number))
    }

    /// A relation of FROM that has been looked at.
    pub fn relation(&self, number: pg_sys::Index) -> Option<&RelOptInfo> {
        // SAFETY: an array of all relations.
        unsafe {
            let rel = *(*self.raw()).simple_rel_array.add(number as usize);
            (!rel.is_null()).then(|| RelOptInfo::of(rel))
        }
    }

    /// Whether the user that the query reads a table as may read all of it.
    pub fn may_select(&self, relation: pg_sys::Index) -> bool {
        // SAFETY: as above; rights are looked up.
        unsafe {
            #[cfg(feature = "pg15")]
            let user = (*self.entry(relation).raw()).checkAsUser;
            #[cfg(not(feature = "pg15"))]
            let user = (**(*self.raw()).simple_rel_array.add(relation as usize)).userid;
            let user = if user == pg_sys::InvalidOid {
                pg_sys::GetUserId()
            } else {
                user
            };
            may_be_selected_by(self.entry(relation).relid(), user)
        }
    }

    /// How a relation comes from its parent in an inheritance tree, or in UNION ALL.
    pub fn parent(&self, relation: pg_sys::Index) -> Option<&AppendRelInfo> {
        // SAFETY: an array of all relations, or null.
        unsafe {
            let all = (*self.raw()).append_rel_array;
            let found = (!all.is_null()).then(|| *all.add(relation as usize))?;
            (!found.is_null()).then(|| AppendRelInfo::of(found))
        }
    }

    /// An expression over a parent as one over its child.
    pub fn translated<'a>(&self, node: &'a Node, child: &AppendRelInfo) -> &'a Node {
        let mut child = child.raw();
        // SAFETY: an expression, and one child.
        unsafe { Node::of(pg_sys::adjust_appendrel_attrs(self.raw(), node.raw(), 1, &mut child)) }
    }

    /// Whether the order of joins is searched for by GEQO, in memory that it empties meanwhile (geqo_eval.c).
    pub fn is_searched(&self) -> bool {
        // SAFETY: a field of the struct.
        unsafe { !(*self.raw()).join_search_private.is_null() }
    }

    /// The next number of a PlaceHolderVar.
    pub fn next_placeholder(&self) -> pg_sys::Index {
        // SAFETY: what all queries of a statement have in common.
        unsafe {
            let glob = (*self.raw()).glob;
            (*glob).lastPHId += 1;
            (*glob).lastPHId
        }
    }

    /// A variable as it is in the rows of a relation, above the outer joins in it that may make it NULL.
    #[cfg(not(feature = "pg15"))]
    pub fn above_joins<'a>(&self, var: &Var, rel: &RelOptInfo) -> &'a Node {
        // SAFETY: as above; sets.
        let nulling = unsafe {
            let base = *(*self.raw()).simple_rel_array.add(var.relation() as usize);
            Relids::of(pg_sys::bms_intersect((*base).nulling_relids, rel.relids().raw()))
        };
        var.above_joins(nulling)
    }

    pub fn set_targets(&self, targets: Nodes<'_>) {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).processed_tlist = targets.raw() }
    }

    /// Makes room for a relation that has come into FROM.
    pub fn add_lateral(&self, relation: pg_sys::Index, rte: &RangeTblEntry) {
        // SAFETY: there is room for it then.
        unsafe {
            pg_sys::expand_planner_arrays(self.raw(), 1);
            *(*self.raw()).simple_rte_array.add(relation as usize) = rte.raw();
            (*self.raw()).hasLateralRTEs = true;
        }
    }

    /// What is computed at a stage; there is none above set operations.
    pub fn target_of(&self, stage: pg_sys::UpperRelationKind::Type) -> &PathTarget {
        // SAFETY: set before paths of that stage are made.
        unsafe {
            let target = (*self.raw()).upper_targets[stage as usize];
            assert!(!target.is_null(), "a stage with a target");
            PathTarget::of(target)
        }
    }

    /// The expressions of the target list.
    pub fn targets(&self) -> impl Iterator<Item = &Node> {
        self.processed_tlist()
            .all::<TargetEntry>()
            .filter_map(TargetEntry::expr)
    }

    pub fn varnos(&self, node: &Node) -> Relids {
        // SAFETY: an expression of this query.
        unsafe { Relids::of(pg_sys::pull_varnos(self.raw(), node.raw())) }
    }

    pub fn is_parallel_safe(&self, node: &Node) -> bool {
        // SAFETY: as above.
        unsafe { pg_sys::is_parallel_safe(self.raw(), node.raw()) }
    }

    /// What evaluating an expression costs (cost_qual_eval_node()).
    pub fn cost_of(&self, node: &Node) -> pg_sys::QualCost {
        let mut cost = pg_sys::QualCost::default();
        // SAFETY: as above.
        unsafe { pg_sys::cost_qual_eval_node(&mut cost, node.raw(), self.raw()) }
        cost
    }

    /// What the call of a function alone costs.
    pub fn cost_of_call(&self, function: pg_sys::Oid, call: &Node) -> pg_sys::QualCost {
        let mut cost = pg_sys::QualCost::default();
        // SAFETY: as above.
        unsafe { pg_sys::add_function_cost(self.raw(), function, call.raw(), &mut cost) }
        cost
    }

    /// The part of a relation's rows of which a condition is true.
    pub fn selectivity(&self, condition: &Node) -> f64 {
        let (inner, none) = (pg_sys::JoinType::JOIN_INNER, std::ptr::null_mut());
        // SAFETY: as above.
        unsafe { pg_sys::clause_selectivity(self.raw(), condition.raw(), 0, inner, none) }
    }

    /// The part of its rows of which all of these conditions of a relation are true, estimated anew.
    pub fn selectivity_of_all(&self, conditions: Nodes<'_>) -> f64 {
        for condition in conditions.all::<RestrictInfo>() {
            // SAFETY: a field of the struct: nothing is kept.
            unsafe { (*condition.raw()).norm_selec = -1.0 };
        }
        self.selectivity_of_list(conditions)
    }

    /// The part of rows of which all of these conditions are true.
    pub fn selectivity_of_list(&self, conditions: Nodes<'_>) -> f64 {
        let (inner, none) = (pg_sys::JoinType::JOIN_INNER, std::ptr::null_mut());
        // SAFETY: conditions of this query.
        unsafe { pg_sys::clauselist_selectivity(self.raw(), conditions.raw(), 0, inner, none) }
    }

    /// The part of one relation's rows that have a match in another by a condition between them.
    pub fn matched(&self, condition: &Node, outer: &RelOptInfo, inner: &RelOptInfo) -> f64 {
        self.joined(condition, pg_sys::JoinType::JOIN_SEMI, outer, inner)
    }

    /// The equalities between two relations by which they are joined.
    pub fn equalities(&self, outer: &RelOptInfo, inner: &RelOptInfo) -> Nodes<'_> {
        let (outer, inner) = (outer.raw(), inner.raw());
        // SAFETY: relations of this query.
        unsafe {
            if !pg_sys::have_relevant_eclass_joinclause(self.raw(), outer, inner) {
                return Nodes::NONE;
            }
            let (of_outer, both) = ((*outer).relids, pg_sys::bms_union((*outer).relids, (*inner).relids));
            #[cfg(feature = "pg15")]
            let found = pg_sys::generate_join_implied_equalities(self.raw(), both, of_outer, inner);
            #[cfg(not(feature = "pg15"))]
            let found = {
                let none = std::ptr::null_mut();
                pg_sys::generate_join_implied_equalities(self.raw(), both, of_outer, inner, none)
            };
            Nodes::of(found)
        }
    }

    /// The selectivity of a condition between two relations in a join of some kind.
    pub fn joined(
        &self,
        condition: &Node,
        kind: pg_sys::JoinType::Type,
        outer: &RelOptInfo,
        inner: &RelOptInfo,
    ) -> f64 {
        let (left, right) = (outer.relids().raw(), inner.relids().raw());
        let mut join = pg_sys::SpecialJoinInfo {
            type_: pg_sys::NodeTag::T_SpecialJoinInfo,
            jointype: kind,
            min_lefthand: left,
            syn_lefthand: left,
            min_righthand: right,
            syn_righthand: right,
            ..Default::default()
        };
        // SAFETY: as above; PostgreSQL would keep what it finds, for either side, if it were told the RestrictInfo.
        unsafe { pg_sys::clause_selectivity(self.raw(), condition.raw(), 0, kind, &mut join) }
    }

    /// estimate_num_groups().
    pub fn groups(&self, keys: &[&Node], rows: f64) -> f64 {
        let (keys, none) = (keys.iter().copied().collect::<Nodes>(), std::ptr::null_mut());
        // SAFETY: as above.
        unsafe { pg_sys::estimate_num_groups(self.raw(), keys.raw(), rows, none, std::ptr::null_mut()).max(1.0) }
    }

    /// How many values an expression over a relation has, as far as statistics tell: get_variable_numdistinct().
    pub fn values(&self, expression: &Node, rel: &RelOptInfo) -> f64 {
        let (mut data, mut is_default) = (pg_sys::VariableStatData::default(), false);
        // SAFETY: of this query; the tuple is released as it was got.
        unsafe {
            pg_sys::examine_variable(self.raw(), expression.raw(), rel.relid() as i32, &mut data);
            let values = pg_sys::get_variable_numdistinct(&mut data, &mut is_default);
            if let (false, Some(free)) = (data.statsTuple.is_null(), data.freefunc) {
                guarded!(free(data.statsTuple));
            }
            values
        }
    }

    /// A sequential scan, as set_plain_rel_pathlist() makes it.
    pub fn sequential<'a>(&self, rel: &'a RelOptInfo) -> &'a Path {
        // SAFETY: a table of this query.
        unsafe {
            Path::of(pg_sys::create_seqscan_path(
                self.raw(),
                rel.raw(),
                std::ptr::null_mut(),
                0,
            ))
        }
    }

    /// A sort of another path's rows.
    pub fn sort<'a>(&self, rel: &RelOptInfo, path: &'a Path, keys: Nodes<'_>, limit: f64) -> &'a Path {
        // SAFETY: a path of this query.
        unsafe { Path::of(pg_sys::create_sort_path(self.raw(), rel.raw(), path.raw(), keys.raw(), limit).cast()) }
    }

    /// The first of equal rows, of sorted ones.
    pub fn unique<'a>(&self, rel: &RelOptInfo, path: &'a Path, columns: usize, groups: f64) -> &'a Path {
        // SAFETY: as above.
        unsafe {
            let made = pg_sys::create_upper_unique_path(self.raw(), rel.raw(), path.raw(), columns as i32, groups);
            Path::of(made.cast())
        }
    }

    /// Window functions of one clause, above rows that are sorted for it.
    pub fn window<'a>(
        &self,
        rel: &RelOptInfo,
        path: &'a Path,
        target: &PathTarget,
        functions: Nodes<'_>,
        clause: &WindowClause,
    ) -> &'a Path {
        let none = std::ptr::null_mut();
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        let conditions = clause.run_conditions(functions).raw();
        let (root, rel, path, target) = (self.raw(), rel.raw(), path.raw(), target.raw());
        let (functions, clause) = (functions.raw(), clause.raw());
        // SAFETY: as above.
        unsafe {
            #[cfg(any(feature = "pg15", feature = "pg16"))]
            let made = pg_sys::create_windowagg_path(root, rel, path, target, functions, clause, none, true);
            #[cfg(not(any(feature = "pg15", feature = "pg16")))]
            let made =
                pg_sys::create_windowagg_path(root, rel, path, target, functions, conditions, clause, none, true);
            Path::of(made.cast())
        }
    }

    /// Rows that workers have sorted.
    pub fn gather_sorted<'a>(&self, rel: &RelOptInfo, path: &'a Path, keys: Nodes<'_>, mut rows: f64) -> &'a Path {
        let (target, none) = (path.pathtarget().raw(), std::ptr::null_mut());
        // SAFETY: as above.
        unsafe {
            let (root, rel, path) = (self.raw(), rel.raw(), path.raw());
            let made = pg_sys::create_gather_merge_path(root, rel, path, target, keys.raw(), none, &mut rows);
            Path::of(made.cast())
        }
    }

    /// Workers' rows.
    pub fn gather<'a>(&self, rel: &RelOptInfo, path: &'a Path, mut rows: f64) -> &'a Path {
        let (target, none) = (path.pathtarget().raw(), std::ptr::null_mut());
        // SAFETY: as above.
        unsafe {
            let made = pg_sys::create_gather_path(self.raw(), rel.raw(), path.raw(), target, none, &mut rows);
            Path::of(made.cast())
        }
    }

    /// With another target.
    pub fn project<'a>(&self, rel: &RelOptInfo, path: &'a Path, target: &PathTarget) -> &'a Path {
        if std::ptr::eq(path.pathtarget(), target) {
            return path;
        }
        // SAFETY: as above.
        unsafe {
            Path::of(pg_sys::apply_projection_to_path(
                self.raw(),
                rel.raw(),
                path.raw(),
                target.raw(),
            ))
        }
    }

    /// A nested loop as PostgreSQL makes it.
    pub fn nested_loop<'a>(
        &self,
        rel: &RelOptInfo,
        kind: pg_sys::JoinType::Type,
        extra: &JoinPathExtraData,
        outer: &'a Path,
        inner: &'a Path,
    ) -> &'a NestPath {
        let none = std::ptr::null_mut();
        // SAFETY: two paths of this query, whose relations the join is of.
        unsafe {
            let (root, outer, inner) = (self.raw(), outer.raw(), inner.raw());
            let mut workspace = std::mem::zeroed();
            pg_sys::initial_cost_nestloop(root, &mut workspace, kind, outer, inner, extra.raw());
            NestPath::of(pg_sys::create_nestloop_path(
                root,
                rel.raw(),
                kind,
                &mut workspace,
                extra.raw(),
                outer,
                inner,
                extra.restrictlist().raw(),
                none,
                std::ptr::null_mut(),
            ))
        }
    }

    /// A hash join as PostgreSQL makes it; None if its table is not expected to fit in memory.
    pub fn hash_join<'a>(
        &self,
        rel: &RelOptInfo,
        kind: pg_sys::JoinType::Type,
        extra: &JoinPathExtraData,
        (outer, inner): (&'a Path, &'a Path),
        keys: Nodes<'_>,
        shared: bool,
    ) -> Option<&'a Path> {
        let (conditions, none) = (extra.restrictlist().raw(), std::ptr::null_mut());
        let (root, rel, outer, inner) = (self.raw(), rel.raw(), outer.raw(), inner.raw());
        let (keys, extra) = (keys.raw(), extra.raw());
        // SAFETY: as above.
        unsafe {
            let mut work = std::mem::zeroed();
            pg_sys::initial_cost_hashjoin(root, &mut work, kind, keys, outer, inner, extra, shared);
            (work.numbatches == 1).then(|| {
                let made = pg_sys::create_hashjoin_path(
                    root, rel, kind, &mut work, extra, outer, inner, shared, conditions, none, keys,
                );
                Path::of(made.cast())
            })
        }
    }
}

/// pathkeys_contained_in().
pub fn sorts_as(first: Nodes<'_>, all: Nodes<'_>) -> bool {
    // SAFETY: two lists of sort keys.
    unsafe { pg_sys::pathkeys_contained_in(first.raw(), all.raw()) }
}

/// clamp_row_est().
pub fn row_count(rows: f64) -> f64 {
    // SAFETY: a number.
    unsafe { pg_sys::clamp_row_est(rows) }
}
