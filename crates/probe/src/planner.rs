//! The way from a task list to task sets.

use engine::{Control, WindowId};
use model::Span;
use protocol::{Task, TaskList};
use record::Anonymizer;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use task::query::Query;
use task::rows::PlanContext;
use task::{Generation, TaskSet, Tasks};

/// Makes the task sets of a node.
#[derive(Debug)]
pub struct TaskSetPlanner {
    site: PlanContext,
    /// The queries of each set that are the node's own, which no list has.
    own: Vec<Query>,
    /// The tasks of each set that are the node's own.
    own_tasks: Option<Tasks>,
    /// The last set.
    generation: u64,
    recent_windows_bytes: usize,
    /// Replaces the addresses of what leaves the node.
    anonymizer: Option<Anonymizer>,
}

impl TaskSetPlanner {
    /// A planner for a run whose windows are a time. `own`: queries that are answered whatever a list says.
    pub fn new(site: PlanContext, own: Vec<Query>) -> Self {
        let most_look_back = site.limits.bytes_allowed() / 2;
        Self {
            site,
            own,
            own_tasks: None,
            generation: 0,
            recent_windows_bytes: most_look_back,
            anonymizer: None,
        }
    }

    /// Returns the planner of a node whose answers leave with other addresses. It puts the addresses that lists pin back to those that packets have.
    #[must_use]
    pub fn with_anonymizer(self, anonymizer: Option<Anonymizer>) -> Self {
        Self { anonymizer, ..self }
    }

    /// Returns the list with the addresses that packets have in the place of those that replace them. Only what firings pin came out of
    /// answers; the texts of queries have true addresses, and a store has the others.
    pub(crate) fn restored(&self, list: &TaskList) -> TaskList {
        let mut list = list.clone();
        let Some(anonymizer) = &self.anonymizer else { return list };
        let restore = &mut |address| anonymizer.restore(address);
        let instances = list.tasks.iter_mut().flat_map(|task| &mut task.instances);
        let pinned = instances.flat_map(|instance| &mut instance.bound);
        pinned.for_each(|item| item.value.map_addresses(restore));
        let looked = list.look_backs.iter_mut().flat_map(|task| &mut task.queries);
        looked.for_each(|query| query.map_bound_addresses(restore));
        list
    }

    /// Returns the planner with tasks, planned by the run's admission, that each of its sets has.
    #[must_use]
    pub fn with_tasks(self, tasks: Option<Tasks>) -> Self {
        Self { own_tasks: tasks.map(Tasks::lasting), ..self }
    }

    /// Returns the planner of a node where windows that are over may be kept in at most `most_bytes` bytes; half of the run's memory is usual.
    #[must_use]
    pub fn with_recent_windows_bytes(self, most_bytes: usize) -> Self {
        Self { recent_windows_bytes: most_bytes, ..self }
    }

    /// Returns the properties of the planner's rows.
    pub(crate) fn site(&self) -> &PlanContext {
        &self.site
    }

    /// Bytes in which windows that are over may be kept.
    pub(crate) fn recent_windows_bytes(&self) -> usize {
        self.recent_windows_bytes
    }

    /// The set that the run begins with.
    ///
    /// # Errors
    /// Returns all refusals of the node's own queries, in one line.
    pub fn first(&self) -> Result<Arc<TaskSet>, String> {
        self.plan(&[], &[]).map_err(|refused| in_words(&refused))
    }

    /// A set of these queries; or those that the node refuses, each with the reason.
    fn plan(&self, standing: &[Query], others: &[Query]) -> Result<Arc<TaskSet>, Vec<(String, String)>> {
        let queries = [&self.own[..], standing].concat();
        let generation = Generation::new(self.generation);
        let set = TaskSet::plan_with(generation, &queries, others, self.own_tasks.clone(), &self.site);
        set.map(Arc::new).map_err(|refused| {
            refused.into_iter().map(|(query, refusal)| (query, refusal.to_string())).collect()
        })
    }

