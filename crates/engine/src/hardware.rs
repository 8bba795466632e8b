//! Counters of the processor for a measuring thread (perf_event_open(2)), for benches: user code only, including polls without frames.

use perf_event::events::{Event, Hardware};
use perf_event::{Builder, Counter, Group};
use std::io;

/// The processor's counters of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardwareCounts {
    /// Cycles (`PERF_COUNT_HW_CPU_CYCLES`).
    pub cycles: u64,
    /// Instructions retired (`PERF_COUNT_HW_INSTRUCTIONS`).
    pub instructions: u64,
    /// Misses, mostly of the last-level cache (`PERF_COUNT_HW_CACHE_MISSES`).
    pub cache_misses: u64,
}

/// Three running counters.
pub(crate) struct PerfCounters {
    group: Group,
    counters: [Counter; 3],
}

impl PerfCounters {
    /// Counts the calling thread from here on; `None` if this machine does not give access to them.
    pub(crate) fn start() -> Option<Self> {
        Self::open_hardware().ok()
    }

    fn open_hardware() -> io::Result<Self> {
        Self::open_events([Hardware::CPU_CYCLES, Hardware::INSTRUCTIONS, Hardware::CACHE_MISSES])
    }

    fn open_events<E: Event>(events: [E; 3]) -> io::Result<Self> {
        let mut group = Group::new()?;
        let [first, second, third] = events.map(|event| group.add(&Builder::new(event)));
        let counters = [first?, second?, third?];
        group.enable()?;
        Ok(Self { group, counters })
    }

    /// Returns what was counted; `None` if others had the counters for a part of the time.
    pub(crate) fn read(mut self) -> Option<HardwareCounts> {
        self.group.disable().ok()?;
        let data = self.group.read().ok()?;
        if data.time_running() != data.time_enabled() {
            return None;
        }
        let [cycles, instructions, cache_misses] = self.counters.each_ref().map(|counter| data.get(counter));
        Some(HardwareCounts {
            cycles: cycles?.value(),
            instructions: instructions?.value(),
            cache_misses: cache_misses?.value(),
        })
    }
}

/// Returns `Ok` if this machine gives access to its processor's counters.
///
/// # Errors
/// The reason why it does not, in one line.
pub fn hardware_counters() -> Result<(), String> {
    match PerfCounters::open_hardware() {
        Ok(_) => Ok(()),
        Err(error) => Err(match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
            Some(rustix::io::Errno::NOENT | rustix::io::Errno::OPNOTSUPP) => {
                "this machine shows no performance counters (a virtual machine without them)".to_owned()
            }
            Some(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => {
                "no right to read performance counters: lower /proc/sys/kernel/perf_event_paranoid, or give CAP_PERFMON"
                    .to_owned()
            }
            _ => format!("performance counters cannot be read: {error}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_event::events::Software;

    /// Events that every kernel counts replace those of a processor: pages of fresh memory, each touched
    /// once.
    #[test]
    fn the_calling_thread_is_counted_between_start_and_read() {
        const PAGES: usize = 1000;
        let faults = |pages: usize| {
            let counting = PerfCounters::open_events([
                Software::PAGE_FAULTS,
                Software::PAGE_FAULTS_MIN,
                Software::PAGE_FAULTS_MAJ,
            ])?;
            let mut memory = vec![0_u8; pages << 12];
            (0..pages).for_each(|page| memory[page << 12] = 1);
            std::hint::black_box(&memory);
            Ok::<_, io::Error>(counting.read().expect("software events always run"))
        };
        let (none, some) = match (faults(0), faults(PAGES)) {
            (Ok(none), Ok(some)) => (none, some),
            (Err(error), _) | (_, Err(error)) => return eprintln!("skipped: perf_event_open: {error}"),
        };
        // Huge pages may take many small ones at a time.
        assert!(some.cycles > none.cycles && some.cycles < 2 * PAGES as u64, "{none:?}, {some:?}");
        assert_eq!(some.cycles, some.instructions + some.cache_misses);
    }

    #[test]
    fn a_machine_that_does_not_tell_says_why() {
        match hardware_counters() {
            Ok(()) => {
                let counting = PerfCounters::start().expect("it was possible");
                std::hint::black_box((0..100_000_u64).fold(0, |sum, n| sum ^ n.wrapping_mul(n)));
                if let Some(counts) = counting.read() {
                    assert!(counts.instructions > 100_000, "{counts:?}");
                }
            }
            Err(reason) => {
                assert!(!reason.is_empty() && !reason.contains('\n'));
                assert!(PerfCounters::start().is_none());
            }
        }
    }
}
