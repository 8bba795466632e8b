//! Noticing that a receiver was off its core.

use super::clock::{ThreadTime, WireClock};

/// Polls further apart than this make the wire look where the thread was.
const SUSPICIOUS_NS: u64 = 50_000;
/// The thread's time is read at least this often, so that what is found at a gap is not older.
const READ_EVERY_NS: u64 = 1_000_000;
/// Less is what reading two clocks one after the other can pretend.
const LEAST_NS: u64 = 5_000;

/// The times that a receiver's core was taken away from it, between one poll and the next.
///
/// Time off the core is wall time less the thread's CPU time. What the receiver burnt itself, its page faults, and the
/// interrupts that the kernel books on it are CPU time and never excused. A thread that gave its core up to
/// sleep or to wait chose so: a gap with such a switch in it is not excused either.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Absences {
    last_poll: u64,
    /// When the thread's time was read last, and what it was.
    read_at: u64,
    thread: ThreadTime,
    pub(super) gaps: u64,
    pub(super) gap_ns: u64,
    pub(super) longest_ns: u64,
}

impl Absences {
    /// The first poll.
    pub(super) fn begin(now: u64, clock: &mut impl WireClock) -> Self {
        Self { last_poll: now, read_at: now, thread: clock.thread(), ..Self::default() }
    }

    /// Takes note of a poll. True when it ends a gap, which is in the counters then.
    #[inline(always)]
    pub(super) fn poll(&mut self, now: u64, clock: &mut impl WireClock) -> bool {
        let since = now - self.last_poll;
        self.last_poll = now;
        if since < SUSPICIOUS_NS && now - self.read_at < READ_EVERY_NS {
            return false;
        }
        self.look(now, since, clock)
    }

    #[cold]
    fn look(&mut self, now: u64, since: u64, clock: &mut impl WireClock) -> bool {
        let before = std::mem::replace(&mut self.thread, clock.thread());
        let wall = now - std::mem::replace(&mut self.read_at, now);
        let cpu = self.thread.cpu_ns.saturating_sub(before.cpu_ns);
        // Never more than the poll was late, whatever was missed in shorter pauses.
        let off = wall.saturating_sub(cpu).min(since);
        if since < SUSPICIOUS_NS || off < LEAST_NS || self.thread.blocked != before.blocked {
            return false;
        }
        self.gaps += 1;
        self.gap_ns += off;
        self.longest_ns = self.longest_ns.max(off);
        true
    }
}
