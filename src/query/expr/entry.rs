//! What a scan hands out: the entries of its custom_scan_tlist, each a column of the leaf where it can be.

use super::guard::{guards, may_raise};
use super::part::part_of;
use super::path::{JsonPath, path_of, question_of};
use super::tree::{has, rewrite, walk};
use super::unnesting::{Column, Unnesting};
use crate::pg::expr::{TargetEntry, Var};
use crate::pg::node::{Node, Nodes};
use crate::pg::planner::PlannerInfo;
use amax_format::Question;
use amax_jsonb::jsonpath::Shape;
use pgrx::pg_sys;
use std::cell::{Cell, LazyCell};

/// How an entry's value is found in a row of the table.
pub enum Entry {
    /// In its own columns.
    Path(JsonPath),
    /// What a path's structure tells.
    Answer(JsonPath, Question),
    /// What an SQL/JSON path finds in the values at a path.
    Found(JsonPath, Question),
    /// Evaluated over a part of a document.
    Part(i16, Shape),
    /// An attribute, from 1.
    Attribute(i16),
    /// An element's number in its array, from 1; of the arrays unnested at a level, from 1.
    Ordinality(usize),
    /// The key of a field, of the objects unnested at a level.
    Key(usize),
    /// A column of a join's other side: which of them, and which of its columns.
    Joined(usize, usize),
    /// Evaluated over the row: system columns, whole rows.
    Expression,
}

impl Entry {
    /// 0: of the row. n: of an element of the n-th arrays that the scan unnests. A join is not above those: 1 is of its other sides.
    pub fn level(&self) -> usize {
        match self {
            Entry::Path(path) | Entry::Answer(path, _) => path.level,
            Entry::Ordinality(level) | Entry::Key(level) => *level,
            Entry::Joined(..) => 1,
            Entry::Found(..) | Entry::Part(..) | Entry::Attribute(_) | Entry::Expression => 0,
        }
    }
}

/// The entry that an expression is, given the functions that unnest.
pub fn entry_of(expression: &Node, functions: &[Unnesting]) -> Entry {
    let level_of = |var: &Var| {
        let at = functions.iter().position(|f| f.relation == var.relation());
        at.map_or(0, |at| at + 1)
    };
    let level = Cell::new(0);
    let note = |var: &Var| {
        level.set(level_of(var));
        true
    };
    let below = |path: JsonPath| {
        let level = level.get();
        let path = JsonPath { level, ..path };
        match level.checked_sub(1) {
            None => Some(path),
            Some(at) => functions[at].path(path),
        }
    };
    if let Some(path) = path_of(expression, &note) {
        if level.get() > 0 && functions[level.get() - 1].is_key(&path) {
            return Entry::Key(level.get());
        }
        return below(path).map_or(Entry::Expression, Entry::Path);
    }
    match question_of(expression, &note) {
        Some((path, question @ Question::Found(..))) => return Entry::Found(path, question),
        Some((path, question)) => {
            return below(path).map_or(Entry::Expression, |path| Entry::Answer(path, question));
        }
        None => {}
    }
    if let Some((attribute, shape)) = part_of(expression, &|_| true) {
        return Entry::Part(attribute, shape);
    }
    let Some(var) = expression.as_a::<Var>().filter(|var| var.varattno() > 0) else {
        return Entry::Expression;
    };
    let (level, attribute) = (level_of(var), var.varattno());
    if level == 0 {
        return Entry::Attribute(attribute);
    }
    match functions[level - 1].columns().get(attribute as usize - 1) {
        Some(Column::Value) => Entry::Path(JsonPath {
            attribute,
            steps: Vec::new(),
            text: var.vartype() == pg_sys::TEXTOID,
            level,
        }),
        Some(Column::Key) => Entry::Key(level),
        Some(Column::Pair) => Entry::Expression,
        None => Entry::Ordinality(level),
    }
}

/// Adds the longest paths, what is asked about paths and the other variables of relation `relid` in `node` to `found`,
/// each once.
pub fn collect<'a>(root: &PlannerInfo, node: &'a Node, relid: pg_sys::Index, found: &mut Vec<&'a Node>) {
    let is_ours = is_of(relid);
    let guards = LazyCell::new(|| guards(root));
    let asks = |node: &Node| {
        let asks = question_of(node, &is_ours).is_some() || part_of(node, &is_ours).is_some();
        asks && !(may_raise(node) && *guards)
    };
    collect_of(node, relid, &asks, found);
}

