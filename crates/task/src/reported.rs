//! Facts about a window that are known once it is reported, after its tasks were answered: losses widen their bounds, and windows that were
//! watched only in part are not compared.

use crate::answer;
use crate::answering::Answering;
use crate::forecast::Smoothing;
use crate::spec::TaskKind;
use crate::task_answer::{NOT_COMPARED, TaskAnswer, TaskRows};
use flow::{Sampled, Untold, WindowId};
use std::collections::BTreeMap;

/// Windows that are remembered: as many as a change can be measured against, and more.
const REMEMBERED: usize = 64;

/// The facts about a window that are known once it is reported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReportedFacts {
    /// Packets lost in its time before tasks could count them; `None` where a source cannot know.
    pub lost: Option<u64>,
    /// True if the window was watched only in part.
    pub is_cut: bool,
    /// The sampling of the window's packets; `None`: all were taken.
    pub sampled: Option<Sampled>,
    /// Numbers of its packets and records that did not tell a value, which was counted as 0.
    pub untold: Untold,
}

/// Describes a window that was watched as a whole.
impl From<Option<u64>> for ReportedFacts {
    fn from(lost: Option<u64>) -> Self {
        Self { lost, is_cut: false, sampled: None, untold: Untold::default() }
    }
}

/// The last windows that were reported.
#[derive(Debug, Default)]
pub(crate) struct ReportedWindows(BTreeMap<WindowId, ReportedFacts>);

impl ReportedWindows {
    /// Makes the answers of a window those of its report.
    pub(crate) fn finish(
        &mut self,
        set: &Answering,
        window: WindowId,
        (reported, is_lacking): (ReportedFacts, bool),
        answers: &mut [TaskAnswer],
    ) {
        set.forecast(window, !reported.is_cut && !is_lacking, answers);
        for (answer, task) in answers.iter_mut().zip(&set.tasks.tasks) {
            let smoothing = Smoothing::of_task(&task.spec);
            // A forecast comes of all windows before it, those long ago hardly.
            let back = if smoothing.is_some() { REMEMBERED } else { task.spec.windows_back() };
            let before = window.back(back as u64).max(set.since)..window;
            let earlier = self.0.range(before).map(|(_, reported)| *reported);
            let lost = earlier.clone().map(|reported| reported.lost);
            let lost = lost.reduce(|sum, lost| Some(sum?.saturating_add(lost?))).unwrap_or(Some(0));
            match reported.sampled.filter(|sampled| !sampled.is_whole()) {
                Some(sampled) => {
                    answer::scale_to_all(answer, &task.spec, &sampled);
                    // What a ring had no room for was sampled, and is in those bounds.
                    let by_source = reported.lost.map(|lost| lost.saturating_sub(sampled.lost()));
                    answer::widen(answer, &task.spec, by_source, Some(0));
                }
                None => answer::widen(answer, &task.spec, reported.lost, lost),
            }
            if smoothing.is_some_and(Smoothing::has_trend) && lost.is_some_and(|lost| lost > 0) {
                // A trend carries on what a window lacks.
                answer.forget_bounds();
            }
            let mut untold = reported.untold;
            earlier.clone().for_each(|reported| untold.add(&reported.untold));
            answer.mark_untold(&answer::untold_of(task, &untold));
            // A forecast leaves out windows that were not watched as a whole.
            let is_compared = |earlier: &ReportedFacts| earlier.is_cut && smoothing.is_none();
            let cut = match (reported.is_cut, earlier.filter(is_compared).count()) {
                (true, _) => Some("this window was watched only in part"),
                (false, 1..) => Some("a window before this one was not watched or counted as a whole"),
                (false, 0) => None,
            };
            if let (TaskKind::Change, Some(why)) = (task.spec.kind, cut) {
                not_compared(answer, why, reported.is_cut);
            }
        }
        self.0.insert(window, reported);
        while self.0.len() > REMEMBERED {
            self.0.pop_first();
        }
    }

    /// Notes that this window lacks something: no other is compared with it.
    pub(crate) fn mark_lacking(&mut self, window: WindowId) {
        self.0.entry(window).and_modify(|reported| reported.is_cut = true);
    }
}

/// An answer without changes, which says why.
fn not_compared(answer: &mut TaskAnswer, why: &str, is_cut: bool) {
    if let TaskRows::Flows { flows, .. } = &mut answer.rows {
        flows.clear();
    }
    // What keeps the window from being whole at all is said first.
    if !answer.status.starts_with("incomplete") {
        answer.status = format!("{}: {why}", if is_cut { NOT_COMPARED } else { "nothing to compare with" });
    }
}
