//! The aggregate node: keys and arguments are computed as vectors of the scan's leaves, and grouped as such.

use super::aggregate_plan::{argument, function_of, number_of_keys};
use super::datum;
use super::entry::{expressions, over_entries};
use super::rows::{LeafColumns, Postgres, Rows};
use super::scan::{self, Scan, Selected};
use super::tree::{list, nodes};
use amax_exec::{
    Aggregator, Batch, Error, Evaluated, Expr, Input, Output, Type, Vector, VectorBuilder,
};
use pgrx::pg_sys;
use pgrx::prelude::*;
use pgrx::PgMemoryContexts;
use std::rc::Rc;

/// The node's state, begun as PostgreSQL's.
#[repr(C)]
struct Node {
    base: pg_sys::CustomScanState,
    state: *mut State,
}

/// An expression over the scan's entries, in both forms.
struct Computed {
    vector: Expr,
    state: *mut pg_sys::ExprState,
    reads: Vec<usize>,
    /// SQL type and vectors' type.
    sql: pg_sys::Oid,
    ty: Type,
}

struct Wanted {
    argument: Option<Computed>,
    filter: Option<Computed>,
    function: u32,
    /// SQL type of the result.
    result: pg_sys::Oid,
}

struct State {
    keys: Vec<Computed>,
    aggregates: Vec<Wanted>,
    aggregator: Aggregator,
    /// The next group to hand out; None before the rows have been read.
    next: Option<usize>,
    passes: u64,
    peak: usize,
}

unsafe fn of<'a>(node: *mut pg_sys::CustomScanState) -> &'a mut State {
    &mut *(*(node as *mut Node)).state
}

unsafe fn child(node: *mut pg_sys::CustomScanState) -> *mut pg_sys::CustomScanState {
    nodes((*node).custom_ps)[0] as *mut pg_sys::CustomScanState
}

static METHODS: super::Methods = super::Methods(pg_sys::CustomExecMethods {
    CustomName: c"AmaxAggregate".as_ptr(),
    BeginCustomScan: Some(begin),
    ExecCustomScan: Some(exec),
    EndCustomScan: Some(end),
    ReScanCustomScan: Some(rescan),
    MarkPosCustomScan: None,
    RestrPosCustomScan: None,
    EstimateDSMCustomScan: None,
    InitializeDSMCustomScan: None,
    ReInitializeDSMCustomScan: None,
    InitializeWorkerCustomScan: None,
    ShutdownCustomScan: None,
    ExplainCustomScan: Some(explain),
});

#[pg_guard]
pub unsafe extern "C-unwind" fn create(_plan: *mut pg_sys::CustomScan) -> *mut pg_sys::Node {
    let node = super::tree::make::<Node>(pg_sys::NodeTag::T_CustomScanState);
    (*node).base.methods = &METHODS.0;
    node as *mut pg_sys::Node
}

/// Expressions over the table's row as [`Computed`] ones over the child's entries.
unsafe fn compute(
    child: *mut pg_sys::CustomScanState,
    wanted: &[*mut pg_sys::Node],
) -> Vec<Computed> {
    let plan = (*child).ss.ps.plan as *mut pg_sys::CustomScan;
    let entries = expressions((*plan).custom_scan_tlist);
    let wanted: Vec<*mut pg_sys::Node> =
        wanted.iter().map(|&e| over_entries(e, &entries)).collect();
    let vectors = scan::of(child).compile(child, &wanted);
    wanted
        .into_iter()
        .zip(vectors)
        .map(|(node, vector)| {
            let sql = pg_sys::exprType(node);
            let vector = vector.expect("the planner chose what has vectors");
            Computed {
                vector,
                state: pg_sys::ExecInitExpr(node as *mut pg_sys::Expr, &mut (*child).ss.ps),
                reads: super::compile::reads(node),
                sql,
                ty: datum::type_of(sql, pg_sys::exprCollation(node))
                    .expect("the planner chose what has vectors"),
            }
        })
        .collect()
}

