//! A run: receivers and workers on their threads, and what they say put together.

use crate::collector::RecordSink;
use crate::config::Config;
use crate::cooperative::Cooperative;
use crate::cores;
use crate::design::{Design, Plan, State};
use crate::finish::{Finish, Receiving};
use crate::gate::Gate;
use crate::hand_over::{Fan, HandOver};
use crate::hardware::Counting;
use crate::keeping::{Keeping, Keepings, Sealed, Tables};
use crate::lane::{Inbox, Lane, Order, Parcel};
use crate::merger::{Ended, Merger, RunEnd};
use crate::poller::{Ends, Events, Poller, PollerEnd};
use crate::quiet::Quiet;
use crate::receiver::{RING_FULL, ReceiverEnd, WORKER_FAILED};
use crate::shared::Shared;
use crate::steps::{Role, Steps, Stopwatch};
use crate::tally::Tally;
use crate::window::WindowHeader;
use crate::window_gate::{Seat, WindowGate};
use crate::worker::{Worker, WorkerEnd};
use crate::worker_tasks::WorkerTasks;
use port::{Filter, PacketSource, SourceError, TimeBase};
use record::report::{Counters, PacketCounts, WindowReport};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use summary::sketch::SketchError;
use summary::{OutOfMemory, Parts, prefetch_for_writing};
use task::{Desk, Emptied, TaskStates, Tasks};

/// How long a live source's worker may leave its ring as it is before it counts as failed. A replay waits for its workers as
/// long as they live: they may be waiting for a slow output.
const STALLED: Duration = Duration::from_secs(10);

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Frames received.
    pub received: u64,
    /// Flows in the tables.
    pub flows: u64,
    /// Bytes of the sources read.
    pub done_bytes: u64,
    /// Bytes there are, where that is known.
    pub total_bytes: Option<u64>,
}

/// Who watches a run, on the thread that called: with one thread that is the measuring one, so it must not block for long.
pub trait Observer {
    /// A window is closed. False where the report could not be passed on.
    fn window(&mut self, report: WindowReport) -> bool;
    /// Comes every some thousand bursts, and when nothing arrives.
    fn progress(&mut self, snapshot: Snapshot);
    /// A line for the user.
    fn warning(&mut self, line: String);
}

