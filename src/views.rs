//! The state of a controller or a run as the HTTP interface and the live view show it.

use controller::{Gap, Health};
use equery::{Chain, CheckedQuery};
use events::{Edge, Graph, Phase, Query, State, Trigger};
use report::view::{self, NodeState, NodeView, QueryState, QueryView, TaskState};
use std::time::{SystemTime, UNIX_EPOCH};

/// A window that came so long after its end, beside the grace, is late: time for its way.
const LATE_NS: u64 = 2_000_000_000;

/// Now, nanoseconds since the epoch.
pub(crate) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// The queries of a chain. `texts`: as they were checked, each with its file, in any order.
pub(crate) fn queries<'a>(
    chain: &Chain,
    state: &State,
    texts: impl Iterator<Item = (&'a CheckedQuery, Option<&'a str>)>,
) -> Vec<QueryView> {
    let texts: Vec<_> = texts.collect();
    let graph = &chain.graph;
    let view = |(number, query): (usize, &Query)| {
        let known = texts.iter().find(|(checked, _)| checked.label == query.name);
        let shown = chain.shown[number];
        let runs: Vec<_> = state.runs.iter().filter(|run| run.query == number).collect();
        QueryView {
            name: query.name.clone(),
            text: query.text.clone(),
            file: known.and_then(|(_, file)| file.map(str::to_owned)),
            class: known.map(|(checked, _)| class(checked.class)).unwrap_or_default(),
            nodes: chain.nodes_of(number).into_iter().map(|node| graph.nodes[node].clone()).collect(),
            every_ns: Some(query.every_ns),
            over_ns: Some(query.over_ns),
            columns: query.columns[..shown].iter().map(|column| column.column.clone()).collect(),
            state: match (&query.trigger, runs.is_empty()) {
                (None, _) => QueryState::Standing,
                (Some(_), true) => QueryState::Waiting,
                (Some(_), false) => QueryState::Running,
            },
            runs: runs
                .iter()
                .map(|run| view::Run { start_ns: run.start_ns, end_ns: run.end_ns, cause: run.cause.clone() })
                .collect(),
            trigger: query
                .trigger
                .as_ref()
                .map(|trigger| self::trigger((graph, state), number, trigger, known)),
            metric: known.is_some_and(|(checked, _)| checked.is_metric),
            capture: chain.captures[number],
            latest: Vec::new(),
        }
    };
    let is_shown = |(number, _): &(usize, &Query)| !chain.hidden[*number];
    graph.queries.iter().enumerate().filter(is_shown).map(view).collect()
}

fn class(class: equery::Class) -> report::Class {
    match class {
        equery::Class::Row => report::Class::Row,
        equery::Class::Zoom => report::Class::Zoom,
        equery::Class::Sketch => report::Class::Sketch,
    }
}

fn trigger(
    (graph, state): (&Graph, &State),
    query: usize,
    trigger: &Trigger,
    known: Option<&(&CheckedQuery, Option<&str>)>,
) -> view::Trigger {
    let parents = trigger.sources.iter().map(|source| &graph.queries[source.query]);
    let names: Vec<&str> = parents.clone().map(|parent| parent.name.as_str()).collect();
    let items: Vec<&str> =
        parents.flat_map(|parent| &parent.columns).map(|column| column.column.name.as_str()).collect();
    let thresholds = trigger.condition.thresholds().into_iter().filter_map(|(item, comparison, value)| {
        let column = (*items.get(item)?).to_owned();
        Some(view::Threshold { column, comparison: comparison.text().to_owned(), value })
    });
    let edges = state.edges.iter().filter(|edge| edge.query == query);
    view::Trigger {
        parent: names.join(", "),
        condition: trigger.text.clone(),
        for_ns: trigger.hold_ns,
        run_ns: trigger.run_ns,
        cooldown_ns: trigger.cooldown_ns,
        until: known.and_then(|(checked, _)| checked.trigger.as_ref()?.until.clone()),
        thresholds: thresholds.collect(),
        edges: edges.flat_map(|edge| phases(edge, graph.node_name(edge.place.node))).collect(),
    }
}

/// Windows in a row that are missing before nothing is known of a node (`docs/equery.md`, rule 4).
const MISSING: u64 = 3;

