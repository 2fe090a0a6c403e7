//! Calls through pointers. PostgreSQL's errors are long jumps, and whatever frames of ours they cross is not dropped: calls of
//! bound functions become panics by themselves, calls through pointers where [`guarded!`] is around them. All others are refused
//! by `ffi_unwind_calls`, unless they say why nothing has to be dropped.

/// Calls a function of PostgreSQL's, or of another extension's, by its pointer: an error that it raises is a panic here.
macro_rules! guarded {
    ($call:expr) => {{
        #[allow(ffi_unwind_calls, clippy::let_unit_value)]
        let value = pgrx::pg_sys::ffi::pg_guard_ffi_boundary(|| $call);
        #[allow(clippy::let_and_return)]
        value
    }};
}
pub(crate) use guarded;
