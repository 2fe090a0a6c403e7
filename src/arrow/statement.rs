//! A COPY statement as the parser leaves it.

use std::ffi::CStr;

use pgrx::pg_sys;

use super::scope::Scope;
use super::tree;
use crate::pg::node::Node;
use crate::pg::parse::{CopyStmt, RawStmt};

/// A COPY statement; its tree is only read, as it may be a cached one.
#[derive(Clone, Copy)]
pub struct Statement<'a> {
    copy: &'a CopyStmt,
    place: Place,
}

/// Where a statement is in its source, in bytes.
#[derive(Clone, Copy)]
pub struct Place {
    start: i32,
    len: i32,
}

/// Where a COPY TO writes to.
#[derive(Clone, Copy)]
pub enum Destination<'a> {
    Client,
    File(&'a CStr),
    Program(&'a CStr),
}

impl<'a> Statement<'a> {
    /// None if it is another statement.
    ///
    /// # Safety
    /// A utility statement, which stays as it is for `'a`.
    pub unsafe fn of(planned: *const pg_sys::PlannedStmt) -> Option<Self> {
        // SAFETY: as the caller promises.
        let (node, start, len) = unsafe {
            (
                Node::of((*planned).utilityStmt),
                (*planned).stmt_location,
                (*planned).stmt_len,
            )
        };
        Some(Self {
            copy: node.as_a()?,
            place: Place { start, len },
        })
    }

    pub fn is_from(&self) -> bool {
        self.copy.is_from()
    }

    pub fn place(&self) -> Place {
        self.place
    }

    pub fn destination(&self) -> Destination<'a> {
        match self.copy.filename() {
            None => Destination::Client,
            Some(command) if self.copy.is_program() => Destination::Program(command),
            Some(name) => Destination::File(name),
        }
    }

    /// The options' names, and their values where those are plain words or strings.
    pub fn options(&self) -> impl Iterator<Item = (&'a CStr, Option<&'a CStr>)> + use<'a> {
        self.copy.words()
    }

    /// Whether an option is on.
    pub fn is_on(&self, name: &CStr) -> bool {
        self.copy.is_on(name)
    }

    /// The number that an option has. An error, unless its value is one.
    pub fn number(&self, name: &CStr) -> i64 {
        self.copy.number(name)
    }

    /// For the tables of COPY FROM.
    pub fn copy(&self) -> &'a CopyStmt {
        self.copy
    }

    /// The table that is copied, if it is not a query.
    pub fn table(&self) -> Option<&'a pg_sys::RangeVar> {
        self.copy.table()
    }

    /// For PostgreSQL's functions: the columns that are listed.
    pub fn attributes(&self) -> *mut pg_sys::List {
        // SAFETY: a field of the struct.
        unsafe { (*self.copy.raw()).attlist }
    }

    /// The query that is copied, if it is not a table.
    pub fn query(&self, scope: Scope<'a>) -> &'a RawStmt {
        let query = self.copy.query().expect("a query or a table is copied");
        raw(query.copy(), self.place, scope)
    }
}

/// A statement for analysis, which scribbles on it.
pub fn raw<'a>(tree: &'a Node, place: Place, _scope: Scope<'a>) -> &'a RawStmt {
    // SAFETY: the tag is that of the struct, which lives as long as the scope.
    unsafe {
        let statement = tree::node::<pg_sys::RawStmt>(pg_sys::NodeTag::T_RawStmt);
        (*statement).stmt = tree.raw();
        (*statement).stmt_location = place.start;
        (*statement).stmt_len = place.len;
        RawStmt::of(statement)
    }
}