    /// Plans a set without the queries that the node refuses, which are added to `refused`.
    fn plan_possible(
        &self,
        mut standing: Vec<Query>,
        mut others: Vec<Query>,
        refused: &mut BTreeSet<(String, String)>,
    ) -> Result<Arc<TaskSet>, String> {
        loop {
            let reasons = match self.plan(&standing, &others) {
                Ok(set) => return Ok(set),
                Err(reasons) => reasons,
            };
            let before = standing.len() + others.len();
            for queries in [&mut standing, &mut others] {
                queries.retain(|query| !reasons.iter().any(|(name, _)| *name == query.name));
            }
            if standing.len() + others.len() == before {
                return Err(in_words(&reasons));
            }
            refused.extend(reasons);
        }
    }

    /// Installs what of an earlier start's list is answered for ever, before a run begins: what a firing started has ended with that start, and is
    /// the controller's to ask for again. Returns the number of these tasks, and why some are not answered here.
    ///
    /// # Errors
    /// Returns the errors of installing a list.
    pub fn revive(&mut self, control: &Control, list: &TaskList) -> Result<(usize, Option<String>), String> {
        let is_standing = |task: &&Task| task.time.is_none() && task.instances.is_empty();
        let tasks: Vec<Task> = list.tasks.iter().filter(is_standing).cloned().collect();
        let number = tasks.len();
        let list = TaskList { key: list.key.clone(), tasks, ..TaskList::default() };
        Ok((number, self.install(control, &list)?))
    }

    /// Installs a list: a set for each time in which the same tasks are answered, from the first window on that may still be. Returns why
    /// some of its queries are not answered here, in one line, if there are any; the others are.
    ///
    /// # Errors
    /// If nothing of it can be installed: what was answered before still is.
    pub(crate) fn install(&mut self, control: &Control, list: &TaskList) -> Result<Option<String>, String> {
        let Some(window_ns) = self.site.window_ns.filter(|length| *length != 0) else {
            return Err("tasks need windows of time".to_owned());
        };
        let own = self.site.key.parts();
        if let Some(key) = list.key.as_ref().filter(|key| **key != own) {
            let (own, key) = (own.join(","), key.join(","));
            return Err(format!("a flow is {own} here and {key} at the controller: set the same 'key'"));
        }
        let mut queries: Vec<(Query, Option<Span>)> = list.tasks.iter().flat_map(Task::queries).collect();
        let mut refused = BTreeSet::new();
        loop {
            let sets = self.sets(&queries, window_ns, &mut refused)?;
            let counted = counted_bytes(&sets);
            // At once: the run goes on meanwhile, and must not enter a window between two of them.
            let Err(error) = control.install_all(sets) else { break };
            let without = if error.lacks_memory() { remove_largest(&mut queries, &counted) } else { None };
            let Some(name) = without else { return Err(error.to_string()) };
            refused.insert((name, error.to_string()));
        }
        let refused: Vec<_> = refused.into_iter().collect();
        Ok((!refused.is_empty()).then(|| in_words(&refused)))
    }

    /// The sets that answer these queries, each in its time, from the window on with which each begins. Adds what is refused.
    fn sets(
        &mut self,
        queries: &[(Query, Option<Span>)],
        window_ns: u64,
        refused: &mut BTreeSet<(String, String)>,
    ) -> Result<Vec<(WindowId, Arc<TaskSet>)>, String> {
        let standing = queries.iter().filter(|(_, time)| time.is_none());
        let standing: Vec<Query> = standing.map(|(query, _)| query.clone()).collect();
        let times = queries.iter().filter_map(|(_, time)| *time);
        let changes: BTreeSet<u64> =
            times.flat_map(|Span { start_ns, end_ns }| [start_ns, end_ns]).chain([0]).collect();
        let mut sets = Vec::new();
        for at_ns in changes {
            let is_answered = |time: &Span| (time.start_ns..time.end_ns).contains(&at_ns);
            let others = queries.iter().filter(|(_, time)| time.as_ref().is_some_and(is_answered));
            let others: Vec<Query> = others.map(|(query, _)| query.clone()).collect();
            self.generation += 1;
            let set = self.plan_possible(standing.clone(), others, refused)?;
            sets.push((WindowId::new(at_ns / window_ns), set));
        }
        Ok(sets)
    }
}

