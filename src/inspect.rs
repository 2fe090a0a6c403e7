//! SQL functions to look inside a table. They read pages only, and need the right to read the table.

use crate::am::{self, Opened};
use crate::columnar::{open_leaf, shared, stub};
use crate::storage::buffer::{physical_blocks, rel_name};
use crate::storage::{census, manifest, map, meta};
use amax_lsm::{tid, Component, RangeSet};
use pgrx::pg_sys;
use pgrx::prelude::*;

/// A table that has pages here: the planner's rule for queries (get_relation_info() of plancat.c).
fn open(table: pg_sys::Oid) -> Opened {
    let opened = am::open_for_reading(table);
    let persistence = unsafe { (*(*opened.0).rd_rel).relpersistence };
    if persistence != pg_sys::RELPERSISTENCE_PERMANENT as i8
        && unsafe { pg_sys::RecoveryInProgress() }
    {
        ereport!(
            ERROR,
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            "cannot access temporary or unlogged relations during recovery"
        );
    }
    opened
}

fn components_of(table: pg_sys::Oid) -> (Opened, std::rc::Rc<amax_lsm::Manifest>) {
    let opened = open(table);
    let manifest = manifest::current(opened.0);
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
            let xid = c.origin.map(|o| i64::from(o.xid));
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

/// `amax.shared_cache()`: what sessions have decoded for each other.
#[pg_extern]
#[allow(clippy::type_complexity)]
fn shared_cache(
) -> TableIterator<'static, (name!(segments, i64), name!(bytes, i64), name!(columns, i64))> {
    let (segments, bytes, columns) = shared::state();
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
        for (at, leaf) in manifest::directory(opened.0, component)
            .leaves
            .iter()
            .enumerate()
        {
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
    // As with pg_stats: paths and values are of rows that policies may hide.
    let own_rights = pg_sys::InvalidOid;
    let security = unsafe { pg_sys::check_enable_rls(table, own_rights, false) };
    if security == pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32 {
        ereport!(
            ERROR,
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!(
                "columns of table \"{}\" are hidden by row-level security",
                rel_name(opened.0)
            )
        );
    }
    let mut rows = Vec::new();
    for component in &manifest.components {
        for at in 0..component.leaves as usize {
            pgrx::check_for_interrupts!();
            for c in open_leaf(opened.0, component, at).leaf().describe() {
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

/// What is no text of the database's encoding, as it may be where that is not UTF-8, with question marks.
fn plain(text: String) -> String {
    // SAFETY: it returns a number that the session has from its start.
    if unsafe { pg_sys::GetDatabaseEncoding() } == pg_sys::pg_enc::PG_UTF8 as i32 {
        return text;
    }
    text.replace(|c: char| !c.is_ascii(), "?")
}

/// `amax.verify(table)`: checks every structure; a row per problem, none when all is well.
#[pg_extern]
fn verify(table: pg_sys::Oid) -> SetOfIterator<'static, String> {
    let opened = open(table);
    let rel = opened.0;
    let mut problems = Vec::new();
    // Damage that makes a structure unreadable is an error of PostgreSQL's, caught and reported like the others.
    let manifest = match guarded(|| manifest::current(rel)) {
        Ok(manifest) => manifest,
        Err(problem) => return SetOfIterator::new(vec![problem]),
    };
    let blocks = meta::logical_blocks(rel);
    let mut owned = RangeSet::default();
    for component in &manifest.components {
        let name = format!("component {}", component.id);
        for &(start, end) in component.blocks.ranges() {
            if end > blocks {
                problems.push(format!(
                    "{name}: owns block {}, the relation has {blocks}",
                    end - 1
                ));
            }
            if (start..end).any(|v| owned.contains(v)) {
                problems.push(format!(
                    "{name}: shares blocks {start}-{} with another component",
                    end - 1
                ));
            }
        }
        owned.union(&component.blocks);
        match guarded(|| check_component(rel, component)) {
            Ok(found) => problems.extend(found.into_iter().map(|p| format!("{name}: {p}"))),
            Err(problem) => problems.push(format!("{name}: {problem}")),
        }
    }
    match guarded(|| twice_used(rel)) {
        Ok(found) => problems.extend(found),
        Err(problem) => problems.push(problem),
    }
    match guarded(|| check_row_pages(rel, blocks, &owned)) {
        Ok(found) => problems.extend(found),
        Err(problem) => problems.push(problem),
    }
    SetOfIterator::new(problems)
}

/// In a subtransaction: an error leaves locks of pages and pins behind, which go with it.
fn guarded<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    // SAFETY: as plpgsql's blocks with EXCEPTION do it.
    unsafe {
        let context = pg_sys::CurrentMemoryContext;
        let owner = pg_sys::CurrentResourceOwner;
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::MemoryContextSwitchTo(context);
        let run = std::panic::AssertUnwindSafe(|| {
            let result = f();
            pg_sys::ReleaseCurrentSubTransaction();
            Ok(result)
        });
        let result = PgTryBuilder::new(run)
            .catch_when(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, |cause| {
                let message = message(cause);
                pg_sys::RollbackAndReleaseCurrentSubTransaction();
                Err(message)
            })
            .execute();
        pg_sys::MemoryContextSwitchTo(context);
        pg_sys::CurrentResourceOwner = owner;
        result
    }
}

fn message(cause: pgrx::pg_sys::panic::CaughtError) -> String {
    use pgrx::pg_sys::panic::CaughtError::*;
    match cause {
        PostgresError(report)
        | ErrorReport(report)
        | RustPanic {
            ereport: report, ..
        } => {
            let detail = report
                .detail()
                .map(|d| format!(" ({d})"))
                .unwrap_or_default();
            format!("{}{detail}", report.message())
        }
    }
}

/// Pages that two things refer to.
fn twice_used(rel: pg_sys::Relation) -> Vec<String> {
    loop {
        pgrx::check_for_interrupts!();
        let sequence = meta::read(rel, amax_lsm::meta::sequence);
        let census = census::take(rel, &manifest::current(rel), physical_blocks(rel));
        // A census is right while the manifest stays.
        if meta::read(rel, amax_lsm::meta::sequence) == sequence {
            let problem = |page| format!("page {page} is referred to twice");
            return census.twice.into_iter().map(problem).collect();
        }
    }
}

fn check_component(rel: pg_sys::Relation, component: &Component) -> Vec<String> {
    let mut problems = Vec::new();
    let directory = manifest::directory(rel, component);
    if directory.leaves.len() != component.leaves as usize {
        problems.push(format!(
            "directory has {} leaves, manifest says {}",
            directory.leaves.len(),
            component.leaves
        ));
    }
    let mut last = None;
    let mut rows = 0;
    for (at, entry) in directory.leaves.iter().enumerate() {
        pgrx::check_for_interrupts!();
        let leaf = open_leaf(rel, component, at);
        problems.extend(
            leaf.leaf()
                .verify()
                .into_iter()
                .map(|p| format!("leaf {at}: {p}")),
        );
        let keys = leaf.keys();
        if keys.len() != entry.rows as usize {
            problems.push(format!(
                "leaf {at}: {} keys, directory says {}",
                keys.len(),
                entry.rows
            ));
        }
        if keys.iter().any(|k| k < entry.first || k > entry.last) {
            problems.push(format!("leaf {at}: keys outside the directory's range"));
        }
        if last.is_some_and(|last| keys.iter().next().is_some_and(|first| first <= last)) {
            problems.push(format!("leaf {at}: overlaps the leaf before"));
        }
        last = keys.iter().last().or(last);
        rows += keys
            .iter()
            .filter(|&k| component.blocks.contains(tid::block(k)))
            .count() as u64;
        for &(alias, offset) in &entry.aliases {
            let owned = component.blocks.contains(tid::block(alias));
            if owned && keys.find(tid::key(tid::block(alias), offset)).is_none() {
                problems.push(format!("leaf {at}: alias of a row that is not there"));
            }
        }
    }
    if rows != component.rows {
        problems.push(format!(
            "{rows} rows in its blocks, manifest says {}",
            component.rows
        ));
    }
    problems
}

fn check_row_pages(rel: pg_sys::Relation, blocks: u32, owned: &RangeSet) -> Vec<String> {
    let mut problems = Vec::new();
    for v in 0..blocks {
        pgrx::check_for_interrupts!();
        if let Some(p) = map::physical(rel, v) {
            if map::logical(rel, p) != Some(v) {
                problems.push(format!(
                    "block {v} is mapped to page {p}, which is mapped to {:?}",
                    map::logical(rel, p)
                ));
            }
        }
        let Some(states) = stub::states_of_block(rel, v) else {
            continue;
        };
        for offset in 1..=tid::MAX_OFFSET {
            if states.get(offset) != stub::State::None && !owned.contains(v) {
                problems.push(format!(
                    "row ({v},{offset}) has a stub but is in no component"
                ));
            }
        }
    }
    problems
}