/// Why a run cannot begin.
#[derive(Debug)]
pub enum StartError {
    /// No memory for flow tables.
    Tables(OutOfMemory),
    /// No memory for tasks.
    Tasks(SketchError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tables(error) => error.fmt(f),
            Self::Tasks(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StartError {}

impl From<OutOfMemory> for StartError {
    fn from(error: OutOfMemory) -> Self {
        Self::Tables(error)
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome<R> {
    /// What was measured.
    pub ended: Ended,
    /// What the sources and rings lost; `None` where a source cannot know.
    pub loss: Option<Counters>,
    /// How often links were found to have gone down; `None` where no source has a link.
    pub link_downs: Option<u64>,
    /// What went wrong with sources.
    pub errors: Vec<SourceError>,
    /// Receivers and workers that failed, one line each.
    pub faults: Vec<String>,
    /// True where `stop` ended it.
    pub stopped: bool,
    /// Reports that the observer could not pass on.
    pub unreported: u64,
    /// Time that it took.
    pub elapsed: Duration,
    /// Where the time of each thread went, receivers first, if [`Config::timed`] asked for it.
    pub steps: Vec<Steps>,
    /// The record sink, to be finished.
    pub records: R,
}

/// Measures `sources`, all of the same time base, by a plan made for as many queues: each source is one. With one receiver
/// replays go one after the other and live sources in turn; several receivers share the sources out. The plan must have
/// no objection to the configuration ([`Plan::check`]).
///
/// # Errors
/// Where tables or tasks cannot be made; all else is in the [`Outcome`].
pub fn run<R: RecordSink + Send + 'static>(
    sources: &mut [Box<dyn PacketSource>],
    filter: Option<&Filter>,
    config: &Config,
    plan: &Plan,
    stop: &AtomicBool,
    records: R,
    observer: &mut dyn Observer,
) -> Result<Outcome<R>, StartError> {
    debug_assert_eq!(plan.check(config), Ok(()));
    let config = &Config { parts: Parts { shares: plan.merges(), ..config.parts }, ..config.clone() };
    let keepings = Keepings::new(plan, config, plan.counting())?;
    let quiet = &Quiet::new(plan.receivers);
    let common =
        Common { filter, config, plan, stop, quiet, merges: plan.merges(), time_base: time_base(sources) };
    common.run(sources, keepings, records, observer)
}

/// The same with structures of the caller's in the place of flow tables, one for each of [`Plan::counting`]. There are no
/// records then, and packets are all that windows count.
///
/// # Errors
/// As [`run`].
pub fn run_tallies<R: RecordSink + Send + 'static>(
    sources: &mut [Box<dyn PacketSource>],
    config: &Config,
    plan: &Plan,
    records: R,
    observer: &mut dyn Observer,
    tallies: Vec<Box<dyn Tally>>,
) -> Result<Outcome<R>, StartError> {
    let (stop, quiet) = (&AtomicBool::new(false), &Quiet::new(plan.receivers));
    let common =
        Common { filter: None, config, plan, stop, quiet, merges: false, time_base: time_base(sources) };
    common.run(sources, Keepings::of_tallies(tallies), records, observer)
}

fn time_base(sources: &[Box<dyn PacketSource>]) -> TimeBase {
    sources.first().map_or(TimeBase::Packets, |source| source.time_base())
}

/// What every thread of a run is told.
#[derive(Clone, Copy)]
struct Common<'a> {
    filter: Option<&'a Filter>,
    config: &'a Config,
    plan: &'a Plan,
    stop: &'a AtomicBool,
    quiet: &'a Quiet,
    /// Flows are put together when a window closes.
    merges: bool,
    time_base: TimeBase,
}

impl<'a> Common<'a> {
    fn run<R: RecordSink + Send + 'static>(
        self,
        sources: &mut [Box<dyn PacketSource>],
        keepings: Keepings,
        records: R,
        observer: &mut dyn Observer,
    ) -> Result<Outcome<R>, StartError> {
        let Self { config, plan, time_base, .. } = self;
        let began = Instant::now();
        let total_bytes = sources.iter().map(|source| source.progress()?.total).sum();
        let mut merger =
            Merger::new(plan.receivers, plan.counting(), config.key, config.top, config.parts.loss);
        let mut tables: Vec<_> = keepings
            .workers
            .into_iter()
            .map(|keeping| Worker::new(keeping, config, time_base, records.sibling()))
            .collect();
        let mut merging = None;
        if self.merges {
            merger = merger.merging(keepings.shared.is_some());
            let keeping = Keeping::Own(Box::new(Tables::new(config, &config.limits)?));
            merging = Some(Merging {
                worker: Worker::new(keeping, config, time_base, records.sibling()),
                spares: keepings.spares,
                shared: keepings.shared.clone(),
            });
        }
        let (desk, spares) = match &config.tasks {
            None => (None, Vec::new()),
            Some(tasks) => {
                let spares = set_tasks(tasks, &mut tables).map_err(StartError::Tasks)?;
                (Some(Desk::new(tasks.clone(), tables.len())), spares)
            }
        };
        let mut hub = Hub {
            merger,
            desk,
            workers_each: plan.workers.max(1),
            spares,
            merging,
            end: RunEnd::default(),
            observer,
            records,
            config,
            received: vec![(0, 0); plan.receivers],
            so_far: (0..plan.receivers).map(|_| None).collect(),
            total_bytes,
            unreported: 0,
            link_downs: None,
            errors: Vec::new(),
            faults: Vec::new(),
            stopped: false,
            steps: Vec::new(),
        };
        match tables.pop() {
            // What is merged is merged beside, and tasks are answered beside.
            Some(worker) if plan.threads() == 1 && !self.merges && config.tasks.is_none() => {
                self.on_this_thread(sources, worker, &mut hub);
            }
            worker => {
                tables.extend(worker);
                self.on_threads(sources, tables, keepings.shared, &mut hub);
            }
        }
        Ok(hub.finish(began))
    }

    fn on_this_thread<R: RecordSink>(
        self,
        sources: &mut [Box<dyn PacketSource>],
        worker: Worker<R>,
        hub: &mut Hub<'_, R>,
    ) {
        if let Some(warning) = self.pin(0) {
            hub.observer.warning(warning);
        }
        let (end, worker) = self.receive(sources, worker, Local(hub), None);
        let worker = worker.end(end.counted.now);
        hub.worker_ended(0, worker);
        hub.receiver_ended(0, end);
    }

    /// What ends a receiver, to be asked for once each.
    fn ends(self) -> Ends<'a> {
        Ends { stop: self.stop, quiet: self.quiet.place() }
    }

