//! Settings that bound a record batch, and a row group of them.

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};

static BATCH_ROWS: GucSetting<i32> = GucSetting::<i32>::new(65_536);
static BATCH_SIZE_KB: GucSetting<i32> = GucSetting::<i32>::new(16 * 1024);

static ROW_GROUP_KB: GucSetting<i32> = GucSetting::<i32>::new(128 * 1024);

/// Bytes of memory at which a row group is written out.
pub fn row_group_bytes() -> usize {
    ROW_GROUP_KB.get() as usize * 1024
}

/// When a record batch ends: whichever limit is met first.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Rows.
    pub rows: usize,
    /// Bytes of values, before IPC padding. A row that crosses it still belongs to the batch.
    pub bytes: usize,
}

impl Limits {
    /// The limits the session asks for now.
    pub fn current() -> Self {
        Self {
            rows: BATCH_ROWS.get() as usize,
            bytes: BATCH_SIZE_KB.get() as usize * 1024,
        }
    }
}

pub fn init() {
    GucRegistry::define_int_guc(
        c"amax.arrow_batch_rows",
        c"Sets the maximum number of rows in an Arrow record batch.",
        c"",
        &BATCH_ROWS,
        1,
        16 * 1024 * 1024,
        GucContext::Userset,
        GucFlags::empty(),
    );
    // The maximum keeps 32-bit offsets safe: a batch holds less than this plus one row, and a value is at most 1 GB.
    GucRegistry::define_int_guc(
        c"amax.arrow_batch_size",
        c"Sets the size at which an Arrow record batch ends.",
        c"A row that crosses it is still part of the batch.",
        &BATCH_SIZE_KB,
        64,
        512 * 1024,
        GucContext::Userset,
        GucFlags::UNIT_KB,
    );
    GucRegistry::define_int_guc(
        c"amax.parquet_row_group_memory",
        c"Sets the memory at which a row group of a Parquet file is written out.",
        c"The batch that crosses it is still part of the row group.",
        &ROW_GROUP_KB,
        1024,
        2 * 1024 * 1024 - 1,
        GucContext::Userset,
        GucFlags::UNIT_KB,
    );
}
