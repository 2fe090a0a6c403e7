//! Settings. Those that concern what is written are defaults: a table's own options come first (see `options`).

#[cfg(feature = "test_hooks")]
use crate::memory::fault;
#[cfg(feature = "test_hooks")]
use std::ffi::CString;

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting, PostgresGucEnum};

/// How megapages are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PostgresGucEnum)]
#[allow(non_camel_case_types)]
pub enum Compression {
    none,
    snappy,
    zstd,
    lz4,
}

impl Compression {
    pub const NAMES: [(&'static str, Compression); 4] = [
        ("none", Compression::none),
        ("snappy", Compression::snappy),
        ("zstd", Compression::zstd),
        ("lz4", Compression::lz4),
    ];

    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|n| n.1 == self).map_or("none", |n| n.0)
    }
}

impl From<Compression> for amax_format::Compression {
    fn from(compression: Compression) -> Self {
        use amax_format::Compression::*;
        match compression {
            Compression::none => None,
            Compression::snappy => Snappy,
            Compression::zstd => Zstd(3),
            Compression::lz4 => Lz4,
        }
    }
}

/// Where rows begin to be tuples in a query over columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PostgresGucEnum)]
#[allow(non_camel_case_types)]
pub enum Materialization {
    /// As the planner finds it cheapest.
    auto,
    /// In the scan.
    early,
    /// In the scan, or above an aggregate of its columns.
    late,
    /// Above joins that are below an aggregate, and above the sort and the limit wherever that can be.
    ultra_late,
}

static FLUSH_INLINE: GucSetting<bool> = GucSetting::<bool>::new(true);
static BACKGROUND_WORKER: GucSetting<bool> = GucSetting::<bool>::new(false);
static STANDBYS_DECODE: GucSetting<bool> = GucSetting::<bool>::new(true);
static EAGER: GucSetting<bool> = GucSetting::<bool>::new(false);
static CUSTOM_SCAN: GucSetting<bool> = GucSetting::<bool>::new(true);
static MATERIALIZATION: GucSetting<Materialization> = GucSetting::<Materialization>::new(Materialization::auto);
static COMPRESSION: GucSetting<Compression> = GucSetting::<Compression>::new(Compression::snappy);
static ROWS_PER_LEAF: GucSetting<i32> = GucSetting::<i32>::new(15_000);
static LEAF_SIZE_KB: GucSetting<i32> = GucSetting::<i32>::new(64 * 1024);
static PATH_CAP: GucSetting<i32> = GucSetting::<i32>::new(4_000);
static FLUSH_THRESHOLD: GucSetting<i32> = GucSetting::<i32>::new(512);
static MERGE_RATIO: GucSetting<f64> = GucSetting::<f64>::new(1.2);
static MAX_COMPONENTS: GucSetting<i32> = GucSetting::<i32>::new(5);
static BULK_THRESHOLD: GucSetting<i32> = GucSetting::<i32>::new(1_000);
static DECODE_CACHE_KB: GucSetting<i32> = GucSetting::<i32>::new(256 * 1024);
static DECODE_CACHE_TIMEOUT: GucSetting<i32> = GucSetting::<i32>::new(30);
static SHARED_CACHE_KB: GucSetting<i32> = GucSetting::<i32>::new(256 * 1024);
static EXCHANGE_THRESHOLD_KB: GucSetting<i32> = GucSetting::<i32>::new(1024);

#[cfg(feature = "test_hooks")]
static FAULT_POINT: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
#[cfg(feature = "test_hooks")]
static FAULT_ALLOCATION: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);
#[cfg(feature = "test_hooks")]
static MUTANT: GucSetting<Mutant> = GucSetting::<Mutant>::new(Mutant::none);

/// Ways in which scans are wrong on purpose: tests must notice each.
#[cfg(feature = "test_hooks")]
#[derive(Clone, Copy, PartialEq, Eq, PostgresGucEnum)]
#[allow(non_camel_case_types)]
pub enum Mutant {
    none,
    drops_rows,
    ignores_order,
    loses_column,
}

#[cfg(feature = "test_hooks")]
pub fn mutant() -> Mutant {
    MUTANT.get()
}

/// For tests: where maintenance is to fail.
#[cfg(feature = "test_hooks")]
pub fn fault_point() -> Option<String> {
    FAULT_POINT
        .get()
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| !name.is_empty())
}