    /// Receives and counts on the calling thread.
    fn receive<R: RecordSink>(
        self,
        sources: &mut [Box<dyn PacketSource>],
        worker: Worker<R>,
        events: impl Events,
        seat: Option<Seat<'_>>,
    ) -> (PollerEnd, Worker<R>) {
        let Self { filter, config, time_base, .. } = self;
        let ends = self.ends();
        if self.plan.design == Design::Cooperative {
            let down = Cooperative::new(worker, config.burst);
            let (end, down, _) =
                Poller::new(time_base, down, events, config, filter, ends, seat).run(sources);
            (end, down.into_worker())
        } else {
            let (end, down, _) =
                Poller::new(time_base, worker, events, config, filter, ends, seat).run(sources);
            (end, down)
        }
    }

    fn on_threads<R: RecordSink + Send + 'static>(
        self,
        sources: &mut [Box<dyn PacketSource>],
        tables: Vec<Worker<R>>,
        shared: Option<Arc<Shared>>,
        hub: &mut Hub<'_, R>,
    ) {
        let (events, received) = channel();
        let mut tables = tables.into_iter();
        let receivers = self.plan.receivers;
        let mut queues: Vec<_> = shares(sources, receivers).collect();
        let rings = ring_bytes(self.plan, self.config);
        // They count into the run's memory even where that leaves less for the tables than they would like.
        let taken = if self.config.limits.take_bytes(rings) { rings } else { 0 };
        let finish = Finish::new(receivers, self.time_base);
        let given_up = shared.clone();
        let window_gate = self.merges.then(|| WindowGate::new(receivers));
        // A live source goes on whether anybody polls it or not: nobody begins before all are there.
        let gate = Gate::new(self.plan.threads());
        thread::scope(|scope| {
            for (number, queues) in queues.iter_mut().enumerate() {
                let mut threads: Vec<Box<dyn FnOnce() + Send + '_>> = Vec::new();
                let receiving = finish.receiving();
                let seat = window_gate.as_ref().map(|gate| {
                    let (coming, events, shared) = (events.clone(), events.clone(), shared.clone());
                    let comes = move |window| send(&coming, Event::Comes(number, window));
                    gate.seat(number, comes, move |window| {
                        shared.iter().for_each(|shared| shared.change());
                        send(&events, Event::Over(window));
                    })
                });
                let events = Remote {
                    events: events.clone(),
                    receiver: number,
                    first_worker: number * self.plan.workers.max(1),
                };
                if self.plan.workers == 0 {
                    let worker = tables.next();
                    let run = move || self.receiver_thread(number, queues, worker, (receiving, seat), events);
                    threads.push(Box::new(run));
                } else {
                    let hand_over = HandOver {
                        parcels: self.config.hand_over_parcels,
                        in_lock_step: self.plan.design == Design::Sync,
                        // In lock step the receiver waits for its workers anyway, for what it told them in between too.
                        waits: self.time_base == TimeBase::Packets || self.plan.design == Design::Sync,
                        // Where flows are merged, workers wait for that, however long it takes.
                        gives_up_after: (self.time_base == TimeBase::Clock && !self.merges)
                            .then_some(STALLED),
                        split: self.plan.split,
                    };
                    let (sender, first) = (events.events.clone(), events.first_worker);
                    let gave_up = Box::new(move |at| send(&sender, Event::WorkerFailed(first + at)));
                    let (fan, inboxes) =
                        Fan::new(self.plan.workers, hand_over, gave_up, self.config, self.time_base);
                    for (at, (inbox, worker)) in inboxes.into_iter().zip(&mut tables).enumerate() {
                        let number = events.first_worker + at;
                        let sender = events.events.clone();
                        threads.push(Box::new(move || self.worker_thread(number, inbox, worker, &sender)));
                    }
                    threads.push(Box::new(move || {
                        self.fan_thread(number, queues, fan, (receiving, seat), events)
                    }));
                }
                for thread in threads {
                    let gate = &gate;
                    let begin = move || {
                        if gate.pass() {
                            thread();
                        }
                    };
                    if let Err(error) = thread::Builder::new().spawn_scoped(scope, begin) {
                        gate.close();
                        hub.faults.push(format!(
                            "cannot start {} threads: {error}; nothing was measured",
                            self.plan.threads()
                        ));
                        return;
                    }
                }
            }
            drop(events);
            let listening = catch_unwind(AssertUnwindSafe(|| hub.listen(&received)));
            if let Err(panic) = listening {
                // Workers wait for what is merged and emptied here: nobody must wait for it any more.
                hub.merging = None;
                hub.spares.clear();
                given_up.iter().for_each(|shared| shared.give_up());
                resume_unwind(panic);
            }
        });
        self.config.limits.give_back_bytes(taken);
    }

    /// Keeps the thread of this number on its core; what to say where that fails.
    fn pin(&self, thread: usize) -> Option<String> {
        self.plan.cores.get(thread).and_then(|&core| cores::pin(core).err())
    }

    /// A receiver that counts what it receives.
    fn receiver_thread<R: RecordSink + Send + 'static>(
        self,
        number: usize,
        queues: &mut [Box<dyn PacketSource>],
        worker: Option<Worker<R>>,
        (receiving, seat): (Receiving<'_>, Option<Seat<'_>>),
        mut events: Remote<R>,
    ) {
        let Some(mut worker) = worker else { return };
        let sender = events.events.clone();
        worker.set_outlet(outlet(number, &sender), Arc::default());
        self.pin(number).into_iter().for_each(|line| events.warning(line));
        let work = AssertUnwindSafe(|| {
            let (end, worker) = self.receive(queues, worker, events, seat);
            // The others, whose end is waited for, may wait for answers that only lack this one.
            send(&sender, Event::TasksOver(number));
            let worker = worker.end(receiving.end(end.counted.now));
            (worker, end)
        });
        send(
            &sender,
            match catch_unwind(work) {
                Ok((worker, end)) => {
                    send(&sender, Event::WorkerEnded(number, Box::new(worker)));
                    Event::ReceiverEnded(number, Box::new(end))
                }
                Err(_) => {
                    send(&sender, Event::WorkerFailed(number));
                    Event::ReceiverFailed(number)
                }
            },
        );
    }

    /// A receiver that hands over to workers.
    fn fan_thread<R: RecordSink + Send + 'static>(
        self,
        number: usize,
        queues: &mut [Box<dyn PacketSource>],
        fan: Fan,
        (receiving, seat): (Receiving<'_>, Option<Seat<'_>>),
        mut events: Remote<R>,
    ) {
        let Self { filter, config, time_base, .. } = self;
        let ends = self.ends();
        let sender = events.events.clone();
        self.pin(number).into_iter().for_each(|line| events.warning(line));
        let work = AssertUnwindSafe(|| {
            let poller = Poller::new(time_base, fan, events, config, filter, ends, seat);
            let (end, mut fan, mut events) = poller.run(queues);
            if config.tasks.is_some() {
                // As in `receiver_thread`, once its workers have said all.
                crate::receiver::Downstream::settle(&mut fan);
                for worker in crate::receiver::Downstream::take_failed(&mut fan) {
                    events.worker_failed(worker);
                }
                events.tasks_over(self.plan.workers);
            }
            fan.end(receiving.end(end.counted.now));
            for worker in crate::receiver::Downstream::take_failed(&mut fan) {
                events.worker_failed(worker);
            }
            end
        });
        send(
            &sender,
            match catch_unwind(work) {
                Ok(end) => Event::ReceiverEnded(number, Box::new(end)),
                Err(_) => Event::ReceiverFailed(number),
            },
        );
    }

    /// A worker that counts what a receiver hands over.
    fn worker_thread<R: RecordSink + Send + 'static>(
        self,
        number: usize,
        inbox: Inbox,
        worker: Worker<R>,
        events: &Sender<Event<R>>,
    ) {
        if let Some(line) = self.pin(self.plan.receivers + number) {
            send(events, Event::Warning(line));
        }
        let work = AssertUnwindSafe(|| self.work(number, inbox, worker, events));
        let ended = catch_unwind(work).ok().flatten();
        send(
            events,
            match ended {
                Some(end) => Event::WorkerEnded(number, Box::new(end)),
                None => Event::WorkerFailed(number),
            },
        );
    }

    /// `None` where the receiver is gone.
    fn work<R: RecordSink + Send + 'static>(
        self,
        number: usize,
        mut inbox: Inbox,
        mut worker: Worker<R>,
        events: &Sender<Event<R>>,
    ) -> Option<WorkerEnd<R>> {
        worker.set_outlet(outlet(number, events), inbox.awaits_others());
        let mut last = 0;
        let mut stopwatch = Stopwatch::new(self.config.timed);
        let mut steps = Steps { role: Role::Worker, ..Steps::default() };
        let began = Instant::now();
        let counting = stopwatch.is_on().then(Counting::start).flatten();
        let has_ended = inbox.serve(|parcel| {
            steps.packets += parcel.packets();
            stopwatch.time(&mut steps.count, || self.parcel(&mut worker, parcel));
            last = parcel.now;
            while let Some(sealed) = crate::receiver::Downstream::take_sealed(&mut worker) {
                send(events, Event::Part(number, Box::new(sealed)));
            }
        });
        if stopwatch.is_on() {
            steps.elapsed = began.elapsed();
            steps.hardware = counting.and_then(Counting::read);
            send(events, Event::Steps(steps));
        }
        has_ended.then(|| worker.end(last))
    }

    fn parcel<R: RecordSink>(&self, worker: &mut Worker<R>, parcel: &Parcel) {
        let Parcel { v4, v6, now, order } = parcel;
        // As the receiver writes there next: asked for to be read, its own copies would have to be called back then.
        prefetch_for_writing(v4.packets());
        prefetch_for_writing(v6.packets());
        worker.expect(v4.packets(), v6.packets());
        worker.count(v4, v6, *now);
        match (order, self.time_base) {
            (Order::GoOn, TimeBase::Packets) => {
                worker.sweep_replay(v4.packets().len() + v6.packets().len(), *now);
            }
            (Order::GoOn, TimeBase::Clock) => worker.sweep_live(*now),
            (Order::Turn(window), _) => worker.turn(*window, *now),
            (Order::Idle, _) => worker.idle(),
            (Order::End, _) => {}
        }
    }
}

