//! Text in the database's encoding, and in Rust's, which is UTF-8.

use crate::memory;
use pgrx::pg_sys;
use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char, c_int};

const UTF8: c_int = pg_sys::pg_enc::PG_UTF8 as c_int;

/// The database's encoding.
fn of_database() -> c_int {
    // SAFETY: it returns a number that the session has from its start.
    unsafe { pg_sys::GetDatabaseEncoding() }
}

/// Whether the database's encoding is UTF-8, too.
pub fn is_utf8() -> bool {
    of_database() == UTF8
}

/// Whether the database's encoding is converted to UTF-8. From and to SQL_ASCII there is no conversion.
pub fn is_converted() -> bool {
    let server = of_database();
    server != UTF8 && server != pg_sys::pg_enc::PG_SQL_ASCII as c_int
}

/// Whether there is something to convert.
fn differs(bytes: &[u8]) -> bool {
    is_converted() && !bytes.is_ascii()
}

/// Bytes in the database's encoding as UTF-8. SQL_ASCII may be anything.
pub fn to_utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    convert(bytes, pg_sys::pg_server_to_any)
}

/// Bytes in the database's encoding, to be shown.
pub fn shown(bytes: &[u8]) -> Cow<'_, str> {
    match to_utf8(bytes) {
        Cow::Borrowed(text) => String::from_utf8_lossy(text),
        Cow::Owned(text) => Cow::Owned(String::from_utf8_lossy(&text).into_owned()),
    }
}

/// What is no text of the database's encoding, as it may be where that is not UTF-8, with question marks.
pub fn plain(text: String) -> String {
    // SAFETY: it returns a number that the session has from its start.
    if unsafe { pg_sys::GetDatabaseEncoding() } == UTF8 {
        return text;
    }
    text.replace(|c: char| !c.is_ascii(), "?")
}

/// Text in the database's encoding, without NULs.
pub fn of_utf8(text: &str) -> CString {
    let text = text.replace('\0', "");
    let text = convert(text.as_bytes(), pg_sys::pg_any_to_server).into_owned();
    CString::new(text).expect("NULs are gone")
}

type Conversion = unsafe fn(*const c_char, c_int, c_int) -> *mut c_char;

/// Converts with one of the two functions between the database's encoding and UTF-8 (mbutils.c).
fn convert(bytes: &[u8], by: Conversion) -> Cow<'_, [u8]> {
    if !differs(bytes) {
        return Cow::Borrowed(bytes);
    }
    // SAFETY: it reads so many bytes. What it returns are these, which need not end with a zero, if there is nothing to
    // convert; or else a palloc'd string that does, and that is ours.
    unsafe {
        let converted = by(bytes.as_ptr().cast(), bytes.len() as c_int, UTF8);
        if converted.cast_const().cast() == bytes.as_ptr() {
            return Cow::Borrowed(bytes);
        }
        let copy = amax_memory::copy(CStr::from_ptr(converted).to_bytes(), "a converted text");
        pg_sys::pfree(converted.cast());
        Cow::Owned(copy.unwrap_or_else(|e| memory::raise(e)))
    }
}
