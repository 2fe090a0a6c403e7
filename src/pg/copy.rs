//! COPY of PostgreSQL's with other ends: COPY TO of a table (copyto.c), which sees it as we say, and COPY FROM (copyfrom.c) of
//! text that we make.

use super::node::{Node, Nodes, new_string};
use super::parse::CopyStmt;
use super::relation::Relation;
use super::tupdesc::{Attribute, TupleDesc, attribute, name_bytes, name_of};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode, pg_guard, pg_sys};
use std::ffi::{CStr, c_int, c_void};

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
            let parse = parse_state(source, environment);
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

/// Where COPY FROM gets its bytes: it fills a part of what it is given, at least so many, or says 0 at the end.
pub type Source<'a> = &'a mut dyn FnMut(&mut [u8]) -> usize;

/// That of the COPY which is running; the callback has no argument for it.
static mut SOURCE: Option<Source<'static>> = None;

/// Puts the source of the COPY around it back, also after an error.
struct Outer(Option<Source<'static>>);

impl Drop for Outer {
    fn drop(&mut self) {
        // SAFETY: a session has one thread.
        unsafe { SOURCE = self.0.take() }
    }
}

/// # Safety
/// As COPY calls it: room for so many bytes.
#[pg_guard]
unsafe extern "C-unwind" fn next_bytes(to: *mut c_void, _least: c_int, most: c_int) -> c_int {
    // SAFETY: as the caller promises. A COPY within one of this one's triggers has put the source back when we are asked again;
    // meanwhile nobody has it.
    unsafe {
        let source = (&raw mut SOURCE).read();
        let source = source.expect("COPY runs with a source");
        let to = std::slice::from_raw_parts_mut(to.cast::<u8>(), most as usize);
        source(to) as c_int
    }
}

/// A COPY FROM with text in UTF-8 of a source: privileges and policies, WHERE, and all that rows go through are as DoCopy() has them.
pub struct CopyFrom<'a> {
    table: &'a Relation,
    parse: *mut pg_sys::ParseState,
    item: *mut pg_sys::ParseNamespaceItem,
    condition: *mut pg_sys::Node,
}

impl<'a> CopyFrom<'a> {
    /// All that is checked before the source is opened; `listed` are the columns that the statement lists, if it does.
    ///
    /// # Safety
    /// A statement that copies from somewhere to the table, which is locked for it; the environment is the statement's, or null.
    pub unsafe fn begin(
        table: &'a Relation,
        statement: &CopyStmt,
        text: (&CStr, *mut pg_sys::QueryEnvironment),
        listed: &[i16],
    ) -> CopyFrom<'a> {
        require_writable(table);
        let (lock, none) = (pg_sys::RowExclusiveLock as c_int, std::ptr::null_mut());
        // SAFETY: as the caller promises.
        unsafe {
            let parse = parse_state(text.0, text.1);
            let item = pg_sys::addRangeTableEntryForRelation(parse, table.raw(), lock, none, false, false);
            // Before the condition, which adds to it.
            (*rights(item)).requiredPerms = pg_sys::ACL_INSERT as pg_sys::AclMode;
            let condition = condition(parse, item, table, (*statement.raw()).whereClause);
            let copy = CopyFrom {
                table,
                parse,
                item,
                condition,
            };
            copy.check_rights(listed);
            refuse_policies(table);
            copy
        }
    }

    /// Whether the user may insert into these columns, or any, if there are none; and read what the condition does.
    pub fn check_rights(&self, columns: &[i16]) {
        // SAFETY: the item is the table's, the only one.
        unsafe {
            let rights = rights(self.item);
            for &column in columns {
                let at = c_int::from(column) - pg_sys::FirstLowInvalidHeapAttributeNumber;
                (*rights).insertedCols = pg_sys::bms_add_member((*rights).insertedCols, at);
            }
            #[cfg(feature = "pg15")]
            pg_sys::ExecCheckRTPerms((*self.parse).p_rtable, true);
            #[cfg(not(feature = "pg15"))]
            pg_sys::ExecCheckPermissions((*self.parse).p_rtable, (*self.parse).p_rteperminfos, true);
        }
    }

    /// Copies into these columns; the number of rows. Errors count them from those that came `before`.
    pub fn run(self, columns: &[i16], freeze: bool, before: u64, source: Source<'_>) -> u64 {
        self.check_rights(columns);
        let name = |&column: &i16| new_string(name_bytes(self.table.desc().attribute(column as usize - 1)));
        let names: Nodes = columns.iter().map(name).collect();
        let mut options = Nodes::NONE.with(option(c"encoding", new_string(c"UTF8")));
        if freeze {
            options = options.with(option(c"freeze", new_string(c"true")));
        }
        let (names, options, file) = (names.raw(), options.raw(), std::ptr::null());
        let (parse, table, condition) = (self.parse, self.table.raw(), self.condition);
        // SAFETY: what `begin` has made. The source is not used for longer than we are here: `outer` takes it away.
        unsafe {
            let source = std::mem::transmute::<Source<'_>, Source<'static>>(source);
            let outer = Outer((&raw mut SOURCE).replace(Some(source)));
            let callback = Some(next_bytes as _);
            let state = pg_sys::BeginCopyFrom(parse, table, condition, file, false, callback, names, options);
            (*state).cur_lineno = before;
            let rows = pg_sys::CopyFrom(state);
            pg_sys::EndCopyFrom(state);
            drop(outer);
            self.end();
            rows
        }
    }

    /// Whether the statement has a condition on rows.
    pub fn has_condition(&self) -> bool {
        !self.condition.is_null()
    }

    /// All rows have been inserted, by [`CopyFrom::run`] or without.
    pub fn end(self) {
        // SAFETY: what `begin` has made, which nobody uses any more.
        unsafe {
            pg_sys::free_parsestate(self.parse);
            pg_sys::CommandCounterIncrement();
        }
    }
}

