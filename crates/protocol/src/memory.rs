//! Connections within one process.

use crate::message::{FromProbe, ToProbe};
use crate::transport::{ControllerLink, Disconnected, ProbeLink};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A probe's side.
#[derive(Debug)]
pub struct MemoryProbeLink {
    number: usize,
    to_controller: Sender<(usize, FromProbe)>,
    from_controller: Mutex<Receiver<ToProbe>>,
}

/// The controller's side.
#[derive(Debug)]
pub struct MemoryControllerLink {
    to_probes: Vec<Sender<ToProbe>>,
    from_probes: Receiver<(usize, FromProbe)>,
}

/// A controller's connections to these nodes, and theirs to it, in this order.
pub fn links(nodes: &[String]) -> (MemoryControllerLink, Vec<MemoryProbeLink>) {
    let (to_controller, from_probes) = channel();
    let mut to_probes = Vec::new();
    let mut probes = Vec::new();
    for number in 0..nodes.len() {
        let (to_probe, from_controller) = channel();
        to_probes.push(to_probe);
        let from_controller = Mutex::new(from_controller);
        probes.push(MemoryProbeLink { number, to_controller: to_controller.clone(), from_controller });
    }
    (MemoryControllerLink { to_probes, from_probes }, probes)
}

fn received<T>(result: Result<T, RecvTimeoutError>) -> Result<Option<T>, Disconnected> {
    match result {
        Ok(message) => Ok(Some(message)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(Disconnected),
    }
}

impl ProbeLink for MemoryProbeLink {
    fn send(&self, message: FromProbe) -> Result<(), Disconnected> {
        self.to_controller.send((self.number, message)).map_err(|_| Disconnected)
    }

    fn receive(&self, wait: Duration) -> Result<Option<ToProbe>, Disconnected> {
        received(self.from_controller.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(wait))
    }
}

impl ControllerLink for MemoryControllerLink {
    fn send(&self, node: usize, message: ToProbe) -> Result<(), Disconnected> {
        self.to_probes.get(node).ok_or(Disconnected)?.send(message).map_err(|_| Disconnected)
    }

    fn receive(&self, wait: Duration) -> Result<Option<(usize, FromProbe)>, Disconnected> {
        received(self.from_probes.recv_timeout(wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn messages_arrive_in_order_and_ends_are_seen() {
        let nodes = ["A".to_owned(), "B".to_owned()];
        let (controller, mut probes) = links(&nodes);
        assert_eq!(controller.receive(NOW), Ok(None));
        for at_ns in [1, 2] {
            probes[1].send(FromProbe::Reached { at_ns }).expect("it is there");
            controller.send(1, ToProbe::Enter { until_ns: at_ns }).expect("it is there");
        }
        for at_ns in [1, 2] {
            assert_eq!(controller.receive(NOW), Ok(Some((1, FromProbe::Reached { at_ns }))));
            assert_eq!(probes[1].receive(NOW), Ok(Some(ToProbe::Enter { until_ns: at_ns })));
        }
        assert_eq!(probes[0].receive(NOW), Ok(None));
        assert_eq!(controller.send(2, ToProbe::Enter { until_ns: 0 }), Err(Disconnected));
        drop(probes.pop());
        assert_eq!(controller.send(1, ToProbe::Enter { until_ns: 0 }), Err(Disconnected));
        assert_eq!(controller.receive(NOW), Ok(None));
        let last = probes.pop().expect("a probe");
        drop(controller);
        assert_eq!(last.receive(NOW), Err(Disconnected));
        assert_eq!(last.send(FromProbe::Ended { answers: Vec::new() }), Err(Disconnected));
    }

    #[test]
    fn messages_are_what_was_written() {
        use report::{Answer, Column, ColumnKind, Span, Value};
        use task::query::{GroupField, Item, Query};
        let window = Span { start_ns: 1_000_000_000, end_ns: 2_000_000_000 };
        let query = Query::new("q1", [GroupField::of("src_addr")], [Item::sum("total_byte")]);
        let list = crate::TaskList { generation: 3, tasks: vec![crate::Task { query, time: Some(window) }] };
        let column = Column::new("total_byte", ColumnKind::Unsigned, "bytes");
        let answer = Answer::new("q1", Some(window), vec![column], vec![vec![Value::Unsigned(u64::MAX)]]);
        let result = crate::WindowResult { window, answers: vec![answer.clone()] };
        for message in [ToProbe::Tasks(list), ToProbe::Enter { until_ns: 9 }] {
            let text = serde_json::to_string(&message).expect("JSON");
            assert_eq!(serde_json::from_str::<ToProbe>(&text).expect("a message"), message);
        }
        for message in [
            FromProbe::Reached { at_ns: 7 },
            FromProbe::Window(Box::new(result)),
            FromProbe::Refused { generation: 3, reason: "no memory".to_owned() },
            FromProbe::Ended { answers: vec![answer] },
        ] {
            let text = serde_json::to_string(&message).expect("JSON");
            assert_eq!(serde_json::from_str::<FromProbe>(&text).expect("a message"), message);
        }
    }
}
