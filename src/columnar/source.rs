//! A column of a leaf that is written anew: by a merge, or when the leaf is made again.

use super::error::raise;
use super::pages::Image;
use super::value::{Storage, from_datum, to_datum};
use crate::types::attribute;
use amax_format::{Column, Error, Leaf, Value};
use pgrx::pg_sys;

/// Where the values of a column come from.
pub enum Source {
    Column(Column),
    /// Added to the table since the leaf was written (its default then), or dropped (NULL).
    Missing(pg_sys::Datum, bool),
}

impl Source {
    /// Of column `at` of a leaf.
    pub unsafe fn of(rel: pg_sys::Relation, leaf: &Leaf<Image>, at: usize) -> Result<Source, Error> {
        let desc = (*rel).rd_att;
        if (*attribute(desc, at)).attisdropped {
            return Ok(Source::Missing(pg_sys::Datum::null(), true));
        }
        if at >= leaf.schema().count() {
            let mut null = true;
            let value = pg_sys::getmissingattr(desc, at as i32 + 1, &mut null);
            return Ok(Source::Missing(value, null));
        }
        Ok(Source::Column(leaf.column(at)?))
    }

    pub unsafe fn value<'a>(
        &'a self,
        rel: pg_sys::Relation,
        at: usize,
        storage: Storage,
        row: u32,
        buffer: &'a mut Vec<u8>,
    ) -> Value<'a> {
        match self {
            Source::Missing(value, null) => from_datum(storage, *value, *null),
            Source::Column(column) => {
                let value = column.get(row as usize, buffer);
                let value = value.unwrap_or_else(|e| raise(e));
                if column.column_type() == storage.column {
                    return value;
                }
                // The type was changed to one that looks the same to PostgreSQL.
                let (datum, null) = to_datum(value, attribute((*rel).rd_att, at));
                from_datum(storage, datum, null)
            }
        }
    }
}
