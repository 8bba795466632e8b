//! The outcome of a dry run.

use crate::controller::{Controller, ControllerOutput};
use model::{DryRunNode, DryRunOutcome, EventKind, Span, Story};
use std::collections::{BTreeMap, BTreeSet};

/// Events that are told.
const MOST_EVENTS: usize = 10_000;
/// Lines for the user.
const MOST_WARNINGS: usize = 100;

/// The outputs that a controller has shown.
#[derive(Debug)]
pub(super) struct DryRunOutputs {
    /// The time up to which windows are played for their values alone, by their ends.
    from_ns: u64,
    /// The conditions that held at `from_ns`: query, node and key.
    held: BTreeSet<(String, Option<String>, String)>,
    /// The number of warnings that are not told.
    more_warnings: u64,
    outcome: DryRunOutcome,
}

impl DryRunOutputs {
    pub(super) fn new(from_ns: u64) -> Self {
        Self { from_ns, held: BTreeSet::new(), more_warnings: 0, outcome: DryRunOutcome::default() }
    }

    pub(super) fn show(&mut self, output: ControllerOutput) {
        let DryRunOutcome { events, fired, more_events, warnings, .. } = &mut self.outcome;
        match output {
            ControllerOutput::Event(event) if event.at_ns > self.from_ns => {
                *fired += u64::from(event.kind == EventKind::Fired);
                if events.len() < MOST_EVENTS {
                    events.push(*event);
                } else {
                    *more_events += 1;
                }
            }
            ControllerOutput::Event(event) => {
                let key = event.key.iter().map(|item| format!("{:?}", item.value)).collect();
                let place = (event.query, event.node, key);
                match event.kind {
                    EventKind::Fired => drop(self.held.insert(place)),
                    EventKind::Resolved | EventKind::Expired => drop(self.held.remove(&place)),
                    _ => {}
                }
            }
            ControllerOutput::Warning(line) if warnings.contains(&line) => {}
            ControllerOutput::Warning(line) if warnings.len() < MOST_WARNINGS => warnings.push(line),
            ControllerOutput::Warning(_) => self.more_warnings += 1,
            _ => {}
        }
    }

    /// Returns the outcome. `windows`: the number of windows of each node. `missing`: what nodes lack.
    pub(super) fn end(
        self,
        controller: &Controller,
        windows: &[u64],
        missing: &BTreeMap<usize, String>,
    ) -> DryRunOutcome {
        let mut outcome = self.outcome;
        let mut held: BTreeMap<&str, u64> = BTreeMap::new();
        self.held.iter().for_each(|(query, ..)| *held.entry(query).or_default() += 1);
        outcome.warnings.extend(held.into_iter().map(|(query, keys)| {
            format!("{query}: the condition of {keys} key(s) held when the time began: it fired before, and does not count")
        }));
        for (count, what) in
            [(self.more_warnings, "warnings"), (controller.stories_dropped(), "earlier stories")]
        {
            outcome.warnings.extend((count != 0).then(|| format!("{count} further {what} are not listed")));
        }
        let told: BTreeSet<&str> = outcome.events.iter().map(|event| event.event.as_str()).collect();
        let is_told = |story: &&Story| story.events.iter().any(|event| told.contains(event.as_str()));
        outcome.stories = controller.stories().filter(is_told).cloned().collect();
        let names = controller.chain.graph.nodes.iter().zip(windows).enumerate();
        let node = |(number, (name, windows)): (usize, (&String, &u64))| DryRunNode {
            name: name.clone(),
            windows: *windows,
            missing: missing.get(&number).cloned(),
        };
        outcome.nodes = names.map(node).collect();
        let first_ns = controller.nodes.iter().filter_map(|node| node.begun_ns()).min();
        outcome.judged = first_ns
            .zip(controller.settled_ns)
            .map(|(start_ns, end_ns)| Span { start_ns: start_ns.max(self.from_ns), end_ns })
            .filter(|span| span.start_ns < span.end_ns);
        outcome
    }
}
