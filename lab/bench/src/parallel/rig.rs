//! Runs the engine over a software wire, and checks its answer.

use super::packets_only::PacketsOnly;
use super::rounded;
use super::sampled::Accuracy;
use super::sketches::{Estimator, SketchRun, SketchSize, WorkerSketches};
use crate::HashTableKind;
use crate::compare::ns;
use crate::flow_record::CountedPackets;
use crate::record_list::RecordList;
use arena::Limits;
use engine::{
    Every, HardwareCounts, MeasurementConfig, Observer, ResolvedDesign, RunOutcome, SamplingControl,
    Snapshot, StatePlacement, StepNs, StepTimes, StepTiming, ThreadRole, hardware_counters, run, run_tallies,
};
use flow::{FlowRecord, Sampled, Share};
use flowtable::{MeasuredParts, Timeouts};
use packet::{Bursts, FlowKey, KeyV4, PacketFields, Seed};
use port::wire::{Trace, Wire, WireCounters, WireQueue, WireSpec};
use port::{PacketSource, Poll, SyntheticSource};
use serde_json::{Value, json};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Frames of one poll while a trace is loaded.
const BURST: usize = 64;
/// The seed of the keys' hash.
const SEED: u64 = 1;
/// Bytes that no frame of the wire exceeds.
const LONGEST: u32 = 1 << 16;
/// Bytes that a trace may take.
const TRACE_BYTES: u64 = 4 << 30;

/// Frames of a trace, and how often each flow comes up in it.
pub(super) struct RigTraffic {
    name: String,
    traces: HashMap<usize, Arc<Trace>>,
    /// Counted by the bytes of the frames, without parser and table.
    truth: HashMap<[u8; 13], u64>,
    /// The estimates of sketches of one core for one pass.
    references: HashMap<SketchSize, Estimator>,
}

impl RigTraffic {
    /// Generates frames of one size. `snap`: bytes of each that are kept.
    pub(super) fn new(packets: u64, flows: u64, zipf: f64, frame: u32) -> Result<Self, String> {
        // Bytes after the headers are not read.
        let name = format!("packets={packets},flows={flows},zipf={zipf},size={frame},snap=64,seed=1");
        let mut source = SyntheticSource::open(&name, BURST).map_err(|error| error.to_string())?;
        let mut truth = HashMap::new();
        while let Poll::Burst(burst) = source.rx_burst().map_err(|error| error.to_string())? {
            for frame in burst.frames() {
                *truth.entry(identity(frame.data)?).or_default() += 1;
            }
        }
        Ok(Self { name, traces: HashMap::new(), truth, references: HashMap::new() })
    }

    /// The frames, spread over this many queues.
    fn trace(&mut self, queues: usize) -> Result<Arc<Trace>, String> {
        if let Some(trace) = self.traces.get(&queues) {
            return Ok(Arc::clone(trace));
        }
        let mut source = SyntheticSource::open(&self.name, BURST).map_err(|error| error.to_string())?;
        let trace = Trace::load(&mut source, queues, TRACE_BYTES).map_err(|error| error.to_string())?;
        let trace = Arc::new(trace);
        // One and another, between which the variants of a comparison change: they are large.
        if self.traces.len() == 2 {
            self.traces.clear();
        }
        self.traces.insert(queues, Arc::clone(&trace));
        Ok(trace)
    }

    /// Frames of one pass.
    pub(super) fn packets(&self) -> u64 {
        self.truth.values().sum()
    }

    /// Different flows.
    pub(super) fn flows(&self) -> u64 {
        self.truth.len() as u64
    }

