//! EXPLAIN of our nodes.

use super::entry::Entry;
use super::rows::Rows;
use super::scan::of;
use super::tree::nodes;
use crate::encoding::{of_utf8, shown};
use amax_format::{Parts, PathStep, Question};
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::CStr;

unsafe fn text(label: &std::ffi::CStr, value: &str, es: *mut pg_sys::ExplainState) {
    pg_sys::ExplainPropertyText(label.as_ptr(), of_utf8(value).as_ptr(), es);
}

pub unsafe fn number(label: &std::ffi::CStr, value: u64, es: *mut pg_sys::ExplainState) {
    pg_sys::ExplainPropertyInteger(label.as_ptr(), std::ptr::null(), value as i64, es);
}

/// A path as in SQL/JSON.
unsafe fn path_name(steps: &[PathStep]) -> String {
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
unsafe fn asked(path: &str, question: &Question) -> String {
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
            let sought = super::datum::of_bytes(sought);
            let sought = pg_sys::OidOutputFunctionCall(pg_sys::F_JSONB_OUT.into(), sought);
            format!("{path} @> {}", shown(CStr::from_ptr(sought).to_bytes()))
        }
    }
}

/// The arrays a node unnests, and the columns it reads: of its entries, those in `reads`, and those in `joined` for
/// joins above. The arrays' names.
pub unsafe fn columns(
    rows: &Rows,
    outer_joins: &[bool],
    reads: Vec<usize>,
    joined: Vec<usize>,
    es: *mut pg_sys::ExplainState,
) -> Vec<String> {
    let desc = (*rows.rel).rd_att;
    let name = |attribute: i16| {
        let att = crate::types::attribute(desc, attribute as usize - 1);
        shown(CStr::from_ptr((*att).attname.data.as_ptr()).to_bytes()).into_owned()
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
        let table = CStr::from_ptr((*(*rows.rel).rd_rel).relname.data.as_ptr());
        text(c"Relation", &shown(table.to_bytes()), es);
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

/// How many rows there are after each step of a scan: conditions one by one, and arrays unnested.
unsafe fn steps(
    node: *mut pg_sys::CustomScanState,
    arrays: &[String],
    ancestors: *mut pg_sys::List,
    es: *mut pg_sys::ExplainState,
) {
    let plan = (*node).ss.ps.plan;
    let context = pg_sys::set_deparse_context_plan((*es).deparse_cxt, plan, ancestors);
    let mut conditions = nodes((*plan).qual).into_iter();
    if arrays.is_empty() && conditions.len() == 0 {
        return;
    }
    let in_text = (*es).format == pg_sys::ExplainFormat::EXPLAIN_FORMAT_TEXT;
    let step = |kind: &str, what: &str, rows: u64| {
        if in_text {
            number(&of_utf8(format!("Rows {kind} {what}").trim_end()), rows, es);
            return;
        }
        pg_sys::ExplainOpenGroup(c"Step".as_ptr(), std::ptr::null(), true, es);
        text(c"Step", kind, es);
        if !what.is_empty() {
            text(c"Of", what, es);
        }
        number(c"Rows", rows, es);
        pg_sys::ExplainCloseGroup(c"Step".as_ptr(), std::ptr::null(), true, es);
    };
    pg_sys::ExplainOpenGroup(c"Steps".as_ptr(), c"Steps".as_ptr(), false, es);
    for (stage, (counts, matching)) in of(node).counts().enumerate() {
        match stage.checked_sub(1) {
            None => step("Scanned", "", counts.all),
            Some(array) => step("Unnested", &arrays[array], counts.all),
        }
        for (i, &passed) in counts.passed.iter().enumerate() {
            if i == matching && counts.unmatched > 0 {
                step("Without Match", "", counts.unmatched);
            }
            let condition = conditions.next().expect("each is somewhere");
            let condition = pg_sys::deparse_expression(condition, context, (*es).verbose, false);
            step("Passed", &shown(CStr::from_ptr(condition).to_bytes()), passed);
        }
        if counts.passed.len() == matching && counts.unmatched > 0 {
            step("Without Match", "", counts.unmatched);
        }
    }
    pg_sys::ExplainCloseGroup(c"Steps".as_ptr(), c"Steps".as_ptr(), false, es);
}

/// Whether the user may look at all rows of the table by himself. To others the counts of leaves and of each
/// condition's rows would tell of values that row-level security or a view hides from them: with conditions of their
/// own they find the least and the greatest. Heap's counts, which they get, are all rows less those that pass all
/// conditions.
unsafe fn may_read_all_rows(rel: pg_sys::Relation) -> bool {
    let (table, own_rights) = ((*rel).rd_id, pg_sys::InvalidOid);
    let read = pg_sys::ACL_SELECT as pg_sys::AclMode;
    let allowed = pg_sys::pg_class_aclcheck(table, pg_sys::GetUserId(), read);
    let security = pg_sys::check_enable_rls(table, own_rights, true);
    allowed == pg_sys::AclResult::ACLCHECK_OK && security != pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32
}

/// The columns a scan reads, and what became of its leaves.
#[pg_guard]
pub unsafe extern "C-unwind" fn scan(
    node: *mut pg_sys::CustomScanState,
    ancestors: *mut pg_sys::List,
    es: *mut pg_sys::ExplainState,
) {
    let scan = of(node);
    let joined = scan.joins.filters.iter().flat_map(|f| f.reads.clone());
    let (outer_joins, reads) = (scan.outer_joins(), scan.reads());
    let arrays = columns(&scan.rows, &outer_joins, reads, joined.collect(), es);
    if scan.vectorized() > 0 {
        number(c"Vectorized Conditions", scan.vectorized() as u64, es);
    }
    if (*es).analyze && may_read_all_rows(scan.rows.rel) {
        let met = scan.met();
        number(c"Leaves Read", met.leaves - met.skipped, es);
        number(c"Leaves Skipped", met.skipped, es);
        number(c"Row Pages Read", met.pages, es);
        number(c"Columnar Rows", met.rows, es);
        if !scan.joins.filters.is_empty() {
            number(c"Rows Removed by Join Filters", met.unmatched, es);
        }
        number(c"Decoded kB", met.decoded.div_ceil(1024), es);
        steps(node, &arrays, ancestors, es);
    }
}
