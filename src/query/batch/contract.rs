//! The contract between our nodes: what one hands up to another in place of rows. See src/query/README.md.

use super::columns::LeafColumns;
use super::rows::Rows;
use crate::columnar::OpenLeaf;
use crate::query::plan::methods::ExecMethods;
use amax_exec::Expr;
use amax_lsm::Origin;
use pgrx::pg_sys;
use std::cell::RefCell;
use std::rc::Rc;

/// Rows that one of our nodes hands up together.
pub enum Batch {
    /// Rows of a leaf, or elements of arrays in it, by their numbers in the columns, ascending. Valid as long as it is
    /// held: it keeps what is decoded in memory, and no pin and no lock.
    Leaf(Rc<LeafColumns>, Vec<u32>),
    /// One that is in no column: [`Batches::rows`] is at it, until the node is asked for anything else.
    Row,
}

/// Where the rows of a batch are in their table. Valid for as long as the query's snapshot is, whatever is flushed or
/// merged meanwhile.
#[cfg_attr(not(feature = "test_hooks"), allow(dead_code))] // Only tests read rows late so far.
pub enum Positions {
    /// Numbers of rows in a leaf, ascending, as often as an element of theirs is in the batch; who loaded them.
    Leaf(Rc<OpenLeaf>, Option<Origin>, Vec<u32>),
    /// Of a row in a row page.
    Tid(pg_sys::ItemPointerData),
}

/// A node that hands up batches to another one of ours, which drives it in place of PostgreSQL's executor: between
/// ExecInitNode() and ExecEndNode(), with rescans and parallel workers as PostgreSQL has them.
///
/// Who drives it asks for all rows, and so has asked the plan to be read to its end: conditions are looked at for all
/// rows of a batch before the first is handed up.
#[cfg_attr(not(feature = "test_hooks"), allow(dead_code))] // As above.
pub trait Batches {
    /// Expressions over the table's row, or that of a join: the columns of its batches are their values.
    unsafe fn columns(&self) -> Vec<*mut pg_sys::Node>;

    /// Expressions over the columns (variables of INDEX_VAR, from 1) as ones over vectors; None for one without.
    unsafe fn compile(&mut self, wanted: &[*mut pg_sys::Node]) -> Vec<Option<Expr>>;

    /// The node's state, as parent of expressions over its columns.
    fn state(&self) -> *mut pg_sys::PlanState;

    /// Whoever drives it reads these columns of what it is handed, and no others.
    fn read(&mut self, columns: Vec<usize>);

    /// The next rows that its snapshot sees and its conditions let pass, in no order but that of a batch; None after the
    /// last, and again until it restarts.
    unsafe fn next_batch(&mut self) -> Option<Batch>;

    /// PostgreSQL's view of a row: set it to one of a batch, then evaluate.
    fn rows(&mut self) -> &mut Rows;

    /// Where a batch's rows are; the batch is the last one if it is a row by itself.
    fn positions(&mut self, batch: &Batch) -> Positions;

    /// The table's rows at positions that this node has given since it was begun. They are not judged again, neither
    /// whether they are visible nor by conditions; elements of arrays are not among their columns.
    unsafe fn batch_at(&mut self, positions: &Positions) -> Batch;

    /// From its start again, without a change of parameters (that is ExecReScan()).
    unsafe fn restart(&mut self);

    /// EXPLAIN ANALYZE's clock and counts, around each time it is driven: `stop` says how many rows were handed up.
    unsafe fn start(&mut self);
    unsafe fn stop(&mut self, rows: usize);
}

/// How a node's state is seen as one that hands up batches.
type View = unsafe fn(*mut pg_sys::CustomScanState) -> *mut dyn Batches;

thread_local! {
    /// The methods of those that do.
    static VIEWS: RefCell<Vec<(&'static ExecMethods, View)>> = const { RefCell::new(Vec::new()) };
}

/// Says that nodes with these methods hand up batches.
pub fn register(methods: &'static ExecMethods, view: View) {
    VIEWS.with_borrow_mut(|views| views.push((methods, view)));
}

/// A node that has been begun as one that hands up batches; None if it does not.
pub unsafe fn of<'a>(node: *mut pg_sys::PlanState) -> Option<&'a mut dyn Batches> {
    if (*node).type_ != pg_sys::NodeTag::T_CustomScanState {
        return None;
    }
    let node = node as *mut pg_sys::CustomScanState;
    let known = |&(methods, _): &(&'static ExecMethods, View)| std::ptr::eq((*node).methods, &methods.0);
    let view = VIEWS.with_borrow(|views| views.iter().copied().find(known))?.1;
    Some(&mut *view(node))
}
