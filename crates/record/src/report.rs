//! What a run answers: window by window, and as a whole.
//!
//! The JSON form is what `--report` writes and, for windows, what `--json` prints; `docs/report.md` describes it.

mod task;

pub use task::{
    EstimatedFlow, Point, QuantileRow, SizeClass, TaskAnswer, TaskNote, TaskRows, Whole, network_of,
    size_classes,
};

use flow::Loss;
use packet::{FlowKey, KeySpec};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::borrow::Cow;

/// Integers above this lose digits in JSON readers that hold numbers as doubles (RFC 8259, section 6).
const EXACT_IN_JSON: u64 = 1 << 53;

/// An integer as JSON: a string where a reader might round it.
pub fn json_integer(number: u64) -> Value {
    if number <= EXACT_IN_JSON { json!(number) } else { json!(number.to_string()) }
}

/// Named counters, in an order that means something. JSON: an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(pub Vec<(&'static str, u64)>);

impl Counters {
    /// Sum of all.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// Those that are not zero.
    pub fn nonzero(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().copied().filter(|&(_, count)| count != 0)
    }

    /// What was added since `before`, which has the same names.
    pub fn since(&self, before: &Self) -> Self {
        let earlier = |name| before.0.iter().find(|(n, _)| *n == name).map_or(0, |(_, count)| *count);
        Self(self.0.iter().map(|&(name, count)| (name, count.saturating_sub(earlier(name)))).collect())
    }
}

impl Serialize for Counters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, count) in self.nonzero() {
            map.serialize_entry(name, &json_integer(count))?;
        }
        map.end()
    }
}

/// Frames: `received` = `measured` + the sum of `not_measured`, always.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PacketCounts {
    /// Frames taken from the source.
    pub received: u64,
    /// Frames counted in a flow record, the record `other` included.
    pub measured: u64,
    /// Frames not measured, by reason.
    pub not_measured: Counters,
    /// What is to be said beside frames: `time_backwards`, `ports_truncated`, …
    pub remarks: Counters,
}

impl PacketCounts {
    /// What was added since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            received: self.received - before.received,
            measured: self.measured - before.measured,
            not_measured: self.not_measured.since(&before.not_measured),
            remarks: self.remarks.since(&before.remarks),
        }
    }
}

/// Sums over all measured packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Measured packets.
    pub packets: u64,
    /// Their layer-3 bytes.
    pub total_byte: u64,
    /// Their bytes on the wire.
    pub wire_byte: u64,
    /// Flow records that they belong to.
    pub flows: u64,
}

/// A line of a ranking: a flow, or all flows of one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranked<K> {
    /// What is ranked.
    pub key: K,
    /// Its sums.
    pub totals: Totals,
}

/// A ranking of flows; `None` is the record `other`.
pub type RankedFlow = Ranked<Option<FlowKey>>;
/// A ranking of addresses.
pub type RankedAddress = Ranked<std::net::IpAddr>;

/// A flow with its TCP losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankedLoss {
    /// The flow.
    pub key: Option<FlowKey>,
    /// Its sums.
    pub totals: Totals,
    /// What was seen of its losses.
    pub loss: Loss,
}

/// What `--loss` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossAnswer {
    /// Over all flows.
    pub sum: Loss,
    /// The flows with the most bytes lost, sent again or unseen.
    pub flows: Vec<RankedLoss>,
}

/// A span of stream time, nanoseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First instant in it.
    pub start_ns: u64,
    /// First instant behind it.
    pub end_ns: u64,
}

impl Span {
    /// Its length in seconds.
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("start", &json_integer(self.start_ns))?;
        map.serialize_entry("end", &json_integer(self.end_ns))?;
        map.end()
    }
}

/// Why a window was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowEnd {
    /// Its time or its number of packets was over.
    Full,
    /// Time jumped over at least one whole window.
    Jump,
    /// The run ended in it.
    RunEnd,
}

/// One answer: a table with named columns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Query {
    /// Its name.
    pub name: &'static str,
    /// The window, or the whole run.
    pub window: Option<Span>,
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// The rows, best first.
    pub rows: Vec<Vec<Value>>,
    /// `ok`, or what keeps the answer from being whole.
    pub status: String,
    /// How far the figures may be off, for the packets that were measured.
    pub bounds: Cow<'static, str>,
    /// Where a task's answer comes from.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskNote>,
}

const SUM_COLUMNS: [&str; 3] = ["total_count", "total_byte", "wire_byte"];

fn sums(totals: &Totals) -> [Value; 3] {
    [totals.packets, totals.total_byte, totals.wire_byte].map(json_integer)
}

