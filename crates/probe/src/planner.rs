//! From a task list to task sets.

use engine::{Control, WindowId};
use protocol::TaskList;
use report::Span;
use std::collections::BTreeSet;
use std::sync::Arc;
use task::query::Query;
use task::rows::Site;
use task::{Generation, TaskSet};

/// Makes the task sets of a node.
#[derive(Debug)]
pub struct Planner {
    site: Site,
    /// Queries of each set: the node's own, which no list has.
    own: Vec<Query>,
    /// The last set.
    generation: u64,
}

impl Planner {
    /// A planner for a run whose windows are a time. `own`: queries that are answered whatever a list says.
    pub fn new(site: Site, own: Vec<Query>) -> Self {
        Self { site, own, generation: 0 }
    }

    /// The set that the run begins with.
    ///
    /// # Errors
    /// All refusals of the node's own queries, in one line.
    pub fn first(&self) -> Result<Arc<TaskSet>, String> {
        self.plan(&[], &[], self.generation)
    }

    fn plan(&self, standing: &[Query], others: &[Query], generation: u64) -> Result<Arc<TaskSet>, String> {
        let queries = [&self.own[..], standing].concat();
        let set = TaskSet::plan_with(Generation::new(generation), &queries, others, None, &self.site);
        set.map(Arc::new).map_err(|refused| {
            let lines = refused.iter().map(|(query, refusal)| format!("{query}: {refusal}"));
            lines.collect::<Vec<_>>().join("; ")
        })
    }

    /// Installs a list: a set for each time in which the same tasks are answered, from the first window on that may still be.
    pub(crate) fn install(&mut self, control: &Control, list: &TaskList) -> Result<(), String> {
        let Some(window_ns) = self.site.window_ns.filter(|length| *length != 0) else {
            return Err("tasks need windows of time".to_owned());
        };
        let standing: Vec<Query> =
            list.tasks.iter().filter(|task| task.time.is_none()).map(|task| task.query.clone()).collect();
        let times = list.tasks.iter().filter_map(|task| task.time);
        let changes: BTreeSet<u64> =
            times.flat_map(|Span { start_ns, end_ns }| [start_ns, end_ns]).chain([0]).collect();
        let mut sets = Vec::new();
        for at_ns in changes {
            let is_answered = |time: &Span| (time.start_ns..time.end_ns).contains(&at_ns);
            let others = list.tasks.iter().filter(|task| task.time.as_ref().is_some_and(is_answered));
            let others: Vec<Query> = others.map(|task| task.query.clone()).collect();
            self.generation += 1;
            sets.push((WindowId::new(at_ns / window_ns), self.plan(&standing, &others, self.generation)?));
        }
        // At once: the run goes on meanwhile, and must not enter a window between two of them.
        control.install_all(sets).map(drop).map_err(|refused| refused.to_string())
    }
}
