//! Windows that a period cuts. What only windows tell cannot be cut: a window is counted where it begins.

use crate::question::Period;
use model::{Answer, Span, format_time};
use record::read::Contents;
use std::collections::BTreeSet;
use task::query::Over;

/// A period that cuts windows, and the one that is told in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    asked: Period,
    /// The period that is answered in its place, in which the same rows count.
    pub(crate) told: Period,
    /// Windows that begin before the period, which are left out.
    left_out: BTreeSet<[u64; 2]>,
    /// Windows that end behind it, which are counted.
    counted: BTreeSet<[u64; 2]>,
}

impl Cut {
    /// Returns the period that is told in the place of one that cuts windows; `None` if it cuts none. `windows_at`: the windows with rows
    /// that a time cuts.
    pub(crate) fn from_period(asked: Period, windows_at: &dyn Fn(u64) -> BTreeSet<[u64; 2]>) -> Option<Self> {
        if asked.is_empty() {
            return None;
        }
        let left_out = windows_at(asked.from_ns);
        let mut counted = windows_at(asked.to_ns);
        counted.retain(|[begin_ns, _]| *begin_ns >= asked.from_ns);
        // Of windows of several lengths there is no one time that all of them tell.
        let end_of = |windows: &BTreeSet<[u64; 2]>, time_ns| {
            let ends: BTreeSet<u64> = windows.iter().map(|[_, end_ns]| *end_ns).collect();
            if ends.len() == 1 { ends.first().copied().unwrap_or(time_ns) } else { time_ns }
        };
        let from_ns = end_of(&left_out, asked.from_ns);
        let to_ns = end_of(&counted, asked.to_ns).max(from_ns);
        let is_cut = !left_out.is_empty() || !counted.is_empty();
        is_cut.then_some(Self { asked, told: Period { from_ns, to_ns }, left_out, counted })
    }

    /// Says in an answer of its query which windows are not whole in the period.
    pub(crate) fn describe(&self, answer: &mut Answer, over: &Over) {
        let is_over_all = *over == Over::Run;
        let is_of = |[begin_ns, end_ns]: &&[u64; 2]| {
            let overlaps = |window: Span| window.start_ns < *end_ns && *begin_ns < window.end_ns;
            is_over_all || answer.window.is_none_or(overlaps)
        };
        let said = |windows: &BTreeSet<[u64; 2]>, [one, several]: [&str; 2]| {
            let mut of_answer = windows.iter().filter(is_of);
            let [begin, end] = of_answer.next()?.map(format_time);
            Some(match of_answer.count() {
                0 => format!("the window from {begin} to {end} {one}"),
                more => format!("the window from {begin} to {end} and {more} more {several}"),
            })
        };
        const LEFT_OUT: [&str; 2] =
            ["begins before the period and is left out", "begin before the period and are left out"];
        const COUNTED: [&str; 2] =
            ["ends behind the period and is counted whole", "end behind the period and are counted whole"];
        let reasons = [said(&self.left_out, LEFT_OUT), said(&self.counted, COUNTED)];
        reasons.iter().flatten().for_each(|reason| answer.mark_partial(reason));
        if let Some(coverage) = answer.coverage {
            let share = match answer.window.filter(|_| !is_over_all) {
                None => self.share_told(answer),
                Some(window) => self.share_told_of(window),
            };
            answer.coverage = Some(coverage * share);
        }
    }

    /// The share of the time asked about in an answer's window that is told.
    fn share_told_of(&self, window: Span) -> f64 {
        let start_ns = window.start_ns.max(self.asked.from_ns);
        let end_ns = window.end_ns.min(self.asked.to_ns).max(start_ns);
        let told = end_ns - self.told.from_ns.clamp(start_ns, end_ns);
        if told == end_ns - start_ns { 1.0 } else { told as f64 / (end_ns - start_ns) as f64 }
    }

    /// The share of the time asked about that is told, as far as the answer reaches.
    fn share_told(&self, answer: &Answer) -> f64 {
        let ends = answer.window.iter().chain(answer.missing.iter().map(|one| &one.span));
        let end_ns = ends.map(|span| span.end_ns).max().unwrap_or(u64::MAX);
        let end_ns = end_ns.min(self.asked.to_ns).max(self.told.from_ns);
        let left_out = self.told.from_ns.saturating_sub(self.asked.from_ns);
        let told = end_ns.saturating_sub(self.told.from_ns);
        if left_out == 0 { 1.0 } else { told as f64 / (told as f64 + left_out as f64) }
    }
}

/// Windows that a file has and that a time cuts.
pub(crate) fn windows_at(time_ns: u64, contents: &Contents) -> impl Iterator<Item = [u64; 2]> {
    contents.windows.iter().flat_map(move |windows| {
        let length_ns = windows.length_ns.max(1);
        let within = windows.each().filter_map(move |(start_ns, count, _)| {
            let number = time_ns.checked_sub(start_ns)? / length_ns;
            let begin_ns = start_ns.saturating_add(number.saturating_mul(length_ns));
            (number < count && begin_ns < time_ns).then(|| [begin_ns, begin_ns.saturating_add(length_ns)])
        });
        within.collect::<Vec<_>>()
    })
}