const LOSS_COLUMNS: [&str; 11] = [
    "ploss_byte",
    "ploss_count",
    "reorder_count",
    "retrans_count",
    "retrans_byte",
    "unseen_byte",
    "zero_window_count",
    "hole_count",
    "resync_count",
    "rtt_min",
    "rtt_avg",
];

fn loss_values(loss: &Loss) -> [Value; 11] {
    let Loss { ploss_byte, ploss_count, reorder_count, retrans_count, retrans_byte, .. } = *loss;
    let Loss { unseen_byte, zero_window_count, hole_count, resync_count, rtt_min, rtt_avg, .. } = *loss;
    let counts = [ploss_byte, ploss_count, reorder_count, retrans_count, retrans_byte, unseen_byte];
    let more = [zero_window_count, hole_count, resync_count];
    let times = [rtt_min, rtt_avg].map(|time| time.map_or(Value::Null, json_integer));
    let mut values = counts.into_iter().chain(more).map(json_integer).chain(times);
    std::array::from_fn(|_| values.next().unwrap_or_default())
}

/// A member of a key as JSON; null where the flow has none.
fn key_member(key: &FlowKey, column: &str) -> Value {
    match column {
        "src_addr" => json!(key.src_addr),
        "dst_addr" => json!(key.dst_addr),
        "protocol" => json!(key.protocol),
        "src_port" => json!(key.src_port),
        "dst_port" => json!(key.dst_port),
        "vlan" => json!(key.vlan),
        "ip_tos" => json!(key.ip_tos),
        _ => Value::Null,
    }
}

impl Query {
    fn exact(
        name: &'static str,
        window: Option<Span>,
        columns: Vec<&'static str>,
        rows: Vec<Vec<Value>>,
    ) -> Self {
        Self {
            name,
            window,
            columns,
            rows,
            status: "ok".to_owned(),
            bounds: Cow::Borrowed("exact"),
            task: None,
        }
    }

    fn totals(window: Option<Span>, totals: &Totals) -> Self {
        let mut row = sums(totals).to_vec();
        row.push(json_integer(totals.flows));
        Self::exact("totals", window, [&SUM_COLUMNS[..], &["flows"]].concat(), vec![row])
    }

    fn flows(name: &'static str, window: Option<Span>, key: &KeySpec, flows: &[RankedFlow]) -> Self {
        let rows = flows.iter().map(|flow| {
            let members =
                key.columns().map(|column| flow.key.map_or(Value::Null, |k| key_member(&k, column)));
            members.chain(sums(&flow.totals)).collect()
        });
        let columns = key.columns().chain(SUM_COLUMNS).collect();
        Self::exact(name, window, columns, rows.collect())
    }

    /// Two answers: the sums, and the flows.
    fn losses(window: Option<Span>, key: &KeySpec, answer: &LossAnswer) -> [Self; 2] {
        let sum = vec![loss_values(&answer.sum).to_vec()];
        let columns = key.columns().chain(SUM_COLUMNS).chain(LOSS_COLUMNS).collect();
        let rows = answer.flows.iter().map(|flow| {
            let members =
                key.columns().map(|column| flow.key.map_or(Value::Null, |k| key_member(&k, column)));
            members.chain(sums(&flow.totals)).chain(loss_values(&flow.loss)).collect()
        });
        [
            Self::exact("tcp_loss", window, LOSS_COLUMNS.to_vec(), sum),
            Self::exact("top_loss", window, columns, rows.collect()),
        ]
    }

    fn addresses(name: &'static str, column: &'static str, talkers: &Talkers, by_source: bool) -> Self {
        let rows = if by_source { &talkers.sources } else { &talkers.destinations };
        let rows = rows.iter().map(|line| {
            let own = [json!(line.key.to_string()), json_integer(line.totals.flows)];
            own.into_iter().chain(sums(&line.totals)).collect()
        });
        let columns = [&[column, "flows"][..], &SUM_COLUMNS].concat();
        let mut query = Self::exact(name, None, columns, rows.collect());
        if talkers.unlisted != 0 {
            query.status = format!("partial: memory ran out, {} records are in no row", talkers.unlisted);
        }
        query
    }
}

/// Which addresses have the most flows: scanners among the sources, targets of floods among the destinations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Talkers {
    /// By flows sent, most first.
    pub sources: Vec<RankedAddress>,
    /// By flows received, most first.
    pub destinations: Vec<RankedAddress>,
    /// Records that could not be added for want of memory.
    pub unlisted: u64,
}

