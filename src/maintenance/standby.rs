//! What standbys are spared: the lock that giving back the end of a file takes is a conflict for their queries.

use crate::pg::{Relation, vacuum};

/// A VACUUM so long ago (milliseconds) is not one of a series.
const LONG: i32 = 60_000;

/// Whether a table that has not grown since its last VACUUM may be taken for one that does not grow: at once where no
/// standby is connected, else after a minute without VACUUM.
pub fn may_call_idle(rel: &Relation) -> bool {
    !vacuum::has_standby() || !vacuum::was_run_within(rel, LONG)
}
