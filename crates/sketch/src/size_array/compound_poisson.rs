//! The flow sizes that produced the values of counters: expectation maximisation where each counter sums a Poisson number of flows.
//!
//! With λᵢ flows of size i expected a counter, the values have the distribution g of a compound Poisson sum,
//! which Panjer's recursion (ASTIN Bulletin 1981) gives: v·g(v) = Σ i·λᵢ·g(v − i). A counter of value v then
//! holds λᵢ·g(v − i) / g(v) flows of size i in the mean (Mecke's formula): this computes in v steps the sum
//! over all ways to split v, which Kumar et al. enumerate up to a few flows. So nothing is omitted, for any
//! number of flows in a counter.

/// Counters up to this value are split, those above are one flow and the mean of a counter: these are one in
/// a hundred, and twice the limit costs four times the work.
const LIMIT: usize = 1024;

/// The most rounds, each of up to LIMIT² multiplications: more follow the noise of single values.
const ROUNDS: usize = 100;

/// The change of the number of flows, as a part of it, at which rounds end.
const SETTLED: f64 = 1e-4;

/// Sizes with this many flows each, in the order of sizes but for those of large counters.
pub(super) fn flows(cells: &[u32]) -> Vec<(u64, f64)> {
    let mut counters = vec![0.0; LIMIT + 1];
    let mut large = vec![];
    for &cell in cells {
        match counters.get_mut(cell as usize) {
            Some(count) => *count += 1.0,
            None => large.push(cell),
        }
    }
    let rates = rates(&counters);
    let rest: f64 = (0..).map(f64::from).zip(&rates).map(|(size, rate)| size * rate).sum();
    let scaled = (0_u64..).zip(&rates).map(|(size, rate)| (size, rate * cells.len() as f64));
    let one = large.iter().map(|value| ((f64::from(*value) - rest).round().max(1.0) as u64, 1.0));
    scaled.chain(one).collect()
}

/// The mean number of flows of each size in a counter, if `counters[v]` counters have the value v.
fn rates(counters: &[f64]) -> Vec<f64> {
    let number: f64 = counters.iter().sum();
    if number == counters[0] {
        return vec![0.0; counters.len()];
    }
    let mut rates = first_guess(counters, number);
    for _ in 0..ROUNDS {
        let next: Vec<f64> = expected(&rates, counters).iter().map(|flows| flows / number).collect();
        let change: f64 = rates.iter().zip(&next).map(|(rate, next)| (rate - next).abs()).sum();
        rates = next;
        if change < SETTLED * rates.iter().sum::<f64>() {
            break;
        }
    }
    rates
}

/// Returns one flow for each value, plus the flows that are missing by the number of zeros (linear counting), distributed by the inverse
/// square of their size, as with heavy tails: a size that begins without a flow would never get one.
fn first_guess(counters: &[f64], number: f64) -> Vec<f64> {
    let used = 1.0 - counters[0] / number;
    // Without zeros: as if there were half a one.
    let load = (number / counters[0].max(0.5)).ln();
    let sizes = 1..counters.len() as u32;
    let squares: f64 = sizes.clone().map(|size| f64::from(size).powi(-2)).sum();
    let missing = (load - used).max(0.0) / squares;
    let of_size = |size: u32| counters[size as usize] / number + missing * f64::from(size).powi(-2);
    std::iter::once(0.0).chain(sizes.map(of_size)).collect()
}

/// The mean number of flows of each size in all counters, by their values.
fn expected(rates: &[f64], counters: &[f64]) -> Vec<f64> {
    let sums = sums(rates);
    let mut flows = vec![0.0; rates.len()];
    for (value, count) in counters.iter().enumerate().skip(1).filter(|(_, count)| **count > 0.0) {
        let share = count / sums[value];
        // A value that no rates explain, as they underflow.
        if !share.is_finite() {
            continue;
        }
        for (flows, rest) in flows[1..=value].iter_mut().zip(sums[..value].iter().rev()) {
            *flows += share * rest;
        }
    }
    flows.iter_mut().zip(rates).for_each(|(flows, rate)| *flows *= rate);
    flows
}

