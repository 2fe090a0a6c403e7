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
    RESERVE.store(setting.reserve, Relaxed);
    LEFT.store(setting.reserve, Relaxed);
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
