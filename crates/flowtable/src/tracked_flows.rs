//! Measurements that are too expensive for all flows, made of pinned flows alone ([`packet::Pins`]): TCP losses and statistics of packets.
//! They have tables of their own, so that the flow tables cost no more. The parser marks the packets of pinned flows, and only these are
//! read here.
//!
//! A connection is followed from its first marked packet on, which may not be its first packet. It is followed until its flows are no
//! longer pinned, or both directions have been silent for longer than the idle timeout. Statistics start again in each window.

mod losses;
mod statistics;
mod table;
#[cfg(test)]
mod tests;

use crate::flow_table::FlowSink;
use crate::timeouts::Timeouts;
use arena::Limits;
use flow::Statistic;
use losses::LossTables;
use packet::{Bursts, FamilyKey, Key, Pins, Seed};
use statistics::ZoomStatistics;
use std::sync::Arc;
use tcp::LossCounts;

/// The measurements that are made of pinned flows.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestedMetrics<'a> {
    /// True if TCP losses are counted.
    pub losses: bool,
    /// The statistics of packets that are computed, at most [`flow::MAX_ROW_STATISTICS`].
    pub statistics: &'a [Statistic],
}

/// The measurements of a key in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackedMeasurement<'a> {
    /// The TCP losses; `None` if they were not tracked, because they were not requested or memory was short.
    pub loss: Option<LossCounts>,
    /// The statistics in the order of the request, NaN where there is no value; empty if no packet was counted.
    pub statistics: &'a [f64],
}

/// Follows pinned flows, and measures each key in each window.
#[derive(Debug)]
pub struct Zoom {
    seed: Seed,
    timeouts: Timeouts,
    limits: Limits,
    /// The tables of losses, created when losses are first requested.
    losses: Option<LossTables>,
    /// True if losses are requested in the open window.
    follows_losses: bool,
    statistics: ZoomStatistics,
    /// The pins of the open window.
    pins: Arc<Pins>,
    /// True if a packet of the open window was marked.
    has_packets: bool,
    /// The pins of the window that is being sealed; none if no packet of it was marked, because no row has a measurement then.
    closing_pins: Arc<Pins>,
    none: Arc<Pins>,
}

impl Zoom {
    /// Creates a zoom that follows no flow. It takes memory from `limits` when it follows some.
    pub fn new(seed: Seed, timeouts: Timeouts, limits: &Limits) -> Self {
        let none = Arc::new(Pins::none(seed));
        Self {
            seed,
            timeouts,
            limits: limits.clone(),
            losses: None,
            follows_losses: false,
            statistics: ZoomStatistics::new(seed, limits),
            pins: Arc::clone(&none),
            has_packets: false,
            closing_pins: Arc::clone(&none),
            none,
        }
    }

    /// Sets the flows that are tracked in the open window, and the measurements of them, before the first packet of the window. Other
    /// connections are no longer followed, and their open losses stay undecided.
    pub fn set_pins(&mut self, pins: &Arc<Pins>, followed: RequestedMetrics<'_>) {
        self.pins = Arc::clone(pins);
        self.statistics.set(followed.statistics);
        self.follows_losses = followed.losses;
        match &mut self.losses {
            Some(losses) if followed.losses => losses.set_pins(pins),
            Some(losses) => losses.set_pins(&self.none),
            // Without address space for the tables, packets are counted as not followed.
            none if followed.losses => {
                *none = LossTables::new(self.seed, self.timeouts, pins, &self.limits).ok()
            }
            _ => {}
        }
    }

    /// Returns the bytes of memory in use.
    pub fn bytes(&self) -> usize {
        self.losses.as_ref().map_or(0, LossTables::bytes) + self.statistics.bytes()
    }

    /// Follows the marked packets of bursts, of which there is at least one. Returns the number of packets for which memory is short.
    #[inline]
    pub fn count(&mut self, bursts: &Bursts) -> u64 {
        let Self { losses, follows_losses, statistics, has_packets, .. } = self;
        *has_packets = true;
        let mut refused = 0;
        let mut counted = statistics.count_v4(&bursts.v4);
        for pinned in bursts.v4.pinned() {
            let is_counted = counted.next().unwrap_or(true);
            let is_followed =
                !*follows_losses || losses.as_mut().is_some_and(|losses| losses.v4.count(&bursts.v4, pinned));
            refused += u64::from(!(is_counted && is_followed));
        }
        drop(counted);
        let mut counted = statistics.count_v6(&bursts.v6);
        for pinned in bursts.v6.pinned() {
            let is_counted = counted.next().unwrap_or(true);
            let is_followed =
                !*follows_losses || losses.as_mut().is_some_and(|losses| losses.v6.count(&bursts.v6, pinned));
            refused += u64::from(!(is_counted && is_followed));
        }
        refused
    }

    /// Returns the measurement of a row's key in the window that is being sealed; `None` if its flow was not pinned. Call it once per key.
    #[inline(always)]
    pub fn found<K: Key>(&mut self, key: K) -> Option<TrackedMeasurement<'_>> {
        let family = key.family()?;
        let may_have = match &family {
            FamilyKey::V4(key) => self.closing_pins.may_have_ports(key),
            FamilyKey::V6(key) => self.closing_pins.may_have_ports(key),
        };
        // Most rows need only this test.
        if may_have { self.found_of(family) } else { None }
    }

    #[inline(never)]
    fn found_of(&mut self, key: FamilyKey) -> Option<TrackedMeasurement<'_>> {
        let Self { losses, statistics, closing_pins, .. } = self;
        let hash = match &key {
            FamilyKey::V4(key) => key.hash(&self.seed),
            FamilyKey::V6(key) => key.hash(&self.seed),
        };
        if !closing_pins.may_have(hash) {
            return None;
        }
        let losses = losses.as_mut();
        match &key {
            FamilyKey::V4(key) if closing_pins.have(key) => Some(TrackedMeasurement {
                loss: losses.and_then(|losses| losses.v4.loss(key)),
                statistics: statistics.get_v4(key),
            }),
            FamilyKey::V6(key) if closing_pins.have(key) => Some(TrackedMeasurement {
                loss: losses.and_then(|losses| losses.v6.loss(key)),
                statistics: statistics.get_v6(key),
            }),
            FamilyKey::V4(_) | FamilyKey::V6(_) => None,
        }
    }

    /// Opens the next window. [`Zoom::sweep`] must have completed a pass since the last turn.
    pub fn turn(&mut self) {
        let has_packets = std::mem::take(&mut self.has_packets);
        self.closing_pins = Arc::clone(if has_packets { &self.pins } else { &self.none });
        self.losses.iter_mut().for_each(LossTables::turn);
        self.statistics.turn();
    }

    /// Visits up to `connections` connections at stream time `now`, and ends those that have been silent too long. After a turn, when all
    /// rows of the flow tables are sealed, it gives rows without packets for measurements that [`Zoom::found`] did not return, and removes
    /// connections that are no longer followed. Returns true at the end of the tables; the next call starts again.
    pub fn sweep(&mut self, connections: usize, now: u64, sink: &mut impl FlowSink) -> bool {
        self.losses.as_mut().is_none_or(|losses| losses.sweep(connections, now, sink))
    }

    /// Decides the open losses of all connections in the last window. Call it after the source has ended and the last window has been
    /// turned, and seal and sweep the rows afterwards.
    pub fn end(&mut self) {
        self.losses.iter_mut().for_each(LossTables::end);
    }
}
