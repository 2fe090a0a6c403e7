//! Planning and running a query whose rows go to a [`Receiver`].

use std::ffi::{CStr, c_char, c_int, c_void};

use pgrx::{PgSqlErrorCode, pg_guard, pg_sys};

use super::error::fail;
use super::receiver::Receiver;

/// A planned query in the executor. Dropping it frees nothing: either [`Execution::end`] is called, or an error
/// unwinds the transaction and PostgreSQL's resource owners and memory contexts clean up, as for any executor.
pub struct Execution {
    desc: *mut pg_sys::QueryDesc,
}

impl Execution {
    /// Starts `plan` with `snapshot`, rows going to `receiver`.
    ///
    /// # Safety
    /// `plan` and `source` live in a context that outlives the execution, as do CurrentMemoryContext and `receiver`.
    pub unsafe fn start(
        plan: *mut pg_sys::PlannedStmt,
        source: *const c_char,
        snapshot: pg_sys::Snapshot,
        receiver: *mut pg_sys::DestReceiver,
        environment: *mut pg_sys::QueryEnvironment,
    ) -> Self {
        let desc = pg_sys::CreateQueryDesc(
            plan,
            source,
            snapshot,
            std::ptr::null_mut(),
            receiver,
            std::ptr::null_mut(),
            environment,
            0,
        );
        pg_sys::ExecutorStart(desc, 0);
        Self { desc }
    }

    /// The result's columns.
    pub fn columns(&self) -> pg_sys::TupleDesc {
        unsafe { (*self.desc).tupDesc }
    }

    /// Directs rows to `receiver`, for a receiver that needs [`Self::columns`] first.
    pub fn set_receiver(&mut self, receiver: &mut Receiver) {
        unsafe { (*self.desc).dest = receiver.as_dest() }
    }

    /// Runs to the end or until the receiver suspends. `once` allows parallel workers and forbids another run.
    ///
    /// # Safety
    /// The execution has neither ended nor returned its last row.
    pub unsafe fn run(&mut self, once: bool) {
        let forward = pg_sys::ScanDirection::ForwardScanDirection;
        #[cfg(not(feature = "pg18"))]
        pg_sys::ExecutorRun(self.desc, forward, 0, once);
        #[cfg(feature = "pg18")]
        {
            // 18 tells a resumable run by its row count instead; a full batch stops us long before this many.
            let count = if once { 0 } else { u64::MAX };
            pg_sys::ExecutorRun(self.desc, forward, count);
        }
    }

    /// The snapshot it reads with: it has to be active whenever the executor runs.
    pub fn snapshot(&self) -> pg_sys::Snapshot {
        unsafe { (*self.desc).snapshot }
    }

    /// Ends it: AFTER triggers fire, resources are released.
    ///
    /// # Safety
    /// Called at most once.
    pub unsafe fn end(self) {
        pg_sys::ExecutorFinish(self.desc);
        pg_sys::ExecutorEnd(self.desc);
        pg_sys::FreeQueryDesc(self.desc);
    }
}

/// Parses `source`, which has to be one SELECT, VALUES, TABLE or WITH without data-modifying parts, and plans it.
///
/// # Safety
/// Needs an active snapshot; the plan lives in CurrentMemoryContext.
pub unsafe fn plan_select(source: &CStr) -> *mut pg_sys::PlannedStmt {
    let statements = pg_sys::pg_parse_query(source.as_ptr());
    let count = if statements.is_null() { 0 } else { (*statements).length };
    if count == 0 {
        fail(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, "query is empty");
    }
    if count > 1 {
        fail(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, "query must be a single statement");
    }
    let raw = first::<pg_sys::RawStmt>(statements);
    if (*(*raw).stmt).type_ != pg_sys::NodeTag::T_SelectStmt {
        refuse();
    }
    let query = analyze(raw, source.as_ptr(), std::ptr::null_mut());
    // SELECT INTO comes out of analysis as CREATE TABLE AS.
    if (*query).commandType != pg_sys::CmdType::CMD_SELECT
        || !(*query).utilityStmt.is_null()
        || (*query).hasModifyingCTE
    {
        refuse();
    }
    pg_sys::pg_plan_query(query, source.as_ptr(), 0, std::ptr::null_mut())
}

