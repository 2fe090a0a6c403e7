//! The aggregate node: keys and arguments are computed as vectors of the scan's leaves, and grouped as such.

use super::parallel;
use super::pieces::{Inbox, Outbox};
use super::private::{AggregatePlan, Part};
use super::rows::{Inputs, Wanted};
use super::state::{Node, State, of, part, plan as plan_of};
use crate::pg::executor::{clear_slot, holds, project};
use crate::query::batch::child::{begin_child, child, input, rescan_child};
use crate::query::batch::explain::{Conditions, number};
use crate::query::batch::raise::raise;
use crate::query::expr::datum;
use crate::query::expr::entry::expressions;
use crate::query::expr::tree::list;
use crate::query::plan::methods::ExecMethods;
use crate::query::plan::private::Private;
use crate::query::scan::source::is_worker;
use amax_exec::Output;
use pgrx::PgMemoryContexts;
use pgrx::pg_sys;
use pgrx::prelude::*;

static METHODS: ExecMethods = ExecMethods(pg_sys::CustomExecMethods {
    EstimateDSMCustomScan: Some(parallel::estimate_dsm),
    InitializeDSMCustomScan: Some(parallel::initialize_dsm),
    ReInitializeDSMCustomScan: Some(parallel::initialize_dsm),
    InitializeWorkerCustomScan: Some(parallel::initialize_worker),
    ShutdownCustomScan: Some(parallel::shutdown),
    ..ExecMethods::new(c"AmaxAggregate", begin, exec, end, rescan, explain).0
});

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
pub unsafe extern "C-unwind" fn create(_plan: *mut pg_sys::CustomScan) -> *mut pg_sys::Node {
    // SAFETY: it begins with PostgreSQL's state, and has pointers besides.
    unsafe { METHODS.new_state::<Node>() }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn begin(node: *mut pg_sys::CustomScanState, estate: *mut pg_sys::EState, eflags: i32) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let plan = (*node).ss.ps.plan as *mut pg_sys::CustomScan;
        let mut context = PgMemoryContexts::For((*estate).es_query_cxt);
        (*(node as *mut Node)).plan = crate::memory::keep(&mut context, AggregatePlan::of_plan(plan));
        let below = begin_child(node, estate, eflags);
        if part(node) != Part::Lower {
            let conditions = list(AggregatePlan::conditions(plan));
            (*node).ss.ps.qual = pg_sys::ExecInitQual(conditions, &mut (*node).ss.ps);
        }
        if part(node) == Part::Upper {
            let lower = (*below).lefttree as *mut pg_sys::CustomScanState;
            (*(node as *mut Node)).state = of(lower);
            return;
        }
        let entries = expressions((*plan).custom_scan_tlist);
        let (keys, aggregates) = entries.split_at(plan_of(node).keys);
        let lower = part(node) == Part::Lower;
        // The lower part's last entry is what it hands up.
        let aggregates = &aggregates[..aggregates.len() - usize::from(lower)];
        let inputs = Inputs::new(input(node), keys, aggregates);
        let limit = if lower && is_worker() {
            usize::MAX
        } else {
            inputs.limit()
        };
        (*(node as *mut Node)).state = crate::memory::keep(
            &mut context,
            State {
                aggregator: inputs.aggregator(limit),
                inputs,
                next: None,
                best: None,
                passes: 0,
                peak: 0,
                outbox: Outbox::default(),
                inbox: Inbox::default(),
                exchange: None,
                exchanges: true,
            },
        );
    }
}

impl State {
    /// Puts a group's keys and results in a slot.
    ///
    /// # Safety
    /// A node of ours, begun and not ended.
    unsafe fn store(&self, group: usize, slot: *mut pg_sys::TupleTableSlot) {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
            clear_slot(slot);
            let set = |at: usize, (value, null): (pg_sys::Datum, bool)| {
                *(*slot).tts_values.add(at) = value;
                *(*slot).tts_isnull.add(at) = null;
            };
            for (i, key) in self.inputs.keys.iter().enumerate() {
                let value = self.aggregator.grouping().key(i, group);
                set(i, datum::of_scalar(value, key.sql));
            }
            for (i, aggregate) in self.inputs.aggregates.iter().enumerate() {
                let output = self.aggregator.output(i, group).unwrap_or_else(|e| raise(e));
                set(self.inputs.keys.len() + i, finish(output, aggregate));
            }
            pg_sys::ExecStoreVirtualTuple(slot);
        }
    }
}

/// An aggregate's result, as its final function gives it (numeric.c, int8.c, float.c).
///
/// # Safety
/// A node of ours, begun and not ended.
unsafe fn finish(output: Output, aggregate: &Wanted) -> (pg_sys::Datum, bool) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        use pg_sys::{F_AVG_INT2, F_AVG_INT4, F_AVG_INT8, F_AVG_NUMERIC, F_SUM_INT8};
        let average = matches!(aggregate.function, F_AVG_INT2 | F_AVG_INT4 | F_AVG_INT8 | F_AVG_NUMERIC);
        let value = match output {
            Output::Null => return (pg_sys::Datum::null(), true),
            Output::Count(n) => pg_sys::Datum::from(n),
            Output::Int(v) => datum::of_word(v, aggregate.result),
            Output::Bool(v) => pg_sys::Datum::from(v),
            Output::Float(v) => datum::of_word(v.to_bits() as i64, aggregate.result),
            Output::Numeric(payload) => datum::of_bytes(&payload),
            Output::Text(bytes) => datum::of_bytes(&bytes),
            Output::IntSum { sum, count } if average => divide(datum::of_integer(sum), count),
            Output::IntSum { sum, .. } if aggregate.function == F_SUM_INT8 => datum::of_integer(sum),
            // int8.c adds without a look at overflow.
            Output::IntSum { sum, .. } => pg_sys::Datum::from(sum as i64),
            Output::NumericSum { sum, count } if average && datum::is_finite(&sum) => {
                divide(datum::of_bytes(&sum), count)
            }
            Output::NumericSum { sum, .. } => datum::of_bytes(&sum),
            Output::Accumulated { count, sum, .. } => pg_sys::Datum::from((sum / count).to_bits()),
        };
        (value, false)
    }
}

