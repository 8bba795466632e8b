//! Conclusions from a sample of the packets to all packets: estimates, and bounds that hold whatever the traffic is.

use crate::{Estimate, Share};
use std::fmt;

/// The probability with which bounds hold.
const CONFIDENCE: f64 = 0.95;

/// Bytes of a tag that a driver may have removed from a frame, which count as its own.
const STRIPPED_TAG: u32 = 4;

/// Halvings of the range that an end lies in.
const HALVINGS: usize = 40;

/// The sampling of the packets of an answer.
///
/// Each packet of a window is taken with the window's share, independently of all others. With `n` packets of a flow, what was sampled
/// of them is binomially distributed. Where windows had different shares, their sum lies between those of the least and of the
/// greatest one (in the usual stochastic order), and so do the bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    least: Share,
    greatest: Share,
    /// Packets that were sampled.
    packets: u64,
    /// Packets that were sampled, each divided by the share of its window.
    scaled: f64,
    /// Packets that were sampled and not counted: a ring had no room, or a worker failed.
    lost: u64,
    /// The length that no packet exceeded, bytes on the wire.
    longest_byte: u32,
}

impl Sampled {
    /// Creates the sampling of one window. `packets`: those that were sampled and counted; `lost`: those that were sampled and not counted;
    /// no frame, sampled or not, was longer than `longest_byte`.
    pub fn new(share: Share, packets: u64, lost: u64, longest_byte: u32) -> Self {
        let scaled = packets as f64 / share.probability();
        Self { least: share, greatest: share, packets, scaled, lost, longest_byte }
    }

    /// Adds other windows.
    pub fn add(&mut self, more: &Self) {
        self.least = self.least.min(more.least);
        self.greatest = self.greatest.max(more.greatest);
        self.packets = self.packets.saturating_add(more.packets);
        self.scaled += more.scaled;
        self.lost = self.lost.saturating_add(more.lost);
        self.longest_byte = self.longest_byte.max(more.longest_byte);
    }

    /// Adds windows to the sum, if there is one; of what was not sampled there is none.
    pub fn merge_into(sum: &mut Option<Self>, more: Option<&Self>) {
        match (sum, more) {
            (Some(sum), Some(more)) => sum.add(more),
            (sum @ None, Some(more)) => *sum = Some(*more),
            (_, None) => {}
        }
    }

    /// The least and the greatest share.
    pub fn shares(&self) -> [Share; 2] {
        [self.least, self.greatest]
    }

    /// Packets that were sampled and not counted.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The length that no frame exceeded, on the wire.
    pub fn longest_byte(&self) -> u32 {
        self.longest_byte
    }

    /// Returns the probability with which bounds hold, as answers say it.
    pub fn confidence_text() -> String {
        format!("each with a probability of {CONFIDENCE:.3}")
    }

    /// True if every packet was taken and counted.
    pub fn is_whole(&self) -> bool {
        self.least == Share::ALL && self.lost == 0
    }

    /// The share by which totals are scaled: that of all windows together.
    pub fn probability(&self) -> f64 {
        if self.least == self.greatest || self.packets == 0 {
            self.least.probability()
        } else {
            self.packets as f64 / self.scaled
        }
    }

    /// Estimates the number of packets, of which `seen` were sampled and counted. Bounds: those of Chernoff (1952) for the binomial
    /// distribution, with its relative entropy; either tail has half of the rest.
    pub fn packets(&self, seen: f64) -> Estimate {
        self.packets_between(seen, seen, seen)
    }

    /// Estimates the number of packets where no more than bounds are known of how many were sampled.
    pub fn packets_between(&self, value: f64, lower: f64, upper: f64) -> Estimate {
        let fewest = binomial_end(lower, self.greatest.probability(), BoundSide::Lower).ceil();
        let most = binomial_end(upper + self.lost as f64, self.least.probability(), BoundSide::Upper).floor();
        self.scaled_between(value, fewest, most)
    }

    /// Estimates the number of layer-3 bytes, of which `seen` are of packets that were sampled and counted. Bounds: those of Chernoff for a
    /// sum of independent terms, none of which exceeds the longest frame.
    pub fn bytes(&self, seen: f64) -> Estimate {
        self.bytes_between(seen, seen, seen)
    }

