//! Making overflow columns: the fields of an object that were not selected, as one record per object.

use std::sync::Arc;

use amax_jsonb::Value as Json;

use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::presence::Presence;
use crate::select::{Selection, present};
use crate::shred::{Body, NONE, Shredder};
use crate::sink::Sink;
use crate::strings::ByteVec;
use crate::tokens::{TokenSink, replay_jsonb};
use crate::tree::{self, Field, Tree, key_order};
use crate::values::Values;

/// An overflow column: where objects have overflowing fields, and the records.
pub(crate) struct Overflow {
    pub(crate) places: Vec<u32>,
    pub(crate) values: Values,
}

/// Moves the fields of object `node` that are not selected out of the shredder; `None` if there are none.
pub(crate) fn take(shredder: &mut Shredder, node: u32, selection: &Selection, rows: u32) -> Result<Option<Overflow>> {
    let array = shredder.nodes[node as usize].array;
    let universe = universe_of(shredder, array, rows);
    let Body::Object { keys, late, .. } = &shredder.nodes[node as usize].body else {
        return Err(Error::Misuse("overflow of a node that is not an object"));
    };
    let (keys, late) = (keys.clone(), *late);
    let mut out: Vec<(u32, u32)> = Vec::new();
    for key in keys {
        for node in present(&shredder.keys[key as usize].alternatives) {
            if !selection.keeps(node) {
                out.push((key, node));
            }
        }
    }
    if out.is_empty() && late == NONE {
        return Ok(None);
    }
    let dictionary = dictionary(shredder, &out, late)?;
    let mut maker = Maker {
        rows,
        tree: Tree::default(),
        dictionary,
    };
    let root = maker.object(shredder, universe, out, late)?;
    let Maker { tree, dictionary, .. } = maker;
    let tree::Body::Object(object) = &tree.nodes[root as usize].body else {
        return Err(Error::Misuse("overflow root is not an object"));
    };
    let presence = &tree.nodes[root as usize].presence;
    let mut records = ByteVec::default();
    let mut sink = TokenSink {
        out: Vec::new(),
        keys: &dictionary.ids,
    };
    let places: Vec<u32> = presence.iter().collect();
    for (instance, &place) in places.iter().enumerate() {
        amax_memory::check(WHAT)?;
        tree.emit_fields(object, place, instance as u32, &mut sink)?;
        records.push(&sink.out)?;
        sink.out.clear();
    }
    Ok(Some(Overflow {
        places,
        values: Values::Rest {
            keys: dictionary.keys,
            records,
        },
    }))
}

/// What memory is asked for.
const WHAT: &str = "fields in the overflow column";

/// Slots of `array`, or rows.
pub(crate) fn universe_of(shredder: &Shredder, array: u32, rows: u32) -> u32 {
    match shredder.nodes.get(array as usize).map(|n| &n.body) {
        Some(Body::Array { slots, .. }) => *slots,
        _ => rows,
    }
}

struct Dictionary {
    keys: ByteVec,
    ids: hashbrown::HashMap<Vec<u8>, u32>,
}

/// All keys below the given nodes, in jsonb's order.
fn dictionary(shredder: &Shredder, nodes: &[(u32, u32)], late: u32) -> Result<Dictionary> {
    let mut names: Vec<Vec<u8>> = Vec::new();
    let mut pending: Vec<u32> = nodes.iter().map(|&(_, node)| node).collect();
    names.extend(nodes.iter().map(|&(key, _)| shredder.keys[key as usize].name.to_vec()));
    let mut late_keys = vec![late];
    while let Some(node) = pending.pop() {
        amax_memory::check(WHAT)?;
        match &shredder.nodes[node as usize].body {
            Body::Leaf(_) => {}
            Body::Array { alternatives, .. } => pending.extend(present(alternatives)),
            Body::Object { keys, late, .. } => {
                late_keys.push(*late);
                for &key in keys {
                    let key = &shredder.keys[key as usize];
                    names.push(key.name.to_vec());
                    pending.extend(present(&key.alternatives));
                }
            }
        }
    }
    for key in late_keys.into_iter().filter(|&key| key != NONE) {
        let node = shredder.keys[key as usize].alternatives[Kind::Raw as usize];
        if let Some(Body::Leaf(values)) = shredder.nodes.get(node as usize).map(|n| &n.body) {
            let Values::Bytes(payloads) = values else {
                continue;
            };
            for payload in payloads.iter() {
                collect_keys(amax_jsonb::root(payload)?, &mut names, 0)?;
            }
            names.sort_unstable();
            names.dedup();
        }
    }
    names.sort_unstable_by(|a, b| key_order(a, b));
    names.dedup();
    let mut keys = ByteVec::default();
    amax_memory::ask(names.len() * 2 * size_of::<(Vec<u8>, u32)>(), WHAT)?;
    let mut ids = hashbrown::HashMap::with_capacity(names.len());
    for name in names {
        keys.push(&name)?;
        ids.insert(name, keys.len() as u32 - 1);
    }
    Ok(Dictionary { keys, ids })
}