/// What one window gave.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowReport {
    /// Number of the window in this run, from 0 on.
    pub index: u64,
    /// Its time.
    pub span: Span,
    /// Why it was closed.
    pub ended_by: WindowEnd,
    /// Its frames.
    pub packets: PacketCounts,
    /// What the source lost in it; `None` where the source cannot know.
    pub loss: Option<Counters>,
    /// Its sums.
    pub totals: Totals,
    /// Packets in the record `other`.
    pub table_full: u64,
    /// What the flows' keys consist of.
    pub key: KeySpec,
    /// Its flows with the most bytes.
    pub top_bytes: Vec<RankedFlow>,
    /// Its flows with the most packets.
    pub top_packets: Vec<RankedFlow>,
    /// What was seen of TCP losses in it; `None` where nobody asked.
    pub tcp_loss: Option<LossAnswer>,
    /// What tasks answer.
    pub tasks: Vec<TaskAnswer>,
}

impl Serialize for WindowReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("index", &self.index)?;
        map.serialize_entry("window", &self.span)?;
        map.serialize_entry("ended_by", &self.ended_by)?;
        map.serialize_entry("packets", &self.packets)?;
        map.serialize_entry("loss", &self.loss)?;
        map.serialize_entry("table_full", &json_integer(self.table_full))?;
        let window = Some(self.span);
        let mut queries = vec![
            Query::totals(window, &self.totals),
            Query::flows("top_bytes", window, &self.key, &self.top_bytes),
            Query::flows("top_packets", window, &self.key, &self.top_packets),
        ];
        queries.extend(self.tcp_loss.iter().flat_map(|answer| Query::losses(window, &self.key, answer)));
        queries.extend(self.tasks.iter().map(|answer| Query::task(window, answer)));
        map.serialize_entry("queries", &queries)?;
        map.end()
    }
}

/// How many windows there were, by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WindowCounts {
    /// All of them.
    pub count: u64,
    /// Whose time or packets were over.
    pub full: u64,
    /// Closed by a jump in time.
    pub jump: u64,
    /// Closed by the end of the run.
    pub run_end: u64,
    /// Reports of windows that were not shown, because whoever reads them was too slow.
    pub unreported: u64,
}

impl WindowCounts {
    /// Counts one more.
    pub fn add(&mut self, ended_by: WindowEnd) {
        self.count += 1;
        *match ended_by {
            WindowEnd::Full => &mut self.full,
            WindowEnd::Jump => &mut self.jump,
            WindowEnd::RunEnd => &mut self.run_end,
        } += 1;
    }
}

/// Flow records of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlowCounts {
    /// Records begun, without `other`.
    pub seen: u64,
    /// Records still open when the report was made.
    pub active: u64,
    /// Finished records that were handed to outputs, `other` included.
    pub exported: u64,
    /// Finished records that outputs could not take in time or that failed to be written.
    pub dropped: u64,
    /// Packets of new flows for which the table had no place: they are in the record `other`.
    pub table_full: u64,
}

/// How the work was divided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DesignReport {
    /// The parallel design.
    pub name: String,
    /// Threads that received.
    pub receivers: usize,
    /// Workers of each; 0 where receivers counted themselves.
    pub workers: usize,
    /// Which of its workers a receiver gave a packet to: by `hash`, or by `position` in the burst.
    pub split: String,
    /// Where flows were kept: `separate` by core, or `shared`.
    pub state: String,
    /// The cores of the threads, receivers first; empty where they went where they liked.
    pub cores: Vec<usize>,
    /// There were more threads than cores.
    pub oversubscribed: bool,
    /// Why this design.
    pub why: String,
}

/// What a software wire saw of its receivers. The sums are over all queues, the longest absence is one queue's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WireReport {
    /// Packets that arrived.
    pub offered: u64,
    /// Packets that were received.
    pub delivered: u64,
    /// Packets that found a ring full.
    pub imissed: u64,
    /// The same two if the wire's clock had stopped while a receiver was off its core.
    pub offered_clock_stopped: u64,
    /// See above.
    pub imissed_clock_stopped: u64,
    /// How often a receiver was off its core, noticeably.
    pub gaps: u64,
    /// For how long together, nanoseconds.
    pub gap_ns: u64,
    /// The longest time, nanoseconds.
    pub longest_gap_ns: u64,
    /// Times that no mbuf was to be had for a packet, which then waited in its ring. 0 without mbufs.
    pub rx_nombuf: u64,
}

