//! `amax.arrow(query text) RETURNS SETOF bytea`: the messages of an IPC stream, one per row.
//!
//! Value per call: the executor of the inner query is suspended between calls, as functions.c does for SQL
//! functions evaluated lazily. Nothing but the current batch is held. (In FROM, PostgreSQL itself puts the rows
//! of any function into a tuplestore, which spills to disk past work_mem.)

use std::ffi::{CString, c_void};

use pgrx::{PgSqlErrorCode, pg_guard, pg_sys};

use super::encoder::{Columns, Encoder, Framing};
use super::error::raise;
use super::guc::Limits;
use super::query::{Execution, plan_select, with_context};
use super::receiver::{Receiver, RowSink, WhenFull};
use super::types::payload;

/// What is left between calls. It lives in a Box owned by the function's multi-call memory context, which drops it
/// when it is deleted, be it after the last row or by an error.
struct Call {
    source: CString,
    /// None once the last row is out.
    execution: Option<Execution>,
    receiver: Box<Receiver>,
    encoder: Box<Encoder<Vec<u8>>>,
    stage: Stage,
    reset_callback: pg_sys::MemoryContextCallback,
}

enum Stage {
    Schema,
    Batches,
    Ended,
}

#[unsafe(no_mangle)]
pub extern "C" fn pg_finfo_amax_arrow() -> &'static pg_sys::Pg_finfo_record {
    const V1: pg_sys::Pg_finfo_record = pg_sys::Pg_finfo_record { api_version: 1 };
    &V1
}

/// # Safety
/// Called by PostgreSQL through the function manager.
#[unsafe(no_mangle)]
#[pg_guard]
pub unsafe extern "C-unwind" fn amax_arrow(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    let result = (*fcinfo).resultinfo.cast::<pg_sys::ReturnSetInfo>();
    if (*(*fcinfo).flinfo).fn_extra.is_null() {
        let context = pg_sys::init_MultiFuncCall(fcinfo);
        (*context).user_fctx = begin(fcinfo, (*context).multi_call_memory_ctx).cast();
        pg_sys::RegisterExprContextCallback(
            (*result).econtext,
            Some(shutdown),
            pg_sys::Datum::from((*context).user_fctx),
        );
    }
    let context = pg_sys::per_MultiFuncCall(fcinfo);
    let call = (*context).user_fctx.cast::<Call>();
    if let Some(message) = (*call).next((*context).multi_call_memory_ctx) {
        (*context).call_cntr += 1;
        (*result).isDone = pg_sys::ExprDoneCond::ExprMultipleResult;
        return message;
    }
    pg_sys::UnregisterExprContextCallback(
        (*result).econtext,
        Some(shutdown),
        pg_sys::Datum::from((*context).user_fctx),
    );
    pg_sys::end_MultiFuncCall(fcinfo, context);
    (*result).isDone = pg_sys::ExprDoneCond::ExprEndResult;
    (*fcinfo).isnull = true;
    pg_sys::Datum::from(0)
}

