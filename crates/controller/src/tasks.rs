//! The task lists that nodes are sent, and the windows that replays may enter.

use crate::controller::{Actions, Controller};
use model::Span;
use protocol::{Instance, ListId, Task, TaskList, ToProbe};

impl Controller {
    /// Sends each node the list of what it is to answer, where that has changed.
    pub(crate) fn send_tasks(&mut self, actions: &mut Actions) {
        let asked = self.awaited.as_ref().map_or(&[][..], |awaited| &awaited.asked);
        let version = self.listed.version_of(self.timeline.now().runs(), asked, &self.capturing);
        for number in 0..self.nodes.len() {
            // A replay that has ended still has what it has kept.
            let is_gone =
                self.nodes[number].has_ended() && !(self.setting.is_replay && self.awaited.is_some());
            if is_gone || self.nodes[number].listed == Some(version) {
                continue;
            }
            self.nodes[number].listed = Some(version);
            let list = TaskList {
                key: self.setting.key.clone(),
                tasks: self.tasks(number),
                look_back: self.to_keep(number),
                look_backs: self.retrospective_tasks(number),
                captures: self.captures(number),
                history: self.history(number),
                ..TaskList::default()
            };
            let node = &mut self.nodes[number];
            let is_same = |last: &TaskList| {
                let TaskList { epoch, generation, .. } = *last;
                TaskList { epoch, generation, ..list.clone() } == *last
            };
            if node.tasks.as_ref().is_some_and(is_same) {
                continue;
            }
            self.list.generation = self.list.generation.saturating_add(1);
            let ListId { epoch, generation } = self.list;
            let list = TaskList { epoch, generation, ..list };
            node.health.wanted = Some(list.id());
            node.health.refused = None;
            node.tasks = Some(list.clone());
            actions.send.push((number, ToProbe::Tasks(list)));
        }
    }

    /// The queries that a node answers: those that always run, and those that firings have started.
    fn tasks(&self, node: usize) -> Vec<Task> {
        let mut tasks = Vec::new();
        for (query, of) in self.chain.graph.queries.iter().enumerate() {
            if !self.chain.nodes[query].contains(&node) {
                continue;
            }
            let task = self.chain.tasks[query].clone();
            let Some(trigger) = &of.trigger else {
                tasks.push(Task { query: task, time: None, instances: Vec::new() });
                continue;
            };
            let runs = self.timeline.now().runs().iter();
            let runs = runs.filter(|run| run.query == query && !run.looks_back && run.is_on(node));
            let time = |run: &events::QueryRun| Span { start_ns: run.start_ns, end_ns: run.end_ns };
            if !trigger.has_fields() {
                let task = |run| Task { query: task.clone(), time: Some(time(run)), instances: Vec::new() };
                tasks.extend(runs.map(task));
                continue;
            }
            let instance =
                |run: &events::QueryRun| Instance { bound: trigger.pinned(&run.instance), time: time(run) };
            let instances: Vec<Instance> = runs.map(instance).collect();
            if !instances.is_empty() {
                tasks.push(Task { query: task, time: None, instances });
            }
        }
        tasks
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
