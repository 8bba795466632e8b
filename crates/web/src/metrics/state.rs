//! The state of the whole and of its nodes. What is not known has no series.

use super::text::{MetricType, Text};
use crate::view::{
    AlertmanagerView, BrokerState, Clock, Delivered, FAULTS, Fault, Load, MissingWindows, Mode, NodeState,
    NodeView, Spool, Status, Store,
};
use MetricType::{Counter, Gauge};
use model::Counters;

type MetricSpec = (&'static str, MetricType, &'static str);

pub(super) fn write(text: &mut Text, status: &Status) {
    let mode = match status.mode {
        Mode::Controller => "controller",
        Mode::Run => "run",
    };
    let build: MetricSpec = ("edison_build_info", Gauge, "1; the program's version, and what it is.");
    family(text, build).count(&[("version", &status.version), ("mode", mode)], 1);
    let started: MetricSpec = ("edison_start_timestamp_seconds", Gauge, "When it started, since the epoch.");
    family(text, started).number(&[], seconds(status.started_ns));
    if status.mode == Mode::Run {
        let ended: MetricSpec = ("edison_run_ended", Gauge, "1 once nothing more is measured.");
        family(text, ended).flag(&[], status.ended);
    }
    if let Some(broker) = &status.broker {
        let up: MetricSpec = ("edison_broker_up", Gauge, "1 while the connection to the broker is there.");
        family(text, up).flag(&[], broker.state != BrokerState::Away);
    }
    if status.mode == Mode::Controller {
        let of: MetricSpec = (
            "edison_controller_fault",
            Gauge,
            "1 while the controller has this fault of its own, by its name.",
        );
        let mut family = family(text, of);
        for name in FAULTS {
            let lasts = |fault: &Fault| fault.fault == name && fault.until_ns.is_none();
            family.flag(&[("fault", name)], status.faults.iter().any(lasts));
        }
    }
    write_windows(text, status);
    let refused: MetricSpec =
        ("edison_refused_messages_total", Counter, "Messages of probes that were refused, by reason.");
    counters(text, refused, "reason", &status.refused);
    let refused: MetricSpec = (
        "edison_refused_requests_total",
        Counter,
        "Requests and connections of clients that were refused, by reason.",
    );
    counters(text, refused, "reason", &status.refused_requests);
    if let Some(kafka) = &status.kafka {
        write_kafka(text, kafka);
    }
    write_alertmanagers(text, status);
    write_nodes(text, status);
}

fn write_alertmanagers(text: &mut Text, status: &Status) {
    let told = &status.alertmanagers;
    if told.is_empty() {
        return;
    }
    let alerts: MetricSpec =
        ("edison_alerts_total", Counter, "Alerts that an Alertmanager took, by what they say.");
    let mut alerts = family(text, alerts);
    for one in told {
        for (kind, number) in [("fired", one.fired), ("resolved", one.resolved), ("repeated", one.repeated)] {
            alerts.count(&[("alertmanager", &one.address), ("kind", kind)], number);
        }
    }
    type Counted = fn(&AlertmanagerView) -> &Counters;
    let by_reason: [(MetricSpec, &str, Counted); 2] = [
        (("edison_alerts_lost_total", Counter, "Alerts that were given up, by reason."), "reason", |one| {
            &one.lost
        }),
        (
            ("edison_alerts_problems_total", Counter, "What went wrong and may pass, by its name."),
            "problem",
            |one| &one.problems,
        ),
    ];
    for (of, label, counters) in by_reason {
        let mut family = family(text, of);
        for one in told {
            for (name, count) in &counters(one).0 {
                family.count(&[("alertmanager", &one.address), (label, name)], *count);
            }
        }
    }
    let up: MetricSpec =
        ("edison_alertmanager_up", Gauge, "1 while nothing keeps the Alertmanager from taking alerts.");
    let mut up = family(text, up);
    told.iter().for_each(|one| up.flag(&[("alertmanager", &one.address)], one.fault.is_none()));
}