    /// Returns true if no estimate is less than a flow's count, and each equals that of a sketch of one core that counted the packets flow by
    /// flow: between those of `least` and `most` passes.
    fn estimates_agree(
        &mut self,
        asked: &Estimator,
        size: SketchSize,
        least: u64,
        most: u64,
    ) -> Result<bool, String> {
        let Self { truth, references, .. } = self;
        let expected = match references.entry(size) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(reference(truth, size)?),
        };
        Ok(truth.iter().all(|(identity, count)| {
            let key = key_of(identity);
            let (expected, found) = (expected(&key), asked(&key));
            found >= least * count && (least * expected..=most * expected).contains(&found)
        }))
    }

    /// Returns the accuracy of the estimates of a sample, of one pass.
    fn accuracy(&self, sampled: &Sampled, records: &[FlowRecord]) -> Accuracy {
        let seen = |record: &FlowRecord| Some((bytes_of(&record.key?)?, record.total_count));
        let seen: HashMap<_, _> = records.iter().filter_map(seen).collect();
        let flows = self.truth.iter().map(|(flow, all)| (*all, seen.get(flow).copied().unwrap_or(0)));
        Accuracy::from_sampled(sampled, flows)
    }

    /// Returns true if there is one record for each flow at most, and every record's count is between those of `least` and `most` passes:
    /// nothing more can be checked if packets were lost, or if the last pass is not complete.
    fn agrees(&self, records: &[FlowRecord], least: u64, most: u64) -> bool {
        let mut left: HashSet<_> = self.truth.keys().collect();
        records.iter().all(|record| {
            let flow = record.key.and_then(|key| self.truth.get_key_value(&bytes_of(&key)?));
            flow.is_some_and(|(flow, count)| {
                left.remove(flow) && (count * least..=count * most).contains(&record.total_count)
            })
        }) && (least == 0 || left.is_empty())
    }
}

/// Addresses, ports and protocol of an Ethernet frame with plain IPv4.
pub(super) fn identity(frame: &[u8]) -> Result<[u8; 13], String> {
    let (Some(addresses), Some(&protocol)) = (frame.get(26..38), frame.get(23)) else {
        return Err("a generated frame is too short".to_owned());
    };
    let mut identity = [0; 13];
    identity[..12].copy_from_slice(addresses);
    identity[12] = protocol;
    if protocol == 1 {
        // Type and code of ICMP are in the destination port (NetFlow).
        (identity[10], identity[11]) = (identity[8], identity[9]);
        (identity[8], identity[9]) = (0, 0);
    }
    Ok(identity)
}

/// Returns the 13 bytes of a record's key.
pub(super) fn bytes_of(key: &FlowKey) -> Option<[u8; 13]> {
    let (std::net::IpAddr::V4(src), std::net::IpAddr::V4(dst)) = (key.src_addr?, key.dst_addr?) else {
        return None;
    };
    let mut identity = [0; 13];
    identity[..4].copy_from_slice(&src.octets());
    identity[4..8].copy_from_slice(&dst.octets());
    identity[8..10].copy_from_slice(&key.src_port?.to_be_bytes());
    identity[10..12].copy_from_slice(&key.dst_port?.to_be_bytes());
    identity[12] = key.protocol?;
    Some(identity)
}

/// A sketch of one core that counted all flows, in sequence.
fn reference(truth: &HashMap<[u8; 13], u64>, size: SketchSize) -> Result<Estimator, String> {
    let seed = Seed::new(SEED);
    let SketchRun { mut tallies, ask } =
        WorkerSketches { size, state: StatePlacement::Separate }.run(1, BURST, seed)?;
    let mut bursts = Bursts::with_capacity(BURST);
    let mut tally = tallies.pop().ok_or("a run has a worker")?;
    let packets = truth.iter().flat_map(|(identity, &count)| (0..count).map(move |_| key_of(identity)));
    for key in packets {
        bursts.v4.push(key, PacketFields::default(), &seed);
        if bursts.len() == BURST {
            tally.count(&bursts);
            bursts.clear();
        }
    }
    tally.count(&bursts);
    tally.end();
    ask()
}

/// The key in the form for sketches.
fn key_of(identity: &[u8; 13]) -> KeyV4 {
    let addresses = std::array::from_fn(|i| identity[i]);
    KeyV4::new(addresses, std::array::from_fn(|i| identity[8 + i]), identity[12])
}

/// The data that workers count in.
#[derive(Clone, Debug)]
pub(super) enum CountingStructure {
    /// Exact flow tables, and what their records carry beyond the plain ones.
    Flows(Box<MeasuredParts>),
    Sketches(WorkerSketches),
    /// One of FloWatcher's tables for each worker.
    Table(HashTableKind),
    /// The number of packets, and nothing else.
    Packets,
}

impl CountingStructure {
    /// Exact flow tables with the plain record.
    pub(super) fn plain() -> Self {
        Self::Flows(Box::default())
    }
}

