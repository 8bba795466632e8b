//! What files tell of windows besides their rows.

use crate::question::Period;
use record::read::Contents;
use record::{RecordedWindows, WindowFacts};
use report::{Answer, Span};
use std::sync::Arc;
use task::rows::Unplaced;

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
        found.extend(starts.map(|start_ns| (start_ns, Unplaced { packets, bytes, wire_bytes })));
    }
    let told = found.iter().fold(0_u64, |sum, (_, unplaced)| sum.saturating_add(unplaced.packets));
    contents.without_place.is_none_or(|all| all.packets == told).then_some(found)
}

fn begins(windows: &RecordedWindows, start_ns: u64, count: u64) -> impl Iterator<Item = u64> {
    let length_ns = windows.length_ns;
    (0..count).map(move |number| start_ns.saturating_add(number.saturating_mul(length_ns)))
}

/// Rows that were measured, or read, and that no file has: they came faster than they were written, or found no memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct RefusedRows(Vec<Refused>);

#[derive(Clone, Debug)]
struct Refused {
    node: Option<Arc<str>>,
    /// The begin of the first window, and that of the last.
    first_ns: u64,
    last_ns: u64,
    length_ns: u64,
    /// Of all of them together.
    rows: u64,
    /// More may be missing.
    incomplete: bool,
}

impl RefusedRows {
    /// Adds those of a file whose rows of a time are read.
    pub(crate) fn add(&mut self, contents: &Contents, clip: Option<Period>, node: &Option<Arc<str>>) {
        let Some(windows) = &contents.windows else { return };
        let lacks = |facts: &WindowFacts| facts.refused_rows != 0 || facts.incomplete;
        for (start_ns, count, facts) in windows.each().filter(|(_, _, facts)| lacks(facts)) {
            let length_ns = windows.length_ns;
            let last_ns = start_ns.saturating_add((count - 1).saturating_mul(length_ns));
            let is_read = clip.is_none_or(|clip| start_ns < clip.to_ns && last_ns >= clip.from_ns);
            let rows = facts.refused_rows.saturating_mul(count);
            self.0.extend(is_read.then(|| Refused {
                node: node.clone(),
                first_ns: start_ns,
                last_ns,
                length_ns,
                rows,
                incomplete: facts.incomplete,
            }));
        }
    }

    /// Says in an answer how many rows of its time it lacks.
    pub(crate) fn describe(&self, answer: &mut Answer, node: &Option<Arc<str>>, period: Option<Period>) {
        let is_of_window = |refused: &Refused, window: Span| {
            refused.first_ns < window.end_ns
                && refused.last_ns.saturating_add(refused.length_ns) > window.start_ns
        };
        let is_of = |refused: &&Refused| {
            refused.node == *node
                && answer.window.is_none_or(|window| is_of_window(refused, window))
                && period
                    .is_none_or(|period| refused.first_ns < period.to_ns && refused.last_ns >= period.from_ns)
        };
        let (rows, incomplete) =
            self.0.iter().filter(is_of).fold((0_u64, false), |(rows, incomplete), refused| {
                (rows.saturating_add(refused.rows), incomplete | refused.incomplete)
            });
        if rows != 0 {
            answer.lacks(&format!("{rows} rows could not be written"));
        }
        if incomplete {
            answer.lacks("what its rows were imported from may lack some");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::read::WithoutKey;
    use report::Status;

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
            assert_eq!(answer.reason.is_some(), answer.status == Status::Partial);
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
    fn answers_say_that_rows_may_be_missing_in_their_time() {
        let of = |incomplete| WindowFacts { incomplete, ..WindowFacts::default() };
        let mut refused = RefusedRows::default();
        refused.add(&contents(&[of(false), of(true), of(false)]), None, &None);
        let reason = |start_ns| {
            let window = Some(Span { start_ns, end_ns: start_ns + 10 });
            let mut answer = Answer::new("q", window, Vec::new(), Vec::new());
            refused.describe(&mut answer, &None, None);
            assert_eq!(answer.reason.is_some(), answer.status == Status::Partial);
            answer.reason
        };
        let said = Some("what its rows were imported from may lack some".to_owned());
        assert_eq!([100, 110, 120].map(reason), [None, said, None]);
    }
}
