//! Detects that a receiver was preempted.

use super::clock::{ThreadTime, WireClock};

/// Polls further apart than this make the wire check whether the thread was preempted.
const SUSPICIOUS_NS: u64 = 50_000;
/// The thread's time is read at least this often, so that what is found at a gap is not older.
const READ_EVERY_NS: u64 = 1_000_000;
/// Reading two clocks in sequence can produce smaller differences.
const LEAST_NS: u64 = 5_000;

/// The times that a receiver was preempted, between one poll and the next.
///
/// Time off the core is wall time minus the thread's CPU time. The receiver's own work, its page faults, and
/// the interrupts that the kernel charges to it are CPU time and never excused. A thread that left its core
/// to sleep or to wait did so voluntarily: a gap with such a switch in it is not excused either.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Preemptions {
    last_poll: u64,
    /// The time when the thread's time was read last; `thread` is what it was.
    read_at: u64,
    thread: ThreadTime,
    pub(super) gaps: u64,
    pub(super) gap_ns: u64,
    pub(super) longest_ns: u64,
}

impl Preemptions {
    /// The first poll.
    pub(super) fn begin(now: u64, clock: &mut impl WireClock) -> Self {
        Self { last_poll: now, read_at: now, thread: clock.thread(), ..Self::default() }
    }

    /// Records a poll. Returns true if it ends a gap, which is in the counters then.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Wall time, CPU time, and how often it blocked.
    #[derive(Default)]
    struct Told(u64, u64, u64);

    impl WireClock for Told {
        fn now_ns(&mut self) -> u64 {
            self.0
        }

        fn thread(&mut self) -> ThreadTime {
            ThreadTime { cpu_ns: self.1, blocked: self.2 }
        }

        fn epoch_offset_ns(&mut self) -> u64 {
            0
        }
    }

    /// The gaps that polls with these pauses end: wall time, CPU time and blocking in each.
    fn noticed(pauses: &[(u64, u64, u64)]) -> Vec<u64> {
        let mut clock = Told::default();
        let mut preemptions = Preemptions::begin(0, &mut clock);
        let mut gaps = Vec::new();
        for (wall, cpu, blocked) in pauses {
            clock = Told(clock.0 + wall, clock.1 + cpu, clock.2 + blocked);
            let before = preemptions.gap_ns;
            if preemptions.poll(clock.0, &mut clock) {
                gaps.push(preemptions.gap_ns - before);
            }
        }
        assert_eq!(preemptions.gaps, gaps.len() as u64);
        assert_eq!(preemptions.longest_ns, gaps.iter().copied().max().unwrap_or(0));
        gaps
    }

    #[test]
    fn time_off_the_core_is_noticed_and_what_was_burnt_is_not_excused() {
        assert_eq!(noticed(&[(4_000_000, 0, 0), (60_000, 1_000, 0)]), [4_000_000, 59_000]);
        assert_eq!(noticed(&[(4_000_000, 4_000_000, 0)]), [], "a turn of the window");
        assert_eq!(noticed(&[(4_000_000, 3_000_000, 0)]), [1_000_000], "partly");
        assert_eq!(
            noticed(&[(4_000_000, 0, 1), (4_000_000, 0, 0)]),
            [4_000_000],
            "it slept itself, then not"
        );
        assert_eq!(noticed(&[(49_000, 0, 0)]), [], "too short to look");
        assert_eq!(noticed(&[(60_000, 56_000, 0)]), [], "less than two clocks can tell");
        assert_eq!(noticed(&[(1_000_000, 2_000_000, 0)]), [], "another thread's clock");
    }

    #[test]
    fn what_short_pauses_hid_is_never_more_than_the_gap() {
        // Twenty pauses of 40 us that were not checked, then 60 us of work: less than all that was off the
        // core.
        let mut pauses = vec![(40_000, 0, 0); 20];
        pauses.push((60_000, 60_000, 0));
        assert_eq!(noticed(&pauses), [60_000]);
        // After a millisecond the clock was read in between, and it is not excused any more.
        let mut pauses = vec![(40_000, 0, 0); 25];
        pauses.push((60_000, 60_000, 0));
        assert_eq!(noticed(&pauses), []);
    }
}