/// What standard_ProcessUtility() and DoCopy() ask first.
fn require_writable(table: &Relation) {
    let name = c"COPY FROM".as_ptr();
    // SAFETY: globals of the backend, and an open relation.
    unsafe {
        pg_sys::PreventCommandIfParallelMode(name);
        if pg_sys::XactReadOnly && !(*table.raw()).rd_islocaltemp {
            pg_sys::PreventCommandIfReadOnly(name);
        }
    }
}

#[cfg(feature = "pg15")]
type Rights = pg_sys::RangeTblEntry;
#[cfg(not(feature = "pg15"))]
type Rights = pg_sys::RTEPermissionInfo;

/// What an item asks privileges for.
///
/// # Safety
/// That of a table.
unsafe fn rights(item: *mut pg_sys::ParseNamespaceItem) -> *mut Rights {
    #[cfg(feature = "pg15")]
    // SAFETY: as the caller promises.
    return unsafe { (*item).p_rte };
    #[cfg(not(feature = "pg15"))]
    // SAFETY: as the caller promises.
    return unsafe { (*item).p_perminfo };
}

/// # Safety
/// The environment is the statement's, or null; both stay for as long as the state.
unsafe fn parse_state(source: &CStr, environment: *mut pg_sys::QueryEnvironment) -> *mut pg_sys::ParseState {
    // SAFETY: as the caller promises; a new node.
    unsafe {
        let parse = pg_sys::make_parsestate(std::ptr::null_mut());
        (*parse).p_sourcetext = source.as_ptr();
        (*parse).p_queryEnv = environment;
        parse
    }
}

/// The condition on rows, as CopyFrom() takes it.
///
/// # Safety
/// A statement's, or null; the item is the table's.
unsafe fn condition(
    parse: *mut pg_sys::ParseState,
    item: *mut pg_sys::ParseNamespaceItem,
    table: &Relation,
    clause: *mut pg_sys::Node,
) -> *mut pg_sys::Node {
    if clause.is_null() {
        return std::ptr::null_mut();
    }
    // SAFETY: as the caller promises.
    unsafe {
        pg_sys::addNSItemToQuery(parse, item, false, true, true);
        // Analysis scribbles on it, and it may be of a cached statement.
        let clause = pg_sys::copyObjectImpl(clause.cast()).cast();
        let kind = pg_sys::ParseExprKind::EXPR_KIND_COPY_WHERE;
        let mut condition = pg_sys::transformExpr(parse, clause, kind);
        condition = pg_sys::coerce_to_boolean(parse, condition, c"WHERE".as_ptr());
        pg_sys::assign_expr_collations(parse, condition);
        refuse_generated(condition, table);
        condition = pg_sys::eval_const_expressions(std::ptr::null_mut(), condition);
        condition = pg_sys::canonicalize_qual(condition.cast(), false).cast();
        pg_sys::make_ands_implicit(condition.cast()).cast()
    }
}

/// Generated columns have no values before a row is written.
///
/// # Safety
/// A condition on the table as the first relation.
unsafe fn refuse_generated(condition: *mut pg_sys::Node, table: &Relation) {
    let mut used = std::ptr::null_mut();
    // SAFETY: as the caller promises.
    unsafe { pg_sys::pull_varattnos(condition, 1, &mut used) };
    let is_used = |number: i16| {
        let at = c_int::from(number) - pg_sys::FirstLowInvalidHeapAttributeNumber;
        // SAFETY: a set of PostgreSQL's.
        unsafe { pg_sys::bms_is_member(at, used) }
    };
    for attribute in table.desc().attributes() {
        // All columns are used by the row as a whole.
        if attribute.attgenerated != 0 && (is_used(attribute.attnum) || is_used(0)) {
            let message = "generated columns are not supported in COPY FROM WHERE conditions";
            ErrorReport::new(PgSqlErrorCode::ERRCODE_INVALID_COLUMN_REFERENCE, message, "copy_from")
                .set_detail(format!("Column \"{}\" is a generated column.", name_of(attribute)))
                .report(PgLogLevel::ERROR);
        }
    }
}

fn refuse_policies(table: &Relation) {
    // SAFETY: it looks the table up.
    let policies = unsafe { pg_sys::check_enable_rls(table.id(), pg_sys::InvalidOid, false) };
    if policies == pg_sys::CheckEnableRlsResult::RLS_ENABLED as c_int {
        let message = "COPY FROM not supported with row-level security";
        ErrorReport::new(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, message, "copy_from")
            .set_hint("Use INSERT statements instead.")
            .report(PgLogLevel::ERROR);
    }
}

/// An option as the parser makes it.
fn option<'a>(name: &CStr, value: &Node) -> &'a Node {
    // SAFETY: the name is copied.
    unsafe { Node::of(pg_sys::makeDefElem(pg_sys::pstrdup(name.as_ptr()), value.raw(), -1).cast()) }
}
