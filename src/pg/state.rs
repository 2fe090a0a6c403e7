//! What the executor makes of plans (execnodes.h): states of nodes, expressions that are ready, and their contexts.

use super::executor;
use super::guard::guarded;
use super::handle::handle;
use super::node::{Kind, Node, Nodes, fields};
use super::parse::RangeTblEntry;
use super::plan::{CustomScan, Plan, PlannedStmt};
use super::{Relation, Slot, Snapshot, TupleDesc};
use pgrx::prelude::*;
use std::ffi::c_void;
use std::ops::Deref;

handle! {
    /// The state of a node of any kind. It lives as long as the query's executor state.
    PlanState, pg_sys::PlanState
}

fields!(PlanState {
    plan: of(Plan),
    lefttree: some(PlanState),
    righttree: some(PlanState),
    state: of(EState)
});

impl Deref for PlanState {
    type Target = Node;

    fn deref(&self) -> &Node {
        // SAFETY: every state begins with a node's tag.
        unsafe { Node::of(self.raw().cast()) }
    }
}

/// Declares kinds of states.
macro_rules! states {
    ($($(#[$doc:meta])* $name:ident: $tag:ident,)*) => { $(
        handle! { $(#[$doc])* $name, pg_sys::$name }

        // SAFETY: tags are named as their structs.
        unsafe impl Kind for $name {
            const TAG: pg_sys::NodeTag = pg_sys::NodeTag::$tag;
            type Struct = pg_sys::$name;
        }

        impl Deref for $name {
            type Target = PlanState;

            fn deref(&self) -> &PlanState {
                // SAFETY: every such struct begins with a node's state.
                unsafe { PlanState::of(self.raw().cast()) }
            }
        }
    )* };
}

states! {
    CustomScanState: T_CustomScanState,
    AppendState: T_AppendState,
    HashJoinState: T_HashJoinState,
}

handle! {
    /// What the nodes of a query have in common.
    EState, pg_sys::EState
}

handle! {
    /// What expressions are evaluated in: the rows they read, and the memory for one row.
    ExprContext, pg_sys::ExprContext
}

handle! {
    /// A query that begins.
    QueryDesc, pg_sys::QueryDesc
}
fields!(QueryDesc {
    estate: of(EState),
    planstate: some(PlanState)
});

impl PlanState {
    pub fn of_node(node: &Node) -> &PlanState {
        // SAFETY: whoever has a state as a node has it from a list of states.
        unsafe { PlanState::of(node.raw().cast()) }
    }

    /// That of the node's own expressions.
    pub fn econtext(&self) -> &ExprContext {
        // SAFETY: a node with expressions has one once it has begun.
        unsafe { ExprContext::of((*self.raw()).ps_ExprContext) }
    }

    /// Begins the node of a plan (ExecInitNode()).
    pub fn begin<'a>(plan: &Plan, estate: &'a EState, flags: i32) -> &'a PlanState {
        // SAFETY: a plan of the query.
        unsafe { PlanState::of(pg_sys::ExecInitNode(plan.raw(), estate.raw(), flags)) }
    }

    /// ExecEndNode().
    pub fn end(&self) {
        // SAFETY: a node that has begun.
        unsafe { pg_sys::ExecEndNode(self.raw()) }
    }

    /// The next row (ExecProcNode()).
    pub fn next(&self) -> Option<&Slot> {
        // SAFETY: a node that has begun.
        unsafe {
            let slot = executor::next_row(self.raw());
            (!slot.is_null())
                .then(|| Slot::of(slot))
                .filter(|slot| !slot.is_empty())
        }
    }

    /// From its start again (ExecReScan()).
    pub fn rescan(&self) {
        // SAFETY: as above.
        unsafe { pg_sys::ExecReScan(self.raw()) }
    }

    /// Whether parameters that it reads have changed since it began.
    pub fn is_changed(&self) -> bool {
        // SAFETY: a field of the struct.
        unsafe { !(*self.raw()).chgParam.is_null() }
    }

    /// Tells a node below of the parameters that have changed.
    pub fn tell(&self, below: &PlanState) {
        if self.is_changed() {
            // SAFETY: two nodes of one query.
            unsafe { pg_sys::UpdateChangedParamSet(below.raw(), (*self.raw()).chgParam) }
        }
    }

    /// Rows that conditions have taken out (InstrCountFiltered1()).
    pub fn count_removed(&self, rows: usize) {
        // SAFETY: a field of the struct: null unless somebody counts.
        if let Some(counts) = unsafe { (*self.raw()).instrument.as_mut() } {
            counts.nfiltered1 += rows as f64;
        }
    }

    /// How many rows conditions have taken out, in all and each time that it ran; None if nobody counts.
    pub fn removed(&self) -> Option<(f64, f64)> {
        // SAFETY: as above.
        let counts = unsafe { (*self.raw()).instrument.as_ref() }?;
        let all = counts.nfiltered1;
        Some((all, if counts.nloops > 0.0 { all / counts.nloops } else { 0.0 }))
    }

    /// EXPLAIN ANALYZE's clock.
    pub fn start_clock(&self) {
        // SAFETY: as above.
        unsafe {
            let clock = (*self.raw()).instrument;
            if !clock.is_null() {
                pg_sys::InstrStartNode(clock);
            }
        }
    }

    pub fn stop_clock(&self, rows: usize) {
        // SAFETY: as above.
        unsafe {
            let clock = (*self.raw()).instrument;
            if !clock.is_null() {
                pg_sys::InstrStopNode(clock, rows as f64);
            }
        }
    }

    /// Calls `visit` for it and all nodes below it.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a PlanState)) {
        let mut left = vec![self];
        while let Some(node) = left.pop() {
            visit(node);
            let parts: *mut Vec<&PlanState> = &mut left;
            // SAFETY: a node that has begun; the callback takes the vector for what it is.
            unsafe { pg_sys::planstate_tree_walker(node.raw(), Some(collect_part), parts.cast()) };
        }
    }
}

