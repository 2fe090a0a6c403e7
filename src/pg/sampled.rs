//! An expression's values in a sample of rows.

use super::node::Node;
use pgrx::pg_sys;

/// The type of an expression's values.
#[derive(Clone, Copy)]
pub struct Typed {
    pub ty: pg_sys::Oid,
    pub typmod: i32,
    pub collation: pg_sys::Oid,
}

impl Typed {
    pub fn of(expression: &Node) -> Typed {
        Typed {
            ty: expression.type_oid(),
            typmod: expression.typmod(),
            collation: expression.collation(),
        }
    }
}

/// Values of an expression in rows of a table, in the rows' order.
#[derive(Default)]
pub struct Values {
    pub values: Vec<pg_sys::Datum>,
    pub nulls: Vec<bool>,
    /// How many different ones there are in the table, if that is known better than by these.
    pub distinct: Option<f64>,
}

impl Extend<(pg_sys::Datum, bool)> for Values {
    fn extend<T: IntoIterator<Item = (pg_sys::Datum, bool)>>(&mut self, values: T) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

impl Values {
    pub fn push(&mut self, (value, null): (pg_sys::Datum, bool)) {
        self.values.push(value);
        self.nulls.push(null);
    }
}
