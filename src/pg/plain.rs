//! Functions of PostgreSQL's that raise no error, if they are given what they should be: buffers that we have pinned, or
//! locked, sets of its own. They only look at something, or give it back. pgrx's way to call a function, prepared for an
//! error, takes longer than they do.

use pgrx::pg_sys::{Bitmapset, BlockNumber, Buffer, FullTransactionId, TransactionId};

unsafe extern "C" {
    pub fn BufferGetBlockNumber(buffer: Buffer) -> BlockNumber;
    /// To unlock one, and for nothing else.
    pub fn LockBuffer(buffer: Buffer, mode: i32);
    pub fn ReleaseBuffer(buffer: Buffer);
    pub fn UnlockReleaseBuffer(buffer: Buffer);

    pub fn bms_is_member(member: i32, set: *const Bitmapset) -> bool;
    pub fn bms_free(set: *mut Bitmapset);

    pub fn GetCurrentFullTransactionIdIfAny() -> FullTransactionId;
    pub fn TransactionIdIsCurrentTransactionId(xid: TransactionId) -> bool;
    pub fn TransactionStartedDuringRecovery() -> bool;
}
