//! An allocator for tests that refuses memory. A test makes it a module of its own: `#[path =
//! "../../memory/testing/allocator.rs"]`.
//!
//! As the extension's (src/memory): who asks is told no, all others are served from a reserve.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// Requests of so many bytes are counted.
const COUNTED: usize = 64 << 10;
/// As src/memory/reserve.rs has it.
const RESERVE: usize = 32 << 20;

struct Refusing;

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// Which request is refused; 0: none.
static AT: AtomicUsize = AtomicUsize::new(0);
static LASTING: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicUsize = AtomicUsize::new(0);
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Whether a request of that size is granted. Without a reserve the process would abort, and with it the test.
fn grants(size: usize) -> bool {
    if size < COUNTED || AT.load(SeqCst) == 0 {
        return true;
    }
    let count = COUNT.fetch_add(1, SeqCst) + 1;
    let at = AT.load(SeqCst);
    if count < at || count > at && !LASTING.load(SeqCst) {
        return true;
    }
    if amax_memory::is_asking() {
        return false;
    }
    amax_memory::refused(size);
    let left = LEFT.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(size));
    left.is_ok()
}

// SAFETY: the system's allocator does all of it.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match grants(layout.size()) {
            // SAFETY: as our caller promises.
            true => unsafe { System.alloc(layout) },
            false => std::ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if layout.size() >= COUNTED {
            let given = |left: usize| Some((left + layout.size()).min(RESERVE));
            let _ = LEFT.fetch_update(SeqCst, SeqCst, given);
        }
        // SAFETY: as our caller promises.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match grants(size) {
            // SAFETY: as our caller promises.
            true => unsafe { System.realloc(start, layout, size) },
            false => std::ptr::null_mut(),
        }
    }
}

/// Runs `work`, which gives Ok if it succeeded and Err if memory ran out, with the `at`th request refused, or all from
/// it on. Returns also how many requests there were.
fn with_fault<R>(at: usize, lasting: bool, work: &dyn Fn() -> R) -> (R, usize) {
    COUNT.store(0, SeqCst);
    LASTING.store(lasting, SeqCst);
    LEFT.store(RESERVE, SeqCst);
    amax_memory::forget();
    AT.store(at, SeqCst);
    let result = work();
    AT.store(0, SeqCst);
    amax_memory::forget();
    (result, COUNT.load(SeqCst))
}

/// Refuses one request after the other, up to `tries` of them, evenly spread: each time the work gives what it gives
/// without, or says that memory ran out; at least once that.
pub fn refuse_each<R: PartialEq + std::fmt::Debug>(name: &str, tries: usize, work: &dyn Fn() -> Option<R>) {
    let (wanted, count) = with_fault(usize::MAX, false, work);
    assert!(wanted.is_some(), "{name} fails without a fault");
    assert!(count > 0, "{name} requests no memory");
    let mut refusals = 0;
    for lasting in [false, true] {
        for at in (1..=count).step_by(count.div_ceil(tries)) {
            match with_fault(at, lasting, work).0 {
                None => refusals += 1,
                Some(result) => assert!(
                    Some(result) == wanted,
                    "{name} gives something else with request {at} refused"
                ),
            }
        }
    }
    assert!(refusals > 0, "{name} does not notice that memory is refused");
    println!("{name}: {count} requests, {refusals} refusals");
}
