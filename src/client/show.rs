//! Writes what a controller says, in words and tables.

use archive::Silence;
use model::view::{CaptureView, QueryState, QueryView};
use model::{Event, EventKind, Item};
use notation::grouped;
use notation::how_long;
use terminal::text_table;

/// The queries.
pub(super) fn queries(queries: &[QueryView]) -> String {
    if queries.is_empty() {
        return "There are no queries: edison add FILE adds some.\n".to_owned();
    }
    let row = |query: &QueryView| {
        let state = match query.state {
            QueryState::Standing => "standing",
            QueryState::Waiting => "waiting",
            QueryState::Running => "running",
        };
        let starts = query.trigger.as_ref().map(|trigger| format!("when {}", trigger.condition));
        vec![
            query.name.clone(),
            state.to_owned(),
            query.nodes.join(", "),
            query.every_ns.map(|every| format!("every {}", how_long(every))).unwrap_or_default(),
            query.file.clone().unwrap_or_default(),
            starts.unwrap_or_default(),
        ]
    };
    text_table(&["query", "state", "nodes", "window", "file", "started"], queries.iter().map(row).collect())
}

/// A capture in one line, with the address of its file, or why there is none.
pub(super) fn capture(capture: &CaptureView, address: &str) -> String {
    let CaptureView { node, query, packets, bytes, href, reason, .. } = capture;
    let (packets, bytes) = (grouped(*packets), grouped(*bytes));
    let place = match (href, reason) {
        (Some(href), _) => format!("{address}{href}"),
        (None, Some(reason)) => format!("no file here: {}", reason.replace('\n', " ")),
        (None, None) => "no file here".to_owned(),
    };
    format!("captured by {query} on {node}: {packets} packets, {bytes} bytes, {place}")
}

/// The silence of a story in one line.
pub(super) fn silence(silence: &Silence, now_ns: u64) -> String {
    let verb = if silence.holds(now_ns) { "is silent" } else { "was silent" };
    let by = silence.by.as_ref().map(|by| format!(", by {by}")).unwrap_or_default();
    let note =
        if silence.note.is_empty() { String::new() } else { format!(": {}", silence.note.escape_debug()) };
    let until = model::format_time(silence.until_ns);
    let fired = notation::counted(silence.fired, "firing");
    format!("{verb} until {until}{by}; {fired} of which nobody was told{note}")
}

/// An event in one line.
pub(super) fn event(event: &Event) -> String {
    let kind = match event.kind {
        EventKind::Fired => "fired",
        EventKind::Resolved => "resolved",
        EventKind::NoData => "has no data",
        EventKind::Timeout => "timed out",
        EventKind::Expired => "expired",
        EventKind::Suppressed => "was suppressed",
        EventKind::Missed => "was missed",
    };
    let items = |items: &[Item]| {
        let items = items.iter().map(|item| format!("{} {}", item.column.name, value(item)));
        items.collect::<Vec<_>>().join(", ")
    };
    let key = if event.key.is_empty() { String::new() } else { format!(" for {}", items(&event.key)) };
    let node = event.node.as_ref().map(|node| format!(" on {node}")).unwrap_or_default();
    let values = if event.values.is_empty() { String::new() } else { format!(": {}", items(&event.values)) };
    let at = model::format_time(event.at_ns);
    format!("{at}  {}  {} {kind}{key}{node}{values}", event.event, event.query)
}

/// The value of an item: a text as it is, and else as JSON has it.
pub(super) fn value(item: &Item) -> String {
    match serde_json::to_value(&item.value) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(json) => json.to_string(),
        Err(_) => "unknown".to_owned(),
    }
}