fn collect_keys(value: Json<'_>, names: &mut Vec<Vec<u8>>, depth: usize) -> Result<()> {
    if depth >= crate::tokens::MAX_DEPTH {
        return Ok(());
    }
    match value {
        Json::Object(c) => {
            for pair in c.pairs() {
                let (key, value) = pair?;
                amax_memory::reserve(names, 1, WHAT)?;
                names.push(key.to_vec());
                collect_keys(value, names, depth + 1)?;
            }
        }
        Json::Array(c) => {
            for element in c.elements() {
                collect_keys(element?, names, depth + 1)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Makes a [`Tree`] of what overflows.
struct Maker {
    rows: u32,
    tree: Tree,
    dictionary: Dictionary,
}

impl Maker {
    fn object(&mut self, shredder: &mut Shredder, universe: u32, mut out: Vec<(u32, u32)>, late: u32) -> Result<u32> {
        out.sort_unstable_by(|&(a, m), &(b, n)| {
            key_order(&shredder.keys[a as usize].name, &shredder.keys[b as usize].name).then(m.cmp(&n))
        });
        amax_memory::check(WHAT)?;
        let mut fields = Vec::with_capacity(out.len());
        for (key, node) in out {
            let name = self.tree.push_key(&shredder.keys[key as usize].name)?;
            fields.push(Field {
                key: name,
                node: self.node(shredder, node)?,
            });
        }
        let rest = if late == NONE {
            None
        } else {
            Some(self.late(shredder, universe, late)?)
        };
        Ok(self.tree.push_object(universe, fields, rest))
    }

    fn node(&mut self, shredder: &mut Shredder, node: u32) -> Result<u32> {
        amax_memory::check(WHAT)?;
        let source = &mut shredder.nodes[node as usize];
        let (kind, array) = (source.kind, source.array);
        match &mut source.body {
            Body::Leaf(values) => {
                let values = std::mem::replace(values, Values::None);
                let places = std::mem::take(&mut source.places);
                let universe = universe_of(shredder, array, self.rows);
                let presence = Presence::new(places, universe);
                Ok(self
                    .tree
                    .push(kind, Arc::new(presence), tree::Body::Leaf(Arc::new(values))))
            }
            Body::Array {
                starts,
                slots,
                alternatives,
            } => {
                let mut starts = std::mem::take(starts);
                starts.push(*slots);
                let alternatives = *alternatives;
                let places = std::mem::take(&mut source.places);
                let universe = universe_of(shredder, array, self.rows);
                let alternatives = present(&alternatives)
                    .map(|node| self.node(shredder, node))
                    .collect::<Result<Vec<_>>>()?;
                let body = tree::Body::Array {
                    starts: Arc::new(starts),
                    alternatives,
                };
                Ok(self.tree.push(kind, Arc::new(Presence::new(places, universe)), body))
            }
            Body::Object { keys, late, .. } => {
                let (keys, late) = (std::mem::take(keys), *late);
                let universe = universe_of(shredder, array, self.rows);
                let out = keys
                    .iter()
                    .flat_map(|&key| present(&shredder.keys[key as usize].alternatives).map(move |node| (key, node)))
                    .collect();
                self.object(shredder, universe, out, late)
            }
        }
    }

    /// The pairs whose keys came too late, as an overflow column of their own.
    fn late(&mut self, shredder: &mut Shredder, universe: u32, key: u32) -> Result<u32> {
        let node = shredder.keys[key as usize].alternatives[Kind::Raw as usize];
        let source = &mut shredder.nodes[node as usize];
        let places = std::mem::take(&mut source.places);
        let mut records = ByteVec::default();
        if let Body::Leaf(Values::Bytes(payloads)) = &source.body {
            let mut sink = TokenSink {
                out: Vec::new(),
                keys: &self.dictionary.ids,
            };
            for payload in payloads.iter() {
                if let Json::Object(c) = amax_jsonb::root(payload)? {
                    for pair in c.pairs() {
                        let (key, value) = pair?;
                        sink.key(key)?;
                        replay_jsonb(value, &mut sink, 1)?;
                    }
                }
                records.push(&sink.out)?;
                sink.out.clear();
            }
        }
        let values = Values::Rest {
            keys: self.dictionary.keys.clone(),
            records,
        };
        let presence = Presence::new(places, universe);
        Ok(self
            .tree
            .push(Kind::Rest, Arc::new(presence), tree::Body::Leaf(Arc::new(values))))
    }
}
