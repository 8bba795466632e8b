//! The clients and dry runs that wait for answers from the stores of nodes.

use controller::{HistoryResult, NotAsked};
use model::HistoryAnswers;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};
use web::{Reply, RequestRefusal};

/// The time that answers may take to arrive, in addition to the time that nodes have to compute them.
const WAY: Duration = Duration::from_secs(5);

/// The clients and dry runs that wait for an answer.
#[derive(Default)]
pub(super) struct PendingQuestions(Vec<PendingQuestion>);

/// The client or the dry run that waits for an answer.
pub(super) enum Waiter {
    /// A client, and the warnings that its answer carries.
    Client(Reply<HistoryAnswers>, Vec<String>),
    /// A dry run, and a flag that is true once it has ended.
    DryRun(Sender<Result<HistoryResult, NotAsked>>, Arc<AtomicBool>),
}

struct PendingQuestion {
    /// The number of the question.
    id: u64,
    until: Instant,
    waiter: Waiter,
}

impl PendingQuestions {
    /// Adds a client or a dry run that waits for the answer to a question. `time`: the time that nodes have.
    pub(super) fn add(&mut self, id: u64, time: Duration, waiter: Waiter) {
        let now = Instant::now();
        // The API bounds the time.
        let until = now.checked_add(time.saturating_add(WAY)).unwrap_or(now);
        self.0.push(PendingQuestion { id, until, waiter });
    }

    /// Returns the numbers of the questions whose time is over, or whose client has disconnected.
    pub(super) fn over(&self) -> Vec<u64> {
        let now = Instant::now();
        let has_left = |waiter: &Waiter| match waiter {
            Waiter::Client(reply, _) => reply.has_left(),
            Waiter::DryRun(_, is_over) => is_over.load(Relaxed),
        };
        let over = self.0.iter().filter(|waits| waits.until <= now || has_left(&waits.waiter));
        over.map(|waits| waits.id).collect()
    }

    /// Sends an answer to the client or the dry run that waits for it.
    pub(super) fn answer(&mut self, history: HistoryResult) {
        let Some(at) = self.0.iter().position(|waits| waits.id == history.id) else { return };
        match self.0.swap_remove(at).waiter {
            Waiter::Client(reply, warnings) => {
                let HistoryResult { answers, nodes, .. } = history;
                reply.send(Ok(HistoryAnswers { answers, nodes, warnings }));
            }
            // A dry run that has ended does not receive the answer, which is no error.
            Waiter::DryRun(answer, _) => drop(answer.send(Ok(history))),
        }
    }
}

/// Returns the refusal of a question that is not asked, in the words of the API.
pub(super) fn refusal(refused: NotAsked) -> RequestRefusal {
    match refused {
        NotAsked::Busy(line) => RequestRefusal::Busy(line),
        NotAsked::NoNode(line) => RequestRefusal::Conflict(line),
    }
}
