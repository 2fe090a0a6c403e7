//! Lists, structs, maps and unions: as PostgreSQL's arrays and composite values where the target is one, else as JSON.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UnionArray};
use arrow_schema::{DataType, FieldRef, Fields};

use crate::cell::{Cell, Form, Make, Put, room};
use crate::error::{Unfit, Unsuited, Unwritten};
use crate::target::Target;

const WHERE_TO: &str = "Lists go to arrays, and structs to composite types; both go to jsonb.";
const TOO_LONG: &str = "A struct has a field whose name is very long.";
const NO_KEY: Unfit = Unfit {
    detail: "A map has a key that is NULL.",
    hint: "A document's keys are texts: leave the entry out, or give it another key.",
};

pub(crate) fn put(array: &ArrayRef, target: &Target, json: bool, make: Make) -> Result<(Form, Put), Unsuited> {
    if json {
        return Ok((Form::Nested, in_json(array, make)?));
    }
    match (array.data_type(), target) {
        // As JSON, where text is a string.
        (DataType::Union(..), Target::Json) => Ok((Form::Text, union(array, target, true, make)?.1)),
        (DataType::Union(..), _) => union(array, target, json, make),
        (DataType::Struct(_), Target::Composite(attributes)) => Ok((Form::Text, composite(array, attributes, make)?)),
        (DataType::Struct(_) | DataType::Map(..), Target::Array { .. }) => Err(unsuited(array.data_type(), WHERE_TO)),
        (_, Target::Array { delimiter, element }) => Ok((Form::Nested, list(array, *delimiter, element, make)?)),
        (_, Target::Json | Target::Text | Target::Other) => Ok((Form::Text, in_json(array, make)?)),
        _ => Err(unsuited(array.data_type(), WHERE_TO)),
    }
}

fn in_json(array: &ArrayRef, make: Make) -> Result<Put, Unsuited> {
    Ok(match array.data_type() {
        DataType::Struct(_) => json_struct(array, make)?,
        DataType::Map(..) => json_map(array, make)?,
        DataType::Union(..) => union(array, &Target::Json, true, make)?.1,
        _ => json_list(array, make)?,
    })
}

/// Which elements a row has.
type ElementsOf = Box<dyn Fn(usize) -> Range<usize>>;

/// The elements of all lists, their field, and which of them a row has.
fn elements(array: &ArrayRef) -> (FieldRef, ArrayRef, ElementsOf) {
    fn between<O: Copy + TryInto<usize> + 'static>(offsets: impl AsRef<[O]> + 'static) -> ElementsOf {
        let at = |offset: O| {
            offset
                .try_into()
                .unwrap_or_else(|_| unreachable!("offsets are checked"))
        };
        Box::new(move |row| at(offsets.as_ref()[row])..at(offsets.as_ref()[row + 1]))
    }
    fn views<O: Copy + TryInto<usize> + 'static>(
        offsets: impl AsRef<[O]> + 'static,
        sizes: impl AsRef<[O]> + 'static,
    ) -> ElementsOf {
        let at = |offset: O| {
            offset
                .try_into()
                .unwrap_or_else(|_| unreachable!("offsets are checked"))
        };
        Box::new(move |row| {
            let start: usize = at(offsets.as_ref()[row]);
            start..start + at(sizes.as_ref()[row])
        })
    }
    match array.data_type() {
        DataType::List(field) => {
            let list = array.as_list::<i32>();
            let offsets = list.offsets().clone();
            (Arc::clone(field), Arc::clone(list.values()), between::<i32>(offsets))
        }
        DataType::LargeList(field) => {
            let list = array.as_list::<i64>();
            let offsets = list.offsets().clone();
            (Arc::clone(field), Arc::clone(list.values()), between::<i64>(offsets))
        }
        DataType::ListView(field) => {
            let list = array.as_list_view::<i32>();
            let (offsets, sizes) = (list.offsets().clone(), list.sizes().clone());
            (
                Arc::clone(field),
                Arc::clone(list.values()),
                views::<i32>(offsets, sizes),
            )
        }
        DataType::LargeListView(field) => {
            let list = array.as_list_view::<i64>();
            let (offsets, sizes) = (list.offsets().clone(), list.sizes().clone());
            (
                Arc::clone(field),
                Arc::clone(list.values()),
                views::<i64>(offsets, sizes),
            )
        }
        DataType::FixedSizeList(field, _) => {
            let list = array.as_fixed_size_list();
            let length = usize::try_from(list.value_length()).unwrap_or(0);
            let range = Box::new(move |row| row * length..(row + 1) * length);
            (Arc::clone(field), Arc::clone(list.values()), range)
        }
        other => unreachable!("no list: {other}"),
    }
}

