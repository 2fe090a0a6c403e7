//! Options per table. They are kept as a security label of the table (provider "amax"): PostgreSQL then carries them
//! through pg_dump, pg_upgrade, TRUNCATE and rewrites, and drops them with the table. The label is a JSON object.

use crate::guc::{self, Compression};
use crate::pg::Relation;
use crate::pg::catalog::has_new_access_method;
use crate::pg::relation::Opened;
use crate::pg::xid::require_writable;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde_json::{Map, Value};
use std::ffi::{CStr, CString};

const PROVIDER: &CStr = c"amax";

/// What is in force for a table.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub compression: Compression,
    pub rows_per_leaf: i32,
    /// Bytes of memory.
    pub leaf_bytes: usize,
    pub path_cap: i32,
    /// Row pages.
    pub flush_threshold: i32,
    pub merge_ratio: f64,
    pub max_components: i32,
}

/// Names, with what each accepts.
const NUMBERS: [(&str, i64, i64); 5] = [
    ("rows_per_leaf", 1, 1_000_000),
    ("leaf_size", 64, 1024 * 1024),
    ("path_cap", 0, 100_000),
    ("flush_threshold", 0, i32::MAX as i64),
    ("max_components", 1, i32::MAX as i64),
];

impl Options {
    pub fn of(rel: &Relation) -> Options {
        let own = label(labelled(rel));
        let number = |name: &str| own.get(name).and_then(Value::as_i64);
        let compression = own
            .get("compression")
            .and_then(Value::as_str)
            .and_then(compression_named);
        let ratio = own.get("merge_ratio").and_then(Value::as_f64);
        let threshold = number("flush_threshold").map_or(guc::flush_threshold(), |n| n as i32);
        Options {
            compression: compression.unwrap_or(guc::compression()),
            rows_per_leaf: number("rows_per_leaf").map_or(guc::rows_per_leaf(), |n| n as i32),
            leaf_bytes: number("leaf_size").map_or(guc::leaf_bytes(), |n| n as usize * 1024),
            path_cap: number("path_cap").map_or(guc::path_cap(), |n| n as i32),
            flush_threshold: if guc::eager() { 0 } else { threshold },
            merge_ratio: ratio.unwrap_or(guc::merge_ratio()),
            max_components: number("max_components").map_or(guc::max_components(), |n| n as i32),
        }
    }
}

/// Of all options.
pub fn names() -> impl Iterator<Item = &'static str> {
    ["compression", "merge_ratio"]
        .into_iter()
        .chain(NUMBERS.iter().map(|n| n.0))
}

fn compression_named(name: &str) -> Option<Compression> {
    Compression::NAMES.iter().find(|n| n.0 == name).map(|n| n.1)
}

/// The table whose options the relation has: the one that is being rewritten, if it is its new file (make_new_heap() in
/// cluster.c).
fn labelled(rel: &Relation) -> pg_sys::Oid {
    rel.rewrite_of().unwrap_or(rel.id())
}

fn address(relid: pg_sys::Oid) -> pg_sys::ObjectAddress {
    pg_sys::ObjectAddress {
        classId: pg_sys::RelationRelationId,
        objectId: relid,
        objectSubId: 0,
    }
}

