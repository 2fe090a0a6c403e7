//! Tuple descriptors.

use super::handle::handle;
use pgrx::pg_sys;
use std::ffi::{CStr, CString};

handle! {
    /// A tuple descriptor.
    TupleDesc, pg_sys::TupleDescData
}

pub type Attribute = pg_sys::FormData_pg_attribute;

impl TupleDesc {
    pub fn natts(&self) -> usize {
        // SAFETY: a field.
        unsafe { (*self.raw()).natts as usize }
    }

    /// TupleDescAttr(): attribute `at`, counted from 0.
    pub fn attribute(&self, at: usize) -> &Attribute {
        assert!(at < self.natts());
        // SAFETY: it has so many. Nobody changes the attributes of a descriptor in use.
        unsafe { &*attribute(self.raw(), at) }
    }

    pub fn attributes(&self) -> impl Iterator<Item = &Attribute> {
        (0..self.natts()).map(|at| self.attribute(at))
    }

    /// The value of attribute `at` in rows older than it.
    pub fn missing(&self, at: usize) -> (pg_sys::Datum, bool) {
        assert!(at < self.natts());
        let mut null = false;
        // SAFETY: it has so many.
        let value = unsafe { pg_sys::getmissingattr(self.raw(), at as i32 + 1, &mut null) };
        (value, null)
    }
}

/// TupleDescAttr() (tupdesc.h).
///
/// # Safety
/// The descriptor has so many.
pub unsafe fn attribute(desc: pg_sys::TupleDesc, at: usize) -> *mut Attribute {
    #[cfg(not(feature = "pg18"))]
    // SAFETY: as the caller promises.
    return unsafe { (*desc).attrs.as_mut_ptr().add(at) };
    #[cfg(feature = "pg18")]
    // SAFETY: the attributes follow the compact ones (tupdesc.h).
    unsafe {
        let compact = (*desc).compact_attrs.as_mut_ptr();
        (compact.add((*desc).natts as usize) as *mut Attribute).add(at)
    }
}

/// Its name, in the database's encoding.
pub fn name_bytes(att: &Attribute) -> &CStr {
    // SAFETY: a name ends with a zero.
    unsafe { CStr::from_ptr(att.attname.data.as_ptr()) }
}

/// Its name.
pub fn name_of(att: &Attribute) -> String {
    name_bytes(att).to_string_lossy().into_owned()
}

/// The attributes of a composite type, with their types; None if it is another.
pub fn of_composite(oid: pg_sys::Oid) -> Option<Vec<(CString, pg_sys::Oid)>> {
    // SAFETY: it looks the type up; the descriptor stays until it is released.
    unsafe {
        if pg_sys::get_typtype(oid) as u8 != pg_sys::TYPTYPE_COMPOSITE {
            return None;
        }
        let desc = pg_sys::lookup_rowtype_tupdesc_copy(oid, -1);
        let attributes = TupleDesc::of(desc)
            .attributes()
            .filter(|attribute| !attribute.attisdropped);
        let attributes = attributes
            .map(|attribute| (name_bytes(attribute).to_owned(), attribute.atttypid))
            .collect();
        pg_sys::FreeTupleDesc(desc);
        Some(attributes)
    }
}
