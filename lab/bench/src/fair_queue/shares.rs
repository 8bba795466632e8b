//! Max-min fair shares, as they are defined.

/// Returns what each flow gets of `capacity`: no flow more than it asks for, and those that get less than they ask for all the same.
pub(super) fn max_min(asked: &[u64], capacity: f64) -> Vec<f64> {
    let mut sorted = asked.to_vec();
    sorted.sort_unstable();
    let mut left = capacity;
    let mut level = f64::INFINITY;
    for (number, &least) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - number) as f64;
        if least as f64 > share {
            level = share;
            break;
        }
        left -= least as f64;
    }
    asked.iter().map(|&asked| level.min(asked as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_flows_get_what_they_ask_for_and_large_ones_the_same() {
        assert_eq!(max_min(&[8, 2, 10, 2], 14.0), [5.0, 2.0, 5.0, 2.0]);
        assert_eq!(max_min(&[8, 2], 100.0), [8.0, 2.0]);
        assert_eq!(max_min(&[8, 8], 4.0), [2.0, 2.0]);
        assert!(max_min(&[], 4.0).is_empty());
    }
}
