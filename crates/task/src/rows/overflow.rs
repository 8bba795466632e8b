//! Packets that find no place in the flow table are in no row. A bounded summary of their groups, for each way in which queries
//! group and filter, gives the answers certain bounds all the same.
//!
//! Each worker has an [`OverflowCounter`], which counts such packets in bursts: without a packet of that kind it does nothing.
//! When a window turns, what it holds becomes an [`Overflow`], which merges with those of other workers and of other windows.

mod amounts;
mod bounds;
mod counter;
mod summary;
#[cfg(test)]
mod tests;

pub(crate) use amounts::Amounts;
pub(crate) use bounds::{GroupBounds, SpilledValue, unbounded};

use super::grouping::{GroupKeyParts, PlannedGrouping};
use super::predicate::KeyPredicate;
use super::program::{NodeId, RowProgram};
use crate::Generation;
use crate::plan_context::PlanContext;
use amounts::WEIGHTS;
use counter::SummaryCounter;
use packet::{FamilyKey, Key, KeySpec, KeyV4, KeyV6};
use summary::GroupSummary;

/// Packets that are counted together.
const BURST: usize = 64;

/// A way in which queries group and filter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SummaryPlan {
    filter: KeyPredicate,
    /// Parts of the key that are the group's; `None` where all packets are one group.
    parts: Option<GroupKeyParts>,
}

impl SummaryPlan {
    /// Plans the summary of a query; `None` if packets do not tell its groups.
    pub(crate) fn new(
        filter: Option<NodeId>,
        grouping: &PlannedGrouping,
        program: &RowProgram,
        key: &KeySpec,
    ) -> Option<Self> {
        let parts = match grouping {
            PlannedGrouping::All => None,
            PlannedGrouping::Rows => {
                Some(GroupKeyParts { plain: *key, either: None, is_conversation: false, extras: Vec::new() })
            }
            PlannedGrouping::Parts(parts) if parts.extras.is_empty() => Some(parts.clone()),
            PlannedGrouping::Parts(_) => return None,
        };
        let filter =
            filter.map_or(KeyPredicate::Always(true), |filter| KeyPredicate::from_node(filter, program));
        Some(Self { filter, parts })
    }

    /// True if the key decides which packets pass the filter.
    pub(crate) fn is_decided(&self) -> bool {
        self.filter.is_decided()
    }

    fn has_addresses(&self) -> bool {
        self.parts.as_ref().is_some_and(|parts| parts.spec().has_addresses())
    }
}

/// The ways in which the queries of a set group and filter.
#[derive(Clone, Debug)]
pub(crate) struct OverflowPlan {
    generation: Generation,
    summaries: Vec<SummaryPlan>,
}

impl OverflowPlan {
    /// Creates the plan for queries that group and filter in these ways.
    pub(crate) fn new<'a>(generation: Generation, ways: impl Iterator<Item = &'a SummaryPlan>) -> Self {
        let mut summaries: Vec<SummaryPlan> = Vec::new();
        for summary in ways {
            if !summaries.contains(summary) {
                summaries.push(summary.clone());
            }
        }
        Self { generation, summaries }
    }

    /// True if there is nothing to summarise.
    pub(crate) fn is_empty(&self) -> bool {
        self.summaries.is_empty()
    }

    /// The number of a query's summary.
    fn number(&self, summary: &SummaryPlan) -> Option<usize> {
        self.summaries.iter().position(|known| known == summary)
    }
}

/// A packet without a place, or several of one flow.
#[derive(Clone, Copy, Debug)]
struct UnplacedPacket<K> {
    key: K,
    counts: [u64; WEIGHTS],
}

/// Counts the packets without a place of one worker and one window after the other.
#[derive(Debug)]
pub struct OverflowCounter {
    generation: Generation,
    summaries: Vec<SummaryCounter>,
    v4: Vec<UnplacedPacket<KeyV4>>,
    v6: Vec<UnplacedPacket<KeyV6>>,
    packets: u64,
}

impl OverflowCounter {
    pub(crate) fn new(plan: &OverflowPlan, site: &PlanContext) -> Self {
        let summary = |plan: &SummaryPlan| SummaryCounter::new(plan, site.seed, &site.limits);
        Self {
            generation: plan.generation,
            summaries: plan.summaries.iter().map(summary).collect(),
            v4: Vec::with_capacity(BURST),
            v6: Vec::with_capacity(BURST),
            packets: 0,
        }
    }

    /// Counts packets of one flow: their number, layer-3 bytes, and bytes on the wire.
    #[inline]
    pub fn count<K: Key>(&mut self, key: K, packets: u64, bytes: u64, wire_bytes: u64) {
        let counts = [packets, bytes, wire_bytes];
        match key.family() {
            Some(FamilyKey::V4(key)) => self.v4.push(UnplacedPacket { key, counts }),
            Some(FamilyKey::V6(key)) => self.v6.push(UnplacedPacket { key, counts }),
            None => return,
        }
        self.packets += packets;
        if self.v4.len().max(self.v6.len()) == BURST {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.summaries.iter_mut().for_each(|summary| summary.count(&self.v4, &self.v6));
        self.v4.clear();
        self.v6.clear();
    }

    /// Returns the counts since the last call; `None` if there was no packet.
    pub fn take(&mut self) -> Option<Overflow> {
        if self.packets == 0 {
            return None;
        }
        self.flush();
        Some(Overflow {
            generation: self.generation,
            packets: std::mem::take(&mut self.packets),
            summaries: self.summaries.iter_mut().map(SummaryCounter::take).collect(),
        })
    }
}

/// The summaries of the packets without a place: partial answers, which merge with those of other workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overflow {
    generation: Generation,
    packets: u64,
    summaries: Vec<GroupSummary>,
}

impl Overflow {
    /// Adds what another worker counted, or what was counted in another window, by the same set. What is of another set is left out:
    /// answers then find packets missing.
    pub fn merge(&mut self, other: &Self) {
        if self.generation != other.generation {
            return;
        }
        self.packets += other.packets;
        self.summaries.iter_mut().zip(&other.summaries).for_each(|(ours, theirs)| ours.merge(theirs));
    }

    /// Adds other packets to the sum, if there is one.
    pub fn merge_into(sum: &mut Option<Self>, more: Option<Self>) {
        match (sum, more) {
            (Some(sum), Some(more)) => sum.merge(&more),
            (sum, Some(more)) => *sum = Some(more),
            (_, None) => {}
        }
    }

    /// The bounds for a query's groups, if all `packets` are in it.
    pub(crate) fn bounds(
        &self,
        overflow: &OverflowPlan,
        way: &SummaryPlan,
        packets: u64,
    ) -> Option<GroupBounds> {
        if self.generation != overflow.generation || self.packets != packets {
            return None;
        }
        overflow.number(way).map(|number| GroupBounds::new(&self.summaries[number]))
    }
}