/// Whether transactions that add row pages flush when they commit.
pub fn flush_inline() -> bool {
    FLUSH_INLINE.get()
}

/// Whether they leave that to a background worker.
pub fn background_worker() -> bool {
    BACKGROUND_WORKER.get()
}

/// For tests: everything that may be columnar becomes so at once.
pub fn eager() -> bool {
    EAGER.get()
}

/// Whether queries may run on columns.
pub fn custom_scan() -> bool {
    CUSTOM_SCAN.get()
}

pub fn materialization() -> Materialization {
    MATERIALIZATION.get()
}

pub fn compression() -> Compression {
    COMPRESSION.get()
}

pub fn rows_per_leaf() -> i32 {
    ROWS_PER_LEAF.get()
}

pub fn leaf_bytes() -> usize {
    LEAF_SIZE_KB.get() as usize * 1024
}

pub fn path_cap() -> i32 {
    PATH_CAP.get()
}

/// Pages of rows of which commits make a component if there are twice as many, and VACUUM if there are an eighth as many.
pub fn flush_threshold() -> i32 {
    FLUSH_THRESHOLD.get()
}

/// How many times as large as a component the younger ones must be together to be merged with it.
pub fn merge_ratio() -> f64 {
    MERGE_RATIO.get()
}

/// Components VACUUM leaves.
pub fn max_components() -> i32 {
    MAX_COMPONENTS.get()
}

/// Rows of a statement that go to row pages before it starts to build a component.
pub fn bulk_threshold() -> u64 {
    if eager() { 0 } else { BULK_THRESHOLD.get() as u64 }
}

/// Whether a standby may have logical slots: from 16 on, if nobody says that none has.
pub fn standbys_decode() -> bool {
    !cfg!(feature = "pg15") && STANDBYS_DECODE.get()
}

pub fn decode_cache_bytes() -> usize {
    DECODE_CACHE_KB.get() as usize * 1024
}

/// Milliseconds; 0: for good.
pub fn decode_cache_timeout() -> i32 {
    DECODE_CACHE_TIMEOUT.get() * 1000
}

pub fn shared_cache_bytes() -> usize {
    SHARED_CACHE_KB.get() as usize * 1024
}

/// Bytes of groups with which the processes of a parallel aggregate exchange rows.
pub fn exchange_threshold_bytes() -> usize {
    EXCHANGE_THRESHOLD_KB.get() as usize * 1024
}

