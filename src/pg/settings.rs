//! PostgreSQL's settings that we go by.

use pgrx::pg_sys;
use std::ffi::CStr;

/// What a setting of anybody's is now, if there is one of that name.
pub fn text_of(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: a string or null, which stays until somebody sets it.
    unsafe {
        let value = pg_sys::GetConfigOption(name.as_ptr(), true, false);
        (!value.is_null()).then(|| CStr::from_ptr(value))
    }
}

/// Whether a setting is one that a library has defined, and not a name that somebody has given a value.
fn is_defined(name: &CStr) -> bool {
    // SAFETY: it looks the setting up; 0 if there is none of that name.
    let flags = unsafe { pg_sys::GetConfigOptionFlags(name.as_ptr(), true) };
    flags & pg_sys::GUC_CUSTOM_PLACEHOLDER as i32 == 0
}

/// pg_parquet's switch, which is there once its library is loaded, and says whether it takes COPY in this format. A library that is loaded
/// behind ours is asked before us, whatever we think; one in front of ours would not be.
const PARQUET_SWITCH: &CStr = c"pg_parquet.enable_copy_hooks";

/// Whether another library has the format parquet.
pub fn is_parquet_claimed() -> bool {
    let is_on = |value: &CStr| matches!(value.to_bytes(), b"on" | b"true" | b"yes" | b"1");
    text_of(PARQUET_SWITCH).is_some_and(is_on) && is_defined(PARQUET_SWITCH)
}

/// While it lives, values are printed so that they are read as the same ones under whatever settings (set_transmission_modes() of postgres_fdw).
pub struct Portable(i32);

impl Portable {
    pub fn begin() -> Portable {
        use pg_sys::GucAction::GUC_ACTION_SAVE as SAVE;
        use pg_sys::GucContext::PGC_USERSET as USER;
        use pg_sys::GucSource::PGC_S_SESSION as SESSION;
        let settings = [
            (c"datestyle", c"ISO"),
            (c"intervalstyle", c"postgres"),
            (c"extra_float_digits", c"3"),
        ];
        // SAFETY: a level of settings, which ends with this.
        let level = unsafe { pg_sys::NewGUCNestLevel() };
        for (name, value) in settings.map(|(name, value)| (name.as_ptr(), value.as_ptr())) {
            // SAFETY: a setting of anybody's, and a value that it may have.
            unsafe { pg_sys::set_config_option(name, value, USER, SESSION, SAVE, true, 0, false) };
        }
        Portable(level)
    }
}

impl Drop for Portable {
    fn drop(&mut self) {
        // SAFETY: the level that has been begun; after an error its transaction does the same.
        unsafe { pg_sys::AtEOXact_GUC(true, self.0) }
    }
}

/// wal_level.
pub fn wal_level() -> pg_sys::WalLevel::Type {
    // SAFETY: a setting.
    unsafe { pg_sys::wal_level as pg_sys::WalLevel::Type }
}

/// maintenance_work_mem, in bytes.
pub fn maintenance_work_mem() -> usize {
    // SAFETY: a setting.
    unsafe { pg_sys::maintenance_work_mem as usize * 1024 }
}

/// max_parallel_maintenance_workers.
pub fn most_build_workers() -> usize {
    // SAFETY: a setting.
    unsafe { pg_sys::max_parallel_maintenance_workers as usize }
}

/// The memory that this process may use for maintenance: autovacuum_work_mem for its workers, if that is set.
pub fn own_maintenance_work_mem() -> usize {
    // SAFETY: a setting, and what kind of process this is.
    unsafe {
        match pg_sys::autovacuum_work_mem {
            own if own >= 0 && pg_sys::MyBackendType == pg_sys::BackendType::B_AUTOVAC_WORKER => own as usize * 1024,
            _ => maintenance_work_mem(),
        }
    }
}