fn family<'a>(text: &'a mut Text, (name, kind, help): MetricSpec) -> super::text::MetricFamily<'a> {
    text.family(name, kind, help)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn counters(text: &mut Text, of: MetricSpec, label: &str, counters: &Counters) {
    let mut family = family(text, of);
    for (name, count) in &counters.0 {
        family.count(&[(label, name)], *count);
    }
}

fn write_windows(text: &mut Text, status: &Status) {
    let of: MetricSpec =
        ("edison_windows_total", Counter, "Windows over all nodes, by how they were answered.");
    let mut family = family(text, of);
    let windows = status.windows;
    family.count(&[("kind", "complete")], windows.complete);
    family.count(&[("kind", "partial")], windows.partial);
    // Between a run and its nodes there is no way on which a window could be late.
    if status.mode == Mode::Controller {
        family.count(&[("kind", "late")], windows.late);
        family.count(&[("kind", "lost")], windows.lost);
        family.count(&[("kind", "missing")], windows.missing);
        family.count(&[("kind", "doubled")], windows.doubled);
    }
}

fn write_kafka(text: &mut Text, kafka: &Delivered) {
    let Delivered { delivered, bytes, again, lost, problems } = kafka;
    let of: [(MetricSpec, u64); 3] = [
        (("edison_kafka_delivered_messages_total", Counter, "Messages that are safe in Kafka."), *delivered),
        (("edison_kafka_delivered_bytes_total", Counter, "Bytes of their JSON."), *bytes),
        (("edison_kafka_repeated_messages_total", Counter, "Messages that were handed over again."), *again),
    ];
    for (of, count) in of {
        family(text, of).count(&[], count);
    }
    let of: MetricSpec = ("edison_kafka_lost_messages_total", Counter, "What was given up, by reason.");
    counters(text, of, "reason", lost);
    let of: MetricSpec =
        ("edison_kafka_problems_total", Counter, "What went wrong and may pass, by its name.");
    counters(text, of, "problem", problems);
}

fn write_nodes(text: &mut Text, status: &Status) {
    let mut nodes = NodeSeries { text, nodes: &status.nodes, is_controller: status.mode == Mode::Controller };
    nodes.write_presence();
    nodes.write_frames();
    nodes.write_missing_windows();
    nodes.write_load();
    nodes.write_spools();
    nodes.write_stores();
    nodes.write_clocks();
    nodes.write_tasks();
}

/// Writes families with a series for each node of which it is known.
struct NodeSeries<'a> {
    text: &'a mut Text,
    nodes: &'a [NodeView],
    is_controller: bool,
}

