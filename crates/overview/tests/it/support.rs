//! Packets, the rows of their windows, and what a map says of them.

use arena::Limits;
use flow::{LossCounts, Rows, WindowRow};
use model::view::now::{Now, NowRanking, NowSums, RankingBy};
use model::{Counters, PacketCounts, Span, Value};
use overview::{GroupKey, NodeSetting, Overview, OverviewSetting, Recorder, WindowFacts};
use packet::{KeySpec, KeyV4, Seed};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

/// A second, nanoseconds.
pub(crate) const SECOND: u64 = 1_000_000_000;
/// A minute, nanoseconds.
pub(crate) const MINUTE: u64 = 60 * SECOND;
/// A whole hour, nanoseconds since the epoch.
pub(crate) const BEGIN: u64 = 1_764_590_400 * SECOND;

/// The packets of a flow in a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) ports: [u16; 2],
    pub(crate) protocol: u8,
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// The bytes that were lost.
    pub(crate) lost: u64,
}

impl Sent {
    pub(crate) fn new(from: u32, to: u32, ports: [u16; 2], bytes: u64) -> Self {
        Self { from, to, ports, protocol: 6, packets: bytes.div_ceil(1_000), bytes, lost: 0 }
    }
}

pub(crate) fn ip(number: u32) -> IpAddr {
    Ipv4Addr::from_bits(number).into()
}

fn rows(sent: &[Sent]) -> Rows<KeyV4> {
    let mut rows = Rows::default();
    for one in sent {
        let [from, to] = [one.from, one.to].map(u32::to_be_bytes);
        let [a, b] = one.ports.map(u16::to_be_bytes);
        let addresses = [from[0], from[1], from[2], from[3], to[0], to[1], to[2], to[3]];
        let key = KeyV4::new(addresses, [a[0], a[1], b[0], b[1]], one.protocol);
        let row =
            WindowRow { packets: one.packets, bytes: one.bytes, ..WindowRow::without_packets(key, 0, 0) };
        let loss = LossCounts { ploss_byte: one.lost, ..LossCounts::default() };
        rows.push(row, Some(&loss));
    }
    rows
}

/// A node that is fed window by window, and a map of all that it was fed.
pub(crate) struct Fed {
    pub(crate) overview: Overview,
    pub(crate) recorder: Recorder,
    pub(crate) limits: Limits,
    pub(crate) window_ns: u64,
    /// The bytes and packets of each group, by kind and begin of the step.
    pub(crate) truth: HashMap<(RankingBy, u64), HashMap<GroupKey, [u64; 2]>>,
    /// The bytes of each step.
    pub(crate) totals: HashMap<u64, [u64; 2]>,
    pub(crate) step_ns: u64,
    /// True if the map is kept.
    pub(crate) counts: bool,
}

impl Fed {
    pub(crate) fn new(setting: OverviewSetting, window_ns: u64, step_ns: u64, memory: usize) -> Self {
        Self::named("eth0", setting, window_ns, step_ns, memory)
    }

    pub(crate) fn named(
        node: &str,
        setting: OverviewSetting,
        window_ns: u64,
        step_ns: u64,
        memory: usize,
    ) -> Self {
        let overview = Overview::new(setting);
        let (recorder, limits) = recorder(&overview, node, memory);
        Self {
            overview,
            recorder,
            limits,
            window_ns,
            truth: HashMap::new(),
            totals: HashMap::new(),
            step_ns,
            counts: true,
        }
    }

    pub(crate) fn live() -> Self {
        Self::new(OverviewSetting::live(10 * SECOND), 10 * SECOND, MINUTE, 1 << 30)
    }

    /// Feeds a window, and counts it in the map.
    pub(crate) fn window(&mut self, start_ns: u64, sent: &[Sent]) {
        self.window_with(start_ns, sent, |_| {});
    }

