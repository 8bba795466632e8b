//! The way in which a thread waits for another one.

use std::hint::spin_loop;
use std::thread;
use std::time::Duration;

/// The number of polls for which a thread stays on its core: some microseconds, the time of a burst.
const SPINS: u32 = 256;
/// The number of polls up to which a thread then only lets others run.
const YIELDS: u32 = 4096;
/// The time that a thread sleeps between later polls: nothing has arrived for milliseconds.
const SLEEP: Duration = Duration::from_micros(50);

/// Spins briefly, then yields, then sleeps, so that progress is made even with more threads than cores.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    polls: u32,
}

impl Backoff {
    /// Waits briefly, a little longer each time.
    pub(crate) fn wait(&mut self) {
        self.polls = self.polls.saturating_add(1);
        match self.polls {
            0..SPINS => spin_loop(),
            SPINS..YIELDS => thread::yield_now(),
            _ => thread::sleep(SLEEP),
        }
    }

    /// True after milliseconds of waiting, when reading the clock costs nothing in comparison.
    pub(crate) fn is_long(&self) -> bool {
        self.polls >= YIELDS
    }

    /// The awaited event has occurred.
    pub(crate) fn reset(&mut self) {
        self.polls = 0;
    }
}
