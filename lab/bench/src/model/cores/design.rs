//! The rate of a design by the number of cores.

use super::super::equation::Hits;
use super::super::exact_table::{self, FLOW};
use super::super::machine::MachineModel;
use super::super::popularity::Popularity;
use super::costs::Costs;
use super::spread::fullest;

pub(crate) use crate::parallel::DesignKind;

/// Those that are predicted.
pub(super) const DESIGNS: [DesignKind; 2] = [DesignKind::Rss, DesignKind::Clusters];
/// Bytes of a line.
const LINE: f64 = 64.0;

impl DesignKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rss => "rss",
            Self::Clusters => "clusters",
        }
    }

    /// The member of a line with the cores that a link needs.
    pub(super) fn needed(self) -> &'static str {
        match self {
            Self::Rss => "rss_cores",
            Self::Clusters => "clusters_cores",
        }
    }

    pub(super) fn least_cores(self) -> u64 {
        match self {
            Self::Rss => 1,
            Self::Clusters => 2,
        }
    }
}

/// A prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prediction {
    /// The time that the core that decides takes for a packet of its own, nanoseconds.
    pub(super) busiest_ns: f64,
    /// The share of the packets of that core.
    pub(super) fullest: f64,
    /// Lines of memory that a packet asks for.
    lines: f64,
    /// The step that decides: `update`, `receive`, or `skew` where one core has half again as much as the mean.
    pub(super) limited_by: &'static str,
    /// The number of cores that receive, where others count.
    pub(super) receivers: Option<u64>,
}

impl Prediction {
    /// Millions of packets a second without loss: as many as the fullest core takes.
    pub(super) fn mpps(&self) -> f64 {
        1e3 / (self.busiest_ns * self.fullest)
    }

    /// Returns the traffic of random lines that the memory delivers at that rate, gigabytes per second.
    pub(super) fn memory_gb_per_s(&self) -> f64 {
        self.mpps() * self.lines * LINE / 1e3
    }
}

/// The parts of the work for each number of cores of one socket, up to a greatest number: computed once, since every split of the cores asks.
pub(super) struct CoreSplits {
    costs: Costs,
    /// The share of the packets on the fullest core, by number of cores less one.
    fullest: Vec<f64>,
    /// An update of one of as many equal tables.
    updates: Vec<TableUpdate>,
}

impl CoreSplits {
    /// Computes the parts for up to `most` cores, each with an equal part of `felt_l3` at most.
    pub(super) fn compute(
        machine: &MachineModel,
        costs: &Costs,
        felt_l3: f64,
        popularity: &Popularity,
        most: u64,
    ) -> Self {
        let numbers = || 1..=most;
        let update = |tables| TableUpdate::compute(machine, costs, felt_l3, popularity, tables);
        Self {
            costs: *costs,
            fullest: numbers().map(|cores| fullest(popularity, cores)).collect(),
            updates: numbers().map(update).collect(),
        }
    }

    /// The prediction for a design on this many cores, at least as many as it needs and no more than [`CoreSplits::compute`] was given.
    pub(super) fn predicted(&self, design: DesignKind, cores: u64) -> Prediction {
        match design {
            DesignKind::Rss => self.one_by_one(cores),
            DesignKind::Clusters => (1..cores)
                .map(|receivers| self.clusters(receivers, cores - receivers))
                .max_by(|a, b| a.mpps().total_cmp(&b.mpps()))
                .unwrap_or_else(|| self.one_by_one(cores)),
        }
    }

    /// Every core receives and counts.
    fn one_by_one(&self, cores: u64) -> Prediction {
        let (fullest, update) = (self.fullest[cores as usize - 1], &self.updates[cores as usize - 1]);
        let limited_by = if fullest * cores as f64 > 1.5 { "skew" } else { "update" };
        let busiest_ns = self.costs.arrive + update.ns;
        Prediction { busiest_ns, fullest, lines: update.lines, limited_by, receivers: None }
    }

    /// Predicts a design in which some cores receive and the others count.
    fn clusters(&self, receivers: u64, workers: u64) -> Prediction {
        let Self { costs, fullest, updates } = self;
        let update = &updates[workers as usize - 1];
        let receive = (costs.arrive + costs.hand_over.unwrap_or(0.0), fullest[receivers as usize - 1]);
        let count = (costs.take + update.ns, fullest[workers as usize - 1]);
        let ((busiest_ns, fullest), number, what) = match receive.0 * receive.1 >= count.0 * count.1 {
            true => (receive, receivers, "receive"),
            false => (count, workers, "update"),
        };
        let limited_by = if fullest * number as f64 > 1.5 { "skew" } else { what };
        Prediction { busiest_ns, fullest, lines: update.lines, limited_by, receivers: Some(receivers) }
    }
}

