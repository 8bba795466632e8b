//! The flow size distribution from a sample of packets (Duffield, Lund, Thorup, "Estimating flow distributions from sampled flow
//! statistics", SIGCOMM 2003).

use super::SizeDistribution;

/// The most sampled packets with which a flow is one of many sizes; with more its size is their number times `one_in`, within an eighth.
const FEW: usize = 64;

/// Sizes up to this one are distinguished; larger ones are grouped in ratios of 2^(1/16).
const EACH: u64 = 64;

/// Sizes among which the flows of one class are spread.
const SPREAD: u64 = 64;

/// The most rounds: more follow the noise of the sample.
const ROUNDS: usize = 100;

/// The change of the number of flows, as a part of it, at which rounds end.
const SETTLED: f64 = 1e-4;

/// Sizes that are taken for one.
struct FlowSizeClass {
    first: u64,
    /// The end of the sizes, not included.
    end: u64,
    /// The chance that such a flow has 0, 1, … [`FEW`] sampled packets, given that it has no more.
    chances: Vec<f64>,
    flows: f64,
}

impl FlowSizeClass {
    fn new(first: u64, end: u64, p: f64) -> Self {
        let middle = (first as f64 * (end - 1) as f64).sqrt().round();
        // Binomial, each from the one before it.
        let mut chances = vec![(middle * (-p).ln_1p()).exp()];
        for sampled in 1..=FEW {
            let more = (middle - (sampled - 1) as f64).max(0.0) / sampled as f64;
            chances.push(chances[sampled - 1] * more * p / (1.0 - p));
        }
        let all: f64 = chances.iter().sum();
        chances.iter_mut().for_each(|chance| *chance /= all);
        // By the inverse square of the size, as with heavy tails.
        Self { first, end, chances, flows: 1.0 / first as f64 - 1.0 / end as f64 }
    }

    fn packets(&self) -> f64 {
        self.spread().map(|(size, flows)| size as f64 * flows).sum()
    }

    fn spread(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        let sizes = self.end - self.first;
        let many = sizes.min(SPREAD);
        // In the middle of each share.
        let at = move |i: u64| self.first + ((2 * i + 1) * sizes / many - 1) / 2;
        (0..many).map(move |i| (at(i), self.flows / many as f64))
    }
}

impl SizeDistribution {
    /// The estimate from a sample of packets, of which one in `one_in` was taken: `sampled` has the number of
    /// sampled packets of each sampled flow, `packets` is the number of packets of all flows.
    ///
    /// Expectation maximisation over the sizes that may have been thinned to what was seen; flows that were
    /// not seen are added by their probability. It begins with numbers of flows by the inverse square of
    /// their size and ends after at most a hundred rounds. Flows with more than 64 sampled packets count as
    /// having `one_in` times as many. Everything is then scaled to `packets`: of those flows the sizes, as
    /// their number is known, of all others the number. A rate of one in one is exact.
    ///
    /// What cannot be known: this inverts a smoothing, so that neighbouring sizes cannot be distinguished if
    /// `one_in` is large; and of flows much smaller than `one_in` the sample has hardly any, so that their
    /// number and sizes remain those of the initial estimate. The packets of such flows, and sizes beyond
    /// some times `one_in`, are right; the number of flows then is not.
    pub fn from_sample(sampled: impl Iterator<Item = u64>, one_in: u32, packets: f64) -> Self {
        if one_in <= 1 {
            return Self::from_sizes(sampled);
        }
        let mut seen = [0.0; FEW + 1];
        let mut flows = vec![];
        for sampled in sampled {
            match seen.get_mut(sampled as usize) {
                Some(flows) => *flows += 1.0,
                None => flows.push((sampled.saturating_mul(one_in.into()), 1.0)),
            }
        }
        // A flow without sampled packets was not seen.
        seen[0] = 0.0;
        let classes = invert(&seen, one_in);
        let large: f64 = flows.iter().map(|(size, flows)| *size as f64 * flows).sum();
        let small: f64 = classes.iter().map(FlowSizeClass::packets).sum();
        // Corrects the sample's noise: it is spread evenly over packets of all flows, so that the elephants'
        // noise is not put onto the small flows. Without a better number the sample's own.
        let scale = packets / (large + small);
        let scale = if scale.is_finite() && scale > 0.0 { scale } else { 1.0 };
        // The next one has what rounding left over, so that all packets are still there.
        let mut left = 0.0;
        for (size, _) in &mut flows {
            let exact = *size as f64 * scale + left;
            *size = exact.round().max(1.0) as u64;
            left = exact - *size as f64;
        }
        let classes = classes.iter().flat_map(FlowSizeClass::spread);
        flows.extend(classes.map(|(size, flows)| (size, flows * scale)));
        Self::from_weighted_sizes(flows)
    }
}

