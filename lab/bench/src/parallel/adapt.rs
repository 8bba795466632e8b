//! `edison-lab bench adapt`: a load whose rate and skew change in steps, measured by fixed settings and by a run that tunes itself.
//!
//! Two traces follow each other, each on a wire whose rate is low, high and low again. The rates are shares of what one worker was
//! found to take of the trace that costs it more. Each window's counts of the heaviest flows are compared with what the trace and the wire's schedule say,
//! which know nothing of parser, sampling and tables.

mod chain;
mod judge;
mod sink;

use crate::{BenchResult, Points};
use arena::Limits;
use chain::ChainedWires;
use engine::tuning::{Adaption, Handles, KnobRange, SettingChange, Tuned, Tuner};
use engine::{
    Design, Every, MeasurementConfig, Observer, ResolvedDesign, SamplingControl, Snapshot,
    TUNED_HAND_OVER_PACKETS, WorkerUse, allowed_cores, run,
};
use flow::Share;
use flowtable::Timeouts;
use judge::{AdaptResult, LoadPhase, TraceShares, judge};
use packet::Seed;
use port::wire::{ReplayLength, Trace, Wire, WireSpec};
use port::{PacketSource, Poll, SyntheticSource};
use serde_json::{Value, json};
use sink::CollectedWindows;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use traffic::RateSteps;

/// The bound of loss.
const BOUND: f64 = 1e-5;
const WINDOW_NS: u64 = 1_000_000_000;
/// Windows after a step in which loss may still be above the bound.
const SETTLING: u64 = 5;
const BURST: usize = 256;
const TRACE_BYTES: u64 = 2 << 30;
/// The loads in per cent of what one worker takes: the low and the high rate. The high one is too much for one worker, and for a sample it is
/// not.
const LOADS: [u64; 3] = [35, 160, 35];
/// Descriptors of the wire's ring: at 50 Mpps it holds 160 microseconds.
const RING: usize = 8192;
/// Flows and skew of the two traces.
const TRACES: [(u64, f64); 2] = [(20_000, 1.2), (300_000, 0.7)];
const PACKETS: u64 = 600_000;
/// The least share of the packets of a flow that is heavy.
const HEAVY: f64 = 0.001;

/// The way in which a run is measured.
struct AdaptVariant {
    name: &'static str,
    workers: usize,
    share_ppm: u32,
    adapts: bool,
}

/// `cores`: those that this process may use. A worker without one of its own is no setting to compare with.
fn variants(cores: usize) -> Vec<AdaptVariant> {
    let fixed = |name, workers, percent: u32| AdaptVariant {
        name,
        workers,
        share_ppm: percent * 10_000,
        adapts: false,
    };
    let workers = if cores > 2 { 2 } else { 1 };
    let two = (workers == 2).then(|| fixed("share_100_two_workers", 2, 100));
    let mut variants = vec![fixed("share_100", 1, 100)];
    variants.extend(two);
    variants.extend([fixed("share_50", 1, 50), fixed("share_15", 1, 15), fixed("share_5", 1, 5)]);
    variants.push(AdaptVariant { name: "adapt", workers, share_ppm: 1_000_000, adapts: true });
    variants
}

pub(crate) fn run_all(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    // A phase has the windows in which it settles, and as many again at least.
    let phase_windows = (points.seconds as u64 / LOADS.len() as u64 / TRACES.len() as u64).max(SETTLING + 3);
    let loaded =
        TRACES.map(|(flows, zipf)| load(points, points.flows.unwrap_or(flows), points.zipf.unwrap_or(zipf)));
    let [first, second] = loaded;
    let loaded = [first?, second?];
    let capacity = capacity(&loaded[0].0)?.min(capacity(&loaded[1].0)?);
    let rates = LOADS.map(|percent| (capacity * percent as f64 / 100.0) as u64);
    for variant in variants(allowed_cores().len()) {
        out(measure(&variant, &loaded, rates, phase_windows)?);
    }
    Ok(())
}