/// Gives each worker tasks, and says where their emptied states go back to.
fn set_tasks<R: RecordSink>(
    tasks: &Tasks,
    workers: &mut [Worker<R>],
) -> Result<Vec<Sender<Box<TaskStates>>>, SketchError> {
    let mut spares = Vec::new();
    for worker in workers {
        let (back, spare) = channel();
        let _ = back.send(Box::new(tasks.states()?));
        worker.set_tasks(Some(WorkerTasks::new(tasks, Box::new(tasks.states()?), spare)));
        spares.push(back);
    }
    Ok(spares)
}

/// Where what a worker's tasks counted goes.
fn outlet<R: Send + 'static>(worker: usize, events: &Sender<Event<R>>) -> crate::worker_tasks::Outlet {
    let events = events.clone();
    Box::new(move |window, states| send(&events, Event::Tasks(worker, window, states)))
}

/// Bytes that tables begin with where flows are merged ([`Plan::merges`]), for whoever looks after the memory of a run: four
/// arenas of 2 MiB for each address family, twice a worker where its state is its own, and once where they are merged.
pub fn merging_bytes(plan: &Plan) -> usize {
    const TABLES: usize = 2 * 4 * (2 << 20);
    match (plan.merges(), plan.state) {
        (false, _) => 0,
        (true, State::Separate) => (2 * plan.counting() + 1) * TABLES,
        (true, State::Shared) => TABLES,
    }
}

