//! The facts that files tell of windows besides their rows.

use crate::node_spans::union;
use crate::question::Period;
use flow::{Sampled, Untold};
use model::{Answer, Span};
use record::read::Contents;
use record::{RecordedWindows, Shortfall, WindowFacts, WindowSample};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use task::query::Over;
use task::rows::Unplaced;

/// The remark of an answer whose rates divide by time that was not watched, too.
pub(crate) const OVER_ALL: &str = "rates are over all of its time, with what was not watched of it";

/// The most windows of a file whose packets without a place are told apart.
const MOST_WINDOWS: u64 = 1 << 20;

/// The packets of each window that are in no row, if a file tells them of all that are in none.
pub(crate) fn without_place_by_window(contents: &Contents) -> Option<Vec<(u64, Unplaced)>> {
    let windows = contents.windows.as_ref()?;
    let mut found = Vec::new();
    for (start_ns, count, facts) in windows.each() {
        let [packets, bytes, wire_bytes] = facts.without_place;
        if packets == 0 {
            continue;
        }
        if count > MOST_WINDOWS - found.len() as u64 {
            return None;
        }
        let starts = begins(windows, start_ns, count);
        // Records that were imported had no table.
        let keyless = if facts.of_records { packets } else { 0 };
        found.extend(starts.map(|start_ns| (start_ns, Unplaced { packets, bytes, wire_bytes, keyless })));
    }
    let told = found.iter().fold(0_u64, |sum, (_, unplaced)| sum.saturating_add(unplaced.packets));
    contents.without_place.is_none_or(|all| all.packets == told).then_some(found)
}

/// Returns what the packets and records of a flow file did not tell; `None` if they told all. The file does not tell their times.
pub(crate) fn untold_of_records(contents: &Contents) -> Option<Untold> {
    Some(contents.shortfall.untold).filter(|untold| !untold.is_none())
}

/// Returns what packets and records did not tell, with the begin of each window that has such ones.
pub(crate) fn untold_by_window(contents: &Contents) -> impl Iterator<Item = (u64, Untold)> {
    let known = contents.windows.iter().flat_map(|windows| {
        windows.each().filter(|(.., facts)| !facts.untold.is_none()).flat_map(|(start_ns, count, facts)| {
            begins(windows, start_ns, count).map(|start_ns| (start_ns, facts.untold))
        })
    });
    known.take(MOST_WINDOWS as usize)
}

/// Returns how the packets of each window were sampled that has frames. Where windows of different shares have become one, nothing tells it.
pub(crate) fn sampled_by_window(contents: &Contents) -> impl Iterator<Item = (u64, Sampled)> {
    contents.windows.iter().flat_map(|windows| {
        let sampled = windows.each().filter_map(|(start_ns, count, facts)| {
            let sample = facts.sample.filter(WindowSample::has_frames)?;
            Some((start_ns, count, sample.sampled()?))
        });
        sampled.flat_map(|(start_ns, count, sampled)| {
            begins(windows, start_ns, count).map(move |start_ns| (start_ns, sampled))
        })
    })
}

/// Returns the time that was watched, as far as a file tells it: from the begin of the first window to the end of the last, or that of its records.
pub(crate) fn watched_of(contents: &Contents) -> Option<Span> {
    let of_windows = contents.windows.iter().flat_map(|windows| {
        windows.each().map(|(first_ns, count, facts)| {
            let end_ns = first_ns.saturating_add(count.saturating_mul(windows.length_ns));
            facts.watched.unwrap_or([first_ns, end_ns])
        })
    });
    let times = of_windows.chain(contents.shortfall.watched);
    times.map(|[start_ns, end_ns]| Span { start_ns, end_ns }).reduce(union)
}

/// Returns the name of a file whose records are of a sample of the packets, and the share, if it tells that.
pub(crate) fn told_sample(path: &Path, contents: &Contents) -> Option<String> {
    contents.sampled.then(|| match contents.share {
        Some(share) => format!("{} ({share} of the packets)", path.display()),
        None => path.display().to_string(),
    })
}

/// Returns what answers say where records are of samples, of files by their names; `None` without any.
pub(crate) fn describe_samples(files: &[String]) -> Option<String> {
    (!files.is_empty())
        .then(|| format!("of sampled packets alone, not scaled: the records of {}", files.join(", ")))
}

