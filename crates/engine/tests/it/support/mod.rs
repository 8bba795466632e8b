//! Runs of the engine whose every word is kept.

use arena::Limits;
use engine::{
    ClosedWindow, Control, Every, MeasurementConfig, Observer, RecordSink, ResolvedDesign, RunOutcome,
    Snapshot, WindowId,
};
use flow::{FlowRecord, LossCounts, WindowRow};
use flowtable::Timeouts;
use model::{Counters, PacketCounts};
use packet::{Key, KeySpec, Seed};
use port::wire::{Trace, Wire, WireSpec};
use port::{Filter, PacketSource, Poll, SourceCounter, SourceError, SyntheticSource, TimeBase};
use record::MeasurementTotals;
use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use task::query::Query;
use task::rows::PlanContext;
use task::{Generation, RunProperties, TaskSet, TaskSpec, Tasks};

pub(crate) const BURST: usize = 32;
const MEMORY: usize = 1 << 31;

/// The plain record, windows of a second, timeouts that nothing reaches.
pub(crate) fn config() -> MeasurementConfig {
    MeasurementConfig {
        every: Every::Time(1_000_000_000),
        timeouts: Timeouts { idle_ns: u64::MAX, active_ns: u64::MAX },
        limits: Limits::new(MEMORY, usize::MAX),
        seed: Seed::new(7),
        burst: BURST,
        hand_over_batches: 4,
        ..MeasurementConfig::default()
    }
}

/// The same with tasks that any number of cores must answer alike: exact ones, linear ones, sets.
pub(crate) fn with_tasks(config: MeasurementConfig) -> MeasurementConfig {
    let specs = [
        "heavy-hitters:share=1%,structure=exact,memory=256KiB",
        "heavy-hitters:key=dst_addr,by=bytes,share=2%,structure=exact,memory=256KiB,prefixes=8/32",
        "super-spreaders:count=5,structure=contact-sample,memory=128KiB",
        "flow-sizes:structure=size-array,memory=16KiB",
        "change:share=1%,structure=exact,memory=256KiB",
        "entropy:structure=exact,memory=256KiB",
        "quantiles:key=size,structure=exact,memory=64KiB",
    ];
    let tasks = planned(&specs, &config);
    MeasurementConfig { control: Some(Control::new(task_set(0, &[], Some(tasks), &config))), ..config }
}

/// Tasks that count packets.
pub(crate) fn planned(specs: &[&str], config: &MeasurementConfig) -> Tasks {
    planned_for(specs, config, false)
}

/// Tasks that count packets, in structures of all workers (`shares`) or of each.
pub(crate) fn planned_for(specs: &[&str], config: &MeasurementConfig, shares: bool) -> Tasks {
    let specs: Vec<TaskSpec> = specs.iter().map(|text| text.parse().expect("a task")).collect();
    let setting = RunProperties {
        key: config.key,
        is_paired: config.parts.are_paired(),
        packets: None,
        workers: 1,
        scatters: false,
        shares,
        seed: config.seed,
    };
    Tasks::plan(&specs, &setting).expect("a plan")
}

/// A set of queries and tasks.
pub(crate) fn task_set(
    generation: u64,
    queries: &[Query],
    tasks: Option<Tasks>,
    config: &MeasurementConfig,
) -> Arc<TaskSet> {
    let site = PlanContext::new(config.key, config.seed, config.limits.clone());
    Arc::new(TaskSet::plan(Generation::new(generation), queries, tasks, &site).expect("good queries"))
}

/// What a worker's sink does with its n-th record, from 0 on. The first worker is 0.
pub(crate) type Deed = dyn Fn(usize, usize) + Send + Sync;

/// A record and the worker that it comes from; the run's own has none.
pub(crate) type Tagged = (Option<usize>, FlowRecord);

/// Keeps records, by worker; those of the run itself (`other`) have none.
#[derive(Clone)]
pub(crate) struct Recorder {
    records: Arc<Mutex<Vec<Tagged>>>,
    rows: Arc<Mutex<Vec<String>>>,
    /// The window of the rows that come now.
    window: WindowId,
    windows: Vec<ClosedWindow>,
    accounts: Vec<MeasurementTotals>,
    /// As it was told.
    pub(crate) failed_workers: usize,
    siblings: Arc<AtomicUsize>,
    worker: Option<usize>,
    count: usize,
    deed: Arc<Deed>,
}

