//! Which columns of a stream go to which of a table.

use amax_arrow::Target;
use arrow_schema::Schema;
use pgrx::{PgSqlErrorCode, pg_sys};

use super::super::error::{fail, raise};
use super::super::options::Matching;
use super::super::types::shown_type;
use super::target;
use crate::encoding;
use crate::pg::Relation;
use crate::pg::tupdesc::{Attribute, name_bytes};

/// A column of the table that values come for.
pub struct Column {
    pub number: i16,
    name: String,
    pub target: Target,
    /// Its number in the stream.
    pub field: usize,
    /// Its type as `format_type` shows it.
    pub sql_type: String,
}

impl Column {
    pub fn shown(&self) -> &str {
        &self.name
    }
}

/// Matches a stream's columns with the table's: those that the statement lists, or all. `listed` are their numbers, from 1.
pub fn matched(schema: &Schema, table: &Relation, listed: Option<&[i16]>, by: Matching) -> Vec<Column> {
    let desc = table.desc();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let pairs: Vec<(&Attribute, usize)> = match (by, listed) {
        (Matching::Position, _) => {
            let all: Vec<&Attribute> = match listed {
                Some(listed) => listed
                    .iter()
                    .map(|&number| desc.attribute(number as usize - 1))
                    .collect(),
                None => takes_values(table).collect(),
            };
            if all.len() != names.len() {
                raise(
                    PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
                    format!(
                        "the Arrow stream has {} columns where {} are to be loaded",
                        names.len(),
                        all.len()
                    ),
                    None,
                    None,
                );
            }
            all.into_iter().zip(0..).collect()
        }
        (Matching::Name, Some(listed)) => {
            let attributes = listed.iter().map(|&number| desc.attribute(number as usize - 1));
            attributes
                .map(|attribute| (attribute, field_of(&names, attribute)))
                .collect()
        }
        (Matching::Name, None) => {
            let attributes: Vec<(&Attribute, String)> = takes_values(table).map(|att| (att, shown(att))).collect();
            let of_name = |name: &&str| {
                let found = attributes.iter().find(|(_, shown)| shown == name);
                let Some((attribute, _)) = found else {
                    stranger(name, table)
                };
                (*attribute, field_of(&names, attribute))
            };
            names.iter().map(of_name).collect()
        }
    };
    if pairs.is_empty() && takes_values(table).next().is_some() {
        fail(
            PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
            "the Arrow stream has no columns",
        );
    }
    let column = |(attribute, field): (&Attribute, usize)| Column {
        number: attribute.attnum,
        name: shown(attribute),
        target: target::of(attribute.atttypid),
        field,
        sql_type: shown_type(attribute.atttypid, attribute.atttypmod),
    };
    pairs.into_iter().map(column).collect()
}

/// The columns that COPY loads where none are listed.
fn takes_values(table: &Relation) -> impl Iterator<Item = &Attribute> {
    let attributes = table.desc().attributes();
    attributes.filter(|attribute| !attribute.attisdropped && attribute.attgenerated == 0)
}

fn shown(attribute: &Attribute) -> String {
    encoding::shown(name_bytes(attribute).to_bytes()).into_owned()
}

/// The number of the one column of that name in the stream.
fn field_of(names: &[&str], attribute: &Attribute) -> usize {
    let name = shown(attribute);
    let mut fields = (0..names.len()).filter(|&field| names[field] == name);
    let Some(field) = fields.next() else {
        raise(
            PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
            format!("the Arrow stream has no column \"{name}\""),
            None,
            Some(
                "Columns are matched by their names; add the option MATCH 'position' to match them by their order."
                    .into(),
            ),
        )
    };
    if fields.next().is_some() {
        raise(
            PgSqlErrorCode::ERRCODE_DUPLICATE_COLUMN,
            format!("the Arrow stream has more than one column \"{name}\""),
            None,
            Some("Add the option MATCH 'position' to match columns by their order.".into()),
        );
    }
    field
}

fn stranger(name: &str, table: &Relation) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
        format!("table \"{}\" has no column \"{name}\" that the Arrow stream's could go to", table.name()),
        None,
        Some(
            "List the columns to load, whose names are then looked for in the stream; or add the option MATCH 'position' to \
             match them by their order."
                .into(),
        ),
    )
}

/// The numbers that the statement's list of columns has.
///
/// # Safety
/// The parser's list, or null.
pub unsafe fn listed(list: *mut pg_sys::List, table: &Relation) -> Option<Vec<i16>> {
    if list.is_null() {
        return None;
    }
    // SAFETY: an open relation, and the statement's list of columns; it returns a list of their numbers.
    let numbers =
        unsafe { super::super::tree::integers(pg_sys::CopyGetAttnums(table.desc().raw(), table.raw(), list)) };
    Some(numbers.into_iter().map(|number| number as i16).collect())
}
