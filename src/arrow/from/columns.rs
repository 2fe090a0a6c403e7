//! Which columns that come in go to which of a table.

use amax_arrow::Target;
use arrow_schema::Schema;
use pgrx::{PgSqlErrorCode, pg_sys};

use super::super::error::{fail, raise};
use super::super::format::Format;
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
    /// Its number in what comes in.
    pub field: usize,
    /// Its type as `format_type` shows it.
    pub sql_type: String,
}

impl Column {
    pub fn shown(&self) -> &str {
        &self.name
    }
}

/// How columns that come in find those of a table: those that the statement lists, or all. `listed` are their numbers, from 1.
pub struct How<'a> {
    pub table: &'a Relation,
    pub listed: Option<&'a [i16]>,
    pub by: Matching,
    pub format: Format,
}

pub fn matched(schema: &Schema, how: &How<'_>) -> Vec<Column> {
    let &How {
        table,
        listed,
        by,
        format,
    } = how;
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
                        "the {} has {} columns where {} are to be loaded",
                        format.input(),
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
                .map(|attribute| (attribute, field_of(&names, attribute, format)))
                .collect()
        }
        (Matching::Name, None) => {
            let attributes: Vec<(&Attribute, String)> = takes_values(table).map(|att| (att, shown(att))).collect();
            let of_name = |name: &&str| {
                let found = attributes.iter().find(|(_, shown)| shown == name);
                let Some((attribute, _)) = found else {
                    stranger(name, table, format)
                };
                (*attribute, field_of(&names, attribute, format))
            };
            names.iter().map(of_name).collect()
        }
    };
    if pairs.is_empty() && takes_values(table).next().is_some() {
        fail(
            PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
            format!("the {} has no columns", format.input()),
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

/// The number of the one column of that name.
fn field_of(names: &[&str], attribute: &Attribute, format: Format) -> usize {
    let name = shown(attribute);
    let mut fields = (0..names.len()).filter(|&field| names[field] == name);
    let Some(field) = fields.next() else {
        raise(
            PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
            format!("the {} has no column \"{name}\"", format.input()),
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
            format!("the {} has more than one column \"{name}\"", format.input()),
            None,
            Some("Add the option MATCH 'position' to match columns by their order.".into()),
        );
    }
    field
}

fn stranger(name: &str, table: &Relation, format: Format) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
        format!(
            "table \"{}\" has no column \"{name}\" that the {}'s could go to",
            table.name(),
            format.input()
        ),
        None,
        Some(
            "List the columns to load, whose names are then looked for in what comes in; or add the option MATCH 'position' to \
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
