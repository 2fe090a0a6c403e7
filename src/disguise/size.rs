//! A table's size in physical blocks instead of logical ones.

use std::cell::Cell;

thread_local! {
    /// How many [`Physical`] there are.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// While one of these lives, a table's size is what the storage manager says: hio.c must see physical blocks. Otherwise
/// it is the number of logical blocks, which is what TIDs, BRIN, ANALYZE and TABLESAMPLE count in (invariant T2).
pub struct Physical(());

impl Physical {
    pub fn enter() -> Physical {
        DEPTH.with(|depth| depth.set(depth.get() + 1));
        Physical(())
    }

    pub fn is_active() -> bool {
        DEPTH.with(|depth| depth.get() > 0)
    }
}

impl Drop for Physical {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
    }
}

/// Puts [`Physical`] out of force for code that heap calls back.
pub struct Logical(u32);

impl Logical {
    pub fn enter() -> Logical {
        Logical(DEPTH.with(|depth| depth.replace(0)))
    }
}

impl Drop for Logical {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(self.0));
    }
}