/// `{1,2,NULL}`.
fn list(array: &ArrayRef, delimiter: u8, element: &Target, make: Make) -> Result<Put, Unsuited> {
    let (field, values, range) = elements(array);
    // A list of lists is an array of more dimensions.
    let deeper = is_list(values.data_type());
    let target = match deeper {
        true => Target::Array {
            delimiter,
            element: Box::new(element.clone()),
        },
        false => element.clone(),
    };
    let cell = make(&values, &field, &target, false)?;
    Ok(Box::new(move |row, to| {
        to.push(b'{');
        let mut part = Vec::new();
        for (at, row) in range(row).enumerate() {
            room(to, 0)?;
            if at > 0 {
                to.push(delimiter);
            }
            match cell.form {
                _ if cell.is_null(row) => to.extend(b"NULL"),
                Form::Number | Form::Nested => cell.put(row, to)?,
                Form::Word | Form::Text => {
                    part.clear();
                    cell.put(row, &mut part)?;
                    quoted(&part, |byte| matches!(byte, b'"' | b'\\').then_some(b'\\'), to)?;
                }
            }
        }
        to.push(b'}');
        Ok(())
    }))
}

fn is_list(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::List(_)
            | DataType::LargeList(_)
            | DataType::ListView(_)
            | DataType::LargeListView(_)
            | DataType::FixedSizeList(..)
    )
}

/// `(1,"a b",)`: fields by their names; an attribute without a field is NULL.
fn composite(array: &ArrayRef, attributes: &[(String, Target)], make: Make) -> Result<Put, Unsuited> {
    let array = array.as_struct();
    let fields = array.fields();
    if let Some(stranger) = fields
        .iter()
        .find(|field| attributes.iter().all(|(name, _)| name != field.name()))
    {
        return Err(unsuited(
            stranger.data_type(),
            "A composite type takes structs whose fields have the names of its attributes.",
        ));
    }
    distinct_names(fields)?;
    let cells = attributes.iter().map(|(name, target)| {
        let at = fields.iter().position(|field| field.name() == name);
        at.map(|at| make(array.column(at), &fields[at], target, false))
            .transpose()
    });
    let cells: Vec<Option<Cell>> = cells.collect::<Result<_, _>>()?;
    Ok(Box::new(move |row, to| {
        to.push(b'(');
        let mut part = Vec::new();
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                to.push(b',');
            }
            match cell {
                Some(cell) if !cell.is_null(row) => match cell.form {
                    Form::Number => cell.put(row, to)?,
                    Form::Word | Form::Text | Form::Nested => {
                        part.clear();
                        cell.put(row, &mut part)?;
                        quoted(&part, |byte| matches!(byte, b'"' | b'\\').then_some(byte), to)?;
                    }
                },
                _ => {}
            }
        }
        to.push(b')');
        Ok(())
    }))
}

/// Of two fields of one name one would be lost.
fn distinct_names(fields: &Fields) -> Result<(), Unsuited> {
    let mut names = HashSet::new();
    match fields.iter().find(|field| !names.insert(field.name())) {
        Some(field) => Err(unsuited(
            field.data_type(),
            "A struct has two fields of one name: call one of them otherwise.",
        )),
        None => Ok(()),
    }
}

fn unsuited(data_type: &DataType, hint: &'static str) -> Unsuited {
    Unsuited {
        data_type: data_type.clone(),
        hint,
    }
}

/// In quotation marks, with what `before` says before a byte.
fn quoted(value: &[u8], before: impl Fn(u8) -> Option<u8>, to: &mut Vec<u8>) -> Result<(), Unwritten> {
    room(to, 2 * value.len() + 2)?;
    to.push(b'"');
    for &byte in value {
        to.extend(before(byte));
        to.push(byte);
    }
    to.push(b'"');
    Ok(())
}

/// A value in JSON.
fn json_value(cell: &Cell, row: usize, part: &mut Vec<u8>, to: &mut Vec<u8>) -> Result<(), Unwritten> {
    match cell.form {
        _ if cell.is_null(row) => to.extend(b"null"),
        Form::Number | Form::Nested => cell.put(row, to)?,
        Form::Word | Form::Text => {
            part.clear();
            cell.put(row, part)?;
            json_string(part, to)?;
        }
    }
    Ok(())
}

