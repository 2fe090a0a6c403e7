//! Values of variable length, and arrays of them.

use super::lookup::{Held, held};
use pgrx::pg_sys;
use pgrx::varlena::{varatt_is_1b_e, varatt_is_4b_c, vardata_any, varsize_any_exhdr};

/// The bytes of a variable-length value, which lives as long as its memory context.
///
/// # Safety
/// Such a value, not NULL.
pub unsafe fn varlena<'a>(value: pg_sys::Datum) -> &'a [u8] {
    // SAFETY: as the caller promises.
    unsafe {
        let mut plain: *mut pg_sys::varlena = value.cast_mut_ptr();
        if varatt_is_1b_e(plain) || varatt_is_4b_c(plain) {
            plain = pg_sys::pg_detoast_datum_packed(plain);
        }
        std::slice::from_raw_parts(vardata_any(plain) as *const u8, varsize_any_exhdr(plain))
    }
}

/// The bytes of a value of so many, which is passed by reference and lives as long as its memory context.
///
/// # Safety
/// Such a value, not NULL.
pub unsafe fn fixed<'a>(value: pg_sys::Datum, len: usize) -> &'a [u8] {
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(value.cast_mut_ptr(), len) }
}

/// A copy of a variable-length value in the current memory context, out of line as it is.
///
/// # Safety
/// Such a value, not NULL.
pub unsafe fn copied(value: pg_sys::Datum) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe { pg_sys::datumCopy(value, false, -1) }
}

/// A variable-length value of these bytes, in the current memory context.
pub fn of_bytes(bytes: &[u8]) -> pg_sys::Datum {
    let total = bytes.len() + pg_sys::VARHDRSZ;
    // SAFETY: memory of that size.
    unsafe {
        let at = pg_sys::MemoryContextAllocHuge(pg_sys::CurrentMemoryContext, total) as *mut u8;
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), at.add(pg_sys::VARHDRSZ), bytes.len());
        pgrx::set_varsize_4b(at as *mut pg_sys::varlena, total as i32);
        pg_sys::Datum::from(at as *mut std::ffi::c_void)
    }
}

/// A value that is these bytes, in the current memory context.
pub fn of_fixed(bytes: &[u8]) -> pg_sys::Datum {
    // SAFETY: memory for the bytes.
    unsafe {
        let at = pg_sys::palloc(bytes.len()) as *mut u8;
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len());
        pg_sys::Datum::from(at as *mut std::ffi::c_void)
    }
}

/// A C string of these bytes, in the current memory context.
pub fn c_string(bytes: &[u8]) -> pg_sys::Datum {
    // SAFETY: memory for the bytes and a zero.
    unsafe {
        let at = pg_sys::palloc(bytes.len() + 1) as *mut u8;
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len());
        at.add(bytes.len()).write(0);
        pg_sys::Datum::from(at as *mut std::ffi::c_void)
    }
}

/// A value's bytes as they are in memory, aligned for any type; with their length before them if it is of variable length.
pub fn image_of(bytes: &[u8], varlena: bool) -> Box<[u64]> {
    let header = if varlena { pg_sys::VARHDRSZ } else { 0 };
    let total = header + bytes.len();
    let mut image = vec![0_u64; total.div_ceil(8)].into_boxed_slice();
    let at = image.as_mut_ptr() as *mut u8;
    // SAFETY: so many bytes are there.
    unsafe {
        if varlena {
            pgrx::set_varsize_4b(at as *mut pg_sys::varlena, total as i32);
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), at.add(header), bytes.len());
    }
    image
}

/// A copy of a value that is passed by reference, out of line as it is, aligned for any type.
///
/// # Safety
/// A value of such a type, not NULL.
pub unsafe fn image_of_value(value: pg_sys::Datum, held: Held) -> Box<[u64]> {
    // SAFETY: as the caller promises; a copy is as long as it says, an expanded value is made flat by it.
    unsafe {
        let copy = pg_sys::datumCopy(value, false, held.len.into());
        let bytes = pg_sys::datumGetSize(copy, false, held.len.into());
        let mut image = vec![0_u64; bytes.div_ceil(8)].into_boxed_slice();
        std::ptr::copy_nonoverlapping(copy.cast_mut_ptr::<u8>(), image.as_mut_ptr().cast(), bytes);
        image
    }
}

