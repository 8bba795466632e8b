//! Windows that come late, in any order, some of them twice, some never.

use super::draw::Draw;
use super::graphs::SECOND;
use super::windows::History;
use events::{Find, Machine, MachineState, MachineStep, ObservedWindow, QueryWindow, Timeline};
use std::collections::BTreeSet;

/// How long windows are awaited, in steps.
const LATENESS: u64 = 10;

/// The nodes whose windows that end at one time are there.
type There = BTreeSet<usize>;

/// What came of one history.
pub(crate) struct Told {
    /// The identifiers of all events, as they were told.
    pub(crate) events: Vec<(String, bool)>,
    pub(crate) state: MachineState,
}

/// Takes the windows that end then as far as they are there.
fn step(machine: &mut Machine, history: &History, end_ns: u64, there: &There) -> MachineStep {
    let windows = history.windows(end_ns);
    let find: &Find<'_> = &|asked: QueryWindow<'_>| match there.contains(&asked.node) {
        true => windows.find(asked),
        false => ObservedWindow::Missing,
    };
    machine.step(end_ns, find)
}

/// When the window of a node comes that ends at step number `at`: `None` if it never does.
fn comes_at(history: &History, seed: u64, node: usize, at: u64) -> Option<u64> {
    let number = Draw::of(&[history.first_ns, node as u64, at]).below(100);
    let mut draw = Draw::of(&[seed, node as u64, at]);
    match number {
        0..55 => Some(at),
        55..62 => None,
        // Whether it comes does not depend on the seed, only when.
        _ => Some(at + draw.between(0, LATENESS)),
    }
}

/// Takes the windows as they come: `seed` says when.
pub(crate) fn as_they_come(history: &History, seed: u64) -> Result<Told, String> {
    let nodes = history.graph.nodes.len();
    let ends: Vec<u64> = history.ends().collect();
    let mut timeline: Timeline<Machine, There> = Timeline::new(Machine::new(history.graph.clone()));
    let mut events = Vec::new();
    let again = |machine: &mut Machine, end_ns: u64, there: &mut There| step(machine, history, end_ns, there);
    for at in 0..history.steps + LATENESS {
        let mut late: Vec<(u64, usize)> = Vec::new();
        for before in at.saturating_sub(LATENESS)..at.min(history.steps) {
            late.extend(
                (0..nodes)
                    .filter(|node| comes_at(history, seed, *node, before) == Some(at))
                    .map(|node| (before, node)),
            );
        }
        // Not in the order of their times.
        let mut draw = Draw::of(&[seed, at]);
        late.sort_by_cached_key(|_| draw.number());
        for (before, node) in late {
            for _ in 0..draw.between(1, 2) {
                let insert = |there: &mut There| {
                    there.insert(node);
                };
                let new = timeline.change(ends[before as usize], insert, again).ok_or("it is final")?;
                events.extend(
                    new.iter().flat_map(|step| &step.events).map(|event| (event.event.clone(), event.late)),
                );
            }
        }
        if at < history.steps {
            let end_ns = ends[at as usize];
            let there: There =
                (0..nodes).filter(|node| comes_at(history, seed, *node, at) == Some(at)).collect();
            let is_open = there.len() < nodes;
            let taken =
                timeline.take(end_ns, there, is_open, |machine, there| step(machine, history, end_ns, there));
            events.extend(taken.events.iter().map(|event| (event.event.clone(), event.late)));
        }
        timeline.settle((history.first_ns + at * SECOND).saturating_sub(LATENESS * SECOND), again);
    }
    Ok(Told { events, state: timeline.now().state().clone() })
}

/// Takes all windows that ever come, each in its time.
pub(crate) fn in_order(history: &History) -> Told {
    let mut machine = Machine::new(history.graph.clone());
    let mut events = Vec::new();
    for (at, end_ns) in (0..).zip(history.ends()) {
        let nodes = 0..history.graph.nodes.len();
        let there = nodes.filter(|node| comes_at(history, 0, *node, at).is_some()).collect();
        let taken = step(&mut machine, history, end_ns, &there);
        events.extend(taken.events.iter().map(|event| (event.event.clone(), event.late)));
    }
    Told { events, state: machine.state().clone() }
}