fn refuse() -> ! {
    super::error::raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "query must be a SELECT, VALUES, TABLE or WITH",
        Some("Only a statement that returns rows and changes nothing can be read as Arrow.".into()),
        None,
    )
}

/// Plans the query of `COPY (query) TO`, refusing what COPY refuses (BeginCopyTo in commands/copyto.c).
///
/// # Safety
/// As [`plan_select`]; `raw` may be scribbled on.
pub unsafe fn plan_copy(
    raw: *mut pg_sys::RawStmt,
    source: *const c_char,
    environment: *mut pg_sys::QueryEnvironment,
    cursor_options: c_int,
) -> *mut pg_sys::PlannedStmt {
    let unsupported = PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED;
    if (*(*raw).stmt).type_ == pg_sys::NodeTag::T_MergeStmt {
        fail(unsupported, "MERGE not supported in COPY");
    }
    let query = analyze(raw, source, environment);
    let utility = (*query).utilityStmt;
    if !utility.is_null() {
        if (*utility).type_ == pg_sys::NodeTag::T_CreateTableAsStmt {
            fail(unsupported, "COPY (SELECT INTO) is not supported");
        }
        fail(unsupported, "COPY query must not be a utility command");
    }
    if (*query).commandType != pg_sys::CmdType::CMD_SELECT && (*query).returningList.is_null() {
        fail(unsupported, "COPY query must have a RETURNING clause");
    }
    pg_sys::pg_plan_query(query, source, cursor_options, std::ptr::null_mut())
}

/// Analyzes and rewrites one statement; takes the locks it needs.
unsafe fn analyze(
    raw: *mut pg_sys::RawStmt,
    source: *const c_char,
    environment: *mut pg_sys::QueryEnvironment,
) -> *mut pg_sys::Query {
    let rewritten = pg_sys::pg_analyze_and_rewrite_fixedparams(raw, source, std::ptr::null(), 0, environment);
    let count = if rewritten.is_null() { 0 } else { (*rewritten).length };
    if count == 1 {
        return first::<pg_sys::Query>(rewritten);
    }
    let mut message = if count == 0 {
        "DO INSTEAD NOTHING rules are not supported for COPY"
    } else {
        "multi-statement DO INSTEAD rules are not supported for COPY"
    };
    for i in 0..count as usize {
        let query = (*(*rewritten).elements.add(i)).ptr_value.cast::<pg_sys::Query>();
        match (*query).querySource {
            pg_sys::QuerySource::QSRC_QUAL_INSTEAD_RULE => {
                message = "conditional DO INSTEAD rules are not supported for COPY";
                break;
            }
            pg_sys::QuerySource::QSRC_NON_INSTEAD_RULE => {
                message = "DO ALSO rules are not supported for COPY";
                break;
            }
            _ => {}
        }
    }
    fail(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message)
}

unsafe fn first<T>(list: *mut pg_sys::List) -> *mut T {
    (*(*list).elements).ptr_value.cast()
}

/// While it lives, errors are reported as errors of the given query, with its text and position, and not of the
/// statement that called us (as _SPI_error_callback does). It has to stay where it is: create it with [`with_context`].
struct ErrorContext(pg_sys::ErrorContextCallback);

impl Drop for ErrorContext {
    fn drop(&mut self) {
        unsafe { pg_sys::error_context_stack = self.0.previous }
    }
}

/// Runs `work` so that its errors point into `source`.
pub fn with_context<T>(source: &CStr, work: impl FnOnce() -> T) -> T {
    let mut context = ErrorContext(pg_sys::ErrorContextCallback {
        previous: unsafe { pg_sys::error_context_stack },
        callback: Some(report_query),
        arg: source.as_ptr() as *mut c_void,
    });
    // SAFETY: `context` is not moved again, and is popped before it dies, by return or by unwinding.
    unsafe { pg_sys::error_context_stack = &mut context.0 };
    work()
}

#[pg_guard]
unsafe extern "C-unwind" fn report_query(source: *mut c_void) {
    let position = pg_sys::geterrposition();
    if position > 0 {
        pg_sys::errposition(0);
        pg_sys::internalerrposition(position);
        pg_sys::internalerrquery(source.cast());
    }
}
