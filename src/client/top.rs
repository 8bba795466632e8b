//! `edison top`: what a controller or a run does at this moment, on the terminal.

use super::http::Api;
use super::stream::{EventStreamReader, StreamMessage};
use crate::commands::{ApiOptions, TopOptions};
use archive::Silence;
use model::Answer;
use model::view::{EventView, QueryView, Status};
use runtime::exit::Failure;
use runtime::exit::no_thread;
use runtime::machine::now_ns;
use runtime::signals;
use serde::Deserialize;
use serde_json::Value as Json;
use signal_hook::consts::SIGHUP;
use std::io::{self, ErrorKind, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use top::{ApiConnection, Screen, StatusOrigin, StoryLine, ViewModel, Wish};

/// The interval at which keys are read.
const KEYS: Duration = Duration::from_millis(50);
/// The time for which an API that does not answer is left alone before it is asked again.
const RETRY: Duration = Duration::from_secs(1);
/// The time for which a stream is read before it is asked for anew: a connection that is dead without a word does not last.
const STREAM: Duration = Duration::from_secs(120);
/// The longest time that the first answer may take, before which nothing is shown.
const FIRST_ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest silence of a server, which says something every 15 s.
const SILENT: Duration = Duration::from_secs(20);
/// The most pieces of news that wait to be shown.
const WAITING: usize = 256;
/// Answers, events and stories that are asked for at first, the newest.
const AT_FIRST: u64 = 300;
/// Rows of an answer that are read; the others are in its rest.
const MOST_ROWS: u64 = 1_000;

/// A piece of news from the API.
enum TopUpdate {
    Status(Box<Status>),
    Queries(Vec<QueryView>),
    Answer(Box<Answer>),
    Event(Box<EventView>),
    Story(StoryLine),
    /// The API answers.
    Heard,
    /// The API does not answer, and why.
    Away(String),
}

/// The reason why news is not passed on any more.
enum StreamEnd {
    /// The user has left: nobody looks any more.
    Left,
    /// The stream is to be asked for anew.
    Again,
    Failed(Failure),
}

impl From<Failure> for StreamEnd {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Shows it until the user leaves.
pub(super) fn top(options: &TopOptions) -> Result<ExitCode, Failure> {
    let address = options.url.as_ref().unwrap_or(&options.api.controller);
    let api = ApiOptions { controller: address.clone(), ..options.api.clone() };
    let lines = "`edison nodes`, `edison events` and `edison watch` print lines";
    if !io::stdout().is_terminal() {
        return Err(Failure::usage(format!("standard output is no terminal, on which top draws: {lines}")));
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(format!("standard input is no terminal, whose keys steer top: {lines}")));
    }
    if !top::can_draw() {
        return Err(Failure::usage(format!("TERM=dumb: top cannot draw on such a terminal: {lines}")));
    }
    let first = Api::patient(&api, FIRST_ANSWER_TIMEOUT)?;
    let mut model = ViewModel::new(StatusOrigin::Api { address: first.address().to_owned() });
    model.status = read::<Status>(first.get("/status")?, &first)?;
    // Lists may take longer.
    let api = Api::new(&api)?;
    let stop = Arc::new(AtomicBool::new(false));
    let given_back = Arc::new(AtomicBool::new(false));
    signals::stop_on(&signals::ENDS, &stop, &given_back)?;
    signals::stop_on(&[SIGHUP], &stop, &given_back)?;
    let (sender, news) = sync_channel(WAITING);
    let follow = move || follow(&api, &sender);
    std::thread::Builder::new().name("stream".to_owned()).spawn(follow).map_err(no_thread)?;
    let mut screen = Screen::enter(options.interval).map_err(no_output)?;
    let shown = show(&mut screen, &mut model, &news, &stop);
    screen.leave();
    given_back.store(true, Relaxed);
    shown.map(|()| ExitCode::SUCCESS)
}

fn no_output(error: io::Error) -> Failure {
    Failure::fault(format!("the terminal: {error}"))
}

/// Shows what comes until the user leaves or the terminal is closed.
fn show(
    screen: &mut Screen,
    model: &mut ViewModel,
    news: &Receiver<TopUpdate>,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let mut heard = Instant::now();
    let mut told = (Instant::now(), model.status.now_ns);
    while !stop.load(Relaxed) {
        let since = u64::try_from(told.0.elapsed().as_nanos()).unwrap_or(u64::MAX);
        model.status.now_ns = told.1.saturating_add(since);
        if heard.elapsed() > SILENT && model.link == ApiConnection::Connected {
            let reason = "the connection is silent".to_owned();
            model.link = ApiConnection::Away { since: heard, reason };
        }
        match screen.refresh(model).map_err(no_output)? {
            Wish::Stay => {}
            Wish::Leave | Wish::Closed => break,
        }
        let mut next = news.recv_timeout(KEYS);
        // All that waits, so that what comes fast is not drawn one by one.
        for _ in 0..WAITING {
            match next {
                Ok(TopUpdate::Away(reason)) => {
                    let since = match &model.link {
                        ApiConnection::Away { since, .. } => *since,
                        ApiConnection::Connected => Instant::now(),
                    };
                    model.link = ApiConnection::Away { since, reason };
                }
                Ok(one) => {
                    heard = Instant::now();
                    model.link = ApiConnection::Connected;
                    if let TopUpdate::Status(status) = &one {
                        told = (heard, status.now_ns);
                    }
                    take(model, one);
                }
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::fault("the thread that reads the stream failed"));
                }
            }
            next = news.recv_timeout(Duration::ZERO);
        }
    }
    Ok(())
}

