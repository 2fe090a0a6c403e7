//! Points where tests make what we do fail.

#[cfg(feature = "test_hooks")]
extern "C" {
    fn kill(process: i32, signal: i32) -> i32;
}

/// A point where tests inject an error, a crash or a pause: the name is compared with amax.fault_point (`NAME` raises an error, `NAME!`
/// is a kill -9 of the server process, `NAME~N` sleeps for N milliseconds). Each is visited by tests/python/storage/faults.py.
#[cfg(feature = "test_hooks")]
pub fn fault(name: &str) {
    let Some(wanted) = crate::guc::fault_point() else {
        return;
    };
    match wanted.strip_prefix(name) {
        Some("") => pgrx::error!("fault injected at {name}"),
        Some("!") => unsafe {
            kill(std::process::id() as i32, 9);
        },
        Some(pause) => {
            if let Some(Ok(pause)) = pause.strip_prefix('~').map(str::parse::<f64>) {
                let seconds = pgrx::pg_sys::Datum::from((pause / 1000.0).to_bits());
                unsafe {
                    pgrx::direct_function_call_as_datum(pgrx::pg_sys::pg_sleep, &[Some(seconds)])
                };
            }
        }
        None => {}
    }
}

#[cfg(not(feature = "test_hooks"))]
#[inline(always)]
pub fn fault(_name: &str) {}
