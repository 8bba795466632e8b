//! The threads that tell Alertmanagers what is in the book.

use crate::desk::{NotifierMonitor, NotifierState};
use crate::sender::{AlertSender, now_ns};
use crate::{Book, Notify};
use model::view::AlertmanagerView;
use notation::{counted, grouped};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The state of the notification at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotifierOutcome {
    /// The messages that are to be said, as those of [`Notifier::lines`].
    pub lines: Vec<String>,
    /// The alerts that Alertmanagers were not told, a line for each Alertmanager.
    pub untold: Vec<String>,
    /// Alerts that were given up, a line for each Alertmanager.
    pub given_up: Vec<String>,
    /// The counts of alerts for each Alertmanager.
    pub counts: Vec<AlertmanagerView>,
    /// The book as data, for the next start.
    pub saved: Option<String>,
}

/// Tells Alertmanagers what happens, each on a thread of its own, so that none waits for another.
pub struct Notifier {
    desk: Arc<NotifierMonitor>,
    threads: Vec<JoinHandle<()>>,
}

impl Notifier {
    /// Starts the threads. The book's addresses are the places of `clients`.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn start(book: Book, clients: Vec<Box<dyn Notify>>) -> io::Result<Self> {
        let shared = NotifierState { book, is_new: vec![true; clients.len()], ends: None, lines: Vec::new() };
        let desk = Arc::new(NotifierMonitor::new(shared));
        let mut threads = Vec::new();
        for (number, client) in clients.into_iter().enumerate() {
            let sender = AlertSender::new(Arc::clone(&desk), number, client);
            let thread = std::thread::Builder::new().name(format!("alerts{number}"));
            threads.push(thread.spawn(move || sender.run())?);
        }
        Ok(Self { desk, threads })
    }

    /// Changes the book.
    pub fn with<T>(&self, change: impl FnOnce(&mut Book) -> T) -> T {
        let mut shared = self.desk.lock();
        let result = change(&mut shared.book);
        self.desk.ring(shared);
        result
    }

    /// Returns the counts of alerts for each Alertmanager.
    pub fn counts(&self) -> Vec<AlertmanagerView> {
        self.desk.lock().book.counts().cloned().collect()
    }

    /// The book as data, if it has changed since it was [stored](Self::stored).
    pub fn save(&self) -> Option<String> {
        self.desk.lock().book.save()
    }

    /// Notes that what was saved last is safe.
    pub fn stored(&self) {
        self.desk.lock().book.stored();
    }

    /// Takes the messages that are to be said since the last call.
    pub fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.desk.lock().lines)
    }

    /// Ends once everything is told, or after this time.
    pub fn finish(mut self, wait: Duration) -> NotifierOutcome {
        let now = Instant::now();
        let mut shared = self.desk.lock();
        shared.ends = Some(now.checked_add(wait).unwrap_or(now));
        self.desk.ring(shared);
        let (mut untold, mut given_up) = (Vec::new(), Vec::new());
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                untold.push(
                    "a thread that tells Alertmanagers failed: what they were not told is not known"
                        .to_owned(),
                );
            }
        }
        let mut shared = self.desk.lock();
        let lines = std::mem::take(&mut shared.lines);
        let book = &mut shared.book;
        for counts in book.counts() {
            let address = &counts.address;
            let number = book.untold(address, now_ns());
            if number != 0 {
                let reason = counts.fault.as_deref().unwrap_or("had too little time");
                untold.push(format!(
                    "Alertmanager at {address} was not told of {} at the end: it {reason}",
                    counted(number as u64, "alert")
                ));
            }
            let lost: u64 = counts.lost.total();
            if lost != 0 {
                let parts: Vec<_> = counts
                    .lost
                    .nonzero()
                    .map(|(reason, number)| format!("{} {reason}", grouped(number)))
                    .collect();
                given_up.push(format!(
                    "Alertmanager at {address} did not take {}: {}",
                    counted(lost, "alert"),
                    parts.join(", ")
                ));
            }
        }
        let counts = book.counts().cloned().collect();
        NotifierOutcome { lines, untold, given_up, counts, saved: book.save() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AlertmanagerProblem, Extra, NotifyError};
    use model::{Event, EventKind};
    use std::sync::Mutex;

    const AT: &str = "http://127.0.0.1:9093";

    type Refuses = Arc<Mutex<Option<NotifyError>>>;
    type Taken = Arc<Mutex<Vec<String>>>;

    /// Takes or refuses, and keeps what it took.
    struct Fake {
        place: &'static str,
        refuses: Refuses,
        taken: Taken,
    }

    impl Notify for Fake {
        fn place(&self) -> String {
            self.place.to_owned()
        }

        fn post(&mut self, body: &str) -> Result<(), NotifyError> {
            let alerts: Vec<serde_json::Value> = serde_json::from_str(body).expect("a list");
            let names: Vec<String> = alerts
                .iter()
                .map(|alert| alert["labels"]["alertname"].as_str().expect("a name").to_owned())
                .collect();
            // It refuses alerts one by one.
            if names.iter().any(|name| name.starts_with("bad")) {
                return Err(NotifyError::Alerts("refuses alerts".to_owned()));
            }
            if let Some(refusal) = self.refuses.lock().expect("a lock").clone() {
                return Err(refusal);
            }
            self.taken.lock().expect("a lock").extend(names);
            Ok(())
        }
    }

    fn event(kind: EventKind, query: &str, parent: Option<&str>) -> Event {
        Event {
            event: format!("{query}{}", kind.name()),
            kind,
            query: query.to_owned(),
            fired_by: None,
            key: Vec::new(),
            node: None,
            at_ns: 1,
            window: None,
            values: Vec::new(),
            threshold: None,
            late: false,
            coverage: None,
            bounds: None,
            parent: parent.map(str::to_owned),
            title: None,
        }
    }

    fn started(places: &[&'static str]) -> (Notifier, Vec<Refuses>, Vec<Taken>) {
        let (mut clients, mut refuses, mut taken): (Vec<Box<dyn Notify>>, Vec<_>, Vec<_>) =
            Default::default();
        for place in places {
            let fake = Fake { place, refuses: Arc::default(), taken: Arc::default() };
            refuses.push(Arc::clone(&fake.refuses));
            taken.push(Arc::clone(&fake.taken));
            clients.push(Box::new(fake));
        }
        let book = Book::new(places.iter().map(|place| (*place).to_owned()).collect(), Extra::default());
        (Notifier::start(book, clients).expect("threads"), refuses, taken)
    }

    fn until(what: &str, mut look: impl FnMut() -> bool) {
        let began = Instant::now();
        while !look() {
            assert!(began.elapsed() < Duration::from_secs(120), "waited in vain for {what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn one_that_is_away_is_told_once_it_is_back_and_keeps_no_other_waiting() {
        let (notifier, refuses, taken) = started(&[AT, "http://127.0.0.1:9094"]);
        *refuses[0].lock().expect("a lock") =
            Some(NotifyError::Wait(AlertmanagerProblem::Away, "is away".to_owned()));
        notifier.with(|book| book.take(&event(EventKind::Fired, "a", None), String::new));
        until("the other one", || *taken[1].lock().expect("a lock") == ["a"]);
        until("the fault", || notifier.counts()[0].fault.is_some());
        assert_eq!(notifier.lines(), [format!("Alertmanager at {AT} is away; alerts wait (away)")]);
        *refuses[0].lock().expect("a lock") = None;
        until("the first one", || *taken[0].lock().expect("a lock") == ["a"]);
        until("that it is well", || notifier.counts()[0].fault.is_none());
        let counts = &notifier.counts()[0];
        assert!(counts.problems.get("away") >= 1 && counts.fired == 1, "{counts:?}");
        let ended = notifier.finish(Duration::from_secs(60));
        assert_eq!(ended.lines, [format!("Alertmanager at {AT} takes alerts again")]);
        assert!(ended.saved.is_some_and(|saved| saved.contains("\"alertname\":\"a\"")));
    }

    #[test]
    fn an_alert_that_is_refused_is_counted_and_keeps_no_other_from_being_told() {
        let (notifier, _, taken) = started(&[AT]);
        let names = ["a", "b", "bad1", "c", "bad2", "d"];
        notifier.with(|book| {
            names.iter().for_each(|name| book.take(&event(EventKind::Fired, name, None), String::new));
        });
        until("all others", || {
            let mut names = taken[0].lock().expect("a lock").clone();
            names.sort();
            names.dedup();
            names == ["a", "b", "c", "d"]
        });
        until("those that are refused", || notifier.counts()[0].lost.get("refused") == 2);
        assert_eq!(notifier.counts()[0].fired, 4);
        let ended = notifier.finish(Duration::from_secs(60));
        assert_eq!((ended.lines.len(), ended.untold), (2, Vec::new()));
        assert_eq!(ended.given_up, [format!("Alertmanager at {AT} did not take 2 alerts: 2 refused")]);
    }

    #[test]
    fn the_end_says_what_was_not_told() {
        let (notifier, refuses, taken) = started(&[AT]);
        *refuses[0].lock().expect("a lock") =
            Some(NotifyError::Wait(AlertmanagerProblem::Slow, "is slow".to_owned()));
        notifier.with(|book| book.take(&event(EventKind::Fired, "a", None), String::new));
        until("the fault", || notifier.counts()[0].fault.is_some());
        let ended = notifier.finish(Duration::from_millis(50));
        assert_eq!(
            ended.untold,
            [format!("Alertmanager at {AT} was not told of 1 alert at the end: it is slow")]
        );
        assert!(taken[0].lock().expect("a lock").is_empty());
    }

    #[test]
    fn what_is_told_at_the_end_is_waited_for() {
        let (notifier, _, taken) = started(&[AT]);
        notifier.with(|book| {
            book.take(&event(EventKind::Fired, "a", None), String::new);
            book.take(&event(EventKind::Resolved, "a", Some("afired")), String::new);
        });
        assert!(notifier.finish(Duration::from_secs(60)).untold.is_empty());
        assert_eq!(taken[0].lock().expect("a lock").last().map(String::as_str), Some("a"));
    }
}
