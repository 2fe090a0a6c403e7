//! Points where tests make what we do fail.

#[cfg(feature = "test_hooks")]
use pgrx::pg_sys;

#[cfg(feature = "test_hooks")]
unsafe extern "C" {
    fn kill(process: i32, signal: i32) -> i32;
}

/// A point where tests inject an error, a crash or a pause. amax.fault_point names some, with spaces between: `NAME`
/// raises an error, `NAME!` is a kill -9 of the server process, `NAME~N` sleeps for N milliseconds, `NAME@N` waits
/// while somebody holds advisory lock N. Each is visited by tests/python/storage/faults.py.
#[cfg(feature = "test_hooks")]
pub fn fault(name: &str) {
    let Some(wanted) = crate::guc::fault_point() else {
        return;
    };
    let mut actions = wanted.split_whitespace().filter_map(|w| w.strip_prefix(name));
    match actions.find(|action| !action.starts_with(|c: char| c.is_alphanumeric() || c == '_')) {
        Some("") => pgrx::error!("fault injected at {name}"),
        Some("!") => {
            // SAFETY: it ends this process and touches nothing.
            unsafe { kill(std::process::id() as i32, 9) };
        }
        Some(pause) => {
            let of = |sign| pause.strip_prefix(sign).map(str::parse::<u32>);
            if let Some(Ok(milliseconds)) = of('~') {
                sleep(milliseconds);
            } else if let Some(Ok(lock)) = of('@') {
                wait_for(lock);
            }
        }
        None => {}
    }
}

#[cfg(feature = "test_hooks")]
fn sleep(milliseconds: u32) {
    let seconds = pg_sys::Datum::from((f64::from(milliseconds) / 1000.0).to_bits());
    // SAFETY: a function of one float8.
    unsafe { pgrx::direct_function_call_as_datum(pg_sys::pg_sleep, &[Some(seconds)]) };
}

#[cfg(feature = "test_hooks")]
fn wait_for(lock: u32) {
    let lock = [Some(pg_sys::Datum::from(i64::from(lock)))];
    // SAFETY: functions of one bigint.
    unsafe {
        pgrx::direct_function_call_as_datum(pg_sys::pg_advisory_lock_shared_int8, &lock);
        pgrx::direct_function_call_as_datum(pg_sys::pg_advisory_unlock_shared_int8, &lock);
    }
}

#[cfg(not(feature = "test_hooks"))]
#[inline(always)]
pub fn fault(_name: &str) {}
