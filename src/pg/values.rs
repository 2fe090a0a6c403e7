//! The values of a row as Datums.

use super::tupdesc::TupleDesc;
use super::tuple::Tuple;
use pgrx::pg_sys;
use std::marker::PhantomData;

/// Values of a table's attributes, in their order, that live as long as this.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    values: *const pg_sys::Datum,
    nulls: *const bool,
    natts: usize,
    of: PhantomData<&'a ()>,
}

impl<'a> Values<'a> {
    /// # Safety
    /// There are so many of both, as the table's attributes say, and they stay as they are.
    pub unsafe fn of(values: *const pg_sys::Datum, nulls: *const bool, natts: usize) -> Values<'a> {
        Values {
            values,
            nulls,
            natts,
            of: PhantomData,
        }
    }

    pub fn len(&self) -> usize {
        self.natts
    }

    /// Attribute `at`, counted from 0; None for NULL.
    pub fn get(&self, at: usize) -> Option<pg_sys::Datum> {
        assert!(at < self.natts);
        // SAFETY: as whoever made this promised.
        unsafe { (!*self.nulls.add(at)).then(|| *self.values.add(at)) }
    }
}

impl Values<'_> {
    /// Bytes of the values of variable length, those out of line or compressed as what they stand for.
    pub fn varying_bytes(&self, desc: &TupleDesc) -> usize {
        let varying = (0..self.natts).filter(|&at| desc.attribute(at).attlen == -1);
        // SAFETY: values of variable length.
        let bytes = |value| unsafe { pg_sys::toast_raw_datum_size(value) };
        varying.filter_map(|at| self.get(at)).map(bytes).sum()
    }
}

/// Room for the values of a row.
pub struct Row {
    values: Vec<pg_sys::Datum>,
    nulls: Vec<bool>,
}

impl Row {
    /// All NULL.
    pub fn new(natts: usize) -> Row {
        Row {
            values: vec![pg_sys::Datum::null(); natts],
            nulls: vec![true; natts],
        }
    }

    /// heap_deform_tuple(): the values of a tuple, which point into it.
    pub fn deform<'a>(&'a mut self, tuple: &'a mut Tuple, desc: &TupleDesc) -> Values<'a> {
        let natts = desc.natts();
        assert_eq!(natts, self.values.len());
        // SAFETY: a whole tuple, and room for all its attributes.
        unsafe {
            let (values, nulls) = (self.values.as_mut_ptr(), self.nulls.as_mut_ptr());
            pg_sys::heap_deform_tuple(tuple.raw(), desc.raw(), values, nulls);
            Values::of(values, nulls, natts)
        }
    }

    pub fn values(&self) -> Values<'_> {
        // SAFETY: both have as many.
        unsafe { Values::of(self.values.as_ptr(), self.nulls.as_ptr(), self.values.len()) }
    }

    pub fn set(&mut self, at: usize, (value, null): (pg_sys::Datum, bool)) {
        (self.values[at], self.nulls[at]) = (value, null);
    }

    pub fn get(&self, at: usize) -> Option<pg_sys::Datum> {
        (!self.nulls[at]).then(|| self.values[at])
    }

    /// heap_form_tuple(), palloc'd; a tuple of this table.
    ///
    /// # Safety
    /// The values are as the descriptor says.
    pub unsafe fn form<'a>(&mut self, desc: &TupleDesc, table: pg_sys::Oid) -> Tuple<'a> {
        assert_eq!(desc.natts(), self.values.len());
        // SAFETY: as the caller promises.
        unsafe {
            let tuple = pg_sys::heap_form_tuple(desc.raw(), self.values.as_mut_ptr(), self.nulls.as_mut_ptr());
            (*tuple).t_tableOid = table;
            Tuple::of(*tuple)
        }
    }
}
