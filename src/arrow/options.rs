//! The options of `COPY … WITH (FORMAT arrow, …)`.

use std::ffi::{CStr, c_char};

use pgrx::{PgSqlErrorCode, pg_sys};

use super::encoder::Framing;
use super::error::{fail, raise};

/// Calls `visit` with the name and the definition of each option.
unsafe fn each(statement: *const pg_sys::CopyStmt, mut visit: impl FnMut(&CStr, *mut pg_sys::DefElem)) {
    let options = (*statement).options;
    if options.is_null() {
        return;
    }
    for i in 0..(*options).length as usize {
        let option = (*(*options).elements.add(i)).ptr_value.cast::<pg_sys::DefElem>();
        visit(CStr::from_ptr((*option).defname), option);
    }
}

/// The option's value if it is a plain word or string.
unsafe fn word<'a>(option: *const pg_sys::DefElem) -> Option<&'a CStr> {
    let value = (*option).arg;
    if value.is_null() || (*value).type_ != pg_sys::NodeTag::T_String {
        return None;
    }
    #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17", feature = "pg18"))]
    let text: *mut c_char = (*value.cast::<pg_sys::String>()).sval;
    Some(CStr::from_ptr(text))
}

/// Whether the statement asks for the arrow format. Only reads the tree.
///
/// # Safety
/// `statement` is a valid parse tree.
pub unsafe fn is_arrow(statement: *const pg_sys::CopyStmt) -> bool {
    let mut found = false;
    each(statement, |name, option| {
        found |= name == c"format" && word(option) == Some(c"arrow");
    });
    found
}

/// The framing asked for, or else the one that fits the destination: the file format for a file called `*.arrow` or
/// `*.feather`, the stream format for the rest. Raises an error for any option that the arrow format does not have.
///
/// # Safety
/// `statement` is a valid parse tree.
pub unsafe fn framing(statement: *const pg_sys::CopyStmt) -> Framing {
    let mut formats = 0;
    let mut asked = None;
    each(statement, |name, option| match name.to_bytes() {
        b"format" => {
            formats += 1;
            if formats > 1 {
                conflicting();
            }
        }
        b"framing" => {
            if asked.is_some() {
                conflicting();
            }
            asked = Some(match word(option).map(CStr::to_bytes) {
                Some(b"stream") => Framing::Stream,
                Some(b"file") => Framing::File,
                _ => fail(
                    PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                    "COPY option \"framing\" must be \"stream\" or \"file\"",
                ),
            });
        }
        _ => raise(
            PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
            format!(
                "COPY option \"{}\" is not available with format arrow",
                name.to_string_lossy()
            ),
            None,
            Some("Besides \"format\", the arrow format has only the option \"framing\".".into()),
        ),
    });
    asked.unwrap_or_else(|| default_framing(statement))
}

unsafe fn default_framing(statement: *const pg_sys::CopyStmt) -> Framing {
    if (*statement).filename.is_null() || (*statement).is_program {
        return Framing::Stream;
    }
    let name = CStr::from_ptr((*statement).filename).to_bytes();
    if name.ends_with(b".arrow") || name.ends_with(b".feather") {
        Framing::File
    } else {
        Framing::Stream
    }
}

fn conflicting() -> ! {
    fail(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, "conflicting or redundant options")
}
