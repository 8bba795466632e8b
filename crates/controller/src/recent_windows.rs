//! Queries that answer in the window that fired: nodes are asked for what they have kept of it.

use crate::awaited::Awaited;
use crate::controller::{Actions, Controller, ControllerOutput};
use crate::health::UNASKED;
use events::{EventKey, Find, ObservedWindow, QueryRun, QueryWindow};
use model::{Answer, Span};
use protocol::{LookBackTask, LookedBack, RetentionLimits};
use std::collections::BTreeSet;
use task::query::Query;

impl Controller {
    /// Asks for what the queries that fire in these windows are to find in them. Returns whether all is there, or will not come.
    pub(crate) fn query_recent_windows(&mut self, end_ns: u64, actions: &mut Actions) -> bool {
        let mut awaited = self.awaited.take().unwrap_or(Awaited {
            end_ns,
            since_ns: self.clock.map(|clock| clock.now_ns),
            asked: Vec::new(),
            given_up: BTreeSet::new(),
        });
        self.give_up(&mut awaited, actions);
        // What is there may start others in the same window.
        while awaited.asked.is_empty() {
            let wanted = self.wanted(end_ns, &awaited.given_up);
            if wanted.is_empty() {
                return true;
            }
            for (run, node, window) in wanted {
                if self.is_there(node) {
                    self.last_retrospective_id += 1;
                    let queries = vec![self.query_of(&run)];
                    let task = LookBackTask { id: self.last_retrospective_id, window, queries };
                    awaited.asked.push((node, task));
                } else {
                    awaited.given_up.insert((run.query, node, run.instance));
                }
            }
        }
        self.awaited = Some(awaited);
        false
    }

    /// Returns what runs that begin in these windows lack: the run, a node and a window.
    fn wanted(
        &self,
        end_ns: u64,
        given_up: &BTreeSet<(usize, usize, EventKey)>,
    ) -> Vec<(QueryRun, usize, Span)> {
        let ended = self.ended();
        let find: &Find<'_> = &|asked: QueryWindow<'_>| ended.seen(asked);
        let step = self.timeline.now().clone().step(end_ns, find);
        let mut wanted = Vec::new();
        for run in step.started.into_iter().map(|started| started.run).filter(|run| run.looks_back) {
            let of = &self.chain.graph.queries[run.query];
            let window = Span { start_ns: end_ns.saturating_sub(of.over_ns), end_ns };
            for &node in of.nodes.iter().filter(|node| run.is_on(**node)) {
                let asked = QueryWindow { query: run.query, node, instance: &run.instance, window };
                let is_missing = matches!(ended.seen(asked), ObservedWindow::Missing);
                let is_wanted = !given_up.contains(&(run.query, node, run.instance.clone()));
                // Another firing may have asked for the same.
                let is_new = !wanted.iter().any(|(other, at, _): &(QueryRun, usize, Span)| {
                    (other.query, *at, &other.instance) == (run.query, node, &run.instance)
                });
                if is_missing && is_wanted && is_new && self.nodes[node].may_have(window) {
                    wanted.push((run.clone(), node, window));
                }
            }
        }
        wanted
    }

    /// Returns true if a node can be asked: a live one that has ended cannot.
    fn is_there(&self, node: usize) -> bool {
        self.setting.is_replay || !self.nodes[node].has_ended()
    }

    /// Waits no longer for nodes that are silent for the grace, or have left.
    fn give_up(&mut self, awaited: &mut Awaited, actions: &mut Actions) {
        let grace_ns = self.chain.graph.settings.grace_ns;
        let waited =
            self.clock.zip(awaited.since_ns).map(|(clock, since)| clock.now_ns.saturating_sub(since));
        let is_over = waited.is_some_and(|waited| waited >= grace_ns);
        let (gone, left): (Vec<_>, Vec<_>) =
            awaited.asked.drain(..).partition(|(node, _)| is_over || !self.is_there(*node));
        awaited.asked = left;
        for (node, task) in gone {
            self.give_up_task(awaited, node, &task, "it did not say in time what it has kept", actions);
        }
    }

