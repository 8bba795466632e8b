//! Heartbeats: what a probe says of itself while it runs.

use protocol::{Clock, Heartbeat, ListId, RefusedList, Spool};
use std::time::{Duration, Instant};

/// Time from one heartbeat to the next.
const EVERY: Duration = Duration::from_secs(2);

/// Makes heartbeats.
#[derive(Debug)]
pub struct Reporter {
    /// What does not change.
    usual: Heartbeat,
    clock: fn() -> Option<Clock>,
    last: Option<Instant>,
}

impl Reporter {
    /// `usual`: what does not change while the probe runs: its version, sources and start. `clock`: the state of the system's clock.
    pub fn new(usual: Heartbeat, clock: fn() -> Option<Clock>) -> Self {
        Self { usual, clock, last: None }
    }

    /// A list was carried out, if only in part, or refused. The next heartbeat says so at once.
    pub(crate) fn installed(&mut self, list: ListId, installed: &Result<Option<String>, String>) {
        let (is_applied, reason) = match installed {
            Ok(reason) => (true, reason.as_ref()),
            Err(reason) => (false, Some(reason)),
        };
        if is_applied {
            self.usual.list = Some(list);
        }
        self.usual.refused = reason.map(|reason| RefusedList { list, reason: reason.clone() });
        self.last = None;
    }

    /// The heartbeat that is due, if one is.
    pub(crate) fn heartbeat(&mut self, spool: Spool) -> Option<Heartbeat> {
        if self.last.is_some_and(|last| last.elapsed() < EVERY) {
            return None;
        }
        self.last = Some(Instant::now());
        Some(Heartbeat { spool, clock: (self.clock)(), ..self.usual.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_says_what_became_of_the_list() {
        let clock = || Some(Clock { synchronised: Some(true), max_error_ns: Some(5) });
        let mut reporter =
            Reporter::new(Heartbeat { version: "1".to_owned(), ..Heartbeat::default() }, clock);
        let first = reporter.heartbeat(Spool { messages: 3, ..Spool::default() }).expect("the first one");
        assert_eq!((first.list, first.spool.messages, &*first.version), (None, 3, "1"));
        assert_eq!(first.clock, clock());
        // Not so soon again, unless there is something to say.
        assert_eq!(reporter.heartbeat(Spool::default()), None);
        let list = |generation| ListId { epoch: 1, generation };
        let refused = |generation, reason: &str| {
            Some(RefusedList { list: list(generation), reason: reason.to_owned() })
        };
        for (generation, installed, applied, said) in [
            (1, Ok(None), 1, None),
            (2, Ok(Some("a: no loss".to_owned())), 2, refused(2, "a: no loss")),
            (3, Err("no memory".to_owned()), 2, refused(3, "no memory")),
            (4, Ok(None), 4, None),
        ] {
            reporter.installed(list(generation), &installed);
            let heartbeat = reporter.heartbeat(Spool::default()).expect("at once");
            assert_eq!((heartbeat.list, heartbeat.refused), (Some(list(applied)), said));
        }
    }
}
