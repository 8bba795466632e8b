//! What live nodes tell of their traffic, over the transport in memory, against a map of all packets.

use crate::nodes::{Random, SECOND, START, queries, result, window};
use arena::Limits;
use controller::{Controller, ControllerContext, ControllerOutput};
use flow::{Rows, WindowRow};
use model::view::now::Now;
use model::{MissingReason, Span, Value};
use overview::{NodeSetting, NowAsked, Overview, OverviewSetting, Recorder, TrafficReporter, WindowFacts};
use packet::{KeySpec, KeyV4, Seed};
use protocol::memory::{self, MemoryControllerLink, MemoryProbeLink};
use protocol::{ControllerLink, FromProbe, ProbeLink};
use std::collections::HashMap;
use std::time::Duration;

const NODES: [&str; 2] = ["A", "B"];
const TEXT: &str = "a: select sum(total_count) as n every 1s;";

/// A node that measures.
struct Measuring {
    recorder: Recorder,
    reporter: TrafficReporter,
    link: MemoryProbeLink,
}

impl Measuring {
    fn new(name: &str, link: MemoryProbeLink) -> Self {
        let overview = Overview::new(OverviewSetting::live(SECOND));
        let setting = NodeSetting {
            key: KeySpec::FIVE_TUPLE,
            seed: Seed::new(5),
            limits: Limits::new(1 << 28, usize::MAX),
            tracks_loss: false,
            without_rows: None,
        };
        Self { recorder: overview.recorder(name, setting), reporter: overview.reporter(), link }
    }

    /// Measures a window with this number of bytes from each host.
    fn measure(&mut self, span: Span, sent: &[(u8, u64)]) {
        let mut rows = Rows::default();
        for (host, bytes) in sent {
            let key = KeyV4::new([10, 0, 0, *host, 192, 0, 2, 1], [200, 0, 1, 187], 6);
            let row = WindowRow { packets: 1, bytes: *bytes, ..WindowRow::without_packets(key, 0, 0) };
            rows.push(row, None);
        }
        self.recorder.rows(span.start_ns, &rows);
        let bytes = sent.iter().map(|(_, bytes)| bytes).sum();
        let packets = sent.len() as u64;
        self.recorder.window(&WindowFacts { bytes, packets, flows: packets, ..WindowFacts::new(span) });
    }
}

/// A controller and its nodes.
struct Site {
    controller: Controller,
    traffic: Overview,
    link: MemoryControllerLink,
    nodes: Vec<Measuring>,
    shown: Vec<ControllerOutput>,
    random: Random,
    /// The bytes of each host by minute and node.
    truth: HashMap<(usize, u64, u8), u64>,
}

impl Site {
    fn new() -> Self {
        let names = NODES.map(str::to_owned);
        let traffic = Overview::of_nodes(OverviewSetting::live(SECOND), &names);
        let setting = ControllerContext { window_ns: SECOND, is_replay: false, key: None };
        let controller = Controller::new(queries(TEXT, &NODES).chain().clone(), setting);
        let (link, links) = memory::links(&names);
        let nodes = NODES.into_iter().zip(links).map(|(name, link)| Measuring::new(name, link)).collect();
        Self {
            controller: controller.with_traffic(traffic.clone()),
            traffic,
            link,
            nodes,
            shown: Vec::new(),
            random: Random(8),
            truth: HashMap::new(),
        }
    }

    /// Each node measures a second, and tells it. `is_old`: the node knows nothing of traffic.
    fn second(&mut self, at: u64, is_old: impl Fn(usize) -> bool) {
        let span = window(at);
        for (number, node) in self.nodes.iter_mut().enumerate() {
            let sent: Vec<(u8, u64)> =
                (0..6).map(|_| (self.random.below(9) as u8, 60 + self.random.below(5_000))).collect();
            for (host, bytes) in sent.iter().filter(|_| !is_old(number)) {
                *self.truth.entry((number, at / 60, *host)).or_default() += bytes;
            }
            node.measure(span, &sent);
            let mut result = result(number, at, &[("a", 1)]);
            result.traffic = node.reporter.report().filter(|_| !is_old(number));
            node.link.send(FromProbe::Window(Box::new(result))).expect("a controller");
        }
        self.take(at + 1);
    }

    /// Takes what came by this second.
    fn take(&mut self, now: u64) {
        let actions = self.controller.tick(START + now * SECOND, Some(START));
        self.shown.extend(actions.show);
        while let Some(received) = self.link.receive(Duration::ZERO).expect("nodes") {
            let actions = self.controller.take(received.node, received.message);
            self.shown.extend(actions.show);
        }
    }

