//! `amax.schema(table)`: what the documents of a table look like, over all leaves. It reads levels and overflow
//! columns.

use crate::columnar::{open_leaf, raise, storage};
use crate::inspect::{check_row_security, components_of, plain};
use crate::memory::check_for_interrupts;
use crate::storage::manifest::{Replaced, cancel_replaced};
use crate::types::attribute;
use amax_format::{ColumnType, Line, Outline};
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::CStr;

/// A document column of a table.
struct Documents {
    /// From 0.
    at: usize,
    name: String,
    outline: Outline,
}

/// `amax.schema(table)`: a row per document column and path, those above first.
#[pg_extern]
#[allow(clippy::type_complexity)]
fn schema(
    table: pg_sys::Oid,
) -> TableIterator<
    'static,
    (
        name!(attname, String),
        name!(path, String),
        name!(depth, i32),
        name!(types, Vec<String>),
        name!(counts, Vec<i64>),
        name!(values, i64),
        name!(parents, i64),
        name!(optional, bool),
        name!(leaves, i32),
    ),
> {
    let (opened, manifest) = components_of(table);
    check_row_security(&opened);
    let rel = opened.0;
    // SAFETY: the relation is open.
    let mut columns = unsafe { document_columns(rel) };
    for component in &manifest.components {
        for at in 0..component.leaves as usize {
            check_for_interrupts();
            let leaf = open_leaf(rel, component, at);
            let leaf = leaf.unwrap_or_else(|Replaced| cancel_replaced());
            for column in &mut columns {
                let added = if column.at < leaf.width() {
                    column.outline.add_leaf(leaf.leaf(), column.at)
                } else {
                    // SAFETY: the relation is open, and has the attribute.
                    let default = unsafe { default_of(rel, column.at) };
                    column.outline.add_same(leaf.rows() as u64, default)
                };
                added.unwrap_or_else(|error| raise(error));
            }
        }
    }
    TableIterator::new(columns.into_iter().flat_map(|Documents { name, outline, .. }| {
        outline.into_lines().map(move |line| {
            let Line { types, .. } = line;
            let (types, counts) = types.iter().map(|&(name, n)| (name.to_owned(), n as i64)).unzip();
            (
                name.clone(),
                plain(line.path),
                line.depth as i32,
                types,
                counts,
                line.values as i64,
                line.parents as i64,
                line.optional,
                line.leaves as i32,
            )
        })
    }))
}

unsafe fn document_columns(rel: pg_sys::Relation) -> Vec<Documents> {
    let desc = (*rel).rd_att;
    let attributes = (0..(*desc).natts as usize).map(|at| (at, attribute(desc, at)));
    attributes
        .filter(|&(_, att)| !(*att).attisdropped && storage(att).column == ColumnType::Json)
        .map(|(at, att)| Documents {
            at,
            name: plain(
                CStr::from_ptr((*att).attname.data.as_ptr())
                    .to_string_lossy()
                    .into_owned(),
            ),
            outline: Outline::default(),
        })
        .collect()
}

/// What rows have in a column that was added after they were written: the default that ALTER TABLE kept.
unsafe fn default_of<'a>(rel: pg_sys::Relation, at: usize) -> Option<&'a [u8]> {
    let mut null = true;
    let value = pg_sys::getmissingattr((*rel).rd_att, at as i32 + 1, &mut null);
    (!null).then(|| {
        let document = pg_sys::pg_detoast_datum_packed(value.cast_mut_ptr());
        std::slice::from_raw_parts(
            pgrx::varlena::vardata_any(document) as *const u8,
            pgrx::varlena::varsize_any_exhdr(document),
        )
    })
}
