//! SQL functions to look inside a table. They read pages only, and need the right to read the table.

use crate::columnar::{most_bytes, open_leaf, shared};
use crate::encoding::plain;
use crate::maintenance::flush;
use crate::pg::relation::Opened;
use crate::pg::vacuum::delay_point;
use crate::pg::xid;
use crate::storage::manifest::{self, Replaced, cancel_replaced};
use crate::storage::{map, meta};
use crate::table::load;
use amax_lsm::{RangeSet, tid};
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::collections::BTreeMap;

/// A table that has pages here: the planner's rule for queries (get_relation_info() of plancat.c).
pub fn open(table: pg_sys::Oid) -> Opened {
    in_reach(Opened::for_reading(table, None))
}

/// The same for somebody who may read one attribute, and all its rows.
pub fn open_column(table: pg_sys::Oid, attribute: i16) -> Opened {
    let opened = in_reach(Opened::for_reading(table, Some(attribute)));
    check_row_security(&opened);
    opened
}

fn in_reach(opened: Opened) -> Opened {
    // SAFETY: looks at shared memory.
    if !opened.is_permanent() && unsafe { pg_sys::RecoveryInProgress() } {
        ereport!(
            ERROR,
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            "cannot access temporary or unlogged relations during recovery"
        );
    }
    opened
}

pub fn components_of(table: pg_sys::Oid) -> (Opened, std::rc::Rc<amax_lsm::Manifest>) {
    let opened = open(table);
    let manifest = manifest::current(&opened);
    (opened, manifest)
}

fn ranges(set: &RangeSet) -> String {
    let parts: Vec<_> = set
        .ranges()
        .iter()
        .map(|(start, end)| format!("{start}-{}", end - 1))
        .collect();
    parts.join(",")
}

/// `amax.components(table)`: the disk components.
#[pg_extern]
#[allow(clippy::type_complexity)]
fn components(
    table: pg_sys::Oid,
) -> TableIterator<
    'static,
    (
        name!(component, i64),
        name!(rows, i64),
        name!(leaves, i32),
        name!(pages, i64),
        name!(bytes, i64),
        name!(blocks, String),
        name!(xid, Option<i64>),
    ),
> {
    let (_opened, manifest) = components_of(table);
    let rows: Vec<_> = manifest
        .components
        .iter()
        .map(|c| {
            let bytes = c.pages as i64 * i64::from(pg_sys::BLCKSZ);
            let unsettled = c.origin.filter(|origin| !origin.settled);
            let xid = unsettled.map(|origin| i64::from(origin.xid));
            (
                c.id as i64,
                c.rows as i64,
                c.leaves as i32,
                c.pages as i64,
                bytes,
                ranges(&c.blocks),
                xid,
            )
        })
        .collect();
    TableIterator::new(rows)
}

/// `amax.storage(table)`: how much of it is columnar and how much is not, and why. It reads the row pages.
#[pg_extern]
#[allow(clippy::type_complexity)]
fn storage(
    table: pg_sys::Oid,
) -> TableIterator<
    'static,
    (
        name!(columnar_rows, i64),
        name!(columnar_bytes, i64),
        name!(rows, i64),
        name!(bytes, i64),
        name!(why, Option<String>),
    ),
> {
    let (opened, manifest) = components_of(table);
    let limits = flush::Limits {
        oldest_xmin: xid::oldest_xmin(&opened),
        most: most_bytes(),
        least: 0,
        pruned: false,
    };
    // By why they are there: rows, bytes.
    let mut left: BTreeMap<Option<flush::Kept>, (u64, u64)> = BTreeMap::new();
    let (mut pages, mut large) = (0, 0);
    for v in manifest.unowned(meta::logical_blocks(&opened)).blocks() {
        delay_point();
        if let Some(p) = map::physical(&opened, v) {
            let page = flush::look_at(&opened, v, p, &limits);
            let (rows, bytes) = left.entry(page.why).or_default();
            (*rows, *bytes) = (*rows + page.rows, *bytes + page.bytes);
            (pages, large) = (pages + usize::from(page.rows > 0), large + page.large);
        }
    }
    let enough = flush::is_enough(pages, large, flush::least_for_vacuum(&opened));
    let said = left.iter().filter(|(_, left)| left.0 > 0);
    let said = said.map(|(why, (rows, _))| match why {
        None if enough => format!("{rows} for the next VACUUM"),
        None => format!("{rows} too few for VACUUM"),
        Some(why) => format!("{rows} {}", reason(*why)),
    });
    let mut why = said.collect::<Vec<_>>().join(", ");
    if !why.is_empty()
        && let Some(hindrance) = load::hindrance(&opened)
    {
        why += &format!("; loads go to row pages first: {hindrance}");
    }
    TableIterator::once((
        manifest.rows() as i64,
        manifest.pages() as i64 * i64::from(pg_sys::BLCKSZ),
        left.values().map(|l| l.0 as i64).sum(),
        left.values().map(|l| l.1 as i64).sum(),
        (!why.is_empty()).then_some(why),
    ))
}

