//! Values of dense columns as PostgreSQL's, where they are handed up for row after row: without asking what they are
//! again, and each string of a dictionary once.

use super::input::Input;
use crate::columnar::storage;
use crate::pg::TupleDesc;
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

    /// The value of a row; numbers are made in the given context. None: it is another kind of value.
    ///
    /// # Safety
    /// A node of ours, begun and not ended.
    #[inline]
    pub unsafe fn get(
        &self,
        dense: &Dense,
        row: usize,
        context: pg_sys::MemoryContext,
    ) -> Option<(pg_sys::Datum, bool)> {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
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
                    let old = pg_sys::MemoryContextSwitchTo(context);
                    let value = datum::of_decimal(word, scale);
                    pg_sys::MemoryContextSwitchTo(old);
                    value
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
}

/// A value's bytes as they are in memory, aligned for any type.
///
/// # Safety
/// A node of ours, begun and not ended.
unsafe fn image_of(bytes: &[u8], varlena: bool) -> Box<[u64]> {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let header = if varlena { pg_sys::VARHDRSZ } else { 0 };
        let total = header + bytes.len();
        let mut image = vec![0_u64; total.div_ceil(8)].into_boxed_slice();
        let at = image.as_mut_ptr() as *mut u8;
        if varlena {
            pgrx::set_varsize_4b(at as *mut pg_sys::varlena, total as i32);
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), at.add(header), bytes.len());
        image
    }
}