/// Bytes of the rings between receivers and workers, for whoever looks after the memory of a run.
pub fn ring_bytes(plan: &Plan, config: &Config) -> usize {
    let workers = plan.receivers * plan.workers;
    workers.saturating_mul(Lane::bytes(config.hand_over_parcels, config.burst))
}

/// The sources of each receiver.
fn shares(
    sources: &mut [Box<dyn PacketSource>],
    receivers: usize,
) -> impl Iterator<Item = &mut [Box<dyn PacketSource>]> {
    let (least, more) = (sources.len() / receivers, sources.len() % receivers);
    let mut rest = sources;
    (0..receivers).map(move |number| {
        let count = least + usize::from(number < more);
        let (share, behind) = std::mem::take(&mut rest).split_at_mut(count);
        rest = behind;
        share
    })
}

/// What threads say to the one that called.
enum Event<R> {
    /// Receiver, its first worker.
    Header(usize, usize, Box<WindowHeader>),
    /// Worker.
    Part(usize, Box<Sealed>),
    /// Worker, window, what its tasks counted.
    Tasks(usize, u64, Box<TaskStates>),
    /// Receiver: it waits to enter a window, and its workers have said all of those before.
    Comes(usize, u64),
    /// Worker: its tasks have counted all that there is.
    TasksOver(usize),
    /// Nothing comes any more of the window of this number, whose flows are merged.
    Over(u64),
    /// Receiver, frames, bytes of its sources.
    Progress(usize, u64, u64),
    Warning(String),
    Steps(Steps),
    WorkerEnded(usize, Box<WorkerEnd<R>>),
    WorkerFailed(usize),
    ReceiverEnded(usize, Box<PollerEnd>),
    ReceiverFailed(usize),
}