/// The first of many lines, and how many more there are.
pub(crate) fn first_of(lines: &[String], between: &str) -> String {
    const NAMED: usize = 3;
    let first = lines[..lines.len().min(NAMED)].join(between);
    match lines.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn begins(windows: &RecordedWindows, start_ns: u64, count: u64) -> impl Iterator<Item = u64> {
    let length_ns = windows.length_ns;
    (0..count).map(move |number| start_ns.saturating_add(number.saturating_mul(length_ns)))
}

/// Rows that were measured, or read, and that no file has: they came faster than they were written, or found no memory. And packets that the
/// source lost.
#[derive(Clone, Debug, Default)]
pub(crate) struct RefusedRows {
    refused: Vec<RefusedRowWindows>,
    watched: Vec<WatchedWindows>,
    /// The shortfall of each flow file, with its node; `None` stands for all nodes. Flow files do not tell the times of it.
    shortfalls: Vec<(Option<Arc<str>>, Shortfall)>,
    /// The nodes with windows of flow records that were imported.
    of_records: BTreeSet<Option<Arc<str>>>,
}

/// Windows that follow each other, and how much of each was watched.
#[derive(Clone, Debug)]
struct WatchedWindows {
    node: Option<Arc<str>>,
    first_ns: u64,
    windows: u64,
    length_ns: u64,
    watched_ns: u64,
}

/// Returns the number of windows that begin in a time or reach into it, of consecutive windows with these first and last begins.
fn windows_in([first_ns, last_ns]: [u64; 2], length_ns: u64, [from_ns, to_ns]: [u64; 2]) -> u64 {
    let length_ns = length_ns.max(1);
    let skipped = from_ns.saturating_sub(first_ns) / length_ns;
    let last_ns = last_ns.min(to_ns.saturating_sub(1));
    last_ns.checked_sub(first_ns).map_or(0, |after| (after / length_ns + 1).saturating_sub(skipped))
}

#[derive(Clone, Debug)]
struct RefusedRowWindows {
    node: Option<Arc<str>>,
    /// The begin of the first window, and that of the last.
    first_ns: u64,
    last_ns: u64,
    length_ns: u64,
    /// The number of rows of all these windows together.
    rows: u64,
    /// The number of packets that the source lost in each window, where it is known.
    lost: Option<u64>,
    /// The time of each window that these packets stand for, nanoseconds.
    uncovered_ns: u64,
    /// True if more rows may be missing.
    incomplete: bool,
    /// The remarks of [`WindowFacts`].
    lacks: Option<String>,
    estimates: Option<String>,
}

/// Returns the time of an answer's window that is in the period.
fn time_of(answer: &Answer, period: Option<Period>) -> [u64; 2] {
    let window = answer.window.map_or([0, u64::MAX], |window| [window.start_ns, window.end_ns]);
    let period = period.map_or([0, u64::MAX], |period| [period.from_ns, period.to_ns]);
    [window[0].max(period[0]), window[1].min(period[1])]
}

/// Returns the name of the parts of the recorded time that answers are about, where it is not all of it. `span`: that time, where it is known.
pub fn part_of(over: &Over, period: Option<Period>, span: Option<Span>) -> Option<&'static str> {
    match (over, period) {
        (Over::Window | Over::Windows { .. }, _) => Some("window"),
        (Over::Run, Some(period)) if span.is_none_or(|span| period.cuts(span)) => Some("period"),
        (Over::Run, _) => None,
    }
}

/// Says in an answer about a part of the time, by its name, that flow records count where they end: it has no bounds.
pub fn count_at_end(answer: &mut Answer, part: &str) {
    answer.bounds = "none".to_owned();
    answer.remark(&format!("a flow record counts whole in the {part} in which it ends"));
}

/// Says in an answer that the source lost this number of packets, where it is known. `has_remark`: a remark of a source says what did not
/// arrive, as that of routers does of each loss.
fn remark_loss(answer: &mut Answer, lost: Option<u64>, has_remark: bool) {
    let of_routers = if has_remark { " (of routers: records or datagrams)" } else { "" };
    let (packets, are) = match lost {
        None => ("packets".to_owned(), "were lost before they were"),
        Some(1) => ("1 packet".to_owned(), "was lost before it was"),
        Some(lost) => (format!("{lost} packets"), "were lost before they were"),
    };
    answer.remark(&format!("{packets}{of_routers} {are} measured"));
}

/// Returns whether some of the windows have flow records, each of which counts whole in the window in which it ends.
pub(crate) fn are_of_records(windows: &RecordedWindows) -> bool {
    windows.each().any(|(.., facts)| facts.of_records)
}

