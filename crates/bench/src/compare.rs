//! Rounds in turn: whatever disturbs the machine disturbs every variant.

use std::time::{Duration, Instant};

/// The fewest rounds of a comparison, whatever the time.
const LEAST_ROUNDS: usize = 3;
const MOST_ROUNDS: usize = 11;

/// Calls `round` for every variant in turn, again and again, for about `seconds`. A call gives the nanoseconds that
/// count. The result has the sorted times of each variant.
pub(crate) fn in_turn<V>(
    variants: &mut [V],
    seconds: f64,
    mut round: impl FnMut(&mut V) -> f64,
) -> Vec<Vec<f64>> {
    let began = Instant::now();
    let mut times = vec![Vec::new(); variants.len()];
    for rounds in 0..MOST_ROUNDS {
        if rounds >= LEAST_ROUNDS && began.elapsed().as_secs_f64() > seconds {
            break;
        }
        for (variant, times) in variants.iter_mut().zip(&mut times) {
            times.push(round(variant));
        }
    }
    for times in &mut times {
        times.sort_by(f64::total_cmp);
    }
    times
}

/// The middle one of sorted times; `NaN` without any.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Nanoseconds of a duration.
pub(crate) fn ns(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

/// Processor time of this thread, user and system, nanoseconds.
pub(crate) fn thread_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for one `timespec`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
