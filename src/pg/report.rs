//! Errors on their way to the log and the client (elog.h).

use super::handle::handle;
use pgrx::pg_sys;
use std::ffi::{CStr, c_char};

handle! {
    /// What PostgreSQL is about to report.
    Report, pg_sys::ErrorData
}

impl Report {
    pub fn is_error(&self) -> bool {
        // SAFETY: a field.
        unsafe { (*self.raw()).elevel == pg_sys::PGERROR as i32 }
    }

    /// Whether this is the message before it was translated and its values were filled in. Takes no memory.
    pub fn is_of(&self, template: &CStr) -> bool {
        // SAFETY: a string, or null, which stays until the report is made.
        unsafe { (*self.raw()).message_id.as_ref().map(|first| CStr::from_ptr(first)) == Some(template) }
    }

    pub fn message(&self) -> String {
        self.text(|report| report.message)
    }

    pub fn detail(&self) -> String {
        self.text(|report| report.detail)
    }

    /// Empty if there is none.
    fn text(&self, field: impl FnOnce(&pg_sys::ErrorData) -> *const c_char) -> String {
        // SAFETY: a string, or null, which stays until the report is made.
        let text = unsafe { field(&*self.raw()).as_ref().map(|first| CStr::from_ptr(first)) };
        text.map_or_else(String::new, |text| text.to_string_lossy().into_owned())
    }

    /// Takes the place of the hint that there is.
    pub fn set_hint(&self, hint: &CStr) {
        // SAFETY: the report's own context is there until the report is made.
        unsafe { (*self.raw()).hint = pg_sys::MemoryContextStrdup((*self.raw()).assoc_context, hint.as_ptr()) }
    }
}

/// A number as PostgreSQL's `%g` prints it.
pub fn short(value: f64) -> String {
    unsafe extern "C" {
        fn snprintf(out: *mut c_char, len: usize, format: *const c_char, ...) -> std::ffi::c_int;
    }
    match value {
        _ if value.is_nan() => return "NaN".into(),
        f64::INFINITY => return "Infinity".into(),
        f64::NEG_INFINITY => return "-Infinity".into(),
        _ => {}
    }
    let mut out = [0_u8; 32];
    // SAFETY: room for six digits and an exponent, and a format with what it asks for.
    unsafe { snprintf(out.as_mut_ptr().cast(), out.len(), c"%g".as_ptr(), value) };
    let text = CStr::from_bytes_until_nul(&out).unwrap_or_default();
    text.to_string_lossy().into_owned()
}
