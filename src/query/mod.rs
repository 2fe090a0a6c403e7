//! Custom scans: columns and JSON paths instead of documents. See README.md.

mod aggregate;
mod batch;
mod correlated;
mod expr;
mod fetch;
mod indexed;
mod jit;
mod join;
mod join_filter;
mod join_index;
mod late;
mod paths;
mod plan;
mod pushdown;
mod scan;
pub mod statistics;
mod top;
mod unnest;

pub use aggregate::plan::add_paths as add_group_paths;
pub use batch::columns::BatchColumns;
pub use batch::computed::Computed;
pub use batch::contract::{Batch, Batches, hands_up, of as batches_of};
pub use expr::compile::reads;
pub use expr::datum::encode_decimal;
pub use expr::why::{no_vectors, why};
pub use jit::decide as decide_jit;
pub use join_filter::offer::offer_keys;
pub use join_index::sql::check as check_join_indexes;
pub use paths::{add_join_paths, add_paths as add_scan_paths};
pub use plan::kept::Planning;
pub use pushdown::relation_info;
pub use scan::run::Running;
pub use scan::source::start_of_leaf;
pub use statistics::{
    begin as begin_statistics, forget as forget_statistics, of_column as column_statistics,
    of_index as index_statistics,
};
pub use top::plan::add_paths as add_ordered_paths;
pub use unnest::select::in_subqueries as unnest_in_subqueries;

/// Tells PostgreSQL of our nodes, whose plans it may have to read, and our nodes of those that hand up batches.
pub fn init() {
    scan::plan::SCAN.register();
    fetch::plan::SCAN.register();
    aggregate::plan::SCAN.register();
    top::plan::SCAN.register();
    unnest::plan::SCAN.register();
    join::plan::SCAN.register();
    crate::am::index_feed::FIND_NEEDS.get_or_init(|| expr::needs::of_index);
    crate::am::index_feed::COMPUTE.get_or_init(|| indexed::of_index);
    crate::maintenance::KEEP_UP.get_or_init(|| join_index::build::keep_up);
    batch::register(&scan::plan::OPERATOR);
    batch::register(&unnest::plan::OPERATOR);
    batch::register(&join::plan::OPERATOR);
}
