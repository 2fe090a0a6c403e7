//! Memory contexts.

use super::handle::handle;
use pgrx::{PgMemoryContexts, pg_sys};

/// A memory context of our own, deleted on drop.
pub struct Context(PgMemoryContexts);

impl Context {
    pub fn new(name: &'static str) -> Context {
        Context(PgMemoryContexts::new(name))
    }

    /// One that may outlive the transaction.
    pub fn lasting(name: &'static str) -> Context {
        // SAFETY: a context that is always there.
        unsafe { PgMemoryContexts::TopMemoryContext.switch_to(|_| Context::new(name)) }
    }

    /// Runs `f` with this as CurrentMemoryContext. After an error PostgreSQL's abort sets it anew.
    pub fn within<R>(&self, f: impl FnOnce() -> R) -> R {
        // SAFETY: a live context, and the one before lives as long as its owner's work, which we are part of.
        unsafe {
            let old = pg_sys::MemoryContextSwitchTo(self.0.value());
            let result = f();
            pg_sys::MemoryContextSwitchTo(old);
            result
        }
    }

    /// Frees what was allocated in it. Nothing of that may still be in use.
    pub fn reset(&mut self) {
        let context = self.0.value();
        // SAFETY: as said; what Rust borrows of it ends before, as a mutable reference to it is needed here.
        unsafe {
            // PostgreSQL looks as well, but behind a call that sets up a boundary for errors.
            if !(*context).isReset || !(*context).firstchild.is_null() {
                self.0.reset();
            }
        }
    }
}

handle! {
    /// A memory context of somebody else's.
    Other, pg_sys::MemoryContextData
}

impl Other {
    /// As [`Context::within`].
    pub fn within<R>(&self, f: impl FnOnce() -> R) -> R {
        // SAFETY: as there.
        unsafe {
            let old = pg_sys::MemoryContextSwitchTo(self.raw());
            let result = f();
            pg_sys::MemoryContextSwitchTo(old);
            result
        }
    }
}
