//! Queries whose packets are counted: their tasks, and the length of the run's windows that they need.

use crate::exit::Failure;
use engine::Every;
use equery::NodeFilter;
use notation::time_text;
use task::TaskSpec;
use task::query::{Over, Query};

/// Queries whose packets are counted. They answer each window of the run.
#[derive(Clone, Debug, Default)]
pub struct SketchedQueries(Vec<Sketched>);

#[derive(Clone, Debug)]
struct Sketched {
    name: String,
    task: TaskSpec,
    nodes: NodeFilter,
    /// The length of its windows, where it says so.
    every_ns: Option<u64>,
}

impl SketchedQueries {
    /// Adds a query and the task that answers it.
    pub(crate) fn add(&mut self, query: &Query, task: &TaskSpec, nodes: &NodeFilter) {
        let every_ns = match query.over {
            Over::Windows { every_ns, .. } => Some(every_ns),
            Over::Window | Over::Run => None,
        };
        let (name, task, nodes) = (query.name.clone(), task.clone(), nodes.clone());
        self.0.push(Sketched { name, task, nodes, every_ns });
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|sketched| sketched.name.as_str())
    }

    /// Returns the tasks of a node.
    pub(crate) fn tasks_of(&self, node: &str) -> impl Iterator<Item = TaskSpec> {
        let own = self.0.iter().filter(move |sketched| sketched.nodes.matches(node));
        own.map(|sketched| sketched.task.clone())
    }

    /// Gives queries that say nothing of time this interval.
    pub(crate) fn answer_each(&mut self, ns: u64) {
        self.0.iter_mut().for_each(|sketched| sketched.every_ns = sketched.every_ns.or(Some(ns)));
    }

    /// Returns the length of the run's windows that the queries need; `None` where any will do.
    ///
    /// # Errors
    /// If the queries need different ones, or another one than the user set.
    pub(crate) fn window(&self, every: Every, is_set: bool) -> Result<Option<u64>, Failure> {
        let mut found: Option<(&str, u64)> = None;
        for Sketched { name, every_ns, .. } in &self.0 {
            let Some(own) = *every_ns else { continue };
            if let Some((other, length)) = found.filter(|(_, length)| *length != own) {
                return Err(Failure::usage(format!(
                    "{other} and {name} count packets in windows of {} and {}: queries with 'using' or 'error' answer each window of \
                     the run, so give them one length",
                    time_text(length),
                    time_text(own)
                )));
            }
            found = Some((name, own));
        }
        let Some((name, length)) = found else { return Ok(None) };
        match every {
            Every::Time(set) if is_set && set != length => Err(Failure::usage(format!(
                "{name} counts packets in windows of {}: queries with 'using' or 'error' answer each window of the run, so give \
                 --every the same length as their 'every' or --per",
                time_text(length)
            ))),
            Every::Packets(_) => Err(Failure::usage(format!(
                "{name} counts packets in windows of {}, but --every counts windows in packets: leave one of them out",
                time_text(length)
            ))),
            Every::Time(_) => Ok(Some(length)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketches(lengths: &[Option<u64>]) -> SketchedQueries {
        let mut all = SketchedQueries::default();
        for (at, length) in lengths.iter().enumerate() {
            let over = length.map_or(Over::Window, |ns| Over::Windows { every_ns: ns, over_ns: ns });
            let query = Query { over, ..Query::new(format!("q{at}"), [], []) };
            all.add(&query, &"entropy".parse().expect("a task"), &NodeFilter::default());
        }
        all
    }

    #[test]
    fn the_runs_windows_are_theirs() {
        let usual = Every::Time(10);
        let window = |lengths: &[Option<u64>], every, is_set| sketches(lengths).window(every, is_set).ok();
        assert_eq!(window(&[None], usual, true), Some(None));
        assert_eq!(window(&[None, Some(60), Some(60)], usual, false), Some(Some(60)));
        assert_eq!(window(&[Some(60), Some(30)], usual, false), None);
        assert_eq!(window(&[Some(60)], usual, true), None);
        assert_eq!(window(&[Some(10)], usual, true), Some(Some(10)));
        assert_eq!(window(&[Some(10)], Every::Packets(5), true), None);
        let mut per = sketches(&[None]);
        per.answer_each(20);
        assert_eq!(per.window(usual, false).ok(), Some(Some(20)));
    }
}
