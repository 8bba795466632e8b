//! The distribution of accesses over entries: Zipf's law, summed up so that a hundred million entries are a thousand numbers.

/// Ranks with a bin each.
const ALONE: u64 = 1 << 10;
/// Further ranks share a bin with those up to this much above the first of them.
const GROWTH: f64 = 1.01;

/// Entries of nearly one probability.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bin {
    /// The number of entries.
    pub(super) entries: f64,
    /// Probability that an access is to one of them, for each.
    pub(super) rate: f64,
}

/// Probabilities of entries, the most popular first. All of them are 1 together.
#[derive(Clone, Debug)]
pub(super) struct Popularity {
    pub(super) bins: Vec<Bin>,
    entries: f64,
    skew: f64,
}

impl Popularity {
    /// Rank `r` of `entries` (at least 1) with a probability proportional to `1 / r^skew`; a skew of 0 is
    /// uniform.
    pub(super) fn zipf(entries: u64, skew: f64) -> Self {
        let entries = entries.max(1);
        let mut bins: Vec<Bin> = (1..=entries.min(ALONE))
            .map(|rank| Bin { entries: 1.0, rate: (rank as f64).powf(-skew) })
            .collect();
        let mut first = ALONE + 1;
        while first <= entries {
            let last = ((first as f64 * GROWTH) as u64).clamp(first, entries);
            let ranks = (last - first + 1) as f64;
            let weight = weight(first as f64 - 0.5, last as f64 + 0.5, skew);
            bins.push(Bin { entries: ranks, rate: weight / ranks });
            first = last + 1;
        }
        let all: f64 = bins.iter().map(|bin| bin.entries * bin.rate).sum();
        bins.iter_mut().for_each(|bin| bin.rate /= all);
        Self { bins, entries: entries as f64, skew }
    }

    /// The popularity of `entries` entries with the same skew.
    pub(super) fn with_entries(&self, entries: u64) -> Self {
        Self::zipf(entries, self.skew)
    }

    /// Returns the number of entries.
    pub(super) fn entries(&self) -> f64 {
        self.entries
    }

    /// Share of the accesses that go to this many of the most popular entries.
    pub(super) fn hottest(&self, entries: f64) -> f64 {
        let mut left = entries;
        let share = self.bins.iter().map(|bin| {
            let taken = left.clamp(0.0, bin.entries);
            left -= taken;
            taken * bin.rate
        });
        share.sum::<f64>().min(1.0)
    }
}

/// The integral of `x^-skew`, which for ranks above a thousand is their sum.
fn weight(from: f64, to: f64, skew: f64) -> f64 {
    let power = 1.0 - skew;
    // (to^power − from^power) / power without losing digits where the power is small.
    if power == 0.0 {
        (to / from).ln()
    } else {
        from.powf(power) * ((to / from).ln() * power).exp_m1() / power
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_over_bins_is_the_sum_over_ranks() {
        for entries in [1_u64, 2, 1024, 1025, 5_000, 1_000_000] {
            for skew in [0.0, 0.5, 1.0, 1.05, 2.0] {
                let weights: Vec<f64> = (1..=entries).map(|rank| (rank as f64).powf(-skew)).collect();
                let all: f64 = weights.iter().sum();
                let popularity = Popularity::zipf(entries, skew);
                for hottest in [0, 1, 10, 1_000, 1_500, 4_999, 300_000, 1_000_000, 2_000_000] {
                    let truth = weights.iter().take(hottest).sum::<f64>() / all;
                    let share = popularity.hottest(hottest as f64);
                    assert!((share - truth).abs() < 1e-4, "{entries} {skew} {hottest}: {share}, not {truth}");
                }
            }
        }
    }

    #[test]
    fn a_hundred_million_entries_are_few_bins() {
        assert!(Popularity::zipf(125_000_000, 1.0).bins.len() < 3_000);
    }
}
