//! Connections within one process.

use crate::link_state::LinkState;
use crate::message::{FromProbe, ToProbe};
use crate::transport::{ControllerLink, Disconnected, ProbeLink, ReceivedMessage};
use model::view::Spool;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A probe's side.
#[derive(Debug)]
pub struct MemoryProbeLink {
    number: usize,
    to_controller: Sender<ReceivedMessage>,
    from_controller: Mutex<Receiver<ToProbe>>,
    state: LinkState,
}

/// The controller's side.
#[derive(Debug)]
pub struct MemoryControllerLink {
    to_probes: Vec<Sender<ToProbe>>,
    from_probes: Receiver<ReceivedMessage>,
    state: LinkState,
}

/// A controller's connections to these nodes, and theirs to it, in this order.
pub fn links(nodes: &[String]) -> (MemoryControllerLink, Vec<MemoryProbeLink>) {
    let (to_controller, from_probes) = channel();
    let mut to_probes = Vec::new();
    let mut probes = Vec::new();
    for number in 0..nodes.len() {
        let (to_probe, from_controller) = channel();
        to_probes.push(to_probe);
        probes.push(MemoryProbeLink {
            number,
            to_controller: to_controller.clone(),
            from_controller: Mutex::new(from_controller),
            state: LinkState::up("the controller"),
        });
    }
    (MemoryControllerLink { to_probes, from_probes, state: LinkState::up("the probes") }, probes)
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
        let message = ReceivedMessage { node: self.number, id: None, message };
        self.to_controller.send(message).map_err(|_| Disconnected)
    }

    fn receive(&self, wait: Duration) -> Result<Option<ToProbe>, Disconnected> {
        received(self.from_controller.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(wait))
    }

    fn flush(&self, _wait: Duration) -> bool {
        true
    }

    fn state(&self) -> LinkState {
        self.state.clone()
    }

    fn spool(&self) -> Spool {
        Spool::default()
    }
}

impl ControllerLink for MemoryControllerLink {
    fn send(&self, node: usize, message: ToProbe) -> Result<(), Disconnected> {
        self.to_probes.get(node).ok_or(Disconnected)?.send(message).map_err(|_| Disconnected)
    }

    fn receive(&self, wait: Duration) -> Result<Option<ReceivedMessage>, Disconnected> {
        received(self.from_probes.recv_timeout(wait))
    }

    fn acknowledge(&self) {}

    fn refused(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::new()
    }

    fn refused_of(&self, _: usize) -> BTreeMap<&'static str, u64> {
        BTreeMap::new()
    }

    fn state(&self) -> LinkState {
        self.state.clone()
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
            let message = ReceivedMessage { node: 1, id: None, message: FromProbe::Reached { at_ns } };
            assert_eq!(controller.receive(NOW), Ok(Some(message)));
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
        assert_eq!(last.send(FromProbe::Ended { answers: Vec::new(), traffic: None }), Err(Disconnected));
    }
}
