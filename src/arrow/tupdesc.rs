//! Attributes of a tuple descriptor.

use pgrx::pg_sys;

/// The attributes, dropped ones included.
///
/// # Safety
/// `desc` is valid for as long as the slice is used.
pub unsafe fn attributes<'a>(desc: pg_sys::TupleDesc) -> &'a [pg_sys::FormData_pg_attribute] {
    let count = (*desc).natts as usize;
    #[cfg(not(feature = "pg18"))]
    let first = (*desc).attrs.as_ptr();
    // TupleDescAttr of 18: they follow the compact attributes.
    #[cfg(feature = "pg18")]
    let first = (*desc).compact_attrs.as_ptr().add(count).cast();
    std::slice::from_raw_parts(first, count)
}