#[pg_guard]
unsafe extern "C-unwind" fn begin(
    node: *mut pg_sys::CustomScanState,
    estate: *mut pg_sys::EState,
    eflags: i32,
) {
    let plan = (*node).ss.ps.plan as *mut pg_sys::CustomScan;
    let below = pg_sys::ExecInitNode(
        nodes((*plan).custom_plans)[0] as *mut pg_sys::Plan,
        estate,
        eflags,
    );
    (*node).custom_ps = list([below]);
    let below = below as *mut pg_sys::CustomScanState;
    let entries = expressions((*plan).custom_scan_tlist);
    let (keys, aggregates) = entries.split_at(number_of_keys(plan));
    let keys = compute(below, keys);
    let mut functions = Vec::new();
    let aggregates: Vec<Wanted> = aggregates
        .iter()
        .map(|&aggregate| {
            let aggregate = &*(aggregate as *mut pg_sys::Aggref);
            functions.push(function_of(aggregate).expect("the planner chose what we have"));
            let filter = aggregate.aggfilter as *mut pg_sys::Node;
            Wanted {
                argument: argument(aggregate).and_then(|a| compute(below, &[a]).pop()),
                filter: if filter.is_null() {
                    None
                } else {
                    compute(below, &[filter]).pop()
                },
                function: aggregate.aggfnoid.to_u32(),
                result: aggregate.aggtype,
            }
        })
        .collect();
    let computed = aggregates
        .iter()
        .flat_map(|a| a.argument.iter().chain(&a.filter))
        .chain(&keys);
    scan::of(below).output = computed.flat_map(|c| c.reads.iter().copied()).collect();
    let types: Vec<Type> = keys.iter().map(|key| key.ty).collect();
    let aggregator = Aggregator::new(&types, &functions, pg_sys::get_hash_memory_limit() as usize)
        .expect("the planner chose what we have");
    let mut context = PgMemoryContexts::For((*estate).es_query_cxt);
    (*(node as *mut Node)).state = context.leak_and_drop_on_delete(State {
        keys,
        aggregates,
        aggregator,
        next: None,
        passes: 0,
        peak: 0,
    });
}

/// Raises what the aggregation found as PostgreSQL's error.
fn raise(error: Error) -> ! {
    let code = match error {
        Error::FloatOverflow | Error::NumericOverflow => {
            PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE
        }
        Error::Limit(_) => PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        _ => PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
    };
    ereport!(ERROR, code, error.to_string());
}

impl State {
    /// Reads all rows into the aggregator; the scan's time and rows are its own in EXPLAIN, with what we compute of them.
    unsafe fn pass(&mut self, child: *mut pg_sys::CustomScanState) {
        let scan = scan::of(child);
        let instrument = (*child).ss.ps.instrument;
        self.passes += 1;
        if !instrument.is_null() {
            pg_sys::InstrStartNode(instrument);
        }
        let mut passed = 0;
        while let Some(selected) = scan.next_unit(true) {
            passed += match selected {
                Selected::Page => self.page(scan),
                Selected::Leaf(columns, rows, open) => {
                    let rows = decide(scan, &columns, rows, open);
                    if !rows.is_empty() {
                        self.leaf(&mut scan.rows, &columns, &rows);
                    }
                    rows.len()
                }
            };
            self.peak = self.peak.max(self.aggregator.bytes_used());
        }
        scan.rows.clear();
        if !instrument.is_null() {
            pg_sys::InstrStopNode(instrument, passed as f64);
        }
    }

    unsafe fn leaf(&mut self, scan: &mut Rows, columns: &Rc<LeafColumns>, rows: &[u32]) {
        let keys: Vec<Vector> = self
            .keys
            .iter()
            .map(|key| vector(scan, columns, rows, key))
            .collect();
        let mut arguments: Vec<Option<Vector>> = Vec::new();
        let mut filters: Vec<Option<Vec<bool>>> = Vec::new();
        for aggregate in &self.aggregates {
            let filter = aggregate
                .filter
                .as_ref()
                .map(|filter| truths(&vector(scan, columns, rows, filter)));
            arguments.push(aggregate.argument.as_ref().map(|argument| match &filter {
                None => vector(scan, columns, rows, argument),
                // Nothing is evaluated for rows that FILTER leaves out.
                Some(filter) => {
                    let kept: Vec<u32> = rows
                        .iter()
                        .zip(filter)
                        .filter(|(_, &keep)| keep)
                        .map(|(&row, _)| row)
                        .collect();
                    vector(scan, columns, &kept, argument).spread(filter)
                }
            }));
            filters.push(filter);
        }
        self.update(rows.len(), &keys, &arguments, &filters);
    }

