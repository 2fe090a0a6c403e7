//! How many groups there are: PostgreSQL has no statistics on paths, but a leaf's column is a sample.

use crate::columnar;
use crate::pg::relation::Opened;
use crate::query::expr::entry::{Entry, collect, entry_of};
use crate::query::expr::tree::{equal, is_a, list, nodes};
use crate::storage::manifest;
use amax_format::{Dense, Tag};
use pgrx::pg_sys::*;
use std::collections::HashMap;

/// Values met in a sample.
struct Sample {
    /// Whether there are NULLs; they are no values.
    nulls: bool,
    values: f64,
    distinct: f64,
    /// Those met once.
    once: f64,
}

/// Groups by `keys` among `rows` rows that a scan of `rel` hands up; as estimate_num_groups() of selfuncs.c, which is
/// asked for what is not made of paths, and of elements of arrays.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn groups(root: *mut PlannerInfo, rel: *mut RelOptInfo, rows: f64, keys: &[*mut Node]) -> f64 {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        if (*rel).reloptkind != RelOptKind::RELOPT_BASEREL {
            let (keys, none) = (list(keys.iter().copied()), std::ptr::null_mut());
            return estimate_num_groups(root, keys, rows, none, std::ptr::null_mut()).max(1.0);
        }
        let tuples = (*rel).tuples.max(1.0);
        let paths_of = |key| {
            let mut found = Vec::new();
            collect(root, key, (*rel).relid, &mut found);
            let is_path = !found.is_empty() && found.iter().all(|&node| !is_a(node, NodeTag::T_Var));
            is_path.then_some(found)
        };
        let (paths, others): (Vec<_>, Vec<_>) = keys
            .iter()
            .map(|&key| (key, paths_of(key)))
            .partition(|(_, paths)| paths.is_some());
        let by_postgres = |keys: Vec<*mut Node>, rows| {
            let none = std::ptr::null_mut();
            estimate_num_groups(root, list(keys), rows, none, std::ptr::null_mut()).max(1.0)
        };
        // It knows all keys together, where statistics on several of them exist.
        if paths.is_empty() || keys.iter().any(|&key| has_statistics(rel, key)) {
            return by_postgres(keys.to_vec(), rows);
        }
        let mut known: Vec<*mut Node> = Vec::new();
        let (mut groups, mut most, mut factors) = (1.0, 1.0_f64, 0);
        for (key, paths) in paths {
            let mut own = 1.0;
            for path in paths.into_iter().flatten() {
                if !known.iter().any(|&k| equal(k, path)) {
                    known.push(path);
                    own *= distinct(root, rel, path);
                    factors += 1;
                }
            }
            let own = f64::min(own, domain(key));
            groups *= own;
            most = most.max(own);
        }
        if !others.is_empty() {
            let own = by_postgres(others.iter().map(|other| other.0).collect(), tuples);
            groups *= own;
            most = most.max(own);
            factors += others.len();
        }
        // As estimate_num_groups() clamps what it knows of several variables: they are seldom independent.
        let clamp = match factors {
            0 | 1 => tuples,
            _ => (tuples * 0.1).max(most).min(tuples),
        };
        groups = groups.clamp(1.0, clamp.max(1.0));
        if rows < tuples {
            groups *= 1.0 - ((tuples - rows) / tuples).powf(tuples / groups);
        }
        groups.clamp(1.0, rows.max(1.0)).ceil()
    }
}

/// Whether an extended statistics object has this expression.
///
/// # Safety
/// What the planner hands over.
unsafe fn has_statistics(rel: *mut RelOptInfo, key: *mut Node) -> bool {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        nodes((*rel).statlist).iter().any(|&known| {
            let expressions = nodes((*(known as *mut StatisticExtInfo)).exprs);
            expressions.iter().any(|&e| equal(e, key))
        })
    }
}

