//! Attributes of a tuple descriptor.

use pgrx::pg_sys;

/// TupleDescAttr().
pub unsafe fn attribute(desc: pg_sys::TupleDesc, at: usize) -> *mut pg_sys::FormData_pg_attribute {
    #[cfg(not(feature = "pg18"))]
    return (*desc).attrs.as_mut_ptr().add(at);
    #[cfg(feature = "pg18")]
    {
        // The attributes follow the compact ones (tupdesc.h).
        let compact = (*desc).compact_attrs.as_mut_ptr();
        (compact.add((*desc).natts as usize) as *mut pg_sys::FormData_pg_attribute).add(at)
    }
}
