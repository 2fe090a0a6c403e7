//! Blocks that the processes of a parallel scan share (tableam.c).

use super::relation::Relation;
use pgrx::pg_sys;
use std::marker::PhantomData;

pub struct Parallel<'a> {
    scan: pg_sys::ParallelBlockTableScanDesc,
    of: PhantomData<&'a Relation>,
}

impl Parallel<'_> {
    /// None for a scan that is not parallel.
    ///
    /// # Safety
    /// What the scan's leader has made in shared memory, or null.
    pub unsafe fn of<'a>(scan: pg_sys::ParallelBlockTableScanDesc) -> Option<Parallel<'a>> {
        (!scan.is_null()).then_some(Parallel { scan, of: PhantomData })
    }

    /// The next block for this process; `first` says that it asks for the first time.
    pub fn next_block(
        &self,
        rel: &Relation,
        worker: &mut pg_sys::ParallelBlockTableScanWorkerData,
        first: bool,
    ) -> Option<u32> {
        // SAFETY: the scan of this relation, and what this process keeps of it.
        let v = unsafe {
            if first {
                pg_sys::table_block_parallelscan_startblock_init(rel.raw(), worker, self.scan);
            }
            pg_sys::table_block_parallelscan_nextpage(rel.raw(), worker, self.scan)
        };
        (v != pg_sys::InvalidBlockNumber).then_some(v)
    }
}
