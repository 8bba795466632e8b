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

/// Nanoseconds of a duration.
pub(crate) fn ns(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}
