//! Judges the newest step, or the newest minute, of a node.

use super::rules;
use crate::entries::Finding;
use crate::history::History;
use crate::node::Node;
use crate::step::Step;
use crate::thresholds::PAST_NS;
use model::Span;
use model::view::unusual::UnusualRule;

/// Judges what is new of a node.
pub(crate) struct Judge<'a>(&'a mut Node);

impl<'a> Judge<'a> {
    pub(crate) fn new(node: &'a mut Node) -> Self {
        Self(node)
    }

    /// Judges the newest step that is over.
    pub(crate) fn step(self) {
        let Some(step) = self.0.history.steps.back() else { return };
        let span = step.span();
        let past = past(&self.0.history, step.start_ns);
        let mut findings = rising(self.0, step, &past);
        findings.extend(rules::silence(self.0, step, &past));
        let rules = [UnusualRule::Loss, UnusualRule::Heavy, UnusualRule::Silence];
        self.0.entries.take(&rules, span, findings, false);
    }

    /// Judges what there is of the step that is not over: what is too much already only grows.
    pub(crate) fn open_step(self) {
        let Some(step) = &self.0.history.open else { return };
        let span = step.span();
        let findings = rising(self.0, step, &past(&self.0.history, step.start_ns));
        self.0.entries.take(&[UnusualRule::Loss, UnusualRule::Heavy], span, findings, true);
    }

    /// Judges who reached whom in the newest minute.
    pub(crate) fn minute(self) {
        let Some(minute) = self.0.history.minutes.back() else { return };
        let (span, is_open): (Span, bool) = (minute.span, minute.is_open);
        let findings = [rules::scan(self.0, minute), rules::many_to_one(self.0, minute)].concat();
        self.0.entries.take(&[UnusualRule::Scan, UnusualRule::ManyToOne], span, findings, is_open);
    }
}

/// Returns what is too much.
fn rising(node: &Node, step: &Step, past: &[&Step]) -> Vec<Finding> {
    [rules::loss(node, step, past), rules::heavy(node, step, past)].concat()
}

/// Returns the steps of the hour before a time, the oldest first.
fn past(history: &History, before_ns: u64) -> Vec<&Step> {
    let from_ns = before_ns.saturating_sub(PAST_NS);
    let is_past = |step: &&Step| step.start_ns >= from_ns && step.start_ns < before_ns;
    history.steps.iter().map(|step| &**step).filter(is_past).collect()
}