/// A trace, and the packets of each of its flows, counted from the frames' bytes.
fn load(points: &Points, flows: u64, zipf: f64) -> Result<(Arc<Trace>, TraceShares), String> {
    let packets = points.packets.unwrap_or(PACKETS);
    let spec = format!("packets={packets},flows={flows},zipf={zipf},size=64,snap=64,seed=1");
    let mut source = SyntheticSource::open(&spec, BURST).map_err(|error| error.to_string())?;
    let mut counts: HashMap<[u8; 13], u64> = HashMap::new();
    while let Poll::Burst(burst) = source.rx_burst().map_err(|error| error.to_string())? {
        for frame in burst.frames() {
            *counts.entry(super::rig::identity(frame.data)?).or_default() += 1;
        }
    }
    let mut source = SyntheticSource::open(&spec, BURST).map_err(|error| error.to_string())?;
    let trace = Trace::load(&mut source, 1, TRACE_BYTES).map_err(|error| error.to_string())?;
    Ok((Arc::new(trace), TraceShares::new(&counts, HEAVY)))
}

fn plan(workers: usize) -> Result<ResolvedDesign, String> {
    let design = Design::Clusters { queues: 1, workers };
    ResolvedDesign::new(Some(design), None, 1, &allowed_cores()).map_err(|refusal| refusal.to_string())
}

fn config() -> MeasurementConfig {
    MeasurementConfig {
        every: Every::Time(WINDOW_NS),
        timeouts: Timeouts { idle_ns: 15_000_000_000, active_ns: 1_800_000_000_000 },
        limits: Limits::new(2 << 30, usize::MAX),
        seed: Seed::new(1),
        burst: BURST,
        hand_over_batches: TUNED_HAND_OVER_PACKETS / BURST,
        ..MeasurementConfig::default()
    }
}

/// Packets in a second that one worker takes of a trace which waits for it.
fn capacity(trace: &Arc<Trace>) -> Result<f64, String> {
    let spec = WireSpec { length: ReplayLength::Packets(100 * trace.frames()), ..WireSpec::default() };
    let queues = Wire::open("capacity", &spec, trace, BURST).map_err(|error| error.to_string())?;
    let mut sources: Vec<Box<dyn PacketSource>> =
        queues.into_iter().map(|queue| Box::new(queue) as Box<dyn PacketSource>).collect();
    let (plan, stop) = (plan(1)?, AtomicBool::new(false));
    // By the times of the trace there would be a window for every few packets.
    let config = MeasurementConfig { every: super::ONE_WINDOW, ..config() };
    let began = Instant::now();
    let outcome = run(
        &mut sources,
        None,
        &config,
        &plan,
        &stop,
        CollectedWindows::default(),
        &mut ChangeObserver::default(),
    )
    .map_err(|error| error.to_string())?;
    Ok(outcome.ended.packets.received as f64 / began.elapsed().as_secs_f64())
}

/// Keeps what tuning changes.
#[derive(Default)]
struct ChangeObserver(Vec<SettingChange>);

impl Observer for ChangeObserver {
    fn progress(&mut self, _: Snapshot) {}
    fn warning(&mut self, _: String) {}
    fn tuned(&mut self, tuned: Tuned) {
        if let Tuned::Change(change) = tuned {
            self.0.push(change);
        }
    }
}

