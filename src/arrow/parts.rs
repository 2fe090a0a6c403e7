//! `amax.arrow_parts(query, parts)`: a query as several, for readers that read at the same time, by one snapshot.

use super::query::{analyzed, with_context};
use super::scope::Scope;
use crate::pg::expr::{all_of, ctid_compared};
use crate::pg::lookup::{has_children, may_select};
use crate::pg::node::Nodes;
use crate::pg::parse::{Query, RangeTblRef};
use crate::pg::relation::Opened;
use crate::pg::snapshot::Active;
use crate::query::start_of_leaf;
use crate::storage::meta::logical_blocks;
use pgrx::prelude::*;
use std::ffi::CString;

/// A part is worth a session of its own if it is of so many blocks that TIDs are in: some 40,000 rows.
const LEAST: u32 = 128;

/// At most so many queries whose rows are those of the query together: each of those that its table has in some blocks. One, the query as it is,
/// if it is of more than the rows of one amax table, each by itself, or of what may differ from session to session. A text's bytes are a bytea's.
#[pg_extern]
fn arrow_parts(query: &[u8], parts: i32) -> SetOfIterator<'static, Vec<u8>> {
    if parts < 1 {
        super::error::raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            "number of parts must be at least 1",
            None,
            None,
        );
    }
    let source = CString::new(query).expect("texts have no NULs");
    let _active = Active::of_transaction();
    // SAFETY: nothing of it is left when the function returns.
    let scope = unsafe { Scope::of(&source, std::ptr::null_mut()) };
    let found = with_context(scope.source(), || {
        let analyzed = analyzed(scope);
        let table = table_of(analyzed)?;
        let ends = ends(table, parts.cast_unsigned());
        (!ends.is_empty()).then(|| split(analyzed, &ends))
    });
    SetOfIterator::new(found.unwrap_or_else(|| vec![query.to_vec()]))
}

/// The table, if the query is of each of its rows by itself.
fn table_of(query: &Query) -> Option<pg_sys::Oid> {
    let by_row = query.commandType() == pg_sys::CmdType::CMD_SELECT
        && query.utilityStmt().is_none()
        && !query.is_grouped()
        && !query.hasWindowFuncs()
        && !query.hasSubLinks()
        && query.limitOffset().is_none()
        && query.limitCount().is_none()
        && query.setOperations().is_none();
    let lists = [
        query.cteList(),
        query.groupingSets(),
        query.distinctClause(),
        query.sortClause(),
        query.rowMarks(),
    ];
    if !by_row || lists.into_iter().any(Nodes::is_some) || query.is_mutable() {
        return None;
    }
    let from = query.jointree()?.fromlist();
    let reference = from.get(0)?.as_a::<RangeTblRef>().filter(|_| from.len() == 1)?;
    let rte = query.relation(reference.rtindex())?;
    let plain = query.rtable().len() == 1
        && rte.rtekind() == pg_sys::RTEKind::RTE_RELATION
        && matches!(rte.relkind(), pg_sys::RELKIND_RELATION | pg_sys::RELKIND_MATVIEW)
        && rte.tablesample().is_none()
        && !rte.has_column(c"ctid")
        && may_select(rte.relid())
        && !(rte.inh() && has_children(rte.relid()));
    let table = plain.then(|| Opened::with_lock(rte.relid(), pg_sys::NoLock))?;
    (table.is_ours() && !table.is_temporary()).then(|| rte.relid())
}

/// The blocks that parts but the first begin with: of leaves, where there are some.
fn ends(table: pg_sys::Oid, parts: u32) -> Vec<u32> {
    let table = Opened::with_lock(table, pg_sys::NoLock);
    let blocks = logical_blocks(&table);
    let parts = u64::from(parts.min(blocks / LEAST));
    let end = |part: u64| (u64::from(blocks) * part / parts) as u32;
    let mut ends: Vec<u32> = (1..parts).map(|part| start_of_leaf(&table, end(part))).collect();
    ends.dedup();
    ends.retain(|&end| end > 0);
    ends
}

/// The query of the rows before each of these blocks, from the one before on, and of those behind the last.
fn split(query: &Query, ends: &[u32]) -> Vec<Vec<u8>> {
    let from = query.jointree().expect("a query of a table");
    let quals = from.quals();
    let begins = std::iter::once(None).chain(ends.iter().map(Some));
    let parts = begins.zip(ends.iter().map(Some).chain([None]));
    parts
        .map(|(start, end)| {
            let start = start.map(|&start| ctid_compared(1, pg_sys::TIDGreaterEqOperator, start));
            let end = end.map(|&end| ctid_compared(1, pg_sys::TIDLessOperator, end));
            let conditions: Nodes = quals.into_iter().chain(start).chain(end).collect();
            from.set_quals(Some(all_of(conditions)));
            query.definition().to_bytes().to_vec()
        })
        .collect()
}
