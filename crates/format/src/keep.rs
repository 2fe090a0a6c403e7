//! Rows of a decoded column as they are written anew, by a merge: node by node of the [`Tree`], without assembling
//! documents. What is made is what shredding the rows' values would make.

use std::ops::Range;

use crate::error::{Error, Result, corrupt};
use crate::presence::Presence;
use crate::shred::{self, At, MAX_KEYS, MAX_SLOTS, NONE, Shredder};
use crate::tokens::Pairs;
use crate::tree::{Body, Tree};
use crate::values::Values;

/// Places `from..from + len` of a tree that become `to..to + len`.
#[derive(Clone, Copy)]
struct Run {
    from: u32,
    to: u32,
    len: u32,
}

/// What a node has in some runs: the new places, and which of its instances they are.
struct Kept {
    places: Vec<u32>,
    instances: Vec<Range<u32>>,
}

/// Overflow records of one object node: shredded when all columns have been copied, for what keys are known decides
/// what is shredded.
struct Records<'a> {
    keys: &'a crate::strings::ByteVec,
    records: &'a crate::strings::ByteVec,
    kept: Kept,
    object: u32,
    array: u32,
    depth: usize,
}

/// Adds what follows in order to the last run, or begins another.
fn push_range(ranges: &mut Vec<Range<u32>>, more: Range<u32>) {
    match ranges.last_mut() {
        Some(last) if last.end == more.start => last.end = more.end,
        _ => ranges.push(more),
    }
}

impl Kept {
    fn of(presence: &Presence, runs: &[Run]) -> Self {
        // Room for as many as there may be: growing moves them again and again.
        let most = runs.iter().map(|run| run.len).sum::<u32>().min(presence.len());
        let mut kept = Self {
            places: Vec::with_capacity(most as usize),
            instances: Vec::new(),
        };
        for run in runs {
            let first = presence.rank(run.from);
            let end = presence.rank(run.from + run.len);
            if first < end {
                let places = &mut kept.places;
                presence.visit(run.from..run.from + run.len, |place| {
                    places.push(place - run.from + run.to)
                });
                push_range(&mut kept.instances, first..end);
            }
        }
        kept
    }

    fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

/// Whether a tree's columns may be copied behind what is shredded: a key that came after too many others stays in the
/// overflow, and is not to be a column's as well.
pub(crate) fn fits(shredder: &Shredder, tree: &Tree) -> bool {
    shredder.keys.len() + tree.keys.len() < MAX_KEYS
}

/// Appends these rows, ascending, of a column that [`fits`]; the first becomes row `first`.
pub(crate) fn append(shredder: &mut Shredder, tree: &Tree, rows: &[u32], first: u32) -> Result<()> {
    let mut runs: Vec<Run> = Vec::new();
    for (to, &from) in (first..).zip(rows) {
        match runs.last_mut() {
            Some(run) if run.from + run.len == from => run.len += 1,
            _ => runs.push(Run { from, to, len: 1 }),
        }
    }
    let mut keeping = Keeping {
        shredder,
        tree,
        records: Vec::new(),
    };
    for &root in &tree.roots {
        let kept = Kept::of(&tree.nodes[root as usize].presence, &runs);
        keeping.node(root, kept, &runs, At::Root, NONE, 0)?;
    }
    let Keeping { records, .. } = keeping;
    let mut buffer = Vec::new();
    for of_object in records {
        let mut instances = of_object.kept.instances.into_iter().flatten();
        for place in of_object.kept.places {
            let record = of_object.records.get(instances.next().unwrap_or(0) as usize);
            crate::sink::build(&mut buffer, tree.max_values, |sink| {
                replay(record, of_object.keys, sink)
            })?;
            let amax_jsonb::Value::Object(fields) = amax_jsonb::root(&buffer)? else {
                return corrupt("overflow record that is no object");
            };
            shredder.pairs(of_object.object, of_object.array, place, fields, of_object.depth)?;
        }
    }
    Ok(())
}

fn replay(record: &[u8], keys: &crate::strings::ByteVec, sink: &mut impl crate::sink::Sink) -> Result<()> {
    let mut pairs = Pairs::new(record, keys);
    sink.begin_object()?;
    while let Some(key) = pairs.next_key()? {
        sink.key(keys.get(key as usize))?;
        pairs.replay(sink)?;
    }
    sink.end_object()
}

struct Keeping<'a, 'b> {
    shredder: &'b mut Shredder,
    tree: &'a Tree,
    records: Vec<Records<'a>>,
}

impl<'a> Keeping<'a, '_> {
    /// Appends what a node has in `runs`.
    fn node(&mut self, node: u32, kept: Kept, runs: &[Run], at: At, array: u32, depth: usize) -> Result<()> {
        if kept.is_empty() {
            return Ok(());
        }
        let source = &self.tree.nodes[node as usize];
        let places = &kept.places;
        let count = places.len();
        self.shredder.room(12 * count)?;
        let id = self.shredder.node(at, array, source.kind);
        let target = &mut self.shredder.nodes[id as usize];
        target.places.extend_from_slice(places);
        self.shredder.bytes += 4 * count;
        match &source.body {
            Body::Leaf(values) => {
                let shred::Body::Leaf(target) = &mut target.body else {
                    return Err(Error::Misuse("not a leaf"));
                };
                self.shredder.bytes += target.take(values, &kept.instances)?;
                Ok(())
            }
            Body::Array { starts, alternatives } => {
                let shred::Body::Array {
                    starts: target, slots, ..
                } = &mut target.body
                else {
                    return Err(Error::Misuse("not an array node"));
                };
                let mut below: Vec<Run> = Vec::new();
                let first = *slots;
                for instances in &kept.instances {
                    let from = starts[instances.start as usize];
                    let len = starts[instances.end as usize] - from;
                    below.push(Run { from, to: *slots, len });
                    let of_range = &starts[instances.start as usize..instances.end as usize];
                    target.extend(of_range.iter().map(|start| start - from + *slots));
                    if u64::from(*slots) + u64::from(len) > u64::from(MAX_SLOTS) {
                        return Err(Error::Limit("elements of one array path"));
                    }
                    *slots += len;
                }
                let slots = *slots - first;
                self.shredder.bytes += 4 * count;
                let mut elements = 0;
                for &node in alternatives {
                    let kept = Kept::of(&self.tree.nodes[node as usize].presence, &below);
                    elements += kept.places.len();
                    self.node(node, kept, &below, At::Element(id), id, depth + 1)?;
                }
                match elements == slots as usize {
                    true => Ok(()),
                    false => corrupt("array element without a value"),
                }
            }
            Body::Object(object) => {
                for field in &object.fields {
                    let kept = Kept::of(&self.tree.nodes[field.node as usize].presence, runs);
                    if kept.is_empty() {
                        continue;
                    }
                    let Some(key) = self.shredder.find(id, self.tree.keys.get(field.key as usize)) else {
                        return Err(Error::Misuse("too many keys to copy"));
                    };
                    self.node(field.node, kept, runs, At::Key(key), array, depth + 1)?;
                }
                let rest = object.rest.map(|rest| &self.tree.nodes[rest as usize]);
                if let Some(rest) = rest {
                    let Body::Leaf(values) = &rest.body else {
                        return corrupt("overflow column without records");
                    };
                    let Values::Rest { keys, records } = &**values else {
                        return corrupt("overflow column without records");
                    };
                    self.records.push(Records {
                        keys,
                        records,
                        kept: Kept::of(&rest.presence, runs),
                        object: id,
                        array,
                        depth,
                    });
                }
                Ok(())
            }
        }
    }
}