/// # Safety
/// As [`PlanState::walk`] has it called.
#[pg_guard]
unsafe extern "C-unwind" fn collect_part(node: *mut pg_sys::PlanState, parts: *mut c_void) -> bool {
    if !node.is_null() {
        // SAFETY: as the caller promises.
        unsafe { (*parts.cast::<Vec<&PlanState>>()).push(PlanState::of(node)) };
    }
    false
}

impl CustomScanState {
    /// Its plan.
    pub fn scan(&self) -> &CustomScan {
        self.plan()
            .as_a::<CustomScan>()
            .expect("a custom scan's state is of one")
    }

    pub fn methods(&self) -> *const pg_sys::CustomExecMethods {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).methods }
    }

    /// The table that it scans, which the executor keeps open as long as the node lives.
    pub fn relation(&self) -> Option<&'static Relation> {
        // SAFETY: a field of the struct.
        unsafe {
            let rel = (*self.raw()).ss.ss_currentRelation;
            (!rel.is_null()).then(|| Relation::of(rel))
        }
    }

    /// Holds a row of its custom_scan_tlist.
    pub fn scan_slot(&self) -> &'static Slot {
        // SAFETY: every custom scan has one; it lives as long as the node.
        unsafe { Slot::of((*self.raw()).ss.ss_ScanTupleSlot) }
    }

    /// The nodes below it.
    pub fn children(&self) -> Nodes<'_> {
        // SAFETY: a field of the struct.
        unsafe { Nodes::of((*self.raw()).custom_ps) }
    }

    pub fn set_child(&self, child: &PlanState) {
        // SAFETY: as above.
        unsafe { (*self.raw()).custom_ps = Nodes::NONE.with(child).raw() }
    }

    /// What its own target list makes of a row, which is in the slot (ExecProject()).
    pub fn project(&self, row: &'static Slot) -> &'static Slot {
        self.econtext().set_row(row);
        // SAFETY: a node that has begun, and a slot with a row.
        unsafe { Slot::of(executor::project(&(*self.raw()).ss.ps, row.raw())) }
    }

    /// What it returns after the last row.
    pub fn no_row(&self) -> &'static Slot {
        // SAFETY: every node has one.
        let slot = unsafe { Slot::of((*self.raw()).ss.ps.ps_ResultTupleSlot) };
        slot.clear();
        slot
    }

    /// Bytes of shared memory that it has asked for.
    pub fn shared_bytes(&self) -> usize {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).pscan_len }
    }

    /// Conditions on the rows it hands up, which it looks at itself.
    pub fn set_conditions(&self, conditions: Nodes<'_>) {
        // SAFETY: conditions over its rows.
        unsafe {
            let state = &raw mut (*self.raw()).ss.ps;
            (*state).qual = pg_sys::ExecInitQual(conditions.raw(), state);
        }
    }

    /// Whether the row that its expression context has passes them.
    pub fn passes(&self) -> bool {
        // SAFETY: prepared for this node.
        unsafe { executor::holds((*self.raw()).ss.ps.qual, self.econtext().raw()) }
    }
}