/// The setting of a run.
#[derive(Clone, Debug)]
pub(super) struct RigSetting {
    pub(super) wire: WireSpec,
    pub(super) plan: ResolvedDesign,
    pub(super) kept: CountingStructure,
    /// The share of packets that are measured, if not all are.
    pub(super) sampling: Option<Share>,
    pub(super) every: Every,
    /// Packets that may wait between a receiver and each worker.
    pub(super) between_cores: usize,
    /// The largest number of frames of one poll.
    pub(super) burst: usize,
    /// Received packets after which the wire's counters count: until then tables are filled.
    pub(super) warm_up: u64,
    /// Steps are timed: up to eight clock readings a burst.
    pub(super) timed: bool,
}

/// The result of a run.
pub(super) struct RunMeasurement {
    pub(super) wire: WireCounters,
    pub(super) steps: Vec<StepTimes>,
    pub(super) windows: u64,
    pub(super) ring_full: u64,
    pub(super) memory_bytes: u64,
    pub(super) is_right: bool,
    /// The accuracy of the estimates, of a sample.
    pub(super) accuracy: Option<Accuracy>,
}

impl RunMeasurement {
    /// Packets are measured on other cores than those that receive them.
    pub(super) fn has_workers(&self) -> bool {
        self.steps.iter().any(|steps| steps.role == ThreadRole::Worker)
    }

    /// Share of the packets that were lost: all of them, and without what the wire missed while a receiver was off its core.
    pub(super) fn loss(&self) -> [f64; 2] {
        let share = |lost: u64, of: u64| lost as f64 / of.max(1) as f64;
        [
            share(self.wire.imissed + self.ring_full, self.wire.offered),
            share(self.wire.imissed_clock_stopped + self.ring_full, self.wire.offered_clock_stopped),
        ]
    }

    /// Frames that each receiver took.
    fn received(&self) -> impl Iterator<Item = u64> {
        self.steps.iter().filter(|steps| steps.role == ThreadRole::Receiver).map(|steps| steps.packets)
    }

    /// Frames that all receivers took.
    fn packets(&self) -> f64 {
        self.received().sum::<u64>().max(1) as f64
    }

    /// The share of the receiver with the most frames: the load of the slowest when spread by hash.
    fn fullest(&self) -> f64 {
        self.received().max().unwrap_or(0) as f64 / self.packets()
    }

    /// Nanoseconds per packet over the whole run, of all threads together.
    pub(super) fn step_ns(&self) -> StepNs {
        StepNs::from_threads(&self.steps)
    }

    /// Returns what the papers report of a run in addition to its loss, as members of a line.
    pub(super) fn members(&self) -> Vec<(&'static str, Value)> {
        let step_ns = self.step_ns();
        let StepNs { receive, free, parse, process, hand_over } = step_ns;
        let mut members = vec![
            ("receive_ns", json!(rounded(receive))),
            ("free_ns", json!(rounded(free))),
            ("parse_ns", json!(rounded(parse))),
            ("processing_ns", json!(rounded(process))),
            ("hand_over_ns", json!(rounded(hand_over))),
            ("delay_ns", json!(rounded(step_ns.sum()))),
            ("busy", json!(self.busy())),
            ("fullest", json!(crate::line::to_digits(self.fullest(), 3))),
        ];
        match self.hardware() {
            Ok([cycles, instructions, cache_misses]) => members.extend([
                ("cycles", json!(rounded(cycles))),
                ("instructions", json!(rounded(instructions))),
                ("cache_misses", json!(crate::line::to_digits(cache_misses, 4))),
            ]),
            Err(reason) => members.push(("cycles", json!(format!("not available here: {reason}")))),
        }
        members
    }

    /// Cycles, instructions and cache misses per packet, of all threads together.
    fn hardware(&self) -> Result<[f64; 3], String> {
        hardware_counters()?;
        let counts: Option<Vec<_>> = self.steps.iter().map(|steps| steps.hardware).collect();
        let counts = counts.ok_or("others had the counters for a part of the time")?;
        let sum = |of: fn(&HardwareCounts) -> u64| counts.iter().map(of).sum::<u64>() as f64 / self.packets();
        Ok([
            sum(|counts| counts.cycles),
            sum(|counts| counts.instructions),
            sum(|counts| counts.cache_misses),
        ])
    }

