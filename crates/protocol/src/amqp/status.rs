//! The state of a connection, kept for those who ask.

use super::broker::BrokerAddress;
use super::tls::Tls;
use crate::LinkState;
use std::sync::{Mutex, PoisonError};

/// The condition of one part of a connection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConnectionHealth {
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
pub(super) struct ConnectionStatus<const PARTS: usize> {
    parts: Mutex<([ConnectionHealth; PARTS], LinkState)>,
    tls: Option<Tls>,
}

impl<const PARTS: usize> ConnectionStatus<PARTS> {
    pub(super) fn new(broker: &BrokerAddress) -> Self {
        let peer = format!("the broker at {}", broker.place());
        let state = LinkState { reason: None, ..LinkState::down(peer, "") };
        Self {
            parts: Mutex::new(([const { ConnectionHealth::Tried }; PARTS], state)),
            tls: broker.tls().cloned(),
        }
    }

    pub(super) fn set(&self, part: usize, condition: ConnectionHealth) {
        let (parts, state) = &mut *self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts[part] = condition;
        let (connected, reason) = match parts.iter().max() {
            None | Some(ConnectionHealth::Good) => (true, None),
            Some(ConnectionHealth::Waits(reason)) => (true, Some(reason.clone())),
            Some(ConnectionHealth::Tried) => (false, None),
            Some(ConnectionHealth::Away(reason)) => (false, Some(reason.clone())),
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
