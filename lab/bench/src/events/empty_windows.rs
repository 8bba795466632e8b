//! The time that a controller takes to pass windows in which no node had a packet, by their number.

use super::{BEGIN_NS, WINDOW_NS, chain, milliseconds};
use crate::compare::{in_turn, median, median_ratio, thread_time};
use crate::line::to_digits;
use crate::{BenchResult, Points};
use controller::{Actions, Controller, ControllerContext, ControllerOutput};
use equery::Chain;
use model::{Answer, Column, Event, EventKind, Span, Value};
use protocol::{FromProbe, TaskList, ToProbe, WindowResult};
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr};

/// The largest number of windows: of a second, they are more than four years.
const MANY: u64 = 145_000_000;
/// Gaps of a round.
const GAPS: usize = 100;
/// Windows with packets before the gap, and after it. What fires in the first one measures the last one.
const BUSY: u64 = 4;
const NODES: [&str; 2] = ["Node1", "Node2"];
const QUERIES: &str = "q1: select dst_addr, count(src_addr) as n groupby dst_addr every 1s; \
                       q2: select src_addr, sum(total_byte) groupby src_addr when q1.n > 100;";

/// Runs it.
pub(super) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let chain = chain(QUERIES, &NODES, 64)?;
    let mut jobs = [2, MANY].map(|windows| WindowGapJob { windows, chain: &chain, events: Ok(Vec::new()) });
    let times = in_turn(&mut jobs, points.seconds, WindowGapJob::round);
    let [few, many] = jobs;
    let [few_events, many_events] = [few.events?, many.events?];
    let is_right =
        has_all(&few_events) && moved(few_events, MANY - few.windows) == without_names(many_events);
    for (windows, rounds_ns) in [few.windows, many.windows].into_iter().zip(&times) {
        let times_two = median_ratio(rounds_ns, &times[0]);
        out(BenchResult {
            bench: "events",
            variant: "empty_windows".to_owned(),
            params: vec![("windows", json!(windows)), ("nodes", json!(NODES.len())), ("cores", json!(1))],
            packets: GAPS as u64,
            rounds_ns: rounds_ns.clone(),
            memory_bytes: None,
            checked: is_right,
            more: vec![
                ("ms", milliseconds(median(rounds_ns), GAPS)),
                ("times_two", json!(to_digits(times_two, 2))),
            ],
        });
    }
    Ok(())
}

/// A gap of this many windows.
struct WindowGapJob<'a> {
    windows: u64,
    chain: &'a Chain,
    /// The events of the last round; an error if two controllers of it said different things.
    events: Result<Vec<Event>, String>,
}

impl WindowGapJob<'_> {
    /// Passes the gap with many controllers; returns the processor time of the messages that end it.
    fn round(&mut self) -> f64 {
        let mut systems: Vec<System> = (0..GAPS).map(|_| System::new(self.chain)).collect();
        let after_ns = BEGIN_NS + (BUSY + self.windows) * WINDOW_NS;
        systems.iter_mut().for_each(|system| system.measure(BEGIN_NS));
        let began = thread_time();
        systems.iter_mut().for_each(|system| system.reach(after_ns));
        let time = thread_time() - began;
        let ended = systems.into_iter().map(|mut system| {
            system.measure(after_ns);
            system.end()
        });
        let ended: Vec<Vec<Event>> = ended.collect();
        let are_equal = ended.windows(2).all(|two| two[0] == two[1]);
        self.events = match ended.into_iter().next() {
            Some(events) if are_equal => Ok(events),
            _ => Err("controllers of the same messages said different things".to_owned()),
        };
        time
    }
}

/// A controller and the nodes that it talks to.
struct System<'a> {
    chain: &'a Chain,
    controller: Controller,
    /// The list of tasks that each node was told last.
    told: [TaskList; NODES.len()],
    events: Vec<Event>,
}

impl<'a> System<'a> {
    fn new(chain: &'a Chain) -> Self {
        let controller = Controller::new(
            chain.clone(),
            ControllerContext { window_ns: WINDOW_NS, is_replay: true, key: None },
        );
        let mut system = Self { chain, controller, told: Default::default(), events: Vec::new() };
        let actions = system.controller.begin();
        system.carry_out(actions);
        system
    }

    fn carry_out(&mut self, actions: Actions) {
        for (node, message) in actions.send {
            if let ToProbe::Tasks(list) = message {
                self.told[node] = list;
            }
        }
        for output in actions.show {
            if let ControllerOutput::Event(event) = output {
                self.events.push(*event);
            }
        }
    }