/// Classes of sizes with the flows that were, of which `seen[j]` had j sampled packets.
fn invert(seen: &[f64; FEW + 1], one_in: u32) -> Vec<FlowSizeClass> {
    let number: f64 = seen.iter().sum();
    let Some(most) = seen.iter().rposition(|flows| *flows > 0.0) else { return vec![] };
    let p = 1.0 / f64::from(one_in);
    // A larger flow would have so few only once in some thousand cases.
    let largest = ((most as f64 + 4.0 * (most as f64).sqrt()) / p).ceil() as u64;
    let mut classes = vec![];
    let mut first = 1;
    while first <= largest {
        let end =
            if first < EACH { first + 1 } else { (first as f64 * 2_f64.powf(1.0 / 16.0)).ceil() as u64 };
        classes.push(FlowSizeClass::new(first, end, p));
        first = end;
    }
    let all: f64 = classes.iter().map(|class| class.flows * (1.0 - class.chances[0])).sum();
    classes.iter_mut().for_each(|class| class.flows *= number / all);
    for _ in 0..ROUNDS {
        let mut shares = [0.0; FEW + 1];
        for sampled in 1..=most {
            let chance: f64 = classes.iter().map(|class| class.flows * class.chances[sampled]).sum();
            shares[sampled] = if chance > 0.0 { seen[sampled] / chance } else { 0.0 };
        }
        let (mut change, mut flows) = (0.0, 0.0);
        for class in &mut classes {
            let seen: f64 =
                class.chances[1..].iter().zip(&shares[1..]).map(|(chance, share)| chance * share).sum();
            // Those of which something was seen, and for each of them as many as were not.
            let next = class.flows * seen / (1.0 - class.chances[0]);
            change += (next - class.flows).abs();
            class.flows = next;
            flows += next;
        }
        if change < SETTLED * flows {
            break;
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::super::oracle::{self, OracleStream};
    use super::super::{PacketSample, SampleConfig};
    use super::*;
    use packet::{KeyV4, Seed};

    #[test]
    fn distributions_are_near_the_true_ones() {
        for (one_in, most_off, flows_off, entropy_off) in [(2, 0.2, 0.03, 0.01), (10, 0.35, 0.2, 0.03)] {
            for number in 0..20 {
                let stream = OracleStream::zipf(100_000, 30_000, number);
                let truth = SizeDistribution::from_sizes(stream.counts.values().copied());
                let config = SampleConfig::new(one_in, 30_000, Seed::new(number));
                let sample: PacketSample<KeyV4> = oracle::summary_of(&config, &stream.updates);
                let sizes = || sample.iter().map(|(_, size)| size);
                let inverted = SizeDistribution::from_sample(sizes(), one_in, 1e5);
                assert!((inverted.packets() - 1e5).abs() < 1.0);
                let wmre = inverted.wmre(&truth);
                let flows = inverted.flows() / truth.flows() - 1.0;
                let [ours, theirs] = [&inverted, &truth].map(|of| of.entropy().expect("flows"));
                let entropy = ours / theirs - 1.0;
                let is_near = wmre < most_off && flows.abs() < flows_off && entropy.abs() < entropy_off;
                assert!(is_near, "1 in {one_in}, {number}: {wmre}, flows {flows}, entropy {entropy}");
                // The sample itself, only scaled, is far away.
                assert!(
                    SizeDistribution::from_sizes(sizes().map(|size| size * u64::from(one_in))).wmre(&truth)
                        > 1.0
                );
            }
        }
    }

    /// The chances are those of the binomial distribution, and the found distribution reproduces what was
    /// seen.
    #[test]
    fn what_is_found_explains_what_was_seen() {
        let binomial = |n: u64, k: u64, p: f64| {
            let choose: f64 = (0..k).map(|i| (n - i) as f64 / (k - i) as f64).product();
            choose * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)
        };
        for size in [1, 2, 7, 30] {
            let class = FlowSizeClass::new(size, size + 1, 0.3);
            for (sampled, chance) in (0..).zip(&class.chances) {
                let truth = if sampled > size { 0.0 } else { binomial(size, sampled, 0.3) };
                assert!((chance - truth).abs() < 1e-12, "{size}, {sampled}: {chance} for {truth}");
            }
        }
        let mut seen = [0.0; FEW + 1];
        for (size, flows) in [(1, 9_000.0), (2, 3_000.0), (3, 1_500.0), (20, 500.0)] {
            (1..=size).for_each(|sampled| seen[sampled as usize] += flows * binomial(size, sampled, 0.3));
        }
        let classes = invert(&seen, 3);
        let p = 1.0 / 3.0;
        for (sampled, seen) in (1_u64..).zip(&seen[1..8]) {
            let of = |class: &FlowSizeClass| class.flows * binomial(class.first, sampled.min(class.first), p);
            let fits = classes.iter().filter(|class| class.first >= sampled && class.first < EACH);
            let would: f64 = fits.map(of).sum();
            assert!((would / seen - 1.0).abs() < 0.1, "{sampled}: {would} for {seen}");
        }
    }

    /// One of 990,000 packets, sampled one in ten: the noise of its 300 sampled packets in the total is a
    /// third of all that the others have.
    #[test]
    fn an_elephant_leaves_the_number_of_small_flows() {
        for elephant in [98_400, 99_000, 99_600] {
            let sampled = std::iter::repeat_n(1, 1_000).chain([elephant]);
            let found = SizeDistribution::from_sample(sampled, 10, 1e6);
            assert!((found.packets() - 1e6).abs() < 1.0, "{}", found.packets());
            let off = found.flows() / 10_001.0 - 1.0;
            assert!(off.abs() < 0.05, "{elephant}: {off}");
        }
    }

    #[test]
    fn one_in_one_is_exact_and_large_flows_are_scaled() {
        let of = |sampled: &[u64], one_in, packets| {
            SizeDistribution::from_sample(sampled.iter().copied(), one_in, packets)
        };
        assert_eq!(of(&[1, 5, 5], 1, 99.0), SizeDistribution::from_sizes([1, 5, 5].into_iter()));
        let large = of(&[1_000, 65], 100, 106_500.0);
        assert_eq!(large, SizeDistribution::from_sizes([100_000, 6_500].into_iter()));
        // Classes have all their flows wherever they are spread.
        let class = FlowSizeClass { flows: 5.0, ..FlowSizeClass::new(100_000, 104_000, 0.001) };
        let spread: Vec<_> = class.spread().collect();
        assert!((spread.iter().map(|(_, flows)| flows).sum::<f64>() - 5.0).abs() < 1e-9);
        assert!(spread[0].0 >= 100_000 && spread[63].0 < 104_000 && spread.is_sorted());
        let few = FlowSizeClass::new(70, 73, 0.1).spread().map(|(size, _)| size).collect::<Vec<_>>();
        assert_eq!(few, [70, 71, 72]);
    }

    #[test]
    fn nothing_gives_nothing_and_no_input_gives_what_is_no_number() {
        for packets in [0.0, -5.0, 7.0, f64::INFINITY, f64::NAN] {
            for one_in in [0, 1, 2, 1_000, u32::MAX] {
                assert_eq!(SizeDistribution::from_sample([0, 0].into_iter(), one_in, packets).flows(), 0.0);
                for sampled in [1, 64, 65, u64::MAX] {
                    let of = SizeDistribution::from_sample([sampled; 3].into_iter(), one_in, packets);
                    let entropy = of.entropy().expect("flows");
                    assert!(entropy.is_finite() && of.flows() > 0.0, "{packets}, {one_in}, {sampled}");
                }
            }
        }
    }
}
