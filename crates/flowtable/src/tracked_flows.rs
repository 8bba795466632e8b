//! Measurements that are too dear for all flows, of pinned ones alone ([`packet::Pins`]): TCP losses, and statistics of packets, in tables
//! beside the flow tables, which therefore pay nothing for it. The parser names the packets of pinned flows; nothing else of a burst is
//! read here.
//!
//! A connection is followed from the first packet on that is named, be it the first of the connection or not, and until its flows are
//! pinned no longer, or both its directions have been silent for longer than the idle timeout. Statistics begin anew in each window.

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
    /// True if their losses are counted.
    pub losses: bool,
    /// The statistics of their packets that are asked for, [`flow::MAX_ROW_STATISTICS`] at the most.
    pub statistics: &'a [Statistic],
}

/// The measurements of a key in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackedMeasurement<'a> {
    /// The TCP losses; `None` if they were not tracked: none were asked for, or there was no memory.
    pub loss: Option<LossCounts>,
    /// The statistics, in the order in which they were asked for, NaN where there is no value; none at all if no packet was counted.
    pub statistics: &'a [f64],
}

/// Follows pinned flows, and tells what was found of each key in each window.
#[derive(Debug)]
pub struct Zoom {
    seed: Seed,
    timeouts: Timeouts,
    limits: Limits,
    /// The tables of losses, made when losses are first asked for.
    losses: Option<LossTables>,
    /// True if losses are asked for in the open window.
    follows_losses: bool,
    statistics: ZoomStatistics,
    /// The pins of the open window.
    pins: Arc<Pins>,
    /// True if a packet of the open window was named.
    has_packets: bool,
    /// The pins of the window that is being sealed; none if no packet of it was named, as then no row has anything.
    closing_pins: Arc<Pins>,
    none: Arc<Pins>,
}

impl Zoom {
    /// Creates a zoom that follows nothing yet. It takes memory out of `limits` later.
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

    /// Sets which flows are tracked in the open window, and what is tracked of them. No packet of the window may have come yet. Connections that they do not
    /// have are followed no longer; what is open of them is not decided.
    pub fn set_pins(&mut self, pins: &Arc<Pins>, followed: RequestedMetrics<'_>) {
        self.pins = Arc::clone(pins);
        self.statistics.set(followed.statistics);
        self.follows_losses = followed.losses;
        match &mut self.losses {
            Some(losses) if followed.losses => losses.set_pins(pins),
            Some(losses) => losses.set_pins(&self.none),
            // Without address space for it, packets are counted as not followed.
            none if followed.losses => {
                *none = LossTables::new(self.seed, self.timeouts, pins, &self.limits).ok()
            }
            _ => {}
        }
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> usize {
        self.losses.as_ref().map_or(0, LossTables::bytes) + self.statistics.bytes()
    }

    /// Follows the packets that bursts name, one at least. Gives the number of those for which there is no memory.
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

    /// Returns what was found of the key of a row in the window that is being sealed, to be asked once; `None` if its flow was not pinned.
    #[inline(always)]
    pub fn found<K: Key>(&mut self, key: K) -> Option<TrackedMeasurement<'_>> {
        let family = key.family()?;
        let may_have = match &family {
            FamilyKey::V4(key) => self.closing_pins.may_have_ports(key),
            FamilyKey::V6(key) => self.closing_pins.may_have_ports(key),
        };
        // Of most rows nothing else is looked at.
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

    /// Opens the next window. The sweep must have completed a pass since the last turn.
    pub fn turn(&mut self) {
        let has_packets = std::mem::take(&mut self.has_packets);
        self.closing_pins = Arc::clone(if has_packets { &self.pins } else { &self.none });
        self.losses.iter_mut().for_each(LossTables::turn);
        self.statistics.turn();
    }

    /// Looks at up to `connections` connections at stream time `now`: ends what has been silent for too long. After a turn, when all rows of
    /// the flow tables are sealed, what no row has been asked for is given as rows without packets, and what is not followed any longer
    /// is removed. True when it has reached the end; the next call starts again.
    pub fn sweep(&mut self, connections: usize, now: u64, sink: &mut impl FlowSink) -> bool {
        self.losses.as_mut().is_none_or(|losses| losses.sweep(connections, now, sink))
    }

    /// The source has ended, and the last window is turned away from: what is open of all connections is decided in it. Rows are to be
    /// sealed and swept afterwards.
    pub fn end(&mut self) {
        self.losses.iter_mut().for_each(LossTables::end);
    }
}
