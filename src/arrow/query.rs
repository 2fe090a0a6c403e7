//! Planning and running a query whose rows go to a [`Receiver`].

use std::ffi::{CStr, c_int, c_void};
use std::marker::PhantomData;

use pgrx::{PgSqlErrorCode, pg_guard, pg_sys};

use super::error::fail;
use super::receiver::Receiver;
use super::scope::Scope;
use crate::pg::node::{Node, Nodes};
use crate::pg::parse::{Query, RawStmt};
use crate::pg::snapshot::Active;
use crate::pg::state::{EState, PlanState};
use crate::pg::{Snapshot, TupleDesc};
use crate::query::hands_up;

/// A plan.
pub struct Plan<'a> {
    plan: *mut pg_sys::PlannedStmt,
    of: PhantomData<&'a ()>,
}

impl<'a> Plan<'a> {
    /// Parses the scope's text, which has to be one SELECT, VALUES, TABLE or WITH without data-modifying parts, and
    /// plans it.
    pub fn of_select(scope: Scope<'a>) -> Self {
        let query = analyze(parse(scope), scope);
        // SELECT INTO comes out of analysis as CREATE TABLE AS.
        if !is_select(query) || query.utilityStmt().is_some() || query.hasModifyingCTE() {
            refuse();
        }
        Self::of(query, scope, 0)
    }

    /// Plans the query of `COPY (query) TO`, refusing what COPY refuses (BeginCopyTo in commands/copyto.c).
    pub fn of_copy(raw: &'a RawStmt, scope: Scope<'a>, cursor_options: c_int) -> Self {
        let unsupported = PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED;
        if tag(raw.stmt()) == Some(pg_sys::NodeTag::T_MergeStmt) {
            fail(unsupported, "MERGE not supported in COPY");
        }
        let query = analyze(raw, scope);
        match tag(query.utilityStmt()) {
            None => {}
            Some(pg_sys::NodeTag::T_CreateTableAsStmt) => fail(unsupported, "COPY (SELECT INTO) is not supported"),
            Some(_) => fail(unsupported, "COPY query must not be a utility command"),
        }
        if !is_select(query) && query.returningList().is_empty() {
            fail(unsupported, "COPY query must have a RETURNING clause");
        }
        Self::of(query, scope, cursor_options)
    }

    /// Where a node of ours is at the top of the plan without workers, it is that plan: its columns leave as such, which takes
    /// less than having workers make rows of them.
    fn of(query: &'a Query, scope: Scope<'a>, cursor_options: c_int) -> Self {
        let parallel = pg_sys::CURSOR_OPT_PARALLEL_OK as c_int;
        if cursor_options & parallel == 0 {
            return Self::planned(query, scope, cursor_options);
        }
        let copy = query.copy().as_a::<Query>().expect("a copy is of the same kind");
        let serial = Self::planned(copy, scope, cursor_options & !parallel);
        match serial.hands_up() {
            true => serial,
            false => Self::planned(query, scope, cursor_options),
        }
    }

    fn planned(query: &'a Query, scope: Scope<'a>, cursor_options: c_int) -> Self {
        let source = scope.source().as_ptr();
        // SAFETY: a query after rewriting, which planning may scribble on; the plan lives as long as the scope.
        let plan = unsafe { pg_sys::pg_plan_query(query.raw(), source, cursor_options, std::ptr::null_mut()) };
        Self { plan, of: PhantomData }
    }

    /// Whether a node of ours is at the top.
    fn hands_up(&self) -> bool {
        // SAFETY: a plan that has a top node.
        hands_up(unsafe { Node::of((*self.plan).planTree.cast()) })
    }

    /// Whether the relation is among those that it depends on.
    pub fn reads(&self, relation: pg_sys::Oid) -> bool {
        // SAFETY: a plan, which has a list of OIDs.
        unsafe { pg_sys::list_member_oid((*self.plan).relationOids, relation) }
    }
}

/// The scope's text, which has to be one SELECT, VALUES, TABLE or WITH.
fn parse<'a>(scope: Scope<'a>) -> &'a RawStmt {
    // SAFETY: the parser makes a list of statements, which live as long as the scope.
    let statements = unsafe { Nodes::of(pg_sys::pg_parse_query(scope.source().as_ptr())) };
    let raw = match (statements.get(0), statements.len()) {
        (Some(only), 1) => only.as_a::<RawStmt>().expect("what the parser makes"),
        (None, _) => fail(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, "query is empty"),
        _ => fail(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, "query must be a single statement"),
    };
    if tag(raw.stmt()) != Some(pg_sys::NodeTag::T_SelectStmt) {
        refuse();
    }
    raw
}

