//! The processor time of a process, and how a value grows.

use std::fs;
use std::time::Duration;

/// Processor time of a process, user and system, as the system's clock ticks count it; nothing once it has ended.
pub(super) fn processor_time(process: u32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, which may contain anything, is in parentheses.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    // SAFETY: sysconf has no requirements.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    let per_second = u64::try_from(per_second).ok().filter(|ticks| *ticks > 0)?;
    Some(Duration::from_nanos((ticks(11)? + ticks(12)?) * (1_000_000_000 / per_second)))
}

/// Returns the growth of a value with time, by least squares: the slope of points of (seconds, value), per second.
pub(super) fn slope(points: &[(f64, f64)]) -> f64 {
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let over = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>();
    over / points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>()
}

/// The first value of each minute, in millions, of points of (seconds, value).
pub(super) fn by_minute(points: &[(f64, f64)]) -> Vec<u64> {
    let minute = |point: &(f64, f64)| (point.0 / 60.0) as u64;
    let of_minutes = points.chunk_by(|one, other| minute(one) == minute(other));
    of_minutes.filter_map(|points| Some((points.first()?.1 / 1e6) as u64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::process_time;

    #[test]
    fn a_process_uses_time() {
        let own = std::process::id();
        let began = process_time();
        while process_time() - began < 5e7 {}
        assert!(processor_time(own).expect("it runs") >= Duration::from_millis(30));
        assert_eq!(processor_time(0), None);
    }

    #[test]
    fn growth_is_the_slope_of_a_line() {
        let line: Vec<_> = (0..10).map(|x| (f64::from(x), 5.0 + 3.0 * f64::from(x))).collect();
        assert!((slope(&line) - 3.0).abs() < 1e-9);
        assert!(slope(&[(0.0, 1.0), (1.0, 1.0)]).abs() < 1e-9);
        assert_eq!(by_minute(&[(0.0, 5e6), (59.0, 7e6), (60.0, 9e6), (130.0, 4.9e6)]), [5, 9, 4]);
    }
}
