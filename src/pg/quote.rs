//! Names and strings as SQL has them (ruleutils.c, quote.c).

use pgrx::pg_sys;
use std::ffi::{CStr, CString};

/// quote_identifier(), of a name in the database's encoding.
pub fn identifier(name: String) -> String {
    quoted(name.into_bytes(), |name| {
        // SAFETY: a string that ends with a zero.
        unsafe { pg_sys::quote_identifier(name) }
    })
}

/// quote_literal_cstr(), of a text.
pub fn literal(text: &[u8]) -> String {
    quoted(text.to_vec(), |text| {
        // SAFETY: as above.
        unsafe { pg_sys::quote_literal_cstr(text) }
    })
}

fn quoted(text: Vec<u8>, quote: impl FnOnce(*const std::ffi::c_char) -> *const std::ffi::c_char) -> String {
    let text = CString::new(text).expect("text of PostgreSQL's has no zeroes");
    // SAFETY: PostgreSQL's strings end with a zero.
    let quoted = unsafe { CStr::from_ptr(quote(text.as_ptr())) };
    quoted.to_string_lossy().into_owned()
}