/// An update of one of several equal tables.
struct TableUpdate {
    ns: f64,
    lines: f64,
}

impl TableUpdate {
    fn compute(
        machine: &MachineModel,
        costs: &Costs,
        felt_l3: f64,
        popularity: &Popularity,
        tables: u64,
    ) -> Self {
        let flows = (popularity.entries() / tables as f64).max(1.0) as u64;
        // Of flows of one law, those on a core follow it nearly.
        let own = popularity.with_entries(flows);
        let caches = &machine.caches;
        let l3 = felt_l3.min(caches.l3 as f64 / tables as f64).max(caches.l2 as f64);
        let Hits { l3: hits, .. } = machine.hits(&own, FLOW, l3);
        let waits = exact_table::waits(machine, flows, &own, l3);
        Self { ns: costs.update.predicted(waits), lines: exact_table::ACCESSES * (1.0 - hits) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::caches::Caches;
    use super::super::super::equation::{Latencies, StructureCost};
    use super::*;

    fn machine() -> MachineModel {
        let caches = Caches { l1d: 32 << 10, l2: 1 << 20, l3: 32 << 20 };
        MachineModel::made_up(caches, Latencies { l1: 1.0, l2: 1.0, l3: 11.0, memory: 101.0 })
    }

    const COSTS: Costs = Costs {
        arrive: 10.0,
        update: StructureCost { process: 10.0, overlap: 10.0 },
        hand_over: Some(5.0),
        take: 2.0,
        felt_l3: (16 << 20) as f64,
    };

    fn at(flows: u64, zipf: f64, design: DesignKind, cores: u64) -> Prediction {
        CoreSplits::compute(&machine(), &COSTS, COSTS.felt_l3, &Popularity::zipf(flows, zipf), cores)
            .predicted(design, cores)
    }

    #[test]
    fn a_table_in_the_nearest_caches_waits_for_nothing() {
        let one = at(1_000, 0.0, DesignKind::Rss, 1);
        assert!((one.mpps() - 1e3 / 20.0).abs() < 0.1, "{one:?}");
        assert!(one.memory_gb_per_s() < 0.01);
        // Two lines from memory, ten at a time: 20 ns more.
        let far = at(100_000_000, 0.0, DesignKind::Rss, 1);
        assert!((far.mpps() - 1e3 / 40.0).abs() < 0.5, "{far:?}");
        assert!((far.memory_gb_per_s() - far.mpps() * 128.0 / 1e3).abs() < 0.1, "{far:?}");
    }

    #[test]
    fn cores_add_up_until_one_flow_is_more_than_a_core_takes() {
        let even =
            at(1_000_000, 0.0, DesignKind::Rss, 8).mpps() / at(1_000_000, 0.0, DesignKind::Rss, 1).mpps();
        assert!((7.0..=10.0).contains(&even), "{even}");
        let skewed = at(1_000_000, 1.0, DesignKind::Rss, 64);
        assert_eq!(skewed.limited_by, "skew");
        // The heaviest of a million flows at Zipf(1) has 7 % of the packets.
        assert!(skewed.fullest >= 0.069);
        let times = skewed.mpps() / at(1_000_000, 1.0, DesignKind::Rss, 1).mpps();
        assert!(times < 16.0, "{times}");
    }

    #[test]
    fn cores_are_split_where_both_sides_keep_up() {
        // A receiver takes 15 ns, a worker 12.
        let two = at(1_000, 0.0, DesignKind::Clusters, 2);
        assert_eq!((two.receivers, two.limited_by), (Some(1), "receive"));
        assert!((two.mpps() - 1e3 / 15.0).abs() < 0.1, "{two:?}");
        let many = at(1_000_000, 0.0, DesignKind::Clusters, 16);
        let receivers = many.receivers.expect("they are split");
        assert!((6..=10).contains(&receivers), "{many:?}");
        assert!(many.mpps() < at(1_000_000, 0.0, DesignKind::Rss, 16).mpps());
    }
}