/// Such a text as it is analyzed, before it is rewritten; takes the locks it needs.
pub fn analyzed<'a>(scope: Scope<'a>) -> &'a Query {
    let (raw, source, environment) = (parse(scope).raw(), scope.source().as_ptr(), scope.environment());
    // SAFETY: what is made of the statement lives as long as the scope.
    unsafe {
        Query::of(pg_sys::parse_analyze_fixedparams(
            raw,
            source,
            std::ptr::null(),
            0,
            environment,
        ))
    }
}

fn refuse() -> ! {
    super::error::raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "query must be a SELECT, VALUES, TABLE or WITH",
        Some("Only a statement that returns rows and changes nothing can be read as Arrow.".into()),
        None,
    )
}

fn tag(node: Option<&Node>) -> Option<pg_sys::NodeTag> {
    node.map(Node::tag)
}

fn is_select(query: &Query) -> bool {
    query.commandType() == pg_sys::CmdType::CMD_SELECT
}

/// Analyzes and rewrites one statement, on which that scribbles; takes the locks it needs.
fn analyze<'a>(raw: &'a RawStmt, scope: Scope<'a>) -> &'a Query {
    let (source, environment) = (scope.source().as_ptr(), scope.environment());
    // SAFETY: what is made of the statement is a list of queries, which live as long as the scope.
    let rewritten = unsafe {
        let types = std::ptr::null();
        Nodes::of(pg_sys::pg_analyze_and_rewrite_fixedparams(
            raw.raw(),
            source,
            types,
            0,
            environment,
        ))
    };
    let mut queries = rewritten
        .iter()
        .map(|node| node.as_a::<Query>().expect("what rewriting makes"));
    if rewritten.len() == 1 {
        return queries.next().expect("one");
    }
    let default = if rewritten.is_empty() {
        "DO INSTEAD NOTHING rules are not supported for COPY"
    } else {
        "multi-statement DO INSTEAD rules are not supported for COPY"
    };
    let message = queries.find_map(|query| match query.querySource() {
        pg_sys::QuerySource::QSRC_QUAL_INSTEAD_RULE => Some("conditional DO INSTEAD rules are not supported for COPY"),
        pg_sys::QuerySource::QSRC_NON_INSTEAD_RULE => Some("DO ALSO rules are not supported for COPY"),
        _ => None,
    });
    fail(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        message.unwrap_or(default),
    )
}

/// A planned query in the executor. Dropping it frees nothing: either [`Execution::end`] is called, or an error
/// unwinds the transaction and PostgreSQL's resource owners and memory contexts clean up, as for any executor.
pub struct Execution<'a> {
    desc: *mut pg_sys::QueryDesc,
    of: PhantomData<&'a ()>,
}

impl<'a> Execution<'a> {
    /// Starts a plan with the snapshot.
    pub fn start(plan: Plan<'a>, scope: Scope<'a>, snapshot: &Active) -> Self {
        Self::begin(plan, scope, snapshot, 0)
    }

    /// Has `look` see the plan's top node, as it is when nothing is to run.
    pub fn show<R>(plan: Plan<'a>, scope: Scope<'a>, snapshot: &Active, look: impl FnOnce(&Self) -> R) -> R {
        let shown = Self::begin(plan, scope, snapshot, pg_sys::EXEC_FLAG_EXPLAIN_ONLY as c_int);
        let seen = look(&shown);
        shown.release();
        seen
    }

    fn begin(plan: Plan<'a>, scope: Scope<'a>, snapshot: &Active, flags: c_int) -> Self {
        let null = std::ptr::null_mut;
        let (source, snapshot) = (scope.source().as_ptr(), snapshot.get().raw());
        // SAFETY: the plan and what the executor makes live as long as the scope; the snapshot is registered.
        unsafe {
            let (dest, crosscheck, parameters) = (null(), std::ptr::null_mut(), std::ptr::null_mut());
            let environment = scope.environment();
            let desc = pg_sys::CreateQueryDesc(
                plan.plan,
                source,
                snapshot,
                crosscheck,
                dest,
                parameters,
                environment,
                0,
            );
            pg_sys::ExecutorStart(desc, flags);
            Self { desc, of: PhantomData }
        }
    }