/// How many values an expression can have at most, as far as its function tells.
///
/// # Safety
/// What the planner hands over.
unsafe fn domain(key: *mut Node) -> f64 {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let call = &*(key as *mut FuncExpr);
        if !is_a(key, NodeTag::T_FuncExpr) {
            return f64::INFINITY;
        }
        let field = nodes_of(call).first().copied().unwrap_or(std::ptr::null_mut()) as *mut Const;
        let is_extract = matches!(
            call.funcid.to_u32(),
            F_EXTRACT_TEXT_DATE
                | F_EXTRACT_TEXT_TIME
                | F_EXTRACT_TEXT_TIMESTAMP
                | F_EXTRACT_TEXT_TIMESTAMPTZ
                | F_DATE_PART_TEXT_DATE
                | F_DATE_PART_TEXT_TIMESTAMP
                | F_DATE_PART_TEXT_TIMESTAMPTZ
        );
        if !is_extract || !is_a(field as *mut Node, NodeTag::T_Const) || (*field).constisnull {
            return f64::INFINITY;
        }
        match crate::query::expr::datum::varlena((*field).constvalue) {
            b"quarter" => 4.0,
            b"dow" | b"isodow" => 7.0,
            b"month" => 12.0,
            b"hour" => 24.0,
            b"day" => 31.0,
            b"week" => 53.0,
            b"minute" => 60.0,
            b"doy" => 366.0,
            _ => f64::INFINITY,
        }
    }
}
/// # Safety
/// What the planner hands over.
unsafe fn nodes_of(call: &FuncExpr) -> Vec<*mut Node> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe { crate::query::expr::tree::nodes(call.args) }
}

/// Distinct values of a path, NULL among them (Haas and Stokes's estimator, as ANALYZE uses it).
///
/// # Safety
/// What the planner hands over.
unsafe fn distinct(root: *mut PlannerInfo, rel: *mut RelOptInfo, path: *mut Node) -> f64 {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let tuples = (*rel).tuples.max(1.0);
        let Some(sample) = sample(root, rel, path) else {
            return tuples;
        };
        let Sample {
            nulls,
            values,
            distinct,
            once,
        } = sample;
        let null = if nulls { 1.0 } else { 0.0 };
        if once == 0.0 || values >= tuples {
            return distinct + null;
        }
        let estimate = values * distinct / (values - once + once * values / tuples);
        estimate.clamp(distinct, tuples) + null
    }
}

/// A leaf in the middle of the largest component.
///
/// # Safety
/// What the planner hands over.
unsafe fn sample(root: *mut PlannerInfo, rel: *mut RelOptInfo, path: *mut Node) -> Option<Sample> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let entry = entry_of(path, &[]);
        let (Entry::Path(path) | Entry::Answer(path, _)) = &entry else {
            return None;
        };
        let rte = *(*root).simple_rte_array.add((*rel).relid as usize);
        let table = Opened::with_lock((*rte).relid, NoLock);
        let components = manifest::current(&table);
        components
            .components
            .iter()
            .max_by_key(|component| component.rows)
            .and_then(|component| {
                let leaves = manifest::read_directory(&table, component).ok()?.leaves.len();
                let leaf = columnar::open_leaf(&table, component, leaves / 2).ok()?;
                let attribute = path.attribute as usize - 1;
                match &entry {
                    Entry::Answer(_, question) => {
                        let answers = leaf.ask(attribute, &path.steps, question)?;
                        Some(of_column(&answers))
                    }
                    _ => Some(of_column(&leaf.path(attribute, &path.steps)?.dense)),
                }
            })
    }
}

/// Rows that are looked at.
const ROWS: usize = 4096;

fn of_column(dense: &Dense) -> Sample {
    let all = 0..dense.len().min(ROWS);
    let strings = dense.strings();
    let mut seen: HashMap<_, u32> = HashMap::new();
    let rows = all.clone().filter(|&row| dense.tag(row) != Tag::Missing);
    for row in rows {
        let word = dense.word(row);
        let value = match dense.tag(row) {
            Tag::String => (Tag::String as u8, 0, strings.get(word as usize)),
            tag => (tag as u8, word, None),
        };
        *seen.entry(value).or_default() += 1;
    }
    Sample {
        nulls: all.len() > seen.values().map(|&n| n as usize).sum(),
        values: seen.values().map(|&n| f64::from(n)).sum(),
        distinct: seen.len() as f64,
        once: seen.values().filter(|&&n| n == 1).count() as f64,
    }
}
