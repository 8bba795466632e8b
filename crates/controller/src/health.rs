//! The health of a node: what it was last heard to say, and what its windows add up to.

use crate::clock_offset::ClockOffset;
use model::view::WindowTotals;
use model::{Account, AnswerStatus, Counters, MissingReason, PacketCounts, Span};
use protocol::{Heartbeat, ListId, WindowResult};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

/// Counters of one kind that are kept of a node under their own names; a probe has a few dozen.
const MOST_COUNTERS: usize = 256;
/// The counter of all further names.
const FURTHER: &str = "further_names";

/// Results of windows of another length than the controller's, or of the future.
pub(crate) const WRONG_WINDOW: &str = "wrong_window";
/// Windows that come later than late windows are judged.
pub(crate) const TOO_LATE: &str = "too_late";
/// Windows that never came: the probe did not run, or was killed before it had kept them.
pub(crate) const NOT_SENT: &str = "not_sent";
/// Windows that never came, among them some that the probe dropped because its spool was full.
pub(crate) const SPOOL_FULL: &str = "spool_full";
/// Answers of no query that the node has, of no window of its result, or to no question; captures that were not asked for.
pub(crate) const UNASKED: &str = "unasked";
/// Sites of heartbeats whose coordinates are those of no place, or whose name is no text of a line.
pub(crate) const WRONG_SITE: &str = "wrong_site";
/// Steps of traffic, or lists of what is unusual, that no node sends.
pub(crate) const WRONG_STEP: &str = "wrong_step";
/// Steps of traffic that are older than those that are kept.
pub(crate) const OLD_STEP: &str = "old_step";
/// Results of a window of which there are many already: two probes have one name, or something pretends to be one.
pub(crate) const REPEATED: &str = "repeated";

/// Sources that are kept of a node, and characters of their names.
const MOST_SOURCES: usize = 64;
const LONGEST_TEXT: usize = 200;
/// Characters of the reasons why a list is not carried out.
const LONGEST_REASON: usize = 2_000;

/// Gaps that are kept of a node, the newest.
const MOST_GAPS: usize = 100;

/// A time in which no condition judges a node's windows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthGap {
    /// The time.
    pub window: Span,
    /// The reason for the gap.
    pub reason: Cow<'static, str>,
}

impl HealthGap {
    /// The part of a window that lies in it, with the reason as answers have it.
    pub(crate) fn missing_in(&self, window: Span) -> Option<model::Missing> {
        let span = Span {
            start_ns: self.window.start_ns.max(window.start_ns),
            end_ns: self.window.end_ns.min(window.end_ns),
        };
        let reason = MissingReason::ALL.into_iter().find(|reason| reason.name() == self.reason)?;
        (span.start_ns < span.end_ns).then_some(model::Missing { span, reason })
    }
}

/// Windows of a node that never came, for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingTally {
    /// The number of windows.
    pub windows: u64,
    /// The time that they cover, nanoseconds.
    pub ns: u64,
}

/// The gaps and missing windows of a node. The archive keeps them when the controller ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lacks {
    /// The newest times in which none of its windows is judged, the oldest first.
    pub gaps: VecDeque<HealthGap>,
    /// Windows that never came, by reason.
    pub missing: BTreeMap<String, MissingTally>,
}

/// The time that the windows of a node cover. The archive keeps it when the controller ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Came {
    /// The begin of its first window.
    pub(crate) since_ns: u64,
    /// The end of its latest window.
    pub(crate) until_ns: u64,
    /// Results that it dropped, as its last result says.
    pub(crate) dropped: u64,
}

/// The health of a node: what is known of it apart from its answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    /// The time at which a message of the node came last, nanoseconds since the epoch, by the controller's clock.
    pub heard_ns: Option<u64>,
    /// The last window that the node answered.
    pub window: Option<Span>,
    /// The account of that window.
    pub last: Option<Account>,
    /// The frames of all windows that came.
    pub packets: PacketCounts,
    /// The loss in these windows; `None` where the source cannot count it.
    pub loss: Option<Counters>,
    /// The coverage of the last window.
    pub coverage: Option<f64>,
    /// The last heartbeat.
    pub heartbeat: Option<Heartbeat>,
    /// The reason why the node does not carry out its newest list.
    pub refused: Option<String>,
    /// True if the node said that nothing follows, and has said nothing since.
    pub has_ended: bool,
    /// The last list that was sent to the node.
    pub wanted: Option<ListId>,
    /// The windows that the node answered.
    pub windows: WindowTotals,
    /// The messages of the node that came and are not taken, by reason: results (`wrong_window`, `too_late`, `repeated`), answers
    /// (`unasked`), sites of heartbeats (`wrong_site`), and what is told of traffic (`wrong_step`, `old_step`).
    pub not_taken: Counters,
    /// The gaps and missing windows of the node.
    pub lacks: Lacks,
    /// The number of changes of `lacks`.
    pub lacks_version: u64,
    /// The offset of the node's clock.
    pub(crate) clock: ClockOffset,
    /// The time that the node's windows cover; `None` before the first window.
    pub(crate) came: Option<Came>,
}

