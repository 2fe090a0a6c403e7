//! PostgreSQL's errors as gRPC's.

use std::error::Error;

use arrow_schema::ArrowError;
use tokio_postgres::error::{DbError, ErrorPosition, Severity};
use tonic::{Code, Status};

/// Bytes that a message may have as gRPC writes it into a header: clients in Java take 8 kB of headers.
const LONGEST: usize = 6000;

/// An error of a statement.
pub fn of(error: &tokio_postgres::Error) -> Status {
    said(error, "lost the connection to PostgreSQL, or did not understand it")
}

/// An error of connecting.
pub fn connecting(error: &tokio_postgres::Error) -> Status {
    said(error, "could not connect to PostgreSQL")
}

/// The connection is lost while something commits.
pub fn unknown(error: &tokio_postgres::Error) -> Status {
    let status = of(error);
    Status::unknown(short(&format!(
        "whether it was committed is not known: {}",
        status.message()
    )))
}

fn said(error: &tokio_postgres::Error, otherwise: &str) -> Status {
    match error.as_db_error() {
        Some(error) => Status::new(code(error.code().code(), error.message()), short(&shown(error))),
        None => Status::unavailable(short(&format!("{otherwise}: {}", chain(error)))),
    }
}

/// Whether PostgreSQL has asked for a password that we did not give. It cannot say so in an error of its own.
pub fn wants_password(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_none() && chain(error) == "invalid configuration: password missing"
}

/// Why something failed between two statements, or in one.
pub enum Failure {
    Database(tokio_postgres::Error),
    Own(Status),
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error)
    }
}

impl From<Failure> for Status {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Database(error) => of(&error),
            Failure::Own(status) => status,
        }
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::Own(status)
    }
}

/// Whether PostgreSQL is ready for another statement after this error.
pub fn is_survived(error: &tokio_postgres::Error) -> bool {
    error
        .as_db_error()
        .is_some_and(|error| matches!(error.parsed_severity(), Some(Severity::Error)))
}

/// Something that Arrow's libraries find wrong with what a client sent.
pub fn damaged(error: &ArrowError) -> Status {
    Status::invalid_argument(short(&error.to_string()))
}

/// Something that Arrow's libraries find wrong with what we made.
pub fn internal(error: impl Error) -> Status {
    Status::internal(short(&chain(&error)))
}

/// An error and what caused it.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text += ": ";
        text += &inner.to_string();
        cause = inner.source();
    }
    text
}

fn shown(error: &DbError) -> String {
    let mut text = format!(
        "{}: {} (SQLSTATE {})",
        error.severity(),
        error.message(),
        error.code().code()
    );
    for (label, more) in [
        ("DETAIL", error.detail()),
        ("HINT", error.hint()),
        ("CONTEXT", error.where_()),
    ] {
        if let Some(more) = more {
            text += &format!("\n{label}: {more}");
        }
    }
    if let Some(ErrorPosition::Original(position)) = error.position() {
        text += &format!("\nPOSITION: {position}");
    }
    text
}

/// Cuts a text where gRPC's percent encoding of it becomes too long.
fn short(text: &str) -> String {
    let mut length = 0;
    for (at, byte) in text.bytes().enumerate() {
        length += match byte {
            b' '..=b'~' if byte != b'%' => 1,
            _ => 3,
        };
        if length > LONGEST {
            let end = (0..=at).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            return format!("{}…", &text[..end]);
        }
    }
    text.to_owned()
}

/// The nearest of gRPC's codes: classes of errcodes.txt, and some of their members. Cancels and time limits have one SQLSTATE, but pyarrow
/// takes Cancelled for Ctrl-C.
fn code(sqlstate: &str, message: &str) -> Code {
    match sqlstate {
        "57014" if message.ends_with("user request") => Code::Cancelled,
        "57014" => Code::DeadlineExceeded,
        "42501" => Code::PermissionDenied,
        "42P01" | "42704" | "3F000" | "3D000" => Code::NotFound,
        "42P07" | "42710" | "42P06" | "23505" | "42P04" => Code::AlreadyExists,
        "55P03" => Code::Aborted,
        "57P01" | "57P02" | "57P03" => Code::Unavailable,
        _ => match &sqlstate[..sqlstate.len().min(2)] {
            "08" => Code::Unavailable,
            // Not Unimplemented, which says that there is no such call: drivers try another then.
            "0A" | "22" | "42" => Code::InvalidArgument,
            "23" | "25" | "2B" | "55" => Code::FailedPrecondition,
            "28" => Code::Unauthenticated,
            "40" => Code::Aborted,
            "53" | "54" => Code::ResourceExhausted,
            "57" => Code::Unavailable,
            "58" | "XX" => Code::Internal,
            _ => Code::Unknown,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_fit_into_headers() {
        assert_eq!(short("x"), "x");
        for text in ["x", "ü", "x\n", "☃"] {
            let cut = short(&text.repeat(10_000));
            assert!(cut.len() <= LONGEST + 3 && cut.len() > 1500, "{text}: {}", cut.len());
            assert!(cut.ends_with('…'));
        }
    }

    #[test]
    fn codes_are_of_classes() {
        assert_eq!(code("28P01", ""), Code::Unauthenticated);
        assert_eq!(code("25P02", ""), Code::FailedPrecondition);
        assert_eq!(code("22012", ""), Code::InvalidArgument);
        assert_eq!(code("40001", ""), Code::Aborted);
        assert_eq!(code("0A000", ""), Code::InvalidArgument);
        assert_eq!(code("", ""), Code::Unknown);
        assert_eq!(
            code("57014", "canceling statement due to user request"),
            Code::Cancelled
        );
        assert_eq!(
            code("57014", "canceling statement due to statement timeout"),
            Code::DeadlineExceeded
        );
    }
}
