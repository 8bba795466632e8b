//! The state of a controller, as people and programs are told it.

use crate::{Health, HealthGap, MissingTally, return_ns};
use equery::{Chain, CheckedQuery};
use events::{ColumnRole, EdgeState, Graph, GraphQuery, KeyPhase, KeyProgress, MachineState, QueryTrigger};
use model::view::{self, KernelClock, NodeState, NodeView, QueryState, QueryView, TaskState};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A window that came so long after its end, beside the grace, is late: time for its way.
const LATE_NS: u64 = 2_000_000_000;

/// The queries of a chain. `texts`: as they were checked, each with its file, in any order.
pub fn queries<'a>(
    chain: &Chain,
    state: &MachineState,
    texts: impl Iterator<Item = (&'a CheckedQuery, Option<&'a str>)>,
) -> Vec<QueryView> {
    let texts: Vec<_> = texts.collect();
    let graph = &chain.graph;
    let view = |(number, query): (usize, &GraphQuery)| {
        let known = texts.iter().find(|(checked, _)| checked.label == query.name);
        let shown = chain.shown[number];
        let runs: Vec<_> = state.runs.iter().filter(|run| run.query == number).collect();
        QueryView {
            name: query.name.clone(),
            text: known.map_or_else(|| query.text.clone(), |(checked, _)| checked.text.clone()),
            definitions: known.map(|(checked, _)| checked.definitions.clone()).unwrap_or_default(),
            file: known.and_then(|(_, file)| file.map(str::to_owned)),
            class: known.map(|(checked, _)| checked.class).unwrap_or_default(),
            nodes: chain.nodes_of(number).into_iter().map(|node| graph.nodes[node].clone()).collect(),
            every_ns: Some(query.every_ns),
            over_ns: Some(query.over_ns),
            columns: query.columns[..shown].iter().map(|column| column.column.clone()).collect(),
            key: query.columns[..shown]
                .iter()
                .filter(|column| column.role == ColumnRole::Key)
                .map(|column| column.column.name.clone())
                .collect(),
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
    let is_shown = |(number, _): &(usize, &GraphQuery)| !chain.hidden[*number];
    graph.queries.iter().enumerate().filter(is_shown).map(view).collect()
}

fn trigger(
    (graph, state): (&Graph, &MachineState),
    query: usize,
    trigger: &QueryTrigger,
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
    let edges: Vec<&EdgeState> = state.edges.iter().filter(|edge| edge.query == query).collect();
    let columns: Vec<_> = graph.key_columns(trigger).collect();
    view::Trigger {
        parent: names.join(", "),
        condition: trigger.text.clone(),
        for_ns: trigger.hold_ns,
        run_ns: trigger.run_ns,
        cooldown_ns: trigger.cooldown_ns,
        until: known.and_then(|(checked, _)| checked.trigger.as_ref()?.until.clone()),
        thresholds: thresholds.collect(),
        keys: keys(graph, &edges, &columns),
        edges: edges.iter().flat_map(|edge| phases(edge, graph.node_name(edge.place.node))).collect(),
    }
}

/// Windows in a row that are missing before nothing is known of a node (`docs/equery.md`, rule 4).
const MISSING: u64 = 3;

/// A phase, since and until when, and the event that brought it there.
type PhaseSpan<'a> = (view::Phase, Option<u64>, Option<u64>, Option<&'a str>);

/// The phase of a key that is not idle.
fn phase<'a>(edge: &EdgeState, progress: &'a KeyProgress) -> Option<PhaseSpan<'a>> {
    let event = progress.fired.as_deref();
    Some(match progress.phase {
        KeyPhase::Idle => return None,
        KeyPhase::Pending { held_ns, .. } => {
            (view::Phase::Pending, edge.last_end_ns.map(|last| last.saturating_sub(held_ns)), None, None)
        }
        KeyPhase::Active { fired_ns } => (view::Phase::Active, Some(fired_ns), None, event),
        KeyPhase::Recovering { until_ns, .. } => (view::Phase::Recovering, None, Some(until_ns), event),
    })
}

