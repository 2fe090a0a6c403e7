//! `amax.part_of()`: a document of which only some keys are looked at.

use crate::pg::expr::check_marked;
use pgrx::AnyElement;
use pgrx::prelude::*;
use std::ffi::CStr;

pub const NAME: &CStr = c"part_of";

/// The document as it is: a scan of columns has left out of it what nobody looks at.
#[pg_extern]
fn part_of(document: AnyElement, _keys: AnyElement, call: pg_sys::FunctionCallInfo) -> AnyElement {
    // SAFETY: PostgreSQL's description of the call.
    unsafe { check_marked(call, "amax.part_of()") };
    document
}
