//! The times of a question that were watched and are stored, and what is missing.

use crate::question::Period;
use model::{Answer, Missing, MissingReason, Span, format_time};
use std::collections::{BTreeMap, BTreeSet};
use store::{MeasurementKind, Unstored, WatchedTime};

/// A time that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StoredTime {
    time: Period,
    by: MeasurementKind,
    /// The run that stored it.
    run: u64,
    /// The reason why what follows is not stored.
    after: Unstored,
}

/// The known times of one node, for one question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NodeTimes {
    /// The time that is asked about.
    asked: Period,
    /// The times of which nothing is known, the oldest first.
    missing: Vec<Missing>,
    /// The times from one recording to the next: nothing was watched there, and nothing is missing.
    between: Vec<Period>,
    /// Times that two recordings have stored. The packets of both count.
    twice: Vec<Period>,
    /// The times that are no part of the question: those outside of recordings, and those that are not stored yet.
    outside: Vec<Period>,
    /// True if it was not noted for all of the time what was watched.
    is_unknown: bool,
    /// The time at which the first measurement began, if the question has no begin and ends before.
    not_begun: Option<u64>,
    /// The end of a question without an end, if a run was killed there: it may have measured more.
    killed_at: Option<u64>,
    /// The times up to which recordings are stored whose runs were killed, 0 where nothing of one is: they may have measured any time behind it.
    cut_off: BTreeSet<u64>,
}

impl NodeTimes {
    /// Creates the times of a node. `entries`: what a manifest tells of the node. `kept`: what the levels that are read have kept; `asked`:
    /// the question's time, whose begin is that of what is kept where the question does not say it. `writer`: a process writes the store now,
    /// whose runs have this number or a greater one.
    pub(super) fn new(
        entries: &[&WatchedTime],
        asked: Option<Period>,
        kept: &[Period],
        writer: Option<u64>,
    ) -> Self {
        let cut_off = cut_off(entries, writer);
        let stored = stored(entries, writer);
        let first = stored.first().map(|first| first.time.from_ns);
        let end = stored.iter().map(|one| one.time.to_ns).max();
        let (Some(first), Some(end)) = (first, end) else {
            return Self { is_unknown: cut_off.is_empty(), cut_off, ..Self::default() };
        };
        let kept_from = kept.iter().map(|kept| kept.from_ns).min().unwrap_or(first);
        let from_ns = asked.map(|asked| asked.from_ns).filter(|from| *from != 0);
        let to_ns = asked.map(|asked| asked.to_ns).filter(|to| *to != u64::MAX);
        // What retention has dropped is no part of a question without a begin; what was lost before the first that was stored is.
        let has_dropped =
            stored.iter().find(|one| !one.time.is_empty()).is_some_and(|one| one.time.from_ns < kept_from);
        let from = from_ns.unwrap_or(if has_dropped { kept_from } else { first });
        let asked = Period { from_ns: from, to_ns: to_ns.unwrap_or(end).max(from) };
        let is_live = stored.first().is_some_and(|first| first.by == MeasurementKind::Live);
        let not_begun = (is_live && to_ns.is_some_and(|to| to <= first)).then_some(first);
        let mut times = Self { asked, cut_off, not_begun, ..Self::default() };
        let mut until = asked.from_ns;
        let mut last: Option<StoredTime> = None;
        for next in &stored {
            let is_again =
                last.is_some_and(|last| last.run != next.run && next.by == MeasurementKind::Recorded);
            let again = Period { from_ns: next.time.from_ns, to_ns: until.min(next.time.to_ns) };
            if is_again && !again.both(asked).is_empty() {
                times.twice.push(again.both(asked));
            }
            if until < next.time.from_ns {
                times.gap(Period { from_ns: until, to_ns: next.time.from_ns }, last, Some(next.by), writer);
            }
            // Of two that end at once, the later one knows why.
            if last.is_none_or(|last| next.time.to_ns >= last.time.to_ns) {
                last = Some(*next);
            }
            until = until.max(next.time.to_ns);
            let here = next.time.both(asked);
            times.is_unknown |= next.by == MeasurementKind::Unknown && !here.is_empty();
            // A question without a begin begins with what is kept, unless nothing of its time is.
            if (from_ns.is_some() || kept.is_empty()) && next.by != MeasurementKind::Unknown {
                times.mark_dropped(here, kept);
            }
        }
        times.gap(Period { from_ns: until, to_ns: asked.to_ns }, last, None, writer);
        let is_killed = |last: &StoredTime| {
            let goes_on = writer.is_some_and(|first| last.run >= first);
            last.after == Unstored::Killed && last.by != MeasurementKind::Unknown && !goes_on
        };
        times.killed_at = last.filter(|last| to_ns.is_none() && is_killed(last)).map(|_| asked.to_ns);
        times.missing.sort_by_key(|missing| missing.span.start_ns);
        let mut missing = Vec::new();
        times.missing.drain(..).for_each(|more| Missing::push(&mut missing, more));
        times.missing = missing;
        times
    }