/// Returns how many keys of an edge are in which phase: all that are not idle, or that it is idle or without data.
fn phases(edge: &EdgeState, node: Option<&str>) -> Vec<view::Edge> {
    let mut found: Vec<view::Edge> = Vec::new();
    for progress in edge.keys.values() {
        let Some((phase, since_ns, until_ns, event)) = phase(edge, progress) else { continue };
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
                event: event.map(str::to_owned),
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

/// The keys of a trigger that are told one by one.
fn keys(graph: &Graph, edges: &[&EdgeState], columns: &[&model::Column]) -> Vec<view::KeyState> {
    // What fired, then what may, then what is quiet; the newest first, and else by node and key.
    let rank = |phase| match phase {
        view::Phase::Active => 0,
        view::Phase::Pending => 1,
        _ => 2,
    };
    let mut first = BTreeMap::new();
    for edge in edges {
        let node = graph.node_name(edge.place.node);
        for (key, progress) in &edge.keys {
            let Some(told) = phase(edge, progress) else { continue };
            let (phase, since_ns, until_ns, _) = told;
            let place = (rank(phase), Reverse(since_ns.or(until_ns)), node, key, &edge.runs);
            // There may be a million: those that are not told are not kept.
            if first.len() == view::MOST_KEYS {
                if first.last_key_value().is_some_and(|(last, _)| *last <= place) {
                    continue;
                }
                first.pop_last();
            }
            first.insert(place, told);
        }
    }
    let told = first.into_iter().map(|((_, _, node, key, _), (phase, since_ns, until_ns, event))| {
        let key = events::items(key, columns.iter().copied());
        let (node, event) = (node.map(str::to_owned), event.map(str::to_owned));
        view::KeyState { node, key, phase, since_ns, until_ns, event }
    });
    told.collect()
}

/// The time in which a controller could not hear its nodes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deaf {
    /// The time since when it could not.
    since_ns: u64,
    /// The time until when it could not; `None` while it cannot.
    until_ns: Option<u64>,
}

impl Deaf {
    /// Returns the time of deafness, given the last one and whether the controller hears nodes now. `nodes`: how many there are, which take
    /// their time to come back.
    pub fn update_hearing(last: Option<Self>, hears: bool, now_ns: u64, nodes: usize) -> Option<Self> {
        let is_back =
            |last: &Self| last.until_ns.is_some_and(|until| now_ns >= until.saturating_add(return_ns(nodes)));
        let last = last.filter(|last| !is_back(last));
        match (hears, last) {
            // Nodes that have not come back yet are those of the fault before.
            (false, last) => {
                Some(Self { since_ns: last.map_or(now_ns, |last| last.since_ns), until_ns: None })
            }
            (true, last) => last.map(|last| Self { until_ns: last.until_ns.or(Some(now_ns)), ..last }),
        }
    }

    /// Returns true if a node that was heard then may be well although it is not heard: it was when this began.
    fn explains(&self, heard_ns: u64, silent_ns: u64) -> bool {
        heard_ns < self.until_ns.unwrap_or(u64::MAX) && self.since_ns.saturating_sub(heard_ns) <= silent_ns
    }
}

/// The time and the settings that the state of a node is judged by.
#[derive(Clone, Copy, Debug, Default)]
pub struct HealthCriteria {
    /// The time, nanoseconds since the epoch.
    pub now_ns: u64,
    /// The length of windows, nanoseconds.
    pub window_ns: u64,
    /// The time for which the answers of a window are awaited, nanoseconds.
    pub grace_ns: u64,
    /// The time in which the controller could last not hear nodes, if they may not have come back since.
    pub deaf: Option<Deaf>,
}

/// A node of a controller.
pub fn node(name: &str, health: &Health, moment: &HealthCriteria) -> NodeView {
    let HealthCriteria { now_ns, window_ns, grace_ns, deaf } = *moment;
    let heartbeat = health.heartbeat.as_ref();
    let silent = |since: u64| now_ns.saturating_sub(since);
    let in_time_ns = window_ns.saturating_add(grace_ns).saturating_add(LATE_NS);
    let silent_ns = Health::DOWN_NS.max(in_time_ns);
    let state = match (health.heard_ns, health.window) {
        _ if health.has_ended => NodeState::Ended,
        (None, _) => NodeState::Never,
        (Some(heard), _) if deaf.is_some_and(|deaf| deaf.explains(heard, silent_ns)) => NodeState::Unheard,
        (Some(heard), _) if silent(heard) > silent_ns => NodeState::Down,
        (_, Some(window)) if silent(window.end_ns) <= in_time_ns => NodeState::Up,
        _ => NodeState::Late,
    };
    NodeView {
        name: name.to_owned(),
        state,
        site: heartbeat.and_then(|heartbeat| heartbeat.site.clone()),
        seen_ns: health.heard_ns,
        coverage: health.coverage,
        window: health.window,
        packets: health.packets.clone(),
        loss: health.loss.clone(),
        last: health.last.clone(),
        spool: heartbeat.map(|heartbeat| heartbeat.spool.clone()).unwrap_or_default(),
        store: heartbeat.and_then(|heartbeat| heartbeat.store.clone()),
        clock: clock(heartbeat.and_then(|heartbeat| heartbeat.clock), health.clock_ahead_ns()),
        load: heartbeat.and_then(|heartbeat| heartbeat.load),
        tasks: TaskState {
            wanted: health.wanted.map_or(0, |list| list.generation),
            applied: applied(health),
            refused: health.refused.clone(),
            lapsed: heartbeat.map_or(0, |heartbeat| heartbeat.lapsed),
        },
        version: heartbeat.map(|heartbeat| heartbeat.version.clone()),
        sources: heartbeat.map(|heartbeat| heartbeat.sources.clone()).unwrap_or_default(),
        gaps: health.lacks.gaps.iter().map(gap).collect(),
        missing: health.lacks.missing.iter().map(missing).collect(),
        watched: health.watched(),
        refused: health.not_taken.clone(),
    }
}

/// The generation of the list that a node has, where it is one of this controller.
fn applied(health: &Health) -> Option<u64> {
    let list = health.heartbeat.as_ref()?.list?;
    (Some(list.epoch) == health.wanted.map(|wanted| wanted.epoch)).then_some(list.generation)
}

fn gap(gap: &HealthGap) -> view::Gap {
    view::Gap {
        start_ns: gap.window.start_ns,
        end_ns: gap.window.end_ns,
        reason: gap.reason.clone().into_owned(),
    }
}

fn missing((reason, missing): (&String, &MissingTally)) -> view::MissingWindows {
    let seconds = missing.ns as f64 / 1e9;
    view::MissingWindows { reason: reason.clone(), windows: missing.windows, seconds }
}

/// Returns what is known of a clock: what the kernel says, and how far it is ahead of the controller's.
fn clock(kernel: Option<KernelClock>, ahead_ns: Option<i64>) -> Option<view::Clock> {
    let is_known = kernel.is_some() || ahead_ns.is_some();
    let ahead_s = ahead_ns.map(|ns| ns as f64 / 1e9);
    is_known.then_some(view::Clock { kernel: kernel.unwrap_or_default(), ahead_s })
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::{AnswerColumn, EvaluationPoint, EventSettings, Member, TriggerCondition};
    use model::{ColumnKind, Value};

    /// A node that was well is not down because the controller could not hear it, nor before it has had time to come back; one that was down
    /// already still is.
    #[test]
    fn a_node_that_cannot_be_heard_is_not_down() {
        const SECOND: u64 = 1_000_000_000;
        let health = |heard: u64| {
            let window = model::Span { start_ns: (heard - 1) * SECOND, end_ns: heard * SECOND };
            Health { heard_ns: Some(heard * SECOND), window: Some(window), ..Health::default() }
        };
        let mut deaf = None;
        let mut state = |now: u64, hears: bool, heard: u64| {
            deaf = Deaf::update_hearing(deaf, hears, now * SECOND, 2);
            let moment = HealthCriteria { now_ns: now * SECOND, window_ns: SECOND, grace_ns: SECOND, deaf };
            node("Node1", &health(heard), &moment).state
        };
        assert_eq!(state(100, true, 100), NodeState::Up);
        assert_eq!(state(101, false, 100), NodeState::Unheard);
        assert_eq!(state(900, false, 100), NodeState::Unheard);
        assert_eq!(state(900, false, 90), NodeState::Down);
        // The fault is over: it has 15 s and 20 ms for each node.
        assert_eq!(state(901, true, 100), NodeState::Unheard);
        assert_eq!(state(902, true, 902), NodeState::Up);
        // Another one begins before that: a node that was not heard in between is still one of the first.
        assert_eq!(state(905, false, 100), NodeState::Unheard);
        assert_eq!(state(910, true, 100), NodeState::Unheard);
        assert_eq!(state(925, true, 100), NodeState::Unheard);
        assert_eq!(state(926, true, 100), NodeState::Down);
        assert_eq!(state(927, true, 927), NodeState::Up);
    }

    /// Of more keys than are listed all are counted, and those that fired last are listed.
    #[test]
    fn keys_are_counted_and_the_newest_that_fired_are_listed() {
        const SECOND: u64 = 1_000_000_000;
        let column = model::Column::new("src_port", ColumnKind::Unsigned, "");
        let parent = GraphQuery {
            columns: vec![AnswerColumn { column: column.clone(), role: ColumnRole::Key }],
            key: vec![0],
            nodes: vec![0],
            ..GraphQuery::new("parent", SECOND)
        };
        let trigger = QueryTrigger::new(0, &parent, TriggerCondition::IsMissing(0));
        let nodes = vec!["Node1".to_owned()];
        let graph = Graph { nodes, queries: vec![parent], settings: EventSettings::default() };
        // Keys with even numbers fired, the larger the later; the others are about to.
        let progress = |number: u64| {
            let phase = match number % 2 {
                0 => KeyPhase::Active { fired_ns: number * SECOND },
                _ => KeyPhase::Pending { held_ns: SECOND, is_true: true },
            };
            (vec![Member::Unsigned(number)], KeyProgress { phase, seen_ns: 0, fired: None, title: None })
        };
        let edge = EdgeState {
            query: 1,
            place: EvaluationPoint { node: 0, of: vec![0] },
            runs: Vec::new(),
            last_end_ns: Some(SECOND),
            missing: vec![0],
            watched_ns: 0,
            is_settled: false,
            forgotten: 0,
            keys: (0..1000).map(progress).collect(),
        };
        let counted = phases(&edge, Some("Node1"));
        assert_eq!(counted.iter().map(|edge| edge.keys).sum::<u64>(), 1000);
        let columns: Vec<_> = graph.key_columns(&trigger).collect();
        let listed = keys(&graph, &[&edge], &columns);
        let numbers: Vec<_> = listed.iter().map(|state| state.key[0].value.clone()).collect();
        let newest: Vec<_> =
            (0..500).rev().take(view::MOST_KEYS).map(|half| Value::Unsigned(2 * half)).collect();
        assert_eq!(numbers, newest);
        assert!(
            listed.iter().all(|state| state.key[0].column == column && state.phase == view::Phase::Active)
        );
    }
}