pub(crate) fn json_string(value: &[u8], to: &mut Vec<u8>) -> Result<(), Unwritten> {
    use std::io::Write;
    room(to, value.len() + 2)?;
    to.push(b'"');
    for &byte in value {
        match byte {
            b'"' | b'\\' => to.extend([b'\\', byte]),
            b'\n' => to.extend(b"\\n"),
            b'\r' => to.extend(b"\\r"),
            b'\t' => to.extend(b"\\t"),
            0..0x20 => write!(to, "\\u{byte:04x}").expect("a vector takes it"),
            _ => to.push(byte),
        }
    }
    to.push(b'"');
    Ok(())
}

/// Texts as strings in JSON.
pub(crate) fn as_string(put: Put) -> Put {
    Box::new(move |row, to| {
        let mut part = Vec::new();
        put(row, &mut part)?;
        json_string(&part, to)
    })
}

fn json_list(array: &ArrayRef, make: Make) -> Result<Put, Unsuited> {
    let (field, values, range) = elements(array);
    let cell = make(&values, &field, &Target::Json, true)?;
    Ok(Box::new(move |row, to| {
        to.push(b'[');
        let mut part = Vec::new();
        for (at, row) in range(row).enumerate() {
            room(to, 0)?;
            if at > 0 {
                to.push(b',');
            }
            json_value(&cell, row, &mut part, to)?;
        }
        to.push(b']');
        Ok(())
    }))
}

fn json_struct(array: &ArrayRef, make: Make) -> Result<Put, Unsuited> {
    let array = array.as_struct();
    distinct_names(array.fields())?;
    let fields = array.fields().iter().zip(array.columns()).map(|(field, values)| {
        let mut key = Vec::new();
        json_string(field.name().as_bytes(), &mut key).map_err(|_| unsuited(field.data_type(), TOO_LONG))?;
        key.push(b':');
        Ok((key, make(values, field, &Target::Json, true)?))
    });
    let fields: Vec<(Vec<u8>, Cell)> = fields.collect::<Result<_, _>>()?;
    Ok(Box::new(move |row, to| {
        to.push(b'{');
        let mut part = Vec::new();
        for (at, (key, cell)) in fields.iter().enumerate() {
            if at > 0 {
                to.push(b',');
            }
            to.extend(key);
            json_value(cell, row, &mut part, to)?;
        }
        to.push(b'}');
        Ok(())
    }))
}

/// Keys that are no text become such.
fn json_map(array: &ArrayRef, make: Make) -> Result<Put, Unsuited> {
    let map = array.as_map();
    let (key_field, value_field) = map.entries_fields();
    let keys = make(map.keys(), key_field, &Target::Text, false)?;
    let values = make(map.values(), value_field, &Target::Json, true)?;
    let offsets = map.offsets().clone();
    Ok(Box::new(move |row, to| {
        to.push(b'{');
        let mut part = Vec::new();
        let at = |row: usize| usize::try_from(offsets[row]).unwrap_or_else(|_| unreachable!("offsets are checked"));
        for (nth, entry) in (at(row)..at(row + 1)).enumerate() {
            room(to, 0)?;
            if nth > 0 {
                to.push(b',');
            }
            if keys.is_null(entry) {
                return Err(NO_KEY.into());
            }
            part.clear();
            keys.put(entry, &mut part)?;
            json_string(&part, to)?;
            to.push(b':');
            json_value(&values, entry, &mut part, to)?;
        }
        to.push(b'}');
        Ok(())
    }))
}

/// The value that a row has. NULL within a JSON text is `null`; elsewhere [`Cell`] knows it before.
fn union(array: &ArrayRef, target: &Target, json: bool, make: Make) -> Result<(Form, Put), Unsuited> {
    let array: UnionArray = array.as_union().clone();
    let DataType::Union(fields, _) = array.data_type().clone() else {
        unreachable!("a union has fields")
    };
    let mut cells: Vec<Option<Cell>> = std::iter::repeat_with(|| None).take(128).collect();
    for (id, field) in fields.iter() {
        let cell = make(array.child(id), field, target, json)?;
        cells[usize::from(id.unsigned_abs())] = Some(cell);
    }
    let put: Put = Box::new(move |row, to| {
        let id = array.type_id(row);
        let cell = cells[usize::from(id.unsigned_abs())].as_ref();
        let cell = cell.unwrap_or_else(|| unreachable!("types of rows are checked"));
        let row = array.value_offset(row);
        match json {
            true => json_value(cell, row, &mut Vec::new(), to),
            false => cell.put(row, to),
        }
    });
    Ok((if json { Form::Nested } else { Form::Text }, put))
}
