//! The tuple that a stub is.

use super::row::Row;
use crate::heap::tuple::MOST;
use crate::pg::{Relation, Tuple, values};
use crate::storage::rowpage::STUB;
use amax_lsm::tid::Key;
use pg_sys::IndexAttrBitmapKind::{INDEX_ATTR_BITMAP_IDENTITY_KEY, INDEX_ATTR_BITMAP_KEY};
use pgrx::pg_sys;

/// Bytes between a stub's null bitmap and its attributes that hold the row's key.
pub const KEY_BYTES: usize = 8;

/// Beyond this heap would toast a tuple (heaptoast.h: TOAST_TUPLE_THRESHOLD).
pub const WIDE: usize = 2032;

/// The columns of a table that its stubs hold.
pub struct Columns {
    held: Vec<usize>,
    /// Of these what is logged of the old row.
    logged: Vec<usize>,
}

impl Columns {
    /// Those heap's locks and replica identities look at.
    pub fn of(rel: &Relation) -> Columns {
        let [keys, identity] =
            [INDEX_ATTR_BITMAP_KEY, INDEX_ATTR_BITMAP_IDENTITY_KEY].map(|kind| rel.index_attributes(kind));
        // The old row that logical decoding shows under REPLICA IDENTITY FULL.
        let all = rel.is_logically_logged() && rel.has_full_identity();
        let is_held = |&at: &usize| all || keys.has(at) || identity.has(at);
        let is_logged = |&at: &usize| rel.is_logically_logged() && (all || identity.has(at));
        let attributes = 0..rel.desc().natts();
        Columns {
            held: attributes.clone().filter(is_held).collect(),
            logged: attributes.filter(is_logged).collect(),
        }
    }
}

/// A heap tuple, in the current memory context, with those columns of the row, all others NULL, and the row's own key in front of the attributes. What is
/// wide is compressed: heap then takes the key for changed by every UPDATE, which may make it wait for a lock of the key in vain. And whether no key was
/// left out.
pub fn stub<'a>(rel: &Relation, columns: &Columns, row: Row, key: Key) -> (Tuple<'a>, bool) {
    let desc = rel.desc();
    let mut values = values::Row::new(desc.natts());
    for &at in &columns.held {
        values.set(at, row.attribute(desc, at));
    }
    let mut plain = form(&mut values, rel);
    let whole = plain.len() + KEY_BYTES <= WIDE;
    if !whole {
        plain = shorten(values, rel, |at| columns.logged.contains(&at));
    }
    (plain.with_gap(&key.to_ne_bytes(), STUB), whole)
}

/// The tuple with what can be compressed compressed. Keys that do not fit a page together are left out, the widest
/// first, but for those that are logged: `stub_keys` looks them up.
fn shorten<'a>(mut values: values::Row, rel: &Relation, logged: impl Fn(usize) -> bool) -> Tuple<'a> {
    let wide = |values: &values::Row, at: usize| {
        (rel.desc().attribute(at).attlen == -1)
            .then(|| values.get(at))
            .flatten()
    };
    let natts = rel.desc().natts();
    for at in 0..natts {
        if let Some(value) = wide(&values, at) {
            // SAFETY: a value of variable length.
            let compressed = unsafe { pg_sys::toast_compress_datum(value, 0) };
            if !compressed.is_null() {
                values.set(at, (compressed, false));
            }
        }
    }
    loop {
        let plain = form(&mut values, rel);
        if plain.len() + KEY_BYTES <= MOST {
            return plain;
        }
        let left = (0..natts).filter(|&at| !logged(at));
        // SAFETY: a value of variable length.
        let width = |at| wide(&values, at).map(|value| (unsafe { pg_sys::toast_datum_size(value) }, at));
        match left.filter_map(width).max() {
            Some((_, widest)) => values.set(widest, (pg_sys::Datum::null(), true)),
            None => return plain,
        }
    }
}

fn form<'a>(values: &mut values::Row, rel: &Relation) -> Tuple<'a> {
    // SAFETY: the row's attributes, perhaps compressed, or NULL.
    unsafe { values.form(rel.desc(), rel.id()) }
}