fn take(model: &mut ViewModel, news: TopUpdate) {
    match news {
        TopUpdate::Status(status) => model.set_status(*status),
        TopUpdate::Queries(queries) => model.set_queries(queries),
        TopUpdate::Answer(answer) => model.answer(&answer),
        TopUpdate::Event(event) => model.event(*event),
        TopUpdate::Story(story) => model.story(story),
        TopUpdate::Heard | TopUpdate::Away(_) => {}
    }
}

/// Passes on what is new until nobody looks any more. Who does not answer is asked again.
fn follow(api: &Api, news: &SyncSender<TopUpdate>) {
    loop {
        let end = match session(api, news) {
            Ok(()) => TopUpdate::Away("the stream has ended".to_owned()),
            Err(StreamEnd::Left) => return,
            // It says nothing of the server: only a message does.
            Err(StreamEnd::Again) => {
                std::thread::sleep(RETRY);
                continue;
            }
            Err(StreamEnd::Failed(failure)) => TopUpdate::Away(failure.line()),
        };
        if news.send(end).is_err() {
            return;
        }
        std::thread::sleep(RETRY);
    }
}

/// Passes on all that is there, then what comes, until the stream ends.
fn session(api: &Api, news: &SyncSender<TopUpdate>) -> Result<(), StreamEnd> {
    let send = |one: TopUpdate| news.send(one).map_err(|_| StreamEnd::Left);
    let mut messages = EventStreamReader::new(api.stream(Some(STREAM))?);
    let mut has_lists = false;
    loop {
        match messages.next() {
            Ok(None) => return Ok(()),
            Ok(Some(StreamMessage::Comment)) => send(TopUpdate::Heard)?,
            Ok(Some(StreamMessage::Data { name, data })) => {
                let Some(one) = one(&name, &data)? else { continue };
                let is_all = matches!(one, TopUpdate::Queries(_));
                send(one)?;
                // The stream begins with the status and the queries. What comes while the lists are read is told twice, not missed.
                if is_all && !std::mem::replace(&mut has_lists, true) {
                    lists(api, &send)?;
                }
            }
            Err(error) if is_over(&error) => return Err(StreamEnd::Again),
            Err(error) => return Err(Failure::fault(format!("the stream: {error}")).into()),
        }
    }
}

/// Passes on what there is already.
fn lists(api: &Api, send: &impl Fn(TopUpdate) -> Result<(), StreamEnd>) -> Result<(), StreamEnd> {
    let limit = [("limit", AT_FIRST.to_string())];
    let of_answers = [("limit", AT_FIRST.to_string()), ("rows", MOST_ROWS.to_string())];
    for answer in list::<Answer>(api, "answers", &of_answers)? {
        send(TopUpdate::Answer(Box::new(answer)))?;
    }
    for event in list::<EventView>(api, "events", &limit)? {
        send(TopUpdate::Event(Box::new(event)))?;
    }
    // The newest comes first.
    for story in list::<StoryMessage>(api, "stories", &limit)?.into_iter().rev() {
        send(TopUpdate::Story(story.into()))?;
    }
    Ok(())
}

/// Returns true if the time of a stream is over.
fn is_over(error: &io::Error) -> bool {
    error.kind() == ErrorKind::TimedOut || error.to_string().contains("timeout")
}

/// Reads the news that a message says; `None` for one that is not shown.
fn one(name: &str, data: &str) -> Result<Option<TopUpdate>, StreamEnd> {
    let unread = |error: serde_json::Error| Failure::fault(format!("a message is not understood: {error}"));
    Ok(Some(match name {
        "status" => TopUpdate::Status(serde_json::from_str(data).map_err(unread)?),
        "queries" => TopUpdate::Queries(serde_json::from_str::<QueryListing>(data).map_err(unread)?.queries),
        "answer" => TopUpdate::Answer(serde_json::from_str(data).map_err(unread)?),
        "event" => TopUpdate::Event(Box::new(serde_json::from_str(data).map_err(unread)?)),
        "story" => TopUpdate::Story(serde_json::from_str::<StoryMessage>(data).map_err(unread)?.into()),
        // What was missed is in the lists.
        "lagged" => return Err(StreamEnd::Again),
        _ => return Ok(None),
    }))
}

#[derive(Deserialize)]
struct QueryListing {
    queries: Vec<QueryView>,
}

/// A story as the list and the stream have it.
#[derive(Deserialize)]
struct StoryMessage {
    id: String,
    title: Option<String>,
    text: String,
    /// The events of the story, in the stream.
    #[serde(default)]
    events: Vec<String>,
    #[serde(default, with = "model::Integer")]
    events_unlisted: u64,
    /// The number of the story's events, in the list.
    #[serde(default, with = "model::Integer")]
    events_total: u64,
    acknowledged: Option<Json>,
    #[serde(default)]
    silence: Option<Silence>,
}

impl From<StoryMessage> for StoryLine {
    fn from(story: StoryMessage) -> Self {
        let listed = (story.events.len() as u64).saturating_add(story.events_unlisted);
        let events = listed.max(story.events_total);
        let is_acknowledged = story.acknowledged.is_some();
        let is_silent = story.silence.is_some_and(|silence| silence.holds(now_ns()));
        Self { id: story.id, title: story.title, text: story.text, events, is_acknowledged, is_silent }
    }
}

/// A list of the API under its own name.
fn list<T: for<'de> Deserialize<'de>>(
    api: &Api,
    name: &str,
    parameters: &[(&str, String)],
) -> Result<Vec<T>, Failure> {
    let mut json = api.get_with(&format!("/{name}"), parameters)?;
    read(json.get_mut(name).map(Json::take).unwrap_or_default(), api)
}

fn read<T: for<'de> Deserialize<'de>>(json: Json, api: &Api) -> Result<T, Failure> {
    T::deserialize(json)
        .map_err(|error| Failure::fault(format!("{}: its answer is not understood: {error}", api.address())))
}
