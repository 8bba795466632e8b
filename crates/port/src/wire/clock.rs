//! The clocks that a wire can use.

/// A thread's use of its core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTime {
    /// Time on a core, nanoseconds.
    pub cpu_ns: u64,
    /// The number of times that the thread has left its core voluntarily: to sleep, or to wait for a lock or for input.
    pub blocked: u64,
}

/// The clock from which a queue takes its times; tests have their own clock.
pub trait WireClock: Send {
    /// Nanoseconds on a clock that only goes forward, the same one for all queues of a wire.
    fn now_ns(&mut self) -> u64;

    /// Returns the time of the thread that calls.
    fn thread(&mut self) -> ThreadTime;

    /// Returns what to add to this clock's time, wrapping, to have nanoseconds since the epoch.
    fn epoch_offset_ns(&mut self) -> u64;
}

/// The machine's clocks: `CLOCK_MONOTONIC`, `CLOCK_THREAD_CPUTIME_ID` and `getrusage`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[inline(always)]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a writable timespec; the clocks that are named here always exist.
    unsafe { libc::clock_gettime(clock, &mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

impl WireClock for SystemClock {
    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        read(libc::CLOCK_MONOTONIC)
    }

    #[cold]
    fn thread(&mut self) -> ThreadTime {
        // SAFETY: numbers, for which zero is a value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: a writable structure of the right type; the calling thread always exists.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
        ThreadTime { cpu_ns: read(libc::CLOCK_THREAD_CPUTIME_ID), blocked: usage.ru_nvcsw as u64 }
    }

    fn epoch_offset_ns(&mut self) -> u64 {
        read(libc::CLOCK_REALTIME).wrapping_sub(read(libc::CLOCK_MONOTONIC))
    }
}
