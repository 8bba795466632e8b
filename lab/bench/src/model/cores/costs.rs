//! The times of the steps of a packet, fitted to two points.

use super::super::equation::StructureCost;
use super::super::exact_table;
use super::super::machine::{MachineModel, mib};
use super::super::popularity::Popularity;
use super::BENCH;
use super::design::DesignKind;
use crate::BenchResult;
use crate::line::to_digits;
use crate::parallel::FullSpeed;
use serde_json::json;

/// Flows of the table that lies in L2, and of the one far beyond L3, both uniform.
pub(super) const NEAR: u64 = 4_000;
pub(super) const FAR: u64 = 1_000_000;

/// Nanoseconds per packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Costs {
    /// The poll, giving bursts back, parsing, and what no step is charged with.
    pub(super) arrive: f64,
    /// The update of a table.
    pub(super) update: StructureCost,
    /// Handing over to another core; nothing is known of it on a machine of one.
    pub(super) hand_over: Option<f64>,
    /// The time that another core takes more for an update, as it fetches what was handed over.
    pub(super) take: f64,
    /// Bytes of L3 that a core had, by its mean over both points.
    pub(super) felt_l3: f64,
}

impl Costs {
    /// Fits them to what was measured at [`NEAR`] and [`FAR`], each with the L3 that was felt.
    ///
    /// # Errors
    /// One line: one core was not measured.
    pub(super) fn fitted(
        machine: &MachineModel,
        near: &(Vec<FullSpeed>, f64),
        far: &(Vec<FullSpeed>, f64),
    ) -> Result<Self, String> {
        let of = |runs: &[FullSpeed], design: DesignKind, is_easy: bool| {
            runs.iter().find(|run| run.design == design && run.is_easy == is_easy).cloned()
        };
        let one = |(runs, felt_l3): &(Vec<FullSpeed>, f64)| {
            let run = of(runs, DesignKind::Rss, false).ok_or("one core was not measured")?;
            let waits =
                exact_table::waits(machine, run.flows, &Popularity::zipf(run.flows, run.zipf), *felt_l3);
            Ok::<_, String>((run, waits))
        };
        let ((first, first_waits), (second, second_waits)) = (one(near)?, one(far)?);
        let update = StructureCost::in_bursts((first.process, first_waits), (second.process, second_waits));
        // What steps do not have: turns, sweeps, the end. It is the same in both.
        let rest = |run: &FullSpeed| (run.line.ns_per_packet() - run.all_steps()).max(0.0);
        let arrive = first.receive + first.free + first.parse + rest(&first).min(rest(&second));
        // At full speed one of both waits for the other, which is no cost of handing over.
        let pair = of(&near.0, DesignKind::Clusters, true);
        let full = of(&near.0, DesignKind::Clusters, false);
        Ok(Self {
            arrive,
            update,
            hand_over: pair.as_ref().map(|pair| pair.hand_over),
            take: full.map_or(0.0, |full| (full.process - first.process).max(0.0)),
            felt_l3: (near.1 + far.1) / 2.0,
        })
    }

    /// A line with them.
    pub(super) fn line(&self) -> BenchResult {
        BenchResult::predicted(
            BENCH,
            "costs",
            vec![("near_flows", json!(NEAR)), ("far_flows", json!(FAR))],
            vec![
                ("arrive_ns", json!(to_digits(self.arrive, 2))),
                ("update_ns", json!(to_digits(self.update.process, 2))),
                ("overlap", json!(to_digits(self.update.overlap.min(1e6), 1))),
                ("hand_over_ns", json!(self.hand_over.map(|ns| to_digits(ns, 2)))),
                ("take_ns", json!(to_digits(self.take, 2))),
                ("felt_l3_mib", mib(self.felt_l3)),
            ],
        )
    }
}
