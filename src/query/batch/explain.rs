//! EXPLAIN of what our nodes have in common.

use super::rows::Rows;
use crate::encoding::{of_utf8, shown};
use crate::query::expr::entry::{Entry, expressions};
use crate::query::expr::tree::{is_a, list, rewrite};
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

/// A node's conditions over the entries of its custom_scan_tlist, as heap's nodes have them.
///
/// They are in custom_exprs, not where PostgreSQL would show them itself: around what an entry stands for it puts
/// brackets (get_special_variable() of ruleutils.c).
pub struct Conditions {
    entries: Vec<*mut pg_sys::Node>,
    context: *mut pg_sys::List,
    prefixed: bool,
}

impl Conditions {
    /// # Safety
    /// A node of ours, begun and not ended.
    pub unsafe fn of(
        node: *mut pg_sys::CustomScanState,
        ancestors: *mut pg_sys::List,
        es: *mut pg_sys::ExplainState,
    ) -> Conditions {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
            let plan = (*node).ss.ps.plan;
            Conditions {
                entries: expressions((*(plan as *mut pg_sys::CustomScan)).custom_scan_tlist),
                context: pg_sys::set_deparse_context_plan((*es).deparse_cxt, plan, ancestors),
                prefixed: (*es).verbose,
            }
        }
    }

    /// # Safety
    /// A condition of the node, which is still there.
    pub unsafe fn text(&self, condition: *mut pg_sys::Node) -> *const std::ffi::c_char {
        let entry = |node: *mut pg_sys::Node| {
            let var = node as *mut pg_sys::Var;
            // SAFETY: as the caller promises; a reference is to an entry.
            unsafe {
                let refers = is_a(node, pg_sys::NodeTag::T_Var) && (*var).varno == pg_sys::INDEX_VAR;
                refers.then(|| self.entries[(*var).varattno as usize - 1])
            }
        };
        // SAFETY: as above.
        unsafe { pg_sys::deparse_expression(rewrite(condition, &mut { entry }), self.context, self.prefixed, false) }
    }

    /// As show_scan_qual() and show_instrumentation_count() of explain.c show those of other nodes.
    ///
    /// # Safety
    /// As [`Conditions::of`], and its conditions.
    pub unsafe fn show(
        &self,
        conditions: &[*mut pg_sys::Node],
        node: *mut pg_sys::CustomScanState,
        es: *mut pg_sys::ExplainState,
    ) {
        // SAFETY: as the caller promises.
        unsafe {
            if conditions.is_empty() {
                return;
            }
            let all = pg_sys::make_ands_explicit(list(conditions.iter().copied()));
            pg_sys::ExplainPropertyText(c"Filter".as_ptr(), self.text(all as *mut pg_sys::Node), es);
            let Some(counted) = (*node).ss.ps.instrument.as_ref().filter(|_| (*es).analyze) else {
                return;
            };
            let in_text = (*es).format == pg_sys::ExplainFormat::EXPLAIN_FORMAT_TEXT;
            if counted.nfiltered1 > 0.0 || !in_text {
                let removed = if counted.nloops > 0.0 {
                    counted.nfiltered1 / counted.nloops
                } else {
                    0.0
                };
                let label = c"Rows Removed by Filter".as_ptr();
                pg_sys::ExplainPropertyFloat(label, std::ptr::null(), removed, 0, es);
            }
        }
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

/// What an entry is called; `arrays` are the names of those that the levels unnest.
///
/// # Safety
/// A node of ours, begun and not ended.
unsafe fn named(rows: &Rows, entry: &Entry, arrays: &[String]) -> Option<String> {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let name = |attribute: i16| {
            let att = rows.rel.desc().attribute(attribute as usize - 1);
            shown(CStr::from_ptr(att.attname.data.as_ptr()).to_bytes()).into_owned()
        };
        match entry {
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
        }
    }
}

/// Shows what some entries are called, unless there are none; arrays are shown elsewhere.
///
/// # Safety
/// A node of ours, begun and not ended.
pub unsafe fn named_columns(
    label: &CStr,
    rows: &Rows,
    entries: Vec<usize>,
    arrays: &[String],
    es: *mut pg_sys::ExplainState,
) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let mut columns: Vec<String> = Vec::new();
        for at in entries {
            let is_array = rows.functions.iter().any(|f| f.array == at);
            let entry = Some(&rows.entries[at]).filter(|_| !is_array);
            let Some(column) = entry.and_then(|entry| named(rows, entry, arrays)) else {
                continue;
            };
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        if !columns.is_empty() {
            text(label, &columns.join(", "), es);
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
        // The name of what each level unnests, after that of the level before.
        let mut arrays: Vec<String> = Vec::new();
        for function in &rows.functions {
            let array = named(rows, &rows.entries[function.array], &arrays);
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
        named_columns(c"Columns", rows, reads, &arrays, es);
        named_columns(c"Join Filters", rows, joined, &arrays, es);
        arrays
    }
}