    /// Adds a time of which nothing is stored, which `last` is before and `next` behind.
    fn gap(
        &mut self,
        gap: Period,
        last: Option<StoredTime>,
        next: Option<MeasurementKind>,
        writer: Option<u64>,
    ) {
        let gap = gap.both(self.asked);
        if gap.is_empty() {
            return;
        }
        let reason = match last {
            None if next == Some(MeasurementKind::Live) => MissingReason::NotBegun,
            // What was before a recording.
            None => return self.outside.push(gap),
            Some(StoredTime { by: MeasurementKind::Unknown, .. }) => {
                self.is_unknown = true;
                return self.outside.push(gap);
            }
            // What is not stored yet.
            Some(StoredTime { after: Unstored::Killed, run, .. })
                if next.is_none() && writer.is_some_and(|first| run >= first) =>
            {
                return self.outside.push(gap);
            }
            Some(StoredTime { by: MeasurementKind::Recorded, after: Unstored::Stopped, .. }) => {
                self.between.extend(next.map(|_| gap));
                return self.outside.push(gap);
            }
            Some(StoredTime { after, .. }) => match after {
                Unstored::Stopped | Unstored::Unread => MissingReason::Stopped,
                Unstored::Killed => MissingReason::Killed,
                Unstored::DiskFull => MissingReason::DiskFull,
                Unstored::WriteFailed => MissingReason::WriteFailed,
            },
        };
        self.missing.push(missing(gap, reason));
    }

    /// A time was stored: what of it no level that is read has is kept no more.
    fn mark_dropped(&mut self, time: Period, kept: &[Period]) {
        let mut kept: Vec<Period> = kept.iter().map(|kept| kept.both(time)).collect();
        kept.retain(|kept| !kept.is_empty());
        kept.sort_by_key(|kept| kept.from_ns);
        let mut from_ns = time.from_ns;
        let end = Period { from_ns: time.to_ns, to_ns: time.to_ns };
        for kept in kept.into_iter().chain([end]) {
            if from_ns < kept.from_ns {
                let lost = Period { from_ns, to_ns: kept.from_ns };
                self.missing.push(missing(lost, MissingReason::Retention));
            }
            from_ns = from_ns.max(kept.to_ns);
        }
    }

    /// Returns whether the store has no note of what was watched for some of the time. Rows that it keeps no more are not told as missing then.
    pub(super) fn is_unknown(&self) -> bool {
        self.is_unknown
    }

    /// Returns whether a run was killed: a time of unknown length may be missing behind what it stored.
    pub(super) fn lacks_a_run(&self) -> bool {
        self.killed_at.is_some() || !self.cut_off.is_empty()
    }

    /// The file that has a time is damaged.
    pub(super) fn damage(&mut self, time: Span) {
        let known = self.missing_in(time);
        let mut from_ns = time.start_ns;
        let end = Span { start_ns: time.end_ns, end_ns: time.end_ns };
        for known in known.iter().map(|known| known.span).chain([end]) {
            if from_ns < known.start_ns {
                let damaged = Period { from_ns, to_ns: known.start_ns };
                self.missing.push(missing(damaged, MissingReason::Damaged));
            }
            from_ns = from_ns.max(known.end_ns);
        }
        self.missing.sort_by_key(|missing| missing.span.start_ns);
    }

