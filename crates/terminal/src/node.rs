//! Nodes, and what a controller says of itself.

use crate::table::text_table;
use crate::time::moment;
use model::Counters;
use model::view::{BrokerState, Clock, Fault, Mode, NodeState, NodeView, Site, Status, Store, TaskState};
use notation::how_long;
use notation::{grouped, scaled};

/// The names of [`node_cells`].
const COLUMNS: [&str; 14] = [
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

/// The name of the column behind the node's, where a node says its site.
const SITE: &str = "site";

/// The number of [`COLUMNS`] at the front that a run knows: it has no heartbeats, messages or lists of tasks.
const OF_RUN: usize = 7;

/// The nodes as a table, and what the controller or the run says of itself.
pub fn nodes(status: &Status) -> String {
    let count = match status.mode {
        Mode::Controller => COLUMNS.len(),
        Mode::Run => OF_RUN,
    };
    let mut columns = COLUMNS[..count].to_vec();
    let mut rows: Vec<Vec<String>> =
        status.nodes.iter().map(|node| node_cells(node)[..count].to_vec()).collect();
    // Nodes without sites have no column of them.
    let sites: Vec<_> = status.nodes.iter().map(|node| node.site.as_ref().and_then(site)).collect();
    if sites.iter().any(Option::is_some) {
        columns.insert(1, SITE);
        rows.iter_mut().zip(sites).for_each(|(row, site)| row.insert(1, site.unwrap_or_default()));
    }
    let lines = status_lines(status).into_iter().map(|line| line + "\n");
    text_table(&columns, rows) + &lines.collect::<String>()
}

/// The site of a node in words, `Chicago (41.88,-87.63)`; `None` where the node does not say it.
pub fn site(site: &Site) -> Option<String> {
    match (&site.name, site.at) {
        (Some(name), Some(at)) => Some(format!("{name} ({at})")),
        (Some(name), None) => Some(name.clone()),
        (None, Some(at)) => Some(at.to_string()),
        (None, None) => None,
    }
}

/// Returns the lines that a controller or a run says of itself: its windows, and what was refused, lacks or is away.
pub fn status_lines(status: &Status) -> Vec<String> {
    let windows = &status.windows;
    let counts = [
        ("complete", windows.complete),
        ("partial", windows.partial),
        ("late", windows.late),
        ("lost", windows.lost),
        ("missing", windows.missing),
        ("doubled", windows.doubled),
    ];
    // In a run no window is late, lost, missing or doubled.
    let counts = &counts[..if status.mode == Mode::Run { 2 } else { counts.len() }];
    let mut lines = vec![format!("windows: {}", listed(counts.iter().copied()))];
    lines.extend(status.faults.iter().map(fault));
    if status.refused.total() != 0 {
        lines.push(format!("messages refused: {}", named(&status.refused)));
    }
    for node in status.nodes.iter().filter(|node| node.refused.total() != 0) {
        lines.push(format!("  of {}: {}", node.name, named(&node.refused)));
    }
    if status.refused_requests.total() != 0 {
        lines.push(format!("requests refused: {}", named(&status.refused_requests)));
    }
    for told in &status.alertmanagers {
        let counts = [
            ("fired", told.fired),
            ("resolved", told.resolved),
            ("repeated", told.repeated),
            ("unseen", told.unseen),
            ("merged", told.merged),
        ];
        lines.push(format!("alerts to {}: {}", told.address, listed(counts.into_iter())));
        for (what, counters) in [("lacks", &told.lost), ("problems", &told.problems)] {
            if counters.total() != 0 {
                lines.push(format!("  {what}: {}", named(counters)));
            }
        }
        lines.extend(told.fault.as_ref().map(|fault| format!("  it {fault}")));
    }
    if let Some(kafka) = &status.kafka {
        let counts = [("delivered", kafka.delivered), ("again", kafka.again)];
        lines.push(format!("messages to Kafka: {}", listed(counts.into_iter())));
        for (what, counters) in [("lacks", &kafka.lost), ("problems", &kafka.problems)] {
            if counters.total() != 0 {
                lines.push(format!("  {what}: {}", named(counters)));
            }
        }
    }
    if let Some(broker) = status.broker.as_ref().filter(|broker| broker.state == BrokerState::Away) {
        let reason = broker.reason.as_deref().unwrap_or("no reason is known");
        lines.push(format!("the broker is away: {reason}"));
    }
    lines
}

/// A fault of the controller's own, and what it means for the nodes.
fn fault(fault: &Fault) -> String {
    let Fault { fault, since_ns, until_ns, reason } = fault;
    let since = moment(*since_ns);
    match until_ns {
        None => format!("controller's own fault {fault} since {since}: {reason}"),
        Some(until_ns) => {
            let length = how_long(until_ns.saturating_sub(*since_ns));
            format!(
                "controller's own fault {fault} is over: from {since} to {}, {length}: {reason}",
                moment(*until_ns)
            )
        }
    }
}

/// The coverage of a node: the lesser of that of its last window and of the time that was watched, and the windows that are missing.
fn coverage(node: &NodeView) -> String {
    let Some(coverage) =
        node.coverage.into_iter().chain(node.watched.filter(|watched| *watched < 1.0)).reduce(f64::min)
    else {
        return "unknown".to_owned();
    };
    let missing: u64 = node.missing.iter().map(|missing| missing.windows).sum();
    // What is less than all is never rounded up to it.
    let share = if coverage < 1.0 { (coverage * 10_000.0).floor().min(9_999.0) / 100.0 } else { 100.0 };
    match missing {
        0 => format!("{share:.2} %"),
        _ => {
            let reasons = node.missing.iter().map(|missing| (missing.reason.as_str(), missing.windows));
            format!("{share:.2} %, missing: {}", listed(reasons))
        }
    }
}

/// A word for the state of a node.
pub fn node_state(state: NodeState) -> &'static str {
    match state {
        NodeState::Up => "up",
        NodeState::Late => "late",
        NodeState::Down => "down",
        NodeState::Unheard => "unheard",
        NodeState::Ended => "ended",
        NodeState::Never => "never seen",
    }
}

