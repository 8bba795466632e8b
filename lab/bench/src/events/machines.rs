//! A step of the event machine, which has a state for each key, by what happens to the keys.

use super::{BEGIN_NS, WINDOW_NS, chain, milliseconds};
use crate::compare::{in_turn, median, thread_time};
use crate::{BenchResult, Points};
use events::{Find, Machine, MachineStep, ObservedWindow, QueryWindow};
use model::{Answer, Column, Event, EventKind, Value};
use serde_json::json;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

/// The threshold that the values of all keys are compared with.
const THRESHOLD: u64 = 1000;
/// Steps of a round that are timed.
const STEPS: usize = 5;

/// The values of all keys in the window of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum StepWindow {
    /// Values below the threshold.
    Low,
    /// Values above the threshold.
    High,
    /// A window without packets.
    Empty,
}

/// The windows of a step that is timed, and of those before it.
struct EventMachineCase {
    name: &'static str,
    comparison: &'static str,
    before: &'static [StepWindow],
    timed: StepWindow,
}

const CASES: [EventMachineCase; 6] = [
    // Nothing is remembered.
    EventMachineCase { name: "idle", comparison: ">", before: &[], timed: StepWindow::Low },
    // All keys fired before.
    EventMachineCase {
        name: "active",
        comparison: ">",
        before: &[StepWindow::High],
        timed: StepWindow::High,
    },
    // All keys are known, had no packets for two windows and fired in the first of these.
    EventMachineCase {
        name: "absent",
        comparison: "<",
        before: &[StepWindow::High, StepWindow::Empty],
        timed: StepWindow::Empty,
    },
    EventMachineCase { name: "fired", comparison: ">", before: &[StepWindow::Low], timed: StepWindow::High },
    EventMachineCase {
        name: "resolved",
        comparison: ">",
        before: &[StepWindow::High],
        timed: StepWindow::Low,
    },
    // All keys fire as they have no packets any more.
    EventMachineCase {
        name: "fired_absent",
        comparison: "<",
        before: &[StepWindow::High],
        timed: StepWindow::Empty,
    },
];

/// Runs it.
pub(super) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let keys = points.flows.unwrap_or(10_000).clamp(1, 65_536);
    let jobs = CASES.iter().map(|case| MachineJob::new(case, keys as u32));
    let mut jobs = jobs.collect::<Result<Vec<_>, _>>()?;
    let times = in_turn(&mut jobs, points.seconds, MachineJob::round);
    for (job, rounds_ns) in jobs.into_iter().zip(times) {
        let ms = milliseconds(median(&rounds_ns), STEPS);
        let events = job.events / rounds_ns.len() / STEPS;
        out(BenchResult {
            bench: "events",
            variant: format!("machines_{keys}"),
            params: vec![("case", json!(job.case.name)), ("cores", json!(1))],
            packets: keys * STEPS as u64,
            rounds_ns,
            memory_bytes: None,
            checked: job.is_right,
            more: vec![("ms", ms), ("events", json!(events))],
        });
    }
    Ok(())
}

/// A machine, and what a plain loop says of it.
struct MachineJob {
    case: &'static EventMachineCase,
    machine: Machine,
    low: Answer,
    high: Answer,
    end_ns: u64,
    plain: PlainEvaluator,
    /// Events of all steps that were timed.
    events: usize,
    is_right: bool,
}

impl MachineJob {
    fn new(case: &'static EventMachineCase, keys: u32) -> Result<Self, String> {
        let text = format!(
            "q1: select src_addr, count(dst_addr) as n groupby src_addr every 1s; \
             q2: select count(*) when q1.n {} {THRESHOLD};",
            case.comparison
        );
        let graph = chain(&text, &["Node1"], keys as usize)?.graph;
        let columns: Vec<Column> =
            graph.queries[0].columns.iter().map(|column| column.column.clone()).collect();
        let answer = |base: u64| {
            // An odd factor leaves no two keys equal, and none in order.
            let address = |key: u32| Ipv4Addr::from(key.wrapping_mul(0x9e37_79b1));
            let row = |key: u32| {
                vec![Value::Address(address(key).into()), Value::Unsigned(base + u64::from(key) % THRESHOLD)]
            };
            Answer::new("q1", None, columns.clone(), (0..keys).map(row).collect())
        };
        Ok(Self {
            case,
            machine: Machine::new(graph),
            low: answer(0),
            high: answer(THRESHOLD + 1),
            end_ns: BEGIN_NS,
            plain: PlainEvaluator { is_less: case.comparison == "<", active: BTreeMap::new() },
            events: 0,
            is_right: true,
        })
    }