    /// The rows of a row page, evaluated by PostgreSQL.
    unsafe fn page(&mut self, scan: &mut Scan) -> usize {
        let builder = |computed: &Computed| VectorBuilder::new(computed.ty);
        let mut keys: Vec<VectorBuilder> = self.keys.iter().map(builder).collect();
        let mut arguments: Vec<Option<VectorBuilder>> = self
            .aggregates
            .iter()
            .map(|a| a.argument.as_ref().map(builder))
            .collect();
        let mut filters: Vec<Option<Vec<bool>>> = self
            .aggregates
            .iter()
            .map(|a| a.filter.as_ref().map(|_| Vec::new()))
            .collect();
        let mut n = 0;
        for row in 0..scan.source.block.len() {
            scan.rows.set_page(&scan.source.block, row);
            if !scan.passes(0) {
                continue;
            }
            n += 1;
            for (key, out) in self.keys.iter().zip(&mut keys) {
                push(&mut scan.rows, key, out);
            }
            for (i, aggregate) in self.aggregates.iter().enumerate() {
                let kept = match (&aggregate.filter, &mut filters[i]) {
                    (Some(filter), Some(out)) => {
                        let kept = scan.rows.holds(filter.state, &filter.reads);
                        out.push(kept);
                        kept
                    }
                    _ => true,
                };
                if let (Some(argument), Some(out)) = (&aggregate.argument, &mut arguments[i]) {
                    if kept {
                        push(&mut scan.rows, argument, out);
                    } else {
                        out.push_null();
                    }
                }
            }
        }
        let keys: Vec<Vector> = keys.into_iter().map(VectorBuilder::finish).collect();
        let arguments: Vec<Option<Vector>> = arguments
            .into_iter()
            .map(|a| a.map(VectorBuilder::finish))
            .collect();
        if n > 0 {
            self.update(n, &keys, &arguments, &filters);
        }
        n
    }

    fn update(
        &mut self,
        n: usize,
        keys: &[Vector],
        arguments: &[Option<Vector>],
        filters: &[Option<Vec<bool>>],
    ) {
        let inputs: Vec<Input> = arguments
            .iter()
            .zip(filters)
            .map(|(argument, filter)| Input {
                argument: argument.as_ref(),
                filter: filter.as_deref(),
            })
            .collect();
        self.aggregator
            .update(n, keys, &inputs)
            .unwrap_or_else(|e| raise(e));
    }

    /// Puts a group's keys and results in a slot.
    unsafe fn store(&self, group: usize, slot: *mut pg_sys::TupleTableSlot) {
        crate::compat::clear_slot(slot);
        let set = |at: usize, (value, null): (pg_sys::Datum, bool)| {
            *(*slot).tts_values.add(at) = value;
            *(*slot).tts_isnull.add(at) = null;
        };
        for (i, key) in self.keys.iter().enumerate() {
            let value = self.aggregator.grouping().key(i, group);
            set(i, datum::of_scalar(value, key.sql));
        }
        for (i, aggregate) in self.aggregates.iter().enumerate() {
            let output = self
                .aggregator
                .output(i, group)
                .unwrap_or_else(|e| raise(e));
            set(self.keys.len() + i, finish(output, aggregate));
        }
        pg_sys::ExecStoreVirtualTuple(slot);
    }
}

/// Rows of a leaf that pass all conditions, in order.
unsafe fn decide(
    scan: &mut Scan,
    columns: &Rc<LeafColumns>,
    rows: Vec<u32>,
    open: Vec<(u32, usize)>,
) -> Vec<u32> {
    let first = scan.vectorized();
    if open.is_empty() && first == scan.conditions() {
        return rows;
    }
    scan::merge(rows, open, first)
        .into_iter()
        .filter(|&(row, first)| {
            scan.rows.set_leaf(columns, row);
            scan.passes(first)
        })
        .map(|(row, _)| row)
        .collect()
}

/// The values of an expression for rows of a leaf; PostgreSQL evaluates those that vectors are unsure of.
unsafe fn vector<'a>(
    scan: &mut Rows,
    columns: &'a Rc<LeafColumns>,
    rows: &[u32],
    wanted: &Computed,
) -> Vector<'a> {
    let mut external = Postgres {
        rows: scan,
        columns: columns.clone(),
    };
    let mut batch = Batch {
        columns: &**columns,
        external: &mut external,
    };
    let Evaluated { vector, unsure } = batch.eval(&wanted.vector, rows);
    if unsure.is_empty() {
        return vector;
    }
    let mut out = VectorBuilder::new(wanted.ty);
    let mut unsure = unsure.into_iter().peekable();
    for (i, &row) in rows.iter().enumerate() {
        if unsure.next_if_eq(&(i as u32)).is_some() {
            scan.set_leaf(columns, row);
            push(scan, wanted, &mut out);
        } else {
            out.push_from(&vector, i);
        }
    }
    out.finish()
}