impl NodeSeries<'_> {
    /// Writes whether nodes answer, and up to when.
    fn write_presence(&mut self) {
        let is_controller = self.is_controller;
        // How a node is that the controller cannot hear is unknown.
        let is_known = |node: &NodeView| node.state != NodeState::Unheard;
        let of: MetricSpec = ("edison_node_up", Gauge, "1 while the node answers, in time or late.");
        self.flag(of, |node| is_known(node).then_some(matches!(node.state, NodeState::Up | NodeState::Late)));
        let of: MetricSpec = ("edison_node_late", Gauge, "1 while the node answers after its time.");
        self.flag(of, |node| is_known(node).then_some(node.state == NodeState::Late));
        let of: MetricSpec = (
            "edison_node_unheard",
            Gauge,
            "1 while a fault of the controller's own keeps it from hearing the node.",
        );
        self.flag(of, |node| is_controller.then_some(!is_known(node)));
        let of: MetricSpec = (
            "edison_node_seen_timestamp_seconds",
            Gauge,
            "When the node was last heard of, since the epoch.",
        );
        self.number(of, |node| node.seen_ns.map(seconds));
        let of: MetricSpec = (
            "edison_node_window_end_timestamp_seconds",
            Gauge,
            "The end of the last window that the node answered, since the epoch.",
        );
        self.number(of, |node| node.window.map(|window| seconds(window.end_ns)));
    }

    /// Writes the frames that nodes received, and those that they lost.
    fn write_frames(&mut self) {
        let is_controller = self.is_controller;
        // Of a node that was never heard of, nothing is known but that.
        let heard = |node: &NodeView| !is_controller || node.state != NodeState::Never;
        let of: MetricSpec = ("edison_node_received_frames_total", Counter, "Frames taken from the source.");
        self.count(of, |node| heard(node).then_some(node.packets.received));
        let of: MetricSpec =
            ("edison_node_measured_frames_total", Counter, "Frames that are in a flow record.");
        self.count(of, |node| heard(node).then_some(node.packets.measured));
        let of: MetricSpec = (
            "edison_node_not_measured_frames_total",
            Counter,
            "Frames that are in no flow record, by reason.",
        );
        self.counters(of, "reason", |node| heard(node).then_some(&node.packets.not_measured));
        let of: MetricSpec = (
            "edison_node_remarked_frames_total",
            Counter,
            "Frames with a remark, measured or not, by remark.",
        );
        self.counters(of, "remark", |node| heard(node).then_some(&node.packets.remarks));
        let of: MetricSpec = (
            "edison_node_lost_frames_total",
            Counter,
            "Frames lost before the measurement, where the source can count them.",
        );
        self.count(of, |node| node.loss.as_ref().map(Counters::total));
        let of: MetricSpec = (
            "edison_node_loss_frames_total",
            Counter,
            "The same by reason; a reason without a frame is absent.",
        );
        self.counters(of, "reason", |node| node.loss.as_ref());
        let of: MetricSpec = (
            "edison_node_coverage_ratio",
            Gauge,
            "The share of frames of the last window that were received, where the source can count its loss.",
        );
        self.number(of, |node| node.coverage);
    }

    /// Writes the windows that never came, and the time that they cover.
    fn write_missing_windows(&mut self) {
        let of: MetricSpec = (
            "edison_node_missing_windows_total",
            Counter,
            "Windows that never came since the node's first one, by reason.",
        );
        self.missing(of, |family, labels, missing| family.count(labels, missing.windows));
        let of: MetricSpec =
            ("edison_node_missing_seconds_total", Counter, "The time that they cover, by reason.");
        self.missing(of, |family, labels, missing| family.number(labels, missing.seconds));
        let of: MetricSpec = (
            "edison_node_watched_ratio",
            Gauge,
            "The part that the windows of a node cover of the time from its first window to the last one received. \
             The time after that one is not counted.",
        );
        self.number(of, |node| node.watched);
    }

    /// Writes how busy nodes are, and how full their tables.
    fn write_load(&mut self) {
        let load = |get: fn(&Load) -> u64| move |node: &NodeView| node.load.as_ref().map(get);
        self.count(("edison_node_flows", Gauge, "Flows in the tables."), load(|load| load.flows));
        let of: MetricSpec = (
            "edison_node_flows_limit",
            Gauge,
            "The most flows that the tables may hold; absent without a limit.",
        );
        self.count(of, |node| node.load.as_ref()?.most_flows);
        let of: MetricSpec =
            ("edison_node_busy_ratio", Gauge, "The share of time in which receivers had frames at hand.");
        self.number(of, |node| node.load?.busy);
    }

    /// Writes what waits for the broker.
    fn write_spools(&mut self) {
        // In a run nothing is spooled.
        let is_controller = self.is_controller;
        let reports = |node: &NodeView| is_controller && node.version.is_some();
        let spool = |get: fn(&Spool) -> u64| move |node: &NodeView| reports(node).then(|| get(&node.spool));
        let of: MetricSpec = ("edison_node_spool_messages", Gauge, "Messages that wait for the broker.");
        self.count(of, spool(|spool| spool.messages));
        let of: MetricSpec = ("edison_node_spool_bytes", Gauge, "Their size.");
        self.count(of, spool(|spool| spool.bytes));
        let of: MetricSpec =
            ("edison_node_spool_shortened_total", Counter, "Results of which the spool left out rows.");
        self.count(of, spool(|spool| spool.shortened));
        let of: MetricSpec =
            ("edison_node_spool_dropped_total", Counter, "Results that found no room in the spool.");
        self.count(of, spool(|spool| spool.dropped));
        let of: MetricSpec =
            ("edison_node_spool_unwritten_total", Counter, "Messages that the spool's file did not take.");
        self.count(of, spool(|spool| spool.unwritten));
        let of: MetricSpec = ("edison_node_spool_fault", Gauge, "1 while the spool's file takes nothing.");
        self.flag(of, |node| reports(node).then_some(node.spool.fault.is_some()));
    }

    /// Writes the stores of nodes.
    fn write_stores(&mut self) {
        let store = |get: fn(&Store) -> u64| move |node: &NodeView| node.store.as_ref().map(get);
        self.count(("edison_node_store_files", Gauge, "Files of the store."), store(|store| store.files));
        self.count(("edison_node_store_bytes", Gauge, "Their size."), store(|store| store.bytes));
        let of: MetricSpec = (
            "edison_node_store_lost_rows_total",
            Counter,
            "Window rows and flow records that the store lacks since the node started.",
        );
        self.count(of, store(|store| store.lost));
        let of: MetricSpec = ("edison_node_store_fault", Gauge, "1 while the store cannot be written.");
        self.flag(of, |node| node.store.as_ref().map(|store| store.fault.is_some()));
    }

    /// Writes the clocks of nodes.
    fn write_clocks(&mut self) {
        let of: MetricSpec =
            ("edison_node_clock_synchronised", Gauge, "1 where the kernel takes the clock for synchronised.");
        self.flag(of, |node| node.clock?.kernel.synchronised);
        let of: MetricSpec = ("edison_node_clock_error_seconds", Gauge, "The largest error of the clock.");
        self.number(of, |node| node.clock.and_then(|clock: Clock| clock.kernel.max_error_ns).map(seconds));
        let of: MetricSpec = (
            "edison_node_clock_ahead_seconds",
            Gauge,
            "By how much the clock is ahead of the controller's at least.",
        );
        self.number(of, |node| node.clock?.ahead_s);
    }

    /// Writes whether nodes have their task lists, and what was refused of them.
    fn write_tasks(&mut self) {
        // In a run a node has its tasks.
        let is_controller = self.is_controller;
        let reports = |node: &NodeView| is_controller && node.version.is_some();
        let of: MetricSpec =
            ("edison_node_tasks_current", Gauge, "1 while the node has the task list it is to have.");
        self.flag(of, |node| reports(node).then_some(node.tasks.applied == Some(node.tasks.wanted)));
        let of: MetricSpec = (
            "edison_node_refused_messages_total",
            Counter,
            "Messages that came as the node's and were refused, by reason.",
        );
        self.counters(of, "reason", |node| is_controller.then_some(&node.refused));
    }
}

