//! Equation 1, and the terms added to it.

/// The time that a load waits, nanoseconds, by where it finds its line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Latencies {
    pub(super) l1: f64,
    pub(super) l2: f64,
    pub(super) l3: f64,
    pub(super) memory: f64,
}

/// Shares of the accesses that find their line in this cache or a nearer one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hits {
    pub(super) l1: f64,
    pub(super) l2: f64,
    pub(super) l3: f64,
}

impl Latencies {
    /// Equation 1 as published, `p` being the hits of L3: processing, which includes the nearer caches, and a
    /// wait for L3 or memory. Nanoseconds per packet.
    pub(super) fn published(&self, process: f64, p: f64) -> f64 {
        process + p * self.l3 + (1.0 - p) * self.memory
    }

    /// The least `p` with which a packet takes no more than `budget`. Above 1 no share is sufficient.
    pub(super) fn least_p(&self, process: f64, budget: f64) -> f64 {
        ((process + self.memory - budget) / (self.memory - self.l3)).max(0.0)
    }

    /// Returns the time that a packet waits for beyond a hit of L1.
    pub(super) fn waits(&self, hits: Hits) -> f64 {
        let farther = (hits.l3 - hits.l2) * (self.l3 - self.l1) + (1.0 - hits.l3) * (self.memory - self.l1);
        (hits.l2 - hits.l1) * (self.l2 - self.l1) + farther
    }
}

/// The time that a structure takes, fitted to it at two points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StructureCost {
    /// The time with nothing to wait for, nanoseconds per packet.
    pub(super) process: f64,
    /// Waits that are under way at a time; 1 where each packet is done before the next begins.
    pub(super) overlap: f64,
}

impl StructureCost {
    /// Fits a structure by the time that a packet was measured to take where it waited for `waits`.
    pub(super) fn at(measured: f64, waits: f64, overlap: f64) -> Self {
        Self { process: (measured - waits / overlap).max(0.0), overlap }
    }

    /// Fits a structure by two measurements, near and far, each with its waits.
    pub(super) fn in_bursts(near: (f64, f64), far: (f64, f64)) -> Self {
        // Times are process + waits / overlap. A far point that is no slower hides all waits.
        let (seen, waits) = (far.0 - near.0, far.1 - near.1);
        let overlap = if seen > 0.0 { (waits / seen).max(1.0) } else { f64::INFINITY };
        Self::at(near.0, near.1, overlap)
    }

    /// Nanoseconds per packet.
    pub(super) fn predicted(&self, waits: f64) -> f64 {
        self.process + waits / self.overlap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Latencies = Latencies { l1: 1.0, l2: 5.0, l3: 16.0, memory: 100.0 };

    /// "if B = 67ns and T_process = 25ns, T_L3 = 16ns, T_mem = 100ns, p should be above 70%"
    #[test]
    fn the_papers_example() {
        let p = MACHINE.least_p(25.0, 67.0);
        assert!((p - 0.69).abs() < 0.01, "{p}");
        assert!((MACHINE.published(25.0, p) - 67.0).abs() < 1e-9);
        // With an L4 of 60 ns in the place of memory: "p in Equation 1 reduces to 42%".
        let p = Latencies { memory: 60.0, ..MACHINE }.least_p(25.0, 67.0);
        assert!((p - 0.42).abs() < 0.02, "{p}");
        assert!(MACHINE.least_p(60.0, 67.0) > 1.0);
        assert!(MACHINE.least_p(1.0, 500.0) == 0.0);
    }

    #[test]
    fn waits_are_the_mean_over_where_lines_are_found() {
        assert_eq!(MACHINE.waits(Hits { l1: 1.0, l2: 1.0, l3: 1.0 }), 0.0);
        assert_eq!(MACHINE.waits(Hits { l1: 0.0, l2: 0.0, l3: 0.0 }), 99.0);
        assert_eq!(MACHINE.waits(Hits { l1: 0.25, l2: 1.0, l3: 1.0 }), 3.0);
        let waits = MACHINE.waits(Hits { l1: 0.1, l2: 0.3, l3: 0.6 });
        assert!((waits - (0.2 * 4.0 + 0.3 * 15.0 + 0.4 * 99.0)).abs() < 1e-12, "{waits}");
    }

    #[test]
    fn a_fit_recovers_what_times_were_made_from() {
        let truth = StructureCost { process: 6.5, overlap: 9.0 };
        let at = |waits: f64| (truth.predicted(waits), waits);
        let fitted = StructureCost::in_bursts(at(2.0), at(110.0));
        assert!((fitted.process - 6.5).abs() < 1e-9 && (fitted.overlap - 9.0).abs() < 1e-9, "{fitted:?}");
        assert!((fitted.predicted(60.0) - truth.predicted(60.0)).abs() < 1e-9);
        assert_eq!(StructureCost::at(30.0, 3.0, 1.0), StructureCost { process: 27.0, overlap: 1.0 });
    }

    #[test]
    fn disturbed_measurements_fit_something_that_can_be() {
        let hidden = StructureCost::in_bursts((6.0, 2.0), (5.0, 100.0));
        assert_eq!((hidden.process, hidden.predicted(80.0)), (6.0, 6.0));
        assert_eq!(StructureCost::in_bursts((6.0, 2.0), (500.0, 100.0)).overlap, 1.0);
        assert_eq!(StructureCost::at(3.0, 30.0, 1.0).process, 0.0);
    }
}
