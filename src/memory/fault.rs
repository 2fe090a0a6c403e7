//! For tests: memory that is refused (`amax.fault_allocation`). Counted are requests of 64 kB and more, from when the setting is set.
//! `N` refuses the Nth, `N+` all from it on: what is served then comes out of the reserve, to which what is given back goes. `/BYTES`
//! behind it counts smaller ones, too.

use super::reserve;
use pgrx::prelude::*;
use std::ffi::{c_char, c_void, CStr};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Requests of so many bytes are counted, unless the setting says otherwise.
const COUNTED: usize = 64 << 10;
/// No request is so large.
const OFF: usize = usize::MAX;

/// Requests of so many bytes are counted now.
static LEAST: AtomicUsize = AtomicUsize::new(OFF);
/// Which of them is refused.
static AT: AtomicU64 = AtomicU64::new(0);
/// Whether all behind it are.
static LASTING: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicU64 = AtomicU64::new(0);
/// Bytes that the reserve has left.
static LEFT: AtomicUsize = AtomicUsize::new(0);

#[inline]
pub fn is_armed() -> bool {
    LEAST.load(Relaxed) != OFF
}

/// Whether a request is to fail.
#[inline]
pub fn refuses(size: usize) -> bool {
    size >= LEAST.load(Relaxed) && count()
}

#[cold]
fn count() -> bool {
    let count = COUNT.fetch_add(1, Relaxed) + 1;
    let at = AT.load(Relaxed);
    count == at || count > at && LASTING.load(Relaxed)
}

/// Takes what is refused out of the reserve.
pub fn take_reserve(size: usize) -> bool {
    let taken = LEFT.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(size));
    taken.is_ok()
}

#[inline]
pub fn freed(size: usize) {
    if size >= LEAST.load(Relaxed) {
        let more = LEFT.load(Relaxed).saturating_add(size);
        LEFT.store(more.min(reserve::BYTES), Relaxed);
    }
}

struct Setting {
    at: u64,
    lasting: bool,
    least: usize,
}

fn parse(setting: &str) -> Option<Setting> {
    if setting.is_empty() {
        return Some(Setting {
            at: 0,
            lasting: false,
            least: OFF,
        });
    }
    let (which, least) = match setting.split_once('/') {
        Some((which, least)) => (which, least.parse().ok()?),
        None => (setting, COUNTED),
    };
    let number = which.strip_suffix('+');
    Some(Setting {
        at: number.unwrap_or(which).parse().ok().filter(|&at| at > 0)?,
        lasting: number.is_some(),
        least,
    })
}

unsafe fn text<'a>(setting: *const c_char) -> &'a str {
    if setting.is_null() {
        return "";
    }
    CStr::from_ptr(setting).to_str().unwrap_or("?")
}

#[pg_guard]
pub unsafe extern "C-unwind" fn check(
    setting: *mut *mut c_char,
    _extra: *mut *mut c_void,
    _source: pg_sys::GucSource::Type,
) -> bool {
    parse(text(*setting)).is_some()
}

#[pg_guard]
pub unsafe extern "C-unwind" fn assign(setting: *const c_char, _extra: *mut c_void) {
    let Some(setting) = parse(text(setting)) else {
        return;
    };
    LEAST.store(OFF, Relaxed);
    COUNT.store(0, Relaxed);
    AT.store(setting.at, Relaxed);
    LASTING.store(setting.lasting, Relaxed);
    LEFT.store(reserve::BYTES, Relaxed);
    LEAST.store(setting.least, Relaxed);
}

/// Shows how many have been counted, too: tests go through all of them.
#[pg_guard]
pub unsafe extern "C-unwind" fn show() -> *const c_char {
    let shown = match is_armed() {
        true => format!("{} requests so far\0", COUNT.load(Relaxed)),
        false => "\0".to_owned(),
    };
    pg_sys::pstrdup(shown.as_ptr().cast())
}
