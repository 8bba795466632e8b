//! The view Chains: which query starts which, in which phase it is, and what happened.

use crate::model::ViewModel;
use crate::row::{Tone, ViewLine, ViewTarget};
use model::view::{Edge, Phase, QueryState, QueryView};
use std::collections::BTreeMap;

/// Stories and events that are listed; the API has all.
const MOST_LISTED: usize = 100;
/// The deepest level to which queries are indented.
const DEEPEST: usize = 8;

/// Returns the lines of the view.
pub(crate) fn rows(model: &ViewModel) -> Vec<ViewLine> {
    let mut rows = vec![ViewLine::new(Tone::Strong, "Queries that start others, and those that they start")];
    let queries = &model.queries;
    let first = rows.len();
    rows.extend(in_order(queries).into_iter().map(|(at, depth)| row(&queries[at], depth)));
    if rows.len() == first {
        rows.push(ViewLine::plain("  none: 'when' in a query makes it start by another one's answers"));
    }
    rows.push(ViewLine::default());
    rows.push(ViewLine::new(Tone::Strong, "Stories, the one that changed last first"));
    let first = rows.len();
    rows.extend(model.stories().take(MOST_LISTED).map(|story| {
        let seen = if story.is_acknowledged { ", seen" } else { "" };
        let line = story.title.as_deref().or_else(|| story.text.lines().next()).unwrap_or_default();
        let silent = if story.is_silent { ", silent" } else { "" };
        ViewLine::plain(format!("  {line} ({} event(s){seen}{silent})", story.events))
            .to(ViewTarget::Story(story.id.clone()))
    }));
    if rows.len() == first {
        rows.push(ViewLine::plain("  none"));
    }
    rows.push(ViewLine::default());
    rows.push(ViewLine::new(Tone::Strong, "Events, the newest first"));
    let first = rows.len();
    rows.extend(model.events().take(MOST_LISTED).map(|told| {
        let line = match told.text.lines().next() {
            Some(sentence) => sentence.to_owned(),
            None => {
                let time = terminal::moment(told.event.at_ns);
                format!("{} {} at {time}", told.event.query, told.event.kind.name())
            }
        };
        ViewLine::plain(format!("  {line}")).to(ViewTarget::Event(told.event.event.clone()))
    }));
    if rows.len() == first {
        rows.push(ViewLine::plain("  none"));
    }
    rows
}

/// The places of queries that start others or are started, each once and before those that it starts, with how far it is indented.
fn in_order(queries: &[QueryView]) -> Vec<(usize, usize)> {
    let mut children: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, query) in queries.iter().enumerate() {
        for parent in query.trigger.iter().flat_map(|trigger| trigger.parent.split(", ")) {
            children.entry(parent).or_default().push(at);
        }
    }
    let children = |at: usize| children.get(queries[at].name.as_str()).into_iter().flatten();
    let is_started = |at: &usize| queries[*at].trigger.is_some();
    let all = 0..queries.len();
    // Those that nothing starts come first. Of the others, those that are left start each other, or their parents are gone.
    let roots = all.clone().filter(|at| !is_started(at) && children(*at).next().is_some());
    let mut seen = vec![false; queries.len()];
    let mut ordered = Vec::new();
    for root in roots.chain(all.filter(is_started)) {
        let mut next = vec![(root, 0)];
        while let Some((at, depth)) = next.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            ordered.push((at, depth));
            next.extend(children(at).rev().map(|&child| (child, (depth + 1).min(DEEPEST))));
        }
    }
    ordered
}

fn row(query: &QueryView, depth: usize) -> ViewLine {
    let indent = "  ".repeat(depth);
    let arrow = if depth == 0 { "" } else { "└ " };
    let (text, tone) = match &query.trigger {
        None => (format!("{indent}{}  {}", query.name, state(query.state)), Tone::Plain),
        Some(trigger) => {
            let phases = phases(&trigger.edges);
            let is_active = trigger.edges.iter().any(|edge| edge.phase == Phase::Active);
            let tone = if is_active { Tone::Warning } else { Tone::Plain };
            let state = state(query.state);
            (format!("{indent}{arrow}{}  {state}, {phases}  when {}", query.name, trigger.condition), tone)
        }
    };
    ViewLine::new(tone, format!("  {text}")).to(ViewTarget::Query(query.name.clone()))
}

/// A word for the state of a query.
pub(crate) fn state(state: QueryState) -> &'static str {
    match state {
        QueryState::Standing => "standing",
        QueryState::Waiting => "waiting",
        QueryState::Running => "running",
    }
}

/// A word for a phase.
pub(crate) fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Idle => "idle",
        Phase::Pending => "pending",
        Phase::Active => "active",
        Phase::Recovering => "recovering",
        Phase::NoData => "no data",
    }
}

/// Writes how many keys are in which phase, over all nodes; idle where all are.
fn phases(edges: &[Edge]) -> String {
    let mut parts = Vec::new();
    for phase in [Phase::Active, Phase::Pending, Phase::Recovering, Phase::NoData] {
        let of_phase = edges.iter().filter(|edge| edge.phase == phase);
        let keys: u64 = of_phase.clone().fold(0, |sum, edge| sum.saturating_add(edge.keys));
        let nodes: Vec<&str> = of_phase.clone().filter_map(|edge| edge.node.as_deref()).collect();
        let place = match &nodes[..] {
            [] => String::new(),
            [one] => format!(" on {one}"),
            nodes => format!(" on {} nodes", nodes.len()),
        };
        match (phase, of_phase.count()) {
            (_, 0) => {}
            (Phase::NoData, _) => parts.push(format!("no data{place}")),
            _ => parts.push(format!("{} for {keys} key(s){place}", self::phase(phase))),
        }
    }
    if parts.is_empty() { "idle".to_owned() } else { parts.join(", ") }
}
