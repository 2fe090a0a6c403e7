//! `amax.schema(table)`: what the documents of a table look like, over all leaves. It reads levels and overflow
//! columns.

use crate::columnar::{open_leaf, raise, storage};
use crate::encoding::plain;
use crate::inspect::{check_row_security, components_of};
use crate::memory::check_for_interrupts;
use crate::pg::Relation;
use crate::pg::tupdesc::{Attribute, name_of};
use crate::storage::manifest::{Replaced, cancel_replaced};
use amax_format::{ColumnType, Line, Outline};
use pgrx::pg_sys;
use pgrx::prelude::*;

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
    let rel = &*opened;
    let mut columns = document_columns(rel);
    for component in &manifest.components {
        for at in 0..component.leaves as usize {
            check_for_interrupts();
            let leaf = open_leaf(rel, component, at);
            let leaf = leaf.unwrap_or_else(|Replaced| cancel_replaced());
            for column in &mut columns {
                let added = if column.at < leaf.width() {
                    column.outline.add_leaf(leaf.leaf(), column.at)
                } else {
                    column.outline.add_same(leaf.rows() as u64, default_of(rel, column.at))
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

fn document_columns(rel: &Relation) -> Vec<Documents> {
    let is_document = |att: &Attribute| !att.attisdropped && storage(att).column == ColumnType::Json;
    let attributes = rel.desc().attributes().enumerate();
    attributes
        .filter(|(_, att)| is_document(att))
        .map(|(at, att)| Documents {
            at,
            name: plain(name_of(att)),
            outline: Outline::default(),
        })
        .collect()
}

/// What rows have in a column that was added after they were written: the default that ALTER TABLE kept.
fn default_of(rel: &Relation, at: usize) -> Option<&[u8]> {
    let (value, null) = rel.desc().missing(at);
    // SAFETY: a document, which the descriptor keeps.
    (!null).then(|| unsafe {
        let document = pg_sys::pg_detoast_datum_packed(value.cast_mut_ptr());
        std::slice::from_raw_parts(
            pgrx::varlena::vardata_any(document) as *const u8,
            pgrx::varlena::varsize_any_exhdr(document),
        )
    })
}
