//! The steps that a question is about, taken while the state is locked.

use crate::error::OverviewError;
use crate::group_key::KeyShape;
use crate::history::History;
use crate::ranking::GROUPS;
use crate::setting::MOST_STEPS;
use crate::shared::Shared;
use crate::taking::{groups_of_node, most_memory};
use crate::together::JOINED_GROUPS;
use model::view::now::{Kept, NowKind};

/// The steps of a node.
#[derive(Debug)]
pub(crate) struct NodeSteps {
    pub(crate) name: String,
    pub(crate) shape: KeyShape,
    pub(crate) history: History,
    /// True if the node tells of itself.
    pub(crate) tells: bool,
}

/// The steps that a question is about.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) kind: NowKind,
    pub(crate) step_ns: u64,
    pub(crate) nodes: Vec<NodeSteps>,
    /// The steps of all nodes together, where these are asked about and tell of themselves.
    together: Option<History>,
    minutes_memory: usize,
    /// The number of all nodes that tell of themselves; `None` where none does.
    telling: Option<usize>,
}

impl Snapshot {
    /// Takes the steps of a node, or of all.
    pub(crate) fn take(shared: &mut Shared, name: Option<&str>) -> Result<Self, OverviewError> {
        let nodes = shared.named(name)?;
        let minutes_memory = nodes.iter().map(|node| node.history.minutes_memory()).sum();
        let steps = nodes.iter().map(|node| NodeSteps {
            name: node.name.clone(),
            shape: node.shape,
            history: node.history.shared(),
            tells: node.told.is_some(),
        });
        let nodes = steps.collect();
        let telling = shared.together.as_ref().map(|_| shared.nodes.len());
        let step_ns = shared.step_ns;
        let together = shared.together.as_mut().filter(|_| name.is_none());
        let together = together.map(|together| together.shared(step_ns));
        Ok(Self { kind: shared.kind, step_ns, nodes, together, minutes_memory, telling })
    }

    /// Returns the steps to be joined.
    pub(crate) fn histories(&self) -> Vec<&History> {
        match &self.together {
            Some(together) => vec![together],
            None => self.nodes.iter().map(|node| &node.history).collect(),
        }
    }

    /// Returns true if more may come of the step that begins then: it is not over, or a node that had the one before has not told it yet.
    pub(crate) fn is_open(&self, start_ns: u64) -> bool {
        let before = start_ns.checked_sub(self.step_ns);
        self.nodes.iter().any(|NodeSteps { history, tells, .. }| {
            let is_awaited = || {
                let had_before = before.is_some_and(|before| history.step(before).is_some());
                had_before && history.step(start_ns).is_none()
            };
            history.open.as_ref().is_some_and(|step| step.start_ns == start_ns)
                || *tells && !history.has_ended && is_awaited()
        })
    }

    /// Returns the extent of what is kept.
    pub(crate) fn kept(&self) -> Kept {
        let Self { nodes, together, .. } = self;
        let steps = nodes.iter().map(|node| &node.history).chain(together);
        let memory = self.minutes_memory + steps.map(History::memory).sum::<usize>();
        let (groups, most) = match (self.telling, together) {
            (None, _) => (GROUPS, nodes.len() * History::most_memory(MOST_STEPS)),
            (Some(all), None) => (groups_of_node(all), most_memory(all)),
            (Some(all), Some(_)) => (JOINED_GROUPS, most_memory(all)),
        };
        Kept {
            start_ns: nodes.iter().filter_map(|node| node.history.begin()).min(),
            steps: MOST_STEPS as u32,
            groups_per_step: groups as u32,
            memory_bytes: memory as u64,
            most_memory_bytes: most as u64,
        }
    }
}
