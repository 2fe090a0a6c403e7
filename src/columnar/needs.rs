//! Rows of which somebody reads a part that is known beforehand: no more of them is decoded.

use super::leaf::{Keys, OpenLeaf};
use super::row::Row;
use crate::pg::TupleDesc;
use amax_format::Part;
use pgrx::pg_sys;
use std::rc::Rc;

/// What is read of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    Nothing,
    /// What lies at some keys of its documents, by operators that give NULL where there is nothing.
    Part(Keys),
    All,
}

/// Of each attribute, if it has been read.
type Parts = Vec<Option<Rc<Part>>>;

pub struct Needs {
    /// Of each attribute.
    needs: Vec<Need>,
    /// The leaf of the last row, and the parts that have been read of it.
    of: Option<(Rc<OpenLeaf>, Parts)>,
}

impl Needs {
    pub fn new(needs: Vec<Need>) -> Needs {
        Needs { needs, of: None }
    }

    /// What is needed of a row's attribute (from 0), in the current memory context; NULL for what is not needed. A document
    /// that has nothing of a part is NULL too.
    pub fn attribute(&mut self, row: &Row, desc: &TupleDesc, at: usize) -> (pg_sys::Datum, bool) {
        match &self.needs[at] {
            Need::Nothing => return (pg_sys::Datum::null(), true),
            Need::Part(_) if at < row.leaf.width() => {}
            _ => return row.attribute(desc, at),
        }
        let part = self.part(&row.leaf, at);
        row.part(&part, desc, at)
    }

    fn part(&mut self, leaf: &Rc<OpenLeaf>, at: usize) -> Rc<Part> {
        let Needs { needs, of } = self;
        let known = of.take().filter(|(of, _)| Rc::ptr_eq(of, leaf));
        let (_, parts) = of.insert(known.unwrap_or_else(|| (leaf.clone(), vec![None; needs.len()])));
        let read = || match &needs[at] {
            Need::Part(keys) => leaf.part(at, keys),
            _ => unreachable!("a part is read where one is needed"),
        };
        parts[at].get_or_insert_with(read).clone()
    }
}
