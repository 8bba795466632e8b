//! Heartbeats: what a probe says of itself while it runs.

use model::view::{KernelClock, Load, Spool, Store};
use protocol::{Heartbeat, ListId, RefusedList};
use std::fmt;
use std::time::{Duration, Instant};

/// Time from one heartbeat to the next.
const EVERY: Duration = Duration::from_secs(2);

/// The state that is read for each heartbeat.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vitals {
    /// The state of the system's clock.
    pub clock: Option<KernelClock>,
    /// The time that the system's clock says, nanoseconds since the epoch.
    pub now_ns: u64,
    /// The load of the probe.
    pub load: Option<Load>,
    /// The state of the probe's store, if it has one.
    pub store: Option<Store>,
}

/// Makes heartbeats.
pub struct Reporter {
    /// The part of a heartbeat that does not change.
    constant_part: Heartbeat,
    vitals: Box<dyn FnMut() -> Vitals + Send>,
    last: Option<Instant>,
}

impl fmt::Debug for Reporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reporter").field("usual", &self.constant_part).finish_non_exhaustive()
    }
}

impl Reporter {
    /// Creates a reporter. `usual`: what does not change while the probe runs: its version, sources and start. `vitals`: reads the rest.
    pub fn new(usual: Heartbeat, vitals: impl FnMut() -> Vitals + Send + 'static) -> Self {
        Self { constant_part: usual, vitals: Box::new(vitals), last: None }
    }

    /// A list was carried out, if only in part, or refused. The next heartbeat says so at once.
    pub(crate) fn installed(&mut self, list: ListId, installed: &Result<Option<String>, String>) {
        let (is_applied, reason) = match installed {
            Ok(reason) => (true, reason.as_ref()),
            Err(reason) => (false, Some(reason)),
        };
        if is_applied {
            self.constant_part.list = Some(list);
        }
        self.constant_part.lapsed = 0;
        self.constant_part.refused = reason.map(|reason| RefusedList { list, reason: reason.clone() });
        self.last = None;
    }

    /// Reports the number of tasks of the list whose lease has expired.
    pub(crate) fn ended(&mut self, tasks: u64) {
        self.constant_part.lapsed = tasks;
        self.last = None;
    }

    /// The heartbeat that is due, if one is.
    pub(crate) fn heartbeat(&mut self, spool: Spool) -> Option<Heartbeat> {
        if self.last.is_some_and(|last| last.elapsed() < EVERY) {
            return None;
        }
        self.last = Some(Instant::now());
        let Vitals { clock, now_ns, load, store } = (self.vitals)();
        Some(Heartbeat { spool, clock, now_ns, load, store, ..self.constant_part.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_says_what_became_of_the_list() {
        let vitals = || Vitals {
            clock: Some(KernelClock { synchronised: Some(true), max_error_ns: Some(5) }),
            now_ns: 7,
            load: Some(Load { busy: Some(0.5), flows: 3, most_flows: Some(9) }),
            store: Some(Store { files: 2, ..Store::default() }),
        };
        let mut reporter =
            Reporter::new(Heartbeat { version: "1".to_owned(), ..Heartbeat::default() }, vitals);
        let first = reporter.heartbeat(Spool { messages: 3, ..Spool::default() }).expect("the first one");
        assert_eq!((first.list, first.spool.messages, &*first.version), (None, 3, "1"));
        let Heartbeat { clock, now_ns, load, store, .. } = first;
        assert_eq!(Vitals { clock, now_ns, load, store }, vitals());
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
