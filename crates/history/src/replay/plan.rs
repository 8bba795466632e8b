//! The windows of a node, in the order of time.

use super::survey::window_of;
use crate::question::Period;
use model::Span;
use record::{RecordedWindows, WindowFacts};
use std::collections::BTreeMap;

/// The most windows between two recordings of a node of which nothing is known. Each of them is answered as such.
const MOST_UNKNOWN: u64 = 100_000;

/// Windows that have rows, of which files tell more than that they were watched, or of which nothing is known. All others had no frame.
#[derive(Clone, Debug)]
pub(super) struct ReplayPlan {
    pub(super) window_ns: u64,
    /// The windows that files tell of, by the first of them.
    lists: Vec<RecordedWindows>,
    /// Windows that have rows.
    pub(super) counts: BTreeMap<u64, u64>,
    /// Times from the end of one recording to the begin of the next.
    gaps: Vec<Span>,
    /// The time from the first packet to the last.
    span: Option<Span>,
    /// True if all rows are of windows, and no file tells more of them.
    is_complete: bool,
    /// The time whose windows are wanted.
    period: Period,
}

/// The known facts of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReplayWindowFacts {
    pub(super) facts: WindowFacts,
    /// The reason why nothing, or not all, is known of the window.
    pub(super) lack: Option<&'static str>,
}

impl ReplayPlan {
    /// Plans the windows of a replay. `span`: the time of the packets of flow records, if there are any. `period`: the time whose windows are
    /// wanted, by their begins. `missing`: times of which nothing is known, between or within recordings.
    ///
    /// # Errors
    /// Returns the reason in words if too many windows lie between two recordings.
    pub(super) fn new(
        window_ns: u64,
        mut lists: Vec<RecordedWindows>,
        counts: BTreeMap<u64, u64>,
        span: Option<Span>,
        period: Period,
        missing: &[Span],
    ) -> Result<Self, String> {
        lists.retain(|list| !list.is_empty());
        lists.sort_by_key(RecordedWindows::ends);
        let mut gaps = Vec::new();
        let mut known_until: Option<u64> = None;
        for [first, last] in lists.iter().filter_map(RecordedWindows::ends) {
            let end_ns = last.saturating_add(window_ns);
            match known_until {
                Some(start_ns) if start_ns < first => {
                    let gap = period.both(Period { from_ns: start_ns, to_ns: first });
                    gaps.push(Span { start_ns: gap.from_ns, end_ns: gap.to_ns });
                }
                _ => {}
            }
            known_until = known_until.max(Some(end_ns));
        }
        for time in missing {
            // What lies between files is known already.
            let is_known = |gap: &Span| gap.start_ns <= time.start_ns && time.end_ns <= gap.end_ns;
            let part = period.both(Period { from_ns: time.start_ns, to_ns: time.end_ns });
            if !part.is_empty() && !gaps.iter().any(is_known) {
                gaps.push(Span { start_ns: part.from_ns, end_ns: part.to_ns });
            }
        }
        let unknown: u64 = gaps.iter().map(|gap| gap.length_ns() / window_ns.max(1)).sum();
        if unknown > MOST_UNKNOWN {
            return Err(format!("{unknown} windows lie between its recordings: take them one by one"));
        }
        let is_complete = lists.is_empty() && span.is_none();
        Ok(Self { window_ns, lists, counts, gaps, span, is_complete, period })
    }

    /// The first window that begins then or later.
    pub(super) fn next(&self, since_ns: u64) -> Option<u64> {
        let since_ns = since_ns.max(self.period.from_ns);
        // Stores list windows without a frame, too. The run passed over them.
        let listed = self.lists.iter().filter_map(|list| list.notable_since(since_ns));
        let with_rows = self.counts.range(since_ns..).next().map(|(start, _)| *start);
        let unknown = self.gaps.iter().filter_map(|gap| {
            let next = since_ns.max(gap.start_ns).next_multiple_of(self.window_ns.max(1));
            (next < gap.end_ns).then_some(next)
        });
        listed.chain(with_rows).chain(unknown).min().filter(|start_ns| *start_ns < self.period.to_ns)
    }

    /// Returns true if a window is wanted.
    pub(super) fn wants(&self, start_ns: u64) -> bool {
        self.period.contains(start_ns)
    }