impl Recorder {
    pub(crate) fn new(deed: impl Fn(usize, usize) + Send + Sync + 'static) -> Self {
        Self {
            records: Arc::default(),
            rows: Arc::default(),
            window: WindowId::default(),
            windows: Vec::new(),
            accounts: Vec::new(),
            failed_workers: 0,
            siblings: Arc::default(),
            worker: None,
            count: 0,
            deed: Arc::new(deed),
        }
    }
}

impl Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorder({:?})", self.worker)
    }
}

impl RecordSink for Recorder {
    fn record(&mut self, record: FlowRecord) {
        if let Some(worker) = self.worker {
            (self.deed)(worker, self.count);
        }
        self.count += 1;
        self.records.lock().unwrap_or_else(PoisonError::into_inner).push((self.worker, record));
    }
    fn row<K: Key>(&mut self, row: WindowRow<K>, loss: Option<&LossCounts>) {
        let key = row.key.flow_key(&KeySpec::FIVE_TUPLE);
        let line = format!("{} {key:?} {:?} {loss:?}", self.window, row.with_key(()));
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
    fn begin_rows(&mut self, window: WindowId) {
        self.window = window;
    }
    fn window(&mut self, window: ClosedWindow) -> bool {
        self.windows.push(window);
        true
    }
    fn account(&mut self, account: MeasurementTotals) {
        self.accounts.push(account);
    }
    fn worker_failed(&mut self) {
        self.failed_workers += 1;
    }
    fn sibling(&self) -> Self {
        let worker = Some(self.siblings.fetch_add(1, Relaxed));
        Self { worker, count: 0, accounts: Vec::new(), windows: Vec::new(), ..self.clone() }
    }
    fn absorb(&mut self, _: Self) {}
}

/// Keeps warnings.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pub(crate) warnings: Vec<String>,
}

impl Observer for Watch {
    fn progress(&mut self, _: Snapshot) {}
    fn warning(&mut self, line: String) {
        self.warnings.push(line);
    }
}

/// All that a run reported.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) outcome: RunOutcome<Recorder>,
    pub(crate) windows: Vec<ClosedWindow>,
}

impl Run {
    pub(crate) fn new(
        sources: &mut [Box<dyn PacketSource>],
        filter: Option<&Filter>,
        config: &MeasurementConfig,
        plan: &ResolvedDesign,
        sink: Recorder,
    ) -> Self {
        let mut watch = Watch::default();
        let stop = AtomicBool::new(false);
        let outcome = engine::run(sources, filter, config, plan, &stop, sink, &mut watch)
            .expect("there is memory for the tables");
        let windows = outcome.records.windows.clone();
        Self { outcome, windows }
    }