    /// Estimates the number of layer-3 bytes where no more than bounds are known of how many were sampled.
    pub fn bytes_between(&self, value: f64, lower: f64, upper: f64) -> Estimate {
        self.weight_between([value, lower, upper], self.longest_byte)
    }

    /// Estimates the number of bytes on the wire.
    pub fn wire_bytes(&self, seen: f64) -> Estimate {
        self.wire_bytes_between(seen, seen, seen)
    }

    /// Estimates the number of bytes on the wire where no more than bounds are known of how many were sampled.
    pub fn wire_bytes_between(&self, value: f64, lower: f64, upper: f64) -> Estimate {
        self.weight_between([value, lower, upper], self.longest_byte.saturating_add(STRIPPED_TAG))
    }

    fn weight_between(&self, [value, lower, upper]: [f64; 3], longest: u32) -> Estimate {
        let longest = f64::from(longest.max(1));
        let end = |seen: f64, share: Share, side| match share {
            Share::ALL => seen,
            share => (poisson_end(seen / longest, side) * longest / share.probability()).max(seen),
        };
        let fewest = end(lower, self.greatest, BoundSide::Lower).ceil();
        let most = end(upper + self.lost as f64 * longest, self.least, BoundSide::Upper).floor();
        self.scaled_between(value, fewest, most)
    }

    fn scaled_between(&self, value: f64, lower: f64, upper: f64) -> Estimate {
        // Rounding moves neither end past what was seen.
        let value = (value / self.probability()).round();
        Estimate::bounded(value, lower.min(value), upper.max(value), CONFIDENCE)
    }
}

/// `estimated from a sample of 15% of the packets`.
impl fmt::Display for Sampled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { least, greatest, .. } = self;
        f.write_str("estimated from a sample of ")?;
        if least != greatest {
            write!(f, "{least} to ")?;
        }
        write!(f, "{greatest} of the packets")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BoundSide {
    Lower,
    Upper,
}

/// ln(1 / the part of the rest that one tail has).
fn most() -> f64 {
    (2.0 / (1.0 - CONFIDENCE)).ln()
}

/// The least or the greatest number of packets of which `seen` sampled ones are no exception. A little outside, never inside.
///
/// The chance of a share at least as far from the expected one is at most exp(−n · D), with the relative entropy D of the share that
/// was seen to the expected one (Chernoff 1952). It is convex in n, and 0 where both are equal.
fn binomial_end(seen: f64, p: f64, side: BoundSide) -> f64 {
    let middle = seen / p;
    if p >= 1.0 {
        return seen;
    }
    let exponent = |n: f64| {
        let unseen = n - seen;
        let of_seen = if seen > 0.0 { seen * (seen / (n * p)).ln() } else { 0.0 };
        let of_unseen = if unseen > 0.0 { unseen * (unseen / (n * (1.0 - p))).ln() } else { 0.0 };
        of_seen + of_unseen
    };
    end(middle, seen, side, exponent)
}

/// The least or the greatest mean of a sum of independent terms between 0 and 1, of which the sum `seen` is no exception.
fn poisson_end(seen: f64, side: BoundSide) -> f64 {
    let exponent = |mean: f64| mean - seen + if seen > 0.0 { seen * (seen / mean).ln() } else { 0.0 };
    end(seen, 0.0, side, exponent)
}

