//! Sessions that do nothing for some time give back what they have decoded.

use super::leaf_cache;
use crate::guc;
use crate::pg::timeout;
use std::cell::Cell;

thread_local! {
    /// Uses of leaves when the timeout was set.
    static USES: Cell<u64> = const { Cell::new(0) };
}

/// A transaction has ended. The timeout is set once for many of them: when it has passed and leaves have been used
/// meanwhile, or the transaction was rolled back, it is set again.
pub fn after_transaction(committed: bool) {
    if timeout::take() && committed && USES.get() == leaf_cache::uses() {
        leaf_cache::give_back();
        crate::memory::trim();
    } else if !timeout::is_set() {
        watch();
    }
}

fn watch() {
    let milliseconds = guc::decode_cache_timeout();
    if milliseconds > 0 && leaf_cache::has_leaves() && timeout::serves_client() {
        USES.set(leaf_cache::uses());
        timeout::set(milliseconds);
    }
}
