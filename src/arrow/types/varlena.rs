//! Access to variable-length datums.

use pgrx::pg_sys;

/// The payload of a varlena, detoasted where needed. Most values are stored inline and are not copied.
///
/// # Safety
/// `value` is a varlena datum. The slice is valid until the datum's memory or CurrentMemoryContext is reset.
pub unsafe fn payload<'a>(value: pg_sys::Datum) -> &'a [u8] {
    let mut pointer = value.cast_mut_ptr::<pg_sys::varlena>();
    if pgrx::varatt_is_1b_e(pointer) || pgrx::varatt_is_4b_c(pointer) {
        pointer = pg_sys::pg_detoast_datum_packed(pointer);
    }
    let length = pgrx::varsize_any_exhdr(pointer);
    std::slice::from_raw_parts(pgrx::vardata_any(pointer).cast(), length)
}