fn measure(
    variant: &AdaptVariant,
    loaded: &[(Arc<Trace>, TraceShares); 2],
    rates: [u64; 3],
    phase_windows: u64,
) -> Result<BenchResult, String> {
    let phase_ns = phase_windows * WINDOW_NS;
    let steps = RateSteps::new(&rates, phase_ns).ok_or("the rates are too low for a packet in each phase")?;
    let spec = WireSpec {
        rate: Some(notation::Rate::Packets(rates[0])),
        steps: Some(steps),
        length: ReplayLength::Nanoseconds(phase_ns * rates.len() as u64),
        ring: RING,
        ..WireSpec::default()
    };
    let mut queues = Vec::new();
    let mut wires = Vec::new();
    for (trace, _) in loaded {
        let mut opened = Wire::open("bench", &spec, trace, BURST).map_err(|error| error.to_string())?;
        wires.extend(opened.first().map(|queue| queue.wire()));
        queues.append(&mut opened);
    }
    let (chain, begins) = ChainedWires::new(queues);
    let mut sources: Vec<Box<dyn PacketSource>> = vec![Box::new(chain)];
    let plan = plan(variant.workers)?;
    let share = Share::from_ppm(variant.share_ppm).ok_or("a share")?;
    let sampling = SamplingControl::new(share);
    let mut config = MeasurementConfig { sampling: Some(sampling.clone()), ..config() };
    let adaption = variant.adapts.then(|| {
        let range = KnobRange {
            workers: variant.workers,
            varies_workers: variant.workers > 1,
            // All flows have packets in each window: none is held for longer.
            idle_divisor: 1,
            memory_divisors: Vec::new(),
            varies_share: true,
            most_share_ppm: variant.share_ppm,
        };
        let workers = range.varies_workers.then(|| WorkerUse::new(variant.workers));
        config.worker_use.clone_from(&workers);
        let handles = Handles { workers, sampling: Some(sampling), ..Handles::default() };
        Adaption::new(Tuner::new(BOUND, range), handles, true)
    });
    config.adaption = adaption.clone();
    let (mut watch, stop) = (ChangeObserver::default(), AtomicBool::new(false));
    let began = Instant::now();
    let outcome = run(&mut sources, None, &config, &plan, &stop, CollectedWindows::default(), &mut watch)
        .map_err(|error| error.to_string())?;
    let elapsed_ns = crate::compare::ns(began.elapsed());
    let begins = begins.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    let phases: Vec<LoadPhase> = begins
        .iter()
        .zip(loaded)
        .flat_map(|(begin, (_, truth))| {
            rates.iter().enumerate().map(move |(number, &rate)| LoadPhase {
                begin_ns: begin + number as u64 * phase_ns,
                end_ns: begin + (number as u64 + 1) * phase_ns,
                rate,
                truth,
            })
        })
        .collect();
    let verdict = judge(&outcome.records, &phases, SETTLING * WINDOW_NS, BOUND);
    let offered: u64 = wires.iter().map(|wire| wire.total().offered).sum();
    let packets = &outcome.ended.packets;
    let lost = outcome.loss.as_ref().map_or(0, model::Counters::total);
    let checked = packets.received == packets.measured + packets.not_measured.total()
        && packets.received + lost == offered
        && verdict.windows != 0
        && outcome.errors.is_empty()
        && outcome.faults.is_empty();
    Ok(line(variant, &plan, rates, &verdict, (&watch.0, offered, elapsed_ns), checked))
}

fn line(
    variant: &AdaptVariant,
    plan: &ResolvedDesign,
    rates: [u64; 3],
    verdict: &AdaptResult,
    (changes, offered, elapsed_ns): (&[SettingChange], u64, f64),
    checked: bool,
) -> BenchResult {
    let percent = |share: f64| json!(crate::line::to_digits(100.0 * share, 4));
    let texts: Vec<Value> = changes
        .iter()
        .map(|change| {
            json!(format!(
                "{} {:.4} -> {:.4}: {}",
                change.setting.name(),
                change.from,
                change.to,
                change.reason
            ))
        })
        .collect();
    BenchResult {
        bench: "adapt",
        variant: variant.name.to_owned(),
        params: vec![
            ("low_pps", json!(rates[0])),
            ("high_pps", json!(rates[1])),
            ("workers", json!(variant.workers)),
            ("threads", json!(plan.threads())),
        ],
        packets: offered,
        rounds_ns: vec![elapsed_ns],
        memory_bytes: None,
        checked,
        more: vec![
            ("oversubscribed", json!(plan.oversubscribed)),
            ("drop_percent_settled", percent(verdict.loss_settled)),
            ("drop_percent_settled_clock_stopped", percent(verdict.loss_settled_on_core)),
            ("worst_drop_percent_settled_clock_stopped", percent(verdict.worst_settled_on_core)),
            ("drop_percent", percent(verdict.loss)),
            ("mean_error_percent", percent(verdict.mean_error)),
            ("f1", json!(crate::line::to_digits(verdict.f1, 4))),
            ("settled_windows", json!(verdict.windows)),
            ("settled_windows_above", json!(verdict.windows_above)),
            ("windows_to_settle", json!(verdict.to_settle)),
            ("changes", json!(changes.len())),
            ("changes_list", json!(texts)),
        ],
    }
}
