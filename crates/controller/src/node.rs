//! The known state of a node.

use crate::clock::NodeActivity;
use crate::health::{Health, REPEATED, UNASKED};
use crate::lines::NodeLogBudget;
use crate::received::ReceivedPackets;
use crate::saved::Unsettled;
use model::{Answer, Span};
use protocol::{TaskList, WindowResult};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The most answers that are kept for a window later than the one with which they came. Further ones count as `unasked`: only a faulty
/// probe sends more.
const MOST_LATER: usize = 100_000;
/// The most values that these have.
const MOST_LATER_VALUES: usize = 4_000_000;

/// The most results of one window that are added to its first: those of starts of the node within the window.
const MOST_FURTHER: usize = 16;

/// A node's tasks, and the answers it has sent.
#[derive(Debug, Default)]
pub(crate) struct ControlledNode {
    /// The begins of windows that a replay entered or is about to enter and has not answered.
    open: BTreeSet<u64>,
    /// Results that are not settled, by the begin of their windows.
    results: BTreeMap<u64, WindowResult>,
    /// The number of results that were added to each of `results`, where any were.
    further: BTreeMap<u64, usize>,
    /// Windows that a live node watched and in which nothing was received, where it did not answer each.
    empty: VecDeque<Span>,
    /// The begin of the window that the node waits to enter.
    pub(crate) waits_ns: Option<u64>,
    /// The begin of the node's first window.
    begun_ns: Option<u64>,
    /// The end of the node's last window that is settled.
    pub(crate) settled_ns: Option<u64>,
    /// The time up to which a live node is known to have answered.
    answered_ns: Option<u64>,
    /// Answers that came with a window that ends before theirs, until they are settled: those of longer windows before a time
    /// without packets, and of windows that the end cut.
    later: Vec<Answer>,
    /// The times at which the node last sent what could be taken.
    pub(crate) progress: NodeActivity,
    /// The last complaint about the node's windows.
    pub(crate) wrong: Option<String>,
    /// The last complaint about the node's site.
    pub(crate) wrong_site: Option<String>,
    /// The last complaint about what the node tells of its traffic.
    pub(crate) wrong_traffic: Option<String>,
    /// The limit of lines that are said of the node.
    pub(crate) lines: NodeLogBudget,
    /// The last list that was sent.
    pub(crate) tasks: Option<TaskList>,
    /// The version of the inputs (`Listed`) for which that list was built.
    pub(crate) listed: Option<u64>,
    /// The packets of the node's last windows that are settled.
    pub(crate) received: ReceivedPackets,
    /// The ends of the node's windows that came late and are judged.
    pub(crate) late: BTreeSet<u64>,
    /// The health of the node, as it says it and as its windows add up to it.
    pub(crate) health: Health,
}

impl ControlledNode {
    /// Notes that the node is about to enter the window that begins then.
    pub(crate) fn reach(&mut self, at_ns: u64) {
        self.open.insert(at_ns);
        self.waits_ns = Some(at_ns);
        self.begun_ns.get_or_insert(at_ns);
    }

    /// Notes that the node says something again, although it had ended.
    pub(crate) fn go_on(&mut self) {
        self.health.has_ended = false;
    }

    /// Takes the answer of a window, of a time that is not settled. A second result of a window, of another start of the node, is added to the
    /// first. Returns whether it is one.
    pub(crate) fn answer(&mut self, mut result: WindowResult) -> bool {
        let Span { start_ns, end_ns } = result.window;
        self.go_on();
        self.open.remove(&start_ns);
        self.begun_ns.get_or_insert(start_ns);
        self.answered_ns = self.answered_ns.max(Some(end_ns));
        let is_later = |answer: &mut Answer| answer.window.is_some_and(|window| window.end_ns > end_ns);
        let later = result.answers.extract_if(.., is_later).collect();
        self.keep_for_later(later);
        if result.empty.is_some() {
            if !self.was_empty(result.window) {
                self.empty.push_back(result.window);
            }
            self.keep_for_later(result.answers);
            return false;
        }
        match self.results.entry(start_ns) {
            Entry::Vacant(place) => {
                place.insert(result);
                false
            }
            Entry::Occupied(mut first) => {
                let further = self.further.entry(start_ns).or_default();
                if *further == MOST_FURTHER {
                    self.health.count_rejected(REPEATED, 1);
                    return true;
                }
                *further += 1;
                let second = result.answers.into_iter().map(|answer| Answer { revision: 1, ..answer });
                first.get_mut().answers.extend(second);
                true
            }
        }
    }

    fn keep_for_later(&mut self, mut answers: Vec<Answer>) {
        if answers.is_empty() {
            return;
        }
        let values = |answer: &Answer| answer.rows.len() * answer.columns.len();
        let mut left = MOST_LATER_VALUES.saturating_sub(self.later.iter().map(values).sum());
        let fits = answers.iter().take_while(|answer| {
            let rest = left.checked_sub(values(answer));
            left = rest.unwrap_or(0);
            rest.is_some()
        });
        let room = fits.count().min(MOST_LATER.saturating_sub(self.later.len()));
        let surplus = answers.split_off(room);
        self.health.count_rejected(UNASKED, surplus.len());
        self.later.extend(answers);
    }