    /// Returns what is missing in a time.
    pub(super) fn missing_in(&self, time: Span) -> Vec<Missing> {
        let time = period(time);
        let parts = self.missing.iter().map(|one| missing(period(one.span).both(time), one.reason));
        parts.filter(|part| part.span.length_ns() != 0).collect()
    }

    /// Returns the parts of a time that were not watched, in order: those that are missing, and those outside of recordings.
    pub(super) fn unwatched_in(&self, time: Span) -> Vec<Span> {
        let missing = self.missing_in(time).into_iter().map(|missing| missing.span);
        let outside = self.outside.iter().map(|outside| outside.both(period(time)));
        let outside = outside.filter(|outside| !outside.is_empty());
        let outside = outside.map(|outside| Span { start_ns: outside.from_ns, end_ns: outside.to_ns });
        let mut unwatched: Vec<Span> = missing.chain(outside).collect();
        unwatched.sort_unstable_by_key(|span| span.start_ns);
        unwatched
    }

    /// Returns the watched part of a window without rows; `None` where that is all of it, or several times.
    pub(super) fn watched_of(&self, window: Span) -> Option<Span> {
        window.without(&self.unwatched_in(window)).filter(|watched| *watched != window)
    }

    /// Returns the time that is asked about, as far as it is in a window.
    fn asked_in(&self, window: Option<Span>) -> Span {
        let asked = window.map_or(self.asked, |window| self.asked.both(period(window)));
        Span { start_ns: asked.from_ns, end_ns: asked.to_ns }
    }

    /// Returns the whole time that is asked about.
    pub(super) fn asked(&self) -> Span {
        self.asked_in(None)
    }

    /// Says in an answer what is missing of its time, and how much of that is there.
    pub(super) fn describe(&self, answer: &mut Answer, is_whole: bool) {
        let asked = self.asked_in(answer.window.filter(|_| !is_whole));
        let missing = self.missing_in(asked);
        answer.mark_missing(&missing);
        let time = period(asked);
        let last = self.killed_at.filter(|at| (asked.start_ns..=asked.end_ns).contains(at));
        let cut_off: Vec<u64> =
            self.cut_off.iter().copied().filter(|at| *at == 0 || *at < asked.end_ns).collect();
        for at in last.into_iter().filter(|at| !cut_off.contains(at)).chain(cut_off.iter().copied()) {
            answer.mark_partial(&match at {
                0 => "a run was killed before anything of it was stored, and it may have measured this time: run it again into the store"
                    .to_owned(),
                at => format!("the run was killed: what it measured after {} is not stored", format_time(at)),
            });
        }
        if let Some(at) = self.not_begun {
            answer.mark_partial(&format!("nothing was watched before {}", format_time(at)));
        }
        let within = |one: &&Period| !one.both(time).is_empty();
        for Period { from_ns, to_ns } in self.between.iter().filter(within) {
            let [from, to] = [*from_ns, *to_ns].map(format_time);
            answer.remark(&format!("between two recordings: {from} to {to}"));
        }
        for Period { from_ns, to_ns } in self.twice.iter().filter(within) {
            let [from, to] = [*from_ns, *to_ns].map(format_time);
            answer.remark(&format!("stored by two runs, whose packets both count: {from} to {to}"));
        }
        if !cut_off.is_empty() {
            answer.coverage = None;
        } else if !self.is_unknown {
            // What the source lost of the time that is there was told before.
            let measured = answer.coverage.unwrap_or(1.0);
            answer.coverage = self.coverage(time, &missing).map(|coverage| measured * coverage);
        }
    }

