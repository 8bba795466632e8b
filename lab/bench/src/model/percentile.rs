//! Percentiles of the times of single packets.

/// The least of `sorted` values that is not exceeded by this share of them (nearest rank). There is at least
/// one value.
pub(super) fn percentile(sorted: &[u64], share: f64) -> u64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_values_as_the_share_says_are_no_larger() {
        let values: Vec<u64> = (1..=200).collect();
        for (share, value) in
            [(0.0, 1), (0.005, 1), (0.5, 100), (0.95, 190), (0.951, 191), (0.99, 198), (1.0, 200)]
        {
            assert_eq!(percentile(&values, share), value, "{share}");
        }
        assert_eq!(percentile(&[7], 0.95), 7);
        assert_eq!(percentile(&[7, 7, 7, 9], 0.75), 7);
        assert_eq!(percentile(&[7, 7, 7, 9], 0.76), 9);
    }
}
