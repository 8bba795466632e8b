//! A step: its sums, its leading groups, and how steps are joined.

use crate::joined_ranking::JoinedRanking;
use crate::ranking::{GROUPS, Leader, Ranking};
use crate::traffic::{LOSING, LosingFlow};
use model::{Counters, PacketCounts, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The number of reasons that are kept of a step.
pub(crate) const REASONS: usize = 4;

/// The number of reasons for which packets are not measured, or lost, that a step has; further ones are added up.
const MOST_COUNTERS: usize = 256;
/// The counter of all further reasons.
const FURTHER: &str = "further_names";

/// The sums of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
    /// The flows of the window that has most, and those of all windows: a flow of several windows is in each.
    pub(crate) flows: [u64; 2],
    /// The account of all frames, without remarks.
    pub(crate) frames: PacketCounts,
    /// The frames lost before they were read; `None` if the source cannot count them.
    pub(crate) loss: Option<Counters>,
    pub(crate) tcp_bytes: u64,
    /// The bytes of TCP that were lost, sent again or missed; `None` where losses are not tracked.
    pub(crate) tcp_lost: Option<u64>,
    /// The time that was watched, nanoseconds.
    pub(crate) watched_ns: u64,
    /// True if counts stand for more than was counted.
    pub(crate) is_estimate: bool,
}

impl Totals {
    /// Adds the sums of another time.
    pub(crate) fn add(&mut self, more: &Self) {
        self.flows = [self.flows[0].max(more.flows[0]), self.flows[1].saturating_add(more.flows[1])];
        self.watched_ns = self.watched_ns.saturating_add(more.watched_ns);
        self.add_counts(more);
    }

    /// Adds the sums of another node at the same time.
    pub(crate) fn add_node(&mut self, more: &Self) {
        self.add_part(more, None, more);
    }

    /// Adds a part of what another node has at the same time. `before` and `after`: all that the node had without it, and has with it.
    pub(crate) fn add_part(&mut self, part: &Self, before: Option<&Self>, after: &Self) {
        for at in [0, 1] {
            let grown = after.flows[at].saturating_sub(before.map_or(0, |before| before.flows[at]));
            self.flows[at] = self.flows[at].saturating_add(grown);
        }
        self.watched_ns = self.watched_ns.max(after.watched_ns);
        self.add_counts(part);
    }

    fn add_counts(&mut self, more: &Self) {
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.packets = self.packets.saturating_add(more.packets);
        self.frames.add(&more.frames);
        self.loss = match (self.loss.take(), &more.loss) {
            (Some(mut own), Some(more)) => {
                own.add(more);
                Some(own)
            }
            _ => None,
        };
        self.tcp_bytes = self.tcp_bytes.saturating_add(more.tcp_bytes);
        self.tcp_lost = self.tcp_lost.zip(more.tcp_lost).map(|(own, more)| own.saturating_add(more));
        self.is_estimate |= more.is_estimate;
    }

    /// Adds counters of too many names up: names come from a probe.
    pub(crate) fn bound_names(&mut self) {
        [&mut self.frames.not_measured].into_iter().chain(&mut self.loss).for_each(bound);
    }

    /// Returns the packets that were lost before they were read.
    pub(crate) fn lost(&self) -> Option<u64> {
        self.loss.as_ref().map(Counters::total)
    }
}

/// Adds counters of too many names up in one, so that their sum stays.
fn bound(counters: &mut Counters) {
    if counters.0.len() > MOST_COUNTERS {
        let further: u64 = counters
            .0
            .split_off(MOST_COUNTERS - 1)
            .iter()
            .fold(0, |sum: u64, (_, count)| sum.saturating_add(*count));
        counters.add(&[(FURTHER, further)].into_iter().collect());
    }
}

/// A step of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) start_ns: u64,
    pub(crate) length_ns: u64,
    pub(crate) totals: Totals,
    /// The rankings, in the order of their kinds.
    pub(crate) rankings: [Ranking; 5],
    /// The flows that lost most; messages do not have them.
    #[serde(skip)]
    pub(crate) losing: Vec<LosingFlow>,
    /// The reasons why its sums lack something.
    pub(crate) reasons: Vec<String>,
}

impl Step {
    pub(crate) fn span(&self) -> Span {
        Span { start_ns: self.start_ns, end_ns: self.start_ns.saturating_add(self.length_ns) }
    }

    /// Takes note of a reason why its sums lack something.
    pub(crate) fn lack(&mut self, reason: &str) {
        if self.reasons.len() < REASONS && !self.reasons.iter().any(|own| own == reason) {
            self.reasons.push(reason.to_owned());
        }
    }

    /// Joins a later step, which becomes a part of this one.
    pub(crate) fn join(&mut self, more: &Self) {
        let end_ns = self.span().end_ns.max(more.span().end_ns);
        self.start_ns = self.start_ns.min(more.start_ns);
        self.length_ns = end_ns - self.start_ns;
        self.totals.add(&more.totals);
        for (own, more) in self.rankings.iter_mut().zip(&more.rankings) {
            *own = JoinedRanking::of_all([&*own, more], GROUPS);
        }
        let mut losing: BTreeMap<_, LosingFlow> = BTreeMap::new();
        for flow in self.losing.drain(..).chain(more.losing.iter().copied()) {
            let own = losing.entry(flow.key).or_insert(LosingFlow { lost: 0, bytes: 0, ..flow });
            (own.lost, own.bytes) = (own.lost + flow.lost, own.bytes + flow.bytes);
        }
        self.losing = losing.into_values().collect();
        self.losing.sort_unstable_by_key(|flow| (std::cmp::Reverse(flow.lost), flow.key));
        self.losing.truncate(LOSING);
        self.losing.shrink_to_fit();
        more.reasons.iter().for_each(|reason| self.lack(reason));
    }

    /// Returns the memory that the step takes, bytes.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>()
            + self.rankings.iter().map(Ranking::memory).sum::<usize>()
            + self.losing.capacity() * size_of::<LosingFlow>()
            + self.reasons.iter().map(String::capacity).sum::<usize>()
    }

    /// Returns the memory that a step takes at most, bytes; reasons aside, which are few and short.
    pub(crate) fn most_memory() -> usize {
        size_of::<Self>() + 5 * GROUPS * size_of::<Leader>() + LOSING * size_of::<LosingFlow>()
    }
}
