//! EXPLAIN of a scan: what it reads, and how many rows each of its steps leaves.

use super::private::ScanPlan;
use super::state::of;
use crate::encoding::{of_utf8, shown};
use crate::pg::Relation;
use crate::query::batch::explain::{Conditions, columns, number, text};
use crate::query::plan::private::Private;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::CStr;

/// How many rows there are after each step of a scan: conditions one by one, and arrays unnested.
///
/// # Safety
/// A node of ours, begun and not ended.
unsafe fn steps(
    node: *mut pg_sys::CustomScanState,
    arrays: &[String],
    (shown_as, conditions): (&Conditions, &[*mut pg_sys::Node]),
    es: *mut pg_sys::ExplainState,
) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        if arrays.is_empty() && conditions.is_empty() {
            return;
        }
        let mut conditions = conditions.iter();
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
                let condition = shown_as.text(*conditions.next().expect("each is somewhere"));
                step("Passed", &shown(CStr::from_ptr(condition).to_bytes()), passed);
            }
            if counts.passed.len() == matching && counts.unmatched > 0 {
                step("Without Match", "", counts.unmatched);
            }
        }
        pg_sys::ExplainCloseGroup(c"Steps".as_ptr(), c"Steps".as_ptr(), false, es);
    }
}

/// Whether the user may look at all rows of the table by himself. To others the counts of leaves and of each
/// condition's rows would tell of values that row-level security or a view hides from them: with conditions of their
/// own they find the least and the greatest. Heap's counts, which they get, are all rows less those that pass all
/// conditions.
///
/// # Safety
/// A node of ours, begun and not ended.
unsafe fn may_read_all_rows(rel: &Relation) -> bool {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let (table, own_rights) = (rel.id(), pg_sys::InvalidOid);
        let read = pg_sys::ACL_SELECT as pg_sys::AclMode;
        let allowed = pg_sys::pg_class_aclcheck(table, pg_sys::GetUserId(), read);
        let security = pg_sys::check_enable_rls(table, own_rights, true);
        allowed == pg_sys::AclResult::ACLCHECK_OK && security != pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32
    }
}

/// The columns a scan reads, and what became of its leaves.
///
/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
pub unsafe extern "C-unwind" fn scan(
    node: *mut pg_sys::CustomScanState,
    ancestors: *mut pg_sys::List,
    es: *mut pg_sys::ExplainState,
) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let scan = of(node);
        let plan = (*node).ss.ps.plan as *mut pg_sys::CustomScan;
        let (conditions, _) = ScanPlan::of_plan(plan).expressions(plan);
        let shown_as = Conditions::of(node, ancestors, es);
        shown_as.show(&conditions, node, es);
        let joined = scan.joins.filters.iter().flat_map(|f| f.reads.clone());
        let (outer_joins, reads) = (scan.outer_joins(), scan.reads());
        let arrays = columns(&scan.rows, &outer_joins, reads, joined.collect(), es);
        if scan.vectorized() > 0 {
            number(c"Vectorized Conditions", scan.vectorized() as u64, es);
        }
        if (*es).analyze && may_read_all_rows(scan.rows.rel) {
            let counters = scan.source_counters();
            number(c"Leaves Read", counters.leaves - counters.skipped, es);
            number(c"Leaves Skipped", counters.skipped, es);
            if counters.unwanted > 0 {
                number(c"Leaves Skipped by Best Rows", counters.unwanted, es);
            }
            number(c"Row Pages Read", counters.pages, es);
            number(c"Columnar Rows", counters.rows, es);
            if !scan.joins.filters.is_empty() {
                number(c"Rows Removed by Join Filters", counters.unmatched, es);
            }
            number(c"Decoded kB", counters.decoded.div_ceil(1024), es);
            steps(node, &arrays, (&shown_as, &conditions), es);
        }
    }
}
