//! A scan by several processes.

use super::shared::Shared;
use super::source::{Position, Source, is_worker};
use super::state::{Scan, of};
use crate::storage::meta::logical_blocks;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn estimate_dsm(
    node: *mut pg_sys::CustomScanState,
    _context: *mut pg_sys::ParallelContext,
) -> pg_sys::Size {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe { Shared::size(of(node).counters().len()) }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn initialize_dsm(
    node: *mut pg_sys::CustomScanState,
    _context: *mut pg_sys::ParallelContext,
    coordinate: *mut std::ffi::c_void,
) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let shared = coordinate as *mut Shared;
        shared.write(Shared {
            next: AtomicU32::new(0),
            end: logical_blocks(of(node).rows.rel),
            counters: of(node).counters().len(),
        });
        for counted in Shared::counted(shared) {
            counted.store(0, Ordering::SeqCst);
        }
        join(of(node), shared);
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn reinitialize_dsm(
    node: *mut pg_sys::CustomScanState,
    _context: *mut pg_sys::ParallelContext,
    coordinate: *mut std::ffi::c_void,
) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let shared = coordinate as *mut Shared;
        (*shared).next.store(0, Ordering::SeqCst);
        (*shared).end = logical_blocks(of(node).rows.rel);
        join(of(node), shared);
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn initialize_worker(
    node: *mut pg_sys::CustomScanState,
    _toc: *mut pg_sys::shm_toc,
    coordinate: *mut std::ffi::c_void,
) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        join(of(node), coordinate as *mut Shared);
    }
}
/// # Safety
/// A node of ours, begun and not ended.
unsafe fn join(scan: &mut Scan, shared: *mut Shared) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        scan.parallel = true;
        scan.shared = shared;
        let (snapshot, counters) = (scan.source.snapshot, scan.source.counters);
        scan.source = Source::new(
            scan.rows.rel,
            snapshot,
            (*shared).end,
            Position::Shared(&(*shared).next, scan.from_end),
        );
        scan.source.counters = counters;
    }
}

/// Before the shared memory goes: workers leave what they have met there, and the leader takes it.
///
/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn shutdown(node: *mut pg_sys::CustomScanState) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let scan = of(node);
        let shared = std::mem::replace(&mut scan.shared, std::ptr::null_mut());
        if shared.is_null() {
            return;
        }
        scan.source.leave();
        for (counter, counted) in scan.counters().into_iter().zip(Shared::counted(shared)) {
            if is_worker() {
                counted.fetch_add(*counter, Ordering::SeqCst);
            } else {
                *counter += counted.swap(0, Ordering::SeqCst);
            }
        }
    }
}