    /// Returns the share of a time that is not missing; `None` of a time that nothing was to watch.
    fn coverage(&self, time: Period, missing: &[Missing]) -> Option<f64> {
        let length = |period: Period| period.to_ns.saturating_sub(period.from_ns);
        let outside: u64 = self.outside.iter().map(|one| length(one.both(time))).sum();
        let asked = length(time).saturating_sub(outside);
        let lacking: u64 = missing.iter().map(|missing| missing.span.length_ns()).sum();
        if time.is_empty() {
            // Nothing is stored of a run that was killed: how much that would be is not known.
            return (self.killed_at.is_none() && self.not_begun.is_none()).then_some(1.0);
        }
        (asked != 0).then(|| 1.0 - (lacking.min(asked) as f64 / asked as f64))
    }
}

fn period(span: Span) -> Period {
    Period { from_ns: span.start_ns, to_ns: span.end_ns }
}

fn missing(time: Period, reason: MissingReason) -> Missing {
    Missing { span: Span { start_ns: time.from_ns, end_ns: time.to_ns }, reason }
}

/// Returns the begins of the runs that were killed. What is `writer`'s goes on.
fn killed_runs<'a>(
    entries: &[&'a WatchedTime],
    writer: Option<u64>,
) -> impl Iterator<Item = &'a WatchedTime> {
    let begins = entries.iter().copied().filter(|entry| entry.is_begin());
    begins.filter(move |begin| writer.is_none_or(|first| begin.run < first))
}

/// Returns the begins of the runs that were killed before anything of them was stored. What is `writer`'s goes on.
pub(super) fn unstored_runs<'a>(
    entries: &[&'a WatchedTime],
    writer: Option<u64>,
) -> impl Iterator<Item = &'a WatchedTime> {
    let times = entries.iter().filter(|entry| !entry.is_begin());
    let with_times: BTreeSet<u64> = times.map(|entry| entry.run).collect();
    killed_runs(entries, writer).filter(move |begin| !with_times.contains(&begin.run))
}

/// Returns up to where recordings are stored whose runs were killed, 0 where nothing of one is.
fn cut_off(entries: &[&WatchedTime], writer: Option<u64>) -> BTreeSet<u64> {
    let recordings = killed_runs(entries, writer).filter(|begin| begin.by == Some(MeasurementKind::Recorded));
    let until = |run| entries.iter().filter(|entry| entry.run == run).map(|entry| entry.end_ns).max();
    recordings.filter_map(|begin| until(begin.run)).collect()
}

