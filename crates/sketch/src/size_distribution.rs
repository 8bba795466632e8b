//! The flow size distribution.

/// A flow size distribution: for each size, in packets, the number of flows that have it; estimated ones are fractions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SizeDistribution {
    /// Sizes from 1 on, each once and the smallest first, with a nonzero number of flows.
    sizes: Vec<(u64, f64)>,
}

impl SizeDistribution {
    /// The distribution of flows that have these sizes. Flows without packets are ignored.
    pub fn from_sizes(sizes: impl Iterator<Item = u64>) -> Self {
        Self::from_weighted_sizes(sizes.map(|size| (size, 1.0)).collect())
    }

    /// Creates the distribution of sizes in any order, with this many flows each. Invalid sizes and numbers of flows are omitted.
    pub(crate) fn from_weighted_sizes(mut sizes: Vec<(u64, f64)>) -> Self {
        sizes.retain(|(size, flows)| *size > 0 && *flows > 0.0 && flows.is_finite());
        sizes.sort_unstable_by_key(|(size, _)| *size);
        sizes.dedup_by(|(size, flows), (kept, sum)| {
            let is_same = size == kept;
            if is_same {
                *sum += *flows;
            }
            is_same
        });
        Self { sizes }
    }

    /// Sizes and their flows, the smallest size first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        self.sizes.iter().copied()
    }

    /// Returns the number of all flows.
    pub fn flows(&self) -> f64 {
        self.iter().map(|(_, flows)| flows).sum()
    }

    /// Returns the number of all packets.
    pub fn packets(&self) -> f64 {
        self.iter().map(|(size, flows)| size as f64 * flows).sum()
    }

    /// The empirical entropy of the flows, in bits: log₂ N − 1/N · Σ nᵢ · i · log₂ i; `None` without flows.
    pub fn entropy(&self) -> Option<f64> {
        let packets = self.packets();
        let sum: f64 = self.iter().map(|(size, flows)| flows * size as f64 * (size as f64).log2()).sum();
        // One flow alone has none; rounding must not make it negative.
        (packets > 0.0).then(|| (packets.log2() - sum / packets).max(0.0))
    }

    /// The weighted mean relative error: Σ |nᵢ − n̂ᵢ| / Σ (nᵢ + n̂ᵢ) / 2 over all sizes (Kumar, Sung, Xu, Wang, SIGMETRICS 2004), from 0
    /// (equal) to 2 (no size in common).
    pub fn wmre(&self, truth: &Self) -> f64 {
        let (mut ours, mut theirs) = (self.iter().peekable(), truth.iter().peekable());
        let mut off = 0.0;
        loop {
            let size = match (ours.peek(), theirs.peek()) {
                (Some((a, _)), Some((b, _))) => *a.min(b),
                (Some((size, _)), None) | (None, Some((size, _))) => *size,
                (None, None) => break,
            };
            let a = ours.next_if(|(other, _)| *other == size).map_or(0.0, |(_, flows)| flows);
            let b = theirs.next_if(|(other, _)| *other == size).map_or(0.0, |(_, flows)| flows);
            off += (a - b).abs();
        }
        let mean = f64::midpoint(self.flows(), truth.flows());
        if mean > 0.0 { off / mean } else { 0.0 }
    }

    /// Adds the flows of another stream that has no flow in common with this one.
    pub fn merge(&mut self, other: &Self) {
        let sizes = self.iter().chain(other.iter()).collect();
        *self = Self::from_weighted_sizes(sizes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::OracleStream;
    use std::collections::{BTreeMap, HashMap};

    fn of(sizes: &[u64]) -> SizeDistribution {
        SizeDistribution::from_sizes(sizes.iter().copied())
    }

    #[test]
    fn counts_as_a_map_does() {
        let stream = OracleStream::zipf(20_000, 5_000, 1);
        let distribution = SizeDistribution::from_sizes(stream.counts.values().copied());
        let mut map = BTreeMap::<u64, f64>::new();
        stream.counts.values().for_each(|size| *map.entry(*size).or_default() += 1.0);
        assert!(distribution.iter().eq(map.clone()));
        assert_eq!(distribution.flows(), stream.counts.len() as f64);
        assert_eq!(distribution.packets(), 20_000.0);
        // Entropy by its definition, flow by flow.
        let share = |size: &u64| *size as f64 / 20_000.0;
        let entropy: f64 = stream.counts.values().map(|size| -share(size) * share(size).log2()).sum();
        assert!((distribution.entropy().expect("flows") - entropy).abs() < 1e-9);
        // The error by its definition, size by size.
        let other = of(&[1, 1, 2, 3, 3, 3, 1_000_000]);
        let theirs: HashMap<u64, f64> = other.iter().collect();
        let sizes: std::collections::BTreeSet<u64> = map.keys().chain(theirs.keys()).copied().collect();
        let at = |map: Option<&f64>| map.copied().unwrap_or(0.0);
        let (mut off, mut mean) = (0.0, 0.0);
        for size in sizes {
            let (a, b) = (at(map.get(&size)), at(theirs.get(&size)));
            off += (a - b).abs();
            mean += (a + b) / 2.0;
        }
        assert!((distribution.wmre(&other) - off / mean).abs() < 1e-12);
        assert_eq!(distribution.wmre(&other), other.wmre(&distribution));
    }

    #[test]
    fn errors_go_from_none_to_all() {
        assert_eq!(of(&[1, 2, 2]).wmre(&of(&[2, 1, 2])), 0.0);
        assert_eq!(of(&[1, 2, 2]).wmre(&of(&[3])), 2.0);
        assert_eq!(of(&[1, 2]).wmre(&of(&[])), 2.0);
    }

    #[test]
    fn nothing_has_no_entropy_and_no_error() {
        for empty in
            [of(&[]), of(&[0, 0]), SizeDistribution::from_weighted_sizes(vec![(3, 0.0), (4, f64::NAN)])]
        {
            assert_eq!((empty.iter().count(), empty.flows(), empty.packets()), (0, 0.0, 0.0));
            assert_eq!((empty.entropy(), empty.wmre(&empty)), (None, 0.0));
        }
        assert_eq!(of(&[7]).entropy(), Some(0.0));
        assert_eq!(of(&[9, 9, 9, 9]).entropy(), Some(2.0));
    }

    #[test]
    fn flows_of_two_streams_add_up() {
        let mut both = of(&[1, 1, 5]);
        both.merge(&of(&[9, 5, 1]));
        assert_eq!(both, of(&[1, 1, 1, 5, 5, 9]));
    }
}
