//! What differs between PostgreSQL's major versions and has more than one caller or more than a line.

use pgrx::pg_sys;

/// Prunes a page whose cleanup lock the caller holds: removes what is dead by `vistest`, and what ended before
/// `oldest_xmin` in any case, so that freezing finds none of it.
pub unsafe fn prune(
    rel: pg_sys::Relation,
    buffer: pg_sys::Buffer,
    oldest_xmin: pg_sys::TransactionId,
    vistest: *mut pg_sys::GlobalVisState,
) {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    {
        let mut new_dead = 0;
        pg_sys::heap_page_prune(
            rel,
            buffer,
            oldest_xmin,
            vistest,
            pg_sys::InvalidTransactionId,
            0,
            &mut new_dead,
            std::ptr::null_mut(),
        );
    }
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    {
        // Without HEAP_PAGE_PRUNE_FREEZE only the horizon of the cutoffs is looked at.
        let mut cutoffs: pg_sys::VacuumCutoffs = std::mem::zeroed();
        cutoffs.OldestXmin = oldest_xmin;
        let mut result: pg_sys::PruneFreezeResult = std::mem::zeroed();
        let mut offset = 0;
        pg_sys::heap_page_prune_and_freeze(
            rel,
            buffer,
            vistest,
            0,
            &mut cutoffs,
            &mut result,
            pg_sys::PruneReason::PRUNE_VACUUM_SCAN,
            &mut offset,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        );
    }
}

/// ExecClearTuple() (tuptable.h).
pub unsafe fn clear_slot(slot: *mut pg_sys::TupleTableSlot) {
    (*(*slot).tts_ops).clear.expect("every slot can be cleared")(slot);
}

/// ReadRecentBuffer() on the main fork, counted like ReadBuffer().
pub unsafe fn read_recent(rel: pg_sys::Relation, block: pg_sys::BlockNumber, recent: pg_sys::Buffer) -> bool {
    #[cfg(feature = "pg15")]
    let file = (*rel).rd_node;
    #[cfg(not(feature = "pg15"))]
    let file = (*rel).rd_locator;
    let found = pg_sys::ReadRecentBuffer(file, pg_sys::ForkNumber::MAIN_FORKNUM, block, recent);
    if let (true, Some(stats)) = (found, (*rel).pgstat_info.as_mut()) {
        #[cfg(feature = "pg15")]
        {
            stats.t_counts.t_blocks_fetched += 1;
            stats.t_counts.t_blocks_hit += 1;
        }
        #[cfg(not(feature = "pg15"))]
        {
            stats.counts.blocks_fetched += 1;
            stats.counts.blocks_hit += 1;
        }
    }
    found
}

/// The relation's storage manager handle; forks are looked at through it.
pub unsafe fn smgr(rel: pg_sys::Relation) -> pg_sys::SMgrRelation {
    #[cfg(feature = "pg15")]
    return pg_sys::smgropen((*rel).rd_node, (*rel).rd_backend);
    #[cfg(not(feature = "pg15"))]
    return pg_sys::smgropen((*rel).rd_locator, (*rel).rd_backend);
}

/// Raises an error unless the user may call the aggregate (ExecInitAgg()).
pub unsafe fn check_aggregate(function: pg_sys::Oid) {
    let (user, execute) = (pg_sys::GetUserId(), pg_sys::ACL_EXECUTE as pg_sys::AclMode);
    #[cfg(feature = "pg15")]
    let allowed = pg_sys::pg_proc_aclcheck(function, user, execute);
    #[cfg(not(feature = "pg15"))]
    let allowed = pg_sys::object_aclcheck(pg_sys::ProcedureRelationId, function, user, execute);
    if allowed != pg_sys::AclResult::ACLCHECK_OK {
        let name = pg_sys::get_func_name(function);
        pg_sys::aclcheck_error(allowed, pg_sys::ObjectType::OBJECT_AGGREGATE, name);
    }
}
