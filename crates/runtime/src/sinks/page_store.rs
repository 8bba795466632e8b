//! The questions that the page of a run with a store asks of it: questions about history, and dry runs.

use crate::exit::no_thread;
use crate::exit::{Failure, say};
use crate::questions::asked::QuerySet;
use crate::questions::history_asked;
use crate::questions::requested_dry_run::RequestedDryRun;
use crate::spec::RunSpec;
use controller::{CheckContext, HistoryRequest as AskedOfStores, HistoryResult, StandingQueries};
use engine::Every;
use model::HistoryAnswers;
use probe::{HistoryJob, StoreReading};
use protocol::HistoryTask;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use task::rows;
use web::{HistoryAsked, Request, RequestRefusal};

/// The thread that answers.
pub(crate) struct PageStore {
    requests: Sender<Request>,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// The store, and what the run knows.
struct StoreReader {
    continuous: StandingQueries,
    /// The readings of the store, one for each node.
    stores: Vec<StoreReading>,
    is_over: Arc<AtomicBool>,
}

impl PageStore {
    /// Starts the thread. `nodes`: what the rows of each are like.
    pub(crate) fn start(
        folder: &Path,
        options: &RunSpec,
        asked: &QuerySet,
        nodes: &[rows::PlanContext],
    ) -> Result<Option<Self>, Failure> {
        let length = |every| match every {
            Every::Time(length) => Some(length),
            Every::Packets(_) => None,
        };
        let Some(base_ns) = length(options.question.every) else { return Ok(None) };
        let site = CheckContext {
            nodes: nodes.iter().map(|node| node.node.clone()).collect(),
            key: options.question.key.parts(),
            base_ns,
            window_ns: asked.default_every.and_then(length).unwrap_or(base_ns),
            set: options.question.set.clone(),
            settings: events::EventSettings::default(),
        };
        let standing = StandingQueries::from_queries(site.clone(), asked.checked.clone());
        let is_over = Arc::new(AtomicBool::new(false));
        let reader = StoreReader {
            // What the executor refuses was said before.
            continuous: standing.unwrap_or_else(|_| StandingQueries::new(site)),
            stores: nodes.iter().map(|node| StoreReading::new(folder.to_owned(), node)).collect(),
            is_over: Arc::clone(&is_over),
        };
        let (requests, received) = channel();
        let work = move || reader.answer_all(&received);
        let thread =
            std::thread::Builder::new().name("page store".to_owned()).spawn(work).map_err(no_thread)?;
        Ok(Some(Self { requests, is_over, thread }))
    }

    /// Returns the channel that takes requests.
    pub(crate) fn requests(&self) -> Sender<Request> {
        self.requests.clone()
    }

    /// Leaves what is being answered, and waits for the thread. The server must have ended: it may hand over requests until then.
    pub(crate) fn end(self) {
        let Self { requests, is_over, thread } = self;
        is_over.store(true, Relaxed);
        drop(requests);
        if thread.join().is_err() {
            say("--web: the thread that reads the store has failed");
        }
    }
}

impl StoreReader {
    fn answer_all(&self, requests: &Receiver<Request>) {
        for request in requests {
            match request {
                // A client that has left while others were answered.
                Request::History { reply, .. } if reply.has_left() => {}
                Request::DryRun { reply, .. } if reply.has_left() => {}
                Request::History { asked, reply } => reply.send(self.answer(&asked)),
                Request::DryRun { asked, reply } => {
                    let outcome = RequestedDryRun::new(&self.continuous, asked).and_then(|dry_run| {
                        dry_run.run(&mut |asked| {
                            if reply.has_left() || self.is_over.load(Relaxed) {
                                return Err(RequestRefusal::Failed("its request was given up".to_owned()));
                            }
                            Ok(self.ask(asked))
                        })
                    });
                    reply.send(outcome);
                }
                Request::Install { reply, .. } => reply.send(Err(RequestRefusal::NotHere)),
                Request::Remove { reply, .. } => reply.send(Err(RequestRefusal::NotHere)),
            }
        }
    }

    fn answer(&self, asked: &HistoryAsked) -> Result<HistoryAnswers, RequestRefusal> {
        let (asked, warnings) = history_asked::asked(self.continuous.site(), "this run", asked)?;
        let HistoryResult { answers, nodes, .. } = self.ask(asked);
        Ok(HistoryAnswers { answers, nodes, warnings })
    }

    fn ask(&self, asked: AskedOfStores) -> HistoryResult {
        // All nodes together have the time.
        let until = Instant::now().checked_add(Duration::from_millis(asked.time_ms));
        let mut answer = |node: usize, task: HistoryTask| {
            let job = HistoryJob { task, is_over: Arc::clone(&self.is_over), until };
            let ended = || job.task.no_answer("ended: the run ends");
            self.stores[node].answer(&job).unwrap_or_else(ended)
        };
        asked.query_stores(&self.continuous.site().nodes, &mut answer)
    }
}