/// The same of elements' relations, about which nothing is asked that may be an error, nor what is found in them.
pub fn collect_elements<'a>(node: &'a Node, relid: pg_sys::Index, found: &mut Vec<&'a Node>) {
    let is_ours = is_of(relid);
    let asks = |node: &Node| {
        let question = question_of(node, &is_ours).map(|(_, question)| question);
        question.is_some_and(|question| !matches!(question, Question::Found(..)) && !may_raise(node))
    };
    collect_of(node, relid, &asks, found);
}

/// The longest paths, what `asks` about paths, and the variables of an expression over one table's row are added to `found`,
/// each once.
pub fn read_by<'a>(node: &'a Node, asks: &dyn Fn(&Node) -> bool, found: &mut Vec<&'a Node>) {
    walk(node, &mut |node| {
        let is_path = path_of(node, &|_| true).is_some() || asks(node);
        if (is_path || node.is_a::<Var>()) && !has(found, node) {
            found.push(node);
        }
        !is_path
    });
}

/// What several expressions read of a relation; see [`collect`].
pub fn collected<'a>(
    root: &PlannerInfo,
    all: impl IntoIterator<Item = &'a Node>,
    relid: pg_sys::Index,
) -> Vec<&'a Node> {
    let mut found = Vec::new();
    all.into_iter().for_each(|node| collect(root, node, relid, &mut found));
    found
}

/// Whether what is collected is a variable.
pub fn is_variable(node: &Node) -> bool {
    node.is_a::<Var>()
}

/// Whether what is collected is a whole document.
pub fn is_document(node: &Node) -> bool {
    node.as_a::<Var>().is_some_and(|var| var.vartype() == pg_sys::JSONBOID)
}

fn is_of(relid: pg_sys::Index) -> impl Fn(&Var) -> bool {
    move |var| var.relation() == relid && var.varlevelsup() == 0
}

fn collect_of<'a>(node: &'a Node, relid: pg_sys::Index, asks: &dyn Fn(&Node) -> bool, found: &mut Vec<&'a Node>) {
    let is_ours = is_of(relid);
    walk(node, &mut |node| {
        let is_path = path_of(node, &is_ours).is_some() || asks(node);
        let is_var = node.as_a::<Var>().is_some_and(&is_ours);
        if (is_path || is_var) && !has(found, node) {
            found.push(node);
        }
        !is_path
    });
}

/// Adds all variables of relation `relid` in `node` to `found`, each once.
pub fn variables<'a>(node: &'a Node, relid: pg_sys::Index, found: &mut Vec<&'a Node>) {
    let is_ours = is_of(relid);
    walk(node, &mut |node| {
        if node.as_a::<Var>().is_some_and(&is_ours) && !has(found, node) {
            found.push(node);
        }
        true
    });
}

/// The expressions of a target list.
pub fn expressions(target_list: Nodes<'_>) -> Vec<&Node> {
    target_list.all::<TargetEntry>().filter_map(TargetEntry::expr).collect()
}

/// The entry that a variable refers to, from 0, if it is one of INDEX_VAR.
pub fn reference_of(node: &Node) -> Option<usize> {
    let var = node.as_a::<Var>().filter(|var| var.varno() == pg_sys::INDEX_VAR)?;
    Some(var.varattno() as usize - 1)
}

/// The tree with the entries' expressions replaced by references to them, as setrefs.c does for a scan's own
/// expressions.
pub fn over_entries<'a>(node: &'a Node, entries: &[&Node]) -> &'a Node {
    let known: Vec<Option<&Node>> = entries.iter().map(|&entry| Some(entry)).collect();
    over_known_entries(node, &known)
}

/// The same where some entries are not to be referred to.
pub fn over_known_entries<'a>(node: &'a Node, entries: &[Option<&Node>]) -> &'a Node {
    rewrite(node, &mut |node| {
        let at = entries
            .iter()
            .position(|entry| entry.is_some_and(|entry| entry.equals(node)))?;
        let (ty, typmod, collation) = (node.type_oid(), node.typmod(), node.collation());
        Some(Var::make(pg_sys::INDEX_VAR, at as i16 + 1, ty, typmod, collation))
    })
}
