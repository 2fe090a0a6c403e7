//! Whether the query that runs is read to its end in one go: not through a cursor, nor by a function that takes its
//! first rows.

use std::cell::Cell;

thread_local! {
    static WHOLE: Cell<bool> = const { Cell::new(false) };
}

pub fn is_whole() -> bool {
    WHOLE.get()
}

/// While one of these lives a query runs within what ran before, which goes on when it has ended, be it by an error.
pub struct Running(bool);

impl Running {
    pub fn begin(whole: bool) -> Running {
        Running(WHOLE.replace(whole))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        WHOLE.set(self.0);
    }
}
