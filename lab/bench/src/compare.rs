//! Rounds in turn: a disturbance of the machine affects every variant.

use std::time::{Duration, Instant};

/// The fewest rounds of a comparison, whatever the time.
const LEAST_ROUNDS: usize = 3;
const MOST_ROUNDS: usize = 11;

/// Calls `round` for every variant in turn, again and again, for about `seconds`. A call gives the nanoseconds that
/// count. The result has the times of each variant in the order of the rounds.
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
    times
}

/// Returns how many times as long as `base` a variant took: the median of the ratios within each round. Where a machine is slow for seconds on
/// end, both were, which the ratio of two medians does not know.
pub(crate) fn median_ratio(times: &[f64], base: &[f64]) -> f64 {
    median(&times.iter().zip(base).map(|(time, base)| time / base).collect::<Vec<_>>())
}

/// The middle of values in any order, which lies between two where their number is even; `NaN` without any.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = |at: usize| sorted.get(at).copied().unwrap_or(f64::NAN);
    (middle(sorted.len().saturating_sub(1) / 2) + middle(sorted.len() / 2)) / 2.0
}

/// The least and the most; `NaN` without any.
pub(crate) fn spread(values: &[f64]) -> [f64; 2] {
    [f64::min, f64::max].map(|end| values.iter().copied().fold(f64::NAN, end))
}

/// Nanoseconds of a duration.
pub(crate) fn ns(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

/// Processor time of this thread, user and system, nanoseconds.
pub(crate) fn thread_time() -> f64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Processor time of all threads of this process, user and system, nanoseconds.
pub(crate) fn process_time() -> f64 {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn clock(which: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for one `timespec`.
    unsafe { libc::clock_gettime(which, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_slow_with_the_base_keeps_its_ratio() {
        // Most of the base's rounds were quick, most of the other's slow: medians alone would give 20.
        let (base, times) = ([1.0, 10.0, 1.0, 10.0, 1.0], [2.0, 20.0, 2.0, 20.0, 30.0]);
        assert_eq!(median_ratio(&times, &base), 2.0);
        assert!(median_ratio(&[], &[]).is_nan());
        assert_eq!((median(&[9.0, 1.0, 2.0]), median(&[2.0, 1.0])), (2.0, 1.5));
        assert_eq!(spread(&[9.0, 1.0, 2.0]), [1.0, 9.0]);
        assert!(median(&[]).is_nan() && spread(&[]).iter().all(|end| end.is_nan()));
    }
}
