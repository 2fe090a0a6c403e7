//! Lists and nodes of PostgreSQL's trees.

use pgrx::pg_sys;

/// # Safety
/// NIL, or a list of integers.
pub unsafe fn integers(list: *const pg_sys::List) -> Vec<i32> {
    // SAFETY: as the caller promises; a list has so many elements.
    unsafe {
        let cells = list
            .as_ref()
            .map_or(&[][..], |l| std::slice::from_raw_parts(l.elements, l.length as usize));
        cells.iter().map(|cell| cell.int_value).collect()
    }
}

/// makeNode().
///
/// # Safety
/// `T` is the struct with this tag.
pub unsafe fn node<T>(tag: pg_sys::NodeTag) -> *mut T {
    // SAFETY: room for `T`, which begins as every node does.
    unsafe {
        let node = pg_sys::palloc0(std::mem::size_of::<T>()).cast::<pg_sys::Node>();
        (*node).type_ = tag;
        node.cast()
    }
}
