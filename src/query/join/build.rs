//! Reading another side of a join, whole.

use super::spine::Level;
use crate::pg::node::Node;
use crate::pg::state::{EState, ExprContext, Prepared};
use crate::query::batch::joined::{Side, SideColumn};
use crate::query::batch::raise::raise;
use crate::query::batch::values::{Kind, ValuesBuilder};
use crate::query::expr::datum::push;
use amax_exec::{Lookup, VectorBuilder};
use pgrx::pg_sys;

/// How a side's rows are read.
pub struct Building {
    keys: Vec<(Prepared, pg_sys::Oid)>,
    econtext: &'static ExprContext,
}

/// A side that has been read.
pub enum Built {
    Side(Side),
    /// It has no rows, and so has the join.
    Empty,
    /// It takes more memory than it may.
    TooLarge,
}

/// Rows are counted in such steps.
const STEP: usize = 1024;

impl Building {
    pub fn new(level: &Level, estate: &EState) -> Building {
        // Without a parent: it would say what kind of slot a row comes in.
        let prepared = |key: &&'static Node| (Prepared::new(key, None), key.type_oid());
        Building {
            keys: level.inner_keys.iter().map(prepared).collect(),
            econtext: estate.new_context(),
        }
    }

    /// Reads the side's rows, of which columns are wanted.
    pub fn read(&self, level: &Level, wanted: &[bool], limit: usize) -> Built {
        let mut keys: Vec<VectorBuilder> = level.types.iter().map(|&ty| VectorBuilder::new(ty)).collect();
        let builder = |(node, &wanted): (&&Node, &bool)| wanted.then(|| ValuesBuilder::new(Kind::of(node)));
        let mut columns: Vec<_> = level.columns.iter().zip(wanted).map(builder).collect();
        let mut rows = 0;
        while let Some(slot) = level.rows.next() {
            crate::memory::check_for_interrupts();
            self.econtext.reset();
            self.econtext.set_outer_row(slot);
            for ((key, ty), out) in self.keys.iter().zip(&mut keys) {
                let (value, null) = key.eval(self.econtext);
                // SAFETY: a value of that type; what is detoasted goes with the row.
                self.econtext.within(|| unsafe { push(out, *ty, value, null) });
            }
            for (at, column) in columns.iter_mut().enumerate() {
                if let Some(out) = column {
                    out.push(slot.value(at), self.econtext);
                }
            }
            rows += 1;
            if rows % STEP == 0 {
                let of_keys: usize = keys.iter().map(VectorBuilder::bytes_used).sum();
                let of_columns: usize = columns.iter().flatten().map(ValuesBuilder::bytes_used).sum();
                if of_keys + of_columns > limit {
                    return Built::TooLarge;
                }
            }
        }
        if rows == 0 && !level.kind.keeps_unmatched() {
            return Built::Empty;
        }
        let keys = keys.into_iter().map(VectorBuilder::finish).collect();
        let column = |column: Option<ValuesBuilder>| {
            let values = column?.finish();
            let dense = values.dense().unwrap_or_else(|e| crate::columnar::raise(e));
            Some(SideColumn { values, dense })
        };
        Built::Side(Side {
            columns: columns.into_iter().map(column).collect(),
            lookup: Lookup::new(keys, rows).unwrap_or_else(|e| raise(e)),
        })
    }
}
