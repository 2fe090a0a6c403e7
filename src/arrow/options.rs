//! The options of `COPY … WITH (FORMAT arrow, …)`.

use std::ffi::CStr;

use arrow_ipc::CompressionType;
use pgrx::PgSqlErrorCode;

use super::encoder::{Framing, Outgoing};
use super::error::{fail, raise};
use super::statement::{Destination, Statement};

/// Whether the statement asks for the arrow format.
pub fn is_arrow(statement: &Statement) -> bool {
    let mut options = statement.options();
    options.any(|(name, word)| name == c"format" && word == Some(c"arrow"))
}

/// How columns of a stream find theirs in the table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Matching {
    Name,
    Position,
}

/// What a COPY FROM asks for. Framing is what the input begins with.
pub struct Incoming {
    pub matching: Matching,
    /// Of PostgreSQL's: FREEZE as it was written.
    pub freeze: bool,
}

/// Raises an error for any option that the arrow format does not have.
pub fn incoming(statement: &Statement) -> Incoming {
    let (mut matching, mut freeze) = (None, None);
    for (name, word) in others(statement) {
        match name.to_bytes() {
            b"match" => once(
                &mut matching,
                match word.map(CStr::to_bytes) {
                    Some(b"name") => Matching::Name,
                    Some(b"position") => Matching::Position,
                    _ => fail(
                        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                        "COPY option \"match\" must be \"name\" or \"position\"",
                    ),
                },
            ),
            b"freeze" => once(&mut freeze, statement.is_on(name)),
            _ => unknown(
                name,
                "Besides \"format\", COPY FROM has the options \"match\" and \"freeze\" with the arrow format.",
            ),
        }
    }
    Incoming {
        matching: matching.unwrap_or(Matching::Name),
        freeze: freeze.unwrap_or(false),
    }
}

/// What a COPY TO asks for. Framing that is not asked for is the one that fits the destination: the file format for a file called `*.arrow` or
/// `*.feather`, the stream format for the rest. Raises an error for any option that the arrow format does not have.
pub fn outgoing(statement: &Statement) -> Outgoing {
    let (mut framing, mut compression) = (None, None);
    for (name, word) in others(statement) {
        match name.to_bytes() {
            b"framing" => once(
                &mut framing,
                match word.map(CStr::to_bytes) {
                    Some(b"stream") => Framing::Stream,
                    Some(b"file") => Framing::File,
                    _ => fail(
                        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                        "COPY option \"framing\" must be \"stream\" or \"file\"",
                    ),
                },
            ),
            b"compression" => once(
                &mut compression,
                match word.map(CStr::to_bytes) {
                    Some(b"none") => None,
                    Some(b"lz4") => Some(CompressionType::LZ4_FRAME),
                    Some(b"zstd") => Some(CompressionType::ZSTD),
                    _ => fail(
                        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                        "COPY option \"compression\" must be \"none\", \"lz4\" or \"zstd\"",
                    ),
                },
            ),
            _ => unknown(
                name,
                "Besides \"format\", COPY TO has the options \"framing\" and \"compression\" with the arrow format.",
            ),
        }
    }
    Outgoing {
        framing: framing.unwrap_or_else(|| default_framing(statement.destination())),
        compression: compression.flatten(),
    }
}

/// The options besides the format, which is given once.
fn others<'a>(statement: &Statement<'a>) -> impl Iterator<Item = (&'a CStr, Option<&'a CStr>)> {
    let mut format = None;
    statement.options().filter(move |(name, _)| {
        let is_format = *name == c"format";
        if is_format {
            once(&mut format, ());
        }
        !is_format
    })
}

fn once<T>(option: &mut Option<T>, value: T) {
    if option.replace(value).is_some() {
        fail(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, "conflicting or redundant options");
    }
}

fn unknown(name: &CStr, hint: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
        format!(
            "COPY option \"{}\" is not available with format arrow",
            name.to_string_lossy()
        ),
        None,
        Some(hint.into()),
    )
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
