//! Rows that a load or rewrite leaves to heap's functions, whatever their number: they say whether a page can hold such
//! a row, once what can be is out of line; and what holds more than one leaf should, stays in row pages.

use super::form::KEY_BYTES;
use crate::heap::tuple::MOST;
use crate::pg::settings::own_maintenance_work_mem;
use crate::pg::{Relation, Values};
use pgrx::pg_sys;

/// Attributes beyond this may be moved out of line (toast_tuple_find_biggest_attribute():
/// MAXALIGN(TOAST_POINTER_SIZE)).
const KEPT: usize = 24;

/// Bytes of a page's rows, those out of line included, that go to one leaf, as the rows of a block do. More stay in the
/// page: who reads a column of the leaf has that of all its rows in memory.
const MOST_BYTES: usize = 256 << 20;

/// Bytes of a value at most.
const LONGEST: usize = 1 << 30;

/// A table's attributes, as far as the width of its rows goes.
pub struct Width {
    attributes: Vec<Attribute>,
    /// The widest tuple, if one may be wider: few tables have so many columns, or such that have no form out of line.
    /// All attributes then; else those of variable length.
    most: Option<usize>,
    /// Bytes that go to one leaf.
    most_bytes: usize,
}

struct Attribute {
    at: usize,
    len: i16,
    align: usize,
    /// May be moved out of line.
    moves: bool,
}

impl Attribute {
    fn of(rel: &Relation, at: usize) -> Attribute {
        let att = rel.desc().attribute(at);
        let toasts = rel.toast().is_some();
        Attribute {
            at,
            len: att.attlen,
            align: match att.attalign as u8 {
                pg_sys::TYPALIGN_DOUBLE => 8,
                pg_sys::TYPALIGN_INT => 4,
                pg_sys::TYPALIGN_SHORT => 2,
                _ => 1,
            },
            moves: toasts && att.attlen == -1 && att.attstorage as u8 != pg_sys::TYPSTORAGE_PLAIN,
        }
    }

    /// The bytes that its type lets a value have, if it says.
    fn longest(&self, rel: &Relation) -> Option<usize> {
        let att = rel.desc().attribute(self.at);
        // SAFETY: it looks at a type.
        let most = unsafe { pg_sys::type_maximum_size(att.atttypid, att.atttypmod) };
        usize::try_from(most).ok()
    }

    /// Bytes of a value: what is out of line or compressed counts as what it stands for.
    ///
    /// # Safety
    /// It is of the attribute's type.
    unsafe fn bytes(&self, value: pg_sys::Datum) -> usize {
        // SAFETY: as the caller promises.
        unsafe {
            match self.len {
                -1 => {
                    let value = value.cast_mut_ptr::<pg_sys::varlena>();
                    let plain = pgrx::varlena::varatt_is_4b_u(value)
                        || pgrx::varlena::varatt_is_1b(value) && !pgrx::varlena::varatt_is_1b_e(value);
                    if plain {
                        pgrx::varlena::varsize_any(value)
                    } else {
                        pg_sys::toast_raw_datum_size(pg_sys::Datum::from(value))
                    }
                }
                -2 => std::ffi::CStr::from_ptr(value.cast_mut_ptr()).count_bytes() + 1,
                len => len as usize,
            }
        }
    }
}

impl Width {
    /// Of rows that are heap's, or columnar ones that may become heap's.
    pub fn of(rel: &Relation) -> Width {
        Width::new(rel, MOST, true)
    }

    /// Of columnar rows whose stubs have to hold all of them; None if they need not. Logical decoding shows the old row
    /// from there, under REPLICA IDENTITY FULL.
    pub fn of_whole_stubs(rel: &Relation) -> Option<Width> {
        (rel.has_full_identity() && rel.is_logically_logged()).then(|| Width::new(rel, MOST - KEY_BYTES, false))
    }

    fn new(rel: &Relation, most: usize, move_out: bool) -> Width {
        let natts = rel.desc().natts();
        let of = |at| {
            let attribute = Attribute::of(rel, at);
            let moves = attribute.moves && move_out;
            Attribute { moves, ..attribute }
        };
        let all: Vec<_> = (0..natts).map(of).collect();
        let widest = all.iter().fold(header(natts), |width, a| {
            let own = match a.len {
                _ if a.moves => KEPT,
                len @ 0.. => len as usize,
                _ => a.longest(rel).unwrap_or(LONGEST),
            };
            width.next_multiple_of(a.align) + own
        });
        let page_matters = widest > most;
        let varies = |a: &Attribute| page_matters || a.len < 0;
        Width {
            attributes: all.into_iter().filter(varies).collect(),
            most: page_matters.then_some(most),
            most_bytes: most_bytes(),
        }
    }

    /// Whether no row of at most so many bytes belongs in a row page.
    pub fn fits_any(&self, bytes: usize) -> bool {
        self.most.is_none() && bytes <= self.most_bytes
    }

    /// Whether the row belongs in a row page.
    pub fn is_for_heap(&self, row: Values) -> bool {
        let (mut bytes, mut tuple) = (0, header(self.attributes.len()));
        for attribute in &self.attributes {
            let Some(value) = row.get(attribute.at) else {
                continue;
            };
            // SAFETY: a value of that attribute.
            let own = unsafe { attribute.bytes(value) };
            bytes += own;
            // At most what heap makes of it: what can be moved leaves 18 bytes, or up to 24 if it is that short when
            // compressed.
            let kept = if attribute.moves { own.min(KEPT) } else { own };
            tuple = usize::next_multiple_of(tuple, attribute.align) + kept;
        }
        bytes > self.most_bytes || self.most.is_some_and(|most| tuple > most)
    }
}

/// Of a tuple with NULLs.
fn header(natts: usize) -> usize {
    let bitmap = std::mem::offset_of!(pg_sys::HeapTupleHeaderData, t_bits);
    (bitmap + natts.div_ceil(8)).next_multiple_of(8)
}

/// Bytes of rows that go to one leaf: [`MOST_BYTES`], or four times the memory for maintenance.
pub fn most_bytes() -> usize {
    MOST_BYTES.min(4 * own_maintenance_work_mem())
}