    /// Packets per nanosecond, of all receivers as long as each has packets: their capacity for traffic that
    /// reaches them in equal parts.
    pub(super) fn rate_while_all_receive(&self) -> f64 {
        let receivers = self.steps.iter().filter(|steps| steps.role == ThreadRole::Receiver);
        receivers.map(|steps| steps.packets as f64 / ns(steps.elapsed)).sum()
    }

    /// The longest time that a receiver took, nanoseconds.
    pub(super) fn receiving_ns(&self) -> f64 {
        self.steps.iter().map(|steps| ns(steps.elapsed)).fold(0.0, f64::max)
    }

    /// The share of each thread's time in which it had something to do.
    pub(super) fn busy(&self) -> Vec<f64> {
        self.steps.iter().map(|steps| (steps.busy() * 1000.0).round() / 1000.0).collect()
    }
}

/// Runs the engine once.
pub(super) fn measure(traffic: &mut RigTraffic, setting: &RigSetting) -> Result<RunMeasurement, String> {
    let trace = traffic.trace(setting.wire.queues)?;
    let queues = open(&setting.wire, &trace, setting.burst)?;
    let wire = queues.first().map(WireQueue::wire).ok_or("a wire has a queue at least")?;
    let mut sources: Vec<Box<dyn PacketSource>> =
        queues.into_iter().map(|queue| Box::new(queue) as Box<dyn PacketSource>).collect();
    // Shared tables are made for all flows at once.
    let flows = match setting.plan.state {
        StatePlacement::Shared => usize::try_from(traffic.flows()).unwrap_or(usize::MAX),
        StatePlacement::Separate => 1 << 28,
    };
    let config = MeasurementConfig {
        every: setting.every,
        timeouts: Timeouts { idle_ns: u64::MAX, active_ns: u64::MAX },
        limits: Limits::new(usize::MAX >> 1, flows),
        seed: Seed::new(SEED),
        parts: match &setting.kept {
            CountingStructure::Flows(parts) => **parts,
            CountingStructure::Sketches(_) | CountingStructure::Table(_) | CountingStructure::Packets => {
                MeasuredParts::default()
            }
        },
        burst: setting.burst,
        hand_over_batches: setting.between_cores.div_ceil(setting.burst).max(2),
        timed: if setting.timed { StepTiming::EveryBurst } else { StepTiming::Off },
        sampling: setting.sampling.map(SamplingControl::new),
        ..MeasurementConfig::default()
    };
    let stop = AtomicBool::new(false);
    let mut watch = WarmUpObserver { wire, warm_up: setting.warm_up, warm: WireCounters::default() };
    let (plan, records) = (&setting.plan, RecordList::default());
    let (outcome, told) = match &setting.kept {
        CountingStructure::Flows(_) => {
            (run(&mut sources, None, &config, plan, &stop, records, &mut watch), RigAnswer::Records)
        }
        CountingStructure::Sketches(sketches) => {
            let SketchRun { tallies, ask } = sketches.run(plan.counting(), setting.burst, config.seed)?;
            let outcome = run_tallies(&mut sources, &config, plan, records, &mut watch, tallies);
            (outcome, RigAnswer::Estimates(sketches.size, ask()?))
        }
        CountingStructure::Table(kind) => {
            let counted = CountedPackets::default();
            let tallies = counted.tallies(*kind, plan.counting()).map_err(|error| error.to_string())?;
            let outcome = run_tallies(&mut sources, &config, plan, records, &mut watch, tallies);
            (outcome, RigAnswer::Packets(counted.total()))
        }
        CountingStructure::Packets => {
            let counted = PacketsOnly::default();
            let tallies = counted.tallies(plan.counting());
            let outcome = run_tallies(&mut sources, &config, plan, records, &mut watch, tallies);
            (outcome, RigAnswer::Packets(counted.total()))
        }
    };
    judge(traffic, &outcome.map_err(|error| error.to_string())?, told, &watch, setting.wire.rate.is_none())
}

/// The answer of a run.
enum RigAnswer {
    Records,
    Estimates(SketchSize, Estimator),
    Packets(u64),
}

