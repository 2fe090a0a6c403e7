//! References to C structs that PostgreSQL owns.

/// Declares a type whose references stand for pointers to a C struct of PostgreSQL's: a function that is given one need
/// not be `unsafe` to look at it. The struct stays PostgreSQL's: it may change whenever PostgreSQL runs, so nothing in
/// it is lent out as a Rust reference, and a backend has one thread.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $struct:ty) => {
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $name(std::cell::UnsafeCell<$struct>);

        impl $name {
            // Kinds of nodes are found by their tags.
            #[allow(dead_code)]
            /// # Safety
            /// It points to such a struct, which stays where it is for as long as the handle is used.
            pub unsafe fn of<'a>(raw: *mut $struct) -> &'a $name {
                debug_assert!(!raw.is_null());
                // SAFETY: the same layout; the cell allows for changes behind our back.
                unsafe { &*raw.cast() }
            }

            /// For PostgreSQL's functions.
            pub fn raw(&self) -> *mut $struct {
                self.0.get()
            }
        }
    };
}

pub(crate) use handle;