/// Nobody listens any more only where the calling thread is gone.
fn send<R>(events: &Sender<Event<R>>, event: Event<R>) {
    let _ = events.send(event);
}

/// Events of a receiver on a thread of its own.
struct Remote<R> {
    events: Sender<Event<R>>,
    receiver: usize,
    first_worker: usize,
}

impl<R> Remote<R> {
    /// Its workers' tasks have counted all that there is.
    fn tasks_over(&self, workers: usize) {
        (0..workers).for_each(|at| send(&self.events, Event::TasksOver(self.first_worker + at)));
    }
}

impl<R> Events for Remote<R> {
    fn header(&mut self, header: WindowHeader) {
        send(&self.events, Event::Header(self.receiver, self.first_worker, Box::new(header)));
    }
    fn part(&mut self, sealed: Sealed) {
        send(&self.events, Event::Part(self.first_worker, Box::new(sealed)));
    }
    fn worker_failed(&mut self, worker: usize) {
        send(&self.events, Event::WorkerFailed(self.first_worker + worker));
    }
    fn progress(&mut self, received: u64, done_bytes: u64) {
        send(&self.events, Event::Progress(self.receiver, received, done_bytes));
    }
    fn warning(&mut self, line: String) {
        send(&self.events, Event::Warning(line));
    }
}

/// Events of the calling thread's own receiver.
struct Local<'h, 'o, R>(&'h mut Hub<'o, R>);

impl<R: RecordSink> Events for Local<'_, '_, R> {
    fn header(&mut self, header: WindowHeader) {
        self.0.merger.header(0, 0, header);
        self.0.pass_reports();
    }
    fn part(&mut self, sealed: Sealed) {
        self.0.sealed(0, sealed);
        self.0.pass_reports();
    }
    fn worker_failed(&mut self, _: usize) {}
    fn progress(&mut self, received: u64, done_bytes: u64) {
        self.0.progress(0, received, done_bytes);
    }
    fn warning(&mut self, line: String) {
        self.0.observer.warning(line);
    }
}

