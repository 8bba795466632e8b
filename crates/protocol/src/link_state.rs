//! The state of a connection, in words.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// The state of a connection: whether it carries messages, and why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// True if the other end is reached.
    pub connected: bool,
    /// The time since which the state is so, nanoseconds since the epoch.
    pub since_ns: u64,
    /// The other end of the connection: `the broker at HOST:PORT`, or in one process `the controller`.
    pub peer: String,
    /// The reason why the connection carries nothing, or not all that it should. Never a password. `None` too before the first attempt has
    /// ended.
    pub reason: Option<String>,
    /// A problem of a connection that carries messages now, as with files that the next connection needs.
    pub remark: Option<String>,
}

impl LinkState {
    /// A connection that carries messages from now on.
    pub fn up(peer: impl Into<String>) -> Self {
        Self { connected: true, since_ns: now_ns(), peer: peer.into(), reason: None, remark: None }
    }

    /// A connection that carries nothing from now on.
    pub fn down(peer: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { connected: false, reason: Some(reason.into()), ..Self::up(peer) }
    }
}

impl fmt::Display for LinkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.reason, self.connected) {
            (None, true) => write!(f, "{} is there", self.peer),
            (Some(reason), true) => write!(f, "{} keeps us waiting: {reason}", self.peer),
            (Some(reason), false) => write!(f, "{} is away: {reason}; trying again", self.peer),
            (None, false) => write!(f, "{} is being tried", self.peer),
        }
    }
}

/// Says a connection's state once for each time that it changes, however often the connection is tried.
#[derive(Clone, Debug, Default)]
pub struct LinkStateReporter {
    last: Option<(bool, Option<String>)>,
    remark: Option<String>,
}

impl LinkStateReporter {
    /// A line for the user, if there is another remark than before.
    pub fn remark(&mut self, state: &LinkState) -> Option<String> {
        let is_new = self.remark != state.remark;
        self.remark.clone_from(&state.remark);
        state.remark.clone().filter(|_| is_new)
    }

    /// A line for the user, if there is anything new: that it is away and why, or is back. A connection that carries messages from
    /// the start is not worth a line.
    pub fn line(&mut self, state: &LinkState) -> Option<String> {
        let now = (state.connected, state.reason.clone());
        if now == (false, None) {
            return None;
        }
        let last = self.last.replace(now.clone());
        match last {
            Some(last) if last == now => None,
            None if now == (true, None) => None,
            Some(_) if now == (true, None) => Some(format!("{} is back", state.peer)),
            _ => Some(state.to_string()),
        }
    }
}

/// Now, nanoseconds since the epoch.
pub(crate) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_each_change() {
        let mut watch = LinkStateReporter::default();
        let peer = "the broker at a:1";
        let tried = LinkState { reason: None, ..LinkState::down(peer, "") };
        assert_eq!(watch.line(&tried), None);
        assert_eq!(watch.line(&LinkState::up(peer)), None);
        let away = Some("the broker at a:1 is away: refused; trying again".to_owned());
        assert_eq!(watch.line(&LinkState::down(peer, "refused")), away);
        assert_eq!(watch.line(&LinkState::down(peer, "refused")), None);
        assert!(watch.line(&LinkState::down(peer, "no such user")).is_some());
        let full = LinkState { reason: Some("its disk is full".to_owned()), ..LinkState::up(peer) };
        let line = Some("the broker at a:1 keeps us waiting: its disk is full".to_owned());
        assert_eq!(watch.line(&full), line);
        assert_eq!(watch.line(&LinkState::up(peer)), Some("the broker at a:1 is back".to_owned()));
        assert_eq!(watch.line(&LinkState::up(peer)), None);
        assert_eq!(LinkStateReporter::default().line(&LinkState::down(peer, "refused")), away);
        let remarked = LinkState { remark: Some("no file".to_owned()), ..LinkState::up(peer) };
        let mut remark = |state: &LinkState| watch.remark(state);
        assert_eq!((remark(&remarked), remark(&remarked)), (Some("no file".to_owned()), None));
        assert_eq!((remark(&LinkState::up(peer)), remark(&remarked).is_some()), (None, true));
    }
}