    fn give_up_task(
        &self,
        awaited: &mut Awaited,
        node: usize,
        task: &LookBackTask,
        reason: &str,
        actions: &mut Actions,
    ) {
        for query in &task.queries {
            let instance = query.bound.iter().map(|item| (&item.value).into()).collect();
            let number = self.query_number(&query.name);
            awaited.given_up.extend(number.map(|number| (number, node, instance)));
        }
        let name = &self.chain.graph.nodes[node];
        let queries: Vec<&str> = task.queries.iter().map(|query| query.name.as_str()).collect();
        let line =
            format!("{name}: {} is not answered in the window that fired: {reason}", queries.join(", "));
        actions.show.push(ControllerOutput::Warning(line));
    }

    /// Takes what a node has kept.
    pub(crate) fn take_looked_back(&mut self, node: usize, looked: LookedBack, actions: &mut Actions) {
        let is_it = |(of, task): &(usize, LookBackTask)| *of == node && task.id == looked.id;
        let at = self.awaited.as_ref().and_then(|awaited| awaited.asked.iter().position(is_it));
        let Some((mut awaited, at)) = self.awaited.take_if(|_| at.is_some()).zip(at) else {
            self.nodes[node].health.count_rejected(UNASKED, looked.answers.len());
            return;
        };
        let (_, task) = awaited.asked.remove(at);
        let (came, mut taken) = (looked.answers.len(), 0);
        for answer in looked.answers {
            let is_asked = |query: &Query| query.name == answer.query && query.bound == answer.bound;
            let fits = answer.window == Some(task.window) && task.queries.iter().any(is_asked);
            let number = self.query_number(&answer.query).filter(|_| fits && self.has_columns(&answer));
            let Some(number) = number else { continue };
            let name = self.chain.graph.nodes[node].clone();
            let answer = Answer { node: Some(name), late: false, revision: 0, ..answer };
            actions.show.push(ControllerOutput::Answer(Box::new(self.as_shown(answer.clone()))));
            self.settling.answers.entry((number, node)).or_default().push(answer);
            taken += 1;
        }
        self.nodes[node].health.count_rejected(UNASKED, came - taken);
        if taken == 0 {
            let reason = looked.missing.unwrap_or_else(|| "it has kept none of it".to_owned());
            self.give_up_task(&mut awaited, node, &task, &reason, actions);
        }
        self.awaited = Some(awaited);
    }

    /// Settles the window that waits, without what has not come.
    pub(crate) fn settle_awaited(&mut self, actions: &mut Actions) {
        while let Some(mut awaited) = self.awaited.take() {
            let end_ns = awaited.end_ns;
            for (node, task) in std::mem::take(&mut awaited.asked) {
                self.give_up_task(&mut awaited, node, &task, "the queries were changed first", actions);
            }
            self.awaited = Some(awaited);
            if self.judge(end_ns, actions).is_some() {
                self.settled_ns = Some(end_ns);
            }
        }
    }

    /// Returns the query that nodes compute for a run.
    pub(crate) fn query_of(&self, run: &QueryRun) -> Query {
        let bound = self.chain.graph.queries[run.query].pinned_by(&run.instance);
        self.chain.tasks[run.query].with_bound(bound)
    }

    /// Returns what a node is asked and has not answered.
    pub(crate) fn retrospective_tasks(&self, node: usize) -> Vec<LookBackTask> {
        let asked = self.awaited.iter().flat_map(|awaited| &awaited.asked);
        asked.filter(|(of, _)| *of == node).map(|(_, task)| task.clone()).collect()
    }

    /// Returns what nodes are to keep: the windows of the longest query that looks back, and those that pass until it is asked.
    pub(crate) fn to_keep(&self, node: usize) -> Option<RetentionLimits> {
        let settings = &self.chain.graph.settings;
        let looks_back = |query: &usize| {
            let trigger = self.chain.graph.queries[*query].trigger.as_ref();
            self.chain.nodes[*query].contains(&node) && trigger.is_some_and(events::QueryTrigger::looks_back)
        };
        let queries = (0..self.chain.graph.queries.len()).filter(looks_back);
        let longest = queries.map(|query| self.chain.graph.queries[query].over_ns).max()?;
        let window_ns = self.setting.window_ns.max(1);
        // A second for the way to the nodes.
        let passing = settings.grace_ns.saturating_mul(2).saturating_add(1_000_000_000).div_ceil(window_ns);
        let windows = longest.div_ceil(window_ns).saturating_add(passing).saturating_add(1);
        Some(RetentionLimits { windows, flows: settings.look_back_flows })
    }
}