    /// Returns what is known of a window.
    pub(super) fn known(&self, start_ns: u64) -> ReplayWindowFacts {
        let end_ns = start_ns.saturating_add(self.window_ns);
        let whole = [start_ns, end_ns];
        let mut of_lists = self.lists.iter().filter_map(|list| list.since(start_ns));
        let mut of_lists = of_lists.by_ref().filter(|(start, _)| *start == start_ns).map(|(_, facts)| facts);
        if let Some(first) = of_lists.next() {
            let mut facts = first.clone();
            of_lists.for_each(|more| facts.add(more, whole));
            let lack = match facts.watched == Some(whole) {
                true => Some("it was not recorded without a gap"),
                false => facts.incomplete.then_some("what it was imported from may lack rows"),
            };
            return ReplayWindowFacts { facts, lack };
        }
        if self.gaps.iter().any(|gap| (gap.start_ns..gap.end_ns).contains(&start_ns)) {
            return ReplayWindowFacts { lack: Some("it was not recorded"), ..ReplayWindowFacts::default() };
        }
        if self.is_complete {
            return ReplayWindowFacts::default();
        }
        let Some(span) = self.span else {
            return ReplayWindowFacts {
                lack: Some("the file does not tell what its rows lack"),
                ..ReplayWindowFacts::default()
            };
        };
        let watched = [start_ns.max(span.start_ns).min(end_ns), end_ns.min(span.end_ns).max(start_ns)];
        let facts = WindowFacts {
            watched: (watched != whole).then_some(watched),
            ended: window_of(span.end_ns.saturating_sub(1), self.window_ns) == start_ns,
            ..WindowFacts::default()
        };
        ReplayWindowFacts { facts, lack: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(first: u64, windows: u64) -> RecordedWindows {
        let mut list = RecordedWindows::new(10, 10);
        (0..windows)
            .for_each(|n| list.push(first + n * 10, WindowFacts { lost: Some(0), ..WindowFacts::default() }));
        list
    }

    fn all(plan: &ReplayPlan) -> Vec<u64> {
        let mut found = Vec::new();
        let mut next = plan.next(0);
        while let Some(start) = next {
            found.push(start);
            next = plan.next(start + 1);
        }
        found
    }

    fn counts(windows: &[u64]) -> BTreeMap<u64, u64> {
        windows.iter().map(|start| (*start, 1)).collect()
    }

    #[test]
    fn windows_are_those_of_lists_of_rows_and_between_recordings() {
        let lists = vec![list(70, 2), list(10, 3)];
        let plan = ReplayPlan::new(10, lists, counts(&[20, 100]), None, Period::ALL, &[]).expect("few");
        assert_eq!(all(&plan), [10, 20, 30, 40, 50, 60, 70, 80, 100]);
        let lacks = [10, 40, 60, 70, 100].map(|start| plan.known(start).lack);
        let [unknown, untold] =
            ["it was not recorded", "the file does not tell what its rows lack"].map(Some);
        assert_eq!(lacks, [None, unknown, unknown, None, untold]);
        let many = ReplayPlan::new(
            10,
            vec![list(0, 1), list(10_000_000, 1)],
            BTreeMap::new(),
            None,
            Period::ALL,
            &[],
        );
        assert!(many.is_err_and(|error| error.starts_with("999999 windows")));
    }

    #[test]
    fn windows_without_a_frame_are_passed_over_as_in_the_run() {
        let mut stored = RecordedWindows::new(10, 10);
        stored.push_run(10, 1000, WindowFacts::default());
        stored.push(10_010, WindowFacts { unmeasured: 3, ..WindowFacts::default() });
        stored.push_run(10_020, 2, WindowFacts::default());
        stored.push(10_040, WindowFacts { ended: true, ..WindowFacts::default() });
        let plan =
            ReplayPlan::new(10, vec![stored], counts(&[20, 10_020]), None, Period::ALL, &[]).expect("few");
        assert_eq!(all(&plan), [20, 10_010, 10_020, 10_040]);
    }

    #[test]
    fn windows_of_a_period_alone_are_there() {
        let period = Period { from_ns: 25, to_ns: 70 };
        let plan = ReplayPlan::new(10, vec![list(60, 2), list(10, 3)], counts(&[20, 100]), None, period, &[])
            .expect("few");
        assert_eq!(all(&plan), [30, 40, 50, 60]);
        assert_eq!([20, 30, 70].map(|start| plan.wants(start)), [false, true, false]);
        let far = vec![list(0, 1), list(10_000_000, 1)];
        let plan = ReplayPlan::new(
            10,
            far,
            BTreeMap::new(),
            None,
            Period { from_ns: 9_999_990, to_ns: u64::MAX },
            &[],
        );
        assert_eq!(all(&plan.expect("few")), [9_999_990, 10_000_000]);
    }

    #[test]
    fn records_are_watched_from_the_first_packet_to_the_last() {
        let span = Span { start_ns: 14, end_ns: 38 };
        let plan = ReplayPlan::new(10, Vec::new(), counts(&[10, 20, 30]), Some(span), Period::ALL, &[])
            .expect("few");
        let watched =
            [10, 20, 30].map(|start| (plan.known(start).facts.watched, plan.known(start).facts.ended));
        assert_eq!(watched, [(Some([14, 20]), false), (None, false), (Some([30, 38]), true)]);
        let plan = ReplayPlan::new(10, Vec::new(), counts(&[10, 30]), None, Period::ALL, &[]).expect("few");
        assert_eq!((all(&plan), plan.known(30)), (vec![10, 30], ReplayWindowFacts::default()));
    }

    #[test]
    fn a_time_that_is_missing_within_a_file_is_no_time_without_packets() {
        // Compaction makes one list of what was recorded before and behind it.
        let mut whole = RecordedWindows::new(10, 10);
        [10, 20, 60].into_iter().for_each(|start| whole.push(start, WindowFacts::default()));
        let missing = [Span { start_ns: 30, end_ns: 60 }];
        let plan = |missing: &[Span]| {
            ReplayPlan::new(10, vec![whole.clone()], counts(&[10, 20, 60]), None, Period::ALL, missing)
                .expect("few")
        };
        assert_eq!(all(&plan(&[])), [10, 20, 60]);
        let plan = plan(&missing);
        assert_eq!(all(&plan), [10, 20, 30, 40, 50, 60]);
        assert_eq!([20, 40, 60].map(|start| plan.known(start).lack.is_some()), [false, true, false]);
    }
}
