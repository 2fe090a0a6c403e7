//! The functions that a scan unnests by.

use amax_format::Parts;
use pgrx::pg_sys;

/// A function in FROM that takes arrays or objects apart.
#[derive(Clone, Copy)]
pub struct Unnesting {
    pub relation: pg_sys::Index,
    function: u32,
}

/// What a column of its result is; a further one is the ordinality.
pub enum Column {
    Key,
    Value,
}

impl Unnesting {
    /// By this function; None if it does something else.
    pub fn by(relation: pg_sys::Index, function: u32) -> Option<Unnesting> {
        let found = Unnesting { relation, function };
        (!found.columns().is_empty()).then_some(found)
    }

    pub fn parts(self) -> Parts {
        match self.function {
            pg_sys::F_JSONB_ARRAY_ELEMENTS | pg_sys::F_JSONB_ARRAY_ELEMENTS_TEXT => Parts::Elements,
            _ => Parts::Fields,
        }
    }

    pub fn columns(self) -> &'static [Column] {
        match self.function {
            pg_sys::F_JSONB_ARRAY_ELEMENTS | pg_sys::F_JSONB_ARRAY_ELEMENTS_TEXT => &[Column::Value],
            pg_sys::F_JSONB_EACH | pg_sys::F_JSONB_EACH_TEXT => &[Column::Key, Column::Value],
            pg_sys::F_JSONB_OBJECT_KEYS => &[Column::Key],
            _ => &[],
        }
    }
}
