//! What our paths and plans carry in custom_private: a Rust value each, as a flat list of nodes that PostgreSQL can copy,
//! print, read and send to workers. This is the one place where it is written and read.
//!
//! A list begins with a String, which says what is in it; Integers and other nodes follow in the order that the type
//! writes and reads them in.

use crate::pg::node::{Integer, Node, Nodes, new_string};
use crate::pg::plan::CustomScan;
use pgrx::prelude::*;
use std::ffi::CStr;

/// What a path or a plan carries.
pub trait Private<'a>: Sized {
    /// Says what it is; to be changed with what is written.
    const KIND: &'static CStr;

    fn write(&self, out: &mut Writer<'a>);

    /// The same, in the same order.
    fn read(from: &mut Reader<'a>) -> Self;

    /// As a custom_private.
    fn to_list(&self) -> Nodes<'a> {
        let mut out = Writer(Nodes::NONE);
        out.node(new_string(Self::KIND));
        self.write(&mut out);
        out.0
    }

    /// Of a custom_private, which has to be one of this type.
    fn of_list(list: Nodes<'a>) -> Self {
        let mut from = Reader {
            list,
            next: 0,
            kind: Self::KIND,
        };
        if from.node().string() != Some(Self::KIND) {
            from.fail();
        }
        let read = Self::read(&mut from);
        if from.next != list.len() {
            from.fail();
        }
        read
    }

    /// Of a plan.
    fn of_plan(plan: &'a CustomScan) -> Self {
        Self::of_list(plan.custom_private())
    }
}

pub struct Writer<'a>(Nodes<'a>);

impl<'a> Writer<'a> {
    pub fn node(&mut self, node: &'a Node) {
        self.0 = self.0.with(node);
    }

    pub fn int(&mut self, value: i32) {
        self.node(Integer::make(value));
    }

    /// A number of things, of which there are never as many as an Integer holds.
    pub fn count(&mut self, value: usize) {
        self.int(i32::try_from(value).expect("a plan is small"));
    }

    pub fn bool(&mut self, value: bool) {
        self.int(i32::from(value));
    }

    pub fn nodes(&mut self, nodes: &[&'a Node]) {
        self.count(nodes.len());
        nodes.iter().for_each(|node| self.node(node));
    }
}

pub struct Reader<'a> {
    list: Nodes<'a>,
    next: usize,
    kind: &'static CStr,
}

impl<'a> Reader<'a> {
    /// It is not what it should be: written by another version of the library, or not by us.
    fn fail(&self) -> ! {
        ereport!(
            ERROR,
            PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
            format!(
                "private data of a custom plan is not of kind \"{}\"",
                self.kind.to_string_lossy()
            ),
        );
    }

    pub fn node(&mut self) -> &'a Node {
        let is_list = self
            .list
            .as_node()
            .is_some_and(|list| list.tag() == pg_sys::NodeTag::T_List);
        let node = self.list.get(self.next).filter(|_| is_list);
        self.next += 1;
        node.unwrap_or_else(|| self.fail())
    }

    pub fn int(&mut self) -> i32 {
        let node = self.node();
        node.as_a::<Integer>().unwrap_or_else(|| self.fail()).ival()
    }

    pub fn count(&mut self) -> usize {
        usize::try_from(self.int()).unwrap_or_else(|_| self.fail())
    }

    pub fn bool(&mut self) -> bool {
        self.int() != 0
    }

    /// One of these, by its number.
    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        let number = self.count();
        *all.get(number).unwrap_or_else(|| self.fail())
    }

    pub fn nodes(&mut self) -> Vec<&'a Node> {
        (0..self.count()).map(|_| self.node()).collect()
    }
}
