//! Signals, as flags that the measuring threads read.

use crate::exit::{Failure, no_thread};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::pipe;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The signals that end a run, with a report.
pub const ENDS: [i32; 2] = [SIGINT, SIGTERM];
/// Exit code if the user did not wait for the report (128 + SIGINT, as shells have it).
const IMPATIENT: i32 = 130;

/// Sets `stop` on any of the signals. Once `may_end` is set, which may be the same flag, another signal ends the program at
/// once, without a report.
pub fn stop_on(signals: &[i32], stop: &Arc<AtomicBool>, may_end: &Arc<AtomicBool>) -> Result<(), Failure> {
    for &signal in signals {
        flag::register_conditional_shutdown(signal, IMPATIENT, Arc::clone(may_end)).map_err(refused)?;
        set_on(signal, Arc::clone(stop))?;
    }
    Ok(())
}

/// Sets `stop` on the first of the signals that end a run, and `kill` on the second. The third one ends the program at once, without a
/// report.
pub fn stop_then_kill(stop: Arc<AtomicBool>, kill: Arc<AtomicBool>) -> Result<(), Failure> {
    let (mut signals, sender) = UnixStream::pair().map_err(refused)?;
    for signal in ENDS {
        pipe::register(signal, sender.try_clone().map_err(refused)?).map_err(refused)?;
    }
    let take = move || {
        // A byte for each signal.
        while signals.read_exact(&mut [0_u8]).is_ok() {
            if stop.swap(true, Relaxed) && kill.swap(true, Relaxed) {
                std::process::exit(IMPATIENT);
            }
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(take).map_err(no_thread)?;
    Ok(())
}

/// Sets `flag` on the signal.
pub fn set_on(signal: i32, flag: Arc<AtomicBool>) -> Result<(), Failure> {
    flag::register(signal, flag).map(|_| ()).map_err(refused)
}

/// SIGHUP to a program that runs for long, by which some of them read their settings again.
#[derive(Clone, Debug, Default)]
pub struct HungUp(Arc<AtomicBool>);

impl HungUp {
    /// Takes the signal from now on: it does not end the program.
    pub fn watch() -> Result<Self, Failure> {
        let own = Self::default();
        set_on(SIGHUP, Arc::clone(&own.0))?;
        Ok(own)
    }

    /// Returns what is to be said if it came since.
    pub fn line(&self) -> Option<&'static str> {
        let line = "SIGHUP changes nothing: settings are read at the start, so that a change of them needs a restart";
        self.0.swap(false, Relaxed).then_some(line)
    }
}

fn refused(error: std::io::Error) -> Failure {
    Failure::fault(format!("cannot handle signals: {error}"))
}
