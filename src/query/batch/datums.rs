//! Values of dense columns as PostgreSQL's, where they are handed up for row after row: without asking what they are
//! again, and each string of a dictionary once.

use super::input::Input;
use crate::columnar::storage;
use crate::pg::TupleDesc;
use crate::pg::datum::image_of;
use crate::pg::state::ExprContext;
use crate::query::expr::datum;
use crate::query::expr::entry::Entry;
use amax_format::{ColumnType, Dense, Tag};
use pgrx::pg_sys;
use std::cell::OnceCell;

/// How the values of one column become Datums.
pub enum Datums {
    /// Words are passed by value as they are.
    Words,
    /// Numbers are numeric.
    Numbers,
    /// Strings of a dictionary, each made when a row has it.
    Strings {
        made: Vec<OnceCell<Box<[u64]>>>,
        /// Whether they begin with their length.
        varlena: bool,
    },
    /// One by one, in other ways.
    Others,
}

impl Datums {
    pub fn new(entry: &Entry, input: &Input, dense: &Dense, desc: &TupleDesc) -> Self {
        let strings = |varlena: bool| {
            let strings = dense.strings().len();
            if strings == 0 || !dense.is_dictionary() {
                return Self::Others;
            }
            let made = (0..strings).map(|_| OnceCell::new()).collect();
            Self::Strings { made, varlena }
        };
        match (entry, input) {
            (Entry::Attribute(attribute), Input::Column(_)) => {
                let att = desc.attribute(*attribute as usize - 1);
                match storage(att).column {
                    ColumnType::Bool | ColumnType::Int | ColumnType::Float8 => Self::Words,
                    ColumnType::Numeric => Self::Numbers,
                    ColumnType::Bytes => strings(att.attlen == -1),
                    ColumnType::Float4 | ColumnType::Json => Self::Others,
                }
            }
            (Entry::Path(path), Input::Path(_) | Input::Element(..)) if path.text => strings(true),
            _ => Self::Others,
        }
    }

    /// The value of a row; numbers are made in the context's memory. None: it is another kind of value.
    #[inline]
    pub fn get(&self, dense: &Dense, row: usize, context: &ExprContext) -> Option<(pg_sys::Datum, bool)> {
        let word = dense.word(row);
        let value = match (self, dense.tag(row)) {
            (Self::Others, _) => return None,
            // Only paths as text have JSON null here.
            (_, Tag::Missing | Tag::Null) => return Some((pg_sys::Datum::null(), true)),
            (Self::Words, Tag::Bool | Tag::Int | Tag::Float) => pg_sys::Datum::from(word),
            (Self::Numbers, tag @ (Tag::Int | Tag::Decimal)) => {
                let scale = match tag {
                    Tag::Int => 0,
                    _ => dense.scales()[row],
                };
                context.within(|| datum::of_decimal(word, scale))
            }
            (Self::Strings { made, varlena }, Tag::String) => {
                let made = &made[word as usize];
                let image = match made.get() {
                    Some(image) => image,
                    None => {
                        let string = dense.strings().get(word as usize)?;
                        made.get_or_init(|| image_of(string, *varlena))
                    }
                };
                pg_sys::Datum::from(image.as_ptr() as *mut std::ffi::c_void)
            }
            _ => return None,
        };
        Some((value, false))
    }
}