    /// Its records, each with its worker.
    pub(crate) fn records(&self) -> Vec<Tagged> {
        self.outcome.records.records.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its records as text, in an order that does not hang on who made them. (A statistic may be no number, which is
    /// not equal to itself.)
    pub(crate) fn record_lines(&self) -> Vec<String> {
        let mut lines: Vec<_> = self.records().into_iter().map(|(_, record)| format!("{record:?}")).collect();
        lines.sort_unstable();
        lines
    }

    /// What is to hold of every run, whatever happened: all frames are accounted for, in each window and in all; the
    /// windows add up to the run, and writers were told the same.
    #[track_caller]
    pub(crate) fn is_consistent(&self) {
        let ended = &self.outcome.ended;
        let mut sum = PacketCounts::default();
        let (mut lost, mut totals) = (Some(BTreeMap::new()), (0, 0, 0));
        assert_eq!(self.windows.len() as u64, ended.windows.count);
        assert_eq!(self.outcome.records.accounts.len(), self.windows.len());
        let mut last = None;
        for ((at, window), account) in (0..).zip(&self.windows).zip(&self.outcome.records.accounts) {
            accounted_for(&window.packets, &format!("window {at}"));
            assert_eq!(window.index, at);
            assert!(last.is_none_or(|last| last <= window.span.start_ns), "windows are out of order");
            last = Some(window.span.start_ns);
            assert_eq!(window.totals.packets, window.packets.measured);
            totals.0 += window.totals.packets;
            totals.1 += window.totals.bytes;
            totals.2 += window.totals.wire_bytes;
            sum.received += window.packets.received;
            sum.measured += window.packets.measured;
            sum.not_measured.add(&window.packets.not_measured);
            sum.remarks.add(&window.packets.remarks);
            lost = lost.zip(window.loss.as_ref()).map(|(mut lost, more)| {
                more.nonzero().for_each(|(name, count)| *lost.entry(name).or_insert(0) += count);
                lost
            });
            let so_far = MeasurementTotals {
                time_ns: window.span.end_ns,
                received: sum.received,
                measured: sum.measured,
                lost: lost.as_ref().map(|lost| lost.values().sum()),
            };
            assert_eq!(*account, so_far, "what exporters are told in window {at}");
        }
        accounted_for(&ended.packets, "the run");
        assert_eq!(shown(&sum), shown(&ended.packets), "the windows together and the run");
        assert_eq!(totals, (ended.totals.packets, ended.totals.bytes, ended.totals.wire_bytes));
        if !self.windows.is_empty() {
            let loss = self.outcome.loss.as_ref().map(|loss| loss.nonzero().collect::<BTreeMap<_, _>>());
            assert_eq!(lost, loss, "losses of the windows together and of the run");
        }
    }

    /// Counter of what was lost before it could be measured.
    pub(crate) fn lost(&self, name: &str) -> u64 {
        self.outcome.loss.as_ref().map_or(0, |loss| count(loss, name))
    }
}

/// `received` = `measured` + the sum of `not_measured`.
#[track_caller]
fn accounted_for(packets: &PacketCounts, what: &str) {
    assert_eq!(packets.received, packets.measured + packets.not_measured.total(), "{what}: {packets:?}");
}

/// One of the counters; 0 where it is not there.
pub(crate) fn count(counters: &Counters, name: &str) -> u64 {
    counters.get(name)
}

/// Frames in a form that does not hang on the order of counters.
pub(crate) fn shown(packets: &PacketCounts) -> String {
    let named = |counters: &Counters| format!("{:?}", counters.nonzero().collect::<BTreeMap<_, _>>());
    let PacketCounts { received, measured, not_measured, remarks } = packets;
    format!("{received} {measured} {} {}", named(not_measured), named(remarks))
}

/// All that two runs on the same input must have in common, line by line.
pub(crate) fn answers(run: &Run) -> Vec<String> {
    let ended = &run.outcome.ended;
    let mut lines = run.record_lines();
    lines.extend(run.windows.iter().map(|window| {
        let ClosedWindow { index, span, watched, ended_by, empty_before, packets, loss, .. } = window;
        let ClosedWindow { totals, unplaced, tcp_loss, answers, .. } = window;
        let answers: Vec<_> = answers.iter().map(|answer| (&answer.rows, &answer.status)).collect();
        format!(
            "{index} {span:?} {watched:?} {ended_by:?} {empty_before} {} {:?} {totals:?} {unplaced:?} {tcp_loss:?} {answers:?}",
            shown(packets),
            loss.as_ref().map(Counters::total)
        )
    }));
    let mut rows = run.outcome.records.rows.lock().unwrap_or_else(PoisonError::into_inner).clone();
    rows.sort_unstable();
    lines.extend(rows);
    lines.push(format!(
        "{:?} {} {:?} {:?} {:?} {:?}",
        ended.windows,
        shown(&ended.packets),
        ended.totals,
        ended.flows.seen,
        ended.span,
        ended.tcp_loss
    ));
    lines.push(format!("{:?} {:?}", run.outcome.loss.as_ref().map(Counters::total), run.outcome.stopped));
    lines.push(format!("{:?} {:?}", run.outcome.errors, run.outcome.faults));
    lines
}

/// Fails where two runs differ, showing the first line that does.
#[track_caller]
pub(crate) fn same_answers(expected: &Run, run: &Run, what: &str) {
    let (expected, found) = (answers(expected), answers(run));
    if let Some((expected, found)) = expected.iter().zip(&found).find(|(expected, found)| expected != found) {
        panic!("{what}\nexpected {expected}\n   found {found}");
    }
    assert_eq!(expected.len(), found.len(), "{what}");
}

/// One source of generated traffic.
pub(crate) fn generated(spec: &str, burst: usize) -> Vec<Box<dyn PacketSource>> {
    vec![Box::new(SyntheticSource::open(spec, burst).expect("a good specification"))]
}

/// The same traffic on this many queues of a wire that waits for its readers.
pub(crate) fn on_queues(spec: &str, queues: usize, burst: usize) -> Vec<Box<dyn PacketSource>> {
    let wire = WireSpec { queues, ..WireSpec::default() };
    on_wire(spec, &wire, burst).1
}

/// The same traffic on a wire.
pub(crate) fn on_wire(spec: &str, wire: &WireSpec, burst: usize) -> (Wire, Vec<Box<dyn PacketSource>>) {
    let mut source = SyntheticSource::open(spec, burst).expect("a good specification");
    let trace = Arc::new(Trace::load(&mut source, wire.queues, MEMORY as u64).expect("it fits"));
    let queues = Wire::open("wire", wire, &trace, burst).expect("a good wire");
    let wire = queues[0].wire();
    (wire, queues.into_iter().map(|queue| Box::new(queue) as Box<dyn PacketSource>).collect())
}

/// A source that is treated as live: the clock turns its windows, and the run never waits for a slow reader.
pub(crate) struct Live {
    pub(crate) inner: Box<dyn PacketSource>,
    /// Bursts handed out so far; others may look.
    pub(crate) bursts: Arc<AtomicUsize>,
    /// False if it does not know what it lost.
    pub(crate) counts_losses: bool,
    /// The time base that it has.
    pub(crate) time_base: TimeBase,
    /// It panics instead of handing out more bursts than this.
    pub(crate) dies_after: usize,
}

impl Live {
    pub(crate) fn new(inner: Box<dyn PacketSource>) -> Self {
        let bursts = Arc::default();
        Self { inner, bursts, counts_losses: true, time_base: TimeBase::Clock, dies_after: usize::MAX }
    }
}

impl PacketSource for Live {
    fn rx_burst(&mut self) -> Result<Poll<'_>, SourceError> {
        assert!(self.bursts.fetch_add(1, Relaxed) < self.dies_after, "this source dies here");
        self.inner.rx_burst()
    }
    fn time_base(&self) -> TimeBase {
        self.time_base
    }
    fn name(&self) -> &str {
        "live"
    }
    fn lost(&mut self) -> Option<Vec<SourceCounter>> {
        self.counts_losses.then(|| vec![("imissed", 3 * self.bursts.load(Relaxed) as u64)])
    }
}

/// A plan by the design's name, on no cores in particular.
pub(crate) fn plan(design: &str) -> ResolvedDesign {
    let (name, threads) = design.split_once('/').unwrap_or((design, ""));
    let cores = threads.parse().ok().map(engine::Cores::Count);
    let machine: Vec<_> = (0..64).collect();
    let design = name.parse().expect("a design");
    let plan = ResolvedDesign::new(Some(design), cores.as_ref(), queues_of(name, threads), &machine)
        .expect("possible");
    ResolvedDesign { cores: Vec::new(), ..plan }
}

/// Queues that a design by this name takes.
fn queues_of(name: &str, threads: &str) -> usize {
    match name {
        "rss" => threads.parse().unwrap_or(1),
        _ => name.split_once('x').and_then(|(queues, _)| queues.parse().ok()).unwrap_or(1),
    }
}

/// Packets, bytes and bytes on the wire by key.
pub(crate) fn sums(run: &Run) -> BTreeMap<String, [u64; 3]> {
    let mut sums: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for (_, record) in run.records() {
        let sum = sums.entry(format!("{:?}", record.key)).or_default();
        let own = [record.total_count, record.total_byte, record.wire_byte];
        sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
    }
    sums
}
