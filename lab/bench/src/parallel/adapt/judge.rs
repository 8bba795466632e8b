//! The loss of windows, and the accuracy of their counts.

use super::sink::CollectedWindows;
use engine::ClosedWindow;
use model::Counters;
use std::collections::HashMap;
use std::sync::PoisonError;

/// The heaviest flows whose counts are compared.
const MOST: usize = 100;

/// The shares of the flows of a trace.
pub(super) struct TraceShares {
    /// The shares of the heavy flows, the heaviest first.
    heavy: Vec<([u8; 13], f64)>,
    least: f64,
}

impl TraceShares {
    /// Makes the truth from the counts of flows. `least` is the share of the packets that a heavy flow has at least.
    pub(super) fn new(counts: &HashMap<[u8; 13], u64>, least: f64) -> Self {
        let all = counts.values().sum::<u64>().max(1) as f64;
        let mut heavy: Vec<_> = counts.iter().map(|(flow, count)| (*flow, *count as f64 / all)).collect();
        heavy.retain(|(_, share)| *share >= least);
        heavy.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Self { heavy, least }
    }
}

/// A time in which rate and trace are the same.
pub(super) struct LoadPhase<'a> {
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    pub(super) rate: u64,
    pub(super) truth: &'a TraceShares,
}

/// The verdict on all windows together.
#[derive(Debug, Default)]
pub(super) struct AdaptResult {
    /// Settled windows, and those of them that lost more than the bound, without what was lost off the core.
    pub(super) windows: u64,
    pub(super) windows_above: u64,
    /// The share of the frames of settled windows that was lost; that without what was lost off the core; the largest such share of a window.
    pub(super) loss_settled: f64,
    pub(super) loss_settled_on_core: f64,
    pub(super) worst_settled_on_core: f64,
    /// The share of all frames that was lost.
    pub(super) loss: f64,
    /// Mean relative error of the counts of the heaviest flows in settled windows; one that is not found is off by its whole count.
    pub(super) mean_error: f64,
    /// F1 of the heavy flows of settled windows.
    pub(super) f1: f64,
    /// The number of windows from the begin of a phase to the last one that lost more than the bound, by phase.
    pub(super) to_settle: Vec<u64>,
}

struct LossBreakdown {
    offered: u64,
    lost: u64,
    on_core: u64,
}

/// The share of the packets that was measured.
fn taken(window: &ClosedWindow) -> f64 {
    window.sampled.as_ref().map_or(1.0, |sampled| sampled.shares()[0].probability())
}

/// A packet of the sample that a ring refused stands for as many as one that was measured.
fn lost(window: &ClosedWindow) -> LossBreakdown {
    let counted = window.loss.as_ref().map_or(0, Counters::total);
    let refused = window.loss.as_ref().map_or(0, |loss| loss.get("ring_full"));
    let lost = counted - refused + (refused as f64 / taken(window)) as u64;
    let on_core = lost.saturating_sub(window.work.off_core);
    LossBreakdown { offered: window.packets.received + counted, lost, on_core }
}

fn share(part: u64, of: u64) -> f64 {
    part as f64 / of.max(1) as f64
}

pub(super) fn judge(
    kept: &CollectedWindows,
    phases: &[LoadPhase<'_>],
    settling_ns: u64,
    bound: f64,
) -> AdaptResult {
    let mut rows: HashMap<_, HashMap<[u8; 13], u64>> = HashMap::new();
    for (window, flow, packets) in kept.rows.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        *rows.entry(*window).or_default().entry(*flow).or_default() += packets;
    }
    let none = HashMap::new();
    let mut verdict = AdaptResult::default();
    let (mut all, mut settled) = (
        LossBreakdown { offered: 0, lost: 0, on_core: 0 },
        LossBreakdown { offered: 0, lost: 0, on_core: 0 },
    );
    let (mut errors, mut compared) = (0.0, 0_u64);
    let (mut found, mut answered, mut heavy) = (0_u64, 0_u64, 0_u64);
    let add = |sum: &mut LossBreakdown, more: &LossBreakdown| {
        sum.offered += more.offered;
        sum.lost += more.lost;
        sum.on_core += more.on_core;
    };
    kept.windows.iter().for_each(|window| add(&mut all, &lost(window)));
    for phase in phases {
        let mut last_above = 0;
        let of_phase = kept
            .windows
            .iter()
            .filter(|window| window.span.start_ns >= phase.begin_ns && window.span.end_ns <= phase.end_ns);
        for (number, window) in (1..).zip(of_phase) {
            let own = lost(window);
            if share(own.on_core, own.offered) > bound {
                last_above = number;
            }
            if window.span.start_ns < phase.begin_ns + settling_ns {
                continue;
            }
            add(&mut settled, &own);
            verdict.windows += 1;
            verdict.windows_above += u64::from(share(own.on_core, own.offered) > bound);
            verdict.worst_settled_on_core =
                verdict.worst_settled_on_core.max(share(own.on_core, own.offered));
            let taken = taken(window);
            let seconds = (window.span.end_ns - window.span.start_ns) as f64 / 1e9;
            let offered = phase.rate as f64 * seconds;
            let counts = rows.get(&window.window).unwrap_or(&none);
            for (flow, share) in phase.truth.heavy.iter().take(MOST) {
                let (truth, counted) =
                    (share * offered, counts.get(flow).copied().unwrap_or(0) as f64 / taken);
                errors += (counted / truth - 1.0).abs();
                compared += 1;
            }
            let is_heavy = |counted: u64| counted as f64 / taken >= phase.truth.least * offered;
            found += phase
                .truth
                .heavy
                .iter()
                .filter(|(flow, _)| counts.get(flow).is_some_and(|n| is_heavy(*n)))
                .count() as u64;
            answered += counts.values().filter(|n| is_heavy(**n)).count() as u64;
            heavy += phase.truth.heavy.len() as u64;
        }
        verdict.to_settle.push(last_above);
    }
    verdict.loss = share(all.lost, all.offered);
    verdict.loss_settled = share(settled.lost, settled.offered);
    verdict.loss_settled_on_core = share(settled.on_core, settled.offered);
    verdict.mean_error = errors / compared.max(1) as f64;
    verdict.f1 = 2.0 * found as f64 / (answered + heavy).max(1) as f64;
    verdict
}
