//! A client of the controller's stream: when answers were there, and whether they are right.

use super::fleet::now_ns;
use super::rows;
use model::Answer;
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead, BufReader};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A query, a window and a node; `None` for all nodes together.
pub(super) type AnswerKey = (usize, u64, Option<usize>);

/// An answer that was there.
#[derive(Clone, Copy, Debug)]
pub(super) struct ViewedAnswer {
    /// The time from the end of its window until it was there first.
    pub(super) lag: Duration,
    /// True if it is what the flows make it, as it was there last.
    pub(super) is_right: bool,
    /// The number of times that it came as the same revision.
    pub(super) times: u32,
    revision: u64,
    /// True if it came after its window's time for answers, or was replaced.
    pub(super) is_late: bool,
}

/// The answers and other messages that a client saw.
#[derive(Debug, Default)]
pub(super) struct ViewerRecord {
    pub(super) answers: HashMap<AnswerKey, ViewedAnswer>,
    /// Answers of nothing that was asked.
    pub(super) foreign: u64,
    /// Messages that the controller says this client was too slow for.
    pub(super) missed: u64,
    /// The reason why there is no stream any more.
    pub(super) fault: Option<String>,
}

/// A client, whose thread ends with the controller.
#[derive(Clone)]
pub(super) struct Viewer {
    view: Arc<Mutex<ViewerRecord>>,
    known: Arc<ViewerTarget>,
}

/// The facts that a reader needs.
struct ViewerTarget {
    /// The API.
    url: String,
    nodes: HashMap<String, usize>,
    window_ns: u64,
}

#[derive(Deserialize)]
struct LaggedEvent {
    missed: u64,
}

#[derive(Deserialize)]
struct AnswersResponse {
    answers: Vec<Answer>,
}

impl Viewer {
    /// Reads the stream of a controller from now on.
    pub(super) fn start(url: &str, nodes: &[String], window_ns: u64) -> Result<Self, String> {
        let numbered = nodes.iter().enumerate();
        let known = ViewerTarget {
            url: format!("{url}/api/v1"),
            nodes: numbered.map(|(number, node)| (node.clone(), number)).collect(),
            window_ns,
        };
        let response = known.get("/stream")?;
        let mut lines = BufReader::with_capacity(1 << 20, response.into_reader());
        let viewer = Self { view: Arc::default(), known: Arc::new(known) };
        let own = viewer.clone();
        std::thread::spawn(move || {
            let ended = own.read(&mut lines);
            own.view(|view| view.fault = Some(ended));
        });
        Ok(viewer)
    }

    /// Asks the API for answers of these windows that the stream did not bring.
    ///
    /// # Errors
    /// The API does not answer.
    pub(super) fn look_up(&self, nodes: &[String], windows: &[u64]) -> Result<(), String> {
        let of_nodes =
            (0..rows::OF_NODES).flat_map(|query| (0..nodes.len()).map(move |node| (query, Some(node))));
        let all = of_nodes.chain([(rows::OF_NODES, None)]);
        let lacks = |view: &ViewerRecord, (query, node): &(usize, Option<usize>)| {
            windows.iter().any(|window| !view.answers.contains_key(&(*query, *window, *node)))
        };
        let missing: BTreeSet<_> = self.view(|view| all.filter(|one| lacks(view, one)).collect());
        for (query, node) in missing {
            let path = match node {
                Some(node) => format!("/answers?query=q{query}&node={}&limit=10000", nodes[node]),
                None => format!("/answers?query={}&limit=10000", rows::OF_ALL),
            };
            let mut body = self.known.get(&path)?.into_with_config().limit(u64::MAX).reader();
            let AnswersResponse { answers } =
                serde_json::from_reader(&mut body).map_err(|error| error.to_string())?;
            for answer in &answers {
                let is_seen = self
                    .known
                    .which(answer)
                    .is_some_and(|which| self.view(|view| view.answers.contains_key(&which)));
                if !is_seen {
                    self.take(answer, false);
                }
            }
        }
        Ok(())
    }

    /// Returns the number of answers that the stream brought or says that it left out.
    pub(super) fn told(&self) -> u64 {
        self.view(|view| view.answers.len() as u64 + view.missed)
    }

    /// Looks at what was seen.
    pub(super) fn view<R>(&self, look: impl FnOnce(&mut ViewerRecord) -> R) -> R {
        look(&mut self.view.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads until the stream ends, and returns why it did.
    fn read(&self, lines: &mut impl BufRead) -> String {
        let (mut line, mut name) = (String::new(), String::new());
        loop {
            line.clear();
            match lines.read_line(&mut line) {
                Ok(0) => return "it ended".to_owned(),
                Ok(_) => {}
                Err(error) => return error.to_string(),
            }
            if let Some(text) = line.strip_prefix("event: ") {
                text.trim_end().clone_into(&mut name);
            } else if let Some(data) = line.strip_prefix("data: ") {
                match name.as_str() {
                    "answer" => match serde_json::from_str::<Answer>(data) {
                        Ok(answer) => self.take(&answer, true),
                        Err(error) => return format!("an answer is damaged: {error}"),
                    },
                    "lagged" => {
                        let lagged = serde_json::from_str::<LaggedEvent>(data);
                        self.view(|view| view.missed += lagged.map_or(1, |lagged| lagged.missed));
                    }
                    _ => {}
                }
            }
        }
    }

    /// Takes an answer. `is_told`: by the stream, which tells each once, and not because it was asked for.
    fn take(&self, answer: &Answer, is_told: bool) {
        let (at_ns, known) = (now_ns(), &self.known);
        if answer.query == "totals" {
            return;
        }
        let which = known.which(answer);
        let is_right = which.is_some_and(|(query, window, node)| match node {
            Some(node) => rows::is_right(query, answer, window, [node as u64].into_iter()),
            None => rows::is_right(query, answer, window, 0..known.nodes.len() as u64),
        });
        let end_ns = answer.window.map_or(0, |window| window.end_ns);
        let lag = Duration::from_nanos(at_ns.saturating_sub(end_ns));
        let revision = answer.revision;
        self.view(|view| {
            let Some(which) = which else {
                view.foreign += 1;
                return;
            };
            let new = ViewedAnswer { lag, is_right, times: 0, revision, is_late: answer.late };
            let seen = view.answers.entry(which).or_insert(new);
            match revision == seen.revision {
                true => seen.times += u32::from(is_told),
                false => *seen = ViewedAnswer { times: 1, lag: seen.lag, is_late: true, ..new },
            }
        });
    }
}

impl ViewerTarget {
    fn get(&self, path: &str) -> Result<ureq::Body, String> {
        let answered = ureq::get(format!("{}{path}", self.url)).call();
        Ok(answered.map_err(|error| format!("the controller's API: {error}"))?.into_body())
    }

    /// Returns the query, window and node of an answer; `None` if that was not asked.
    fn which(&self, answer: &Answer) -> Option<AnswerKey> {
        let (query, window) = (rows::number_of(&answer.query)?, answer.window?);
        let node = match &answer.node {
            Some(node) => Some(*self.nodes.get(node)?),
            None => None,
        };
        let is_whole = window.length_ns() == self.window_ns && window.start_ns % self.window_ns == 0;
        let is_asked = (query == rows::OF_NODES) == node.is_none();
        (is_whole && is_asked).then_some((query, window.start_ns / self.window_ns, node))
    }
}