/// The cells of a node, each with the name of its column.
pub fn named_node_cells(node: &NodeView) -> impl Iterator<Item = (&'static str, String)> {
    COLUMNS.into_iter().zip(node_cells(node))
}

fn node_cells(node: &NodeView) -> [String; COLUMNS.len()] {
    let clock = match node.clock {
        None => "unknown".to_owned(),
        // What the kernel thinks of a clock that is off does not matter.
        Some(Clock { ahead_s: Some(ahead), .. }) if ahead.abs() > 1.0 => {
            format!("{:.1} s {}", ahead.abs(), if ahead > 0.0 { "ahead" } else { "behind" })
        }
        Some(clock) => {
            let error =
                clock.kernel.max_error_ns.map(|error| format!(" ±{}", how_long(error))).unwrap_or_default();
            match clock.kernel.synchronised {
                Some(true) => format!("kept{error}"),
                Some(false) => "not kept".to_owned(),
                None => "unknown".to_owned(),
            }
        }
    };
    let busy = node.load.and_then(|load| load.busy);
    let flows = node.load.map_or_else(
        || "unknown".to_owned(),
        |load| match load.most_flows {
            Some(most) => format!("{} of {}", grouped(load.flows), grouped(most)),
            None => grouped(load.flows),
        },
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
    [
        node.name.clone(),
        node_state(node.state).to_owned(),
        grouped(node.packets.received),
        grouped(node.packets.measured),
        named(&node.packets.not_measured),
        node.loss.as_ref().map_or_else(|| "unknown".to_owned(), named),
        coverage(node),
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::view::{AlertmanagerView, Coordinates, Delivered, MissingWindows};

    #[test]
    fn a_run_has_no_column_and_no_count_of_what_it_does_not_know() {
        let status = |mode| Status { mode, nodes: vec![NodeView::default()], ..Status::default() };
        let of_run = nodes(&status(Mode::Run));
        assert!(
            of_run.contains("coverage\n") && of_run.ends_with("windows: 0 complete, 0 partial\n"),
            "{of_run}"
        );
        let of_controller = nodes(&status(Mode::Controller));
        assert!(
            of_controller.contains("not applied yet") && of_controller.contains("0 doubled"),
            "{of_controller}"
        );
    }

    #[test]
    fn sites_have_a_column_where_a_node_says_its_own() {
        let at = Some(Coordinates { latitude: 41.88, longitude: -87.63 });
        let chicago = Site { name: Some("Chicago".to_owned()), at };
        let node = |name: &str, site| NodeView { name: name.to_owned(), site, ..NodeView::default() };
        let table = |sites: [Option<Site>; 2]| {
            let [first, second] = sites;
            let status = Status { nodes: vec![node("A", first), node("B", second)], ..Status::default() };
            nodes(&status).lines().take(2).map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(!table([None, None])[0].contains("site"));
        assert!(!table([Some(Site::default()), None])[0].contains("site"));
        let with = table([Some(chicago), None]);
        assert!(
            with[0].starts_with("  node  site") && with[1].starts_with("  A     Chicago (41.88,-87.63)"),
            "{with:?}"
        );
        assert_eq!(site(&Site { name: None, at }), Some("41.88,-87.63".to_owned()));
    }

    #[test]
    fn what_is_missing_lowers_the_coverage_and_is_never_rounded_away() {
        let node = |coverage, watched, windows| {
            let missing =
                vec![MissingWindows { reason: "not_sent".to_owned(), windows, seconds: windows as f64 }];
            let missing = if windows == 0 { Vec::new() } else { missing };
            let node = NodeView { coverage, watched, missing, ..NodeView::default() };
            named_node_cells(&node).find(|(name, _)| *name == "coverage").map(|(_, cell)| cell)
        };
        let cell = |text: &str| Some(text.to_owned());
        assert_eq!(node(Some(1.0), Some(1.0), 0), cell("100.00 %"));
        assert_eq!(node(Some(1.0), Some(92.0 / 98.0), 6), cell("93.87 %, missing: 6 not_sent"));
        assert_eq!(node(Some(1.0), Some(1.0 - 1e-9), 1), cell("99.99 %, missing: 1 not_sent"));
        assert_eq!(node(Some(0.5), Some(0.9), 2), cell("50.00 %, missing: 2 not_sent"));
        assert_eq!(node(None, Some(0.9), 2), cell("90.00 %, missing: 2 not_sent"));
        assert_eq!(node(None, Some(1.0), 0), cell("unknown"));
    }

    #[test]
    fn faults_of_the_controllers_own_are_shown_with_their_times() {
        let fault = |until_ns| Fault {
            fault: "archive".to_owned(),
            since_ns: 1_700_000_000_000_000_000,
            until_ns,
            reason: "the disk is full".to_owned(),
        };
        let nodes_with = |faults| nodes(&Status { faults, ..Status::default() });
        let lasts = nodes_with(vec![fault(None)]);
        assert!(
            lasts.contains("own fault archive since 2023-11-14 22:13:20 UTC: the disk is full\n"),
            "{lasts}"
        );
        let over = nodes_with(vec![fault(Some(1_700_000_022_000_000_000))]);
        assert!(
            over.contains("is over: from 2023-11-14 22:13:20 UTC to 2023-11-14 22:13:42 UTC, 22 s"),
            "{over}"
        );
    }

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

    #[test]
    fn what_alertmanagers_were_told_is_shown() {
        let told = AlertmanagerView {
            address: "http://127.0.0.1:9093".to_owned(),
            fired: 1_000,
            resolved: 2,
            problems: [("away", 3)].into_iter().collect(),
            fault: Some("cannot be reached".to_owned()),
            ..AlertmanagerView::default()
        };
        let text = nodes(&Status { alertmanagers: vec![told], ..Status::default() });
        let expected = "alerts to http://127.0.0.1:9093: 1,000 fired, 2 resolved, 0 repeated, 0 unseen, 0 merged\n  \
                        problems: 3 away\n  it cannot be reached\n";
        assert!(text.ends_with(expected), "{text}");
    }
}
