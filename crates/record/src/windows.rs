//! The windows of a file of window rows besides their rows: which there were, and what each lacks.
//!
//! The file has it in its metadata under `edison.windows`, as one JSON object. Consecutive windows of which the same is known are one
//! entry, so that a year of windows stays small.

use crate::WindowSample;
use flow::Untold;
use serde::{Deserialize, Serialize};

/// The most windows that a list is read with: more than 300 years of windows of a tenth of a second.
const MOST_WINDOWS: u64 = 100_000_000_000;

/// The facts about a window besides its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowFacts {
    /// The number of packets that the source lost in the window; `None` if the source cannot know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// The share that these packets are of all that came, of the time that was watched, nanoseconds: that much of it is not covered.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uncovered_ns: u64,
    /// Packets received that are neither in a row nor without a place; only where losses are known, for the coverage, and where no packet is in a
    /// row.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unmeasured: u64,
    /// Rows that could not be handed over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused_rows: u64,
    /// The sums of what found no place in the table: packets, layer-3 bytes, bytes on the wire.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub without_place: [u64; 3],
    /// Numbers of packets and records that did not tell a value, which is 0 in rows.
    #[serde(default, skip_serializing_if = "Untold::is_none", with = "crate::untold")]
    pub untold: Untold,
    /// The part of the window that was watched, nanoseconds since the epoch, where that is not all of it.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "times")]
    pub watched: Option<[u64; 2]>,
    /// True if the run ended in the window.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ended: bool,
    /// True if an unknown number of rows may be missing, because their source is damaged or does not say.
    #[serde(default, skip_serializing_if = "is_false")]
    pub incomplete: bool,
    /// True if the rows are of flow records, each of which counts whole in the window in which it ends.
    #[serde(default, skip_serializing_if = "is_false")]
    pub of_records: bool,
    /// A remark on data of the window that did not arrive or were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
    /// A remark that values of the window are estimates, and how good they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimates: Option<String>,
    /// The sampling of the packets; `None`: all were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<WindowSample>,
}

