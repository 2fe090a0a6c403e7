//! The contract between our nodes: what one hands up to another in place of rows. See src/query/README.md.

use super::columns::BatchColumns;
use super::rows::Rows;
use crate::columnar::OpenLeaf;
use crate::pg::custom::{CustomPath, PathMethods, ScanMethods};
use crate::pg::node::Node;
use crate::pg::plan::CustomScan;
use crate::pg::planner::RelOptInfo;
use crate::pg::relation::FileId;
use crate::pg::state::{CustomScanState, PlanState};
use crate::query::plan::kept::path_with;
use crate::query::plan::node::ExecMethods;
use amax_exec::{Expr, External, Zones};
use amax_format::RowNumbers;
use amax_lsm::Origin;
use pgrx::pg_sys;
use std::cell::RefCell;
use std::rc::Rc;

/// Rows that one of our nodes hands up together: by their numbers in the columns, ascending. Valid as long as it is held: it
/// keeps what is decoded in memory, and no pin and no lock.
pub struct Batch {
    pub columns: Rc<BatchColumns>,
    pub rows: RowNumbers,
}

/// Where the rows of a batch are in their table. Valid for as long as the query's snapshot is, whatever is flushed or
/// merged meanwhile.
pub enum Positions {
    /// Numbers of rows in a leaf, ascending, as often as an element of theirs is in the batch; who loaded them.
    Leaf(Rc<OpenLeaf>, Option<Origin>, RowNumbers),
    /// Of rows by themselves, of the table with this file.
    Tids(FileId, Vec<pg_sys::ItemPointerData>),
}

/// What whoever drives a node has use for, as far as the bounds of leaves tell. It may become less meanwhile.
pub trait Interest {
    /// Whether a leaf is read: its rows may be of use, or evaluating what is asked for of them may raise an error.
    fn includes(&self, zones: &dyn Zones, external: &dyn External) -> bool;
    /// Whether leaves are read in an order of their own, not as they lie.
    fn has_ranks(&self) -> bool;
    /// Leaves of lower rank promise more, and are read before others where that is possible.
    fn rank(&self, zones: &dyn Zones) -> i64;
}

/// A node that hands up batches to another one of ours, which drives it in place of PostgreSQL's executor: between
/// ExecInitNode() and ExecEndNode(), with rescans and parallel workers as PostgreSQL has them.
///
/// Who drives it asks for all rows, and so has asked the plan to be read to its end: conditions are looked at for all
/// rows of a batch before the first is handed up.
///
/// Whoever has one is within the query that has begun the node.
pub trait Batches {
    /// Expressions over the table's row, or that of a join: the columns of its batches are their values.
    fn columns(&self) -> Vec<&'static Node>;

    /// Expressions over the columns (variables of INDEX_VAR, from 1) as ones over vectors; None for one without.
    fn compile(&mut self, wanted: &[&Node]) -> Vec<Option<Expr>>;

    /// The node's state, as parent of expressions over its columns.
    fn state(&self) -> &'static PlanState;

    /// Whoever drives it reads these columns of what it is handed from now on, and no others.
    fn read(&mut self, columns: Vec<usize>);

    /// When it begins: in a parallel plan, whose processes take leaves as they come, the last ones come first.
    fn take_last_first(&mut self);

    /// Whether leaves may be left out: not where rows are elements, or joined.
    fn has_leaves(&self) -> bool;

    /// From now on leaves are left out that are of no use; None: all are of use. Only where it has leaves.
    fn limit_to(&mut self, interest: Option<Rc<dyn Interest>>);

    /// The next rows that its snapshot sees and its conditions let pass, in no order but that of a batch; None after the
    /// last, and again until it restarts.
    fn next_batch(&mut self) -> Option<Batch>;

    /// PostgreSQL's view of a row: set it to one of a batch, then evaluate.
    fn rows(&mut self) -> &mut Rows;

    /// Whether rows have positions: a join's have not.
    #[cfg(feature = "test_hooks")]
    fn has_positions(&self) -> bool {
        true
    }

    /// Where a batch's rows are.
    #[cfg_attr(not(feature = "test_hooks"), allow(dead_code))] // Who looks at rows one by one makes positions of its own.
    fn positions(&mut self, batch: &Batch) -> Positions;

    /// The table's rows at positions that this node has given since it was begun. They are not judged again, neither
    /// whether they are visible nor by conditions; elements of arrays are not among their columns.
    fn batch_at(&mut self, positions: &Positions) -> Batch;

    /// From its start again, without a change of parameters (that is ExecReScan()).
    fn restart(&mut self);

    /// EXPLAIN ANALYZE's clock and counts, around each time it is driven: `stop` says how many rows were handed up.
    fn start(&mut self);
    fn stop(&mut self, rows: usize);
}

/// A kind of node that hands up batches: what its paths, plans and states are known by.
pub struct Operator {
    pub path: &'static PathMethods,
    pub plan: &'static ScanMethods,
    pub exec: &'static ExecMethods,
    /// Tells a plan that whoever reads it reads it to its end.
    pub read_to_end: fn(&CustomScan),
    /// A state that has been begun.
    pub view: fn(&CustomScanState) -> &'static RefCell<dyn Batches>,
}

thread_local! {
    static OPERATORS: RefCell<Vec<&'static Operator>> = const { RefCell::new(Vec::new()) };
}

/// Has one found by the functions below.
pub fn register(operator: &'static Operator) {
    OPERATORS.with_borrow_mut(|operators| operators.push(operator));
}

fn operator(is: impl Fn(&Operator) -> bool) -> Option<&'static Operator> {
    OPERATORS.with_borrow(|operators| operators.iter().copied().find(|operator| is(operator)))
}

/// A relation's path that hands up batches and needs nothing of other relations; `partial`: one that workers share.
pub fn path_in(rel: &RelOptInfo, partial: bool) -> Option<&CustomPath> {
    path_with(rel, partial, |path| operator(|o| path.has(o.path)).is_some())
}

/// Tells the plan of such a path that it will be read to its end.
pub fn read_to_end(plan: &Node) {
    let plan = plan.as_a::<CustomScan>().expect("a plan of ours");
    let found = operator(|o| o.plan.are_of(plan));
    (found.expect("a plan is of its path's kind").read_to_end)(plan);
}

/// Whether a plan's node hands up batches.
pub fn hands_up(plan: &Node) -> bool {
    let plan = plan.as_a::<CustomScan>();
    plan.is_some_and(|plan| operator(|o| o.plan.are_of(plan)).is_some())
}

/// A node that has been begun as one that hands up batches; None if it does not.
pub fn of(node: &PlanState) -> Option<&'static RefCell<dyn Batches>> {
    let node = node.as_a::<CustomScanState>()?;
    let found = operator(|o| o.exec.are_of(node))?;
    Some((found.view)(node))
}
