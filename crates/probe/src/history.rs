//! Questions to the store of a probe, answered on a thread of their own, one after the other: the machine measures meanwhile.

use crate::history_reading::{HistoryJob, StoreReading};
use protocol::{FromProbe, HistoryTask, ProbeLink, TaskList};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use task::rows::PlanContext;

/// Tasks that wait for the one that is being answered.
const MOST_WAITING: usize = 16;

/// The questions that lists ask of a store.
#[derive(Debug)]
pub(crate) struct HistoryRequests {
    link: Arc<dyn ProbeLink>,
    /// Epoch and number of each task that lists have, with what ends its reading.
    asked: BTreeMap<(u64, u64), Arc<AtomicBool>>,
    reader: Option<HistoryReader>,
    /// The refusal of a question where there is no reader.
    refusal: &'static str,
}

#[derive(Debug)]
struct HistoryReader {
    jobs: SyncSender<HistoryJob>,
    thread: JoinHandle<()>,
}

impl HistoryRequests {
    /// Starts the thread where there is a store, a folder. `site`: the node, and the account of its memory.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(crate) fn start(
        link: Arc<dyn ProbeLink>,
        store: Option<PathBuf>,
        site: &PlanContext,
    ) -> std::io::Result<Self> {
        let start = |folder: PathBuf| {
            let (jobs, waiting) = sync_channel(MOST_WAITING);
            let (reading, link) = (StoreReading::new(folder, site), Arc::clone(&link));
            let work = move || answer_all(&reading, &waiting, link.as_ref());
            let thread = std::thread::Builder::new().name("history".to_owned()).spawn(work)?;
            Ok::<_, std::io::Error>(HistoryReader { jobs, thread })
        };
        let reader = store.map(start).transpose()?;
        Ok(Self { link, asked: BTreeMap::new(), reader, refusal: "no_store: the probe has no --store" })
    }

    /// Takes what a list asks and was not asked before, and ends what it asks no more.
    pub(crate) fn take(&mut self, list: &TaskList) {
        let now = Instant::now();
        let is_asked =
            |&(epoch, id): &(u64, u64)| list.history.iter().any(|task| (task.epoch, task.id) == (epoch, id));
        self.asked.retain(|key, is_over| {
            let goes_on = is_asked(key);
            is_over.fetch_or(!goes_on, Relaxed);
            goes_on
        });
        for task in &list.history {
            let key = (task.epoch, task.id);
            if let Entry::Vacant(place) = self.asked.entry(key) {
                let is_over = Arc::clone(place.insert(Arc::default()));
                self.begin(task, is_over, now);
            }
        }
    }

    fn begin(&self, task: &HistoryTask, is_over: Arc<AtomicBool>, now: Instant) {
        let refused = match &self.reader {
            None => self.refusal,
            Some(HistoryReader { jobs, .. }) => {
                // A time beyond what the clock can name does not end.
                let until = now.checked_add(Duration::from_millis(task.limits.time_ms));
                match jobs.try_send(HistoryJob { task: task.clone(), is_over, until }) {
                    Ok(()) => return,
                    Err(TrySendError::Full(_)) => "busy: too many questions wait at this probe",
                    Err(TrySendError::Disconnected(_)) => "fault: the thread that reads the store has failed",
                }
            }
        };
        // Where the controller has left, there is nothing to tell it.
        let _ = self.link.send(FromProbe::History(Box::new(task.no_answer(refused))));
    }

    /// Ends what is being answered, and waits for it.
    pub(crate) fn end(&mut self) {
        self.asked.values().for_each(|is_over| is_over.store(true, Relaxed));
        self.refusal = "ended: the probe ends";
        if let Some(HistoryReader { jobs, thread }) = self.reader.take() {
            drop(jobs);
            // A thread that panicked has ended too.
            let _ = thread.join();
        }
    }
}

/// Answers task by task until no more can come.
fn answer_all(reading: &StoreReading, waiting: &Receiver<HistoryJob>, link: &dyn ProbeLink) {
    for job in waiting {
        if let Some(answer) = reading.answer(&job) {
            // Where the controller has left, there is nothing to tell it.
            let _ = link.send(FromProbe::History(Box::new(answer)));
        }
    }
}
