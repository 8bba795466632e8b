//! Windows of different shares: one estimate does not scale the rows of all of them.

use crate::question::{Period, Question, QuestionError};
use flow::Share;
use record::RecordedWindows;
use record::read::Contents;
use std::collections::BTreeMap;
use task::query::Over;

/// The most windows of a sample in one file, so that no file takes time without end.
const MOST_WINDOWS: u64 = 1 << 24;

/// Windows whose packets were sampled alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Alike {
    /// The begins of the first of them and of the last.
    first_ns: u64,
    last_ns: u64,
    /// The least share and the greatest.
    shares: [Share; 2],
}

impl Alike {
    /// The part of it that begins in a time.
    fn within(self, period: Period) -> Option<Self> {
        let (first_ns, last_ns) =
            (self.first_ns.max(period.from_ns), self.last_ns.min(period.to_ns.saturating_sub(1)));
        (first_ns <= last_ns && !period.is_empty()).then_some(Self { first_ns, last_ns, ..self })
    }
}

/// Returns the windows of a file, those of one share that follow each other together. Rows of which no window is told are of all times.
fn windows_of(contents: &Contents) -> Vec<Alike> {
    let Some(windows) = &contents.windows else {
        return vec![Alike { first_ns: 0, last_ns: u64::MAX, shares: [Share::ALL; 2] }];
    };
    let mut all: Vec<Alike> = Vec::new();
    for (first_ns, count, facts) in windows.each() {
        let last_ns = first_ns.saturating_add((count - 1).saturating_mul(windows.length_ns));
        let shares = facts.sample.map_or([Share::ALL; 2], |sample| sample.shares);
        let follows = |last: &&mut Alike| {
            last.shares == shares && last.last_ns.saturating_add(windows.length_ns) == first_ns
        };
        match all.last_mut().filter(follows) {
            Some(last) => last.last_ns = last_ns,
            None => all.push(Alike { first_ns, last_ns, shares }),
        }
    }
    all
}

/// Returns how many windows of a list have a sample.
fn sampled_windows(windows: &RecordedWindows) -> u64 {
    let sampled = windows.each().filter(|(.., facts)| facts.sample.is_some());
    sampled.fold(0, |sum, (_, count, _)| sum.saturating_add(count))
}

/// Returns where an answer joins windows of different shares, and which these are.
fn mixed(mut windows: Vec<Alike>, over: Over) -> Option<(u64, [Share; 2])> {
    windows.sort_unstable_by_key(|alike| (alike.first_ns, alike.last_ns));
    // Of each share, the last window so far.
    let mut before: BTreeMap<Share, u64> = BTreeMap::new();
    for Alike { first_ns, last_ns, shares: [least, greatest] } in windows {
        if least != greatest {
            return Some((first_ns, [least, greatest]));
        }
        let other = before.iter().find(|(share, last)| **share != least && is_one(over, **last, first_ns));
        if let Some((share, _)) = other {
            return Some((first_ns, [least.min(*share), least.max(*share)]));
        }
        let last = before.entry(least).or_insert(last_ns);
        *last = last_ns.max(*last);
    }
    None
}

/// Returns whether some answer has the window that begins at one time and that which begins at a later one.
fn is_one(over: Over, one_ns: u64, later_ns: u64) -> bool {
    match over {
        Over::Windows { every_ns, over_ns } => {
            let every_ns = every_ns.max(1);
            let end_ns = (later_ns / every_ns).saturating_add(1).saturating_mul(every_ns);
            one_ns >= end_ns.saturating_sub(over_ns)
        }
        Over::Run | Over::Window => true,
    }
}

/// Refuses questions some answer to which has windows of different shares. `files`: what each contains, and the time of it that is read.
///
/// # Errors
/// Returns these questions, with the reasons.
pub(crate) fn refuse_mixed<'a>(
    files: impl Iterator<Item = (&'a Contents, &'a Option<Period>)>,
    questions: &[Question],
) -> Result<(), QuestionError> {
    let mut nodes: BTreeMap<Option<&str>, Vec<Alike>> = BTreeMap::new();
    for (contents, clip) in files.filter(|(contents, _)| !contents.is_blank() || contents.windows.is_some()) {
        let sampled = contents.windows.as_ref().map_or(0, sampled_windows);
        if sampled > MOST_WINDOWS {
            return Err(QuestionError::Files(vec![format!(
                "a file has {sampled} windows of a sample, of which no more than {MOST_WINDOWS} are read"
            )]));
        }
        let read = windows_of(contents).into_iter();
        let read = read.filter_map(|alike| clip.map_or(Some(alike), |clip| alike.within(clip)));
        nodes.entry(contents.node.as_deref()).or_default().extend(read);
    }
    let refused = questions.iter().filter_map(|question| {
        let of_nodes = nodes.iter().filter(|(node, _)| (question.runs_on)(**node));
        let mut mixed = of_nodes.filter_map(|(_, windows)| {
            let asked = |alike: &Alike| question.period.map_or(Some(*alike), |period| alike.within(period));
            mixed(windows.iter().filter_map(asked).collect(), question.query.over)
        });
        let (time_ns, shares) = mixed.next()?;
        Some((question.query.name.clone(), reason(time_ns, shares)))
    });
    let refused: Vec<_> = refused.collect();
    if refused.is_empty() { Ok(()) } else { Err(QuestionError::Queries(refused)) }
}