impl RefusedRows {
    /// The nodes with windows of flow records that were imported.
    pub(crate) fn record_nodes(&self) -> &BTreeSet<Option<Arc<str>>> {
        &self.of_records
    }

    /// Adds the refused rows of a file whose rows of a time are read.
    pub(crate) fn add(&mut self, contents: &Contents, clip: Option<Period>, node: &Option<Arc<str>>) {
        if !contents.shortfall.is_none() {
            self.shortfalls.push((node.clone(), contents.shortfall.clone()));
        }
        let Some(windows) = &contents.windows else { return };
        if are_of_records(windows) {
            self.of_records.insert(node.clone());
        }
        self.watch(windows, clip, node);
        let lacks = |facts: &WindowFacts| {
            let is_said = facts.lacks.is_some() || facts.estimates.is_some();
            facts.refused_rows != 0 || facts.incomplete || facts.uncovered_ns != 0 || is_said
        };
        for (start_ns, count, facts) in windows.each().filter(|(_, _, facts)| lacks(facts)) {
            let length_ns = windows.length_ns;
            let last_ns = start_ns.saturating_add((count - 1).saturating_mul(length_ns));
            let is_read = clip.is_none_or(|clip| start_ns < clip.to_ns && last_ns >= clip.from_ns);
            let rows = facts.refused_rows.saturating_mul(count);
            self.refused.extend(is_read.then(|| RefusedRowWindows {
                node: node.clone(),
                first_ns: start_ns,
                last_ns,
                length_ns,
                rows,
                lost: facts.lost,
                uncovered_ns: facts.uncovered_ns,
                incomplete: facts.incomplete,
                lacks: facts.lacks.clone(),
                estimates: facts.estimates.clone(),
            }));
        }
    }

    fn watch(&mut self, windows: &RecordedWindows, clip: Option<Period>, node: &Option<Arc<str>>) {
        let length_ns = windows.length_ns;
        for (first_ns, count, facts) in windows.each() {
            let last_ns = first_ns.saturating_add((count - 1).saturating_mul(length_ns));
            if clip.is_some_and(|clip| first_ns >= clip.to_ns || last_ns < clip.from_ns) {
                continue;
            }
            let watched_ns = facts.watched.map_or(length_ns, |[from, to]| to.saturating_sub(from));
            let follows = |last: &&mut WatchedWindows| {
                let end_ns = last.first_ns.saturating_add(last.windows.saturating_mul(length_ns));
                (&last.node, last.length_ns, last.watched_ns, end_ns)
                    == (node, length_ns, watched_ns, first_ns)
            };
            match self.watched.last_mut().filter(follows) {
                Some(last) => last.windows += count,
                None => {
                    let node = node.clone();
                    self.watched.push(WatchedWindows {
                        node,
                        first_ns,
                        windows: count,
                        length_ns,
                        watched_ns,
                    });
                }
            }
        }
    }

    /// Says in an answer what the source lost in its time, and how much of that is covered.
    fn describe_loss(&self, answer: &mut Answer, node: &Option<Arc<str>>, period: Option<Period>) {
        let time = time_of(answer, period);
        let (mut lost, mut uncovered_ns, mut has_remark) = (Some(0_u64), 0_u64, false);
        for one in self.refused.iter().filter(|one| one.node == *node && one.uncovered_ns != 0) {
            let windows = windows_in([one.first_ns, one.last_ns], one.length_ns, time);
            if windows != 0 {
                lost = lost.zip(one.lost).map(|(sum, more)| sum.saturating_add(more.saturating_mul(windows)));
                uncovered_ns = uncovered_ns.saturating_add(one.uncovered_ns.saturating_mul(windows));
                has_remark |= one.lacks.is_some();
            }
        }
        if uncovered_ns == 0 {
            return;
        }
        let watched = self.watched.iter().filter(|one| one.node == *node).map(|one| {
            let last_ns = one.first_ns.saturating_add((one.windows - 1).saturating_mul(one.length_ns));
            windows_in([one.first_ns, last_ns], one.length_ns, time).saturating_mul(one.watched_ns)
        });
        let watched = watched.fold(0_u64, u64::saturating_add).max(uncovered_ns);
        answer.coverage = Some(1.0 - uncovered_ns as f64 / watched as f64);
        remark_loss(answer, lost, has_remark);
    }

