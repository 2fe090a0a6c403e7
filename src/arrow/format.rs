//! The formats that COPY has from us, and who else may have one of them.

use super::statement::Statement;
use crate::pg::settings::is_parquet_claimed;

/// What a COPY statement asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Arrow,
    Parquet,
}

impl Format {
    /// None if it is not ours: one of PostgreSQL's, or another library's.
    pub fn of(statement: &Statement) -> Option<Self> {
        let mut formats = statement.options().filter(|(name, _)| *name == c"format");
        let ours = formats.find_map(|(_, word)| match word?.to_bytes() {
            b"arrow" => Some(Self::Arrow),
            b"parquet" => Some(Self::Parquet),
            _ => None,
        });
        ours.filter(|format| *format != Self::Parquet || !is_parquet_claimed())
    }

    /// In options, where it is written so.
    pub fn word(self) -> &'static str {
        match self {
            Self::Arrow => "arrow",
            Self::Parquet => "parquet",
        }
    }

    /// In sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arrow => "Arrow",
            Self::Parquet => "Parquet",
        }
    }

    /// What is read in it.
    pub fn input(self) -> &'static str {
        match self {
            Self::Arrow => "Arrow stream",
            Self::Parquet => "Parquet file",
        }
    }
}

/// Whether the statement is one of ours.
pub fn is_ours(statement: &Statement) -> bool {
    Format::of(statement).is_some()
}
