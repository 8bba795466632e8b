//! Commands that ask a controller through its API: nodes, queries, events, stories; add, cancel and watch.

pub(crate) mod credentials;
pub(crate) mod http;
mod show;
mod stream;
mod top;
mod watch;

use crate::commands::{
    AddOptions, CancelOptions, ClientOptions, EventsOptions, StoryOptions, TopOptions, WatchOptions,
};
use archive::Silence;
use http::Api;
use model::Event;
use model::view::{CaptureView, QueryView, Status};
use runtime::exit::{self, Failure, say};
use runtime::machine::now_ns;
use runtime::questions::query_text;
use serde::Deserialize;
use serde_json::Value as Json;
use std::path::Path;
use std::process::ExitCode;

/// `edison nodes`.
pub(crate) fn nodes(options: &ClientOptions) -> Result<ExitCode, Failure> {
    let json = Api::new(&options.api)?.get("/status")?;
    print(options, &json, |status: &Status| terminal::nodes(status))?;
    // What is printed says which.
    Ok(if are_up(&json) { ExitCode::SUCCESS } else { ExitCode::from(exit::EARLY) })
}

/// Returns true if a status says of all nodes that they are up. Those of a run may have ended with it. Nothing else of it is read: `--json`
/// passes on
/// what a controller of another version says, and no node is up that it does not say so of.
fn are_up(status: &Json) -> bool {
    let has_ended = |state: &Json| status["mode"] == "run" && state == "ended";
    let is_up = |node: &Json| node["state"] == "up" || has_ended(&node["state"]);
    status["nodes"].as_array().is_some_and(|nodes| nodes.iter().all(is_up))
}

#[derive(Deserialize)]
struct QueryList {
    queries: Vec<QueryView>,
}

/// `edison queries`.
pub(crate) fn queries(options: &ClientOptions) -> Result<ExitCode, Failure> {
    let json = Api::new(&options.api)?.get("/queries")?;
    print(options, &json, |read: &QueryList| show::queries(&read.queries))
}

#[derive(Deserialize)]
struct EventsResponse {
    events: Vec<Event>,
}

/// `edison events`.
pub(crate) fn events(options: &EventsOptions) -> Result<ExitCode, Failure> {
    let mut parameters = vec![("limit", options.top.to_string())];
    parameters.extend(options.query.clone().map(|query| ("query", query)));
    parameters.extend(options.node.clone().map(|node| ("node", node)));
    let json = Api::new(&options.client.api)?.get_with("/events", &parameters)?;
    print(&options.client, &json, |read: &EventsResponse| match read.events.is_empty() {
        true => "There are no events.\n".to_owned(),
        false => read.events.iter().map(|event| show::event(event) + "\n").collect(),
    })
}

#[derive(Deserialize)]
struct StoryReply {
    title: Option<String>,
    text: String,
    #[serde(default)]
    captures: Vec<CaptureView>,
    #[serde(default)]
    silence: Option<Silence>,
}

/// `edison story`.
pub(crate) fn story(options: &StoryOptions) -> Result<ExitCode, Failure> {
    let api = Api::new(&options.client.api)?;
    let json = api.get(&format!("/stories/{}", notation::encoded(&options.id)))?;
    print(&options.client, &json, |story: &StoryReply| {
        let captures = story.captures.iter().map(|capture| show::capture(capture, api.address()));
        let title = story.title.iter().map(|title| format!("{title}\n")).collect::<String>();
        let text = captures.fold(title + &story.text, |text, line| text + &line + "\n");
        story.silence.iter().fold(text, |text, own| text + &show::silence(own, now_ns()) + "\n")
    })
}

/// `edison add`.
pub(crate) fn add(options: &AddOptions) -> Result<ExitCode, Failure> {
    let api = Api::new(&options.client.api)?;
    let files = options.files.iter().map(|name| query_text::read(name).map_err(Failure::usage));
    let mut texts = files.collect::<Result<Vec<_>, _>>()?;
    if !options.query.is_empty() {
        let text = runtime::questions::asked::joined(&options.query);
        texts.push(query_text::NamedText { name: "query".to_owned(), text });
    }
    for text in texts {
        let file = Path::new(&text.name).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let parameters = [("file", file), ("replace", options.replace.to_string())];
        let json = api.post("/queries", &parameters, &text.text)?;
        if options.client.json {
            exit::print(&format!("{json}\n"))?;
            continue;
        }
        let lines = |member: &str| {
            let list = json.get(member).and_then(Json::as_array).into_iter().flatten();
            list.filter_map(Json::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        lines("warnings").iter().for_each(|line| say(line));
        exit::print(&format!("added: {}\n", lines("queries").join(", ")))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `edison cancel`.
pub(crate) fn cancel(options: &CancelOptions) -> Result<ExitCode, Failure> {
    let api = Api::new(&options.client.api)?;
    for name in &options.names {
        let json = api.delete(&format!("/queries/{}", notation::encoded(name)))?;
        let line = if options.client.json { json.to_string() } else { format!("removed: {name}") };
        exit::print(&format!("{line}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `edison top`.
pub(crate) fn top(options: &TopOptions) -> Result<ExitCode, Failure> {
    top::top(options)
}

/// `edison watch`.
pub(crate) fn watch(options: &WatchOptions) -> Result<ExitCode, Failure> {
    watch::watch(options)
}

/// Prints what the API gave, as it is or in words.
fn print<T: for<'de> Deserialize<'de>>(
    options: &ClientOptions,
    json: &Json,
    words: impl FnOnce(&T) -> String,
) -> Result<ExitCode, Failure> {
    if options.json {
        return exit::print(&format!("{json}\n"));
    }
    let read = T::deserialize(json);
    let read = read.map_err(|error| {
        Failure::fault(format!("{}: its answer is not understood: {error}", options.api.controller))
    })?;
    // Some of it comes from strangers.
    let clean = |letter: char| if letter.is_control() && letter != '\n' { '\u{fffd}' } else { letter };
    exit::print(&words(&read).chars().map(clean).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::view::{Mode, NodeState, NodeView};

    #[test]
    fn nodes_are_up_if_the_status_says_so_of_each() {
        let up = |mode, states: &[NodeState]| {
            let nodes = states.iter().map(|&state| NodeView { state, ..NodeView::default() }).collect();
            are_up(&serde_json::to_value(Status { mode, nodes, ..Status::default() }).expect("JSON"))
        };
        for mode in [Mode::Controller, Mode::Run] {
            assert!(up(mode, &[]) && up(mode, &[NodeState::Up, NodeState::Up]), "{mode:?}");
            for state in [NodeState::Late, NodeState::Down, NodeState::Unheard, NodeState::Never] {
                assert!(!up(mode, &[NodeState::Up, state]), "{mode:?} {state:?}");
            }
            assert_eq!(up(mode, &[NodeState::Ended, NodeState::Up]), mode == Mode::Run);
        }
        // Of another version.
        let status = |states: [&str; 2]| serde_json::json!({"mode": "relay", "nodes": states.map(|state| serde_json::json!({"state": state}))});
        assert!(are_up(&status(["up", "up"])) && !are_up(&status(["up", "asleep"])));
        assert!(!are_up(&serde_json::json!({})) && !are_up(&Json::Null));
    }
}