    /// Returns the node's results that are not settled.
    pub(crate) fn results(&self) -> impl Iterator<Item = &WindowResult> {
        self.results.values()
    }

    /// Returns what else the node has answered and is not settled.
    pub(crate) fn unsettled(&self) -> Unsettled {
        Unsettled { empty: self.empty.iter().copied().collect(), later: self.later.clone() }
    }

    /// Takes what the node had answered before the controller was started again.
    pub(crate) fn restore(&mut self, unsettled: Unsettled) {
        let Unsettled { empty, later } = unsettled;
        for window in empty {
            self.begun_ns.get_or_insert(window.start_ns);
            self.answered_ns = self.answered_ns.max(Some(window.end_ns));
            self.empty.push_back(window);
        }
        self.keep_for_later(later);
    }

    /// Notes that nothing more comes of the node, unless it begins anew.
    pub(crate) fn end(&mut self, cut: Vec<Answer>) {
        self.health.has_ended = true;
        self.keep_for_later(cut);
        self.waits_ns = None;
        self.open.clear();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.health.has_ended
    }

    /// Returns the time up to which all is known of a node that replays: it says which windows it enters. `None` if nothing is.
    pub(crate) fn replayed_until(&self) -> Option<u64> {
        if self.has_ended() { Some(u64::MAX) } else { self.open.first().copied() }
    }

    /// Returns the time up to which a live node has answered, or has nothing more to answer.
    pub(crate) fn answered_until(&self) -> Option<u64> {
        if self.has_ended() { Some(u64::MAX) } else { self.answered_ns }
    }

    /// Returns the begin of the node's first window.
    pub(crate) fn begun_ns(&self) -> Option<u64> {
        self.begun_ns
    }

    /// The begin of the next window that it answered.
    pub(crate) fn next_result_ns(&self) -> Option<u64> {
        self.results.keys().next().copied()
    }

    /// The end of the last window of which anything is known.
    pub(crate) fn last_end_ns(&self) -> u64 {
        self.later_ends().chain([self.last_answered_ns()]).max().unwrap_or(0)
    }

    /// The end of the last window that it answered.
    pub(crate) fn last_answered_ns(&self) -> u64 {
        let of_results = self.results.values().map(|result| result.window.end_ns).max();
        let of_empty = self.empty.back().map(|window| window.end_ns);
        of_results.into_iter().chain(of_empty).max().unwrap_or(0)
    }

    /// Takes the result of the window that begins then, if there is one.
    pub(crate) fn take_result(&mut self, start_ns: u64) -> Option<WindowResult> {
        self.further.remove(&start_ns);
        self.results.remove(&start_ns)
    }

    /// The ends of the windows of [`ControlledNode::take_later`].
    pub(crate) fn later_ends(&self) -> impl Iterator<Item = u64> {
        self.later.iter().filter_map(|answer| answer.window).map(|window| window.end_ns)
    }

    /// Takes the answers of windows that end then and came with an earlier one.
    pub(crate) fn take_later(&mut self, end_ns: u64) -> Vec<Answer> {
        let ends = |answer: &mut Answer| answer.window.is_some_and(|window| window.end_ns == end_ns);
        self.later.extract_if(.., ends).collect()
    }

    /// Returns true if a node that replays was watched for the whole span and had no packet. Its windows that end by the end of the span must be
    /// settled.
    pub(crate) fn had_no_packets(&self, window: Span) -> bool {
        let has_begun = self.begun_ns.is_some_and(|begun| begun <= window.start_ns);
        let is_over = self.has_ended() && self.results.is_empty();
        let answered_none = self.settled_ns.is_none_or(|settled| settled <= window.start_ns);
        has_begun && !is_over && answered_none
    }

    /// Returns true if a live node said that it received nothing in the whole span: what it does not answer is missing.
    pub(crate) fn was_empty(&self, window: Span) -> bool {
        let covers = |empty: &Span| empty.start_ns <= window.start_ns && window.end_ns <= empty.end_ns;
        self.empty.iter().any(covers)
    }

    /// Adds a window of a settled time in which the node received nothing.
    pub(crate) fn add_empty(&mut self, window: Span) {
        let at = self.empty.partition_point(|empty| empty.end_ns < window.end_ns);
        self.empty.insert(at, window);
    }

    /// Returns true if the node may have kept something of a window: it answered the last part of it.
    pub(crate) fn may_have(&self, window: Span) -> bool {
        self.settled_ns == Some(window.end_ns)
    }

    /// Drops what is not needed once all windows that begin before this time are settled.
    pub(crate) fn forget_before(&mut self, start_ns: u64) {
        while self.empty.front().is_some_and(|empty| empty.end_ns < start_ns) {
            self.empty.pop_front();
        }
        self.later.retain(|answer| answer.window.is_some_and(|window| window.end_ns > start_ns));
    }
}