/// The memory of the structures that count the packets of each query, by its name.
fn counted_bytes(sets: &[(WindowId, Arc<TaskSet>)]) -> BTreeMap<String, usize> {
    let choices = sets.iter().filter_map(|(_, set)| set.packets()).flat_map(Tasks::choices);
    let of_query = choices.filter_map(|(spec, choice)| {
        Some((spec.query()?.to_owned(), choice.bytes.saturating_add(choice.bytes_v6)))
    });
    of_query.collect()
}

/// Removes the query whose packets take the most memory to count, the last of those that take as much: one that a firing started, or a standing one if
/// there is no other. `bytes`: the memory of each. Returns its name.
fn remove_largest(
    queries: &mut Vec<(Query, Option<Span>)>,
    bytes: &BTreeMap<String, usize>,
) -> Option<String> {
    let counted = queries.iter().enumerate().filter(|(_, (query, _))| query.counting.is_some());
    let rank = |(at, (query, time)): (usize, &(Query, Option<Span>))| {
        (time.is_some(), bytes.get(&query.name).copied().unwrap_or(0), at)
    };
    let (_, _, at) = counted.map(rank).max()?;
    Some(queries.remove(at).0.name)
}

fn in_words(refused: &[(String, String)]) -> String {
    let lines = refused.iter().map(|(query, reason)| format!("{query}: {reason}"));
    lines.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use arena::Limits;
    use packet::{KeySpec, Seed};
    use task::query::{GroupField, OutputColumn};
    use task::rows::CountingOffer;
    use task::sketched::Counting;
    use task::{RunProperties, Size, Structure};

    fn planner() -> (TaskSetPlanner, Control) {
        let site = PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), Limits::new(1 << 24, 1_000));
        let planner = TaskSetPlanner::new(PlanContext { window_ns: Some(1_000_000_000), ..site }, Vec::new());
        let control = Control::new(planner.first().expect("nothing is refused"));
        (planner, control)
    }

    fn list(fields: &[&str], key: Vec<String>) -> TaskList {
        let query = |field: &&str| {
            Query::new(*field, [GroupField::from_field("dst_addr")], [OutputColumn::sum(field)])
        };
        let tasks =
            fields.iter().map(|field| Task { query: query(field), time: None, instances: Vec::new() });
        TaskList { key: Some(key), tasks: tasks.collect(), ..TaskList::default() }
    }

    fn five_tuple() -> Vec<String> {
        KeySpec::FIVE_TUPLE.parts()
    }

    #[test]
    fn what_a_node_cannot_answer_is_left_out_and_named() {
        let (mut planner, control) = planner();
        assert_eq!(planner.install(&control, &list(&["total_byte"], five_tuple())), Ok(None));
        // It does not track losses.
        let refused = planner.install(&control, &list(&["total_byte", "ploss_byte"], five_tuple()));
        let reason = refused.expect("the other one is installed").expect("a reason");
        assert!(reason.starts_with("ploss_byte: ") && !reason.contains("total_byte"), "{reason}");
    }

    /// What a firing pins came out of answers, whose addresses are others; what the text of a query says did not.
    #[test]
    fn what_is_pinned_is_what_packets_have() {
        let mut anonymizer = Anonymizer::new(&[7; 32]);
        let planner = planner().0.with_anonymizer(Some(anonymizer.clone()));
        let true_address = std::net::IpAddr::from([10, 1, 2, 3]);
        let other = anonymizer.address(true_address);
        assert_ne!(true_address, other);
        let pinned = |address| model::Item {
            column: model::Column::new("dst_addr", model::ColumnKind::Address, ""),
            value: model::Value::Address(address),
        };
        let query = Query {
            filter: Some(task::query::Condition::is("src_addr", &model::Value::Address(other))),
            ..Query::new("q", [GroupField::from_field("dst_port")], [OutputColumn::sum("total_byte")])
        };
        let time = Span { start_ns: 0, end_ns: 1_000_000_000 };
        let list = |address| {
            let instance = protocol::Instance { bound: vec![pinned(address)], time };
            let look_back = protocol::LookBackTask {
                id: 1,
                window: time,
                queries: vec![query.with_bound(vec![pinned(address)])],
            };
            TaskList {
                tasks: vec![Task { query: query.clone(), time: None, instances: vec![instance] }],
                look_backs: vec![look_back],
                ..TaskList::default()
            }
        };
        assert_eq!(planner.restored(&list(other)), list(true_address));
    }

    /// What counts packets has half of the node's memory, and what firings start makes way for what always runs.
    #[test]
    fn what_has_no_room_to_count_is_left_out_and_named() {
        let limits = Limits::new(64 << 20, 1_000);
        let run = RunProperties {
            key: KeySpec::FIVE_TUPLE,
            is_paired: false,
            packets: None,
            workers: 1,
            scatters: false,
            shares: false,
            seed: Seed::new(1),
        };
        let site = PlanContext {
            window_ns: Some(1_000_000_000),
            counting: CountingOffer::Offered { run, is_sampled: false },
            ..PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), limits.clone())
        };
        let mut planner = TaskSetPlanner::new(site, Vec::new());
        let control = Control::new(planner.first().expect("nothing is refused"));
        let counted = |name: &str, memory: usize, time: Option<Span>| {
            let counting = Counting {
                structure: Some(Structure::SpaceSaving),
                size: Size::Memory(memory),
                ..Counting::default()
            };
            let query =
                Query::new(name, [GroupField::from_field("dst_addr")], [OutputColumn::sum("total_count")]);
            Task { query: Query { counting: Some(counting), ..query }, time, instances: Vec::new() }
        };
        let mut install = |tasks: Vec<Task>| {
            planner.install(&control, &TaskList { key: Some(five_tuple()), tasks, ..TaskList::default() })
        };
        let time = Some(Span { start_ns: 0, end_ns: 2_000_000_000 });
        assert_eq!(install(vec![counted("small", 1 << 20, None), counted("other", 1 << 20, time)]), Ok(None));
        let counts =
            |window| control.set(WindowId::new(window)).packets().map(|tasks| tasks.choices().count());
        assert_eq!([0, 1, 2].map(counts), [Some(2), Some(2), Some(1)]);
        // Two families, two windows: four times that of one structure.
        let refused = install(vec![counted("small", 1 << 20, None), counted("large", 32 << 20, time)]);
        let reason = refused.expect("the other one is installed").expect("a reason");
        assert!(
            reason.starts_with("large: ") && reason.contains("half of the node's memory is 32 MiB"),
            "{reason}"
        );
        assert_eq!([0, 1, 2].map(counts), [Some(1); 3]);
        let other_window = Query {
            over: task::query::Over::Windows { every_ns: 2_000_000_000, over_ns: 2_000_000_000 },
            ..counted("other", 1 << 20, None).query
        };
        let refused = install(vec![Task { query: other_window, time: None, instances: Vec::new() }]);
        assert!(refused.expect("a list").expect("a reason").contains("in each window of the run"));
        let tasks = [("a", None), ("b", time), ("large", time), ("c", None), ("d", time)];
        let mut queries: Vec<_> =
            tasks.map(|(name, time)| counted(name, 1, time)).map(|task| (task.query, task.time)).into();
        let bytes = [("a", 9), ("b", 1), ("large", 5), ("c", 2), ("d", 1)];
        let bytes = bytes.map(|(name, bytes)| (name.to_owned(), bytes)).into();
        let gone: Vec<String> = std::iter::from_fn(|| remove_largest(&mut queries, &bytes)).collect();
        assert_eq!(gone, ["large", "d", "b", "a", "c"]);
    }

    #[test]
    fn a_list_for_other_flows_is_refused() {
        let (mut planner, control) = planner();
        let refused = planner.install(&control, &list(&["total_byte"], vec!["dst_addr".to_owned()]));
        let reason = refused.expect_err("other flows");
        assert!(reason.contains(&five_tuple().join(",")) && reason.contains("'key'"), "{reason}");
    }
}
