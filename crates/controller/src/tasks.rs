//! What nodes are told.

use crate::controller::{Actions, Controller};
use protocol::{ListId, Task, TaskList, ToProbe};
use report::Span;

impl Controller {
    /// Sends each node the list of what it is to answer, where that has changed.
    pub(crate) fn send_tasks(&mut self, actions: &mut Actions) {
        let Self { chain, machine, nodes, list: last, setting, .. } = self;
        for (number, node) in nodes.iter_mut().enumerate() {
            if node.has_ended() {
                continue;
            }
            let queries = || chain.graph.queries.iter().zip(&chain.nodes).zip(&chain.tasks);
            let standing = queries()
                .filter(|((query, nodes), _)| query.trigger.is_none() && nodes.contains(&number))
                .map(|(_, task)| Task { query: task.clone(), time: None });
            let runs = machine.runs().iter().filter(|run| chain.nodes[run.query].contains(&number));
            let triggered = runs.map(|run| Task {
                query: chain.tasks[run.query].clone(),
                time: Some(Span { start_ns: run.start_ns, end_ns: run.end_ns }),
            });
            let tasks: Vec<Task> = standing.chain(triggered).collect();
            if node.tasks.as_ref().is_some_and(|last| last.tasks == tasks) {
                continue;
            }
            last.generation = last.generation.saturating_add(1);
            let (ListId { epoch, generation }, key) = (*last, setting.key.clone());
            let list = TaskList { epoch, generation, key, tasks, ..TaskList::default() };
            node.health.wanted = Some(list.id());
            node.health.refused = None;
            node.tasks = Some(list.clone());
            actions.send.push((number, ToProbe::Tasks(list)));
        }
    }

    /// Lets replays enter windows. What fires in a window that is not settled runs in the next but one at the earliest
    /// (`docs/equery.md`, rule 3), so all windows but the one before must be settled.
    pub(crate) fn let_enter(&mut self, actions: &mut Actions) {
        let Some(settled_ns) = self.settled_ns else { return };
        let until_ns = settled_ns.saturating_add(self.setting.window_ns);
        for (number, node) in self.nodes.iter_mut().enumerate() {
            if node.waits_ns.is_some_and(|waits| waits <= until_ns) {
                node.waits_ns = None;
                actions.send.push((number, ToProbe::Enter { until_ns }));
            }
        }
    }
}