    /// Says in an answer what the files of flow records lack that it is read from.
    fn describe_shortfalls(&self, answer: &mut Answer, node: &Option<Arc<str>>) {
        let mut all = Shortfall::default();
        let of_node = self.shortfalls.iter().filter(|(of, _)| of.is_none() || of == node);
        of_node.for_each(|(_, shortfall)| all.add(shortfall));
        if all.lost != 0 {
            remark_loss(answer, Some(all.lost), all.reason.is_some());
        }
        if let Some(reason) = all.reason {
            answer.mark_partial(&reason);
        }
        if let Some(estimates) = all.estimates {
            answer.estimates(&estimates);
        }
    }

    /// Says in an answer what of its time did not arrive or was not read, and what are samples.
    fn describe_records(&self, answer: &mut Answer, node: &Option<Arc<str>>, period: Option<Period>) {
        let time = time_of(answer, period);
        let said =
            |one: &&RefusedRowWindows| one.node == *node && (one.lacks.is_some() || one.estimates.is_some());
        let mut all = WindowFacts::default();
        for one in self.refused.iter().filter(said) {
            let windows = windows_in([one.first_ns, one.last_ns], one.length_ns, time);
            let RefusedRowWindows { lacks, estimates, .. } = one.clone();
            let more = WindowFacts { lacks, estimates, ..WindowFacts::default() };
            (0..windows.min(2)).for_each(|_| all.add(&more, time));
        }
        if let Some(lacks) = all.lacks {
            answer.mark_partial(&lacks);
        }
        if let Some(estimates) = all.estimates {
            answer.estimates(&estimates);
        }
    }

    /// Says in an answer about a part of the time of a node's imported records that these count where they end.
    pub(crate) fn describe_ends(&self, answer: &mut Answer, node: &Option<Arc<str>>, part: Option<&str>) {
        if let Some(part) = part.filter(|_| self.of_records.contains(node)) {
            count_at_end(answer, part);
        }
    }

