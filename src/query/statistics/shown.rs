//! What `amax.stats` shows: the statistics of the paths of a document column that most of the sample's documents have.

use super::kept::get;
use super::sample::{Made, Of, Wanted};
use super::source::Source;
use crate::memory::check_for_interrupts;
use crate::pg::Relation;
use crate::pg::expr::{CoerceViaIO, Var};
use crate::pg::node::Node;
use crate::pg::quote::{identifier, literal};
use crate::pg::statistics::{Statistics, target};
use crate::pg::tupdesc::name_of;
use crate::query::expr::containment::{field, text_field};
use pgrx::pg_sys;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;

/// An expression, as one may write it, and what the planner is told of it.
pub struct Shown {
    pub expression: String,
    made: Rc<Made>,
}

impl Shown {
    pub fn statistics(&self) -> &Statistics {
        match &*self.made {
            Made::Statistics(statistics) => statistics,
            Made::Hashes(_) => unreachable!("not asked for"),
        }
    }
}

/// Values of a path in the leaves that the sample is of.
#[derive(Default)]
struct Values {
    all: u64,
    numbers: u64,
    booleans: u64,
    arrays: u64,
    nulls: u64,
}

/// Of paths of keys outside arrays that have columns, as many as the column's statistics may have values; those that more documents have come first.
pub fn of_paths(rel: &Relation, attribute: i16) -> Vec<Shown> {
    let at = attribute as usize - 1;
    let attributes = rel.desc().natts();
    if attribute < 1 || at >= attributes || rel.desc().attribute(at).atttypid != pg_sys::JSONBOID {
        return Vec::new();
    }
    let mut found = BTreeMap::<Vec<Vec<u8>>, Values>::new();
    let source = Source::of_table(rel.id(), rel.estimated_tuples());
    for part in source.parts().iter().filter(|part| at < part.leaf.width()) {
        let mut add = |keys: &[&[u8]], ty: &'static str, values: u64| {
            let keys = keys.iter().map(|key| key.to_vec()).collect();
            let path = found.entry(keys).or_default();
            path.all += values;
            match ty {
                "number" => path.numbers += values,
                "boolean" => path.booleans += values,
                "array" => path.arrays += values,
                "null" => path.nulls += values,
                _ => {}
            }
        };
        let visited = part.leaf.leaf().each_path(at, &mut add);
        visited.unwrap_or_else(|error| crate::columnar::raise(error));
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(_, values)| Reverse(values.all));
    found.truncate(target(rel, attribute).max(0) as usize);
    found.sort_by(|one, other| one.0.cmp(&other.0));
    let (name, mut shown) = (identifier(name_of(rel.desc().attribute(at))), Vec::new());
    for (keys, values) in found {
        for (expression, node) in forms(&name, attribute, &keys, &values) {
            check_for_interrupts();
            let made = get(&source, &Of::Rows, node, source.tuples, Wanted::Values);
            shown.extend(made.map(|made| Shown { expression, made }));
        }
    }
    shown
}

/// A path as text, and as what it could be cast to in all documents; as jsonb where it has arrays.
fn forms<'a>(name: &str, attribute: i16, keys: &[Vec<u8>], values: &Values) -> Vec<(String, &'a Node)> {
    let Some((last, above)) = keys.split_last() else {
        return Vec::new();
    };
    let mut text = name.to_owned();
    let mut node = Var::make(1, attribute, pg_sys::JSONBOID, -1, pg_sys::InvalidOid);
    for key in above {
        text += &format!(" -> {}", literal(key));
        node = field(node, key);
    }
    let key = literal(last);
    if values.arrays > 0 {
        return vec![(format!("{text} -> {key}"), field(node, last))];
    }
    let (text, node) = (format!("{text} ->> {key}"), text_field(node, last));
    let of_one = |n: u64| n > 0 && n + values.nulls == values.all;
    let cast = match () {
        () if of_one(values.numbers) => Some((
            format!("({text})::numeric"),
            CoerceViaIO::make(node, pg_sys::NUMERICOID),
        )),
        () if of_one(values.booleans) => Some((format!("({text})::boolean"), CoerceViaIO::make(node, pg_sys::BOOLOID))),
        () => None,
    };
    [(text, node)].into_iter().chain(cast).collect()
}
