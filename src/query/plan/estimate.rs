//! How many groups there are: PostgreSQL has no statistics on paths, but a leaf's column is a sample.

use crate::columnar;
use crate::pg::expr::FuncExpr;
use crate::pg::node::Node;
use crate::pg::planner::{PlannerInfo, RelOptInfo, StatisticExtInfo};
use crate::pg::relation::Opened;
use crate::query::expr::constant::bytes;
use crate::query::expr::entry::{Entry, collect, entry_of, is_variable};
use crate::query::expr::tree::has;
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
pub fn groups(root: &PlannerInfo, rel: &RelOptInfo, rows: f64, keys: &[&Node]) -> f64 {
    if rel.reloptkind() != RelOptKind::RELOPT_BASEREL {
        return root.groups(keys.iter().copied().collect(), rows);
    }
    let tuples = rel.tuples().max(1.0);
    let paths_of = |key| {
        let mut found = Vec::new();
        collect(root, key, rel.relid(), &mut found);
        let is_path = !found.is_empty() && !found.iter().any(|node| is_variable(node));
        is_path.then_some(found)
    };
    let (paths, others): (Vec<_>, Vec<_>) = keys
        .iter()
        .map(|&key| (key, paths_of(key)))
        .partition(|(_, paths)| paths.is_some());
    // It knows all keys together, where statistics on several of them exist.
    if paths.is_empty() || keys.iter().any(|key| has_statistics(rel, key)) {
        return root.groups(keys.iter().copied().collect(), rows);
    }
    let mut known: Vec<&Node> = Vec::new();
    let (mut groups, mut most, mut factors) = (1.0, 1.0_f64, 0);
    for (key, paths) in paths {
        let mut own = 1.0;
        for path in paths.into_iter().flatten() {
            if !has(&known, path) {
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
        let own = root.groups(others.iter().map(|other| other.0).collect(), tuples);
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

/// Whether an extended statistics object has this expression.
fn has_statistics(rel: &RelOptInfo, key: &Node) -> bool {
    let mut known = rel.statlist().all::<StatisticExtInfo>();
    known.any(|known| has(&known.exprs().to_vec(), key))
}

/// How many values an expression can have at most, as far as its function tells.
fn domain(key: &Node) -> f64 {
    let field = key.as_a::<FuncExpr>().and_then(|call| {
        let is_extract = matches!(
            call.funcid().to_u32(),
            F_EXTRACT_TEXT_DATE
                | F_EXTRACT_TEXT_TIME
                | F_EXTRACT_TEXT_TIMESTAMP
                | F_EXTRACT_TEXT_TIMESTAMPTZ
                | F_DATE_PART_TEXT_DATE
                | F_DATE_PART_TEXT_TIMESTAMP
                | F_DATE_PART_TEXT_TIMESTAMPTZ
        );
        bytes(call.args().get(0).filter(|_| is_extract)?)
    });
    match field {
        Some(b"quarter") => 4.0,
        Some(b"dow" | b"isodow") => 7.0,
        Some(b"month") => 12.0,
        Some(b"hour") => 24.0,
        Some(b"day") => 31.0,
        Some(b"week") => 53.0,
        Some(b"minute") => 60.0,
        Some(b"doy") => 366.0,
        _ => f64::INFINITY,
    }
}

/// Distinct values of a path, NULL among them (Haas and Stokes's estimator, as ANALYZE uses it).
fn distinct(root: &PlannerInfo, rel: &RelOptInfo, path: &Node) -> f64 {
    let tuples = rel.tuples().max(1.0);
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

/// A leaf in the middle of the largest component.
fn sample(root: &PlannerInfo, rel: &RelOptInfo, path: &Node) -> Option<Sample> {
    let entry = entry_of(path, &[]);
    let (Entry::Path(path) | Entry::Answer(path, _)) = &entry else {
        return None;
    };
    let table = Opened::with_lock(root.entry(rel.relid()).relid(), NoLock);
    let components = manifest::current(&table);
    let component = components.components.iter().max_by_key(|component| component.rows)?;
    let leaves = manifest::read_directory(&table, component).ok()?.leaves.len();
    let leaf = columnar::open_leaf(&table, component, leaves / 2).ok()?;
    let attribute = path.attribute as usize - 1;
    match &entry {
        Entry::Answer(_, question) => leaf
            .ask(attribute, &path.steps, question)
            .map(|answers| of_column(&answers)),
        _ => leaf.path(attribute, &path.steps).map(|path| of_column(&path.dense)),
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