pub fn init() {
    let user = || GucContext::Userset;
    let plain = GucFlags::empty();
    GucRegistry::define_bool_guc(
        c"amax.eager",
        c"Makes everything columnar that may be: bulk loads from the first row, flushes of every settled row page.",
        c"For tests.",
        &EAGER,
        user(),
        plain,
    );
    GucRegistry::define_bool_guc(
        c"amax.custom_scan",
        c"Enables the planner's use of scans that read columns.",
        c"Off, queries read whole rows, one by one.",
        &CUSTOM_SCAN,
        user(),
        plain,
    );
    GucRegistry::define_enum_guc(
        c"amax.materialization",
        c"Where rows of columns begin to be tuples.",
        c"early: in scans, before conditions. late: of rows that pass a scan's conditions, and above aggregates. ultra_late: of those that joins do not leave out, above joins below aggregates, and above ORDER BY ... LIMIT, of joins as well, and DISTINCT ON wherever that can be.",
        &MATERIALIZATION,
        user(),
        plain,
    );
    GucRegistry::define_bool_guc(
        c"amax.flush_inline",
        c"Lets transactions that add row pages turn those that others have left into a component, when there are many.",
        c"Otherwise only VACUUM does.",
        &FLUSH_INLINE,
        user(),
        plain,
    );
    GucRegistry::define_bool_guc(
        c"amax.background_worker",
        c"Has transactions leave flushes to a background worker, which merges, too.",
        c"One of max_worker_processes for each database that needs one; where there is none left, transactions flush.",
        &BACKGROUND_WORKER,
        user(),
        plain,
    );
    GucRegistry::define_bool_guc(
        c"amax.standbys_decode",
        c"Whether standbys may have logical replication slots, which the primary does not know of.",
        c"PostgreSQL 16 and later. Then loads go through row pages if wal_level is logical, as they do where the database has a slot itself.",
        &STANDBYS_DECODE,
        GucContext::Suset,
        plain,
    );
    #[cfg(feature = "test_hooks")]
    init_test_hooks();
    GucRegistry::define_enum_guc(
        c"amax.compression",
        c"Sets how columns are compressed.",
        c"A table's own option comes first.",
        &COMPRESSION,
        user(),
        plain,
    );
    GucRegistry::define_float_guc(
        c"amax.merge_ratio",
        c"Sets how large the younger components must be, relative to a component, to be merged with it.",
        c"A table's own option comes first.",
        &MERGE_RATIO,
        0.0,
        1e6,
        user(),
        plain,
    );
    let int = |name, what, setting, min, max, flags| {
        GucRegistry::define_int_guc(name, what, c"", setting, min, max, user(), flags);
    };
    int(
        c"amax.rows_per_leaf",
        c"Sets the number of rows in a mega leaf.",
        &ROWS_PER_LEAF,
        1,
        1_000_000,
        plain,
    );
    int(
        c"amax.leaf_size",
        c"Sets the memory a mega leaf may take while it is built.",
        &LEAF_SIZE_KB,
        64,
        1024 * 1024,
        GucFlags::UNIT_KB,
    );
    int(
        c"amax.path_cap",
        c"Sets the number of paths of a document column that become columns.",
        &PATH_CAP,
        0,
        100_000,
        plain,
    );
    int(
        c"amax.flush_threshold",
        c"Sets of how many pages of rows commits make a component; VACUUM does of an eighth, values out of line included.",
        &FLUSH_THRESHOLD,
        0,
        i32::MAX,
        plain,
    );
    int(
        c"amax.max_components",
        c"Sets the number of components of a table that VACUUM leaves unmerged.",
        &MAX_COMPONENTS,
        1,
        i32::MAX,
        plain,
    );
    int(
        c"amax.bulk_threshold",
        c"Sets the number of rows a statement inserts before it builds a component.",
        &BULK_THRESHOLD,
        0,
        i32::MAX,
        plain,
    );
    int(
        c"amax.decode_cache",
        c"Sets the memory a session may use to keep decoded columns.",
        &DECODE_CACHE_KB,
        0,
        i32::MAX,
        GucFlags::UNIT_KB,
    );
    int(
        c"amax.decode_cache_timeout",
        c"Sets how long a session that does nothing keeps decoded columns.",
        &DECODE_CACHE_TIMEOUT,
        0,
        24 * 60 * 60,
        GucFlags::UNIT_S,
    );
    int(
        c"amax.exchange_threshold",
        c"Sets the memory of groups from which on the processes of a parallel aggregate send each other rows.",
        &EXCHANGE_THRESHOLD_KB,
        0,
        i32::MAX,
        GucFlags::UNIT_KB,
    );
    GucRegistry::define_int_guc(
        c"amax.shared_cache",
        c"Sets the shared memory in which sessions keep decoded columns for each other and for parallel workers.",
        c"0: each session decodes for itself.",
        &SHARED_CACHE_KB,
        0,
        i32::MAX,
        GucContext::Suset,
        GucFlags::UNIT_KB,
    );
}

#[cfg(feature = "test_hooks")]
fn init_test_hooks() {
    GucRegistry::define_string_guc(
        c"amax.fault_point",
        c"Sets where maintenance fails, for tests.",
        c"A name raises an error there; followed by an exclamation mark, it ends the process; by ~N, it waits for N milliseconds; by @N, while somebody holds advisory lock N.",
        &FAULT_POINT,
        GucContext::Suset,
        GucFlags::empty(),
    );
    // SAFETY: the hooks are guarded.
    unsafe {
        GucRegistry::define_string_guc_with_hooks(
            c"amax.fault_allocation",
            c"Sets which request for memory fails, for tests.",
            c"Those of 64 kB and more are counted, of N/BYTES those of so many; N refuses the Nth, N+ all from it on.",
            &FAULT_ALLOCATION,
            GucContext::Suset,
            GucFlags::empty(),
            Some(fault::check),
            Some(fault::assign),
            Some(fault::show),
        );
    }
    GucRegistry::define_enum_guc(
        c"amax.mutant",
        c"Sets how scans are wrong, for tests.",
        c"They drop one row in a thousand, do not sort what they say is sorted, or return NULL for a column.",
        &MUTANT,
        GucContext::Suset,
        GucFlags::empty(),
    );
}
