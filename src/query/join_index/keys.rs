//! Keys of rows, by vectors alone: no expression is evaluated by PostgreSQL, and nothing raises an error.

use crate::columnar::OpenLeaf;
use crate::pg::Relation;
use crate::pg::node::Node;
use crate::pg::state::EState;
use crate::query::batch::columns::BatchColumns;
use crate::query::batch::external::over;
use crate::query::batch::rows::Rows;
use crate::query::expr::compile::Compiler;
use crate::query::expr::entry::{Entry, entry_of, over_entries, read_by};
use amax_exec::{Evaluated, Expr, Vector};
use amax_lsm::Origin;
use std::rc::Rc;

pub struct KeyReader {
    rows: Rows,
    keys: Vec<Expr>,
}

/// Keys of some rows.
pub struct Read<'a> {
    pub keys: Vec<Vector<'a>>,
    /// Which rows have keys that vectors are unsure of, if any.
    unsure: Option<Vec<bool>>,
}

impl Read<'_> {
    pub fn is_unsure(&self, place: usize) -> bool {
        self.unsure.as_ref().is_some_and(|unsure| unsure[place])
    }

    pub fn is_null(&self, place: usize) -> bool {
        self.keys.iter().any(|key| !key.is_valid(place))
    }
}

impl KeyReader {
    /// Of a table's rows; None if PostgreSQL would have to evaluate something.
    pub fn of(rel: &'static Relation, estate: &'static EState, keys: &[&'static Node]) -> Option<KeyReader> {
        let mut found = Vec::new();
        keys.iter().for_each(|key| read_by(key, &|_| false, &mut found));
        let entries: Rc<[Entry]> = found.iter().map(|e| entry_of(e, &[])).collect();
        let slot = estate.values_slot(&found);
        let rows = Rows::within(estate, estate.new_context(), slot, rel, &found, entries.clone());
        let mut compiler = Compiler::new(&entries, None);
        let compiled = keys.iter().map(|key| compiler.compile(over_entries(key, &found)));
        let keys: Vec<Expr> = compiled.collect::<Option<_>>()?;
        compiler.pg_exprs.is_empty().then_some(KeyReader { rows, keys })
    }

    /// Passes `take` the keys of rows of a leaf.
    pub fn read<R>(
        &mut self,
        (leaf, origin): (&Rc<OpenLeaf>, Option<Origin>),
        rows: &[u32],
        take: impl FnOnce(Read) -> R,
    ) -> R {
        let columns = Rc::new(BatchColumns::new(leaf.clone(), origin, &self.rows.entries));
        let (mut keys, mut unsure) = (Vec::new(), None);
        for key in &self.keys {
            let Evaluated { vector, unsure: places } = over(&mut self.rows, &columns, |batch| batch.eval(key, rows));
            if !places.is_empty() {
                let unsure = unsure.get_or_insert_with(|| vec![false; rows.len()]);
                places.iter().for_each(|&place| unsure[place as usize] = true);
            }
            keys.push(vector);
        }
        take(Read { keys, unsure })
    }
}
