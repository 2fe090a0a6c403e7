//! EXPLAIN of what our nodes have in common.

use super::rows::Rows;
use crate::encoding::{of_utf8, shown};
use crate::query::expr::entry::Entry;
use amax_format::{Parts, PathStep, Question};
use pgrx::pg_sys;
use std::ffi::CStr;
/// # Safety
/// A node of ours, begun and not ended.
pub unsafe fn text(label: &std::ffi::CStr, value: &str, es: *mut pg_sys::ExplainState) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        pg_sys::ExplainPropertyText(label.as_ptr(), of_utf8(value).as_ptr(), es);
    }
}
/// # Safety
/// A node of ours, begun and not ended.
pub unsafe fn number(label: &std::ffi::CStr, value: u64, es: *mut pg_sys::ExplainState) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        pg_sys::ExplainPropertyInteger(label.as_ptr(), std::ptr::null(), value as i64, es);
    }
}

/// A path as in SQL/JSON.
fn path_name(steps: &[PathStep]) -> String {
    let mut name = String::new();
    for step in steps {
        match step {
            PathStep::Key(key) => {
                name.push('.');
                name.push_str(&shown(key));
            }
            PathStep::Index(i) | PathStep::Item(i) | PathStep::KeyOrIndex(_, i) => {
                name.push_str(&format!("[{i}]"));
            }
        }
    }
    name
}

/// A question about a path, as in SQL.
///
/// # Safety
/// A node of ours, begun and not ended.
unsafe fn asked(path: &str, question: &Question) -> String {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let list = |keys: &[Vec<u8>]| {
            let keys: Vec<_> = keys.iter().map(|key| shown(key)).collect();
            keys.join(",")
        };
        match question {
            Question::Type => format!("jsonb_typeof({path})"),
            Question::Length => format!("jsonb_array_length({path})"),
            Question::HasAny(keys) if keys.len() == 1 => format!("{path} ? {}", list(keys)),
            Question::HasAny(keys) => format!("{path} ?| {{{}}}", list(keys)),
            Question::HasAll(keys) => format!("{path} ?& {{{}}}", list(keys)),
            Question::Contains(sought) => {
                let sought = crate::query::expr::datum::of_bytes(sought);
                let sought = pg_sys::OidOutputFunctionCall(pg_sys::F_JSONB_OUT.into(), sought);
                format!("{path} @> {}", shown(CStr::from_ptr(sought).to_bytes()))
            }
        }
    }
}

/// The arrays a node unnests, and the columns it reads: of its entries, those in `reads`, and those in `joined` for
/// joins above. The arrays' names.
///
/// # Safety
/// A node of ours, begun and not ended.
pub unsafe fn columns(
    rows: &Rows,
    outer_joins: &[bool],
    reads: Vec<usize>,
    joined: Vec<usize>,
    es: *mut pg_sys::ExplainState,
) -> Vec<String> {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let desc = rows.rel.desc();
        let name = |attribute: i16| {
            let att = desc.attribute(attribute as usize - 1);
            shown(CStr::from_ptr(att.attname.data.as_ptr()).to_bytes()).into_owned()
        };
        // The name of what each level unnests, after that of the level before.
        let mut arrays: Vec<String> = Vec::new();
        let named = |entry: &Entry, arrays: &[String]| match entry {
            Entry::Path(path) if path.level > 0 => Some(arrays[path.level - 1].clone() + &path_name(&path.steps)),
            Entry::Path(path) => Some(name(path.attribute) + &path_name(&path.steps)),
            Entry::Attribute(attribute) => Some(name(*attribute)),
            Entry::Answer(path, question) => {
                let path = name(path.attribute) + &path_name(&path.steps);
                Some(asked(&path, question))
            }
            Entry::Part(attribute, keys) => {
                let parts = keys.iter().map(|keys| {
                    let steps: Vec<_> = keys.iter().cloned().map(PathStep::Key).collect();
                    name(*attribute) + &path_name(&steps)
                });
                Some(parts.collect::<Vec<_>>().join(", "))
            }
            Entry::Key(level) => Some(arrays[level - 1].clone() + " (key)"),
            Entry::Ordinality(_) | Entry::Expression => None,
        };
        for function in &rows.functions {
            let array = named(&rows.entries[function.array], &arrays);
            let parts = match function.parts {
                Parts::Elements => "[*]",
                Parts::Fields => ".*",
            };
            arrays.push(array.unwrap_or_default() + parts);
        }
        if !arrays.is_empty() {
            // A join's node does not say what it scans.
            let table = rows.rel.name_bytes();
            text(c"Relation", &shown(&table), es);
            let joined = arrays.iter().zip(outer_joins);
            let joined = joined.map(|(array, outer)| match outer {
                true => format!("{array} (outer)"),
                false => array.clone(),
            });
            text(c"Arrays", &joined.collect::<Vec<_>>().join(", "), es);
        }
        let list = |label, entries: Vec<usize>| {
            let mut columns: Vec<String> = Vec::new();
            for at in entries {
                let is_array = rows.functions.iter().any(|f| f.array == at);
                let entry = Some(&rows.entries[at]).filter(|_| !is_array);
                let Some(column) = entry.and_then(|entry| named(entry, &arrays)) else {
                    continue;
                };
                if !columns.contains(&column) {
                    columns.push(column);
                }
            }
            if !columns.is_empty() {
                text(label, &columns.join(", "), es);
            }
        };
        list(c"Columns", reads);
        list(c"Join Filters", joined);
        arrays
    }
}
