//! PostgreSQL's own function for the rows whose value at the path the columns do not hold as an array, and for those of
//! row pages.

use amax_format::Parts;
use pgrx::pg_sys;
use std::ffi::CStr;

/// PostgreSQL's function, called for one row at a time, and the element it is at.
pub struct Function {
    /// The entry that is its argument.
    pub array: usize,
    pub parts: Parts,
    call: *mut pg_sys::SetExprState,
    /// For its argument: an entry of the scan.
    econtext: *mut pg_sys::ExprContext,
    argument_context: pg_sys::MemoryContext,
    desc: pg_sys::TupleDesc,
    results: *mut pg_sys::Tuplestorestate,
    /// Holds an element, for expressions over it.
    slot: *mut pg_sys::TupleTableSlot,
    pub element_econtext: *mut pg_sys::ExprContext,
    pub ordinality: Option<i64>,
}

impl Function {
    /// For a node that outlives it.
    ///
    /// # Safety
    /// A node of ours, begun and not ended.
    pub unsafe fn new(
        node: *mut pg_sys::ScanState,
        call: *mut pg_sys::FuncExpr,
        array: usize,
        parts: Parts,
    ) -> Function {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
            let estate = (*node).ps.state;
            let econtext = pg_sys::CreateExprContext(estate);
            (*econtext).ecxt_scantuple = (*node).ss_ScanTupleSlot;
            let (mut ty, mut desc) = (pg_sys::InvalidOid, std::ptr::null_mut());
            pg_sys::get_expr_result_type(call as *mut pg_sys::Node, &mut ty, &mut desc);
            if desc.is_null() {
                desc = pg_sys::CreateTemplateTupleDesc(1);
                pg_sys::TupleDescInitEntry(desc, 1, c"value".as_ptr(), ty, -1, 0);
            }
            let slot = pg_sys::ExecInitExtraTupleSlot(estate, desc, &pg_sys::TTSOpsMinimalTuple);
            let element_econtext = pg_sys::CreateExprContext(estate);
            (*element_econtext).ecxt_scantuple = slot;
            Function {
                array,
                parts,
                call: pg_sys::ExecInitTableFunctionResult(call as *mut pg_sys::Expr, econtext, &mut (*node).ps),
                econtext,
                argument_context: context((*estate).es_query_cxt, c"amax unnest arguments"),
                desc,
                results: std::ptr::null_mut(),
                slot,
                element_econtext,
                ordinality: None,
            }
        }
    }

    /// Calls the function; its argument is in the scan's slot.
    pub fn call(&mut self) {
        // SAFETY: what it has is the node's, see [`Function::new`].
        unsafe {
            self.clear();
            pg_sys::MemoryContextReset((*self.econtext).ecxt_per_tuple_memory);
            self.results =
                pg_sys::ExecMakeTableFunctionResult(self.call, self.econtext, self.argument_context, self.desc, false);
            self.ordinality = Some(0);
        }
    }

    /// The next element; false after the last.
    pub fn next(&mut self) -> bool {
        // SAFETY: what it has is the node's, see [`Function::new`].
        unsafe {
            pg_sys::MemoryContextReset((*self.element_econtext).ecxt_per_tuple_memory);
            self.ordinality = self.ordinality.map(|n| n + 1);
            pg_sys::tuplestore_gettupleslot(self.results, true, false, self.slot)
        }
    }

    /// No element, for an outer join.
    pub fn none(&mut self) {
        // SAFETY: what it has is the node's, see [`Function::new`].
        unsafe {
            self.ordinality = None;
            pg_sys::ExecStoreAllNullTuple(self.slot);
        }
    }

    /// Lets go of what the function returned.
    pub fn clear(&mut self) {
        // SAFETY: what it has is the node's, see [`Function::new`].
        unsafe {
            crate::pg::executor::clear_slot(self.slot);
            if !self.results.is_null() {
                pg_sys::tuplestore_end(self.results);
                self.results = std::ptr::null_mut();
            }
        }
    }
}
/// # Safety
/// A node of ours, begun and not ended.
unsafe fn context(parent: pg_sys::MemoryContext, name: &'static CStr) -> pg_sys::MemoryContext {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        pg_sys::AllocSetContextCreateInternal(
            parent,
            name.as_ptr(),
            pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
        )
    }
}