/// The times that are stored, by their begins: what was watched, without what its run could not write. Of a live run that was killed before
/// anything of it was stored it is the instant of its begin.
fn stored(entries: &[&WatchedTime], writer: Option<u64>) -> Vec<StoredTime> {
    let live = unstored_runs(entries, writer).filter(|begin| begin.by == Some(MeasurementKind::Live));
    let mut stored: Vec<StoredTime> = live
        .map(|begin| StoredTime {
            time: Period { from_ns: begin.first_ns, to_ns: begin.end_ns },
            by: MeasurementKind::Live,
            run: begin.run,
            after: begin.why,
        })
        .collect();
    let mut lost_of_runs: BTreeMap<u64, Vec<&WatchedTime>> = BTreeMap::new();
    for lost in entries.iter().filter(|lost| lost.by.is_none()) {
        lost_of_runs.entry(lost.run).or_default().push(lost);
    }
    lost_of_runs.values_mut().for_each(|lost| lost.sort_by_key(|lost| lost.first_ns));
    for entry in entries {
        let Some(by) = entry.by else { continue };
        let mut from_ns = entry.first_ns;
        for lost in lost_of_runs.get(&entry.run).into_iter().flatten() {
            if lost.end_ns <= from_ns || lost.first_ns >= entry.end_ns {
                continue;
            }
            // One of no length, where nothing is stored before it, tells why.
            let time = Period { from_ns, to_ns: lost.first_ns.max(from_ns) };
            stored.push(StoredTime { time, by, run: entry.run, after: lost.why });
            from_ns = lost.end_ns;
        }
        if from_ns < entry.end_ns {
            let time = Period { from_ns, to_ns: entry.end_ns };
            stored.push(StoredTime { time, by, run: entry.run, after: entry.why });
        } else if from_ns != entry.first_ns {
            // Nothing is stored between what was lost and the end.
            stored.push(StoredTime {
                time: Period { from_ns: entry.end_ns, to_ns: entry.end_ns },
                by,
                run: entry.run,
                after: entry.why,
            });
        }
    }
    stored.sort_by_key(|one| (one.time.from_ns, one.time.to_ns));
    stored
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::AnswerStatus;

    fn entry(
        run: u64,
        by: Option<MeasurementKind>,
        first_ns: u64,
        end_ns: u64,
        why: Unstored,
    ) -> WatchedTime {
        WatchedTime { number: first_ns, run, node: "n".to_owned(), by, first_ns, end_ns, why }
    }

    fn times(entries: &[WatchedTime], asked: Option<[u64; 2]>, kept_from: u64) -> NodeTimes {
        let asked = asked.map(|[from_ns, to_ns]| Period { from_ns, to_ns });
        let kept = Period { from_ns: kept_from, to_ns: u64::MAX };
        NodeTimes::new(&entries.iter().collect::<Vec<_>>(), asked, &[kept], None)
    }

    fn listed(times: &NodeTimes) -> Vec<(u64, u64, MissingReason)> {
        times.missing.iter().map(|one| (one.span.start_ns, one.span.end_ns, one.reason)).collect()
    }

    fn coverage(times: &NodeTimes) -> (AnswerStatus, Option<f64>) {
        let mut answer = Answer::new("q", None, Vec::new(), Vec::new());
        times.describe(&mut answer, true);
        (answer.status, answer.coverage)
    }

    #[test]
    fn what_no_run_has_is_missing_for_the_reason_of_the_run_before() {
        use MissingReason::{DiskFull, Killed, NotBegun, Stopped};
        let live = Some(MeasurementKind::Live);
        let entries = [
            entry(1, live, 100, 200, Unstored::Stopped),
            entry(1, None, 150, 160, Unstored::DiskFull),
            entry(2, live, 250, 300, Unstored::Killed),
            entry(3, live, 310, 400, Unstored::Stopped),
        ];
        let all = times(&entries, None, 0);
        assert_eq!(listed(&all), [(150, 160, DiskFull), (200, 250, Stopped), (300, 310, Killed)]);
        assert_eq!(coverage(&all), (AnswerStatus::Partial, Some(1.0 - 70.0 / 300.0)));
        assert_eq!(listed(&times(&entries, Some([160, 200]), 0)), []);
        assert_eq!(coverage(&times(&entries, Some([160, 200]), 0)), (AnswerStatus::Complete, Some(1.0)));
        assert_eq!(listed(&times(&entries, Some([50, 155]), 0)), [(50, 100, NotBegun), (150, 155, DiskFull)]);
        assert_eq!(listed(&times(&entries, Some([390, 500]), 0)), [(400, 500, Stopped)]);
    }

    #[test]
    fn a_run_that_stored_nothing_at_its_ends_tells_why() {
        use MissingReason::{DiskFull, Stopped};
        let live = Some(MeasurementKind::Live);
        let entries = [
            entry(1, live, 100, 200, Unstored::Stopped),
            entry(2, live, 300, 400, Unstored::Stopped),
            entry(2, None, 300, 320, Unstored::DiskFull),
            entry(2, None, 380, 400, Unstored::DiskFull),
            entry(3, live, 500, 600, Unstored::Stopped),
        ];
        let expected = [(200, 300, Stopped), (300, 320, DiskFull), (380, 400, DiskFull), (400, 500, Stopped)];
        assert_eq!(listed(&times(&entries, None, 0)), expected);
    }

    #[test]
    fn what_was_lost_before_the_first_and_behind_the_last_is_missing() {
        use MissingReason::DiskFull;
        let entries = [
            entry(1, Some(MeasurementKind::Live), 100, 400, Unstored::Stopped),
            entry(1, None, 100, 150, Unstored::DiskFull),
            entry(1, None, 380, 400, Unstored::DiskFull),
        ];
        let all = times(&entries, None, 150);
        assert_eq!(listed(&all), [(100, 150, DiskFull), (380, 400, DiskFull)]);
        assert_eq!(coverage(&all), (AnswerStatus::Partial, Some(1.0 - 70.0 / 300.0)));
        // Retention has dropped what was stored up to here.
        let kept = times(&entries, None, 300);
        assert_eq!((listed(&kept), kept.asked().start_ns), (vec![(380, 400, DiskFull)], 300));
    }

    #[test]
    fn what_is_kept_no_more_is_missing_where_it_is_asked_for() {
        let entries = [entry(1, Some(MeasurementKind::Live), 100, 400, Unstored::Stopped)];
        assert_eq!(listed(&times(&entries, None, 300)), []);
        assert_eq!(times(&entries, None, 300).asked(), Span { start_ns: 300, end_ns: 400 });
        let lost = [(200, 300, MissingReason::Retention)];
        assert_eq!(listed(&times(&entries, Some([200, 350]), 300)), lost);
    }

    #[test]
    fn a_question_without_a_begin_that_ends_before_what_is_kept_is_not_whole() {
        let entries = [entry(1, Some(MeasurementKind::Live), 100, 400, Unstored::Stopped)];
        let entries: Vec<&WatchedTime> = entries.iter().collect();
        let until =
            |to_ns, kept: &[Period]| NodeTimes::new(&entries, Some(Period { from_ns: 0, to_ns }), kept, None);
        let dropped = until(250, &[]);
        assert_eq!(listed(&dropped), [(100, 250, MissingReason::Retention)]);
        assert_eq!(coverage(&dropped), (AnswerStatus::Partial, Some(0.0)));
        assert_eq!(
            coverage(&until(350, &[Period { from_ns: 300, to_ns: 350 }])),
            (AnswerStatus::Complete, Some(1.0))
        );
        // Nothing had begun.
        assert_eq!(coverage(&until(50, &[])), (AnswerStatus::Partial, None));
    }

    #[test]
    fn the_time_between_two_recordings_is_told_and_not_missing() {
        let recorded = Some(MeasurementKind::Recorded);
        let entries = [
            entry(1, recorded, 100, 200, Unstored::Stopped),
            entry(2, recorded, 300, 400, Unstored::Stopped),
        ];
        let all = times(&entries, Some([50, 500]), 0);
        assert_eq!((listed(&all), all.between.len()), (Vec::new(), 1));
        assert_eq!(coverage(&all), (AnswerStatus::Complete, Some(1.0)));
        // Nothing was to watch the time within, before and behind.
        for time in [[220, 280], [20, 80], [420, 480]] {
            assert_eq!(coverage(&times(&entries, Some(time), 0)), (AnswerStatus::Complete, None));
        }
        let killed =
            [entry(1, recorded, 100, 200, Unstored::Killed), entry(2, recorded, 300, 400, Unstored::Stopped)];
        assert_eq!(listed(&times(&killed, None, 0)), [(200, 300, MissingReason::Killed)]);
        // It was recorded again, as a whole.
        let again =
            [entry(1, recorded, 100, 200, Unstored::Killed), entry(2, recorded, 100, 400, Unstored::Stopped)];
        assert_eq!(listed(&times(&again, None, 0)), []);
    }

    #[test]
    fn what_a_killed_recording_may_have_measured_is_not_there() {
        let [recorded, live] = [MeasurementKind::Recorded, MeasurementKind::Live].map(Some);
        let begin = |run, by, at| entry(run, by, at, at, Unstored::Killed);
        let whole = entry(9, recorded, 100, 400, Unstored::Stopped);
        let told = |entries: &[WatchedTime], asked: Option<[u64; 2]>, writer: Option<u64>| {
            let mut answer = Answer::new("q", None, Vec::new(), Vec::new());
            let asked = asked.map(|[from_ns, to_ns]| Period { from_ns, to_ns });
            let entries: Vec<&WatchedTime> = entries.iter().collect();
            NodeTimes::new(&entries, asked, &[Period::ALL], writer).describe(&mut answer, true);
            (answer.status, answer.reason.unwrap_or_default())
        };
        // Nothing of it is stored: it may be of any time.
        for entries in [vec![begin(5, recorded, 0)], vec![whole.clone(), begin(5, recorded, 0)]] {
            for asked in [None, Some([100, 200])] {
                let (status, reason) = told(&entries, asked, None);
                assert!(status == AnswerStatus::Partial && reason.contains("before anything"), "{reason}");
            }
            assert_eq!(told(&entries, None, Some(5)).0, AnswerStatus::Complete);
        }
        // A part of it is stored: it may be of any time behind that, which another one has stored, too.
        let entries = [begin(5, recorded, 0), entry(5, recorded, 50, 200, Unstored::Killed), whole.clone()];
        let (status, reason) = told(&entries, Some([100, 300]), None);
        assert!(status == AnswerStatus::Partial && reason.contains("measured after"), "{reason}");
        assert_eq!(told(&entries, Some([100, 200]), None).0, AnswerStatus::Complete);
        // A live run is of the time that follows its begin.
        let entries = [begin(5, live, 450), entry(6, live, 600, 700, Unstored::Stopped)];
        assert_eq!(listed(&times(&entries, Some([500, 650]), 0)), [(500, 600, MissingReason::Killed)]);
        assert_eq!(told(&entries, Some([610, 650]), None).0, AnswerStatus::Complete);
        let entries = [whole, begin(10, live, 450)];
        let (status, reason) = told(&entries, None, None);
        assert!(status == AnswerStatus::Partial && reason.contains("the run was killed"), "{reason}");
    }

    #[test]
    fn a_question_without_an_end_lacks_what_a_killed_run_measured_last() {
        let reason = |by, why, asked: [u64; 2], writer| {
            let entries = [entry(3, Some(by), 100, 200, why)];
            let entries: Vec<&WatchedTime> = entries.iter().collect();
            let asked = Some(Period { from_ns: asked[0], to_ns: asked[1] });
            let mut answer = Answer::new("q", None, Vec::new(), Vec::new());
            NodeTimes::new(&entries, asked, &[Period::ALL], writer).describe(&mut answer, true);
            (answer.status == AnswerStatus::Partial, answer.reason.unwrap_or_default())
        };
        let all = [0, u64::MAX];
        for by in [MeasurementKind::Live, MeasurementKind::Recorded] {
            let (is_partial, told) = reason(by, Unstored::Killed, all, None);
            assert!(is_partial && told.contains("the run was killed"), "{told}");
            // It may be asked for what is there, and goes on where its process still writes.
            for (asked, writer) in [([100, 200], None), (all, Some(3))] {
                assert_eq!(reason(by, Unstored::Killed, asked, writer), (false, String::new()));
            }
            assert_eq!(reason(by, Unstored::Stopped, all, None), (false, String::new()));
        }
    }

    #[test]
    fn a_run_goes_on_if_the_process_that_writes_now_began_it() {
        let killed = [entry(3, Some(MeasurementKind::Live), 100, 200, Unstored::Killed)];
        let entries: Vec<&WatchedTime> = killed.iter().collect();
        let asked = Some(Period { from_ns: 100, to_ns: 300 });
        let missing = |writer| listed(&NodeTimes::new(&entries, asked, &[Period::ALL], writer));
        let killed = [(200, 300, MissingReason::Killed)];
        assert_eq!(
            (missing(None), missing(Some(3)), missing(Some(4))),
            (killed.to_vec(), vec![], killed.to_vec())
        );
    }

    #[test]
    fn what_an_older_version_did_not_note_is_unknown() {
        let entries = [
            entry(0, Some(MeasurementKind::Unknown), 100, 200, Unstored::Stopped),
            entry(2, Some(MeasurementKind::Live), 300, 400, Unstored::Stopped),
        ];
        assert_eq!(coverage(&times(&entries, None, 0)), (AnswerStatus::Complete, None));
        assert_eq!(coverage(&times(&entries, Some([310, 390]), 0)), (AnswerStatus::Complete, Some(1.0)));
        assert_eq!(coverage(&times(&[], None, 0)), (AnswerStatus::Complete, None));
    }
}
