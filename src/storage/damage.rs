//! Damage is an error that names relation and block.

use crate::pg::Relation;
use pgrx::prelude::*;

/// Raises ERRCODE_DATA_CORRUPTED naming relation and block (invariant S4).
pub fn corrupt(rel: &Relation, block: u32, detail: &str) -> ! {
    ereport!(
        ERROR,
        PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
        format!("damaged page in block {block} of relation \"{}\"", rel.name()),
        detail.to_string()
    );
}