/// Returns the place where a convex exponent, 0 at `middle`, reaches what a tail has. Nothing is below `least`.
fn end(middle: f64, least: f64, side: BoundSide, exponent: impl Fn(f64) -> f64) -> f64 {
    let most = most();
    let (mut inside, mut outside) = (middle, least);
    match side {
        BoundSide::Lower if middle <= least || least > 0.0 && exponent(least) <= most => return least,
        BoundSide::Lower => {}
        BoundSide::Upper => {
            let mut step = 1.0;
            outside = middle + step;
            while exponent(outside) <= most {
                step *= 2.0;
                outside = middle + step;
            }
        }
    }
    for _ in 0..HALVINGS {
        let between = f64::midpoint(inside, outside);
        if exponent(between) <= most { inside = between } else { outside = between }
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(percent: u32) -> Share {
        Share::from_ppm(percent * 10_000).expect("a share")
    }

    /// The chance of `k` or fewer of `n`, summed term by term: the oracle.
    fn at_most(k: u64, n: u64, p: f64) -> f64 {
        let mut term = (n as f64 * (1.0 - p).ln()).exp();
        let mut sum = term;
        for i in 0..k {
            term *= (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
            sum += term;
        }
        sum
    }

    /// For each number of packets, the chance that the bounds of what is sampled do not contain it, by all outcomes.
    #[test]
    fn bounds_contain_the_truth_as_often_as_promised_for_every_number_of_packets() {
        for percent in [1, 15, 50, 90] {
            let p = share(percent).probability();
            for n in [1u64, 2, 5, 19, 100, 700] {
                let mut missed = 0.0;
                for seen in 0..=n {
                    let sampled = Sampled::new(share(percent), seen, 0, 1500);
                    if !sampled.packets(seen as f64).bounds.expect("bounds").contain(n as f64) {
                        let below = if seen == 0 { 0.0 } else { at_most(seen - 1, n, p) };
                        missed += at_most(seen, n, p) - below;
                    }
                }
                assert!(missed <= 1.0 - CONFIDENCE + 1e-9, "{n} at {percent}%: {missed}");
            }
        }
    }

    #[test]
    fn bounds_are_those_of_the_formula_and_narrow_as_more_is_seen() {
        let sampled = Sampled::new(share(15), 1000, 0, 1500);
        let none = sampled.packets(0.0).bounds.expect("bounds");
        // No packet of n: exp(−n · −ln 0.85) is a 40th.
        assert_eq!((none.lower, none.upper), (0.0, (40_f64.ln() / -(0.85_f64.ln())).floor()));
        let mut last = f64::INFINITY;
        for seen in [1.0, 10.0, 100.0, 1e4, 1e8] {
            let Estimate { value, bounds } = sampled.packets(seen);
            let bounds = bounds.expect("bounds");
            assert!((value - seen / 0.15).abs() <= 0.5 && bounds.lower >= seen && bounds.contain(value));
            let width = (bounds.upper - bounds.lower) / value;
            assert!(width < last, "{seen}: {width}");
            last = width;
        }
        assert!(last < 1e-3);
    }

    #[test]
    fn a_sample_of_all_is_exact() {
        let sampled = Sampled::new(Share::ALL, 70, 0, 1500);
        assert!(sampled.is_whole());
        assert_eq!(sampled.packets(7.0), Estimate::bounded(7.0, 7.0, 7.0, CONFIDENCE));
        assert_eq!(sampled.wire_bytes(900.0), Estimate::bounded(900.0, 900.0, 900.0, CONFIDENCE));
        let lost = Sampled::new(Share::ALL, 70, 2, 1500);
        assert!(!lost.is_whole());
        assert_eq!(lost.packets(7.0).bounds.expect("bounds").upper.to_bits(), 9_f64.to_bits());
    }

    /// The truth of one flow, drawn packet by packet, with sizes of two kinds; windows of different shares in one answer.
    #[test]
    fn bounds_of_bytes_and_of_several_windows_contain_the_truth() {
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let trials = 2000;
        let (mut missed_packets, mut missed_bytes) = (0, 0);
        for trial in 0..trials {
            let packets = 1 + trial % 400;
            let mut sum: Option<Sampled> = None;
            let (mut seen, mut seen_bytes, mut bytes) = (0.0, 0.0, 0.0);
            for percent in [10, 30] {
                let mut of_window = 0;
                for packet in 0..packets {
                    let size = if packet % 7 == 0 { 1500.0 } else { 64.0 };
                    bytes += size;
                    if uniform() < share(percent).probability() {
                        of_window += 1;
                        seen_bytes += size;
                    }
                }
                seen += f64::from(of_window);
                let window = Sampled::new(share(percent), of_window as u64, 0, 1500);
                Sampled::merge_into(&mut sum, Some(&window));
            }
            let sum = sum.expect("two windows");
            let holds =
                |estimate: Estimate, truth| estimate.bounds.is_some_and(|bounds| bounds.contain(truth));
            missed_packets += u32::from(!holds(sum.packets(seen), f64::from(2 * packets)));
            missed_bytes += u32::from(!holds(sum.bytes(seen_bytes), bytes));
        }
        let most = (1.0 - CONFIDENCE) * f64::from(trials);
        assert!(
            f64::from(missed_packets) <= most && f64::from(missed_bytes) <= most,
            "{missed_packets} {missed_bytes}"
        );
    }
}
