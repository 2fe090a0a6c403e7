//! The options of `COPY … WITH (FORMAT arrow, …)`.

use std::ffi::CStr;

use pgrx::PgSqlErrorCode;

use super::encoder::Framing;
use super::error::{fail, raise};
use super::statement::{Destination, Statement};

/// Whether the statement asks for the arrow format.
pub fn is_arrow(statement: &Statement) -> bool {
    let mut options = statement.options();
    options.any(|(name, word)| name == c"format" && word == Some(c"arrow"))
}

/// The framing asked for, or else the one that fits the destination: the file format for a file called `*.arrow` or
/// `*.feather`, the stream format for the rest. Raises an error for any option that the arrow format does not have.
pub fn framing(statement: &Statement) -> Framing {
    let mut formats = 0;
    let mut asked = None;
    for (name, word) in statement.options() {
        match name.to_bytes() {
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
                asked = Some(match word.map(CStr::to_bytes) {
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
        }
    }
    asked.unwrap_or_else(|| default_framing(statement.destination()))
}

fn default_framing(destination: Destination) -> Framing {
    let is_arrow_file = |name: &CStr| {
        let name = name.to_bytes();
        name.ends_with(b".arrow") || name.ends_with(b".feather")
    };
    match destination {
        Destination::File(name) if is_arrow_file(name) => Framing::File,
        _ => Framing::Stream,
    }
}

fn conflicting() -> ! {
    fail(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, "conflicting or redundant options")
}
