//! A value of a row.

use std::ffi::CStr;
use std::marker::PhantomData;

use pgrx::pg_sys;

use crate::pg::tupdesc::Attribute;

/// How a type's values are stored (typlen and typbyval of pg_type).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    pub length: i16,
    pub by_value: bool,
}

impl Layout {
    const VARLENA: Layout = Layout {
        length: -1,
        by_value: false,
    };
    const NAME: Layout = Layout {
        length: pg_sys::NAMEDATALEN as i16,
        by_value: false,
    };

    pub fn of(attribute: &Attribute) -> Self {
        Self {
            length: attribute.attlen,
            by_value: attribute.attbyval,
        }
    }
}

/// A value that is not NULL, of the type of the column that it is for. It is there until the row has been dealt with.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    datum: pg_sys::Datum,
    layout: Layout,
    of: PhantomData<&'a ()>,
}

impl<'a> Value<'a> {
    /// # Safety
    /// A Datum of the column's type, which has this layout, and not NULL. What it points to stays for `'a`, and so does
    /// what is allocated in CurrentMemoryContext.
    pub unsafe fn of(datum: pg_sys::Datum, layout: Layout) -> Self {
        Self {
            datum,
            layout,
            of: PhantomData,
        }
    }

    pub fn datum(self) -> pg_sys::Datum {
        self.datum
    }

    /// The payload of a varlena, detoasted where needed. Most values are stored inline and are not copied.
    pub fn payload(self) -> &'a [u8] {
        assert_eq!(self.layout, Layout::VARLENA);
        // SAFETY: as whoever made this promised.
        unsafe {
            let mut pointer = self.datum.cast_mut_ptr::<pg_sys::varlena>();
            if pgrx::varatt_is_1b_e(pointer) || pgrx::varatt_is_4b_c(pointer) {
                pointer = pg_sys::pg_detoast_datum_packed(pointer);
            }
            std::slice::from_raw_parts(pgrx::vardata_any(pointer).cast(), pgrx::varsize_any_exhdr(pointer))
        }
    }

    /// A varlena as aligned words, detoasted where needed: a short header is unpacked, too.
    pub fn unpacked(self) -> *mut pg_sys::varlena {
        assert_eq!(self.layout, Layout::VARLENA);
        // SAFETY: as whoever made this promised.
        unsafe { pg_sys::pg_detoast_datum(self.datum.cast_mut_ptr()) }
    }

    /// The bytes of a type of fixed length that is passed by reference.
    pub fn bytes<const N: usize>(self) -> &'a [u8; N] {
        assert_eq!(
            self.layout,
            Layout {
                length: N as i16,
                by_value: false
            }
        );
        // SAFETY: as whoever made this promised.
        unsafe { &*self.datum.cast_mut_ptr() }
    }

    /// A name.
    pub fn name(self) -> &'a CStr {
        assert_eq!(self.layout, Layout::NAME);
        // SAFETY: as whoever made this promised; a name ends with a zero.
        unsafe { CStr::from_ptr(self.datum.cast_mut_ptr()) }
    }
}
