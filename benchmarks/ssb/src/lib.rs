//! The Star Schema Benchmark's data (O'Neil, O'Neil, Chen: "Star Schema
//! Benchmark", revision 3, 2009), generated from its description.
//!
//! Every row is a function of (seed, table, row number): tables can be
//! produced in any order, streamed, and produced again byte for byte. Where
//! the paper says nothing the rules of TPC-H, which it builds on, apply.

pub mod calendar;
pub mod dimensions;
pub mod domains;
pub mod filter_factors;
pub mod lineorder;
pub mod rng;
pub mod scale;
pub mod sink;
pub mod table;
