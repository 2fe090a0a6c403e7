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
mod path;
mod plan;
mod planner;
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

use pgrx::pg_sys;

pub fn init() {
    join_offer::init();
    run::init();
    unsafe {
        pg_sys::RegisterCustomScanMethods(&plan::SCAN.0);
        pg_sys::RegisterCustomScanMethods(&fetch_plan::SCAN.0);
        pg_sys::RegisterCustomScanMethods(&aggregate_plan::AGGREGATE_SCAN.0);
        pg_sys::RegisterCustomScanMethods(&unnest_plan::SCAN.0);
        aggregate_plan::NEXT_UPPER = pg_sys::create_upper_paths_hook;
        pg_sys::create_upper_paths_hook = Some(aggregate_plan::add_paths);
        pushdown::NEXT_INFO = pg_sys::get_relation_info_hook;
        pg_sys::get_relation_info_hook = Some(pushdown::relation_info);
        planner::NEXT = pg_sys::planner_hook;
        pg_sys::planner_hook = Some(planner::plan);
        unnest_plan::NEXT_JOIN = pg_sys::set_join_pathlist_hook;
        pg_sys::set_join_pathlist_hook = Some(unnest_plan::add_paths);
        plan::NEXT_PATHS = pg_sys::set_rel_pathlist_hook;
        pg_sys::set_rel_pathlist_hook = Some(plan::add_paths);
    }
}