    /// Runs `work` on the top node of the plan, in memory that lives as long as the query.
    pub fn with_top<R>(&self, work: impl FnOnce(&'static PlanState) -> R) -> R {
        // SAFETY: ExecutorStart() has set both, which stay until the query ends.
        let (top, estate) = unsafe {
            let desc = &*self.desc;
            (PlanState::of(desc.planstate), EState::of(desc.estate))
        };
        estate.within(|| work(top))
    }

    /// Runs `work` on the top node in place of the executor, for as many rows as it says; what else it says is returned.
    pub fn run_direct<R>(&mut self, work: impl FnOnce() -> (usize, R)) -> R {
        // SAFETY: as above; the clock is there if somebody wants it.
        let clock = unsafe { (*self.desc).totaltime };
        if !clock.is_null() {
            // SAFETY: as above.
            unsafe { pg_sys::InstrStartNode(clock) }
        }
        let (rows, result) = self.with_top(|_| work());
        // SAFETY: as above.
        unsafe {
            let estate = (*self.desc).estate;
            (*estate).es_processed += rows as u64;
            #[cfg(not(feature = "pg15"))]
            {
                (*estate).es_total_processed += rows as u64;
            }
            if !clock.is_null() {
                pg_sys::InstrStopNode(clock, rows as f64);
            }
        }
        result
    }

    /// The result's columns.
    pub fn columns(&self) -> &TupleDesc {
        // SAFETY: ExecutorStart() has set it.
        unsafe { TupleDesc::of((*self.desc).tupDesc) }
    }

    /// Runs to the end or until the receiver suspends. `once` allows parallel workers and forbids another run; there is
    /// none after the last row.
    pub fn run(&mut self, receiver: &mut Receiver, once: bool) {
        let forward = pg_sys::ScanDirection::ForwardScanDirection;
        // SAFETY: a started query; the receiver is forgotten before it may go. After an error nobody runs the query.
        unsafe {
            (*self.desc).dest = receiver.as_dest();
            #[cfg(not(feature = "pg18"))]
            pg_sys::ExecutorRun(self.desc, forward, 0, once);
            // 18 tells a resumable run by its row count instead; a full batch stops us long before this many.
            #[cfg(feature = "pg18")]
            pg_sys::ExecutorRun(self.desc, forward, if once { 0 } else { u64::MAX });
            (*self.desc).dest = std::ptr::null_mut();
        }
    }

    /// The snapshot it reads with: it has to be active whenever the executor runs.
    pub fn snapshot(&self) -> &Snapshot {
        // SAFETY: the executor has registered it.
        unsafe { Snapshot::of((*self.desc).snapshot) }
    }

    /// Ends it: AFTER triggers fire, resources are released.
    pub fn end(self) {
        // SAFETY: a started query.
        unsafe { pg_sys::ExecutorFinish(self.desc) }
        self.release();
    }

    fn release(self) {
        // SAFETY: a query that has finished, or was not to run, which nobody else has.
        unsafe {
            pg_sys::ExecutorEnd(self.desc);
            pg_sys::FreeQueryDesc(self.desc);
        }
    }
}

/// While it lives, errors are reported as errors of the given query, with its text and position, and not of the
/// statement that called us (as _SPI_error_callback does). It has to stay where it is: create it with [`with_context`].
struct ErrorContext(pg_sys::ErrorContextCallback);

impl Drop for ErrorContext {
    fn drop(&mut self) {
        // SAFETY: whoever was before is still there.
        unsafe { pg_sys::error_context_stack = self.0.previous }
    }
}

/// Runs `work` so that its errors point into `source`.
pub fn with_context<T>(source: &CStr, work: impl FnOnce() -> T) -> T {
    let mut context = ErrorContext(pg_sys::ErrorContextCallback {
        // SAFETY: a global of the backend.
        previous: unsafe { pg_sys::error_context_stack },
        callback: Some(report_query),
        arg: source.as_ptr() as *mut c_void,
    });
    // SAFETY: `context` is not moved again, and is popped before it dies, by return or by unwinding.
    unsafe { pg_sys::error_context_stack = &mut context.0 };
    work()
}

/// # Safety
/// Called while an error is reported; `source` is the text of a query.
#[pg_guard]
unsafe extern "C-unwind" fn report_query(source: *mut c_void) {
    // SAFETY: as the caller promises; the text is copied.
    unsafe {
        let position = pg_sys::geterrposition();
        if position > 0 {
            pg_sys::errposition(0);
            pg_sys::internalerrposition(position);
            pg_sys::internalerrquery(source.cast());
        }
    }
}
