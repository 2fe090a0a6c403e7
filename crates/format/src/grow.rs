//! From decoded columns to a [`Tree`]: the arrays' lengths and numbering, which each column knows only for
//! its own values, are joined top down.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::budget::Budget;
use crate::error::{Error, Result, corrupt};
use crate::levels::ListLevel;
use crate::load::Loaded;
use crate::presence::Presence;
use crate::schema::{Body as SchemaBody, Node as SchemaNode};
use crate::tree::{Body, Field, Tree};

/// How a shape's own numbering of elements maps to the slots of the array it is in.
#[derive(Clone)]
enum Map {
    Same,
    /// Per array instance of the shape: its first element in the shape's numbering and its first slot.
    Pieces(Arc<Vec<u32>>, Arc<Vec<u32>>),
}

impl Map {
    /// Maps ascending elements.
    fn apply(&self, places: impl Iterator<Item = u32>) -> Vec<u32> {
        match self {
            Self::Same => places.collect(),
            Self::Pieces(from, to) => {
                let mut piece = 0;
                places
                    .map(|place| {
                        while piece + 1 < to.len() && from[piece + 1] <= place {
                            piece += 1;
                        }
                        to[piece] + (place - from[piece])
                    })
                    .collect()
            }
        }
    }
}

type Maps = HashMap<u32, Map>;

pub(crate) struct Grower<'a> {
    pub(crate) tree: Tree,
    pub(crate) columns: &'a HashMap<u32, Loaded>,
    pub(crate) budget: &'a mut Budget,
}