/// Packets that tasks could not count: what sources lost, and what a ring or a worker that failed did. `None` where a source cannot
/// know.
fn lost_before_tasks(packets: &PacketCounts, loss: Option<&Counters>) -> Option<u64> {
    let of = |name| packets.not_measured.0.iter().filter(move |(n, _)| *n == name).map(|(_, count)| count);
    let refused: u64 = of(RING_FULL).chain(of(WORKER_FAILED)).sum();
    loss.map(|loss| loss.total() + refused)
}

/// Where shares of flows are put together.
struct Merging<R> {
    worker: Worker<R>,
    /// Where emptied tables go back to, by worker.
    spares: Vec<Sender<Box<Tables>>>,
    shared: Option<Arc<Shared>>,
}

/// Where everything comes together.
struct Hub<'a, R> {
    merger: Merger,
    /// Where tasks are answered.
    desk: Option<Desk>,
    /// Workers of each receiver, itself where it has none.
    workers_each: usize,
    /// Where emptied states of tasks go back to, by worker.
    spares: Vec<Sender<Box<TaskStates>>>,
    merging: Option<Merging<R>>,
    end: RunEnd,
    observer: &'a mut dyn Observer,
    records: R,
    config: &'a Config,
    /// Frames and bytes of each receiver.
    received: Vec<(u64, u64)>,
    /// What the windows of each receiver that still goes on add up to: all that there is of it if it fails.
    so_far: Vec<Option<ReceiverEnd>>,
    total_bytes: Option<u64>,
    unreported: u64,
    link_downs: Option<u64>,
    errors: Vec<SourceError>,
    faults: Vec<String>,
    stopped: bool,
    steps: Vec<Steps>,
}

