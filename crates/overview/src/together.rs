//! The steps of all nodes of a controller together.

use crate::history::History;
use crate::joined_ranking::JoinedRanking;
use crate::step::{Step, Totals};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of groups that are kept of a step of all nodes in each ranking.
pub(crate) const JOINED_GROUPS: usize = 500;
/// The number of groups that are kept of each ranking of the last steps, of which more comes.
const MOST_GROUPS: usize = 1 << 14;
/// The number of the last steps, of which more comes; to earlier ones little is added.
const LAST_STEPS: usize = 3;

/// A part of a step of a node, with all that the node had of that step before it came, and has now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodePart<'a> {
    pub(crate) step: &'a Step,
    pub(crate) before: Option<&'a Totals>,
    pub(crate) after: &'a Totals,
}

impl NodePart<'_> {
    fn add_to(&self, totals: &mut Totals) {
        totals.add_part(&self.step.totals, self.before, self.after);
        totals.bound_names();
    }
}

/// One of the last steps.
#[derive(Debug)]
struct LastStep {
    totals: Option<Totals>,
    rankings: [JoinedRanking; 5],
    /// The step as it is shown, until more of it comes.
    shown: Option<Arc<Step>>,
}

impl Default for LastStep {
    fn default() -> Self {
        let rankings = std::array::from_fn(|_| JoinedRanking::of_most(MOST_GROUPS));
        Self { totals: None, rankings, shown: None }
    }
}

impl LastStep {
    fn add(&mut self, part: NodePart<'_>) {
        match &mut self.totals {
            Some(totals) => part.add_to(totals),
            totals @ None => *totals = Some(part.step.totals.clone()),
        }
        for (own, more) in self.rankings.iter_mut().zip(&part.step.rankings) {
            own.add(more);
        }
        self.shown = None;
    }

    fn shown(&mut self, start_ns: u64, length_ns: u64) -> Arc<Step> {
        let shown = self.shown.get_or_insert_with(|| {
            Arc::new(Step {
                start_ns,
                length_ns,
                totals: self.totals.clone().unwrap_or_default(),
                rankings: self.rankings.each_ref().map(|ranking| ranking.ranking(JOINED_GROUPS)),
                ..Step::default()
            })
        });
        Arc::clone(shown)
    }
}

/// The steps of all nodes together.
#[derive(Debug, Default)]
pub(crate) struct Together {
    /// The last steps, by their begin.
    last: BTreeMap<u64, LastStep>,
    /// The steps before these.
    history: History,
}

impl Together {
    /// Adds a part of a step of a node.
    pub(crate) fn add(&mut self, part: NodePart<'_>) {
        let Step { start_ns, length_ns, .. } = *part.step;
        let is_late = self.last.len() == LAST_STEPS
            && self.last.first_key_value().is_some_and(|(first, _)| start_ns < *first);
        if is_late {
            return self.add_late(part);
        }
        self.last.entry(start_ns).or_default().add(part);
        while self.last.len() > LAST_STEPS
            && let Some((start_ns, mut over)) = self.last.pop_first()
        {
            self.history.push(Arc::unwrap_or_clone(over.shown(start_ns, length_ns)), length_ns);
        }
    }

    /// Adds to a step that is over, the rankings of which have few groups.
    fn add_late(&mut self, part: NodePart<'_>) {
        let start_ns = part.step.start_ns;
        let steps = &self.history.steps;
        let at = steps.partition_point(|own| own.start_ns < start_ns);
        if steps.get(at).is_none_or(|own| own.start_ns != start_ns) {
            let mut first = LastStep::default();
            first.add(part);
            let first = first.shown(start_ns, part.step.length_ns);
            return self.history.push(Arc::unwrap_or_clone(first), part.step.length_ns);
        }
        self.history.change(at, |own| {
            part.add_to(&mut own.totals);
            for (own, more) in own.rankings.iter_mut().zip(&part.step.rankings) {
                *own = JoinedRanking::of_all([&*own, more], JOINED_GROUPS);
            }
        });
    }

    /// Returns the end of the newest step.
    pub(crate) fn end(&self, step_ns: u64) -> Option<u64> {
        let last = self.last.last_key_value().map(|(start_ns, _)| start_ns.saturating_add(step_ns));
        last.or(self.history.end())
    }

    /// Forgets steps that end before this time.
    pub(crate) fn forget_before(&mut self, ns: u64, step_ns: u64) {
        self.history.forget_before(ns);
        self.last.retain(|start_ns, _| start_ns.saturating_add(step_ns) > ns);
    }

    /// Returns all steps.
    pub(crate) fn shared(&mut self, step_ns: u64) -> History {
        let mut history = self.history.shared();
        for (start_ns, step) in &mut self.last {
            history.append(step.shown(*start_ns, step_ns));
        }
        history
    }

    /// Returns the memory that the steps take at most, bytes: the last ones have more groups, and a table of each.
    pub(crate) fn most_memory(steps: usize) -> usize {
        use crate::ranking::Leader;
        // Keys, sums and what is known, at twice their number.
        let group = 2 * (2 * size_of::<Leader>() + size_of::<[u64; 2]>());
        let ports_and_protocols = JOINED_GROUPS + 256;
        let step = size_of::<Step>() + (3 * JOINED_GROUPS + ports_and_protocols) * size_of::<Leader>();
        steps * step + LAST_STEPS * 5 * MOST_GROUPS * group
    }
}
