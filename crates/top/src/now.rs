//! The view Now: what was counted, and tables of the latest answers.

use crate::model::{ApiConnection, FirstWindow, LiveCounts, StatusOrigin, ViewModel};
use crate::row::{Tone, ViewLine, ViewTarget};
use crate::sentence;
use model::Totals;
use model::view::{BrokerState, Mode, NodeState, NodeView};
use model::{Answer, AnswerStatus, Counters, Item};
use notation::{grouped, scaled};

const SECOND: u64 = 1_000_000_000;
/// Characters of a label.
const LABEL: usize = 10;
/// Characters that the names of sources have at the least.
const LEAST_SOURCE: usize = 20;

/// The lines above the tables.
pub(crate) fn head(model: &ViewModel, columns: usize) -> Vec<ViewLine> {
    let mut rows: Vec<ViewLine> = sentence::sentence(model).into_iter().collect();
    rows.push(source(model, columns));
    rows.extend(away(model));
    rows.push(now(model));
    let rates = model.rates.line(columns.saturating_sub(LABEL), model.status.ended);
    rows.extend(rates.map(|line| ViewLine::plain(format!("rate      {line}"))));
    match &model.status.nodes[..] {
        [] => rows.extend(none(model)),
        [node] if node.window.is_some() || model.status.ended => rows.extend(window(model, node)),
        [_] => rows.extend(none(model)),
        nodes => rows.extend(all(model, nodes)),
    }
    rows
}

/// Returns the line that says what is measured, where, and for how long. Names of sources are cut, so that the rest has room.
fn source(model: &ViewModel, columns: usize) -> ViewLine {
    let status = &model.status;
    let long = |ns: u64| notation::how_long(ns / SECOND * SECOND);
    let age = long(status.now_ns.saturating_sub(status.started_ns));
    let rest = match (&model.origin, status.mode) {
        (StatusOrigin::Own { .. }, _) => {
            let elapsed = model.moment.unwrap_or_default().elapsed.as_secs();
            format!(", for {} (Ctrl-C ends)", long(elapsed * SECOND))
        }
        (StatusOrigin::Api { address }, Mode::Run) => {
            let ended = if status.ended { ", ended" } else { "" };
            format!(", a run at {address} for {age}{ended}")
        }
        (StatusOrigin::Api { address }, Mode::Controller) => {
            return ViewLine::plain(format!(
                "source    the controller at {address} for {age}, {}",
                nodes(model)
            ));
        }
    };
    let sources = terminal::sources(&status.sources);
    ViewLine::plain(
        terminal::cut(&sources, columns.saturating_sub(rest.chars().count()).max(LEAST_SOURCE)) + &rest,
    )
}

/// Writes how many nodes are in which state.
pub(crate) fn nodes(model: &ViewModel) -> String {
    let nodes = &model.status.nodes;
    let states = [
        NodeState::Up,
        NodeState::Late,
        NodeState::Down,
        NodeState::Unheard,
        NodeState::Ended,
        NodeState::Never,
    ];
    let counts = states.map(|state| (state, nodes.iter().filter(|node| node.state == state).count()));
    let parts = counts.iter().filter(|(_, count)| *count != 0);
    let parts: Vec<_> =
        parts.map(|(state, count)| format!("{count} {}", terminal::node_state(*state))).collect();
    match parts.is_empty() {
        true => "no nodes".to_owned(),
        false => format!("{} node(s): {}", nodes.len(), parts.join(", ")),
    }
}

/// Rate, packets and flows.
fn now(model: &ViewModel) -> ViewLine {
    let rate = model.rate().map_or_else(|| "rate unknown".to_owned(), |rate| scaled(rate, "pps"));
    let (received, flows) = match model.moment {
        Some(LiveCounts { received, flows, .. }) => (received, Some(flows)),
        None => (model.packets().received, flows(model)),
    };
    let flows =
        flows.map_or_else(|| "flows unknown".to_owned(), |flows| format!("{} flows open", grouped(flows)));
    ViewLine::plain(format!("now       {rate}, {} packets received, {flows}", grouped(received)))
}

