//! Arrays taken apart: their elements have places already, objects' fields get them in `fields`.

use std::sync::Arc;

use crate::dense::Dense;
use crate::error::{Result, corrupt};
use crate::presence::Presence;
use crate::tag::Tag;
use crate::tree::{Body, Tree};

/// Arrays or objects taken apart.
pub(crate) struct Taken {
    /// The first element of each place's array, and the number of elements.
    pub(crate) starts: Vec<u32>,
    /// The alternatives of an element.
    pub(crate) alternatives: Vec<u32>,
    /// One place per element.
    pub(crate) keys: Dense,
}

/// Makes starts of numbers of elements, each one place behind its own; how many elements there are.
pub(crate) fn sum_up(starts: &mut [u32]) -> u32 {
    let mut n = 0;
    for start in starts {
        n += *start;
        *start = n;
    }
    n
}

/// An array's slots are in the order of its places. Those of several arrays get places anew.
pub(crate) fn elements(tree: &mut Tree, arrays: &[u32], places: u32) -> Result<Taken> {
    let mut starts = vec![0u32; places as usize + 1];
    let mut found = Vec::with_capacity(arrays.len());
    for &array in arrays {
        let node = &tree.nodes[array as usize];
        let Body::Array {
            starts: slots,
            alternatives,
        } = &node.body
        else {
            return corrupt("array is none");
        };
        for (place, slots) in node.presence.iter().zip(slots.windows(2)) {
            starts[place as usize + 1] = slots[1] - slots[0];
        }
        found.push((node.presence.clone(), alternatives.clone()));
    }
    let n = sum_up(&mut starts);
    let mut elements = Vec::new();
    if let [(_, alternatives)] = &mut found[..] {
        elements = std::mem::take(alternatives);
    } else {
        for (presence, alternatives) in found {
            let of = |place| starts[place as usize]..starts[place as usize + 1];
            let to: Vec<u32> = presence.iter().flat_map(of).collect();
            let from = Presence::All(to.len() as u32);
            let to_place = |node| moved(tree, node, &from, &to, n);
            elements.extend(alternatives.into_iter().map(to_place));
        }
    }
    Ok(Taken {
        starts,
        alternatives: elements,
        keys: Dense::filled(n as usize, Tag::Missing),
    })
}

/// A copy of a node, and of those below down to arrays, at other places: those of `from` move, in their order, to those
/// in `to`.
pub(crate) fn moved(tree: &mut Tree, node: u32, from: &Presence, to: &[u32], universe: u32) -> u32 {
    let mut copy = tree.nodes[node as usize].clone();
    let places = copy.presence.iter().filter_map(|place| from.get(place));
    let places = places.map(|rank| to[rank as usize]).collect();
    if let Body::Object(object) = &mut copy.body {
        for field in &mut object.fields {
            field.node = moved(tree, field.node, from, to, universe);
        }
        object.rest = object.rest.map(|rest| moved(tree, rest, from, to, universe));
    }
    let presence = Arc::new(Presence::new(places, universe));
    tree.push(copy.kind, presence, copy.body)
}
