//! The probability that an access finds its entry in a cache.

use super::caches::LINE;
use super::popularity::Popularity;

/// Returns the share of hits as published (Alipourfard et al., section 3.2): the cache holds as many of the most popular entries as fit.
pub(super) fn published(popularity: &Popularity, entry_bytes: f64, cache_bytes: f64) -> f64 {
    popularity.hottest(cache_bytes / entry_bytes)
}

/// Returns the share of hits of a cache of whole lines that forgets the line that was not used for the longest time.
///
/// A line has as many entries as fit, hashed there at random, so that a popular one keeps unpopular ones in
/// the cache. An entry is there if its line was used within the time `t` that a line survives (Che, Tung,
/// Wang, 2002): with rates `q`, and `φ` the mean of `e^(−q·t)` over all entries, a line of `n` is unused with
/// the probability `φⁿ`, so that `1 − φⁿ` is the share of the lines that the cache holds, which gives `t`;
/// and an access misses with `Σ q·e^(−q·t) · φⁿ⁻¹`.
pub(super) fn by_line(popularity: &Popularity, entry_bytes: f64, cache_bytes: f64) -> f64 {
    // An entry that is larger than a line takes as many lines as it spans.
    let in_line = (LINE as f64 / entry_bytes).max(1.0);
    let bytes = popularity.entries() * entry_bytes;
    let held = cache_bytes / bytes;
    if held >= 1.0 {
        return 1.0;
    }
    let unused = |time: f64| {
        let sum: f64 = popularity.bins.iter().map(|bin| bin.entries * (-bin.rate * time).exp()).sum();
        sum / popularity.entries()
    };
    let wanted = (1.0 - held).powf(1.0 / in_line);
    // In accesses: one line after another is used, or the least popular entry at last.
    let least = popularity.bins.last().map_or(1.0, |bin| bin.rate);
    let (mut short, mut long) = (0.0, 60.0 / least);
    for _ in 0..80 {
        let middle = (short + long) / 2.0;
        if unused(middle) > wanted { short = middle } else { long = middle }
    }
    let missed: f64 =
        popularity.bins.iter().map(|bin| bin.entries * bin.rate * (-bin.rate * long).exp()).sum();
    (1.0 - missed * wanted.powf(in_line - 1.0)).clamp(0.0, 1.0)
}