impl Grower<'_> {
    /// Makes the alternatives of a place; those without a loaded column are left out.
    pub(crate) fn roots(&mut self, nodes: &[SchemaNode], rows: u32) -> Result<Vec<u32>> {
        self.place(nodes, rows, 0, &Maps::new())
    }

    fn place(&mut self, nodes: &[SchemaNode], universe: u32, depth: usize, maps: &Maps) -> Result<Vec<u32>> {
        nodes
            .iter()
            .filter(|node| node.columns.clone().any(|c| self.columns.contains_key(&c)))
            .map(|node| self.node(node, universe, depth, maps))
            .collect()
    }

    fn node(&mut self, node: &SchemaNode, universe: u32, depth: usize, maps: &Maps) -> Result<u32> {
        amax_memory::check("decoding a column")?;
        match &node.body {
            SchemaBody::Leaf => self.leaf(node.columns.start, node.kind, universe, maps),
            SchemaBody::Array(elements) => self.array(node, elements, universe, depth, maps),
            SchemaBody::Object { keys, rest } => {
                let mut fields = Vec::new();
                for key in keys {
                    if !key
                        .alternatives
                        .iter()
                        .any(|n| n.columns.clone().any(|c| self.columns.contains_key(&c)))
                    {
                        continue;
                    }
                    let name = self.tree.push_key(&key.name)?;
                    for node in self.place(&key.alternatives, universe, depth, maps)? {
                        fields.push(Field { key: name, node });
                    }
                }
                let rest = match rest {
                    Some(column) if self.columns.contains_key(column) => {
                        Some(self.leaf(*column, crate::kind::Kind::Rest, universe, maps)?)
                    }
                    _ => None,
                };
                Ok(self.tree.push_object(universe, fields, rest))
            }
        }
    }

    fn leaf(&mut self, column: u32, kind: crate::kind::Kind, universe: u32, maps: &Maps) -> Result<u32> {
        let loaded = &self.columns[&column];
        let presence = match maps.get(&loaded.shape_id).unwrap_or(&Map::Same) {
            Map::Same if same_universe(&loaded.shape.leaf, universe) => loaded.shape.leaf.clone(),
            map => {
                self.budget.take(loaded.shape.leaf.len() as usize * 4)?;
                let places = map.apply(loaded.shape.leaf.iter());
                if places.last().is_some_and(|&last| last >= universe) {
                    return corrupt("value outside its array");
                }
                Arc::new(Presence::new(places, universe))
            }
        };
        Ok(self.tree.push(kind, presence, Body::Leaf(loaded.values.clone())))
    }

    fn array(
        &mut self,
        node: &SchemaNode,
        elements: &[SchemaNode],
        universe: u32,
        depth: usize,
        maps: &Maps,
    ) -> Result<u32> {
        let mut shapes: Vec<(u32, ListLevel)> = Vec::new();
        let mut seen = hashbrown::HashSet::new();
        for column in node.columns.clone() {
            if let Some(loaded) = self.columns.get(&column)
                && seen.insert(loaded.shape_id)
            {
                let Some(list) = loaded.shape.lists.get(depth) else {
                    return corrupt("column below an array without its levels");
                };
                shapes.push((loaded.shape_id, list.clone()));
            }
        }
        let mut below = Maps::with_capacity(shapes.len());
        let (places, starts) = if let [(id, list)] = &shapes[..] {
            below.insert(*id, Map::Same);
            let map = maps.get(id).unwrap_or(&Map::Same);
            let places = match map {
                Map::Same => list.places.clone(),
                map => Arc::new(map.apply(list.places.iter().copied())),
            };
            (places, list.starts.clone())
        } else {
            self.join(&shapes, universe, maps, &mut below)?
        };
        if places.last().is_some_and(|&last| last >= universe) {
            return corrupt("array outside the array above");
        }
        let slots = starts.last().copied().unwrap_or(0);
        let alternatives = self.place(elements, slots, depth + 1, &below)?;
        self.budget.take(places.len() * 4)?;
        let presence = Arc::new(Presence::new(places.to_vec(), universe));
        Ok(self
            .tree
            .push(crate::kind::Kind::Array, presence, Body::Array { starts, alternatives }))
    }

    /// Joins what several shapes know of one array: an instance is there if any has it, and as long as the
    /// longest.
    #[allow(clippy::type_complexity)]
    fn join(
        &mut self,
        shapes: &[(u32, ListLevel)],
        universe: u32,
        maps: &Maps,
        below: &mut Maps,
    ) -> Result<(Arc<Vec<u32>>, Arc<Vec<u32>>)> {
        let total: usize = shapes.iter().map(|(_, list)| list.places.len()).sum();
        self.budget.take(total * 16)?;
        let mapped: Vec<Vec<u32>> = shapes
            .iter()
            .map(|(id, list)| maps.get(id).unwrap_or(&Map::Same).apply(list.places.iter().copied()))
            .collect();
        let lengths = |list: &ListLevel, i: usize| list.starts[i + 1] - list.starts[i];
        // The longest of each instance: by place where places are few enough, else by sorting.
        let mut joined: Vec<(u32, u32)> = Vec::new();
        if (universe as usize) <= total.saturating_mul(4) {
            let mut longest = vec![0u32; universe as usize];
            for ((_, list), places) in shapes.iter().zip(&mapped) {
                for (i, &place) in places.iter().enumerate() {
                    match longest.get_mut(place as usize) {
                        Some(longest) => *longest = (*longest).max(lengths(list, i)),
                        None => return corrupt("array outside the array above"),
                    }
                }
            }
            joined.extend((0..).zip(longest).filter(|&(_, n)| n > 0));
        } else {
            for ((_, list), places) in shapes.iter().zip(&mapped) {
                joined.extend(places.iter().enumerate().map(|(i, &place)| (place, lengths(list, i))));
            }
            joined.sort_unstable_by_key(|&(place, n)| (place, std::cmp::Reverse(n)));
            joined.dedup_by_key(|&mut (place, _)| place);
        }
        let mut starts = Vec::with_capacity(joined.len() + 1);
        let mut slots = 0u32;
        for &(_, n) in &joined {
            starts.push(slots);
            slots = slots.checked_add(n).ok_or(Error::Limit("elements of one array path"))?;
        }
        starts.push(slots);
        for ((id, list), places) in shapes.iter().zip(&mapped) {
            let mut at = 0;
            let to = places
                .iter()
                .map(|&place| {
                    while joined[at].0 < place {
                        at += 1;
                    }
                    starts[at]
                })
                .collect();
            below.insert(*id, Map::Pieces(list.starts.clone(), Arc::new(to)));
        }
        Ok((
            Arc::new(joined.into_iter().map(|(place, _)| place).collect()),
            Arc::new(starts),
        ))
    }
}

/// Whether a presence already is over `universe` places, or cannot tell.
fn same_universe(presence: &Presence, universe: u32) -> bool {
    match presence {
        Presence::All(n) => *n == universe,
        Presence::Bits { words, .. } => words.len() == (universe as usize).div_ceil(64),
        Presence::List(_) => true,
    }
}
