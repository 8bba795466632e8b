//! The state of a connection, kept for those who ask.

use super::broker::Broker;
use super::tls::Tls;
use crate::LinkState;
use std::sync::{Mutex, PoisonError};

/// The condition of one part of a connection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Condition {
    /// The part does what it should.
    Good,
    /// The broker is reached, and something is missing.
    Waits(String),
    /// The part is being tried for the first time.
    Tried,
    /// The broker is not reached.
    Away(String),
}

/// The state of a connection: the worst of its parts.
#[derive(Debug)]
pub(super) struct Status<const PARTS: usize> {
    parts: Mutex<([Condition; PARTS], LinkState)>,
    tls: Option<Tls>,
}

impl<const PARTS: usize> Status<PARTS> {
    pub(super) fn new(broker: &Broker) -> Self {
        let peer = format!("the broker at {}", broker.place());
        let state = LinkState { reason: None, ..LinkState::down(peer, "") };
        Self { parts: Mutex::new(([const { Condition::Tried }; PARTS], state)), tls: broker.tls().cloned() }
    }

    pub(super) fn set(&self, part: usize, condition: Condition) {
        let (parts, state) = &mut *self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts[part] = condition;
        let (connected, reason) = match parts.iter().max() {
            None | Some(Condition::Good) => (true, None),
            Some(Condition::Waits(reason)) => (true, Some(reason.clone())),
            Some(Condition::Tried) => (false, None),
            Some(Condition::Away(reason)) => (false, Some(reason.clone())),
        };
        if (state.connected, &state.reason) != (connected, &reason) {
            *state = LinkState { connected, reason, ..LinkState::up(std::mem::take(&mut state.peer)) };
        }
    }

    pub(super) fn get(&self) -> LinkState {
        let state = self.parts.lock().unwrap_or_else(PoisonError::into_inner).1.clone();
        let problem = self.tls.as_ref().and_then(Tls::problem);
        let remark = problem.map(|reason| format!("{reason}; what was read before is used"));
        LinkState { remark, ..state }
    }
}
