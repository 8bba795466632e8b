//! `edison watch`: events as they happen, and what is done with them.

mod environment;
mod exec;
mod webhook;
mod workers;

use super::http::Api;
use super::show;
use super::stream::{EventStreamReader, StreamMessage};
use crate::commands::{ActionOptions, WatchOptions};
use exec::EventProgram;
use model::Answer;
use model::view::EventView;
use runtime::exit::{self, Failure, no_thread, say};
use runtime::signals;
use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;
use webhook::Webhook;
use workers::{ReceivedEvent, Workers};

/// Messages that were read and wait to be shown.
const WAITING: usize = 64;
/// The time after which a watch that is told to end does so.
const LOOK: Duration = Duration::from_millis(50);

/// Prints what the stream brings, and does with events what the options say, until it ends.
pub(super) fn watch(options: &WatchOptions) -> Result<ExitCode, Failure> {
    let controller = &options.client.api.controller;
    let api = Api::new(&options.client.api)?;
    let stop = Arc::new(AtomicBool::new(false));
    let kill = Arc::new(AtomicBool::new(false));
    let actions = actions(&options.actions, api.address(), &stop, &kill)?;
    if !actions.is_empty() {
        // Otherwise a signal ends the program at once.
        signals::stop_then_kill(Arc::clone(&stop), kill)?;
    }
    let messages = read(api.stream(None)?)?;
    say(&format!("watching {controller}; Ctrl-C ends it"));
    let mut watch = Watch { options, actions, missed: false };
    let followed = watch.follow(&messages, &stop);
    if followed.is_err() {
        // Nothing can be shown: no more is done.
        stop.store(true, Relaxed);
    }
    let is_well = watch.actions.into_iter().map(Workers::end).fold(!watch.missed, |well, own| well & own);
    match followed? {
        _ if stop.load(Relaxed) => Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::from(exit::EARLY) }),
        () => Err(Failure::fault(format!("{controller}: the stream has ended"))),
    }
}

/// Starts what is done with each event. `kill`: programs that run are killed.
fn actions(
    options: &ActionOptions,
    controller: &str,
    stop: &Arc<AtomicBool>,
    kill: &Arc<AtomicBool>,
) -> Result<Vec<Workers>, Failure> {
    let mut actions = Vec::new();
    if let Some(words) = &options.exec {
        let flags = [stop, kill].map(Arc::clone);
        let program = EventProgram::find(words.clone(), options.exec_time, controller.to_owned(), flags)?;
        let run = move |received: &ReceivedEvent| program.run(received);
        actions.push(Workers::start("--exec".to_owned(), options.exec_jobs, stop, run)?);
    }
    for url in &options.webhook {
        let webhook = Webhook::new(url.clone(), options, Arc::clone(stop))?;
        // One after the other: a webhook gets events in their order.
        let post = move |received: &ReceivedEvent| webhook.post(received);
        actions.push(Workers::start(format!("--webhook {url}"), 1, stop, post)?);
    }
    Ok(actions)
}

/// Reads the messages of a stream, in a thread of its own, so that a signal is heard while there are none.
fn read(stream: impl Read + Send + 'static) -> Result<Receiver<StreamMessage>, Failure> {
    let (sender, messages) = sync_channel(WAITING);
    let read = move || {
        let mut stream = EventStreamReader::new(stream);
        while let Ok(Some(message)) = stream.next() {
            if sender.send(message).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("stream".to_owned()).spawn(read).map_err(no_thread)?;
    Ok(messages)
}

/// A watch: the actions for its events, and whether messages were missed.
struct Watch<'a> {
    options: &'a WatchOptions,
    actions: Vec<Workers>,
    /// True if the controller sent messages that were not read in time.
    missed: bool,
}

impl Watch<'_> {
    /// Takes messages until they end or `stop` is set.
    fn follow(&mut self, messages: &Receiver<StreamMessage>, stop: &AtomicBool) -> Result<(), Failure> {
        while !stop.load(Relaxed) {
            let text = match messages.recv_timeout(LOOK) {
                Ok(StreamMessage::Data { name, data }) => self.take(&name, data)?,
                Ok(StreamMessage::Comment) | Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if !text.is_empty() {
                exit::print(&text)?;
            }
        }
        Ok(())
    }

    /// Takes a message. Returns what it says, in words or as JSON.
    fn take(&mut self, name: &str, data: String) -> Result<String, Failure> {
        let unread = |error| Failure::fault(format!("a message is not understood: {error}"));
        let is_json = self.options.client.json;
        // JSON is passed on as it is, also that of a controller of another version.
        let is_read = !is_json || self.options.selects_some() || !self.actions.is_empty();
        match name {
            "event" if !is_read => Ok(data + "\n"),
            "answer" if !is_read && self.options.answers => Ok(data + "\n"),
            "event" => {
                let view: EventView = serde_json::from_str(&data).map_err(unread)?;
                let EventView { event, silenced_until, .. } = view;
                if !self.options.selects_event(&event) {
                    return Ok(String::new());
                }
                let text = match (is_json, silenced_until) {
                    (true, _) => data.clone(),
                    (false, None) => show::event(&event),
                    (false, Some(_)) => show::event(&event) + " (silent)",
                };
                // Nobody is told of a story that is silent.
                if !self.actions.is_empty() && silenced_until.is_none() {
                    let received = Arc::new(ReceivedEvent { event, json: data });
                    self.actions.iter().for_each(|action| action.take(&received));
                }
                Ok(text + "\n")
            }
            "answer" if self.options.answers => {
                let mut answer: Answer = serde_json::from_str(&data).map_err(unread)?;
                if !self.options.selects(&answer.query, answer.node.as_deref()) {
                    return Ok(String::new());
                }
                if is_json {
                    return Ok(data + "\n");
                }
                if let Some(node) = &answer.node {
                    answer.query = format!("{} on {node}", answer.query);
                }
                Ok(terminal::answers([&answer], top::paper()))
            }
            "lagged" => {
                self.missed = true;
                say(&format!("some messages were missed: {data}; `edison events` has them"));
                Ok(String::new())
            }
            _ => Ok(String::new()),
        }
    }
}