/// Returns why files of a node cannot be replayed together, if windows of a time have different shares.
pub(crate) fn mixed_in<'a>(files: impl Iterator<Item = &'a Contents>, period: Period) -> Option<String> {
    let windows = files.flat_map(windows_of).filter_map(|alike| alike.within(period));
    let (time_ns, [least, greatest]) = mixed(windows.collect(), Over::Run)?;
    Some(format!(
        "its windows are of {least} and of {greatest} of the packets, from {} on, and a dry run takes those of one share: give --to that time, or --from it",
        model::format_time(time_ns)
    ))
}

/// Says why windows of these shares have no answer together.
fn reason(time_ns: u64, [least, greatest]: [Share; 2]) -> String {
    format!(
        "one answer has windows of {least} and of {greatest} of the packets, from {} on, and no estimate scales both: ask about the time before, and \
         about the time from then on",
        model::format_time(time_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow::Sampled;
    use record::WindowFacts;

    const HALF: u32 = 500_000;

    fn share(ppm: u32) -> Share {
        Share::from_ppm(ppm).expect("a share")
    }

    fn facts(ppm: u32) -> WindowFacts {
        let sampled = (ppm != 0).then(|| Sampled::new(share(ppm), 1, 0, 100).into());
        WindowFacts { sample: sampled, ..WindowFacts::default() }
    }

    /// A file with these windows of 10 ns: begin, number, and share; 0 is none.
    fn file(runs: &[(u64, u64, u32)]) -> Contents {
        let mut windows = RecordedWindows::new(10, 10);
        runs.iter().for_each(|(start, count, ppm)| windows.push_run(*start, *count, facts(*ppm)));
        Contents { windows: Some(windows), ..Contents::default() }
    }

    fn at(files: &[Contents], over: Over) -> Option<u64> {
        mixed(files.iter().flat_map(windows_of).collect(), over).map(|(time, _)| time)
    }

    #[test]
    fn answers_with_windows_of_different_shares_are_found() {
        let each = |every_ns, over_ns| Over::Windows { every_ns, over_ns };
        let (half, all) = (file(&[(100, 3, HALF)]), file(&[(130, 2, 0)]));
        let both = [all, half.clone()];
        assert_eq!(at(&both, Over::Run), Some(130));
        for (every, over, expected) in
            [(10, 10, None), (10, 20, Some(130)), (130, 130, None), (50, 50, Some(130)), (60, 60, Some(130))]
        {
            assert_eq!(at(&both, each(every, over)), expected, "{every} {over}");
        }
        // A share of all is no other one, nor is one that comes again.
        assert_eq!(at(&[file(&[(100, 3, 1_000_000)]), file(&[(130, 2, 0)])], Over::Run), None);
        assert_eq!(at(&[half.clone(), file(&[(200, 3, HALF)])], Over::Run), None);
        // Others lie between.
        let between = [half.clone(), file(&[(130, 1, 0)]), file(&[(140, 1, HALF)])];
        assert_eq!(at(&between, each(10, 10)), None);
        assert_eq!(at(&between, each(20, 20)), Some(130));
        assert_eq!(at(&between, each(10, 30)), Some(130));
        // Windows of both in the same time, and rows of no told window.
        assert_eq!(at(&[half.clone(), file(&[(110, 1, 0)])], each(10, 10)), Some(110));
        assert_eq!(at(&[half, Contents::default()], each(10, 10)), Some(100));
    }

    #[test]
    fn a_window_of_several_shares_has_no_answer() {
        let mut joined = facts(HALF);
        joined.add(&facts(0), [100, 110]);
        let mut windows = RecordedWindows::new(10, 10);
        windows.push(100, joined);
        let file = Contents { windows: Some(windows), ..Contents::default() };
        let found = mixed(windows_of(&file), Over::Windows { every_ns: 10, over_ns: 10 });
        assert_eq!(found, Some((100, [share(HALF), Share::ALL])));
        assert!(reason(0, [share(HALF), Share::ALL]).contains("of 50% and of 100% of the packets"));
    }
}
