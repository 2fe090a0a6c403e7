//! Documents past joins: `SELECT doc … FROM a JOIN b … ORDER BY … LIMIT 10` hands up where its documents are, and reads
//! those of the rows that remain. See README.md.

mod function;
mod plan;

pub use plan::postpone;
