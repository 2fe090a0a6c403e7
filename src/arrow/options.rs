//! The options of `COPY … WITH (FORMAT arrow | parquet, …)`.

use std::ffi::CStr;

use amax_arrow::Mixed;
use arrow_ipc::CompressionType;
use parquet::basic::{Compression, ZstdLevel};
use pgrx::PgSqlErrorCode;

use super::error::{fail, raise};
use super::format::Format;
use super::statement::{Destination, Statement};
use super::writer::Framing;

/// Of a row group, if nothing is said: two batches; those who read it have one at a time in memory.
const ROW_GROUP_ROWS: usize = 131_072;

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

/// Raises an error for any option that the format does not have.
pub fn incoming(statement: &Statement, format: Format) -> Incoming {
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
            _ => unknown(name, format, "COPY FROM has the options \"match\" and \"freeze\""),
        }
    }
    Incoming {
        matching: matching.unwrap_or(Matching::Name),
        freeze: freeze.unwrap_or(false),
    }
}

/// What columns of jsonb leave as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Json {
    /// The text of documents.
    Text,
    /// Columns within columns, of a type that all documents of the result have.
    Struct,
    /// Parquet's Variant.
    Variant,
}

impl Json {
    /// What a word says that `named` has, or an error.
    pub fn of(word: Option<&CStr>, named: &str) -> Self {
        match word.map(CStr::to_bytes) {
            Some(b"text") => Self::Text,
            Some(b"struct") => Self::Struct,
            Some(b"variant") => Self::Variant,
            _ => raise(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("{named} must be \"text\", \"struct\" or \"variant\""),
                Some(
                    "It says what columns of jsonb leave as: the text of documents, columns within columns, or Parquet's Variant."
                        .into(),
                ),
                None,
            ),
        }
    }
}

/// What types columns leave as, where there is a choice.
#[derive(Clone, Copy)]
pub struct Shapes {
    pub json: Json,
    /// What values of several kinds are where documents become columns.
    pub mixed: Mixed,
    /// Whether text leaves as dictionaries.
    pub dictionaries: bool,
}

impl Shapes {
    pub fn of(json: Json) -> Self {
        Self {
            json,
            mixed: Mixed::Text,
            dictionaries: false,
        }
    }
}

/// What a COPY TO asks for.
pub struct Outgoing {
    pub framing: Framing,
    pub shapes: Shapes,
}

/// Raises an error for any option that the format does not have.
pub fn outgoing(statement: &Statement, format: Format) -> Outgoing {
    match format {
        Format::Arrow => arrow(statement),
        Format::Parquet => parquet(statement),
    }
}

/// Framing that is not asked for is the one that fits the destination: the file format for a file called `*.arrow` or `*.feather`, the
/// stream format for the rest.
fn arrow(statement: &Statement) -> Outgoing {
    let (mut is_file, mut compression, mut json, mut mixed, mut dictionaries) = (None, None, None, None, None);
    for (name, word) in others(statement) {
        match name.to_bytes() {
            b"framing" => once(
                &mut is_file,
                match word.map(CStr::to_bytes) {
                    Some(b"stream") => false,
                    Some(b"file") => true,
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
            b"json" => once(&mut json, Json::of(word, "COPY option \"json\"")),
            b"dictionaries" => once(&mut dictionaries, statement.is_on(name)),
            b"mixed" => once(&mut mixed, mixed_of(word)),
            _ => unknown(
                name,
                Format::Arrow,
                "COPY TO has the options \"framing\", \"compression\", \"json\", \"mixed\" and \"dictionaries\"",
            ),
        }
    }
    let compression = compression.flatten();
    let framing = match is_file.unwrap_or_else(|| is_arrow_file(statement.destination())) {
        true => Framing::File(compression),
        false => Framing::Stream(compression),
    };
    let shapes = Shapes {
        json: json.unwrap_or(Json::Text),
        mixed: mixed.unwrap_or_default(),
        dictionaries: dictionaries.unwrap_or(false),
    };
    if shapes.dictionaries && matches!(framing, Framing::File(_)) {
        raise(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            "dictionaries are not supported in an Arrow file",
            Some(
                "It would have one dictionary of each column for all batches, which would be in memory until the end."
                    .into(),
            ),
            Some("Write a stream, with \"framing stream\".".into()),
        );
    }
    Outgoing { framing, shapes }
}

fn parquet(statement: &Statement) -> Outgoing {
    let (mut compression, mut rows, mut json, mut mixed) = (None, None, None, None);
    for (name, word) in others(statement) {
        match name.to_bytes() {
            b"compression" => once(
                &mut compression,
                match word.map(CStr::to_bytes) {
                    Some(b"none") => Compression::UNCOMPRESSED,
                    Some(b"snappy") => Compression::SNAPPY,
                    Some(b"zstd") => Compression::ZSTD(ZstdLevel::default()),
                    _ => fail(
                        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                        "COPY option \"compression\" must be \"none\", \"snappy\" or \"zstd\"",
                    ),
                },
            ),
            b"row_group_size" => once(
                &mut rows,
                match usize::try_from(statement.number(name)) {
                    Ok(rows @ 1..=0x7fff_ffff) => rows,
                    _ => fail(
                        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                        "COPY option \"row_group_size\" must be between 1 and 2147483647",
                    ),
                },
            ),
            b"json" => once(&mut json, Json::of(word, "COPY option \"json\"")),
            b"mixed" if mixed_of(word) == Mixed::Text => once(&mut mixed, ()),
            b"mixed" => raise(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                "unions cannot be represented in Parquet",
                Some("With json struct, values of mixed kinds at one path of documents leave as JSON text.".into()),
                Some("Leave the option out, or have documents leave as variants.".into()),
            ),
            _ => unknown(
                name,
                Format::Parquet,
                "COPY TO has the options \"compression\", \"row_group_size\", \"json\" and \"mixed\"",
            ),
        }
    }
    let framing = Framing::Parquet {
        compression,
        rows: rows.unwrap_or(ROW_GROUP_ROWS),
    };
    Outgoing {
        framing,
        shapes: Shapes::of(json.unwrap_or(Json::Text)),
    }
}

fn mixed_of(word: Option<&CStr>) -> Mixed {
    match word.map(CStr::to_bytes) {
        Some(b"text") => Mixed::Text,
        Some(b"union") => Mixed::Union,
        _ => raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            "COPY option \"mixed\" must be \"text\" or \"union\"",
            Some("It says what values of several kinds at one path leave as with json struct: JSON text, or a union of their kinds.".into()),
            None,
        ),
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

fn unknown(name: &CStr, format: Format, others: &str) -> ! {
    let word = format.word();
    raise(
        PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
        format!(
            "COPY option \"{}\" is not available with format {word}",
            name.to_string_lossy()
        ),
        None,
        Some(format!("Besides \"format\", {others} with the {word} format.")),
    )
}

fn is_arrow_file(destination: Destination) -> bool {
    match destination {
        Destination::File(name) => {
            let name = name.to_bytes();
            name.ends_with(b".arrow") || name.ends_with(b".feather")
        }
        _ => false,
    }
}
