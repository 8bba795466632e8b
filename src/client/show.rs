//! What a controller says, in words and tables.

use notation::{grouped, scaled};
use report::terminal::{how_long, text_table};
use report::{Counters, Event, EventKind, Item};
use serde::Deserialize;
use web::view::{BrokerState, Clock, NodeState, NodeView, QueryState, QueryView, Status, Store, TaskState};

/// The nodes, and what the controller itself says.
pub(super) fn nodes(status: &Status) -> String {
    let columns = [
        "node",
        "state",
        "received",
        "measured",
        "not measured",
        "lost before",
        "coverage",
        "busy",
        "flows",
        "clock",
        "spool",
        "store",
        "tasks",
        "version",
    ];
    let rows = status.nodes.iter().map(node).collect();
    let mut text = text_table(&columns, rows);
    let windows = &status.windows;
    let counts = [
        ("complete", windows.complete),
        ("partial", windows.partial),
        ("late", windows.late),
        ("lost", windows.lost),
        ("doubled", windows.doubled),
    ];
    text.push_str(&format!("windows: {}\n", listed(counts.into_iter())));
    let refused: Vec<(&str, u64)> = status.refused.nonzero().collect();
    if !refused.is_empty() {
        text.push_str(&format!("messages refused: {}\n", listed(refused.into_iter())));
    }
    for node in status.nodes.iter().filter(|node| node.refused.total() != 0) {
        text.push_str(&format!("  of {}: {}\n", node.name, named(&node.refused)));
    }
    let requests: Vec<(&str, u64)> = status.refused_requests.nonzero().collect();
    if !requests.is_empty() {
        text.push_str(&format!("requests refused: {}\n", listed(requests.into_iter())));
    }
    if let Some(kafka) = &status.kafka {
        let counts = [("delivered", kafka.delivered), ("again", kafka.again)];
        text.push_str(&format!("messages to Kafka: {}\n", listed(counts.into_iter())));
        for (what, counters) in [("lacks", &kafka.lost), ("problems", &kafka.problems)] {
            if counters.total() != 0 {
                text.push_str(&format!("  {what}: {}\n", named(counters)));
            }
        }
    }
    if let Some(broker) = status.broker.as_ref().filter(|broker| broker.state == BrokerState::Away) {
        let reason = broker.reason.as_deref().unwrap_or("no reason is known");
        text.push_str(&format!("the broker is away: {reason}\n"));
    }
    text
}

fn node(node: &NodeView) -> Vec<String> {
    let state = match node.state {
        NodeState::Up => "up",
        NodeState::Late => "late",
        NodeState::Down => "down",
        NodeState::Ended => "ended",
        NodeState::Never => "never seen",
    };
    let clock = match node.clock {
        None => "unknown".to_owned(),
        // What the kernel thinks of a clock that is off does not matter.
        Some(Clock { ahead_s: Some(ahead), .. }) if ahead.abs() > 1.0 => {
            format!("{:.1} s {}", ahead.abs(), if ahead > 0.0 { "ahead" } else { "behind" })
        }
        Some(clock) => {
            let error = clock.max_error_ns.map(|error| format!(" ±{}", how_long(error))).unwrap_or_default();
            match clock.synchronised {
                Some(true) => format!("kept{error}"),
                Some(false) => "not kept".to_owned(),
                None => "unknown".to_owned(),
            }
        }
    };
    let busy = node.load.and_then(|load| load.busy);
    let flows = node.load.map_or_else(
        || "unknown".to_owned(),
        |load| format!("{} of {}", grouped(load.flows), grouped(load.most_flows)),
    );
    let counts = [
        ("shortened", node.spool.shortened),
        ("dropped", node.spool.dropped),
        ("unwritten", node.spool.unwritten),
    ];
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    let mut spool = vec![grouped(node.spool.messages)];
    spool.extend(counts.map(|(name, count)| format!("{} {name}", grouped(count))));
    spool.extend(node.spool.fault.as_ref().map(|fault| format!("in memory only: {fault}")));
    vec![
        node.name.clone(),
        state.to_owned(),
        grouped(node.packets.received),
        grouped(node.packets.measured),
        named(&node.packets.not_measured),
        node.loss.as_ref().map_or_else(|| "unknown".to_owned(), named),
        node.coverage.map_or_else(|| "unknown".to_owned(), |coverage| format!("{:.2} %", coverage * 100.0)),
        busy.map_or_else(|| "unknown".to_owned(), |busy| format!("{:.0} %", busy * 100.0)),
        flows,
        clock,
        spool.join(", "),
        node.store.as_ref().map_or_else(|| "none".to_owned(), store),
        tasks(&node.tasks),
        node.version.clone().unwrap_or_else(|| "unknown".to_owned()),
    ]
}

fn store(store: &Store) -> String {
    let mut parts = vec![scaled(store.bytes as f64, "B")];
    parts.extend((store.lost > 0).then(|| format!("{} lost", grouped(store.lost))));
    parts.extend(store.fault.clone());
    parts.join(", ")
}

fn tasks(tasks: &TaskState) -> String {
    match (&tasks.refused, tasks.applied) {
        (Some(reason), _) => format!("refused: {reason}"),
        (None, Some(applied)) if applied == tasks.wanted => match tasks.lapsed {
            0 => "applied".to_owned(),
            lapsed => format!("applied, {} lapsed", grouped(lapsed)),
        },
        _ => "not applied yet".to_owned(),
    }
}

/// Counters by name; 0 if all are zero.
fn named(counters: &Counters) -> String {
    match counters.total() {
        0 => "0".to_owned(),
        _ => listed(counters.nonzero()),
    }
}

fn listed<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> String {
    let counts: Vec<String> = counts.map(|(name, count)| format!("{} {name}", grouped(count))).collect();
    counts.join(", ")
}

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

/// A capture of a story.
#[derive(Deserialize)]
pub(super) struct Capture {
    node: String,
    query: String,
    #[serde(with = "report::integer")]
    packets: u64,
    #[serde(with = "report::integer")]
    bytes: u64,
    href: Option<String>,
    reason: Option<String>,
}

/// A capture in one line, with the address of its file, or why there is none.
pub(super) fn capture(capture: &Capture, address: &str) -> String {
    let Capture { node, query, packets, bytes, href, reason } = capture;
    let (packets, bytes) = (grouped(*packets), grouped(*bytes));
    let place = match (href, reason) {
        (Some(href), _) => format!("{address}{href}"),
        (None, Some(reason)) => format!("no file here: {}", reason.replace('\n', " ")),
        (None, None) => "no file here".to_owned(),
    };
    format!("captured by {query} on {node}: {packets} packets, {bytes} bytes, {place}")
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
    let at = report::format_time(event.at_ns);
    format!("{at}  {}  {} {kind}{key}{node}{values}", event.event, event.query)
}

fn value(item: &Item) -> String {
    match serde_json::to_value(&item.value) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(json) => json.to_string(),
        Err(_) => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use web::view::Delivered;

    #[test]
    fn what_kafka_has_and_lacks_is_shown() {
        let kafka = Delivered {
            delivered: 7_000,
            again: 1,
            lost: [("dropped", 2)].into_iter().collect(),
            ..Delivered::default()
        };
        let text = nodes(&Status { kafka: Some(kafka), ..Status::default() });
        assert!(
            text.ends_with("messages to Kafka: 7,000 delivered, 1 again\n  lacks: 2 dropped\n"),
            "{text}"
        );
        assert!(!nodes(&Status::default()).contains("Kafka"));
    }
}
