//! Dry runs over the stores of the probes of a deployment. Each runs on its own thread, so that the controller continues meanwhile.

use controller::{HistoryRequest, HistoryResult, NotAsked, StandingQueries};
use model::DryRunOutcome;
use runtime::questions::requested_dry_run::RequestedDryRun;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use web::{DryRunAsked, Reply, RequestRefusal};

/// The greatest number of dry runs at a time. It is small because nodes measure meanwhile.
const MOST: usize = 2;
/// The time after which a dry run asks busy nodes again, and the interval at which it checks if its client has disconnected.
const AGAIN: Duration = Duration::from_millis(200);

/// The question that a dry run asks the nodes.
pub(super) struct DryRunRequest {
    pub(super) asked: HistoryRequest,
    /// True once the answer is no longer needed.
    pub(super) is_over: Arc<AtomicBool>,
    /// The channel for the answer of the nodes.
    pub(super) answer: Sender<Result<HistoryResult, NotAsked>>,
}

/// The dry runs in progress.
pub(super) struct DryRuns {
    threads: Vec<JoinHandle<()>>,
    ask: Sender<DryRunRequest>,
    questions: Receiver<DryRunRequest>,
}

impl Default for DryRuns {
    fn default() -> Self {
        let (ask, questions) = channel();
        Self { threads: Vec::new(), ask, questions }
    }
}

impl DryRuns {
    /// Takes the questions that dry runs have for the nodes.
    pub(super) fn questions(&self) -> Vec<DryRunRequest> {
        self.questions.try_iter().collect()
    }

    /// Starts a dry run.
    pub(super) fn start(
        &mut self,
        standing: &StandingQueries,
        asked: DryRunAsked,
        reply: Reply<DryRunOutcome>,
    ) {
        self.threads.retain(|thread| !thread.is_finished());
        if self.threads.len() >= MOST {
            return reply
                .send(Err(RequestRefusal::Busy(format!("{MOST} dry runs are going on: ask again later"))));
        }
        let (standing, questions) = (standing.clone(), self.ask.clone());
        // The thread also checks the text, which may be large.
        let work = move || {
            let dry_run = RequestedDryRun::new(&standing, asked);
            let outcome = dry_run.and_then(|run| run.run(&mut |asked| ask(&questions, &asked, &reply)));
            reply.send(outcome);
        };
        match Builder::new().name("dry run".to_owned()).spawn(work) {
            Ok(thread) => self.threads.push(thread),
            // Without the thread, `reply` is dropped, and the client receives an error.
            Err(error) => runtime::exit::say(&format!("a dry run cannot be started: {error}")),
        }
    }
}

/// Asks the nodes until they answer or the client disconnects.
fn ask(
    questions: &Sender<DryRunRequest>,
    asked: &HistoryRequest,
    reply: &Reply<DryRunOutcome>,
) -> Result<HistoryResult, RequestRefusal> {
    let ends = || RequestRefusal::Failed("the controller ends".to_owned());
    loop {
        if reply.has_left() {
            return Err(RequestRefusal::Failed("the client has left".to_owned()));
        }
        let (answer, answered) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let question = DryRunRequest { asked: asked.clone(), is_over: Arc::clone(&is_over), answer };
        questions.send(question).map_err(|_| ends())?;
        // The controller always answers, at the latest when the time is over.
        let answered = loop {
            match answered.recv_timeout(AGAIN) {
                Err(RecvTimeoutError::Timeout) => is_over.store(reply.has_left(), Relaxed),
                Err(RecvTimeoutError::Disconnected) => return Err(ends()),
                Ok(answered) => break answered,
            }
        };
        match answered {
            Ok(history) => return Ok(history),
            Err(NotAsked::Busy(_)) => std::thread::sleep(AGAIN),
            Err(NotAsked::NoNode(line)) => return Err(RequestRefusal::Conflict(line)),
        }
    }
}