impl<R: RecordSink> Hub<'_, R> {
    /// Takes what the threads say until all have ended.
    fn listen(&mut self, events: &Receiver<Event<R>>) {
        for event in events {
            match event {
                Event::Header(receiver, first_worker, header) => {
                    self.so_far[receiver] = Some(match self.so_far[receiver].take() {
                        None => ReceiverEnd::of(&header),
                        Some(sum) => sum.plus(ReceiverEnd::of(&header)),
                    });
                    self.merger.header(receiver, first_worker, *header);
                }
                Event::Part(worker, sealed) => self.sealed(worker, *sealed),
                Event::Tasks(worker, window, states) => {
                    let emptied = self.desk.as_mut().map(|desk| desk.part(worker, window, states));
                    self.give_back(emptied);
                }
                Event::Comes(receiver, window) => {
                    let emptied = self.desk.as_mut().map(|desk| {
                        let workers = self.workers_each * receiver..self.workers_each * (receiver + 1);
                        workers.flat_map(|worker| desk.comes(worker, window)).collect()
                    });
                    self.give_back(emptied);
                }
                Event::TasksOver(worker) => self.tasks_over(worker),
                Event::Over(window) => self.over(window),
                Event::Progress(receiver, received, done) => self.progress(receiver, received, done),
                Event::Warning(line) => self.observer.warning(line),
                Event::Steps(steps) => self.steps.push(steps),
                Event::WorkerEnded(worker, end) => self.worker_ended(worker, *end),
                Event::WorkerFailed(worker) => {
                    let emptied = self.desk.as_mut().map(|desk| desk.failed(worker));
                    self.give_back(emptied);
                    if self.merger.worker_failed(worker) {
                        self.faults.push(format!(
                            "worker {worker} failed; the others went on. Packets that it had not reported are counted as \
                             worker_failed, its records are missing"
                        ));
                    }
                }
                Event::ReceiverEnded(receiver, end) => self.receiver_ended(receiver, *end),
                Event::ReceiverFailed(receiver) => {
                    self.merger.receiver_failed(receiver);
                    if let Some(counted) = self.so_far[receiver].take() {
                        self.end.receiver(counted);
                    }
                    let (received, _) = self.received[receiver];
                    self.faults.push(format!(
                        "receiver {receiver} failed after about {received} frames; those since its last window are in no \
                         count"
                    ));
                }
            }
            self.pass_reports();
        }
    }

    /// Nothing comes of this worker's tasks any more.
    fn tasks_over(&mut self, worker: usize) {
        let emptied = self.desk.as_mut().map(|desk| desk.gone(worker));
        self.give_back(emptied);
    }

    /// A worker that has ended does not need its memory any more.
    fn give_back(&mut self, emptied: Option<Vec<Emptied>>) {
        for (worker, states) in emptied.into_iter().flatten() {
            let _ = self.spares[worker].send(states);
        }
    }

    /// A worker has sealed its flows of a window.
    fn sealed(&mut self, worker: usize, sealed: Sealed) {
        let Sealed { window, part, shares } = sealed;
        if let (Some(mut shares), Some(merging)) = (shares, &mut self.merging) {
            match self.merger.is_heard(worker) {
                true => merging.worker.merge(&mut shares),
                false => shares.forget(),
            }
            // It may have failed meanwhile.
            let _ = merging.spares[worker].send(shares);
        }
        self.merger.part(worker, window, part);
    }

    /// All that there is of a window has been merged, or lies in the shared tables.
    fn over(&mut self, window: u64) {
        let Some(merging) = &mut self.merging else { return };
        if let Some(shared) = &merging.shared {
            merging.worker.merge_shared(shared);
        }
        if let Some(part) = merging.worker.close(window) {
            self.merger.part(self.merger.merged(), window, part);
        }
    }

    fn worker_ended(&mut self, worker: usize, end: WorkerEnd<R>) {
        for sealed in end.sealed {
            self.sealed(worker, sealed);
        }
        self.end.worker(end.records_ended, end.active, end.memory_bytes, end.other);
        self.records.absorb(end.records);
        self.merger.worker_ended(worker);
        // The one that merges counts no tasks.
        if worker < self.spares.len() {
            self.tasks_over(worker);
        }
    }

    fn receiver_ended(&mut self, receiver: usize, end: PollerEnd) {
        let PollerEnd { counted, errors, stopped, link_downs, steps } = end;
        self.link_downs = self.link_downs.into_iter().chain(link_downs).reduce(|a, b| a + b);
        self.steps.extend(steps);
        self.end.receiver(counted);
        self.errors.extend(errors);
        self.stopped |= stopped;
        self.merger.receiver_ended(receiver);
    }

    fn progress(&mut self, receiver: usize, received: u64, done_bytes: u64) {
        self.received[receiver] = (received, done_bytes);
        self.observer.progress(Snapshot {
            received: self.received.iter().map(|(received, _)| received).sum(),
            flows: self.config.limits.flows_used() as u64,
            done_bytes: self.received.iter().map(|(_, bytes)| bytes).sum(),
            total_bytes: self.total_bytes,
        });
        self.records.warnings().into_iter().for_each(|line| self.observer.warning(line));
    }

    fn pass_reports(&mut self) {
        while let Some((window, mut report, account)) = self.merger.take_report() {
            if let Some(desk) = &mut self.desk {
                report.tasks = desk.report(window, lost_before_tasks(&report.packets, report.loss.as_ref()));
            }
            self.records.account(account);
            self.unreported += u64::from(!self.observer.window(report));
        }
    }

    fn finish(mut self, began: Instant) -> Outcome<R> {
        if let Some(merging) = self.merging.take() {
            self.worker_ended(self.merger.merged(), merging.worker.end(0));
        }
        self.pass_reports();
        if let Some(other) = self.end.other.take() {
            self.records.record(other);
        }
        let loss = self.end.loss.take().flatten();
        // They came as threads ended.
        self.steps.sort_by_key(|steps| steps.role);
        Outcome {
            ended: self.merger.end(self.end),
            loss,
            link_downs: self.link_downs,
            errors: self.errors,
            faults: self.faults,
            stopped: self.stopped,
            unreported: self.unreported,
            elapsed: began.elapsed(),
            steps: self.steps,
            records: self.records,
        }
    }
}