unsafe fn push(rows: &mut Rows, wanted: &Computed, out: &mut VectorBuilder) {
    let (value, null) = rows.eval(wanted.state, &wanted.reads);
    datum::push(out, wanted.sql, value, null);
}

fn truths(vector: &Vector) -> Vec<bool> {
    (0..vector.len())
        .map(|i| vector.is_valid(i) && vector.words[i] != 0)
        .collect()
}

/// An aggregate's result, as its final function gives it (numeric.c, int8.c, float.c).
unsafe fn finish(output: Output, aggregate: &Wanted) -> (pg_sys::Datum, bool) {
    use pg_sys::{F_AVG_INT2, F_AVG_INT4, F_AVG_INT8, F_AVG_NUMERIC, F_SUM_INT8};
    let average = matches!(
        aggregate.function,
        F_AVG_INT2 | F_AVG_INT4 | F_AVG_INT8 | F_AVG_NUMERIC
    );
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

/// numeric_div() by a count.
unsafe fn divide(sum: pg_sys::Datum, count: i64) -> pg_sys::Datum {
    let count = datum::of_integer(i128::from(count));
    pgrx::direct_function_call_as_datum(pg_sys::numeric_div, &[Some(sum), Some(count)])
        .expect("a quotient of numbers is a number")
}

#[pg_guard]
unsafe extern "C-unwind" fn exec(
    node: *mut pg_sys::CustomScanState,
) -> *mut pg_sys::TupleTableSlot {
    let state = of(node);
    let below = child(node);
    let econtext = (*node).ss.ps.ps_ExprContext;
    let slot = (*node).ss.ss_ScanTupleSlot;
    loop {
        pgrx::check_for_interrupts!();
        pg_sys::MemoryContextReset((*econtext).ecxt_per_tuple_memory);
        let group = match state.next {
            Some(group) if group < state.aggregator.grouping().len() => group,
            at => {
                if at.is_some() {
                    if !state.aggregator.next_pass() {
                        let result = (*node).ss.ps.ps_ResultTupleSlot;
                        crate::compat::clear_slot(result);
                        return result;
                    }
                    scan::restart(scan::of(below));
                }
                state.pass(below);
                while state.aggregator.scan_again() {
                    scan::restart(scan::of(below));
                    state.pass(below);
                }
                state.next = Some(0);
                continue;
            }
        };
        state.next = Some(group + 1);
        let old = pg_sys::MemoryContextSwitchTo((*econtext).ecxt_per_tuple_memory);
        state.store(group, slot);
        pg_sys::MemoryContextSwitchTo(old);
        (*econtext).ecxt_scantuple = slot;
        let qual = (*node).ss.ps.qual;
        if !qual.is_null() && !super::tree::holds(qual, econtext) {
            (*node)
                .ss
                .ps
                .instrument
                .as_mut()
                .into_iter()
                .for_each(|i| i.nfiltered1 += 1.0);
            continue;
        }
        let projection = (*node).ss.ps.ps_ProjInfo;
        return if projection.is_null() {
            slot
        } else {
            scan::project(projection)
        };
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn end(node: *mut pg_sys::CustomScanState) {
    pg_sys::ExecEndNode(child(node) as *mut pg_sys::PlanState);
}

#[pg_guard]
unsafe extern "C-unwind" fn rescan(node: *mut pg_sys::CustomScanState) {
    let state = of(node);
    if !(*node).ss.ps.chgParam.is_null() {
        pg_sys::UpdateChangedParamSet(
            child(node) as *mut pg_sys::PlanState,
            (*node).ss.ps.chgParam,
        );
    }
    pg_sys::ExecReScan(child(node) as *mut pg_sys::PlanState);
    state.aggregator.start(Default::default());
    state.next = None;
}

#[pg_guard]
unsafe extern "C-unwind" fn explain(
    node: *mut pg_sys::CustomScanState,
    _ancestors: *mut pg_sys::List,
    es: *mut pg_sys::ExplainState,
) {
    let state = of(node);
    if (*es).analyze {
        super::explain::number(c"Passes", state.passes, es);
        super::explain::number(c"Memory Peak kB", (state.peak as u64).div_ceil(1024), es);
    }
}
