//! What our paths cost: every constant of our cost model, in units of PostgreSQL's, which users may set.
//!
//! `benchmarks/costs/run` measures them against the same work on heap, and prints each beside its value here. What the
//! comments say is measured is from there, of one process that has decoded its columns before, unless they say more.

use pgrx::pg_sys;
use pgrx::pg_sys::{cpu_operator_cost, cpu_tuple_cost, random_page_cost, seq_page_cost};

/// Pages of one path or variable, as a part of those of the table's components, in seq_page_cost each. Measured: 0.13 for a
/// path of documents with 34 values, with those that a leaf and a column begin on, which count by themselves.
pub const COLUMN_PAGES: f64 = 0.05;
/// Looking at one row by a vectorized condition, in cpu_operator_cost; walking the rows counts as one more. Measured: 0.02 to 0.28.
pub const CONDITION: f64 = 0.3;
/// Comparing a text, in cpu_operator_cost, beside that: for each of those that a leaf has. Measured: 0.7 to 2.3.
pub const OF_TEXT: f64 = 0.7;
/// Having PostgreSQL evaluate a condition for a row, in cpu_operator_cost, beside what it says of the condition and beside the values read. Measured: 16.
pub const BY_ROW: f64 = 16.0;
/// Looking a row up in the keys of a hash join above, in cpu_operator_cost. Measured: 0.3 to 1.2.
pub const JOIN_FILTER: f64 = 0.5;
/// Handing up one row, in cpu_tuple_cost. Measured: 1.2.
pub const ROW: f64 = 1.0;
/// One value of it, in cpu_operator_cost. Measured: 1.0.
pub const COLUMN_VALUE: f64 = 1.0;
/// Assembling a whole document, in cpu_tuple_cost. Measured: 32 for 34 values; but PostgreSQL counts nothing for it in
/// its own paths to the same documents, such as scans by an index, and ours must not look worse beside them.
pub const DOCUMENT: f64 = 3.0;
/// The most that a path may cost, as a part of PostgreSQL's own for the same rows: it is never slower. Measured: 0.96 for
/// whole documents, 0.2 for elements.
pub const AT_MOST: f64 = 0.9;
/// Unnesting one element and handing it up, in cpu_tuple_cost. Measured: 2.2; but the planner has no idea how many there
/// are (100 of each array), and what counts is the relation to its nested loop, which costs some 2 for each: measured 0.2.
pub const ELEMENT: f64 = 0.5;
/// What is left of a scan's cost when an aggregate takes its batches and no row is handed up, as a part of it. Measured:
/// nearly nothing once columns are decoded, 0.18 with decoding integers, 0.25 with decoding a path. Conditions are counted in
/// full: else a scan of ten thousand rows would look cheaper than finding one of them by an index.
pub const NOT_HANDED_UP: f64 = 0.25;
/// Computing one key or argument of a row and aggregating it, in cpu_operator_cost. Measured: 0.18 for a sum, 0.28 for a
/// key.
pub const AGGREGATED: f64 = 0.2;
/// Handing out one group, in cpu_tuple_cost. Measured, with making it: 1.2.
pub const GROUP: f64 = 1.0;
/// One key or result of it, in cpu_operator_cost. Measured, with what memory far away costs when groups are many: 3.4.
pub const GROUP_VALUE: f64 = 3.0;
/// Sending one group to the leader, and as much again for merging it there, in cpu_operator_cost. Measured: 6.2.
pub const GROUP_SENT: f64 = 6.0;
/// Finding one row by its TID, in cpu_tuple_cost, beside what PostgreSQL counts for it. Measured: 6, more in many leaves.
pub const FETCH_ROW: f64 = 6.0;
/// Reading one value of it. Measured: 2.2.
pub const FETCH_VALUE: f64 = 3.0;
/// Reading a numeric of it, which is made. Measured: 5.9, 2.7 times that of another value.
pub const FETCH_NUMERIC: f64 = 6.0;
/// Reading a whole document of it. Measured: 120 for 34 values, in leaves that are read so often that they are decoded.
pub const FETCH_DOCUMENT: f64 = 120.0;
/// What is left of these where a bitmap has the rows in their order, as the next one is often near. Measured: 0.78.
pub const FETCH_IN_ORDER: f64 = 0.8;
/// What is left of PostgreSQL's cost of a scan by an index, but for the index's own, where the rows are in one leaf: it takes most pages that rows are on to be
/// read from a disk, and our scans count columns as decoded. Measured on heap: 0.04 to 0.22; for rows that are many more than expected there is to be some room.
pub const FETCH_PAGES: f64 = 0.25;
/// Where they are in so many leaves all of it is left, as each row is in another one. An estimate: TPC-H's Q19 took three times as long by an index into 400 leaves.
pub const FETCH_LEAVES: f64 = 512.0;
/// What a fetch saves of the scan below it where paths of documents are read, as a part of its cost. Measured: 0.6 for one
/// path; but PostgreSQL's cost of an index scan has nothing of documents in it, and the rest of it is not saved.
pub const FETCH_SAVES: f64 = 0.2;
/// Starting workers, in parallel_setup_cost. Measured: 3.6 to 7, of queries with two workers on two processors, less half of
/// what they take in one process. A third of a worker's processor time is loading the library.
pub const WORKERS: f64 = 7.0;
/// What is done again by each process of a parallel plan, as a part of doing it once: they wait for each other's processors and memory.
/// An estimate: TPC-H's Q18, nearly all groups, took 2.1 times as long in three processes on two processors; often there are more of these.
pub const IN_EACH_PROCESS: f64 = 1.5;
/// Bytes of a group, and of each key and result in it: for how many groups fit in memory. An estimate from above.
pub const GROUP_BYTES: f64 = 32.0;
/// Bytes of a value that is kept, with its group. An estimate.
pub const KEPT_BYTES: f64 = 16.0;
/// Best rows of groups that take more passes than this are better sorted by PostgreSQL. A rule.
pub const MOST_PASSES: f64 = 4.0;