fn reason(why: flush::Kept) -> &'static str {
    match why {
        flush::Kept::Empty => "being flushed",
        flush::Kept::Changing => "beside rows that are new, locked or changed",
        flush::Kept::Dead => "beside dead rows that wait for VACUUM",
        flush::Kept::Shared => "updated, with values out of line that wait for VACUUM",
        flush::Kept::Wide => "too wide",
        flush::Kept::Large => "too large for a leaf",
    }
}

/// `amax.shared_cache()`: what sessions have decoded for each other.
#[pg_extern]
#[allow(clippy::type_complexity)]
fn shared_cache() -> TableIterator<'static, (name!(segments, i64), name!(bytes, i64), name!(columns, i64))> {
    let (segments, bytes, columns, _) = shared::state();
    TableIterator::once((segments as i64, bytes as i64, columns as i64))
}

/// `amax.leaves(table)`: the mega leaves of each component.
#[pg_extern]
#[allow(clippy::type_complexity)]
fn leaves(
    table: pg_sys::Oid,
) -> TableIterator<
    'static,
    (
        name!(component, i64),
        name!(leaf, i32),
        name!(rows, i64),
        name!(first_tid, String),
        name!(last_tid, String),
        name!(bytes, i64),
        name!(first_page, i64),
        name!(aliases, i32),
    ),
> {
    let (opened, manifest) = components_of(table);
    let mut rows = Vec::new();
    for component in &manifest.components {
        for (at, leaf) in manifest::directory(&opened, component).leaves.iter().enumerate() {
            let text = |key| format!("({},{})", tid::block(key), tid::offset(key));
            rows.push((
                component.id as i64,
                at as i32,
                i64::from(leaf.rows),
                text(leaf.first),
                text(leaf.last),
                leaf.image.len as i64,
                i64::from(leaf.image.page(0).unwrap_or(0)),
                leaf.aliases.len() as i32,
            ));
        }
    }
    TableIterator::new(rows)
}

/// Refuses what tells of values, as pg_stats does: policies may hide the rows that they are of.
pub fn check_row_security(table: &Opened) {
    let own_rights = pg_sys::InvalidOid;
    // SAFETY: it looks the table up.
    let security = unsafe { pg_sys::check_enable_rls(table.id(), own_rights, false) };
    if security == pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32 {
        ereport!(
            ERROR,
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("columns of table \"{}\" are hidden by row-level security", table.name())
        );
    }
}

/// `amax.columns(table)`: what each leaf holds, a row per SQL column or JSON path and type.
#[pg_extern]
#[allow(clippy::type_complexity)]
fn columns(
    table: pg_sys::Oid,
) -> TableIterator<
    'static,
    (
        name!(component, i64),
        name!(leaf, i32),
        name!(attribute, i32),
        name!(path, String),
        name!(type, String),
        name!(encoding, String),
        name!(compression, String),
        name!(bytes, i64),
        name!(raw_bytes, i64),
        name!(values, i64),
        name!(absent, Option<i64>),
        name!(min, Option<String>),
        name!(max, Option<String>),
    ),
> {
    let (opened, manifest) = components_of(table);
    check_row_security(&opened);
    let mut rows = Vec::new();
    for component in &manifest.components {
        for at in 0..component.leaves as usize {
            crate::memory::check_for_interrupts();
            let leaf = open_leaf(&opened, component, at);
            let leaf = leaf.unwrap_or_else(|Replaced| cancel_replaced());
            for c in leaf.leaf().describe() {
                rows.push((
                    component.id as i64,
                    at as i32,
                    c.col as i32 + 1,
                    plain(c.path),
                    c.type_name,
                    c.encoding,
                    c.compression,
                    c.compressed_bytes as i64,
                    c.raw_bytes as i64,
                    c.values as i64,
                    c.absent.map(|n| n as i64),
                    c.min.map(plain),
                    c.max.map(plain),
                ));
            }
        }
    }
    TableIterator::new(rows)
}