/// Joins the remarks of two windows: two remarks become the general one.
pub(crate) fn join_remarks(own: &mut Option<String>, more: Option<&String>, of_both: &str) {
    match own {
        Some(own) if more.is_some() => of_both.clone_into(own),
        Some(_) => {}
        None => *own = more.cloned(),
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_nothing(sums: &[u64; 3]) -> bool {
    *sums == [0; 3]
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl WindowFacts {
    /// The remark on several windows with missing data.
    pub const LACKS: &str = "not all of it arrived and was read";
    /// The remark on several windows with estimates.
    pub const ESTIMATES: &str = "records of it are samples: what they count is not exact";

    /// Adds what is known of the same window, which has these ends, from another file of the node.
    pub fn add(&mut self, more: &Self, window: [u64; 2]) {
        self.lost = self.lost.zip(more.lost).map(|(one, other)| one.saturating_add(other));
        self.uncovered_ns =
            self.uncovered_ns.saturating_add(more.uncovered_ns).min(window[1].saturating_sub(window[0]));
        self.unmeasured = self.unmeasured.saturating_add(more.unmeasured);
        self.refused_rows = self.refused_rows.saturating_add(more.refused_rows);
        for (sum, more) in self.without_place.iter_mut().zip(more.without_place) {
            *sum = sum.saturating_add(more);
        }
        self.untold.add(&more.untold);
        let [one, other] = [self.watched.unwrap_or(window), more.watched.unwrap_or(window)];
        let both = [one[0].min(other[0]), one[1].max(other[1])];
        // Of the time between two recordings nothing is known.
        let is_gap = one[1] < other[0] || other[1] < one[0];
        self.watched = (both != window || is_gap).then_some(both);
        self.ended &= more.ended;
        self.incomplete |= more.incomplete;
        self.of_records |= more.of_records;
        join_remarks(&mut self.lacks, more.lacks.as_ref(), Self::LACKS);
        join_remarks(&mut self.estimates, more.estimates.as_ref(), Self::ESTIMATES);
        self.sample = WindowSample::join(self.sample, more.sample);
    }

    /// Returns whether its rows are of a sample of the packets.
    pub fn is_sampled(&self) -> bool {
        self.sample.is_some_and(|sample| !sample.is_all())
    }

    /// Returns whether more is known than that it was watched, and how it would have been sampled.
    fn is_notable(&self) -> bool {
        let sample = self.sample.filter(WindowSample::has_frames);
        Self { sample, ..self.clone() } != Self::default()
    }
}

/// Consecutive windows of which the same is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct WindowRun {
    /// The begin of the first window, nanoseconds since the epoch.
    #[serde(with = "digits")]
    start: u64,
    /// The number of windows.
    windows: u64,
    #[serde(flatten)]
    facts: WindowFacts,
}

/// The windows of a file of window rows, in the order of time. Windows between them had no packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedWindows {
    /// The length of the windows, nanoseconds.
    #[serde(rename = "length", with = "digits")]
    pub length_ns: u64,
    /// The length of the windows of queries that do not say it, in the run that wrote the file, nanoseconds.
    #[serde(rename = "every", with = "digits")]
    pub usual_ns: u64,
    runs: Vec<WindowRun>,
}

impl RecordedWindows {
    /// Makes a list without windows.
    pub fn new(length_ns: u64, usual_ns: u64) -> Self {
        Self { length_ns, usual_ns, runs: Vec::new() }
    }

    /// Adds a window, which is later than all before it.
    pub fn push(&mut self, start_ns: u64, facts: WindowFacts) {
        match self.runs.last_mut() {
            Some(last) if last.facts == facts && end_of(last, self.length_ns) == Some(start_ns) => {
                last.windows += 1;
            }
            _ => self.runs.push(WindowRun { start: start_ns, windows: 1, facts }),
        }
    }

    /// Adds equal windows that follow each other; the first is later than all before it.
    pub fn push_run(&mut self, start_ns: u64, windows: u64, facts: WindowFacts) {
        if windows == 0 {
            return;
        }
        self.push(start_ns, facts);
        if let Some(last) = self.runs.last_mut() {
            last.windows += windows - 1;
        }
    }

    /// The windows of several lists of windows of one length; of a window of several what is known together.
    pub fn merged(lists: &[Self]) -> Option<Self> {
        let first = lists.first()?;
        let mut merged = Self::new(first.length_ns, first.usual_ns);
        let mut runs: Vec<&WindowRun> = lists.iter().flat_map(|list| &list.runs).collect();
        runs.sort_by_key(|run| run.start);
        let end = |run: &WindowRun| end_of(run, first.length_ns).unwrap_or(u64::MAX);
        let mut bounds: Vec<u64> = runs.iter().flat_map(|run| [run.start, end(run)]).collect();
        bounds.sort_unstable();
        bounds.dedup();
        let mut next = runs.into_iter().peekable();
        let mut active: Vec<&WindowRun> = Vec::new();
        for pair in bounds.windows(2) {
            let [from, to] = [pair[0], pair[1]];
            active.retain(|run| end(run) > from);
            while let Some(run) = next.next_if(|run| run.start <= from) {
                active.push(run);
            }
            let Some((one, others)) = active.split_first() else { continue };
            let mut facts = one.facts.clone();
            // What differs between the windows of a run is in none of several.
            others.iter().for_each(|more| facts.add(&more.facts, [from, to]));
            merged.push_run(from, (to - from) / first.length_ns.max(1), facts);
        }
        Some(merged)
    }

    /// Returns what is known of the windows in a longer one, from its start to its end, as of one window; `None` if there are none. Windows
    /// between those of the list had no packet.
    pub fn facts_within(&self, [from_ns, to_ns]: [u64; 2]) -> Option<WindowFacts> {
        let mut sum: Option<WindowFacts> = None;
        let mut since = from_ns;
        while let Some((start, facts)) = self.since(since).filter(|(start, _)| *start < to_ns) {
            let end = start.saturating_add(self.length_ns).min(to_ns);
            let watched = facts.watched.unwrap_or([start, end]);
            match &mut sum {
                None => sum = Some(WindowFacts { watched: Some(watched), ..facts.clone() }),
                Some(sum) => {
                    let begun = sum.watched.map_or(from_ns, |watched| watched[0]);
                    let ended = facts.ended;
                    sum.add(facts, [from_ns, to_ns]);
                    (sum.watched, sum.ended) = (Some([begun, watched[1]]), ended);
                }
            }
            since = start.saturating_add(1);
        }
        let mut sum = sum?;
        sum.watched = sum.watched.filter(|watched| *watched != [from_ns, to_ns]);
        Some(sum)
    }

    /// Returns true without windows.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the number of runs of equal windows.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Windows of which the same is known, one after the other: the begin of the first, how many there are, and what is known.
    pub fn each(&self) -> impl Iterator<Item = (u64, u64, &WindowFacts)> {
        self.runs.iter().map(|run| (run.start, run.windows, &run.facts))
    }

    /// The begins of the first window and of the last.
    pub fn ends(&self) -> Option<[u64; 2]> {
        let (first, last) = (self.runs.first()?, self.runs.last()?);
        Some([first.start, last.start + (last.windows - 1) * self.length_ns])
    }

    /// The first window that begins at this time or later, and what is known of it.
    pub fn since(&self, start_ns: u64) -> Option<(u64, &WindowFacts)> {
        let last = |run: &WindowRun| run.start + (run.windows - 1) * self.length_ns;
        let past = |run: &WindowRun| last(run) < start_ns;
        let run = self.runs.get(self.runs.partition_point(past))?;
        let skipped = start_ns.saturating_sub(run.start).div_ceil(self.length_ns);
        Some((run.start + skipped * self.length_ns, &run.facts))
    }

    /// The first window that begins at this time or later of which more is known than that it was watched: it may have had frames, even if it has no
    /// rows.
    pub fn notable_since(&self, start_ns: u64) -> Option<u64> {
        let mut since_ns = start_ns;
        loop {
            let (found_ns, facts) = self.since(since_ns)?;
            if facts.is_notable() {
                return Some(found_ns);
            }
            let run = self.runs.partition_point(|run| run.start <= found_ns);
            since_ns = self.runs.get(run)?.start;
        }
    }

    /// Returns the list as JSON.
    pub(crate) fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// Reads a list from JSON; `None` if it is none of a list, or one that cannot be.
    pub(crate) fn from_json(text: &str) -> Option<Self> {
        let read: Self = serde_json::from_str(text).ok()?;
        let length = read.length_ns;
        let mut until = 0;
        let mut windows = 0_u64;
        for run in &read.runs {
            let end = end_of(run, length)?;
            let window = run.start..=run.start.checked_add(length)?;
            let is_within =
                |watched: [u64; 2]| watched[0] <= watched[1] && watched.iter().all(|at| window.contains(at));
            let is_cut_alone = run.facts.watched.is_none_or(|watched| run.windows == 1 && is_within(watched));
            let is_possible = run.start >= until && run.start.is_multiple_of(length) && run.windows != 0;
            windows = windows.checked_add(run.windows).filter(|windows| *windows <= MOST_WINDOWS)?;
            if !(is_possible && is_cut_alone) {
                return None;
            }
            until = end;
        }
        (length != 0 && read.usual_ns.is_multiple_of(length)).then_some(read)
    }
}

fn end_of(run: &WindowRun, length_ns: u64) -> Option<u64> {
    run.start.checked_add(run.windows.checked_mul(length_ns)?).filter(|_| length_ns != 0)
}

/// Times as texts of digits: most readers hold numbers as doubles.
mod digits {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<u64, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// A span of time in the same way.
mod times {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        span: &Option<[u64; 2]>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        span.map(|span| span.map(|time| time.to_string())).serialize(serializer)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(
        deserializer: D,
    ) -> Result<Option<[u64; 2]>, D::Error> {
        let Some([start, end]) = Option::<[String; 2]>::deserialize(deserializer)? else { return Ok(None) };
        let time = |text: String| text.parse().map_err(D::Error::custom);
        Ok(Some([time(start)?, time(end)?]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow::Share;

    const SECOND: u64 = 1_000_000_000;
    const START: u64 = 1_795_534_800 * SECOND;

    fn sample(ppm: u32, longest_byte: u32) -> WindowSample {
        WindowSample { shares: [Share::from_ppm(ppm).expect("a share"); 2], lost: 0, longest_byte }
    }

    fn cut(start: u64, watched: [u64; 2]) -> (u64, WindowFacts) {
        (start, WindowFacts { watched: Some(watched), ..WindowFacts::default() })
    }

    #[test]
    fn equal_windows_are_one_entry_and_are_read_back() {
        let mut list = RecordedWindows::new(SECOND, 10 * SECOND);
        let (first, facts) = cut(START, [START + 5, START + SECOND]);
        list.push(first, facts);
        // A year.
        (1..31_536_000).for_each(|n| list.push(START + n * SECOND, WindowFacts::default()));
        let after_gap = START + 31_536_060 * SECOND;
        let mut untold = Untold::default();
        assert!(["cut_ports", "tcp_win"].into_iter().all(|name| untold.add_named(name, 10)));
        let last = WindowFacts {
            lost: Some(3),
            uncovered_ns: 2,
            unmeasured: 4,
            refused_rows: 5,
            without_place: [6, 700, 800],
            untold,
            watched: Some([after_gap, after_gap + 9]),
            ended: true,
            incomplete: true,
            of_records: true,
            lacks: Some("3 records did not arrive".to_owned()),
            estimates: Some(WindowFacts::ESTIMATES.to_owned()),
            sample: Some(sample(150_000, 1500)),
        };
        list.push(after_gap, last.clone());
        assert_eq!(list.runs(), 3);
        let text = list.to_json().expect("JSON");
        // What a sample adds is its own text alone.
        let sample = serde_json::to_string(&last.sample).expect("JSON").len() + r#","sample":"#.len();
        assert!(text.len() < 640 + sample, "{text}");
        assert_eq!(RecordedWindows::from_json(&text).as_ref(), Some(&list));
        assert_eq!(list.ends(), Some([START, after_gap]));
        let since = |at| list.since(at).map(|(start, facts)| (start, facts.ended));
        assert_eq!(since(0), Some((START, false)));
        assert_eq!(since(START + 1), Some((START + SECOND, false)));
        assert_eq!(since(START + 7 * SECOND), Some((START + 7 * SECOND, false)));
        assert_eq!(since(START + 31_536_000 * SECOND), Some((after_gap, true)));
        assert_eq!(list.since(after_gap).map(|(_, facts)| facts), Some(&last));
        assert_eq!(since(after_gap + 1), None);
    }

    #[test]
    fn what_cannot_be_is_not_read() {
        let list = |runs: &str| {
            let text = format!(r#"{{"length":"10","every":"20","runs":[{runs}]}}"#);
            RecordedWindows::from_json(&text)
        };
        assert!(list(r#"{"start":"10","windows":2},{"start":"40","windows":1,"ended":true}"#).is_some());
        for wrong in [
            r#"{"start":"11","windows":1}"#,
            r#"{"start":"10","windows":0}"#,
            r#"{"start":"10","windows":3},{"start":"30","windows":1}"#,
            r#"{"start":"10","windows":18446744073709551615}"#,
            r#"{"start":"10","windows":2,"watched":["10","15"]}"#,
            r#"{"start":"10","windows":1,"watched":["9","15"]}"#,
            r#"{"start":"10","windows":1,"watched":["16","15"]}"#,
            r#"{"start":"10","windows":1000000000000}"#,
            r#"{"start":"18446744073709551610","windows":1}"#,
            r#"{"windows":1}"#,
        ] {
            assert_eq!(list(wrong), None, "{wrong}");
        }
        for wrong in ["", "[]", r#"{"length":"0","every":"0","runs":[]}"#, r#"{"length":10,"runs":[]}"#] {
            assert_eq!(RecordedWindows::from_json(wrong), None, "{wrong}");
        }
        assert_eq!(RecordedWindows::from_json(r#"{"length":"10","every":"15","runs":[]}"#), None);
    }

    #[test]
    fn lists_become_one() {
        let lost = |lost| WindowFacts { lost, ..WindowFacts::default() };
        let mut one = RecordedWindows::new(10, 20);
        one.push_run(10, 3, lost(Some(1)));
        one.push(80, cut(80, [82, 90]).1);
        let mut other = RecordedWindows::new(10, 20);
        other.push_run(30, 2, lost(Some(2)));
        other.push(80, cut(80, [80, 82]).1);
        let merged = RecordedWindows::merged(&[other.clone(), one.clone()]).expect("lists");
        let mut expected = RecordedWindows::new(10, 20);
        expected.push_run(10, 2, lost(Some(1)));
        expected.push(30, lost(Some(3)));
        expected.push(40, lost(Some(2)));
        expected.push(80, lost(None));
        assert_eq!(merged, expected);
        let text = merged.to_json().expect("JSON");
        assert_eq!(RecordedWindows::from_json(&text), Some(merged));
        assert_eq!(RecordedWindows::merged(&[]), None);
        assert_eq!(RecordedWindows::merged(&[one.clone(), one]).map(|list| list.runs()), Some(2));
    }

    #[test]
    fn windows_in_a_longer_one_are_known_together() {
        let mut list = RecordedWindows::new(10, 10);
        list.push(50, cut(50, [54, 60]).1);
        let lost = WindowFacts { lost: Some(2), unmeasured: 3, ..WindowFacts::default() };
        list.push_run(60, 3, lost.clone());
        list.push(110, WindowFacts { ended: true, ..lost.clone() });
        let within = |from, to| list.facts_within([from, to]);
        assert_eq!(within(0, 50), None);
        let begun = WindowFacts { watched: Some([54, 60]), ..WindowFacts::default() };
        assert_eq!(within(0, 60), Some(begun));
        assert_eq!(
            within(60, 80),
            Some(WindowFacts { lost: Some(4), unmeasured: 6, ..WindowFacts::default() })
        );
        let all = WindowFacts { lost: Some(8), unmeasured: 12, ended: true, ..WindowFacts::default() };
        assert_eq!(within(60, 120), Some(all.clone()));
        assert_eq!(within(60, 180), Some(WindowFacts { watched: Some([60, 120]), ..all }));
    }

    #[test]
    fn windows_of_other_shares_do_not_hide_in_a_longer_one() {
        let of = |sample| WindowFacts { sample, ..WindowFacts::default() };
        let (half, tenth) = (sample(500_000, 100), sample(100_000, 200));
        let mut list = RecordedWindows::new(10, 10);
        list.push_run(10, 2, of(Some(half)));
        list.push(30, of(Some(half.without_frames())));
        list.push(40, of(Some(tenth)));
        list.push(50, of(None));
        let shares = |from, to| {
            let sample = list.facts_within([from, to]).and_then(|facts| facts.sample);
            sample.map(|sample| sample.shares.map(Share::ppm))
        };
        assert_eq!(shares(10, 40), Some([500_000; 2]));
        assert_eq!(shares(10, 50), Some([100_000, 500_000]));
        assert_eq!(shares(40, 60), Some([100_000, 1_000_000]));
        assert_eq!(shares(50, 60), None);
        // Of the window without a frame no more is known than that it was watched.
        assert_eq!([10, 30, 50].map(|since| list.notable_since(since)), [Some(10), Some(40), None]);
        let text = list.to_json().expect("JSON");
        assert_eq!(RecordedWindows::from_json(&text), Some(list));
    }

    #[test]
    fn a_window_of_two_files_has_both_parts() {
        let of = |watched: Option<[u64; 2]>| WindowFacts {
            watched,
            lost: Some(1),
            ended: true,
            ..WindowFacts::default()
        };
        let sum = |one, other| {
            let mut sum = of(one);
            sum.add(&of(other), [10, 20]);
            (sum.watched, sum.lost)
        };
        assert_eq!(sum(Some([10, 14]), Some([14, 20])), (None, Some(2)));
        assert_eq!(sum(Some([10, 14]), Some([15, 20])), (Some([10, 20]), Some(2)));
        assert_eq!(sum(Some([12, 14]), Some([13, 19])), (Some([12, 19]), Some(2)));
        assert_eq!(sum(None, Some([13, 19])), (None, Some(2)));
    }
}
