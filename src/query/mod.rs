//! Custom scans: columns and JSON paths instead of documents. See README.md.

mod aggregate;
mod aggregate_exchange;
mod aggregate_functions;
mod aggregate_parallel;
mod aggregate_pieces;
mod aggregate_plan;
mod aggregate_rows;
mod aggregate_shape;
mod aggregate_state;
mod aggregate_top;
mod columns;
mod compile;
mod containment;
mod datum;
mod datums;
mod entry;
mod estimate;
mod explain;
mod fetch;
mod fetch_plan;
mod guard;
mod input;
mod jit;
mod join_filter;
mod join_offer;
mod jsonpath;
mod methods;
#[cfg(feature = "test_hooks")]
mod mutants;
mod path;
mod plan;
mod pushdown;
mod rows;
mod run;
mod scan;
mod shape;
mod source;
mod tree;
mod unnest;
mod unnest_plan;
mod unnest_select;
mod unnesting;
mod value;
mod wanted;

pub use aggregate_plan::add_paths as add_group_paths;
pub use jit::decide as decide_jit;
pub use join_offer::offer_keys;
pub use plan::add_paths as add_scan_paths;
pub use pushdown::relation_info;
pub use run::Running;
pub use unnest_plan::add_paths as add_join_paths;
pub use unnest_select::in_subqueries as unnest_in_subqueries;

use pgrx::pg_sys;

/// Tells PostgreSQL of our nodes, whose plans it may have to read.
pub fn init() {
    unsafe {
        pg_sys::RegisterCustomScanMethods(&plan::SCAN.0);
        pg_sys::RegisterCustomScanMethods(&fetch_plan::SCAN.0);
        pg_sys::RegisterCustomScanMethods(&aggregate_plan::AGGREGATE_SCAN.0);
        pg_sys::RegisterCustomScanMethods(&unnest_plan::SCAN.0);
    }
}