/// The most entries of which a cache serves this share of the accesses, by the probability `hits`. `None` if
/// there may be any number: with a skew above 1 the first of them have most of the accesses whatever comes
/// after.
pub(super) fn most_entries(share: f64, hits: impl Fn(u64) -> f64) -> Option<u64> {
    /// A number of entries that is more than any memory has.
    const MOST: u64 = 1 << 40;
    if hits(MOST) >= share {
        return None;
    }
    let (mut enough, mut too_many) = (1, MOST);
    while too_many - enough > 1 + enough / 1_000 {
        let middle = ((enough as f64 * too_many as f64).sqrt() as u64).clamp(enough + 1, too_many - 1);
        if hits(middle) >= share { enough = middle } else { too_many = middle }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::split_mix;
    use std::collections::{BTreeMap, HashMap};

    /// A number from 0 to 1.
    fn random(state: &mut u64) -> f64 {
        (split_mix(state) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Hits of a cache of `lines`, by simulation: entries at random places, the least recently used line is
    /// evicted.
    fn simulated(entries: u64, skew: f64, in_line: u64, lines: usize) -> f64 {
        let mut state = entries + lines as u64;
        let mut places: Vec<u64> = (0..entries).collect();
        for last in (1..places.len()).rev() {
            places.swap(last, (split_mix(&mut state) % (last as u64 + 1)) as usize);
        }
        let mut sums: Vec<f64> = (1..=entries).map(|rank| (rank as f64).powf(-skew)).collect();
        for i in 1..sums.len() {
            sums[i] += sums[i - 1];
        }
        let all = sums[sums.len() - 1];
        let (mut used, mut order) = (HashMap::new(), BTreeMap::new());
        let (mut hits, mut asked) = (0_u64, 0_u64);
        for now in 0..400_000_u64 {
            let drawn = random(&mut state) * all;
            let rank = sums.partition_point(|sum| *sum < drawn).min(places.len() - 1);
            let line = places[rank] / in_line;
            let before = used.insert(line, now);
            if now >= 100_000 {
                asked += 1;
                hits += u64::from(before.is_some());
            }
            if let Some(before) = before {
                order.remove(&before);
            }
            order.insert(now, line);
            if order.len() > lines {
                let (_, oldest) = order.pop_first().expect("more than the cache holds");
                used.remove(&oldest);
            }
        }
        hits as f64 / asked as f64
    }

    #[test]
    fn lines_are_hit_as_often_as_in_a_cache_that_was_played_through() {
        for (entries, in_line, lines) in [(40_000, 16, 500), (40_000, 4, 3_000), (6_000, 1, 1_000)] {
            for skew in [0.0, 0.5, 1.0, 1.5] {
                let truth = simulated(entries, skew, in_line, lines);
                let popularity = Popularity::zipf(entries, skew);
                let hits = by_line(&popularity, LINE as f64 / in_line as f64, (lines * LINE) as f64);
                assert!(
                    (hits - truth).abs() < 0.01,
                    "{entries} {skew} {in_line} {lines}: {hits}, not {truth}"
                );
            }
        }
    }

    #[test]
    fn published_is_the_share_of_the_first_entries() {
        let weights: Vec<f64> = (1..=10_000).map(|rank| 1.0 / f64::from(rank)).collect();
        let truth = weights[..160].iter().sum::<f64>() / weights.iter().sum::<f64>();
        let hits = published(&Popularity::zipf(10_000, 1.0), 4.0, 640.0);
        assert!((hits - truth).abs() < 1e-6, "{hits}, not {truth}");
    }

    #[test]
    fn uniform_accesses_are_hit_by_the_share_that_is_held() {
        let popularity = Popularity::zipf(1_000_000, 0.0);
        for entry_bytes in [4.0, 17.0, 44.0, 64.0, 128.0] {
            let bytes = 1e6 * entry_bytes;
            for (cache, held) in [(bytes / 10.0, 0.1), (bytes / 2.0, 0.5), (bytes, 1.0), (2.0 * bytes, 1.0)] {
                assert!(
                    (by_line(&popularity, entry_bytes, cache) - held).abs() < 1e-3,
                    "{entry_bytes} {held}"
                );
                assert!(
                    (published(&popularity, entry_bytes, cache) - held).abs() < 1e-3,
                    "{entry_bytes} {held}"
                );
            }
        }
    }

    /// The paper's reading of its Figure 2(a): the 70th percentile, a cache of 2 MB, skew 1.
    #[test]
    fn the_papers_entries_are_found_again() {
        let most = |entry_bytes: f64| {
            let hits = |entries| published(&Popularity::zipf(entries, 1.0), entry_bytes, 2e6);
            most_entries(0.7, hits).expect("not any number") as f64
        };
        // "5.5 million entries with 44 bytes (NetFlow) or 20 million entries with 17 bytes"
        assert!((most(44.0) / 5.5e6 - 1.0).abs() < 0.1, "{}", most(44.0));
        assert!((most(17.0) / 20e6 - 1.0).abs() < 0.25, "{}", most(17.0));
    }

    #[test]
    fn the_most_entries_are_those_before_the_share_is_missed() {
        let most = most_entries(0.5, |entries| 1e6 / entries as f64).expect("not any number");
        assert!((most as f64 / 2e6 - 1.0).abs() < 0.01, "{most}");
        assert_eq!(most_entries(1.1, |_| 1.0), Some(1));
        assert_eq!(most_entries(0.4, |_| 0.5), None);
    }
}