/// How many keys of an edge are in which phase: all that are not idle, or that it is idle or without data.
fn phases(edge: &Edge, node: Option<&str>) -> Vec<view::Edge> {
    let mut found: Vec<view::Edge> = Vec::new();
    for progress in edge.keys.values() {
        let (phase, since_ns, until_ns, event) = match progress.phase {
            Phase::Idle => continue,
            Phase::Pending { held_ns, .. } => {
                let since_ns = edge.last_end_ns.map(|last| last.saturating_sub(held_ns));
                (view::Phase::Pending, since_ns, None, None)
            }
            Phase::Active { fired_ns } => (view::Phase::Active, Some(fired_ns), None, progress.fired.clone()),
            Phase::Recovering { until_ns } => {
                (view::Phase::Recovering, None, Some(until_ns), progress.fired.clone())
            }
        };
        match found.iter_mut().find(|known| known.phase == phase) {
            Some(known) => {
                known.keys += 1;
                known.since_ns = known.since_ns.max(since_ns);
                known.until_ns = known.until_ns.max(until_ns);
            }
            None => found.push(view::Edge {
                node: node.map(str::to_owned),
                phase,
                keys: 1,
                since_ns,
                until_ns,
                event,
            }),
        }
    }
    let no_data = edge.missing.iter().any(|missing| *missing >= MISSING);
    if found.is_empty() || no_data {
        let (phase, keys) = match no_data {
            true => (view::Phase::NoData, edge.keys.len()),
            false => (view::Phase::Idle, edge.keys.len()),
        };
        let keys = u64::try_from(keys).unwrap_or(u64::MAX);
        let node = node.map(str::to_owned);
        found.push(view::Edge { node, phase, keys, since_ns: None, until_ns: None, event: None });
    }
    found
}

/// A node of a controller.
pub(crate) fn node(name: &str, health: &Health, now_ns: u64, window_ns: u64, grace_ns: u64) -> NodeView {
    let heartbeat = health.heartbeat.as_ref();
    let silent = |since: u64| now_ns.saturating_sub(since);
    let in_time_ns = window_ns.saturating_add(grace_ns).saturating_add(LATE_NS);
    let state = match (health.heard_ns, health.window) {
        _ if health.has_ended => NodeState::Ended,
        (None, _) => NodeState::Never,
        (Some(heard), _) if silent(heard) > Health::DOWN_NS.max(in_time_ns) => NodeState::Down,
        (_, Some(window)) if silent(window.end_ns) <= in_time_ns => NodeState::Up,
        _ => NodeState::Late,
    };
    NodeView {
        name: name.to_owned(),
        state,
        seen_ns: health.heard_ns,
        coverage: health.coverage,
        window: health.window,
        packets: health.packets.clone(),
        loss: health.loss.clone(),
        last: health.last.clone().map(|(packets, loss)| view::Account { packets, loss }),
        spool: heartbeat.map(|heartbeat| spool(&heartbeat.spool)).unwrap_or_default(),
        store: heartbeat.and_then(|heartbeat| heartbeat.store.as_ref()).map(store),
        clock: clock(heartbeat.and_then(|heartbeat| heartbeat.clock), health.clock_ahead_ns()),
        load: heartbeat.and_then(|heartbeat| heartbeat.load).map(load),
        tasks: TaskState {
            wanted: health.wanted.map_or(0, |list| list.generation),
            applied: applied(health),
            refused: health.refused.clone(),
            lapsed: heartbeat.map_or(0, |heartbeat| heartbeat.lapsed),
        },
        version: heartbeat.map(|heartbeat| heartbeat.version.clone()),
        sources: heartbeat.map(|heartbeat| heartbeat.sources.clone()).unwrap_or_default(),
        gaps: health.gaps.iter().map(gap).collect(),
        refused: health.not_taken.clone(),
    }
}

/// The generation of the list that a node has, where it is one of this controller.
fn applied(health: &Health) -> Option<u64> {
    let list = health.heartbeat.as_ref()?.list?;
    (Some(list.epoch) == health.wanted.map(|wanted| wanted.epoch)).then_some(list.generation)
}

fn gap(gap: &Gap) -> view::Gap {
    view::Gap { start_ns: gap.window.start_ns, end_ns: gap.window.end_ns, reason: gap.reason.to_owned() }
}

fn spool(spool: &protocol::Spool) -> view::Spool {
    let protocol::Spool { messages, bytes, shortened, dropped, unwritten, fault } = spool.clone();
    view::Spool { messages, bytes, shortened, dropped, unwritten, fault }
}

fn store(store: &protocol::StoreState) -> view::Store {
    let protocol::StoreState { files, bytes, lost, fault } = store.clone();
    view::Store { files, bytes, lost, fault }
}

fn clock(said: Option<protocol::Clock>, ahead_ns: Option<i64>) -> Option<view::Clock> {
    let is_known = said.is_some() || ahead_ns.is_some();
    let protocol::Clock { synchronised, max_error_ns } = said.unwrap_or_default();
    let ahead_s = ahead_ns.map(|ns| ns as f64 / 1e9);
    is_known.then_some(view::Clock { synchronised, max_error_ns, ahead_s })
}

fn load(load: protocol::Load) -> view::Load {
    view::Load { busy: load.busy, flows: load.flows, most_flows: load.most_flows }
}