impl NodeSeries<'_> {
    fn count(&mut self, of: MetricSpec, value: impl Fn(&NodeView) -> Option<u64>) {
        let mut family = family(self.text, of);
        for node in self.nodes {
            if let Some(count) = value(node) {
                family.count(&[("node", &node.name)], count);
            }
        }
    }

    fn number(&mut self, of: MetricSpec, value: impl Fn(&NodeView) -> Option<f64>) {
        let mut family = family(self.text, of);
        for node in self.nodes {
            if let Some(number) = value(node) {
                family.number(&[("node", &node.name)], number);
            }
        }
    }

    fn flag(&mut self, of: MetricSpec, value: impl Fn(&NodeView) -> Option<bool>) {
        self.count(of, |node| value(node).map(u64::from));
    }

    fn missing(
        &mut self,
        of: MetricSpec,
        write: impl Fn(&mut super::text::MetricFamily<'_>, &[(&str, &str)], &MissingWindows),
    ) {
        let mut family = family(self.text, of);
        for node in self.nodes {
            for missing in &node.missing {
                write(&mut family, &[("node", &node.name), ("reason", &missing.reason)], missing);
            }
        }
    }

    fn counters(&mut self, of: MetricSpec, label: &str, value: impl Fn(&NodeView) -> Option<&Counters>) {
        let mut family = family(self.text, of);
        for node in self.nodes {
            for (name, count) in value(node).into_iter().flat_map(|counters| &counters.0) {
                family.count(&[("node", &node.name), (label, name)], *count);
            }
        }
    }
}
