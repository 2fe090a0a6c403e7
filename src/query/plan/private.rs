//! What our paths and plans carry in custom_private: a Rust value each, as a flat list of nodes that PostgreSQL can copy,
//! print, read and send to workers. This is the one place where it is written and read.
//!
//! A list begins with a String, which says what is in it; Integers and other nodes follow in the order that the type
//! writes and reads them in.

use crate::query::expr::tree::is_a;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::{CStr, c_void};

/// What a path or a plan carries.
pub trait Private: Sized {
    /// Says what it is; to be changed with what is written.
    const KIND: &'static CStr;
    /// # Safety
    /// What the planner hands over.
    unsafe fn write(&self, out: &mut Writer);
    /// The same, in the same order.
    unsafe fn read(from: &mut Reader) -> Self;

    /// As a custom_private.
    unsafe fn to_list(&self) -> *mut pg_sys::List {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let mut out = Writer(std::ptr::null_mut());
            out.node(pg_sys::makeString(pg_sys::pstrdup(Self::KIND.as_ptr())) as *mut pg_sys::Node);
            self.write(&mut out);
            out.0
        }
    }

    /// Of a custom_private, which has to be one of this type.
    ///
    /// # Safety
    /// What the planner hands over.
    unsafe fn of_list(list: *mut pg_sys::List) -> Self {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let mut from = Reader {
                list,
                next: 0,
                kind: Self::KIND,
            };
            let kind = from.typed(pg_sys::NodeTag::T_String) as *mut pg_sys::String;
            if CStr::from_ptr((*kind).sval) != Self::KIND {
                from.fail();
            }
            let read = Self::read(&mut from);
            if from.next != from.len() {
                from.fail();
            }
            read
        }
    }

    /// Of a plan.
    ///
    /// # Safety
    /// What the planner hands over.
    unsafe fn of_plan(plan: *mut pg_sys::CustomScan) -> Self {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe { Self::of_list((*plan).custom_private) }
    }
}

pub struct Writer(*mut pg_sys::List);

impl Writer {
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn node(&mut self, node: *mut pg_sys::Node) {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            self.0 = pg_sys::lappend(self.0, node as *mut c_void);
        }
    }
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn int(&mut self, value: i32) {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            self.node(pg_sys::makeInteger(value) as *mut pg_sys::Node);
        }
    }

    /// A number of things, of which there are never as many as an Integer holds.
    ///
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn count(&mut self, value: usize) {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            self.int(i32::try_from(value).expect("a plan is small"));
        }
    }
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn bool(&mut self, value: bool) {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            self.int(i32::from(value));
        }
    }
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn nodes(&mut self, nodes: &[*mut pg_sys::Node]) {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            self.count(nodes.len());
            for &node in nodes {
                self.node(node);
            }
        }
    }
}

pub struct Reader {
    list: *mut pg_sys::List,
    next: usize,
    kind: &'static CStr,
}

impl Reader {
    /// # Safety
    /// What the planner hands over.
    unsafe fn len(&self) -> usize {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe { self.list.as_ref().map_or(0, |list| list.length as usize) }
    }

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
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn node(&mut self) -> *mut pg_sys::Node {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            if self.next >= self.len() || !is_a(self.list as *mut pg_sys::Node, pg_sys::NodeTag::T_List) {
                self.fail();
            }
            self.next += 1;
            (*(*self.list).elements.add(self.next - 1)).ptr_value as *mut pg_sys::Node
        }
    }
    /// # Safety
    /// What the planner hands over.
    unsafe fn typed(&mut self, tag: pg_sys::NodeTag) -> *mut pg_sys::Node {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let node = self.node();
            if !is_a(node, tag) {
                self.fail();
            }
            node
        }
    }
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn int(&mut self) -> i32 {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe { (*(self.typed(pg_sys::NodeTag::T_Integer) as *mut pg_sys::Integer)).ival }
    }
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn count(&mut self) -> usize {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe { usize::try_from(self.int()).unwrap_or_else(|_| self.fail()) }
    }
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn bool(&mut self) -> bool {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe { self.int() != 0 }
    }

    /// One of these, by its number.
    ///
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let number = self.count();
            *all.get(number).unwrap_or_else(|| self.fail())
        }
    }
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn nodes(&mut self) -> Vec<*mut pg_sys::Node> {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe { (0..self.count()).map(|_| self.node()).collect() }
    }
}
