//! EXPLAIN of what our nodes have in common.

use super::rows::Rows;
use crate::encoding::{of_utf8, shown};
use crate::pg::datum::of_bytes;
use crate::pg::explain::{Deparser, ExplainState};
use crate::pg::expr::all_of;
use crate::pg::node::{Node, Nodes};
use crate::pg::relation::Opened;
use crate::pg::state::CustomScanState;
use crate::query::expr::entry::{Entry, expressions, reference_of};
use crate::query::expr::tree::rewrite;
use amax_format::{Parts, PathStep, Question};
use amax_jsonb::jsonpath::Shape;
use pgrx::pg_sys;
use std::ffi::CStr;

pub fn text(label: &CStr, value: &str, es: &ExplainState) {
    es.text(label, &of_utf8(value));
}

/// Where rows begin to be tuples, of a node where they do, as `amax.materialization`: early, before a scan's conditions, or late, behind
/// them or an aggregate.
pub fn materialization(kind: &str, es: &ExplainState) {
    if es.verbose() {
        text(c"Materialization", kind, es);
    }
}

/// A node's conditions over the entries of its custom_scan_tlist, as heap's nodes have them.
///
/// They are in custom_exprs, not where PostgreSQL would show them itself: around what an entry stands for it puts
/// brackets (get_special_variable() of ruleutils.c).
pub struct Conditions<'a> {
    entries: Vec<&'a Node>,
    deparser: Deparser,
}

impl<'a> Conditions<'a> {
    pub fn of(node: &'a CustomScanState, ancestors: Nodes<'_>, es: &ExplainState) -> Conditions<'a> {
        Conditions {
            entries: expressions(node.scan().custom_scan_tlist()),
            deparser: Deparser::new(node, ancestors, es),
        }
    }

    pub fn text(&self, condition: &'a Node) -> &CStr {
        let entry = |node: &'a Node| reference_of(node).map(|at| self.entries[at]);
        self.deparser.text(rewrite(condition, &mut { entry }))
    }

    /// As show_scan_qual() and show_instrumentation_count() of explain.c show those of other nodes.
    pub fn show(&self, conditions: &[&'a Node], node: &CustomScanState, es: &ExplainState) {
        if conditions.is_empty() {
            return;
        }
        let all = all_of(conditions.iter().copied().collect());
        es.text(c"Filter", self.text(all));
        let Some((all, each)) = node.removed().filter(|_| es.analyze()) else {
            return;
        };
        if all > 0.0 || !es.is_text() {
            es.float(c"Rows Removed by Filter", each, 0);
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
fn asked(path: &str, question: &Question) -> String {
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
            let text = |sought: &[u8]| {
                // SAFETY: of a document.
                unsafe {
                    CStr::from_ptr(pg_sys::OidOutputFunctionCall(
                        pg_sys::F_JSONB_OUT.into(),
                        of_bytes(sought),
                    ))
                }
            };
            format!("{path} @> {}", shown(text(sought).to_bytes()))
        }
        Question::Condition(_, condition) => format!("{path} {}", shown(condition.as_bytes())),
        Question::Found(_, true, values) => format!("jsonb_path_query_first({path}, {})", shown(values.as_bytes())),
        Question::Found(_, false, values) => format!("jsonb_path_query_array({path}, {})", shown(values.as_bytes())),
    }
}

/// What is read of a document, or of what is in it.
fn parts(path: &str, shape: &Shape) -> Vec<String> {
    if shape.whole || shape.keys.is_empty() {
        return vec![path.to_owned()];
    }
    let below = shape.keys.iter();
    below
        .flat_map(|(key, shape)| parts(&format!("{path}.{}", shown(key)), shape))
        .collect()
}

/// What an entry is called; `arrays` are the names of those that the levels unnest.
fn named(rows: &Rows, entry: &Entry, arrays: &[String]) -> Option<String> {
    let name = |attribute: i16| {
        let att = rows.rel.desc().attribute(attribute as usize - 1);
        // SAFETY: a name ends with a zero.
        shown(unsafe { CStr::from_ptr(att.attname.data.as_ptr()) }.to_bytes()).into_owned()
    };
    match entry {
        Entry::Path(path) if path.level > 0 => Some(arrays[path.level - 1].clone() + &path_name(&path.steps)),
        Entry::Path(path) => Some(name(path.attribute) + &path_name(&path.steps)),
        Entry::Attribute(attribute) => Some(name(*attribute)),
        Entry::Answer(path, question) | Entry::Found(path, question) => {
            let from = match path.level {
                0 => name(path.attribute),
                level => arrays[level - 1].clone(),
            };
            Some(asked(&(from + &path_name(&path.steps)), question))
        }
        Entry::Part(attribute, shape) if shape.whole => {
            let keys = shape.without.iter().map(|key| shown(key).into_owned());
            Some(format!(
                "{} without {}",
                name(*attribute),
                keys.collect::<Vec<_>>().join(", ")
            ))
        }
        // Its scalars and structure; a name alone means a whole document.
        Entry::Part(attribute, shape) if shape.keys.is_empty() => Some(format!("{} without keys", name(*attribute))),
        Entry::Part(attribute, shape) => Some(parts(&name(*attribute), shape).join(", ")),
        Entry::Key(level) => Some(arrays[level - 1].clone() + " (key)"),
        Entry::Ordinality(_) | Entry::Joined(..) | Entry::Expression => None,
    }
}

/// Shows what some entries are called, unless there are none; arrays are shown elsewhere.
pub fn named_columns(label: &CStr, rows: &Rows, entries: Vec<usize>, arrays: &[String], es: &ExplainState) {
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

/// The arrays a node unnests, and the columns it reads: of its entries, those in `reads`, and those in `joined` for
/// joins above. The arrays' names.
pub fn columns(
    rows: &Rows,
    outer_joins: &[bool],
    reads: Vec<usize>,
    joined: Vec<usize>,
    es: &ExplainState,
) -> Vec<String> {
    // The name of what each level unnests, after that of the level before.
    let mut arrays: Vec<String> = Vec::new();
    for function in &rows.functions {
        let array = named(rows, &rows.entries[function.array], &arrays);
        let parts = match function.parts {
            Parts::Elements => "[*]",
            Parts::Fields | Parts::Pairs => ".*",
        };
        let keys: Vec<PathStep> = function.keys.iter().cloned().map(PathStep::Key).collect();
        arrays.push(array.unwrap_or_default() + &path_name(&keys) + parts);
    }
    if !arrays.is_empty() {
        // A join's node does not say what it scans.
        let table = Opened::with_lock(rows.named, pg_sys::NoLock).name_bytes();
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