/// What a scan is expected to do.
pub struct ScanWork {
    /// The components' leaves and pages.
    pub leaves: f64,
    pub pages: f64,
    /// The table's rows, as the planner has them.
    pub tuples: f64,
    /// Rows that pass.
    pub rows: f64,
    /// What conditions cost.
    pub conditions: f64,
    /// Paths and variables that are read.
    pub columns: usize,
    /// Whether whole documents are among them.
    pub documents: bool,
}

/// A scan of columns, of as many rows as the table has.
pub fn scan(work: &ScanWork) -> f64 {
    let columns = work.columns as f64;
    // SAFETY: settings, which only this thread reads and writes.
    let (page, elsewhere, tuple, operator) =
        unsafe { (seq_page_cost, random_page_cost, cpu_tuple_cost, cpu_operator_cost) };
    let pages = (COLUMN_PAGES * columns).min(1.0) * work.pages;
    let (pages, decode) = match work.documents {
        // Those of rows that pass alone, which are on so many pages at most.
        true => (pages.max(work.rows.min(work.pages)), DOCUMENT * tuple),
        false => (pages, COLUMN_VALUE * operator * columns),
    };
    // A leaf, and each of its columns, begins on a page elsewhere.
    elsewhere * work.leaves * (columns + 1.0)
        + page * pages
        + looks(work.tuples)
        + work.conditions
        + (ROW * tuple + decode) * work.rows
}

/// Looking so many rows up in the keys of a hash join above.
pub fn looked_up(rows: f64) -> f64 {
    JOIN_FILTER * operator() * rows
}

/// What PostgreSQL takes an operator for.
pub fn operator() -> f64 {
    // SAFETY: a setting.
    unsafe { cpu_operator_cost }
}

/// Looking at so many rows by a vectorized condition, or walking them.
pub fn looks(rows: f64) -> f64 {
    CONDITION * operator() * rows
}

/// Comparing so many texts by a condition.
pub fn compares_texts(texts: f64) -> f64 {
    OF_TEXT * operator() * texts
}

/// Having PostgreSQL look at a row, of which so many values are read, perhaps whole documents among them.
pub fn by_row(values: usize, documents: bool) -> f64 {
    // SAFETY: a setting.
    let tuple = unsafe { cpu_tuple_cost };
    let document = if documents { DOCUMENT * tuple } else { 0.0 };
    (BY_ROW + COLUMN_VALUE * values as f64) * operator() + document
}

/// A scan that unnests, instead of a scan and a nested loop over so many rows.
pub fn unnest(scan: f64, nested_loop: f64, rows: f64) -> f64 {
    // SAFETY: a setting.
    let elements = ELEMENT * unsafe { cpu_tuple_cost } * rows;
    (scan + elements).min(AT_MOST * nested_loop)
}

