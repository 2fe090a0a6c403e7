//! Columns of a stream to the leaves of an amax table, without rows in between.
//!
//! Only where PostgreSQL's COPY would do nothing with a row but insert it: the table has no triggers, indexes, constraints but NOT NULL, or
//! columns that are computed. What does not go to its column as it is, and every batch after it, goes through COPY as text (`source`),
//! which knows what to say of it.

use amax_arrow::{Batches, Place, Plain};
use amax_format::Rows;
use pgrx::prelude::*;
use std::ops::Range;

use super::super::endpoint::{begin_progress, end_progress, progress};
use super::super::types::base;
use super::columns::Column;
use super::source::Source;
use crate::encoding;
use crate::pg::Relation;
use crate::pg::tupdesc::Attribute;
use crate::table::load;

/// Where the columns go to, if rows go into the table as they are.
pub fn places(table: &Relation, columns: &[Column]) -> Option<Vec<Place>> {
    let attributes = table.desc().attributes();
    let is_loaded = |att: &Attribute| columns.iter().any(|column| column.number == att.attnum);
    let is_plain = |att: &Attribute| att.attgenerated == 0 && (att.attisdropped || is_loaded(att) || stays_null(att));
    let takes = table.is_ours() && table.takes_rows_alone() && encoding::is_utf8();
    if !takes || !attributes.into_iter().all(is_plain) {
        return None;
    }
    let place = |column: &Column| {
        let att = table.desc().attribute(column.number as usize - 1);
        Some((plain(att)?, !att.attnotnull))
    };
    columns.iter().map(place).collect()
}

/// Whether a column is NULL where nothing is said of it.
fn stays_null(att: &Attribute) -> bool {
    let is_domain = base(att.atttypid, -1).0 != att.atttypid;
    !(att.atthasdef || att.attidentity != 0 || att.attnotnull || is_domain)
}

/// What the columns of a type hold, if its input function does nothing but read them.
fn plain(att: &Attribute) -> Option<Plain> {
    let typmod = att.atttypmod;
    let length = || usize::try_from(typmod - pg_sys::VARHDRSZ as i32).ok();
    Some(match att.atttypid {
        pg_sys::BOOLOID => Plain::Bool,
        pg_sys::INT2OID => Plain::Int(2),
        pg_sys::INT4OID => Plain::Int(4),
        pg_sys::INT8OID => Plain::Int(8),
        pg_sys::FLOAT4OID => Plain::Float4,
        pg_sys::FLOAT8OID => Plain::Float8,
        pg_sys::NUMERICOID if typmod < 0 => Plain::Numeric(None),
        pg_sys::NUMERICOID => Plain::Numeric(Some(numeric_limits(typmod)?)),
        pg_sys::TEXTOID => Plain::Text(None),
        pg_sys::VARCHAROID => Plain::Text(length()),
        pg_sys::BPCHAROID => length().map_or(Plain::Text(None), Plain::Padded),
        pg_sys::BYTEAOID => Plain::Bytes,
        pg_sys::JSONBOID => Plain::Json,
        pg_sys::UUIDOID => Plain::Uuid,
        pg_sys::DATEOID => Plain::Date,
        pg_sys::TIMEOID if typmod < 0 => Plain::Time,
        pg_sys::TIMESTAMPOID if typmod < 0 => Plain::Timestamp,
        pg_sys::TIMESTAMPTZOID if typmod < 0 => Plain::TimestampTz,
        _ => return None,
    })
}

/// Digits and decimals (numeric.c: numeric_typmod_precision(), numeric_typmod_scale()), if decimals are no rounding.
fn numeric_limits(typmod: i32) -> Option<(u8, u8)> {
    let limits = typmod - pg_sys::VARHDRSZ as i32;
    let (precision, scale) = (limits >> 16 & 0xffff, (limits & 0x7ff ^ 1024) - 1024);
    Some((precision.min(u8::MAX.into()) as u8, u8::try_from(scale).ok()?))
}

/// Loads batches as long as they go there as they are; the number of rows.
pub fn load<B: Batches>(table: &Relation, columns: &[Column], places: &[Place], source: &mut Source<'_, B>) -> u64 {
    let natts = table.desc().natts();
    let at = |number: usize| columns.iter().position(|column| column.number as usize == number);
    let of_attributes: Vec<_> = (1..=natts).map(at).collect();
    begin_progress(table.id(), pg_sys::PROGRESS_COPY_COMMAND_FROM);
    let mut rows = 0;
    source.load(places, |batch| {
        let fill = |attribute: usize, of: Range<usize>, to: &mut Rows<'_>| match of_attributes[attribute] {
            Some(column) => batch.fill(column, of, to),
            None => Ok(()),
        };
        let taken = load::insert_columns(table, batch.rows(), batch.bytes(), fill);
        if taken {
            rows += batch.rows() as u64;
            progress(pg_sys::PROGRESS_COPY_TUPLES_PROCESSED, rows as i64);
        }
        taken
    });
    end_progress();
    if rows > 0 {
        ereport!(
            DEBUG1,
            PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION,
            format!("{rows} rows have been loaded as columns")
        );
    }
    if source.has_ended() {
        load::finish(table);
    }
    rows
}
