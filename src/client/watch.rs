//! `edison watch`: events as they happen.

use super::http::Api;
use super::show;
use super::stream::{EventStreamReader, StreamMessage};
use crate::commands::WatchOptions;
use model::{Answer, Event};
use runtime::exit::{self, Failure, say};
use std::process::ExitCode;

/// Prints what the stream brings until it ends.
pub(super) fn watch(options: &WatchOptions) -> Result<ExitCode, Failure> {
    let controller = &options.client.api.controller;
    let api = Api::new(&options.client.api)?;
    let mut messages = EventStreamReader::new(api.stream(None)?);
    say(&format!("watching {controller}; Ctrl-C ends it"));
    while let Ok(Some(message)) = messages.next() {
        let StreamMessage::Data { name, data } = message else { continue };
        let text = words(&name, &data, options)?;
        if !text.is_empty() {
            exit::print(&text)?;
        }
    }
    Err(Failure::fault(format!("{controller}: the stream has ended")))
}

/// Writes what a message says, in words or as JSON.
fn words(name: &str, data: &str, options: &WatchOptions) -> Result<String, Failure> {
    let unread = |error| Failure::fault(format!("a message is not understood: {error}"));
    match name {
        "event" if options.client.json => Ok(format!("{data}\n")),
        "answer" if options.client.json && options.answers => Ok(format!("{data}\n")),
        "event" => Ok(show::event(&serde_json::from_str::<Event>(data).map_err(unread)?) + "\n"),
        "answer" if options.answers => {
            let mut answer: Answer = serde_json::from_str(data).map_err(unread)?;
            if let Some(node) = &answer.node {
                answer.query = format!("{} on {node}", answer.query);
            }
            Ok(terminal::answers([&answer]))
        }
        "lagged" => {
            say(&format!("some messages were missed: {data}; `edison events` has them"));
            Ok(String::new())
        }
        _ => Ok(String::new()),
    }
}
