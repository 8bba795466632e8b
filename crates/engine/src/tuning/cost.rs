//! The cost of a frame by the settings: learnt from what was received while frames were lost.

use super::knobs::Rung;

/// The cost of receiving a frame and passing over it, as a share of the cost of measuring it, before anything is known.
const FIXED: f64 = 0.3;
/// The range in which the true share is taken to be.
const FIXED_RANGE: (f64, f64) = (0.02, 0.8);
/// The cost of measuring with a quarter of the memory of tasks, as a share of the cost with all of it, before anything is known.
const LESS_MEMORY: f64 = 0.92;

/// Seconds per frame. `cost = whole · (fixed + share · (1 − fixed) · memory)`, where `memory` is a factor of how much of it tasks have.
///
/// Where frames are lost, what was received in a second is what the settings can do, and its inverse the cost; where none are, it is
/// an upper bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    whole: Option<f64>,
    fixed: f64,
    /// Share at which `whole` was learnt.
    learnt_at: f64,
}

impl Cost {
    pub(super) fn new() -> Self {
        Self { whole: None, fixed: FIXED, learnt_at: 1.0 }
    }

    fn relative(fixed: f64, rung: Rung) -> f64 {
        let memory = LESS_MEMORY.powf(f64::from(rung.memory_divisor).log2() / 2.0);
        fixed + rung.share() * (1.0 - fixed) * memory
    }

    /// Returns the cost of a frame by these settings, seconds; `None` before anything was lost.
    pub(super) fn get(&self, rung: Rung) -> Option<f64> {
        Some(self.whole? * Self::relative(self.fixed, rung))
    }

    /// Learns that frames cost this much by these settings. What this tells beyond what is known is taken to be about sampling if the share
    /// is another one than before and the traffic the same, else about frames as such.
    pub(super) fn learn(&mut self, rung: Rung, seconds: f64, is_same_traffic: bool) {
        let is_other_share = (rung.share() - self.learnt_at).abs() > 1e-6;
        if let Some(whole) = self.whole.filter(|_| is_same_traffic && is_other_share) {
            let learnt = Rung { share_ppm: (self.learnt_at * 1e6).round() as u32, ..rung };
            let before = whole * Self::relative(self.fixed, learnt);
            // Two shares, two costs: a line.
            let slope = (before - seconds) / (self.learnt_at - rung.share());
            let at_nothing = seconds - slope * rung.share();
            let fixed = at_nothing / (at_nothing + slope);
            let (least, most) = FIXED_RANGE;
            self.fixed = if fixed.is_finite() { fixed.clamp(least, most) } else { most };
        }
        self.whole = Some(seconds / Self::relative(self.fixed, rung));
        self.learnt_at = rung.share();
    }

    /// Learns that frames cost this much at the most by these settings.
    pub(super) fn learn_bound(&mut self, rung: Rung, seconds: f64) {
        if let Some(known) = self.get(rung).filter(|known| *known > seconds) {
            self.whole = self.whole.map(|whole| whole * seconds / known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rung(share: f64) -> Rung {
        Rung { memory_divisor: 1, share_ppm: (share * 1e6) as u32 }
    }

    #[test]
    fn two_shares_tell_what_sampling_saves() {
        // 40 ns for each frame, 160 more if it is measured.
        let truth = |share: f64| (40.0 + 160.0 * share) * 1e-9;
        let mut cost = Cost::new();
        assert_eq!(cost.get(rung(1.0)), None);
        cost.learn(rung(1.0), truth(1.0), true);
        cost.learn(rung(0.25), truth(0.25), true);
        for share in [1.0, 0.7, 0.1] {
            let foretold = cost.get(rung(share)).expect("learnt");
            assert!((foretold / truth(share) - 1.0).abs() < 0.001, "{share}: {foretold}");
        }
        // A third point of other traffic, whose frames cost twice as much.
        cost.learn(rung(0.25), 2.0 * truth(0.25), false);
        let foretold = cost.get(rung(1.0)).expect("learnt");
        assert!((foretold / (2.0 * truth(1.0)) - 1.0).abs() < 0.001);
        // What was received without loss is a bound.
        cost.learn_bound(rung(0.25), 3.0 * truth(0.25));
        assert_eq!(cost.get(rung(1.0)), Some(foretold));
        cost.learn_bound(rung(0.25), truth(0.25));
        assert!((cost.get(rung(1.0)).expect("learnt") / truth(1.0) - 1.0).abs() < 0.001);
    }
}