    fn now(&self) -> Now {
        self.traffic.now(&NowAsked::default()).expect("all nodes")
    }

    /// Compares the sums with the map.
    fn check(&self, now: &Now) {
        let first = (now.period.expect("a period").start_ns - START) / (60 * SECOND);
        let sum = |is_in: &dyn Fn(u64, u8) -> bool| -> u64 {
            let of = self.truth.iter().filter(|((_, minute, host), _)| is_in(*minute, *host));
            of.map(|(_, bytes)| *bytes).sum()
        };
        for (at, bytes) in now.series.bytes.iter().enumerate() {
            assert_eq!(*bytes, Value::from(sum(&|minute, _| minute == first + at as u64)), "minute {at}");
        }
        let last = first + u64::from(now.steps);
        let rows = &now.rankings[0].rows;
        assert_eq!(rows.len(), 9);
        for row in rows {
            let Value::Address(std::net::IpAddr::V4(address)) = row.key[0].value else { panic!("{row:?}") };
            let own = sum(&|minute, host| minute < last && host == address.octets()[3]);
            assert_eq!(row.sums.bytes, Value::from(own), "{address}");
        }
    }

    fn not_taken(&self, node: usize, reason: &str) -> u64 {
        self.controller.health().nth(node).expect("a node").not_taken.get(reason)
    }
}

#[test]
fn what_nodes_tell_with_their_windows_is_joined() {
    let mut site = Site::new();
    for at in 0..185 {
        site.second(at, |_| false);
    }
    let now = site.now();
    assert_eq!((now.steps, now.open), (3, false));
    site.truth.retain(|(_, minute, _), _| *minute < 3);
    site.check(&now);
    assert!(now.missing.is_empty(), "{:?}", now.missing);
    // Windows are as they were without it.
    let answers = site.shown.iter().filter(|output| matches!(output, ControllerOutput::Answer(_)));
    assert!(answers.count() > 300);
    assert_eq!([0, 1].map(|node| site.not_taken(node, "wrong_step")), [0, 0]);
}

#[test]
fn the_last_minute_comes_with_the_end_of_a_node() {
    let mut site = Site::new();
    for at in 0..90 {
        site.second(at, |_| false);
    }
    for node in &mut site.nodes {
        node.recorder.finish();
        let traffic = node.reporter.report();
        node.link.send(FromProbe::Ended { answers: Vec::new(), traffic }).expect("a controller");
    }
    site.take(91);
    let now = site.now();
    assert_eq!((now.steps, now.ended), (2, true));
    site.check(&now);
    assert_eq!(now.series.watched_ns[1], Value::from(30 * SECOND));
    assert_eq!([0, 1].map(|node| site.not_taken(node, "wrong_step")), [0, 0]);
}

#[test]
fn a_node_that_tells_nothing_of_its_traffic_is_not_known() {
    let mut site = Site::new();
    for at in 0..130 {
        site.second(at, |node| node == 1);
    }
    let now = site.now();
    site.truth.retain(|(_, minute, _), _| *minute < 2);
    site.check(&now);
    let missing: Vec<_> = now.missing.iter().map(|one| (one.node.as_str(), one.missing)).collect();
    let span = now.period.expect("a period");
    assert_eq!(missing, [("B", model::Missing { span, reason: MissingReason::NotSent })]);
}

#[test]
fn steps_of_the_future_are_refused_by_name_and_their_windows_are_taken() {
    let mut site = Site::new();
    for at in 0..65 {
        site.second(at, |_| false);
    }
    let before = site.now();
    // B pretends: its steps lie an hour ahead.
    for ahead in 3_600..3_665 {
        site.nodes[1].measure(window(ahead), &[(1, 1_000)]);
    }
    let mut told = result(1, 65, &[("a", 1)]);
    told.traffic = site.nodes[1].reporter.report();
    assert!(told.traffic.is_some());
    site.nodes[1].link.send(FromProbe::Window(Box::new(told))).expect("a controller");
    site.take(66);
    assert!(site.not_taken(1, "wrong_step") >= 1);
    assert_eq!(site.not_taken(0, "wrong_step"), 0);
    let said = site.shown.iter().filter_map(|output| match output {
        ControllerOutput::Warning(line) => Some(line.as_str()),
        _ => None,
    });
    let said: Vec<&str> = said.collect();
    assert!(
        said.iter().any(|line| line.starts_with("B: what it tells of its traffic is not taken:")),
        "{said:?}"
    );
    assert_eq!(site.now().period, before.period);
    assert_eq!(site.controller.health().nth(1).and_then(|health| health.window), Some(window(65)));
}
