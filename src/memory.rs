//! How malloc deals with vectors. A leaf's columns and what is computed of them are some hundred kilobytes each, allocated and freed for
//! every leaf; by default malloc gives such memory back to the system at once, and touching it anew costs up to a third of a query.

/// Has a session keep up to 64 MB of free memory at the end of its heap.
pub fn init() {
    #[cfg(target_env = "gnu")]
    {
        use std::ffi::c_int;
        extern "C" {
            fn mallopt(parameter: c_int, value: c_int) -> c_int;
        }
        // malloc.h
        const M_TRIM_THRESHOLD: c_int = -1;
        const M_MMAP_THRESHOLD: c_int = -3;
        // SAFETY: sets parameters of malloc, which may be called at any time.
        unsafe {
            mallopt(M_MMAP_THRESHOLD, 32 << 20);
            mallopt(M_TRIM_THRESHOLD, 64 << 20);
        }
    }
}
