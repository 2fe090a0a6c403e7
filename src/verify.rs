//! `amax.verify(table)`: what is wrong with a table's structures. It reads pages only.

use crate::columnar::{open_leaf, read_xids, stub};
use crate::fault::fault;
use crate::inspect::open;
use crate::pg::index_scan::{IndexScan, is_usable};
use crate::pg::memory::Context;
use crate::pg::relation::Opened;
use crate::pg::slot::Single;
use crate::pg::snapshot::Active;
use crate::pg::{Pin, Relation};
use crate::query::check_join_indexes;
use crate::storage::manifest::{self, Replaced, cancel_replaced};
use crate::storage::{blob, census, checked, map, meta, rowpage};
use crate::subtransaction;
use crate::table::slot::ops;
use amax_lsm::xids::precedes;
use amax_lsm::{Component, RangeSet, tid};
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::cell::Cell;

/// `amax.verify(table)`: checks every structure; a row per problem, none when all is well.
#[pg_extern]
fn verify(table: pg_sys::Oid) -> SetOfIterator<'static, String> {
    let opened = open(table);
    let rel = &*opened;
    let mut problems = Vec::new();
    checked::forget();
    // Damage that makes a structure unreadable is an error of PostgreSQL's, caught and reported like the others.
    let (manifest, blocks) = match guarded(|| (manifest::current(rel), meta::logical_blocks(rel))) {
        Ok(found) => found,
        Err(problem) => return SetOfIterator::new(vec![problem]),
    };
    let mut owned = RangeSet::default();
    for component in &manifest.components {
        let name = format!("component {}", component.id);
        for &(start, end) in component.blocks.ranges() {
            if end > blocks {
                problems.push(format!("{name}: owns block {}, the relation has {blocks}", end - 1));
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
    match guarded(|| check_manifest(rel)) {
        Ok(()) => {}
        Err(problem) => problems.push(problem),
    }
    match guarded(|| twice_used(rel)) {
        Ok(found) => problems.extend(found),
        Err(problem) => problems.push(problem),
    }
    problems.extend(check_blocks(rel, blocks, &owned));
    problems.dedup();
    for check in [check_indexes, check_join_indexes] {
        if problems.is_empty() {
            match guarded(|| check(rel)) {
                Ok(found) => problems = found,
                Err(problem) => problems.push(problem),
            }
        }
    }
    SetOfIterator::new(problems)
}

/// The btrees' entries that lead to rows which we see, and which have other values.
fn check_indexes(rel: &Relation) -> Vec<String> {
    let mut problems = Vec::new();
    let mut btrees = Vec::new();
    rel.all_indexes(|index| {
        btrees.extend((index.method == pg_sys::BTREE_AM_OID).then_some(index.id));
        true
    });
    for id in btrees {
        let index = Opened::with_lock(id, pg_sys::AccessShareLock);
        if !is_usable(&index) {
            continue;
        }
        let snapshot = Active::of_transaction();
        let slot = Single::new(rel.desc(), ops());
        let mut context = Context::new("amax verify index");
        let scan = IndexScan::with_entries(rel, &index, snapshot.get());
        let (mut count, mut first) = (0u64, None);
        while scan.next(&slot) {
            crate::memory::check_for_interrupts();
            if !context.within(|| scan.agrees(&slot)) {
                count += 1;
                first.get_or_insert(slot.tid());
            }
            context.reset();
        }
        problems.extend(first.map(|tid| {
            let (v, offset) = (rowpage::tid_block(&tid), tid.ip_posid);
            format!(
                "index \"{}\": {count} entries lead to rows with other values, the first to ({v},{offset})",
                index.name()
            )
        }));
    }
    problems
}

/// What is damaged is a problem, and so is the result of what follows.
fn guarded<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    const CODES: &[PgSqlErrorCode] = &[
        PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
        PgSqlErrorCode::ERRCODE_INDEX_CORRUPTED,
    ];
    let caught = subtransaction::catch(CODES, f);
    caught.map_err(|damage| damage.message)
}

/// The pages that the manifest is stored in.
fn check_manifest(rel: &Relation) {
    // Under the metapage's lock: nobody else keeps the pages.
    meta::read(rel, |page| {
        if let Ok(stored) = amax_lsm::meta::manifest(page) {
            blob::check(rel, &stored);
        }
    });
}

/// Pages that two things refer to.
fn twice_used(rel: &Relation) -> Vec<String> {
    loop {
        crate::memory::check_for_interrupts();
        let sequence = meta::read(rel, amax_lsm::meta::sequence);
        let census = census::take(rel, &manifest::current(rel), rel.physical_blocks());
        // A census is right while the manifest stays.
        if meta::read(rel, amax_lsm::meta::sequence) == sequence {
            let problem = |page| format!("page {page} is referred to twice");
            return census.twice.into_iter().map(problem).collect();
        }
    }
}

fn check_component(rel: &Relation, component: &Component) -> Vec<String> {
    let mut problems = Vec::new();
    let directory = manifest::directory(rel, component);
    blob::check(rel, &component.directory);
    fault("verify");
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
        crate::memory::check_for_interrupts();
        blob::check(rel, &entry.image);
        if let Some(ids) = entry.xids.blob() {
            blob::check(rel, ids);
        }
        let leaf = open_leaf(rel, component, at);
        let leaf = leaf.unwrap_or_else(|Replaced| cancel_replaced());
        problems.extend(
            leaf.leaf()
                .verify()
                .unwrap_or_else(|e| crate::columnar::raise(e))
                .into_iter()
                .map(|p| format!("leaf {at}: {p}")),
        );
        let xids = read_xids(rel, component, entry);
        let frozen = rel.frozen().0.into_inner();
        let oldest = xids.range().map(|range| range.0);
        if oldest.is_some_and(|oldest| precedes(oldest, frozen)) {
            problems.push(format!(
                "leaf {at}: a row's transaction id is older than relfrozenxid {frozen}"
            ));
        }
        let keys = leaf.keys();
        if keys.len() != entry.rows as usize {
            problems.push(format!("leaf {at}: {} keys, directory says {}", keys.len(), entry.rows));
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
        problems.push(format!("{rows} rows in its blocks, manifest says {}", component.rows));
    }
    problems
}

/// Each logical block: where it is mapped to, and what the stub directory says of it.
fn check_blocks(rel: &Relation, blocks: u32, owned: &RangeSet) -> Vec<String> {
    let mut problems = Vec::new();
    let next = Cell::new(0);
    while next.get() < blocks {
        let checked = guarded(|| {
            let mut found = Vec::new();
            while next.get() < blocks {
                crate::memory::check_for_interrupts();
                let v = next.replace(next.get() + 1);
                found.extend(check_mapping(rel, v));
                found.extend(check_stubs(rel, v, owned));
            }
            found
        });
        // A block that cannot be read says nothing of those behind it.
        match checked {
            Ok(found) => problems.extend(found),
            Err(problem) => problems.push(problem),
        }
        problems.dedup();
    }
    problems
}

fn check_mapping(rel: &Relation, v: u32) -> Option<String> {
    let p = map::physical(rel, v)?;
    let problem = if p >= rel.physical_blocks() {
        Some("which is not there".into())
    } else if map::logical(rel, p) != Some(v) {
        Some(format!("which is mapped to {:?}", map::logical(rel, p)))
    } else {
        rowpage::problem(Pin::read(rel, p).share().page())
    };
    // It may have been given up meanwhile.
    problem
        .filter(|_| map::physical(rel, v) == Some(p))
        .map(|problem| format!("block {v} is mapped to page {p}, {problem}"))
}

fn check_stubs(rel: &Relation, v: u32, owned: &RangeSet) -> Vec<String> {
    let Some(states) = stub::states_of_block(rel, v).filter(|_| !owned.contains(v)) else {
        return Vec::new();
    };
    (1..=tid::MAX_OFFSET)
        .filter(|&offset| states.get(offset) != stub::State::None)
        .map(|offset| format!("row ({v},{offset}) has a stub but is in no component"))
        .collect()
}