impl Health {
    /// A node is down that was silent for so long, nanoseconds: three heartbeats.
    pub const DOWN_NS: u64 = 6_000_000_000;

    /// Takes a heartbeat, as much of it as a probe says. Returns what is wrong with its site, which is left out then.
    pub(crate) fn take(&mut self, mut heartbeat: Heartbeat) -> Option<String> {
        heartbeat.sources.truncate(MOST_SOURCES);
        let faults = [&mut heartbeat.spool.fault]
            .into_iter()
            .chain(heartbeat.store.iter_mut().map(|store| &mut store.fault));
        let texts = heartbeat.sources.iter_mut().chain([&mut heartbeat.version]).chain(faults.flatten());
        texts.for_each(|text| *text = text.chars().take(LONGEST_TEXT).collect());
        heartbeat.refused.iter_mut().for_each(|refused| refused.reason = short(&refused.reason));
        let wrong_site = heartbeat.site.as_ref().and_then(|site| site.check().err());
        if wrong_site.is_some() {
            heartbeat.site = None;
            self.count_rejected(WRONG_SITE, 1);
        }
        self.heartbeat = Some(heartbeat);
        wrong_site
    }

    /// Returns whether a heartbeat is from a start of the probe that has said that nothing follows. Heartbeats have a channel of their own and
    /// may arrive after messages that were sent later.
    pub(crate) fn is_of_ended_start(&self, heartbeat: &Heartbeat) -> bool {
        let last = self.heartbeat.as_ref().map_or(0, |last| last.started_ns);
        self.has_ended && last != 0 && last == heartbeat.started_ns
    }

    /// The smallest offset of its clock from the controller's that the heartbeats allow, in nanoseconds: positive if it is ahead, negative if it is
    /// behind. `None` while too few heartbeats are known to estimate it.
    pub fn clock_ahead_ns(&self) -> Option<i64> {
        self.clock.ns()
    }

    /// Names the windows before this one that did not come: a probe sends its windows in order, each.
    /// `window_ns`: their length.
    pub(crate) fn note_missing(&mut self, result: &WindowResult, window_ns: u64) {
        let Span { start_ns, end_ns } = result.window;
        let Some(mut came) = self.came else {
            self.came = Some(Came { since_ns: start_ns, until_ns: end_ns, dropped: 0 });
            return;
        };
        if came.until_ns < start_ns {
            let reason = if self.newly_dropped(result) > 0 { SPOOL_FULL } else { NOT_SENT };
            let missing = self.lacks.missing.entry(reason.to_owned()).or_default();
            let ns = start_ns - came.until_ns;
            missing.ns = missing.ns.saturating_add(ns);
            missing.windows = missing.windows.saturating_add(ns.div_ceil(window_ns.max(1)));
            let window = Span { start_ns: came.until_ns, end_ns: start_ns };
            self.add_gap(HealthGap { window, reason: reason.into() });
        }
        came.since_ns = came.since_ns.min(start_ns);
        came.until_ns = came.until_ns.max(end_ns);
        self.came = Some(came);
    }

    /// Returns the part that its windows cover of the time from its first window to the last one received. The time after that one is not
    /// counted. `None` before the first window.
    pub fn watched(&self) -> Option<f64> {
        let Came { since_ns, until_ns, .. } = self.came?;
        let all = until_ns.checked_sub(since_ns).filter(|all| *all != 0)?;
        let missing = self.lacks.missing.values().fold(0, |sum: u64, missing| sum.saturating_add(missing.ns));
        Some(all.saturating_sub(missing) as f64 / all as f64)
    }

    /// Results that were dropped since the last one that came. A probe that has started anew, without a file, has dropped nothing yet.
    fn newly_dropped(&self, result: &WindowResult) -> u64 {
        let before = self.came.map_or(0, |came| came.dropped);
        result.lost.checked_sub(before).unwrap_or(result.lost)
    }

