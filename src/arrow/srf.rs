//! `amax.arrow(query text [, json_as text]) RETURNS SETOF bytea`: the messages of an IPC stream, one per row.
//!
//! Value per call: the executor of the inner query is suspended between calls, as functions.c does for SQL
//! functions evaluated lazily. Nothing but the current batch is held. (In FROM, PostgreSQL itself puts the rows
//! of any function into a tuplestore, which spills to disk past work_mem.) With 'struct' the first call runs the
//! whole query, as the schema is that of all rows: they wait in a temporary file (`spool`).

use std::ffi::CStr;
use std::mem::ManuallyDrop;

use pgrx::{PgMemoryContexts, PgSqlErrorCode, pg_guard, pg_sys};

use super::direct::Direct;
use super::encoder::{Columns, Encoder};
use super::error::raise;
use super::format::Format;
use super::guc::Limits;
use super::options::{Json, Shapes};
use super::query::{Execution, Plan, with_context};
use super::receiver::{Receiver, WhenFull};
use super::scope::Scope;
use super::writer::Framing;
use crate::pg::memory::{Context, Other};
use crate::pg::snapshot::Active;

/// What is left between calls. The function's multi-call memory context keeps it, and drops it when it is deleted, be it
/// after the last row or by an error.
struct Call {
    scope: Scope<'static>,
    /// None once the last row is out.
    execution: Option<Execution<'static>>,
    /// None if its top node hands up rows.
    direct: Option<Direct>,
    encoder: Encoder<'static, Vec<u8>>,
    /// A part of the multi-call memory context, which deletes its parts before it drops us.
    row: ManuallyDrop<Context>,
    stage: Stage,
}

enum Stage {
    Schema,
    Batches,
    Ended,
}

// Unguarded: it returns a constant.
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
    // SAFETY: the protocol of funcapi.h, which checks that a set is wanted. Between the calls the memory keeps our Call.
    unsafe {
        let result = (*fcinfo).resultinfo.cast::<pg_sys::ReturnSetInfo>();
        if (*(*fcinfo).flinfo).fn_extra.is_null() {
            let context = pg_sys::init_MultiFuncCall(fcinfo);
            let memory = Other::of((*context).multi_call_memory_ctx);
            let arguments = (*fcinfo).args.as_slice((*fcinfo).nargs as usize);
            let call = memory.within(|| begin(arguments[0].value, arguments.get(1).map(|json| json.value)));
            (*context).user_fctx = crate::memory::keep(&mut PgMemoryContexts::For(memory.raw()), call).cast();
            let call = pg_sys::Datum::from((*context).user_fctx);
            pg_sys::RegisterExprContextCallback((*result).econtext, Some(shutdown), call);
        }
        let context = pg_sys::per_MultiFuncCall(fcinfo);
        let call = (*context).user_fctx;
        if let Some(message) = (*call.cast::<Call>()).next(Other::of((*context).multi_call_memory_ctx)) {
            (*context).call_cntr += 1;
            (*result).isDone = pg_sys::ExprDoneCond::ExprMultipleResult;
            return message;
        }
        pg_sys::UnregisterExprContextCallback((*result).econtext, Some(shutdown), pg_sys::Datum::from(call));
        pg_sys::end_MultiFuncCall(fcinfo, context);
        (*result).isDone = pg_sys::ExprDoneCond::ExprEndResult;
        (*fcinfo).isnull = true;
        pg_sys::Datum::from(0)
    }
}

/// Plans and starts the query. Everything lives in CurrentMemoryContext.
///
/// # Safety
/// Texts. CurrentMemoryContext outlives the call.
unsafe fn begin(query: pg_sys::Datum, json: Option<pg_sys::Datum>) -> Call {
    // SAFETY: as the caller promises.
    let word = json.map(|json| unsafe { text(json) });
    let json = word.map_or(Json::Text, |word| {
        Json::of(Some(word), "argument \"json_as\" of amax.arrow")
    });
    // As SPI does for volatile functions: see what this transaction has done so far.
    // SAFETY: in a transaction.
    unsafe { pg_sys::CommandCounterIncrement() };
    let active = Active::of_transaction();
    // Not a Rust string: the text is in the server's encoding, whatever that is.
    // SAFETY: as the caller promises; the string is a copy in that context.
    let scope = unsafe { Scope::of(text(query), std::ptr::null_mut()) };
    Call::new(scope, json, &active)
}

