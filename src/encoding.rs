//! Text in the database's encoding, and in Rust's, which is UTF-8.

use pgrx::pg_sys;
use std::borrow::Cow;
use std::ffi::{CStr, CString, c_int};

const UTF8: c_int = pg_sys::pg_enc::PG_UTF8 as c_int;

/// Whether there is something to convert. From and to SQL_ASCII there is no conversion.
fn differs(bytes: &[u8]) -> bool {
    // SAFETY: it returns a number that the session has from its start.
    let server = unsafe { pg_sys::GetDatabaseEncoding() };
    server != UTF8 && server != pg_sys::pg_enc::PG_SQL_ASCII as c_int && !bytes.is_ascii()
}

/// Bytes in the database's encoding as UTF-8, converted in CurrentMemoryContext where the encoding is another.
/// SQL_ASCII may be anything.
///
/// # Safety
/// Called in a transaction.
pub unsafe fn to_utf8(bytes: &[u8]) -> &[u8] {
    if !differs(bytes) {
        return bytes;
    }
    let converted = pg_sys::pg_server_to_any(bytes.as_ptr().cast(), bytes.len() as c_int, UTF8);
    // It returns its argument, which need not end with a zero, when there is nothing to convert.
    match converted.cast_const().cast() == bytes.as_ptr() {
        true => bytes,
        false => CStr::from_ptr(converted).to_bytes(),
    }
}

/// Bytes in the database's encoding, to be shown.
///
/// # Safety
/// Called in a transaction.
pub unsafe fn shown(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(to_utf8(bytes))
}

/// Text in the database's encoding, without NULs.
///
/// # Safety
/// Called in a transaction.
pub unsafe fn of_utf8(text: &str) -> CString {
    let text = CString::new(text.replace('\0', "")).expect("NULs are gone");
    if !differs(text.as_bytes()) {
        return text;
    }
    let bytes = text.as_bytes();
    let converted = pg_sys::pg_any_to_server(bytes.as_ptr().cast(), bytes.len() as c_int, UTF8);
    CStr::from_ptr(converted).to_owned()
}
