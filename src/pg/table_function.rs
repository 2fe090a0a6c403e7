//! Set-returning functions (execSRF.c).

use super::node::Node;
use super::state::{CustomScanState, ExprContext};
use super::{Slot, TupleDesc};
use pgrx::pg_sys;

/// A set-returning function in FROM, called for one row at a time (execSRF.c).
pub struct TableFunction {
    call: *mut pg_sys::SetExprState,
    /// For its arguments.
    econtext: &'static ExprContext,
    argument_memory: pg_sys::MemoryContext,
    desc: pg_sys::TupleDesc,
    results: *mut pg_sys::Tuplestorestate,
    /// Holds a row of its result.
    slot: &'static Slot,
}

impl TableFunction {
    /// Of a node that outlives it, whose scan slot has what its arguments read.
    pub fn new(node: &CustomScanState, call: &Node) -> TableFunction {
        let estate = node.state();
        let econtext = estate.new_context();
        econtext.set_row(node.scan_slot());
        let (mut ty, mut desc) = (pg_sys::InvalidOid, std::ptr::null_mut());
        // SAFETY: the call of a function; what is made lives as long as the query.
        unsafe {
            pg_sys::get_expr_result_type(call.raw(), &mut ty, &mut desc);
            if desc.is_null() {
                desc = pg_sys::CreateTemplateTupleDesc(1);
                pg_sys::TupleDescInitEntry(desc, 1, c"value".as_ptr(), ty, -1, 0);
            }
            TableFunction {
                call: pg_sys::ExecInitTableFunctionResult(call.raw().cast(), econtext.raw(), node.raw().cast()),
                econtext,
                argument_memory: pg_sys::AllocSetContextCreateInternal(
                    (*estate.raw()).es_query_cxt,
                    c"amax function arguments".as_ptr(),
                    pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
                    pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
                    pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
                ),
                desc,
                results: std::ptr::null_mut(),
                slot: estate.new_slot(TupleDesc::of(desc), &pg_sys::TTSOpsMinimalTuple),
            }
        }
    }

    pub fn slot(&self) -> &'static Slot {
        self.slot
    }

    /// Calls it.
    pub fn call(&mut self) {
        self.clear();
        self.econtext.reset();
        let (context, memory) = (self.econtext.raw(), self.argument_memory);
        // SAFETY: what it has is the node's.
        self.results = unsafe { pg_sys::ExecMakeTableFunctionResult(self.call, context, memory, self.desc, false) };
    }

    /// Has the slot have the next row; false after the last.
    pub fn next(&mut self) -> bool {
        // SAFETY: as above.
        unsafe { pg_sys::tuplestore_gettupleslot(self.results, true, false, self.slot.raw()) }
    }

    /// Has the slot have a row of NULLs.
    pub fn none(&mut self) {
        // SAFETY: as above.
        unsafe { pg_sys::ExecStoreAllNullTuple(self.slot.raw()) };
    }

    /// Lets go of what it has returned.
    pub fn clear(&mut self) {
        self.slot.clear();
        if !self.results.is_null() {
            // SAFETY: as above.
            unsafe { pg_sys::tuplestore_end(self.results) };
            self.results = std::ptr::null_mut();
        }
    }
}
