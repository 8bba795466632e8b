//! Leases of tasks that firings start: they end by themselves, also where the controller is away and the clock is set back.
//!
//! The time of such a task is that of windows, and a clock that is set back by an hour would prolong it by an hour. Its lease is the same length on
//! the monotonic clock, from the list that brought it on.

use model::Span;
use protocol::{Task, TaskList};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The time by which a lease is longer than the task: windows end late, and clocks differ.
const SLACK: Duration = Duration::from_secs(60);

/// The times when tasks end on the monotonic clock.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    /// The ends of leases, by the time at which tasks end on the clock of windows. `None` once they have ended.
    ends: BTreeMap<u64, Option<Instant>>,
}

impl Leases {
    /// Grants what a new list asks. `now_ns`: the clock of windows. Tasks that were there before keep their lease.
    pub(crate) fn grant(&mut self, list: &TaskList, now_ns: u64, now: Instant) {
        let times: Vec<u64> = list.tasks.iter().flat_map(times).map(|time| time.end_ns).collect();
        self.ends.retain(|end_ns, _| times.contains(end_ns));
        for end_ns in times {
            let left = Duration::from_nanos(end_ns.saturating_sub(now_ns)).saturating_add(SLACK);
            // One beyond what the clock can name does not end.
            let Some(until) = now.checked_add(left) else { continue };
            self.ends.entry(end_ns).or_insert(Some(until));
        }
    }

    /// Ends leases that are over. True if there are any.
    pub(crate) fn end(&mut self, now: Instant) -> bool {
        let mut any = false;
        for until in self.ends.values_mut().filter(|until| until.is_some_and(|until| until <= now)) {
            *until = None;
            any = true;
        }
        any
    }

    /// The list without tasks whose lease is over, and how many these are, instances one by one.
    pub(crate) fn trimmed(&self, list: &TaskList) -> (TaskList, u64) {
        let goes_on = |time: &Span| self.ends.get(&time.end_ns) != Some(&None);
        let (mut list, mut ended) = (list.clone(), 0);
        list.tasks.retain_mut(|task| {
            let before = task.instances.len();
            task.instances.retain(|instance| goes_on(&instance.time));
            let is_over = task.time.as_ref().is_some_and(|time| !goes_on(time));
            let has_none_left = before != 0 && task.instances.is_empty();
            ended += (before - task.instances.len()) as u64 + u64::from(is_over);
            !is_over && !has_none_left
        });
        (list, ended)
    }
}

/// The times in which a task is answered; none of a standing one.
fn times(task: &Task) -> impl Iterator<Item = Span> + '_ {
    task.time.into_iter().chain(task.instances.iter().map(|instance| instance.time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::Instance;
    use task::query::{GroupField, OutputColumn, Query};

    const SECOND: u64 = 1_000_000_000;
    const NOW: u64 = 10_000 * SECOND;

    fn task(name: &str, end: Option<u64>, instances: &[u64]) -> Task {
        let span = |end: u64| Span { start_ns: NOW, end_ns: NOW + end * SECOND };
        Task {
            query: Query::new(name, [GroupField::from_field("dst_addr")], [OutputColumn::sum("total_byte")]),
            time: end.map(span),
            instances: instances.iter().map(|end| Instance { bound: Vec::new(), time: span(*end) }).collect(),
        }
    }

    fn list(tasks: Vec<Task>) -> TaskList {
        TaskList { tasks, ..TaskList::default() }
    }

    /// Names of the tasks, each with its instances, and how many have ended.
    fn left(leases: &Leases, list: &TaskList) -> (Vec<(String, usize)>, u64) {
        let (list, ended) = leases.trimmed(list);
        (list.tasks.into_iter().map(|task| (task.query.name, task.instances.len())).collect(), ended)
    }

    #[test]
    fn tasks_end_by_themselves_and_standing_ones_do_not() {
        let (mut leases, begin) = (Leases::default(), Instant::now());
        let list =
            list(vec![task("all", None, &[]), task("one", Some(10), &[]), task("some", None, &[10, 20])]);
        leases.grant(&list, NOW, begin);
        let at = |seconds| begin + Duration::from_secs(seconds);
        assert!(!leases.end(at(69)));
        assert!(leases.end(at(71)) && !leases.end(at(72)), "once");
        let names = |of: &[(&str, usize)]| of.iter().map(|(name, of)| (name.to_string(), *of)).collect();
        assert_eq!(left(&leases, &list), (names(&[("all", 0), ("some", 1)]), 2));
        assert!(leases.end(at(81)));
        assert_eq!(left(&leases, &list), (names(&[("all", 0)]), 3));
    }

    #[test]
    fn a_clock_that_is_set_back_prolongs_nothing() {
        let (mut leases, begin) = (Leases::default(), Instant::now());
        let first = list(vec![task("one", Some(10), &[])]);
        leases.grant(&first, NOW, begin);
        // The same task in the next list, an hour earlier by the clock.
        leases.grant(&first, NOW - 3_600 * SECOND, begin + Duration::from_secs(5));
        assert!(leases.end(begin + Duration::from_secs(71)));
        assert_eq!(left(&leases, &first).1, 1);
        // What has ended does not come back with a list that still has it.
        leases.grant(&first, NOW, begin + Duration::from_secs(80));
        assert_eq!(left(&leases, &first).1, 1);
        leases.grant(&list(Vec::new()), NOW, begin + Duration::from_secs(81));
        assert!(leases.ends.is_empty());
    }

    #[test]
    fn a_time_that_never_ends_has_no_lease() {
        let (mut leases, begin) = (Leases::default(), Instant::now());
        let mut endless = task("one", Some(1), &[]);
        endless.time = Some(Span { start_ns: 0, end_ns: u64::MAX });
        leases.grant(&list(vec![endless]), 0, begin);
        assert!(!leases.end(begin + Duration::from_secs(1 << 30)));
    }
}