/// Flows in the tables of all nodes, where each says it.
fn flows(model: &ViewModel) -> Option<u64> {
    let loads = model.status.nodes.iter().map(|node| node.load.map(|load| load.flows));
    let is_known = !model.status.nodes.is_empty();
    loads.sum::<Option<u64>>().filter(|_| is_known)
}

/// Returns the lines that say what does not answer.
pub(crate) fn away(model: &ViewModel) -> Vec<ViewLine> {
    let mut rows = Vec::new();
    if let ApiConnection::Away { since, reason } = &model.link {
        let seconds = since.elapsed().as_secs();
        let since = notation::how_long(seconds * SECOND);
        rows.push(ViewLine::new(Tone::Bad, format!("away      for {since}; what follows is older")));
        rows.push(ViewLine::new(Tone::Bad, format!("          {}", without_address(reason, &model.origin))));
    }
    if let Some(broker) = model.status.broker.as_ref().filter(|broker| broker.state != BrokerState::Connected)
    {
        let reason = broker.reason.as_deref().unwrap_or("no reason is known");
        let word = if broker.state == BrokerState::Away { "away" } else { "blocked" };
        rows.push(ViewLine::new(
            Tone::Bad,
            format!("broker    {word} since {}: {reason}", terminal::moment(broker.since_ns)),
        ));
    }
    let last = model
        .status
        .faults
        .iter()
        .filter(|fault| fault.until_ns.is_none() && fault.fault.starts_with("archive"));
    rows.extend(last.map(|fault| {
        ViewLine::new(
            Tone::Bad,
            format!("archive   since {}: {}", terminal::moment(fault.since_ns), fault.reason),
        )
    }));
    rows
}

/// A reason without the address, which the line of the source has.
fn without_address<'a>(reason: &'a str, origin: &StatusOrigin) -> &'a str {
    let StatusOrigin::Api { address } = origin else { return reason };
    reason.strip_prefix(address.as_str()).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(reason)
}

/// Returns the line that stands where no window has ended.
fn none(model: &ViewModel) -> Option<ViewLine> {
    let first_window = match &model.origin {
        StatusOrigin::Own { first_window } => *first_window,
        StatusOrigin::Api { .. } => FirstWindow::Unknown,
    };
    (!model.status.ended).then(|| {
        ViewLine::plain(match first_window {
            FirstWindow::Unknown => "window    the first one has not ended".to_owned(),
            FirstWindow::At(ns) => format!("window    the first one ends at {}", terminal::moment(ns)),
            FirstWindow::Packets(packets) => {
                format!("window    the first one ends after {} packets", grouped(packets))
            }
        })
    })
}

/// The last window of the one node; of a run that has ended, the run.
fn window(model: &ViewModel, node: &NodeView) -> Vec<ViewLine> {
    let name = Some(node.name.as_str());
    let totals = model.latest("totals", name).or_else(|| model.latest("totals", None));
    let totals = totals.filter(|totals| totals.window.is_none() || !model.status.ended);
    let of_run = model.status.ended || totals.is_some_and(|totals| totals.window.is_none());
    let span = if of_run { model.status.span } else { node.window };
    let mut rows = Vec::new();
    if let Some(span) = span {
        let status = match totals.map(|totals| totals.status) {
            None | Some(AnswerStatus::Complete) => "",
            Some(AnswerStatus::Partial) => ", partial",
            Some(AnswerStatus::Cut) => ", cut",
        };
        let empty = match totals.and_then(|totals| totals.empty) {
            Some(windows) => format!(", {} empty", grouped(windows)),
            None => String::new(),
        };
        let tone = if status.is_empty() { Tone::Plain } else { Tone::Warning };
        let label = if of_run { "time  " } else { "window" };
        rows.push(ViewLine::new(tone, format!("{label}    {}{empty}{status}", terminal::when(span))));
        let watched = totals.and_then(|totals| totals.watched);
        rows.extend(
            watched.map(|watched| ViewLine::plain(format!("          watched {}", terminal::when(watched)))),
        );
        if let Some(totals) = totals {
            let sums = Totals::from_answer(totals);
            rows.push(ViewLine::plain(match of_run {
                true => terminal::traffic_of_run(&sums, span, &node.packets),
                false => terminal::traffic_of_window(&sums, watched.unwrap_or(span)),
            }));
        }
    }
    rows.extend(match (&node.last, of_run) {
        (Some(last), false) => account(&last.packets, last.loss.as_ref()),
        _ => account(&node.packets, node.loss.as_ref()),
    });
    let full = model.moment.and_then(|moment| terminal::table_full(moment.table_full));
    rows.extend(full.map(|line| ViewLine::new(Tone::Warning, line)));
    let loss = model.latest("tcp_loss", name).into_iter().flat_map(terminal::tcp_loss);
    rows.extend(loss.map(ViewLine::plain));
    rows
}