/// The table's own options; empty when it has none.
fn label(relid: pg_sys::Oid) -> Map<String, Value> {
    // SAFETY: it looks the table up.
    let text = unsafe { pg_sys::GetSecurityLabel(&address(relid), PROVIDER.as_ptr()) };
    if text.is_null() {
        return Map::new();
    }
    // SAFETY: it is a palloc'd string.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Checks options a user gave.
fn check(options: &Map<String, Value>) {
    for (name, value) in options {
        if name == "compression" {
            if value.as_str().and_then(compression_named).is_none() {
                invalid(name, value, "none, snappy, zstd or lz4");
            }
        } else if name == "merge_ratio" {
            if !value.as_f64().is_some_and(|n| (0.0..=1e6).contains(&n)) {
                invalid(name, value, "a number from 0 to 1000000");
            }
        } else if let Some(&(_, min, max)) = NUMBERS.iter().find(|n| n.0 == name) {
            if !value.as_i64().is_some_and(|n| (min..=max).contains(&n)) {
                invalid(name, value, &format!("an integer from {min} to {max}"));
            }
        } else {
            ErrorReport::new(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("unrecognized amax option \"{name}\""),
                "",
            )
            .set_hint(
                "Options are compression, rows_per_leaf, leaf_size, path_cap, flush_threshold, merge_ratio and max_components.",
            )
            .report(PgLogLevel::ERROR);
        }
    }
}

/// Options as a user wrote them. Numbers beyond a double and the like, which serde_json does not take, are no options
/// either.
fn parse(text: &CStr) -> Map<String, Value> {
    if let Ok(Value::Object(options)) = serde_json::from_str(&text.to_string_lossy()) {
        return options;
    }
    ereport!(
        ERROR,
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        "amax options must be a JSON object"
    );
}

fn invalid(name: &str, value: &Value, wanted: &str) {
    ErrorReport::new(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("invalid value for amax option \"{name}\": {value}"),
        "",
    )
    .set_detail(format!("The value must be {wanted}."))
    .report(PgLogLevel::ERROR);
}

/// `amax.set_options(table regclass, options jsonb)`: adds to the table's options; a null takes one back. For the
/// table's owner.
#[pg_extern]
fn set_options(table: pg_sys::Oid, options: pgrx::AnyElement) {
    // Not as pgrx's JsonB, which panics at what serde_json cannot hold.
    // SAFETY: the function is declared with a jsonb.
    let text = unsafe { pgrx::direct_function_call::<&CStr>(pg_sys::jsonb_out, &[Some(options.datum())]) };
    let changes = parse(text.expect("jsonb has a text"));
    require_writable(c"amax.set_options()");
    // The lock SECURITY LABEL takes.
    let rel = Opened::with_lock(table, pg_sys::ShareUpdateExclusiveLock);
    rel.require_ours();
    rel.require_owner();
    let mut own = label(table);
    for (name, value) in changes {
        if value.is_null() {
            own.remove(&name);
        } else {
            own.insert(name, value);
        }
    }
    check(&own);
    let text = CString::new(Value::Object(own.clone()).to_string()).expect("JSON text has no NUL");
    let label = if own.is_empty() {
        std::ptr::null()
    } else {
        text.as_ptr()
    };
    // SAFETY: it looks the table up; `text` lives, and is copied.
    unsafe {
        pg_sys::SetSecurityLabel(&address(table), PROVIDER.as_ptr(), label);
        // The same statement may call us for the table again.
        pg_sys::CommandCounterIncrement();
    }
}

/// A relation is being altered. With its access method its options go: pg_dump would write them for another's table.
/// Now, since the statement may be the one that has loaded this library, and nothing else of it passes here.
pub fn altered(relid: pg_sys::Oid) {
    if !label(relid).is_empty() && has_new_access_method(relid) {
        // SAFETY: it looks the table up.
        unsafe { pg_sys::SetSecurityLabel(&address(relid), PROVIDER.as_ptr(), std::ptr::null()) }
    }
}

/// `amax.options(table regclass)`: what is in force, and whether the table or a setting says so.
#[pg_extern]
fn options(
    table: pg_sys::Oid,
) -> TableIterator<'static, (name!(name, String), name!(value, String), name!(source, String))> {
    let rel = Opened::for_reading(table, None);
    let own = label(table);
    let o = Options::of(&rel);
    let rows = [
        ("compression", o.compression.name().to_string()),
        ("rows_per_leaf", o.rows_per_leaf.to_string()),
        ("leaf_size", (o.leaf_bytes / 1024).to_string()),
        ("path_cap", o.path_cap.to_string()),
        ("flush_threshold", o.flush_threshold.to_string()),
        ("merge_ratio", o.merge_ratio.to_string()),
        ("max_components", o.max_components.to_string()),
    ];
    let rows = rows.map(|(name, value)| {
        let source = if own.contains_key(name) { "table" } else { "setting" };
        (name.to_string(), value, source.to_string())
    });
    TableIterator::new(rows)
}

/// Checks `SECURITY LABEL FOR amax`, which is what a dump restores options with.
///
/// # Safety
/// As ExecSecLabelStmt() calls it: with an object, and a string or null.
#[pg_guard]
unsafe extern "C-unwind" fn relabel(object: *const pg_sys::ObjectAddress, label: *const std::ffi::c_char) {
    // SAFETY: as the caller promises.
    let (object, label) = unsafe { (*object, (!label.is_null()).then(|| CStr::from_ptr(label))) };
    if object.classId != pg_sys::RelationRelationId || object.objectSubId != 0 {
        ereport!(
            ERROR,
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            "amax labels are for tables: they hold their options"
        );
    }
    if let Some(label) = label {
        check(&parse(label));
    }
}

pub fn init() {
    // SAFETY: a name that stays, and a function of that type.
    unsafe { pg_sys::register_label_provider(PROVIDER.as_ptr(), Some(relabel)) }
}
