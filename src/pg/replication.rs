//! Who may ask for the rows that the WAL has: logical replication slots (replication/slot.c).

use pgrx::pg_sys;

/// Whether the database has a logical slot on this server, in use or not.
///
/// One that is made after a transaction has got its id has nothing of that: decoding begins when all transactions have ended that were running when the slot
/// was there already (snapbuild.c).
pub fn has_logical_slot() -> bool {
    let (mut slots, mut active) = (0, 0);
    // SAFETY: it counts in shared memory, under its lock.
    unsafe { pg_sys::ReplicationSlotsCountDBSlots(pg_sys::MyDatabaseId, &mut slots, &mut active) }
}
