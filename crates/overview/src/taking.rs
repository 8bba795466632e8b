//! What a controller does with what its nodes tell of their traffic.

use crate::node::{Node, Told};
use crate::overview::Overview;
use crate::ranking::Leader;
use crate::report::TrafficReport;
use crate::report_check::{CheckedReport, MOST_WATCHED, WATCHED_TOO_LONG};
use crate::setting::{MOST_STEPS, OverviewSetting};
use crate::shared::Shared;
use crate::step::{Step, Totals};
use crate::together::{NodePart, Together};

/// The groups that are kept of a step in each ranking, of all nodes by themselves.
const GROUPS_OF_ALL: usize = 6_000;
/// The least and the most groups that are kept of a node.
const GROUPS_OF_NODE: [usize; 2] = [5, crate::ranking::GROUPS];

/// What was taken of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The number of steps, and of lists of what is unusual, that are refused.
    pub refused: u64,
    /// Why the first one is.
    pub wrong: Option<&'static str>,
    /// The number of steps that are older than what is kept.
    pub old: u64,
}

impl Overview {
    /// Creates the overview of a controller, whose nodes tell of themselves. Their numbers are their places here.
    pub fn of_nodes(setting: OverviewSetting, nodes: &[String]) -> Self {
        let overview = Self::new(setting);
        let mut shared = overview.shared();
        shared.nodes = nodes.iter().map(|name| Node::told(name)).collect();
        shared.together = Some(Together::default());
        drop(shared);
        overview
    }

    /// Takes what a node tells with a window that ends at `until_ns`.
    pub fn take(&self, node: usize, report: TrafficReport, until_ns: u64) -> Taken {
        let mut shared = self.shared();
        let step_ns = shared.step_ns;
        let Some(name) = shared.nodes.get(node).map(|node| node.name.clone()) else {
            return Taken::default();
        };
        drop(shared);
        let CheckedReport { shape, steps, unusual, refused: (refused, wrong) } =
            report.checked(&name, step_ns, until_ns);
        let mut taken = Taken { refused, wrong, old: 0 };
        shared = self.shared();
        for step in steps {
            shared.take_step(node, step, &mut taken);
        }
        let own = &mut shared.nodes[node];
        own.history.has_ended = false;
        if refused == 0 {
            own.shape = shape;
        }
        let told = own.told.get_or_insert_default();
        // With the end of a run no window comes.
        let at_ns = told.at_ns.max(if until_ns == u64::MAX { 0 } else { until_ns });
        *told = Told { unusual: unusual.or(told.unusual.take()), at_ns };
        taken
    }

    /// Takes note that nothing follows of a node.
    pub fn end(&self, node: usize) {
        if let Some(node) = self.shared().nodes.get_mut(node) {
            node.history.has_ended = true;
        }
    }
}

impl Shared {
    fn take_step(&mut self, node: usize, step: Step, taken: &mut Taken) {
        let step_ns = self.step_ns;
        let kept_ns = step_ns.saturating_mul(MOST_STEPS as u64);
        let newest_ns = self.end();
        let end_ns = newest_ns.unwrap_or(0).max(step.span().end_ns);
        let first_ns = end_ns.saturating_sub(kept_ns);
        if step.span().end_ns <= first_ns {
            taken.old += 1;
            return;
        }
        let groups = groups_of_node(self.nodes.len());
        let Self { nodes, together, .. } = self;
        let own = &mut nodes[node].history;
        let before: Option<Totals> = own.step(step.start_ns).map(|own| own.totals.clone());
        let watched_ns = before.as_ref().map_or(0, |before| before.watched_ns);
        if watched_ns.saturating_add(step.totals.watched_ns) > MOST_WATCHED.saturating_mul(step_ns) {
            taken.refused += 1;
            taken.wrong.get_or_insert(WATCHED_TOO_LONG);
            return;
        }
        own.push(step.clone(), step_ns);
        own.list(step.start_ns, groups);
        let after = own.step(step.start_ns).map(|own| own.totals.clone()).unwrap_or_default();
        if let Some(together) = together {
            together.add(NodePart { step: &step, before: before.as_ref(), after: &after });
            together.forget_before(first_ns, step_ns);
        }
        if newest_ns != Some(end_ns) {
            nodes.iter_mut().for_each(|node| node.history.forget_before(first_ns));
        }
    }
}

/// Returns the number of groups that are kept of a node in each ranking.
pub(crate) fn groups_of_node(nodes: usize) -> usize {
    let [least, most] = GROUPS_OF_NODE;
    (GROUPS_OF_ALL / nodes.max(1)).clamp(least, most)
}

/// Returns the memory that this number of nodes takes at most, bytes, as they are kept where they tell of themselves.
pub(crate) fn most_memory(nodes: usize) -> usize {
    let step = size_of::<Step>() + 5 * groups_of_node(nodes) * size_of::<Leader>();
    nodes * (MOST_STEPS + 1) * step + Together::most_memory(MOST_STEPS)
}
