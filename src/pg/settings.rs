//! PostgreSQL's settings that we go by.

use pgrx::pg_sys;

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