/// Reading and aggregating all rows of a scan of this cost, of which `conditions` is what those cost; `computed` are keys
/// and aggregates. What handing up rows takes is most of what a scan of columns costs, however few rows the planner
/// expects.
pub fn aggregate(scan: f64, conditions: f64, rows: f64, computed: usize) -> f64 {
    let conditions = conditions.min(scan);
    conditions + NOT_HANDED_UP * (scan - conditions) + AGGREGATED * operator() * computed as f64 * rows
}

/// Reading `computed` keys of all rows of a scan of this cost and comparing them, then what else is handed up of the best.
pub fn best(scan: f64, conditions: f64, rows: f64, computed: usize, best: f64, late: FetchWork) -> f64 {
    aggregate(scan, conditions, rows, computed) + FETCH_IN_ORDER * fetched(best, late)
}

/// Handing out groups.
pub fn groups(groups: f64, computed: usize) -> f64 {
    // SAFETY: settings.
    let (tuple, operator) = unsafe { (cpu_tuple_cost, cpu_operator_cost) };
    groups * (GROUP * tuple + GROUP_VALUE * operator * computed as f64)
}

/// Sending groups, or merging those sent.
pub fn groups_sent(groups: f64) -> f64 {
    groups * GROUP_SENT * operator()
}

/// Bytes of a group.
pub fn group_width(computed: usize) -> f64 {
    GROUP_BYTES * (computed + 1) as f64
}

/// How often rows are read for so many groups. Measured: half as often as that to just as often.
pub fn passes(groups: f64, computed: usize) -> f64 {
    (groups * group_width(computed) / hash_memory() as f64).ceil().max(1.0)
}

/// What keeping all values of groups costs.
pub struct Kept {
    /// How often rows are read.
    pub passes: f64,
    /// Of sorting them.
    pub cost: f64,
}

/// Keeping the values that so many aggregates have of rows, and sorting some of them: at most a group at a time where it
/// does not fit in memory, and then on disk (cost_tuplesort() of costsize.c, without its pages).
pub fn kept(aggregates: usize, sorted: usize, groups: f64, rows: f64) -> Kept {
    let bytes = KEPT_BYTES * rows * aggregates as f64;
    let memory = (hash_memory() * (1 + sorted)) as f64;
    let groups = groups.max(1.0);
    let sorts = match sorted > 0 && bytes > memory * groups {
        true => 2.0 * operator() * rows * rows.max(2.0).log2() * sorted as f64,
        false => 0.0,
    };
    Kept {
        passes: (bytes / memory).ceil().clamp(1.0, groups),
        cost: sorts,
    }
}

/// Bytes that a hash table may have.
pub fn hash_memory() -> usize {
    // SAFETY: computed from settings.
    unsafe { pg_sys::get_hash_memory_limit() as usize }
}

/// What is read of a row that an index finds.
#[derive(Clone, Copy, Default)]
pub struct FetchWork {
    /// Values that are neither numerics nor documents.
    pub values: usize,
    pub numerics: usize,
    pub documents: usize,
}

impl FetchWork {
    /// Reading a value of a type more.
    pub fn add(&mut self, ty: pg_sys::Oid) {
        match ty {
            pg_sys::JSONBOID => self.documents += 1,
            pg_sys::NUMERICOID => self.numerics += 1,
            _ => self.values += 1,
        }
    }
}

/// Finding and reading so many columnar rows by their TIDs.
pub fn fetched(rows: f64, work: FetchWork) -> f64 {
    let (values, numerics) = (FETCH_VALUE * work.values as f64, FETCH_NUMERIC * work.numerics as f64);
    let row = FETCH_ROW + values + numerics + FETCH_DOCUMENT * work.documents as f64;
    // SAFETY: a setting.
    row * unsafe { cpu_tuple_cost } * rows
}

/// What is left of PostgreSQL's cost of pages where rows are in so many leaves.
pub fn fetched_pages(leaves: f64) -> f64 {
    FETCH_PAGES + (1.0 - FETCH_PAGES) * (leaves / FETCH_LEAVES).min(1.0)
}

/// A fetch above a scan of this cost; `columnar` is the part of the rows that are.
pub fn fetch(scan: f64, columnar: f64) -> f64 {
    scan * (1.0 - FETCH_SAVES * columnar)
}

/// How many processes share a parallel path's work: get_parallel_divisor() of costsize.c.
pub fn parallel_divisor(workers: i32) -> f64 {
    // SAFETY: a setting.
    let leader = match unsafe { pg_sys::parallel_leader_participation } {
        true => (1.0 - 0.3 * f64::from(workers)).max(0.0),
        false => 0.0,
    };
    f64::from(workers) + leader
}