impl AppendState {
    pub fn plans(&self) -> Vec<&PlanState> {
        // SAFETY: an array of so many.
        unsafe {
            let state = &*self.raw();
            let plan = |at| PlanState::of(*state.appendplans.add(at));
            (0..state.as_nplans as usize).map(plan).collect()
        }
    }
}

impl EState {
    /// Runs `f` with an executor state of its own and a table that is locked, which are gone afterwards with all that was made
    /// there. After an error PostgreSQL's abort frees them.
    pub fn with_new<R>(table: pg_sys::Oid, f: impl FnOnce(&'static EState, &'static Relation) -> R) -> R {
        // SAFETY: a new state, whose slots hold no row any more when it ends, and an open table.
        unsafe {
            let (raw, rel) = (
                pg_sys::CreateExecutorState(),
                pg_sys::table_open(table, pg_sys::NoLock as i32),
            );
            let estate = EState::of(raw);
            let result = estate.within(|| f(estate, Relation::of(rel)));
            pg_sys::ExecResetTupleTable((*raw).es_tupleTable, false);
            pg_sys::FreeExecutorState(raw);
            pg_sys::table_close(rel, pg_sys::NoLock as i32);
            result
        }
    }

    /// Runs `f` in the memory context that lives as long as the query.
    pub fn within<R>(&self, f: impl FnOnce() -> R) -> R {
        // SAFETY: a field of the struct.
        unsafe { super::memory::Other::of((*self.raw()).es_query_cxt) }.within(f)
    }

    pub fn query_context(&self) -> pgrx::PgMemoryContexts {
        // SAFETY: as above.
        pgrx::PgMemoryContexts::For(unsafe { (*self.raw()).es_query_cxt })
    }

    /// What is run.
    pub fn statement(&self) -> &PlannedStmt {
        // SAFETY: as above.
        unsafe { PlannedStmt::of((*self.raw()).es_plannedstmt) }
    }

    /// Whether what is run changes or locks rows of a relation.
    pub fn changes(&self, relation: pg_sys::Index) -> bool {
        // SAFETY: as above; it looks at the plan.
        let is_target = unsafe { pg_sys::ExecRelationIsTargetRelation(self.raw(), relation) };
        is_target || self.statement().locks(relation)
    }