    /// Says in an answer how many rows of its time it lacks.
    pub(crate) fn describe(&self, answer: &mut Answer, node: &Option<Arc<str>>, period: Option<Period>) {
        let is_of_window = |refused: &RefusedRowWindows, window: Span| {
            refused.first_ns < window.end_ns
                && refused.last_ns.saturating_add(refused.length_ns) > window.start_ns
        };
        let is_of = |refused: &&RefusedRowWindows| {
            refused.node == *node
                && answer.window.is_none_or(|window| is_of_window(refused, window))
                && period
                    .is_none_or(|period| refused.first_ns < period.to_ns && refused.last_ns >= period.from_ns)
        };
        let (rows, incomplete) =
            self.refused.iter().filter(is_of).fold((0_u64, false), |(rows, incomplete), refused| {
                (rows.saturating_add(refused.rows), incomplete | refused.incomplete)
            });
        self.describe_loss(answer, node, period);
        self.describe_shortfalls(answer, node);
        self.describe_records(answer, node, period);
        if rows != 0 {
            answer.mark_partial(&notation::counted_as(rows, "row", ["could not be written"; 2]));
        }
        if incomplete {
            answer.mark_partial("what its rows were imported from may lack some");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::AnswerStatus;
    use record::read::WithoutKey;

    fn contents(facts: &[WindowFacts]) -> Contents {
        let mut windows = RecordedWindows::new(10, 10);
        facts.iter().zip((100..).step_by(10)).for_each(|(facts, start)| windows.push(start, facts.clone()));
        Contents { windows: Some(windows), ..Contents::default() }
    }

    #[test]
    fn packets_without_a_place_are_those_of_windows_if_all_are_told() {
        let of = |packets| WindowFacts { without_place: [packets, 0, 0], ..WindowFacts::default() };
        let told = contents(&[of(0), of(3), of(3), of(0), of(5)]);
        let packets = |contents: &Contents| {
            let found = without_place_by_window(contents)?;
            Some(found.into_iter().map(|(start, unplaced)| (start, unplaced.packets)).collect::<Vec<_>>())
        };
        assert_eq!(packets(&told), Some(vec![(110, 3), (120, 3), (140, 5)]));
        let all = |packets| {
            let without_place = Some(WithoutKey { packets, ..WithoutKey::default() });
            Contents { without_place, ..told.clone() }
        };
        assert_eq!(packets(&all(11)), packets(&told));
        assert_eq!(packets(&all(12)), None);
        assert_eq!(packets(&Contents::default()), None);
    }

    #[test]
    fn answers_lack_the_refused_rows_of_their_time() {
        let of = |refused_rows| WindowFacts { refused_rows, ..WindowFacts::default() };
        let node: Option<Arc<str>> = Some("a".into());
        let mut refused = RefusedRows::default();
        refused.add(
            &contents(&[of(0), of(7), of(7), of(0), of(2)]),
            Some(Period { from_ns: 0, to_ns: 140 }),
            &node,
        );
        let reason = |window: Option<[u64; 2]>, period, node| {
            let window = window.map(|[start_ns, end_ns]| Span { start_ns, end_ns });
            let mut answer = Answer::new("q", window, Vec::new(), Vec::new());
            refused.describe(&mut answer, node, period);
            assert_eq!(answer.reason.is_some(), answer.status == AnswerStatus::Partial);
            answer.reason
        };
        let said = Some("14 rows could not be written".to_owned());
        assert_eq!(reason(None, None, &node), said);
        assert_eq!(reason(Some([120, 140]), None, &node), said);
        assert_eq!(reason(Some([130, 140]), None, &node), None);
        assert_eq!(reason(None, Some(Period { from_ns: 130, to_ns: 200 }), &node), None);
        assert_eq!(reason(None, None, &None), None);
    }

    #[test]
    fn answers_are_covered_less_where_the_source_lost_packets() {
        let of = |lost, uncovered_ns| WindowFacts { lost, uncovered_ns, ..WindowFacts::default() };
        let mut refused = RefusedRows::default();
        refused.add(
            &contents(&[of(Some(0), 0), of(Some(7), 5), of(Some(7), 5), of(Some(0), 0)]),
            None,
            &None,
        );
        let told = |window: Option<[u64; 2]>, period: Option<[u64; 2]>| {
            let window = window.map(|[start_ns, end_ns]| Span { start_ns, end_ns });
            let period = period.map(|[from_ns, to_ns]| Period { from_ns, to_ns });
            let mut answer = Answer::new("q", window, Vec::new(), Vec::new());
            refused.describe(&mut answer, &None, period);
            let lost = answer.reason.map(|reason| reason.split(' ').next().unwrap_or_default().to_owned());
            (answer.coverage, lost.unwrap_or_default())
        };
        assert_eq!(told(None, None), (Some(0.75), "14".to_owned()));
        assert_eq!(told(Some([110, 120]), None), (Some(0.5), "7".to_owned()));
        assert_eq!(told(Some([100, 110]), None), (None, String::new()));
        assert_eq!(told(None, Some([120, 140])), (Some(0.75), "7".to_owned()));
    }

    #[test]
    fn answers_say_that_records_are_samples_or_did_not_arrive() {
        let of = |lacks: Option<&str>, estimates: Option<&str>| {
            let [lacks, estimates] = [lacks, estimates].map(|text| text.map(str::to_owned));
            WindowFacts { lacks, estimates, ..WindowFacts::default() }
        };
        let mut refused = RefusedRows::default();
        refused.add(
            &contents(&[of(None, None), of(Some("3 lost"), None), of(Some("3 lost"), Some("1:9"))]),
            None,
            &None,
        );
        let told = |window: [u64; 2]| {
            let window = Some(Span { start_ns: window[0], end_ns: window[1] });
            let mut answer = Answer::new("q", window, Vec::new(), Vec::new());
            refused.describe(&mut answer, &None, None);
            (answer.status == AnswerStatus::Partial, answer.bounds, answer.reason.unwrap_or_default())
        };
        let of = |is_partial, bounds: &str, reason: &str| (is_partial, bounds.to_owned(), reason.to_owned());
        assert_eq!(told([100, 110]), of(false, "exact", ""));
        assert_eq!(told([110, 120]), of(true, "none", "3 lost"));
        let both = told([100, 130]);
        assert!(both.0 && both.2.contains(WindowFacts::LACKS) && both.2.contains("1:9"), "{both:?}");
    }

    #[test]
    fn answers_say_that_rows_may_be_missing_in_their_time() {
        let of = |incomplete| WindowFacts { incomplete, ..WindowFacts::default() };
        let mut refused = RefusedRows::default();
        refused.add(&contents(&[of(false), of(true), of(false)]), None, &None);
        let reason = |start_ns| {
            let window = Some(Span { start_ns, end_ns: start_ns + 10 });
            let mut answer = Answer::new("q", window, Vec::new(), Vec::new());
            refused.describe(&mut answer, &None, None);
            assert_eq!(answer.reason.is_some(), answer.status == AnswerStatus::Partial);
            answer.reason
        };
        let said = Some("what its rows were imported from may lack some".to_owned());
        assert_eq!([100, 110, 120].map(reason), [None, said, None]);
    }
}
