//! The order of a btree (nbtree.h), of those that are ordered by one attribute of a common type.

use super::Relation;
use pgrx::pg_sys;
use std::cmp::Ordering;

/// How values are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As integers.
    Words,
    /// By the operator class. They are of variable length.
    Compared,
}

pub struct Btree {
    pub order: Order,
    pub descending: bool,
    pub nulls_first: bool,
    len: i16,
    compare: *mut pg_sys::FmgrInfo,
    collation: pg_sys::Oid,
}

/// Operator families of btrees (pg_opfamily.dat): integer_ops, datetime_ops, time_ops.
const OF_WORDS: [u32; 3] = [1976, 434, 1996];
/// numeric_ops, text_ops, text_pattern_ops.
const COMPARED: [u32; 3] = [1988, 1994, 2095];

impl Btree {
    /// That of an index, which stays open as long as this lives; None of others.
    pub fn of(index: &Relation) -> Option<Btree> {
        if index.desc().natts() != 1 {
            return None;
        }
        let att = index.desc().attribute(0);
        // SAFETY: an open index with one attribute, a btree before its function is asked for.
        unsafe {
            let index = index.raw();
            if (*(*index).rd_rel).relam != pg_sys::BTREE_AM_OID {
                return None;
            }
            let family = (*(*index).rd_opfamily).to_u32();
            let order = match att.attlen {
                2 | 4 | 8 if att.attbyval && OF_WORDS.contains(&family) => Order::Words,
                -1 if COMPARED.contains(&family) => Order::Compared,
                _ => return None,
            };
            let options = u32::from(*(*index).rd_indoption as u16);
            Some(Btree {
                order,
                descending: options & pg_sys::INDOPTION_DESC != 0,
                nulls_first: options & pg_sys::INDOPTION_NULLS_FIRST != 0,
                len: att.attlen,
                compare: pg_sys::index_getprocinfo(index, 1, pg_sys::BTORDER_PROC as u16),
                collation: *(*index).rd_indcollation,
            })
        }
    }

    /// A value as an integer with its order.
    pub fn word(&self, value: pg_sys::Datum) -> i64 {
        match self.len {
            2 => i64::from(value.value() as i16),
            4 => i64::from(value.value() as i32),
            _ => value.value() as i64,
        }
    }

    /// The order of two values, whichever way the index goes.
    pub fn compare(&self, a: pg_sys::Datum, b: pg_sys::Datum) -> Ordering {
        // SAFETY: values of the index's type, and the function that compares those.
        let found = unsafe { pg_sys::FunctionCall2Coll(self.compare, self.collation, a, b) };
        (found.value() as i32).cmp(&0)
    }
}
