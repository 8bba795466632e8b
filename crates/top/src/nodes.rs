//! The view Nodes: how each one fares.

use crate::model::{ViewModel, WatchedCoverage};
use crate::row::{Tone, ViewLine, ViewTarget};
use model::view::{Mode, NodeState, NodeView};
use notation::scaled;

/// Columns, those that matter most first. As many stand side by side as there is room for; Enter shows all of a node.
const OF_CONTROLLER: [&str; 15] = [
    "node",
    "state",
    "rate",
    "received",
    "lost before",
    "coverage",
    "busy",
    "spool",
    "tasks",
    "flows",
    "clock",
    "store",
    "not measured",
    "measured",
    "version",
];
/// A run says nothing else of its nodes.
const OF_RUN: [&str; 8] =
    ["node", "state", "rate", "received", "lost before", "coverage", "not measured", "measured"];

fn columns_of(mode: Mode) -> &'static [&'static str] {
    match mode {
        Mode::Controller => &OF_CONTROLLER,
        Mode::Run => &OF_RUN,
    }
}

/// The most characters of a cell, so that one column leaves room for the others.
const WIDEST: usize = 28;

/// Returns the lines of the view, with as many columns of the table as fit.
pub(crate) fn rows(model: &ViewModel, columns: usize) -> Vec<ViewLine> {
    let nodes = &model.status.nodes;
    let names = columns_of(model.status.mode);
    let watched = model.watched();
    let cells: Vec<Vec<String>> = nodes.iter().map(|node| cells(&watched, node, names)).collect();
    let width = |at: usize| {
        let own = cells.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        own.max(names[at].chars().count()) + 2
    };
    let mut room = columns;
    let shown = (0..names.len()).take_while(|&at| {
        let fits = width(at) <= room || at == 0;
        room = room.saturating_sub(width(at));
        fits
    });
    let shown = shown.count();
    let table = cells.into_iter().map(|row| row.into_iter().take(shown).collect()).collect();
    let text = terminal::text_table(&names[..shown], table);
    let mut lines = text.lines();
    let mut rows: Vec<ViewLine> =
        lines.next().map(|line| ViewLine::new(Tone::Strong, line)).into_iter().collect();
    rows.extend(
        lines.zip(nodes).map(|(line, node)| {
            ViewLine::new(tone(node.state), line).to(ViewTarget::Node(node.name.clone()))
        }),
    );
    if nodes.is_empty() {
        rows.push(ViewLine::plain("  none"));
    }
    rows.push(ViewLine::default());
    rows.extend(terminal::status_lines(&model.status).into_iter().map(ViewLine::plain));
    rows.extend(
        model
            .status
            .notes
            .iter()
            .rev()
            .map(|note| ViewLine::plain(format!("note, {}: {}", terminal::moment(note.at_ns), note.text))),
    );
    rows
}

fn tone(state: NodeState) -> Tone {
    match state {
        NodeState::Up | NodeState::Ended => Tone::Plain,
        NodeState::Late | NodeState::Never | NodeState::Unheard => Tone::Warning,
        NodeState::Down => Tone::Bad,
    }
}

/// The cells of a node, by their names: what is known of one of a controller or a run.
pub(crate) fn named(
    model: &ViewModel,
    node: &NodeView,
) -> impl Iterator<Item = (&'static str, String)> + use<> {
    let mode = model.status.mode;
    let cells = cells_by_name(&model.watched(), node);
    cells.into_iter().filter(move |(name, _)| columns_of(mode).contains(name))
}

fn cells_by_name(watched: &WatchedCoverage<'_>, node: &NodeView) -> Vec<(&'static str, String)> {
    let rate = watched.rate(node).map_or_else(|| "unknown".to_owned(), |rate| scaled(rate, "pps"));
    let mut cells: Vec<_> = terminal::named_node_cells(node).collect();
    cells.insert(2, ("rate", rate));
    cells
}

/// The cells of a node in the order of these names, cut.
fn cells(watched: &WatchedCoverage<'_>, node: &NodeView, names: &[&str]) -> Vec<String> {
    let named = cells_by_name(watched, node);
    let cell = |name: &&str| {
        let text = named.iter().find(|(own, _)| own == name).map(|(_, text)| text.as_str());
        terminal::cut(text.unwrap_or_default(), WIDEST)
    };
    names.iter().map(cell).collect()
}