    /// The query's snapshot, which is registered as long as the query runs.
    pub fn snapshot(&self) -> &'static Snapshot {
        // SAFETY: as above.
        unsafe { Snapshot::of((*self.raw()).es_snapshot) }
    }

    pub fn is_forward(&self) -> bool {
        // SAFETY: as above.
        unsafe { (*self.raw()).es_direction >= 0 }
    }

    /// What rechecks rows, if this is the executor state of that.
    pub fn recheck(&self) -> Option<&Recheck> {
        // SAFETY: as above.
        unsafe {
            let active = (*self.raw()).es_epq_active;
            (!active.is_null()).then(|| Recheck::of(active))
        }
    }

    /// Opens a relation of the query, which keeps it open.
    pub fn open(&self, relation: pg_sys::Index, flags: i32) -> &'static Relation {
        // SAFETY: a relation of this query.
        unsafe { Relation::of(pg_sys::ExecOpenScanRelation(self.raw(), relation, flags)) }
    }

    /// The same of a table that is one of them.
    ///
    /// # Panics
    /// If it is not.
    pub fn open_table(&self, table: pg_sys::Oid, flags: i32) -> &'static Relation {
        let is_it = |rte: &RangeTblEntry| rte.rtekind() == pg_sys::RTEKind::RTE_RELATION && rte.relid() == table;
        let at = self.statement().rtable().all::<RangeTblEntry>().position(is_it);
        self.open(at.expect("a table of the query") as pg_sys::Index + 1, flags)
    }

    /// The table that a relation of this query is.
    pub fn table(&self, relation: pg_sys::Index) -> pg_sys::Oid {
        let mut all = self.statement().rtable().all::<RangeTblEntry>();
        all.nth(relation as usize - 1).expect("a relation of the query").relid()
    }

    /// CreateExprContext().
    pub fn new_context(&self) -> &'static ExprContext {
        // SAFETY: it lives as long as the query.
        unsafe { ExprContext::of(pg_sys::CreateExprContext(self.raw())) }
    }

    /// A slot for the values of expressions, which lives as long as the query.
    pub fn values_slot(&self, expressions: &[&Node]) -> &'static Slot {
        let all = |list: Nodes<'static>, node: &&Node| list.with(node.copy());
        let expressions = expressions.iter().fold(Nodes::NONE, all);
        // SAFETY: a list of expressions; virtual slots are PostgreSQL's.
        let (desc, ops) = unsafe {
            (
                TupleDesc::of(pg_sys::ExecTypeFromExprList(expressions.raw())),
                &pg_sys::TTSOpsVirtual,
            )
        };
        self.new_slot(desc, ops)
    }

    /// A slot that lives as long as the query.
    pub fn new_slot(&self, desc: &TupleDesc, ops: &'static pg_sys::TupleTableSlotOps) -> &'static Slot {
        // SAFETY: as above.
        unsafe { Slot::of(pg_sys::ExecInitExtraTupleSlot(self.raw(), desc.raw(), ops)) }
    }
}

handle! {
    /// EvalPlanQual's rows.
    Recheck, pg_sys::EPQState
}

