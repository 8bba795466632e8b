//! Threads that do something with events, and what becomes of each event.

use model::{Counters, Event};
use runtime::exit::{Failure, no_thread, say};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The most events that wait for a thread.
const WAITING: usize = 1_000;

/// An event, and its JSON as the controller sent it.
#[derive(Debug)]
pub(super) struct ReceivedEvent {
    pub(super) event: Event,
    pub(super) json: String,
}

/// The outcome of an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The counter of it.
    pub(super) name: Cow<'static, str>,
    /// True if what was to be done is done.
    pub(super) is_well: bool,
    /// The text that is said of it, if there is one.
    pub(super) text: Option<String>,
}

impl Outcome {
    /// The outcome of an action that succeeded.
    pub(super) fn well(name: &'static str, text: Option<String>) -> Self {
        Self { name: name.into(), is_well: true, text }
    }

    /// The outcome of an action that failed.
    pub(super) fn failed(name: impl Into<Cow<'static, str>>, text: impl Into<String>) -> Self {
        Self { name: name.into(), is_well: false, text: Some(text.into()) }
    }

    /// The outcome of an action that was not done because the program was told to end.
    pub(super) fn ended() -> Self {
        Self::failed("ended", "not done: edison watch ends")
    }
}

/// The counts of what became of events.
#[derive(Debug, Default)]
struct Tally {
    /// Events by outcome.
    outcomes: Counters,
    failed: u64,
}

/// Threads that do the same with events, each with one at a time.
pub(super) struct Workers {
    /// The option that asks for it, as it is shown.
    name: String,
    queue: SyncSender<Arc<ReceivedEvent>>,
    threads: Vec<JoinHandle<()>>,
    tally: Arc<Mutex<Tally>>,
}

impl Workers {
    /// Starts this number of threads. `stop`: what waits is not done any more.
    pub(super) fn start(
        name: String,
        number: u16,
        stop: &Arc<AtomicBool>,
        work: impl Fn(&ReceivedEvent) -> Outcome + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let (queue, events) = sync_channel(WAITING);
        let (events, work) = (Arc::new(Mutex::new(events)), Arc::new(work));
        let tally = Arc::new(Mutex::new(Tally::default()));
        let thread = |_| {
            let (events, work, stop) = (Arc::clone(&events), Arc::clone(&work), Arc::clone(stop));
            let (name, tally) = (name.clone(), Arc::clone(&tally));
            let work = move || {
                while let Some(event) = next(&events) {
                    let outcome = if stop.load(Relaxed) { Outcome::ended() } else { work(&event) };
                    record(&name, &tally, &event.event, outcome);
                }
            };
            std::thread::Builder::new().name("action".to_owned()).spawn(work).map_err(no_thread)
        };
        let threads = (0..number).map(thread).collect::<Result<_, _>>()?;
        Ok(Self { name, queue, threads, tally })
    }

    /// Takes an event, without waiting.
    pub(super) fn take(&self, event: &Arc<ReceivedEvent>) {
        let outcome = match self.queue.try_send(Arc::clone(event)) {
            Ok(()) => return,
            Err(TrySendError::Full(_)) => {
                Outcome::failed("no_room", format!("skipped: {WAITING} events wait already"))
            }
            Err(TrySendError::Disconnected(_)) => Outcome::failed("fault", "skipped: no thread is left"),
        };
        record(&self.name, &self.tally, &event.event, outcome);
    }

    /// Waits until all that waits is done, and says what became of all events. Returns whether all is well.
    pub(super) fn end(self) -> bool {
        let Self { name, queue, threads, tally } = self;
        drop(queue);
        let is_whole = threads.into_iter().map(JoinHandle::join).fold(true, |well, end| well & end.is_ok());
        let Tally { outcomes, failed } = &*tally.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = outcomes.nonzero().map(|(name, count)| format!("{} {name}", notation::grouped(count)));
        let counts = counts.collect::<Vec<_>>().join(", ");
        let total = notation::grouped(outcomes.total());
        say(&if counts.is_empty() {
            format!("{name}: no events")
        } else {
            format!("{name}: {total} event{}: {counts}", if outcomes.total() == 1 { "" } else { "s" })
        });
        is_whole && *failed == 0
    }
}

/// The next event; `None` once there will be none.
fn next(events: &Mutex<Receiver<Arc<ReceivedEvent>>>) -> Option<Arc<ReceivedEvent>> {
    events.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

fn record(name: &str, tally: &Mutex<Tally>, event: &Event, outcome: Outcome) {
    let Outcome { name: counter, is_well, text } = outcome;
    {
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.outcomes.count(&counter, 1);
        tally.failed += u64::from(!is_well);
    }
    if let Some(text) = text {
        let counted = if is_well { String::new() } else { format!(" ({counter})") };
        let line = format!("{name}: {} of {}: {text}{counted}", event.event, event.query);
        // Some of it comes from elsewhere.
        let clean = |letter: char| if letter.is_control() { '\u{fffd}' } else { letter };
        say(&line.chars().map(clean).collect::<String>());
    }
}