/// Plans and starts the query. Everything lives in `memory`.
unsafe fn begin(fcinfo: pg_sys::FunctionCallInfo, memory: pg_sys::MemoryContext) -> *mut Call {
    let caller = pg_sys::MemoryContextSwitchTo(memory);
    let argument = (*fcinfo).args.as_slice(1)[0];
    // Not a Rust string: the text is in the server's encoding, whatever that is.
    let source = CString::new(payload(argument.value)).expect("text holds no zero bytes");

    // As SPI does for volatile functions: see what this transaction has done so far.
    pg_sys::CommandCounterIncrement();
    pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
    let (mut execution, mut encoder) = with_context(&source, || {
        let plan = plan_select(&source);
        let execution = Execution::start(
            plan,
            source.as_ptr(),
            pg_sys::GetActiveSnapshot(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        );
        let columns = Columns::new(execution.columns());
        let encoder = Box::new(Encoder::new(columns, Vec::new(), Framing::Stream, Limits::current()));
        (execution, encoder)
    });
    pg_sys::PopActiveSnapshot();

    let mut receiver = Receiver::new(encoder.as_mut() as *mut dyn RowSink, WhenFull::Suspend);
    execution.set_receiver(&mut receiver);
    let call = Box::new(Call {
        source,
        execution: Some(execution),
        receiver,
        encoder,
        stage: Stage::Schema,
        reset_callback: pg_sys::MemoryContextCallback::default(),
    });
    let call = Box::into_raw(call);
    (*call).reset_callback.func = Some(forget);
    (*call).reset_callback.arg = call.cast();
    pg_sys::MemoryContextRegisterResetCallback(memory, &mut (*call).reset_callback);
    pg_sys::MemoryContextSwitchTo(caller);
    call
}

impl Call {
    /// The next message as a bytea in CurrentMemoryContext.
    unsafe fn next(&mut self, memory: pg_sys::MemoryContext) -> Option<pg_sys::Datum> {
        match self.stage {
            Stage::Schema => self.stage = Stage::Batches,
            Stage::Batches => {
                self.fill(memory);
                if self.execution.is_none() && self.encoder.output().is_empty() {
                    self.encoder.finish();
                    self.stage = Stage::Ended;
                }
            }
            Stage::Ended => return None,
        }
        Some(take_bytea(self.encoder.output()))
    }

    /// Runs the query until a batch is full or the rows end, and encodes the batch.
    unsafe fn fill(&mut self, memory: pg_sys::MemoryContext) {
        let Some(execution) = self.execution.as_mut() else {
            return;
        };
        let caller = pg_sys::MemoryContextSwitchTo(memory);
        pg_sys::PushActiveSnapshot(execution.snapshot());
        with_context(&self.source, || execution.run(false));
        pg_sys::PopActiveSnapshot();
        pg_sys::MemoryContextSwitchTo(caller);
        if !self.receiver.take_suspended() {
            self.end();
        }
        self.encoder.flush();
    }

    unsafe fn end(&mut self) {
        if let Some(execution) = self.execution.take() {
            pg_sys::PushActiveSnapshot(execution.snapshot());
            execution.end();
            pg_sys::PopActiveSnapshot();
        }
    }
}

/// Copies `bytes` into a bytea and empties the buffer, keeping its memory for the next batch.
unsafe fn take_bytea(bytes: &mut Vec<u8>) -> pg_sys::Datum {
    const HEADER: usize = std::mem::size_of::<u32>();
    /// MaxAllocSize in utils/memutils.h.
    const MAX_SIZE: usize = 0x3fff_ffff;
    let size = bytes.len() + HEADER;
    if size > MAX_SIZE {
        raise(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            "Arrow record batch does not fit into a bytea",
            Some(format!("The batch has {} bytes.", bytes.len())),
            Some("Use COPY (query) TO STDOUT WITH (FORMAT arrow) for rows this wide.".into()),
        );
    }
    let bytea = pg_sys::palloc(size).cast::<u8>();
    pgrx::set_varsize_4b(bytea.cast(), size as i32);
    std::ptr::copy_nonoverlapping(bytes.as_ptr(), bytea.add(HEADER), bytes.len());
    bytes.clear();
    pg_sys::Datum::from(bytea)
}

/// The caller stopped early (LIMIT, rescan): end the query. Registered after, so called before, the callback of
/// init_MultiFuncCall that deletes the memory. Not called on error.
#[pg_guard]
unsafe extern "C-unwind" fn shutdown(call: pg_sys::Datum) {
    (*call.cast_mut_ptr::<Call>()).end();
}

#[pg_guard]
unsafe extern "C-unwind" fn forget(call: *mut c_void) {
    if !crate::memory::is_ending() {
        drop(Box::from_raw(call.cast::<Call>()));
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn pg_finfo_amax_load() -> &'static pg_sys::Pg_finfo_record {
    pg_finfo_amax_arrow()
}

/// `amax.load()`: calling it has loaded the library, and with it `COPY … (FORMAT arrow)`, into the session.
///
/// # Safety
/// Called by PostgreSQL through the function manager.
#[unsafe(no_mangle)]
#[pg_guard]
pub unsafe extern "C-unwind" fn amax_load(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    (*fcinfo).isnull = false;
    pg_sys::Datum::from(0)
}