/// The probability of each sum, up to a factor.
fn sums(rates: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; rates.len()];
    // With the root of it, as the load is no more than the limit, no sum overflows.
    sums[0] = (-0.5 * rates.iter().sum::<f64>()).exp();
    let weighted: Vec<f64> = (0..).map(f64::from).zip(rates).map(|(size, rate)| size * rate).collect();
    for value in 0..rates.len() {
        if value > 0 {
            sums[value] /= value as f64;
        }
        let this = sums[value];
        // Forwards, which the compiler makes vectors of.
        for (sum, weighted) in sums[value + 1..].iter_mut().zip(&weighted[1..]) {
            *sum += this * weighted;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All ways to split `value` into sizes up to `most`: how many flows of each.
    fn splits(value: usize, most: usize) -> Vec<Vec<usize>> {
        if value == 0 {
            return vec![vec![]];
        }
        let with = |size: usize| {
            splits(value - size, size).into_iter().map(move |mut split| {
                split.push(size);
                split
            })
        };
        (1..=most.min(value)).flat_map(with).collect()
    }

    #[test]
    fn flows_are_those_of_all_ways_to_split_a_value() {
        let rates: [f64; 13] = [0.0, 0.7, 0.0, 0.3, 0.05, 1.1, 0.2, 1e-3, 0.4, 0.01, 0.02, 2.0, 0.3];
        for value in 1..rates.len() {
            let (mut chance, mut means) = (0.0, vec![0.0; rates.len()]);
            for split in splits(value, value) {
                let count = |size: usize| split.iter().filter(|other| **other == size).count();
                // Each number is Poisson's; e^(−λ) is in all alike.
                let this: f64 = (1..=value)
                    .map(|size| {
                        let many = count(size);
                        rates[size].powi(many as i32) / (1..=many).map(|n| n as f64).product::<f64>()
                    })
                    .product();
                chance += this;
                (1..=value).for_each(|size| means[size] += this * count(size) as f64);
            }
            let mut counters = vec![0.0; rates.len()];
            counters[value] = 3.0;
            let flows = expected(&rates, &counters);
            for (flows, mean) in flows.iter().zip(means) {
                assert!((flows - 3.0 * mean / chance).abs() < 1e-9, "{value}: {flows} for {mean} / {chance}");
            }
            let packets: f64 = flows.iter().enumerate().map(|(size, flows)| size as f64 * flows).sum();
            assert!((packets - 3.0 * value as f64).abs() < 1e-9);
        }
    }

    #[test]
    fn large_counters_are_one_flow_and_what_others_have() {
        // One in a hundred counters has a flow of one packet: nearly nothing is subtracted.
        let mut cells = vec![0; 10_000];
        cells[..100].fill(1);
        cells[5_000] = 1_000_000;
        cells[5_001] = u32::MAX;
        let flows = flows(&cells);
        assert_eq!(flows[LIMIT + 1..], [(1_000_000, 1.0), (u64::from(u32::MAX), 1.0)]);
        assert!((flows[1].1 - 100.0).abs() < 2.0, "{:?}", flows[1]);
        // All the others have eight packets: so has what the large one is made of.
        cells.fill(8);
        cells[0] = 1_000_000;
        assert_eq!(super::flows(&cells).last(), Some(&(999_992, 1.0)));
    }

    #[test]
    fn crowded_counters_give_numbers() {
        // A thousand flows a counter, no zeros, and nothing but large values.
        for cells in [vec![1_000; 50], (900..1_024).collect(), vec![u32::MAX; 3], vec![1_024], vec![1]] {
            let packets: f64 = flows(&cells).iter().map(|(size, flows)| *size as f64 * flows).sum();
            let truth: f64 = cells.iter().copied().map(f64::from).sum();
            assert!((packets / truth - 1.0).abs() < 1e-6, "{packets} of {truth}");
        }
        assert!(flows(&[0; 9]).iter().all(|(_, flows)| *flows == 0.0));
    }
}
