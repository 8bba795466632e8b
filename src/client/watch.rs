//! `edison watch`: events as they happen.

use super::http::Api;
use super::show;
use crate::cli::WatchOptions;
use crate::exit::{self, Failure, say};
use report::{Answer, Event, terminal};
use std::io::{BufRead, BufReader, Read};
use std::process::ExitCode;

/// The longest message that is read, bytes.
const MOST_READ: u64 = 256 << 20;

/// Prints what the stream brings until it ends.
pub(super) fn watch(options: &WatchOptions) -> Result<ExitCode, Failure> {
    let api = Api::new(&options.client)?;
    let mut stream = BufReader::new(api.stream()?);
    say(&format!("watching {}; Ctrl-C ends it", options.client.controller));
    let mut name = String::new();
    loop {
        let mut line = String::new();
        let read = (&mut stream).take(MOST_READ).read_line(&mut line);
        match read {
            Ok(0) | Err(_) => {
                return Err(Failure::fault(format!("{}: the stream has ended", options.client.controller)));
            }
            Ok(_) => {}
        }
        let line = line.trim_end_matches(['\r', '\n']);
        if let Some(event) = line.strip_prefix("event:") {
            name = event.trim().to_owned();
        }
        if let Some(data) = line.strip_prefix("data:") {
            let text = words(&name, data.trim_start(), options)?;
            if !text.is_empty() {
                exit::print(&text)?;
            }
        }
    }
}

/// What a message says, in words or as JSON.
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
