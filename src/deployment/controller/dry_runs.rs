//! Dry runs over what the probes of a deployment remember, each on a thread of its own: the controller goes on meanwhile.

use crate::rehearsing::Rehearsed;
use controller::{Asked, History, NotAsked, StandingQueries};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use web::{DryRunAsked, Played, Refusal, Reply};

/// Dry runs at once: nodes measure meanwhile.
const MOST: usize = 2;
/// How long one waits before it asks again where nodes have enough to answer.
const AGAIN: Duration = Duration::from_millis(200);

/// What a dry run asks the nodes.
pub(super) struct Question {
    pub(super) asked: Asked,
    /// Where to say what they answer.
    pub(super) answer: Sender<Result<History, NotAsked>>,
}

/// The dry runs that are going on.
pub(super) struct DryRuns {
    threads: Vec<JoinHandle<()>>,
    ask: Sender<Question>,
    questions: Receiver<Question>,
}

impl Default for DryRuns {
    fn default() -> Self {
        let (ask, questions) = channel();
        Self { threads: Vec::new(), ask, questions }
    }
}

impl DryRuns {
    /// What they ask the nodes now.
    pub(super) fn questions(&self) -> Vec<Question> {
        self.questions.try_iter().collect()
    }

    /// Starts one.
    pub(super) fn start(&mut self, standing: &StandingQueries, asked: DryRunAsked, reply: Reply<Played>) {
        self.threads.retain(|thread| !thread.is_finished());
        if self.threads.len() >= MOST {
            return reply.send(Err(Refusal::Busy(format!("{MOST} dry runs are going on: ask again later"))));
        }
        let rehearsed = match Rehearsed::new(standing, asked) {
            Ok(rehearsed) => rehearsed,
            Err(refused) => return reply.send(Err(refused)),
        };
        let questions = self.ask.clone();
        let work = move || {
            let played = rehearsed.play(&mut |asked| ask(&questions, &asked, &reply));
            reply.send(played);
        };
        match Builder::new().name("dry run".to_owned()).spawn(work) {
            Ok(thread) => self.threads.push(thread),
            // The client is told that nobody answered.
            Err(error) => crate::exit::say(&format!("a dry run cannot be started: {error}")),
        }
    }
}

/// Asks the nodes, as long as the client waits.
fn ask(questions: &Sender<Question>, asked: &Asked, reply: &Reply<Played>) -> Result<History, Refusal> {
    let ends = || Refusal::Failed("the controller ends".to_owned());
    loop {
        if reply.has_left() {
            return Err(Refusal::Failed("the client has left".to_owned()));
        }
        let (answer, answered) = channel();
        questions.send(Question { asked: asked.clone(), answer }).map_err(|_| ends())?;
        // The controller answers, if only that the time is over.
        match answered.recv().map_err(|_| ends())? {
            Ok(history) => return Ok(history),
            Err(NotAsked::Busy(_)) => std::thread::sleep(AGAIN),
            Err(NotAsked::NoNode(line)) => return Err(Refusal::Conflict(line)),
        }
    }
}