fn judge(
    traffic: &mut RigTraffic,
    outcome: &RunOutcome<RecordList>,
    told: RigAnswer,
    watch: &WarmUpObserver,
    is_replay: bool,
) -> Result<RunMeasurement, String> {
    let wire = watch.wire.total();
    let packets = &outcome.ended.packets;
    let records = &outcome.records.0;
    let loss = |name: &str| {
        let counters = outcome.loss.iter().flat_map(|loss| &loss.0);
        counters.filter(|(known, _)| *known == name).map(|(_, count)| count).sum::<u64>()
    };
    let ring_full = loss("ring_full");
    let recorded: u64 = records.iter().map(|record| record.total_count).sum();
    let not_sampled = packets.not_measured.get("not_sampled");
    let sampled = outcome.ended.sampled;
    let has_records = matches!(told, RigAnswer::Records);
    let is_whole = packets.received == packets.measured + not_sampled
        && sampled.is_some() == (not_sampled != 0)
        && (!has_records || recorded == packets.measured)
        && packets.received + ring_full + loss("imissed") == wire.offered
        && outcome.errors.is_empty()
        && outcome.faults.is_empty();
    let has_lost = ring_full + loss("imissed") != 0;
    let (all, pass) = (wire.offered, traffic.packets().max(1));
    let least = if has_lost || sampled.is_some() { 0 } else { all / pass };
    let most = all.div_ceil(pass);
    let agrees = match told {
        RigAnswer::Records => traffic.agrees(records, least, most),
        RigAnswer::Estimates(size, asked) => traffic.estimates_agree(&asked, size, least, most)?,
        RigAnswer::Packets(counted) => counted == packets.received,
    };
    // Without a sample, all packets are measured: its answers are compared in the same way.
    let sampled = sampled.unwrap_or_else(|| Sampled::new(Share::ALL, packets.measured, 0, LONGEST));
    // Of one pass: in several, the truth of the last one is not known.
    let accuracy = (all == pass && !has_lost && has_records).then(|| traffic.accuracy(&sampled, records));
    let is_right = is_whole && !(is_replay && has_lost) && agrees;
    Ok(RunMeasurement {
        wire: wire.since(watch.warm),
        steps: outcome.steps.clone(),
        windows: outcome.ended.windows.count,
        ring_full,
        memory_bytes: outcome.ended.memory_bytes,
        is_right,
        accuracy,
    })
}

/// The most that DPDK's pools will take in this process, for DPDK is started once, when the first of them is made.
static MBUF_BYTES: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// Mbufs of a pool for which there is room in any case; memory that no pool takes is never touched.
const MOST_MBUFS: u32 = 64 << 10;

/// Makes room for the mbufs of wires that will be opened.
pub(super) fn expect(wires: impl IntoIterator<Item = WireSpec>) {
    let most =
        wires.into_iter().filter(|wire| wire.mbufs.is_some()).map(|wire| Wire::mbuf_bytes(&wire)).max();
    MBUF_BYTES.fetch_max(most.unwrap_or(0), std::sync::atomic::Ordering::Relaxed);
}

fn open(spec: &WireSpec, trace: &Arc<Trace>, burst: usize) -> Result<Vec<WireQueue>, String> {
    use port::dpdk::{Eal, EalConfig};
    use std::sync::OnceLock;
    /// DPDK can be started once in a process.
    static EAL: OnceLock<Result<Arc<Eal>, String>> = OnceLock::new();
    if spec.mbufs.is_none() {
        return Wire::open("bench", spec, trace, burst).map_err(|error| error.to_string());
    }
    // A study has wires with larger pools in the same process.
    expect([*spec, WireSpec { queues: spec.queues.max(2), mbufs: Some(MOST_MBUFS), ..*spec }]);
    let eal = EAL.get_or_init(|| {
        let memory_bytes = MBUF_BYTES.load(std::sync::atomic::Ordering::Relaxed);
        Eal::init(&EalConfig { devices: Vec::new(), memory_bytes, arguments: Vec::new() })
            .map_err(|error| error.to_string())
    });
    Wire::open_mbufs(eal.as_ref().map_err(Clone::clone)?, "bench", spec, trace, burst)
        .map_err(|error| error.to_string())
}

/// Notes the wire's counters when the tables are warm.
struct WarmUpObserver {
    wire: Wire,
    warm_up: u64,
    warm: WireCounters,
}

impl Observer for WarmUpObserver {
    fn progress(&mut self, snapshot: Snapshot) {
        if self.warm.offered == 0 && self.warm_up != 0 && snapshot.received >= self.warm_up {
            self.warm = self.wire.total();
        }
    }
    fn warning(&mut self, _: String) {}
}