    /// Feeds a window whose facts `change` changes.
    pub(crate) fn window_with(
        &mut self,
        start_ns: u64,
        sent: &[Sent],
        change: impl FnOnce(&mut WindowFacts),
    ) {
        let step = start_ns - start_ns % self.step_ns;
        let [mut bytes, mut packets] = [0; 2];
        for one in sent {
            (bytes, packets) = (bytes + one.bytes, packets + one.packets);
            for (by, key) in groups(one).into_iter().filter(|_| self.counts) {
                let sums = self.truth.entry((by, step)).or_default().entry(key).or_default();
                *sums = [sums[0] + one.bytes, sums[1] + one.packets];
            }
        }
        let totals = self.totals.entry(step).or_default();
        *totals = [totals[0] + bytes, totals[1] + packets];
        // In several blocks, as rows come.
        for sent in sent.chunks(700) {
            self.recorder.rows(start_ns, &rows(sent));
        }
        let span = Span { start_ns, end_ns: start_ns + self.window_ns };
        let frames = PacketCounts {
            received: packets + 3,
            measured: packets,
            not_measured: [("arp", 3)].into_iter().collect(),
            ..PacketCounts::default()
        };
        let mut facts = WindowFacts {
            bytes,
            packets,
            flows: sent.len() as u64,
            frames,
            loss: Some(Counters::default()),
            tcp_lost: Some(sent.iter().map(|one| one.lost).sum()),
            ..WindowFacts::new(span)
        };
        change(&mut facts);
        self.recorder.window(&facts);
    }

    pub(crate) fn now(&self) -> Now {
        self.overview.now(&overview::NowAsked::default()).expect("all nodes")
    }

    /// Returns the sums of each group over a time.
    pub(crate) fn sums(&self, by: RankingBy, span: Span) -> HashMap<GroupKey, [u64; 2]> {
        let mut sums: HashMap<GroupKey, [u64; 2]> = HashMap::new();
        let within =
            |(kind, step): &(RankingBy, u64)| *kind == by && (span.start_ns..span.end_ns).contains(step);
        for (key, more) in self.truth.iter().filter(|(at, _)| within(at)).flat_map(|(_, groups)| groups) {
            let own = sums.entry(*key).or_default();
            *own = [own[0] + more[0], own[1] + more[1]];
        }
        sums
    }
}

pub(crate) fn recorder(overview: &Overview, node: &str, memory: usize) -> (Recorder, Limits) {
    let limits = Limits::new(memory, usize::MAX);
    let setting = NodeSetting {
        key: KeySpec::FIVE_TUPLE,
        seed: Seed::new(3),
        limits: limits.clone(),
        tracks_loss: true,
        without_rows: None,
    };
    (overview.recorder(node, setting), limits)
}

/// Returns the group of each kind that a flow is in.
fn groups(sent: &Sent) -> [(RankingBy, GroupKey); 5] {
    let (from, to) = (ip(sent.from), ip(sent.to));
    [
        (RankingBy::Source, GroupKey::Address(from)),
        (RankingBy::Destination, GroupKey::Address(to)),
        (RankingBy::Conversation, GroupKey::pair(from, to)),
        (RankingBy::Port, GroupKey::Port(sent.protocol, sent.ports[0].min(sent.ports[1]))),
        (RankingBy::Protocol, GroupKey::Protocol(sent.protocol)),
    ]
}

/// Returns the bounds of a value.
pub(crate) fn bounds(value: &Value) -> [f64; 2] {
    match value {
        Value::Unsigned(exact) => [*exact as f64; 2],
        Value::Estimate { lower, upper, .. } => [*lower, *upper],
        other => panic!("{other:?} is no count"),
    }
}

pub(crate) fn contains(value: &Value, truth: u64) -> bool {
    let [lower, upper] = bounds(value);
    lower <= truth as f64 && truth as f64 <= upper
}

/// Returns the key of a row.
pub(crate) fn key(by: RankingBy, row: &[model::Item]) -> GroupKey {
    let number = |at: usize| row[at].value.as_unsigned().expect("a number");
    let address = |at: usize| match row[at].value {
        Value::Address(address) => address,
        ref other => panic!("{other:?} is no address"),
    };
    match by {
        RankingBy::Source | RankingBy::Destination => GroupKey::Address(address(0)),
        RankingBy::Conversation => GroupKey::pair(address(0), address(1)),
        RankingBy::Port => GroupKey::Port(number(0) as u8, number(1) as u16),
        RankingBy::Protocol => GroupKey::Protocol(number(0) as u8),
    }
}

/// Returns the sums of all of a ranking: its rows and what is left.
pub(crate) fn all(ranking: &NowRanking) -> impl Iterator<Item = &NowSums> {
    ranking.rows.iter().map(|row| &row.sums).chain(&ranking.rest)
}

/// Random numbers that are the same in each run.
pub(crate) struct Draw(pub u64);

impl Draw {
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        packet::split_mix(&mut self.0) % most.max(1)
    }
}
