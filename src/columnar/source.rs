//! A column of a leaf that is written anew: by a merge, or when the leaf is made again.

use super::pages::Image;
use super::value::{Storage, from_datum, to_datum};
use crate::pg::Relation;
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
    pub fn of(rel: &Relation, leaf: &Leaf<Image>, at: usize) -> Result<Source, Error> {
        let desc = rel.desc();
        if desc.attribute(at).attisdropped {
            return Ok(Source::Missing(pg_sys::Datum::null(), true));
        }
        if at >= leaf.schema().count() {
            let (value, null) = desc.missing(at);
            return Ok(Source::Missing(value, null));
        }
        Ok(Source::Column(leaf.column(at)?))
    }

    /// The column, if its values are stored anew as they are.
    pub fn same(&self, storage: Storage) -> Option<&Column> {
        match self {
            Source::Column(column) if column.column_type() == storage.column => Some(column),
            _ => None,
        }
    }

    pub fn value<'a>(
        &'a self,
        rel: &Relation,
        at: usize,
        storage: Storage,
        row: u32,
        buffer: &'a mut Vec<u8>,
    ) -> Result<Value<'a>, Error> {
        match self {
            // SAFETY: a default of the attribute, which its descriptor keeps.
            Source::Missing(value, null) => Ok(unsafe { from_datum(storage, *value, *null) }),
            Source::Column(column) => {
                let value = column.get(row as usize, buffer)?;
                if column.column_type() == storage.column {
                    return Ok(value);
                }
                // The type was changed to one that looks the same to PostgreSQL.
                let (datum, null) = to_datum(value, rel.desc().attribute(at));
                // SAFETY: just made, in the current memory context.
                Ok(unsafe { from_datum(storage, datum, null) })
            }
        }
    }
}