/// A value of variable length with its length before it, compressed (pglz); None if that takes nothing off.
pub fn compressed_image(bytes: &[u8]) -> Option<Box<[u64]>> {
    let plain = image_of(bytes, true);
    let method = pg_sys::TOAST_PGLZ_COMPRESSION as std::ffi::c_char;
    // SAFETY: a value of variable length; a new one, as long as it says.
    unsafe {
        let made = pg_sys::toast_compress_datum(pg_sys::Datum::from(plain.as_ptr()), method);
        let made = made.cast_mut_ptr::<pg_sys::varlena>();
        let total = (!made.is_null()).then(|| pgrx::varsize_any(made))?;
        let mut image = vec![0_u64; total.div_ceil(8)].into_boxed_slice();
        std::ptr::copy_nonoverlapping(made.cast::<u8>(), image.as_mut_ptr().cast(), total);
        pg_sys::pfree(made.cast());
        Some(image)
    }
}

/// The same of a value of `len` bytes, given these as pglz has compressed them.
pub fn image_of_compressed(bytes: &[u8], len: usize) -> Box<[u64]> {
    // Its method is 0, above its length (varattrib_4b).
    let content = [&(len as u32).to_ne_bytes(), bytes].concat();
    let mut image = image_of(&content, true);
    let total = (content.len() + pg_sys::VARHDRSZ) as u32;
    let header = match cfg!(target_endian = "big") {
        true => total | 0x4000_0000,
        false => total << 2 | 2,
    };
    // SAFETY: it has a header (SET_VARSIZE_4B_C of postgres.h).
    unsafe { *image.as_mut_ptr().cast::<u32>() = header };
    image
}

/// The elements of an array, each with whether it is NULL; they live as long as the current memory context.
///
/// # Safety
/// An array of such elements, not NULL.
pub unsafe fn elements(array: pg_sys::Datum, element: pg_sys::Oid) -> Vec<(pg_sys::Datum, bool)> {
    let held = held(element);
    let (mut values, mut nulls, mut n) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
    // SAFETY: as the caller promises.
    unsafe {
        pg_sys::deconstruct_array(
            pg_sys::pg_detoast_datum(array.cast_mut_ptr()) as *mut pg_sys::ArrayType,
            element,
            i32::from(held.len),
            held.by_value,
            held.align,
            &mut values,
            &mut nulls,
            &mut n,
        );
        (0..n as usize).map(|at| (*values.add(at), *nulls.add(at))).collect()
    }
}

/// An array of so many elements, each with whether it is NULL, in the current memory context.
pub fn array_of(element: pg_sys::Oid, values: &[(pg_sys::Datum, bool)]) -> pg_sys::Datum {
    let held = held(element);
    let (mut elements, mut nulls): (Vec<_>, Vec<_>) = values.iter().copied().unzip();
    let (mut len, mut first) = (values.len() as i32, 1);
    // SAFETY: elements of the type, one dimension of them.
    unsafe {
        let made = pg_sys::construct_md_array(
            elements.as_mut_ptr(),
            nulls.as_mut_ptr(),
            1,
            &mut len,
            &mut first,
            element,
            i32::from(held.len),
            held.by_value,
            held.align,
        );
        pg_sys::Datum::from(made)
    }
}

/// A text that grows, in the memory context that was current when it was begun (stringinfo.c).
pub struct Text(pg_sys::StringInfoData);

impl Text {
    pub fn new() -> Text {
        let mut text = Text(pg_sys::StringInfoData::default());
        // SAFETY: makes it an empty one.
        unsafe { pg_sys::initStringInfo(&mut text.0) };
        text
    }

    /// PostgreSQL's error if it becomes too long.
    pub fn append(&mut self, bytes: &[u8]) {
        // SAFETY: bytes, whose length PostgreSQL bounds.
        unsafe { pg_sys::appendBinaryStringInfo(&mut self.0, bytes.as_ptr().cast(), bytes.len() as i32) }
    }

    /// As a value, in the current memory context.
    pub fn finish(self) -> pg_sys::Datum {
        // SAFETY: so many bytes are there, which nobody else has.
        unsafe {
            let value = of_bytes(std::slice::from_raw_parts(self.0.data.cast(), self.0.len as usize));
            pg_sys::pfree(self.0.data.cast());
            value
        }
    }
}
