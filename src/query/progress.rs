//! Progress of reading, and its end by Ctrl-C.

use history::{ScanProgress, ScanSummary};
use notation::{grouped, scaled};
use runtime::exit::{Failure, say};
use runtime::signals;
use std::cell::Cell;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const REFRESH: Duration = Duration::from_millis(200);

/// Reading that a signal ends, and whose progress a terminal shows.
pub(super) struct ReadProgress {
    stop: Arc<AtomicBool>,
    began: Instant,
    shown: Cell<Instant>,
    is_shown: bool,
}

impl ReadProgress {
    pub(super) fn start() -> Result<Self, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        signals::stop_on(&signals::ENDS, &stop, &stop)?;
        let began = Instant::now();
        Ok(Self { stop, began, shown: Cell::new(began), is_shown: io::stderr().is_terminal() })
    }

    /// Shows progress now and then; false once reading is to end.
    pub(super) fn continues(&self, progress: ScanProgress) -> bool {
        if self.is_shown && self.shown.get().elapsed() >= REFRESH {
            self.shown.set(Instant::now());
            let share = progress.done_bytes as f64 * 100.0 / progress.total_bytes.max(1) as f64;
            let rate = scaled(progress.rows as f64 / self.began.elapsed().as_secs_f64(), "rows/s");
            eprint!("\r\x1b[K{share:3.0} % {} rows, {rate}", grouped(progress.rows));
        }
        self.goes_on()
    }

    /// False once reading is to end.
    pub(super) fn goes_on(&self) -> bool {
        !self.stop.load(Relaxed)
    }

    /// Removes the line of progress.
    pub(super) fn wipe(&self) {
        if self.is_shown {
            eprint!("\r\x1b[K");
        }
    }

    /// Says on a terminal what was read.
    pub(super) fn summary(&self, outcomes: &[ScanSummary]) {
        if self.is_shown {
            let rows: u64 = outcomes.iter().map(|outcome| outcome.rows).sum();
            let seconds = self.began.elapsed().as_secs_f64();
            say(&format!("{} rows read in {seconds:.2} s", grouped(rows)));
        }
    }
}
