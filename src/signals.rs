//! Signals, as flags that the measuring threads read.

use crate::exit::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What ends a run, with a report.
pub(crate) const ENDS: [i32; 2] = [SIGINT, SIGTERM];
/// Exit code if the user did not wait for the report (128 + SIGINT, as shells have it).
const IMPATIENT: i32 = 130;

/// Sets `stop` on any of the signals. Once `may_end` is set, which may be the same flag, another signal ends the program at
/// once, without a report.
pub(crate) fn stop_on(
    signals: &[i32],
    stop: &Arc<AtomicBool>,
    may_end: &Arc<AtomicBool>,
) -> Result<(), Failure> {
    for &signal in signals {
        flag::register_conditional_shutdown(signal, IMPATIENT, Arc::clone(may_end)).map_err(refused)?;
        set_on(signal, Arc::clone(stop))?;
    }
    Ok(())
}

/// Sets `flag` on the signal.
pub(crate) fn set_on(signal: i32, flag: Arc<AtomicBool>) -> Result<(), Failure> {
    flag::register(signal, flag).map(|_| ()).map_err(refused)
}

fn refused(error: std::io::Error) -> Failure {
    Failure::fault(format!("cannot handle signals: {error}"))
}