/// Returns the lines about all nodes since they started.
fn all(model: &ViewModel, nodes: &[NodeView]) -> Vec<ViewLine> {
    let status = terminal::status_lines(&model.status);
    let mut rows: Vec<ViewLine> = status
        .first()
        .map(|line| ViewLine::plain(line.replacen("windows: ", "windows   ", 1)))
        .into_iter()
        .collect();
    let mut loss = Some(Counters::default());
    let mut silent = Vec::new();
    for node in nodes {
        match (&mut loss, &node.loss) {
            (Some(sum), Some(more)) => sum.add(more),
            _ => silent.push(node.name.as_str()),
        }
    }
    let known = silent.is_empty();
    let mut lines = account(&model.packets(), loss.as_ref());
    if !known {
        let counted = loss.as_ref().map_or(0, Counters::total);
        lines.pop();
        lines.push(ViewLine::plain(format!(
            "loss      {} counted; unknown at {} of {} node(s)",
            grouped(counted),
            silent.len(),
            nodes.len()
        )));
    }
    rows.extend(lines);
    rows
}

/// The account of all frames. What is lost stands out.
fn account(packets: &model::PacketCounts, loss: Option<&Counters>) -> Vec<ViewLine> {
    let lines = terminal::account(packets, loss);
    let is_lossy = loss.is_some_and(|loss| loss.total() != 0);
    let tone = |line: &str| if is_lossy && line.starts_with("loss") { Tone::Warning } else { Tone::Plain };
    lines.into_iter().map(|line| ViewLine::new(tone(&line), line)).collect()
}

/// Tables of these answers, as many as there is room for.
pub(crate) fn tables<'a>(
    model: &ViewModel,
    answers: impl Iterator<Item = &'a Answer>,
    columns: usize,
    room: usize,
) -> Vec<ViewLine> {
    let titled = answers.map(|answer| (answer, suffix(model, answer)));
    let lines = terminal::fitting(titled, |answer| model.totals_of(answer), columns, room);
    let mut is_heading = false;
    let rows = lines.into_iter().map(|line| {
        let tone =
            if std::mem::replace(&mut is_heading, line.is_empty()) { Tone::Strong } else { Tone::Plain };
        ViewLine::new(tone, line)
    });
    rows.collect()
}

/// Returns the text that follows the name in the heading of a table: the node where there are several, and the window where it is not the last
/// one.
pub(crate) fn suffix(model: &ViewModel, answer: &Answer) -> String {
    let of_node = match &answer.node {
        Some(node) if model.status.nodes.len() > 1 => format!(" on {node}"),
        _ => String::new(),
    };
    let node = answer.node.as_deref().or_else(|| Some(model.status.nodes.first()?.name.as_str()));
    let newest = model.status.nodes.iter().find(|known| Some(known.name.as_str()) == node);
    let time = match (answer.window, newest.and_then(|node| node.window)) {
        (Some(own), Some(newest)) if own == newest => String::new(),
        (Some(own), _) => format!(", {}", terminal::when(own)),
        (None, _) => String::new(),
    };
    of_node + &time
}

/// Returns the target that Enter shows of an answer.
pub(crate) fn target(answer: &Answer) -> ViewTarget {
    ViewTarget::Answer(answer.query.clone(), answer.node.clone(), bound(answer))
}

/// Writes what a firing pinned, as a text that tells instances apart.
fn bound(answer: &Answer) -> String {
    let pinned = |item: &Item| format!("{} {:?}", item.column.name, item.value);
    answer.bound.iter().map(pinned).collect::<Vec<_>>().join(", ")
}
