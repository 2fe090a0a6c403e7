//! COPY TO of a table (copyto.c), which sees it as we say.

use super::parse::CopyStmt;
use super::relation::Relation;
use super::tupdesc::{Attribute, TupleDesc, attribute};
use pgrx::pg_sys;
use std::ffi::CStr;

/// A table as COPY TO sees it: all is that of the relcache entry, but for the types of some attributes, and the callbacks
/// that make a slot and begin a scan.
#[repr(C)]
pub struct Posed<'a> {
    entry: pg_sys::RelationData,
    table: &'a Relation,
}

impl<'a> Posed<'a> {
    /// `shown` says how attributes are shown, each with its number: the slot's callbacks make them so.
    pub fn new(
        table: &'a Relation,
        routine: &'static pg_sys::TableAmRoutine,
        shown: impl Fn(&Attribute) -> Shown,
    ) -> Posed<'a> {
        // SAFETY: an open relation, of which the copy is not used for longer; the copied descriptor, which nobody else has yet,
        // has as many attributes. Physically they stay what they are: row pages' tuples are taken apart by that.
        unsafe {
            let desc = pg_sys::CreateTupleDescCopyConstr(table.desc().raw());
            for at in 0..table.desc().natts() {
                let ty = &mut (*attribute(desc, at)).atttypid;
                match shown(table.desc().attribute(at)) {
                    Shown::AsIs => {}
                    Shown::Text => *ty = pg_sys::CSTRINGOID,
                    Shown::Not => *ty = pg_sys::InvalidOid,
                }
            }
            let entry = pg_sys::RelationData {
                rd_att: desc,
                rd_tableam: routine,
                ..*table.raw()
            };
            Posed { entry, table }
        }
    }

    /// What DoCopy() does once all that it checks is known to be as it should: the number of rows.
    ///
    /// # Safety
    /// A statement that copies the table to somewhere, in an active snapshot; the environment is the statement's, or null.
    pub unsafe fn copy_to(
        &mut self,
        statement: &CopyStmt,
        source: &CStr,
        environment: *mut pg_sys::QueryEnvironment,
    ) -> u64 {
        // SAFETY: as the caller promises. COPY only reads the entry, and holds no reference to it: the scan is of the table.
        unsafe {
            let copy = statement.raw();
            let parse = pg_sys::make_parsestate(std::ptr::null_mut());
            (*parse).p_sourcetext = source.as_ptr();
            (*parse).p_queryEnv = environment;
            let state = pg_sys::BeginCopyTo(
                parse,
                // Of all of it: `table_of` goes from there to the table.
                std::ptr::from_mut(self).cast(),
                std::ptr::null_mut(),
                self.table.id(),
                (*copy).filename,
                (*copy).is_program,
                #[cfg(not(feature = "pg15"))]
                None,
                (*copy).attlist,
                (*copy).options,
            );
            let rows = pg_sys::DoCopyTo(state);
            pg_sys::EndCopyTo(state);
            pg_sys::free_parsestate(parse);
            pg_sys::FreeTupleDesc(self.entry.rd_att);
            rows
        }
    }
}

/// The table that a relation is which COPY has been shown.
///
/// # Safety
/// The entry of a [`Posed`].
pub unsafe fn table_of<'a>(entry: pg_sys::Relation) -> &'a Relation {
    // SAFETY: as the caller promises: it is the first field.
    unsafe { (*entry.cast::<Posed>()).table }
}

/// How an attribute is shown to COPY.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    AsIs,
    /// A document as a C string.
    Text,
    /// Not at all: it is NULL, as nobody asks for it.
    Not,
}

/// How it is in such a descriptor. Dropped attributes have no type.
pub fn shown(desc: &TupleDesc, at: usize) -> Shown {
    match desc.attribute(at).atttypid {
        pg_sys::CSTRINGOID => Shown::Text,
        pg_sys::InvalidOid => Shown::Not,
        _ => Shown::AsIs,
    }
}

/// A document as jsonb_out() prints it, in the current memory context.
///
/// # Safety
/// A jsonb, not NULL.
pub unsafe fn printed(document: pg_sys::Datum) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    let text = unsafe { pgrx::direct_function_call_as_datum(pg_sys::jsonb_out, &[Some(document)]) };
    text.expect("jsonb_out() returns text")
}

/// Whether the user has a role's privileges.
pub fn user_has_role(role: u32) -> bool {
    // SAFETY: it looks both roles up.
    unsafe { pg_sys::has_privs_of_role(pg_sys::GetUserId(), pg_sys::Oid::from(role)) }
}

/// Whether somebody else has a say in who may read: DoCopy() asks.
pub fn has_other_checks() -> bool {
    // SAFETY: a hook, which is looked at.
    unsafe { (&raw const pg_sys::ExecutorCheckPerms_hook).read().is_some() }
}
