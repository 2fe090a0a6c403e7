//! `amax.fault_allocation`: reading, setting and showing it.

use super::{AT, COUNT, LASTING, LEAST, LEFT, OFF, RESERVE, is_armed};
use crate::memory::reserve;
use pgrx::prelude::*;
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::Ordering::Relaxed;

/// Requests of so many bytes are counted, unless the setting says otherwise.
const COUNTED: usize = 64 << 10;

struct Setting {
    at: u64,
    lasting: bool,
    least: usize,
    reserve: usize,
}

fn parse(setting: &str) -> Option<Setting> {
    if setting.is_empty() {
        return Some(Setting {
            at: 0,
            lasting: false,
            least: OFF,
            reserve: reserve::BYTES,
        });
    }
    let (setting, reserve) = match setting.split_once('=') {
        Some((setting, reserve)) => (setting, reserve.parse().ok().filter(|&r| r <= reserve::BYTES)?),
        None => (setting, reserve::BYTES),
    };
    let (which, least) = match setting.split_once('/') {
        Some((which, least)) => (which, least.parse().ok()?),
        None => (setting, COUNTED),
    };
    let number = which.strip_suffix('+');
    Some(Setting {
        at: number.unwrap_or(which).parse().ok().filter(|&at| at > 0)?,
        lasting: number.is_some(),
        least,
        reserve,
    })
}

/// What a setting says.
///
/// # Safety
/// A string that stays as it is, or null.
unsafe fn of(setting: *const c_char) -> Option<Setting> {
    if setting.is_null() {
        return parse("");
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(setting) };
    parse(text.to_str().unwrap_or("?"))
}

/// # Safety
/// As guc.c calls it: the new value, or null, where `setting` points to.
#[pg_guard]
pub unsafe extern "C-unwind" fn check(
    setting: *mut *mut c_char,
    _extra: *mut *mut c_void,
    _source: pg_sys::GucSource::Type,
) -> bool {
    // SAFETY: as the caller promises.
    unsafe { of(*setting) }.is_some()
}

/// # Safety
/// As guc.c calls it: the new value, or null.
#[pg_guard]
pub unsafe extern "C-unwind" fn assign(setting: *const c_char, _extra: *mut c_void) {
    // SAFETY: as the caller promises.
    if let Some(setting) = unsafe { of(setting) } {
        setting.put();
    }
}

impl Setting {
    /// From here on it is in force.
    fn put(&self) {
        LEAST.store(OFF, Relaxed);
        COUNT.store(0, Relaxed);
        AT.store(self.at, Relaxed);
        LASTING.store(self.lasting, Relaxed);
        RESERVE.store(self.reserve, Relaxed);
        LEFT.store(self.reserve, Relaxed);
        LEAST.store(self.least, Relaxed);
    }
}

/// Shows how many have been counted, too: tests go through all of them.
///
/// # Safety
/// As guc.c calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn show() -> *const c_char {
    let shown = match is_armed() {
        true => format!("{} requests so far\0", COUNT.load(Relaxed)),
        false => "\0".to_owned(),
    };
    // SAFETY: it ends with a zero, and is copied.
    unsafe { pg_sys::pstrdup(shown.as_ptr().cast()) }
}