    /// Runs some steps with the windows before them; returns the processor time of those that are timed.
    fn round(&mut self) -> f64 {
        let mut time = 0.0;
        for _ in 0..STEPS {
            for window in self.case.before {
                self.step(*window);
            }
            let (events, of_step) = self.step(self.case.timed);
            self.events += events;
            time += of_step;
        }
        time
    }

    /// Takes a window; returns the number of its events and the processor time.
    fn step(&mut self, window: StepWindow) -> (usize, f64) {
        self.end_ns += WINDOW_NS;
        let answer = match window {
            StepWindow::Low => Some(&self.low),
            StepWindow::High => Some(&self.high),
            StepWindow::Empty => None,
        };
        let find: &Find<'_> = &|asked: QueryWindow<'_>| match (asked.query, answer) {
            (0, Some(answer)) => ObservedWindow::Answer(answer),
            _ => ObservedWindow::Empty,
        };
        let began = thread_time();
        let step = self.machine.step(self.end_ns, find);
        let time = thread_time() - began;
        let rows = answer.map_or(&[][..], |answer| &answer.rows);
        self.is_right &= self.plain.agrees(rows, &step);
        (step.events.len(), time)
    }
}

/// The keys that are known and whether they fired, by a loop over the rows.
#[derive(Default)]
struct PlainEvaluator {
    is_less: bool,
    active: BTreeMap<IpAddr, bool>,
}

impl PlainEvaluator {
    /// Takes a window; whether its events are those of the step.
    fn agrees(&mut self, rows: &[Vec<Value>], step: &MachineStep) -> bool {
        let mut values: BTreeMap<IpAddr, u64> = self.active.keys().map(|key| (*key, 0)).collect();
        for row in rows {
            if let [Value::Address(key), Value::Unsigned(value)] = row[..] {
                values.insert(key, value);
            }
        }
        let (mut fired, mut resolved) = (Vec::new(), Vec::new());
        for (key, value) in values {
            let is_true = if self.is_less { value < THRESHOLD } else { value > THRESHOLD };
            let was_true = self.active.insert(key, is_true).unwrap_or(false);
            match (was_true, is_true) {
                (false, true) => fired.push(key),
                (true, false) => resolved.push(key),
                _ => {}
            }
        }
        step.events.len() == fired.len() + resolved.len()
            && keys_of(step, EventKind::Fired) == fired
            && keys_of(step, EventKind::Resolved) == resolved
    }
}

/// The keys of all events of a kind, in order.
fn keys_of(step: &MachineStep, kind: EventKind) -> Vec<IpAddr> {
    let key = |event: &Event| match event.key.first()?.value {
        Value::Address(address) => Some(address),
        _ => None,
    };
    let mut keys: Vec<IpAddr> =
        step.events.iter().filter(|event| event.kind == kind).filter_map(key).collect();
    keys.sort_unstable();
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_has_the_events_that_it_is_about() {
        const KEYS: usize = 40;
        for case in &CASES {
            let mut job = MachineJob::new(case, KEYS as u32).expect("a chain");
            job.round();
            job.events = 0;
            job.round();
            let expected = match case.name {
                "idle" | "active" | "absent" => 0,
                _ => KEYS * STEPS,
            };
            assert_eq!((job.events, job.is_right), (expected, true), "{}", case.name);
            // What is remembered is what the name says.
            let edges = &job.machine.state().edges;
            let known = edges[0].keys.len();
            assert_eq!(
                known,
                if ["idle", "resolved"].contains(&case.name) { 0 } else { KEYS },
                "{}",
                case.name
            );
        }
    }

    #[test]
    fn other_events_are_found_wrong() {
        let mut job = MachineJob::new(&CASES[3], 40).expect("a chain");
        job.plain.is_less = true;
        job.round();
        assert!(!job.is_right);
        let mut job = MachineJob::new(&CASES[0], 40).expect("a chain");
        let [Value::Address(key), _] = job.low.rows[7][..] else { panic!("an address and a number") };
        job.plain.active.insert(key, true);
        job.round();
        assert!(!job.is_right);
    }
}