/// What EvalPlanQual has of a relation.
pub enum Rechecked {
    /// It is scanned as ever.
    All,
    /// It has no row, or no further one.
    None,
    /// Its row, in a slot.
    Row(&'static Slot),
}

impl Recheck {
    /// The row of a relation (ExecScanFetch() of execScan.c), which `slot` may be used for.
    pub fn row(&self, relation: pg_sys::Index, slot: &'static Slot) -> Rechecked {
        let at = relation as usize - 1;
        // SAFETY: arrays of all relations of the query.
        unsafe {
            let state = self.raw();
            let done = (*state).relsubs_done.add(at);
            if *done {
                return Rechecked::None;
            }
            let given = *(*state).relsubs_slot.add(at);
            if !given.is_null() {
                *done = true;
                let given = Slot::of(given);
                return if given.is_empty() {
                    Rechecked::None
                } else {
                    Rechecked::Row(given)
                };
            }
            if (*(*state).relsubs_rowmark.add(at)).is_null() {
                return Rechecked::All;
            }
            *done = true;
            match pg_sys::EvalPlanQualFetchRowMark(state, relation, slot.raw()) {
                true => Rechecked::Row(slot),
                false => Rechecked::None,
            }
        }
    }
}

impl ExprContext {
    /// The row that expressions read.
    pub fn set_row(&self, slot: &Slot) {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).ecxt_scantuple = slot.raw() }
    }

    pub fn row(&self) -> &Slot {
        // SAFETY: as above; a scan sets it before it hands up a row.
        unsafe { Slot::of((*self.raw()).ecxt_scantuple) }
    }

    pub fn set_outer_row(&self, slot: &Slot) {
        // SAFETY: as above.
        unsafe { (*self.raw()).ecxt_outertuple = slot.raw() }
    }

    /// The value that stands for one that is not known yet ([`super::expr::case_value`]).
    pub fn set_case_value(&self, (value, null): (pg_sys::Datum, bool)) {
        // SAFETY: as above.
        unsafe {
            (*self.raw()).caseValue_datum = value;
            (*self.raw()).caseValue_isNull = null;
        }
    }

    /// The memory for one row.
    pub fn memory(&self) -> pg_sys::MemoryContext {
        // SAFETY: as above.
        unsafe { (*self.raw()).ecxt_per_tuple_memory }
    }

    /// Frees it, where there is something to free: it is asked for with every row.
    #[inline]
    pub fn reset(&self) {
        let memory = self.memory();
        // SAFETY: a live context.
        unsafe {
            if !(*memory).isReset || !(*memory).firstchild.is_null() {
                pg_sys::MemoryContextReset(memory);
            }
        }
    }

    /// Runs `f` in it.
    #[inline]
    pub fn within<R>(&self, f: impl FnOnce() -> R) -> R {
        // SAFETY: a live context.
        unsafe { super::memory::Other::of(self.memory()) }.within(f)
    }

    /// Whether a parameter of the executor has a value: a subquery may have to be run for it (ExecEvalParamExec()).
    pub fn is_known(&self, parameter: usize) -> bool {
        // SAFETY: the plan has such a parameter.
        unsafe { (*(*self.raw()).ecxt_param_exec_vals.add(parameter)).execPlan.is_null() }
    }
}

/// An expression that PostgreSQL has initialized for a query that goes on.
#[derive(Clone, Copy)]
pub struct Prepared(*mut pg_sys::ExprState);

impl Prepared {
    /// ExecInitExpr(). It is not to outlive the query, or its parent, the node whose state it is given.
    pub fn new(expression: &Node, parent: Option<&PlanState>) -> Prepared {
        let parent = parent.map_or(std::ptr::null_mut(), PlanState::raw);
        // SAFETY: an expression, and the node it belongs to.
        Prepared(unsafe { pg_sys::ExecInitExpr(expression.raw().cast(), parent) })
    }

    /// In the expression context's memory for one row.
    #[inline]
    pub fn eval(self, econtext: &ExprContext) -> (pg_sys::Datum, bool) {
        // SAFETY: prepared, and a context with what it reads.
        unsafe { executor::eval(self.0, econtext.raw()) }
    }

    /// Whether a condition holds: not false, not NULL.
    #[inline]
    pub fn holds(self, econtext: &ExprContext) -> bool {
        // SAFETY: as above.
        unsafe { executor::holds(self.0, econtext.raw()) }
    }
}

/// An expression of a plan that is being run.
#[derive(Clone, Copy)]
pub struct Planned(*mut pg_sys::Node);

impl Planned {
    /// It is not to outlive the plan.
    pub fn of(expression: &Node) -> Planned {
        Planned(expression.raw())
    }

    pub fn node<'a>(self) -> &'a Node {
        // SAFETY: the plan is still there.
        unsafe { Node::of(self.0) }
    }
}

/// What of PostgreSQL's a table's row at a TID is in a slot, if the snapshot sees it.
pub fn fetch_row(rel: &Relation, mut tid: pg_sys::ItemPointerData, snapshot: &Snapshot, slot: &Slot) -> bool {
    // SAFETY: an open table, whose access method has all callbacks.
    unsafe {
        let fetch = (*(*rel.raw()).rd_tableam).tuple_fetch_row_version;
        let fetch = fetch.expect("a table access method has all of them");
        guarded!(fetch(rel.raw(), &mut tid, snapshot.raw(), slot.raw()))
    }
}
