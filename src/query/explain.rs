//! EXPLAIN of our nodes.

use super::entry::{entry_of, expressions, Entry};
use super::scan::of;
use amax_format::PathStep;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::CString;

unsafe fn text(label: &std::ffi::CStr, value: &str, es: *mut pg_sys::ExplainState) {
    let value = CString::new(value.replace('\0', "")).expect("NULs are gone");
    pg_sys::ExplainPropertyText(label.as_ptr(), value.as_ptr(), es);
}

pub unsafe fn number(label: &std::ffi::CStr, value: u64, es: *mut pg_sys::ExplainState) {
    pg_sys::ExplainPropertyInteger(label.as_ptr(), std::ptr::null(), value as i64, es);
}

/// A path as in SQL/JSON.
fn path_name(steps: &[PathStep]) -> String {
    let mut name = String::new();
    for step in steps {
        match step {
            PathStep::Key(key) => {
                name.push('.');
                name.push_str(&String::from_utf8_lossy(key));
            }
            PathStep::Index(i) => name.push_str(&format!("[{i}]")),
        }
    }
    name
}

/// The columns a node reads: of its entries, those in `reads`.
unsafe fn columns(
    node: *mut pg_sys::CustomScanState,
    reads: Vec<usize>,
    es: *mut pg_sys::ExplainState,
) {
    let plan = (*node).ss.ps.plan as *mut pg_sys::CustomScan;
    let desc = (*(*node).ss.ss_currentRelation).rd_att;
    let mut columns: Vec<String> = Vec::new();
    let entries = expressions((*plan).custom_scan_tlist);
    for expression in reads.into_iter().map(|at| entries[at]) {
        let name = |attribute: i16| {
            let att = crate::types::attribute(desc, attribute as usize - 1);
            pgrx::name_data_to_str(&(*att).attname).to_string()
        };
        let column = match entry_of(expression) {
            Entry::Path(path) => format!("{}{}", name(path.attribute), path_name(&path.steps)),
            Entry::Attribute(attribute) => name(attribute),
            Entry::Expression => continue,
        };
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    if !columns.is_empty() {
        text(c"Columns", &columns.join(", "), es);
    }
}

/// What a fetch reads of the rows found below it.
#[pg_guard]
pub unsafe extern "C-unwind" fn fetch(
    node: *mut pg_sys::CustomScanState,
    _ancestors: *mut pg_sys::List,
    es: *mut pg_sys::ExplainState,
) {
    columns(node, super::fetch::of(node).reads(), es);
}

/// The columns a scan reads, and what became of its leaves.
#[pg_guard]
pub unsafe extern "C-unwind" fn scan(
    node: *mut pg_sys::CustomScanState,
    _ancestors: *mut pg_sys::List,
    es: *mut pg_sys::ExplainState,
) {
    let scan = of(node);
    columns(node, scan.reads(), es);
    if scan.vectorized() > 0 {
        number(c"Vectorized Conditions", scan.vectorized() as u64, es);
    }
    if (*es).analyze {
        let met = scan.met();
        number(c"Leaves Read", met.leaves - met.skipped, es);
        number(c"Leaves Skipped", met.skipped, es);
        number(c"Row Pages Read", met.pages, es);
        number(c"Rows Removed by Filter", met.removed, es);
    }
}