    fn take(&mut self, node: usize, message: FromProbe) {
        let actions = self.controller.take(node, message);
        self.carry_out(actions);
    }

    /// Tells the controller that all nodes reach a window.
    fn reach(&mut self, start_ns: u64) {
        (0..NODES.len()).for_each(|node| self.take(node, FromProbe::Reached { at_ns: start_ns }));
    }

    /// Tells the controller windows with packets of all nodes.
    fn measure(&mut self, begin_ns: u64) {
        for window in 0..BUSY {
            let start_ns = begin_ns + window * WINDOW_NS;
            self.reach(start_ns);
            for node in 0..NODES.len() {
                self.take(node, FromProbe::Window(Box::new(self.result(node, start_ns))));
            }
        }
    }

    /// Returns what a node answers to its tasks.
    fn result(&self, node: usize, start_ns: u64) -> WindowResult {
        let window = Span { start_ns, end_ns: start_ns + WINDOW_NS };
        let is_due = |time: &Span| (time.start_ns..time.end_ns).contains(&start_ns);
        let due = self.told[node].tasks.iter().filter(|task| task.time.as_ref().is_none_or(is_due));
        let answers = due.map(|task| {
            let query = self.chain.graph.queries.iter().find(|query| query.name == task.query.name);
            let columns: Vec<Column> =
                query.iter().flat_map(|query| &query.columns).map(|column| column.column.clone()).collect();
            let host = IpAddr::from(Ipv4Addr::new(192, 0, 2, node as u8));
            let row = vec![Value::Address(host), Value::Unsigned(1000)];
            Answer {
                node: Some(NODES[node].to_owned()),
                ..Answer::new(&task.query.name, Some(window), columns, vec![row])
            }
        });
        WindowResult::new(window, answers.collect())
    }

    /// Ends all nodes; returns all events.
    fn end(mut self) -> Vec<Event> {
        (0..NODES.len())
            .for_each(|node| self.take(node, FromProbe::Ended { answers: Vec::new(), traffic: None }));
        let actions = self.controller.finish();
        self.carry_out(actions);
        self.events
    }
}

/// Returns true if on each node q2 fired, was resolved in the gap and fired again, and nothing else happened.
fn has_all(events: &[Event]) -> bool {
    let end = |window: u64| BEGIN_NS + window * WINDOW_NS;
    let expected = [
        (EventKind::Fired, end(1)),
        (EventKind::Resolved, end(BUSY + 1)),
        (EventKind::Fired, end(BUSY + 2 + 1)),
    ];
    let expected: Vec<_> =
        expected.iter().flat_map(|(kind, at_ns)| NODES.map(|node| (*kind, *at_ns, node))).collect();
    let found: Vec<_> =
        events.iter().map(|event| (event.kind, event.at_ns, event.node.as_deref().unwrap_or(""))).collect();
    found == expected
}

/// Events without their identifiers, in which the time is: an event that another one names is named by its place.
fn without_names(mut events: Vec<Event>) -> Vec<Event> {
    let names: Vec<String> = events.iter().map(|event| event.event.clone()).collect();
    for event in &mut events {
        event.event.clear();
        let place = |name: &String| names.iter().position(|own| own == name);
        event.parent = event.parent.as_ref().map(|name| format!("{:?}", place(name)));
    }
    events
}

/// The events, with those after the gap moved `windows` windows later.
fn moved(events: Vec<Event>, windows: u64) -> Vec<Event> {
    let mut events = without_names(events);
    let by_ns = windows * WINDOW_NS;
    let first_ns = BEGIN_NS + (BUSY + 2) * WINDOW_NS;
    for event in events.iter_mut().filter(|event| event.at_ns > first_ns) {
        event.at_ns += by_ns;
        let moved = |window: Span| Span { start_ns: window.start_ns + by_ns, end_ns: window.end_ns + by_ns };
        event.window = event.window.map(moved);
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_of_years_has_the_events_of_one_of_two_windows() {
        let chain = chain(QUERIES, &NODES, 64).expect("a chain");
        let events = |windows| {
            let mut job = WindowGapJob { windows, chain: &chain, events: Ok(Vec::new()) };
            assert!(job.round().is_finite());
            job.events.expect("events")
        };
        let few = events(2);
        assert!(has_all(&few), "{few:#?}");
        assert_eq!(moved(few.clone(), MANY - 2), without_names(events(MANY)));
        assert_ne!(moved(few.clone(), MANY - 2), without_names(events(MANY - 1)));
        assert!(!has_all(&events(3)) && !has_all(&few[1..]));
    }
}