/// # Safety
/// A text. CurrentMemoryContext stays.
unsafe fn text(datum: pg_sys::Datum) -> &'static CStr {
    // SAFETY: as the caller promises; the string is a copy in that context.
    unsafe { CStr::from_ptr(pg_sys::text_to_cstring(datum.cast_mut_ptr())) }
}

impl Call {
    fn new(scope: Scope<'static>, json: Json, snapshot: &Active) -> Self {
        let (execution, direct, encoder) = with_context(scope.source(), || {
            let execution = Execution::start(Plan::of_select(scope), scope, snapshot);
            let columns = Columns::new(execution.columns(), Format::Arrow, Shapes::of(json), scope);
            let direct = execution.with_top(Direct::of).ok();
            (
                execution,
                direct,
                Encoder::new(columns, Vec::new(), Framing::PLAIN_STREAM, Limits::current()),
            )
        });
        Self {
            scope,
            execution: Some(execution),
            direct,
            encoder,
            row: ManuallyDrop::new(Context::new("Arrow row")),
            stage: Stage::Schema,
        }
    }

    /// The next message as a bytea in CurrentMemoryContext.
    fn next(&mut self, memory: &Other) -> Option<pg_sys::Datum> {
        match self.stage {
            Stage::Schema => {
                self.stage = Stage::Batches;
                if self.encoder.spool().is_some() {
                    while self.execution.is_some() {
                        self.fill(memory);
                    }
                }
                if let Some(spool) = self.encoder.spool() {
                    memory.within(|| spool.turn());
                }
            }
            Stage::Batches => {
                match self.encoder.spool() {
                    Some(spool) => {
                        spool.give();
                    }
                    None => self.fill(memory),
                }
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
    fn fill(&mut self, memory: &Other) {
        let Some(execution) = self.execution.as_mut() else {
            return;
        };
        let (encoder, row) = (&mut self.encoder, &mut *self.row);
        let more = memory.within(|| {
            let _active = Active::of(execution.snapshot());
            with_context(self.scope.source(), || match &mut self.direct {
                Some(direct) => execution.run_direct(|| direct.fill(encoder, row, |_| ())),
                None => {
                    let mut receiver = Receiver::new(encoder, row, WhenFull::Suspend);
                    execution.run(&mut receiver, false);
                    receiver.is_suspended()
                }
            })
        });
        if !more {
            self.end();
        }
        self.encoder.flush();
    }

    fn end(&mut self) {
        self.direct = None;
        if let Some(execution) = self.execution.take() {
            let _active = Active::of(execution.snapshot());
            execution.end();
        }
    }
}

/// Copies `bytes` into a bytea and empties the buffer, keeping its memory for the next batch.
fn take_bytea(bytes: &mut Vec<u8>) -> pg_sys::Datum {
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
    // SAFETY: room for the header and the bytes.
    let bytea = unsafe {
        let bytea = pg_sys::palloc(size).cast::<u8>();
        pgrx::set_varsize_4b(bytea.cast(), size as i32);
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), bytea.add(HEADER), bytes.len());
        bytea
    };
    bytes.clear();
    pg_sys::Datum::from(bytea)
}

/// The caller stopped early (LIMIT, rescan): end the query. Registered after, so called before, the callback of
/// init_MultiFuncCall that deletes the memory. Not called on error.
///
/// # Safety
/// A [`Call`].
#[pg_guard]
unsafe extern "C-unwind" fn shutdown(call: pg_sys::Datum) {
    // SAFETY: as the caller promises.
    let call = unsafe { &mut *call.cast_mut_ptr::<Call>() };
    call.end();
    if let Some(spool) = call.encoder.spool() {
        spool.close();
    }
}

// Unguarded: it returns a constant.
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
    // SAFETY: as the caller promises.
    unsafe { (*fcinfo).isnull = false };
    pg_sys::Datum::from(0)
}