/// The whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// Edison's version.
    pub version: &'static str,
    /// The command line.
    pub command_line: Vec<String>,
    /// What was measured, as the user called it.
    pub source: Vec<String>,
    /// Name of the observation point.
    pub node: String,
    /// Stream time from the first to the last frame; `None` without frames.
    pub span: Option<Span>,
    /// Time that the run took, seconds.
    pub elapsed_seconds: f64,
    /// The windows.
    pub windows: WindowCounts,
    /// The frames.
    pub packets: PacketCounts,
    /// What the source lost; `None` where it cannot know.
    pub loss: Option<Counters>,
    /// How often links were found to have gone down while they were measured; `None` where there is no link.
    pub link_down: Option<u64>,
    /// The flow records.
    pub flows: FlowCounts,
    /// How the work was divided.
    pub design: DesignReport,
    /// What the software wire saw, where there was one.
    pub wire: Option<WireReport>,
    /// Memory of tables and queues at its most, bytes.
    pub memory_bytes: u64,
    /// Sums over the run.
    pub totals: Totals,
    /// What the flows' keys consist of.
    pub key: KeySpec,
    /// Records with the most bytes.
    pub top_bytes: Vec<RankedFlow>,
    /// Records with the most packets.
    pub top_packets: Vec<RankedFlow>,
    /// Addresses with the most flows.
    pub talkers: Talkers,
    /// What was seen of TCP losses; `None` where nobody asked.
    pub tcp_loss: Option<LossAnswer>,
    /// What tasks answered of the last windows, oldest first.
    pub tasks: Vec<(Span, TaskAnswer)>,
    /// Windows before those, whose answers are not kept.
    pub tasks_unlisted: u64,
    /// What went wrong, one line each; empty where all went well.
    pub faults: Vec<String>,
}

/// A rate over a span; nothing where the span has no length.
fn rate(amount: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| amount as f64 / seconds)
}

impl RunReport {
    /// Packets per second of stream time.
    pub fn packets_per_second(&self) -> Option<f64> {
        rate(self.packets.received, self.span?.seconds())
    }

    /// Measured bits per second of stream time, on the wire without preamble, gap and check sequence.
    pub fn bits_per_second(&self) -> Option<f64> {
        rate(self.totals.wire_byte * 8, self.span?.seconds())
    }

    /// Packets per second of the run's own time.
    pub fn processed_per_second(&self) -> Option<f64> {
        rate(self.packets.received, self.elapsed_seconds)
    }

    /// The answers as JSON readers get them.
    pub fn queries(&self) -> Vec<Query> {
        let mut queries = vec![
            Query::totals(None, &self.totals),
            Query::flows("top_bytes", None, &self.key, &self.top_bytes),
            Query::flows("top_packets", None, &self.key, &self.top_packets),
        ];
        queries.extend(self.tcp_loss.iter().flat_map(|answer| Query::losses(None, &self.key, answer)));
        let has = |column| self.key.columns().any(|member| member == column);
        if has("src_addr") {
            queries.push(Query::addresses("top_sources", "src_addr", &self.talkers, true));
        }
        if has("dst_addr") {
            queries.push(Query::addresses("top_destinations", "dst_addr", &self.talkers, false));
        }
        queries.extend(self.tasks.iter().map(|(window, answer)| Query::task(Some(*window), answer)));
        queries
    }
}

/// The source as JSON: one name, or a list of them.
struct Names<'a>(&'a [String]);

impl Serialize for Names<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let [one] = self.0 {
            return serializer.serialize_str(one);
        }
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        self.0.iter().try_for_each(|name| list.serialize_element(name))?;
        list.end()
    }
}

impl Serialize for RunReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", self.version)?;
        map.serialize_entry("command_line", &self.command_line)?;
        map.serialize_entry("source", &Names(&self.source))?;
        map.serialize_entry("node", &self.node)?;
        map.serialize_entry("started", &self.span.map(|s| json_integer(s.start_ns)))?;
        map.serialize_entry("ended", &self.span.map(|s| json_integer(s.end_ns)))?;
        map.serialize_entry("elapsed_seconds", &self.elapsed_seconds)?;
        map.serialize_entry("windows", &self.windows)?;
        map.serialize_entry("packets", &self.packets)?;
        map.serialize_entry("loss", &self.loss)?;
        if let Some(downs) = &self.link_down {
            map.serialize_entry("link_down", downs)?;
        }
        map.serialize_entry("flows", &self.flows)?;
        map.serialize_entry(
            "rates",
            &json!({
                "packets_per_second": self.packets_per_second(),
                "bits_per_second": self.bits_per_second(),
                "processed_per_second": self.processed_per_second(),
            }),
        )?;
        map.serialize_entry("memory_bytes", &json_integer(self.memory_bytes))?;
        map.serialize_entry("design", &self.design)?;
        if let Some(wire) = &self.wire {
            map.serialize_entry("wire", wire)?;
        }
        map.serialize_entry("queries", &self.queries())?;
        if !self.tasks.is_empty() {
            map.serialize_entry("tasks_unlisted", &self.tasks_unlisted)?;
        }
        map.serialize_entry("faults", &self.faults)?;
        map.end()
    }
}
