//! What an aggregate's plan tells its node, apart from expressions: by the plan's custom_private.

use super::top::Top;
use crate::query::expr::tree::{list, nodes};
use pgrx::pg_sys::*;

/// The node by itself, or one of the two parts of a parallel aggregate, below and above a Gather node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Whole,
    Lower,
    Upper,
}

/// Of a node with so many keys; see the functions below. `part` is a [`Part`] as a plan's integer.
pub unsafe fn for_plan(keys: usize, part: *mut Integer, top: Option<Top>) -> *mut List {
    let top = top.map_or(std::ptr::null_mut(), |top| top.to_list());
    list([
        makeInteger(keys as i32) as *mut Node,
        part as *mut Node,
        top as *mut Node,
    ])
}

/// How many of the node's entries are keys; the others are aggregates, and the lower part's last one is its output.
pub unsafe fn number_of_keys(plan: *mut CustomScan) -> usize {
    (*(nodes((*plan).custom_private)[0] as *mut Integer)).ival as usize
}

pub unsafe fn top_of(plan: *mut CustomScan) -> Option<Top> {
    Top::of_list(nodes((*plan).custom_private)[2] as *mut List)
}

pub unsafe fn part_of(plan: *mut CustomScan) -> Part {
    let part = nodes((*plan).custom_private)[1] as *mut Integer;
    [Part::Whole, Part::Lower, Part::Upper][(*part).ival as usize]
}