/// numeric_div() by a count.
///
/// # Safety
/// A node of ours, begun and not ended.
unsafe fn divide(sum: pg_sys::Datum, count: i64) -> pg_sys::Datum {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let count = datum::of_integer(i128::from(count));
        pgrx::direct_function_call_as_datum(pg_sys::numeric_div, &[Some(sum), Some(count)])
            .expect("a quotient of numbers is a number")
    }
}

/// All rows into the aggregator.
///
/// # Safety
/// A node of ours, begun and not ended.
unsafe fn read(node: *mut pg_sys::CustomScanState) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        of(node).passes += 1;
        match part(node) {
            Part::Upper => parallel::gather(node),
            _ => while of(node).next_unit(input(node)) {},
        }
    }
}
/// # Safety
/// A node of ours, begun and not ended.
unsafe fn read_again(node: *mut pg_sys::CustomScanState) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        match part(node) {
            Part::Upper => pg_sys::ExecReScan(child(node)),
            _ => input(node).restart(),
        }
        read(node);
    }
}

/// The next group of what has been read, or of what there is to read; None after the last.
///
/// # Safety
/// A node of ours, begun and not ended.
unsafe fn next_group(node: *mut pg_sys::CustomScanState) -> Option<usize> {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        loop {
            let state = of(node);
            let groups = match &state.best {
                Some(best) => best.len(),
                None => state.aggregator.grouping().len(),
            };
            match state.next {
                Some(next) if next < groups => {
                    state.next = Some(next + 1);
                    let best = state.best.as_ref();
                    return Some(best.map_or(next, |best| best[next] as usize));
                }
                None => read(node),
                Some(_) if of(node).aggregator.next_pass() => read_again(node),
                Some(_) => return None,
            }
            if of(node).aggregator.is_spoiled() {
                of(node).exchanges = false;
                of(node).aggregator.begin_again();
                read_again(node);
            }
            while of(node).aggregator.scan_again() {
                of(node).exchanges = false;
                read_again(node);
            }
            let top = plan_of(node).top;
            let state = of(node);
            state.best = top.and_then(|top| top.best(&state.aggregator));
            state.next = Some(0);
        }
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn exec(node: *mut pg_sys::CustomScanState) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        if part(node) == Part::Lower {
            return parallel::send(node);
        }
        let econtext = (*node).ss.ps.ps_ExprContext;
        let slot = (*node).ss.ss_ScanTupleSlot;
        loop {
            crate::memory::check_for_interrupts();
            pg_sys::MemoryContextReset((*econtext).ecxt_per_tuple_memory);
            let Some(group) = next_group(node) else {
                let result = (*node).ss.ps.ps_ResultTupleSlot;
                clear_slot(result);
                return result;
            };
            let old = pg_sys::MemoryContextSwitchTo((*econtext).ecxt_per_tuple_memory);
            of(node).store(group, slot);
            pg_sys::MemoryContextSwitchTo(old);
            (*econtext).ecxt_scantuple = slot;
            let qual = (*node).ss.ps.qual;
            if !holds(qual, econtext) {
                (*node)
                    .ss
                    .ps
                    .instrument
                    .as_mut()
                    .into_iter()
                    .for_each(|i| i.nfiltered1 += 1.0);
                continue;
            }
            return project(&(*node).ss.ps, slot);
        }
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn end(node: *mut pg_sys::CustomScanState) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        pg_sys::ExecEndNode(child(node));
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn rescan(node: *mut pg_sys::CustomScanState) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        rescan_child(node);
        // The lower part's groups are the upper one's to forget: this may be another of its passes.
        if part(node) != Part::Lower {
            of(node).aggregator.restart();
            of(node).next = None;
            of(node).inbox = Inbox::default();
            of(node).exchanges = true;
        }
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn explain(
    node: *mut pg_sys::CustomScanState,
    ancestors: *mut pg_sys::List,
    es: *mut pg_sys::ExplainState,
) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        if part(node) == Part::Lower {
            return;
        }
        let conditions = AggregatePlan::conditions((*node).ss.ps.plan as *mut pg_sys::CustomScan);
        Conditions::of(node, ancestors, es).show(&conditions, node, es);
        if let Some(top) = plan_of(node).top {
            number(c"Best Groups", top.count as u64, es);
        }
        if !(*es).analyze {
            return;
        }
        let state = of(node);
        number(c"Passes", state.passes, es);
        let kilobytes = |bytes: usize| (bytes as u64).div_ceil(1024);
        number(c"Memory Peak kB", kilobytes(state.peak), es);
        if part(node) == Part::Upper {
            parallel::explain(state, es);
        }
    }
}