    /// Takes a window that came.
    pub fn count(&mut self, result: &WindowResult) {
        self.window = Some(result.window);
        let lost = self.newly_dropped(result);
        self.windows.add(&WindowTotals { lost, ..WindowTotals::default() });
        if let Some(came) = &mut self.came {
            came.dropped = result.lost;
        }
        let Some(totals) = result.answers.iter().find(|answer| answer.query == "totals") else { return };
        let number = result.empty.unwrap_or(1);
        self.windows.add(&match totals.status {
            AnswerStatus::Complete => WindowTotals { complete: number, ..WindowTotals::default() },
            AnswerStatus::Partial | AnswerStatus::Cut => {
                WindowTotals { partial: number, ..WindowTotals::default() }
            }
        });
        self.coverage = totals.coverage;
        let Some(account) = &totals.account else { return };
        self.packets.add(&account.packets);
        match (&mut self.loss, &account.loss) {
            (Some(sum), Some(loss)) => sum.add(loss),
            (sum, loss) => sum.clone_from(loss),
        }
        let named = [&mut self.packets.not_measured, &mut self.packets.remarks];
        named.into_iter().chain(&mut self.loss).for_each(bound);
        self.last = Some(account.clone());
    }

    /// Adds a gap, to the last one if it goes on.
    pub(crate) fn add_gap(&mut self, gap: HealthGap) {
        self.lacks_version += 1;
        let gaps = &mut self.lacks.gaps;
        match gaps.back_mut() {
            Some(last) if last.reason == gap.reason && last.window.end_ns == gap.window.start_ns => {
                last.window.end_ns = gap.window.end_ns;
            }
            _ => gaps.push_back(gap),
        }
        if gaps.len() > MOST_GAPS {
            gaps.pop_front();
        }
    }

    /// Counts what is not taken.
    pub(crate) fn count_rejected(&mut self, reason: &str, number: usize) {
        self.not_taken.add(&[(reason, number as u64)].into_iter().collect());
    }
}

/// Returns what a probe says of a list, as much of it as is kept.
pub(crate) fn short(reason: &str) -> String {
    reason.chars().take(LONGEST_REASON).collect()
}

/// Adds counters of too many names up in one, so that their sum stays.
fn bound(counters: &mut Counters) {
    if counters.0.len() > MOST_COUNTERS {
        let further: Counters = counters.0.split_off(MOST_COUNTERS - 1).into_iter().collect();
        counters.add(&[(FURTHER, further.total())].into_iter().collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Answer;

    #[test]
    fn a_gap_lacks_the_part_of_a_window_that_lies_in_it() {
        let span = |start_ns, end_ns| Span { start_ns, end_ns };
        for (name, reason) in [
            (NOT_SENT, MissingReason::NotSent),
            (SPOOL_FULL, MissingReason::SpoolFull),
            (TOO_LATE, MissingReason::TooLate),
        ] {
            let gap = HealthGap { window: span(10, 20), reason: name.into() };
            let missing = |start_ns, end_ns| gap.missing_in(span(start_ns, end_ns));
            let part = |start_ns, end_ns| Some(model::Missing { span: span(start_ns, end_ns), reason });
            assert_eq!([missing(0, 10), missing(20, 30)], [None, None], "{name}");
            assert_eq!([missing(0, 12), missing(15, 30)], [part(10, 12), part(15, 20)], "{name}");
            assert_eq!([missing(0, 30), missing(12, 13)], [part(10, 20), part(12, 13)], "{name}");
        }
    }

    #[test]
    fn whatever_names_come_the_sum_stays() {
        let window = Span { start_ns: 0, end_ns: 1 };
        let mut health = Health::default();
        for number in 0..2_000_u64 {
            let named: Counters = [(format!("reason{number}"), 3)].into_iter().collect();
            let packets =
                PacketCounts { received: 5, measured: 2, not_measured: named, ..Default::default() };
            let totals = Answer {
                account: Some(Account { packets, loss: None }),
                ..Answer::new("totals", Some(window), Vec::new(), Vec::new())
            };
            health.count(&WindowResult::new(window, vec![totals]));
        }
        let packets = &health.packets;
        assert_eq!(
            (packets.received, packets.measured, packets.not_measured.total()),
            (10_000, 4_000, 6_000)
        );
        assert!(packets.not_measured.0.len() <= MOST_COUNTERS);
        assert_eq!(packets.not_measured.get("reason7"), 3);
    }
}
