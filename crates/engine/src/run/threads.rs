//! The threads of a run: a single one for everything, or receivers and workers, each on its core.

use super::events::{EventForwarder, ThreadEvent, outlet, send};
use super::hub::{MergeHub, MergeWorker};
use super::outcome::{Observer, RunOutcome, StartError};
use crate::collector::RecordSink;
use crate::config::MeasurementConfig;
use crate::control::Control;
use crate::cooperative::Cooperative;
use crate::cores;
use crate::design::Design;
use crate::end_barrier::{EndBarrier, Receiving};
use crate::hand_over::{Fan, HandOver};
use crate::hardware::PerfCounters;
use crate::idle_vote::IdleVote;
use crate::ids::{ReceiverId, WorkerId};
use crate::keeping::{Keeping, Keepings};
use crate::memory::ring_bytes;
use crate::plan::ResolvedDesign;
use crate::poller::{Ends, Poller, PollerEnd, ReceiverEvents};
use crate::receiver::Downstream;
use crate::ring::{Parcel, WorkerCommand, WorkerRings};
use crate::shared::SharedTableSets;
use crate::start_barrier::StartBarrier;
use crate::steps::{StepTimes, Stopwatch, ThreadRole};
use crate::tables::FlowTables;
use crate::thread_setup::ThreadSetup;
use crate::window_barrier::{Seat, WindowBarrier};
use crate::worker::{Worker, WorkerEnd};
use crate::worker_tasks::WorkerTasks;
use arena::prefetch_for_writing;
use port::{Filter, PacketSource, TimeBase};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The longest time that a live source's worker may leave its ring as it is before it counts as failed. A replay waits for its workers as
/// long as they live: they may be waiting for a slow output.
const STALLED: Duration = Duration::from_secs(10);

/// The data that every thread of a run is given.
#[derive(Clone, Copy)]
pub(super) struct ThreadContext<'a> {
    pub(super) filter: Option<&'a Filter>,
    pub(super) config: &'a MeasurementConfig,
    pub(super) plan: &'a ResolvedDesign,
    pub(super) stop: &'a AtomicBool,
    pub(super) quiet: &'a IdleVote,
    /// Flows are merged when a window closes.
    pub(super) merges: bool,
    pub(super) time_base: TimeBase,
}

/// The places that a receiving thread releases when it ends or fails: others wait for both.
type ReceiverGuards<'a> = (Receiving<'a>, Option<Seat<'a>>);

/// The work of one thread.
type ThreadBody<'a> = Box<dyn FnOnce() + Send + 'a>;

impl<'a> ThreadContext<'a> {
    /// Measures `sources` until they end or the run does.
    pub(super) fn measure<R: RecordSink + Send + 'static>(
        self,
        sources: &mut [Box<dyn PacketSource>],
        keepings: Keepings,
        records: R,
        observer: &mut dyn Observer,
    ) -> Result<RunOutcome<R>, StartError> {
        let Self { config, plan, time_base, .. } = self;
        let began = Instant::now();
        let total_bytes = sources.iter().map(|source| source.progress()?.total).sum();
        let Keepings { workers, spares, shared } = keepings;
        let worker = |keeping, records| Worker::new(keeping, config, time_base, records);
        let mut workers: Vec<_> =
            workers.into_iter().map(|keeping| worker(keeping, records.sibling())).collect();
        if let [_] = workers[..] {
            workers = workers.into_iter().map(Worker::make_only).collect();
        }
        let merging = if self.merges {
            let keeping = Keeping::Own(Box::new(FlowTables::new(config, &config.limits)?));
            let shared = shared.clone();
            Some(MergeWorker { worker: worker(keeping, records.sibling()).make_only(), spares, shared })
        } else {
            None
        };
        let mut hub = MergeHub::new(config, plan, total_bytes, records, observer);
        if let Some(merging) = merging {
            hub = hub.merging(merging);
        }
        if let Some(control) = &config.control {
            control.attach(workers.len(), &config.limits).map_err(StartError::Tasks)?;
            control.captures().begin(self.plan.receivers);
            for (number, worker) in workers.iter_mut().enumerate() {
                worker.set_tasks(WorkerTasks::new(control.clone(), WorkerId::new(number)));
            }
        }
        self.on_threads(sources, workers, shared, &mut hub);
        Ok(hub.finish(began))
    }

    fn on_threads<R: RecordSink + Send + 'static>(
        self,
        sources: &mut [Box<dyn PacketSource>],
        workers: Vec<Worker<R>>,
        shared: Option<Arc<SharedTableSets>>,
        hub: &mut MergeHub<'_, R>,
    ) {
        let (events, received) = channel();
        let mut workers = workers.into_iter();
        let receivers = self.plan.receivers;
        let mut queues: Vec<_> = shares(sources, receivers).collect();
        // They are charged to the run's memory even if that leaves less for the tables than they could use.
        let _rings = self.config.limits.lease(ring_bytes(self.plan, self.config));
        let finish = EndBarrier::new(receivers, self.time_base);
        let window_barrier = self.merges.then(|| WindowBarrier::new(receivers));
        // A live source delivers frames whether they are polled or not: no receiver begins before all threads run.
        let barrier = &StartBarrier::new(self.plan.threads());
        thread::scope(|scope| {
            for (number, queues) in queues.iter_mut().enumerate() {
                let receiver = ReceiverId::new(number);
                let seat = window_barrier.as_ref().map(|barrier| {
                    seat(barrier, receiver, &events, (shared.clone(), self.config.control.clone()))
                });
                let places = (finish.receiving(), seat);
                let sender = events.clone();
                let events = EventForwarder {
                    events: events.clone(),
                    receiver,
                    first_worker: receiver.first_worker(self.plan.workers.max(1)),
                };
                let threads = match self.plan.workers {
                    0 => {
                        let worker = workers.next();
                        let work = move || self.receiver_thread(queues, worker, places, events);
                        vec![Box::new(work) as ThreadBody<'_>]
                    }
                    _ => self.cluster(queues, &mut workers, places, events),
                };
                for thread in threads {
                    let sender = sender.clone();
                    let setup = self.config.thread_setup.as_ref();
                    let begin = move || {
                        if let Some(Err(line)) = setup.map(ThreadSetup::run) {
                            send(&sender, ThreadEvent::Warning(line));
                        }
                        if barrier.pass() {
                            thread();
                            send(&sender, ThreadEvent::ThreadEnded(cores::thread_time()));
                        }
                    };
                    if let Err(error) = thread::Builder::new().spawn_scoped(scope, begin) {
                        barrier.close();
                        let threads = self.plan.threads();
                        hub.fault(format!("cannot start {threads} threads: {error}; nothing was measured"));
                        return;
                    }
                }
            }
            drop(events);
            let listening = catch_unwind(AssertUnwindSafe(|| hub.listen(&received)));
            if let Err(panic) = listening {
                hub.give_up();
                resume_unwind(panic);
            }
        });
    }

    /// The threads of a receiver and the workers that it hands over to.
    fn cluster<'t, R: RecordSink + Send + 'static>(
        self,
        queues: &'t mut [Box<dyn PacketSource>],
        workers: &mut impl Iterator<Item = Worker<R>>,
        places: ReceiverGuards<'t>,
        events: EventForwarder<R>,
    ) -> Vec<ThreadBody<'t>>
    where
        'a: 't,
    {
        let (sender, first) = (events.events.clone(), events.first_worker);
        let gave_up = Box::new(move |at| send(&sender, ThreadEvent::WorkerFailed(first.plus(at))));
        let (fan, inboxes) =
            Fan::new(self.plan.workers, self.hand_over(), gave_up, self.config, self.time_base);
        let mut threads: Vec<ThreadBody<'t>> = Vec::new();
        for (at, (inbox, worker)) in inboxes.into_iter().zip(workers).enumerate() {
            let number = first.plus(at);
            let sender = events.events.clone();
            threads.push(Box::new(move || self.worker_thread(number, inbox, worker, &sender)));
        }
        threads.push(Box::new(move || self.fan_thread(queues, fan, places, events)));
        threads
    }

    fn hand_over(self) -> HandOver {
        let in_lock_step = self.plan.design == Design::Sync;
        HandOver {
            batches: self.config.hand_over_batches,
            in_lock_step,
            // In lock step the receiver waits for its workers anyway, including for its orders in between.
            waits: self.time_base == TimeBase::Packets || in_lock_step,
            // If flows are merged, workers wait for that without a time limit.
            gives_up_after: (self.time_base == TimeBase::Clock && !self.merges).then_some(STALLED),
            split: self.plan.split,
        }
    }

    /// Returns what ends a receiver; to be requested once for each.
    fn ends(self) -> Ends<'a> {
        Ends { stop: self.stop, quiet: self.quiet.place() }
    }

    /// Pins the thread of this number to its core; returns a message if that fails.
    fn pin(&self, thread: usize) -> Option<String> {
        self.plan.cores.get(thread).and_then(|&core| cores::pin(core).err())
    }

    /// Receives and counts on the calling thread.
    fn receive<R: RecordSink>(
        self,
        sources: &mut [Box<dyn PacketSource>],
        worker: Worker<R>,
        events: impl ReceiverEvents,
        (receiver, seat): (ReceiverId, Option<Seat<'_>>),
    ) -> (PollerEnd, Worker<R>) {
        let Self { filter, config, time_base, .. } = self;
        let ends = self.ends();
        if self.plan.design == Design::Cooperative {
            let down = Cooperative::new(worker, config.burst);
            let poller = Poller::new(time_base, down, events, config, filter, ends, seat);
            let (end, down, _) = poller.sampling(receiver).run(sources);
            (end, down.into_worker())
        } else {
            let poller = Poller::new(time_base, worker, events, config, filter, ends, seat);
            let (end, down, _) = poller.sampling(receiver).run(sources);
            (end, down)
        }
    }

    /// A receiver that counts what it receives.
    fn receiver_thread<R: RecordSink + Send + 'static>(
        self,
        queues: &mut [Box<dyn PacketSource>],
        worker: Option<Worker<R>>,
        (receiving, seat): ReceiverGuards<'_>,
        mut events: EventForwarder<R>,
    ) {
        let Some(mut worker) = worker else { return };
        let (receiver, counting) = (events.receiver, events.first_worker);
        let sender = events.events.clone();
        worker.set_outlet(outlet(counting, &sender), Arc::default());
        self.pin(receiver.index()).into_iter().for_each(|line| events.warning(line));
        let work = AssertUnwindSafe(|| {
            let (end, mut worker) = self.receive(queues, worker, events, (receiver, seat));
            if self.time_base == TimeBase::Packets {
                // The other threads, whose end is awaited, may be waiting for answers that only lack this
                // one.
                worker.idle();
                while let Some(sealed) = worker.take_sealed() {
                    send(&sender, ThreadEvent::Part(counting, Box::new(sealed)));
                }
                send(&sender, ThreadEvent::Drained(receiver));
            }
            let worker = worker.end(receiving.end(end.counted.now));
            (worker, end)
        });
        let last = match catch_unwind(work) {
            Ok((worker, end)) => {
                send(&sender, ThreadEvent::WorkerEnded(counting, Box::new(worker)));
                ThreadEvent::ReceiverEnded(receiver, Box::new(end))
            }
            Err(_) => {
                send(&sender, ThreadEvent::WorkerFailed(counting));
                ThreadEvent::ReceiverFailed(receiver)
            }
        };
        send(&sender, last);
    }

    /// A receiver that hands over to workers.
    fn fan_thread<R: RecordSink + Send + 'static>(
        self,
        queues: &mut [Box<dyn PacketSource>],
        fan: Fan,
        (receiving, seat): ReceiverGuards<'_>,
        mut events: EventForwarder<R>,
    ) {
        let Self { filter, config, time_base, .. } = self;
        let (ends, receiver) = (self.ends(), events.receiver);
        let sender = events.events.clone();
        self.pin(receiver.index()).into_iter().for_each(|line| events.warning(line));
        let work = AssertUnwindSafe(|| {
            let poller = Poller::new(time_base, fan, events, config, filter, ends, seat);
            let (end, mut fan, mut events) = poller.sampling(receiver).run(queues);
            if config.control.is_some() && time_base == TimeBase::Packets {
                // As in `receiver_thread`.
                fan.idle();
                fan.settle();
                fan.take_failed().into_iter().for_each(|worker| events.worker_failed(worker));
                send(&sender, ThreadEvent::Drained(receiver));
            }
            fan.end(receiving.end(end.counted.now));
            fan.take_failed().into_iter().for_each(|worker| events.worker_failed(worker));
            end
        });
        let last = match catch_unwind(work) {
            Ok(end) => ThreadEvent::ReceiverEnded(receiver, Box::new(end)),
            Err(_) => ThreadEvent::ReceiverFailed(receiver),
        };
        send(&sender, last);
    }

    /// A worker that counts what a receiver hands over.
    fn worker_thread<R: RecordSink + Send + 'static>(
        self,
        number: WorkerId,
        inbox: WorkerRings,
        worker: Worker<R>,
        events: &Sender<ThreadEvent<R>>,
    ) {
        if let Some(line) = self.pin(self.plan.receivers + number.index()) {
            send(events, ThreadEvent::Warning(line));
        }
        let work = AssertUnwindSafe(|| self.work(number, inbox, worker, events));
        let last = match catch_unwind(work).ok().flatten() {
            Some(end) => ThreadEvent::WorkerEnded(number, Box::new(end)),
            None => ThreadEvent::WorkerFailed(number),
        };
        send(events, last);
    }

    /// Works until the receiver ends. Returns `None` if the receiver is gone.
    fn work<R: RecordSink + Send + 'static>(
        self,
        number: WorkerId,
        mut inbox: WorkerRings,
        mut worker: Worker<R>,
        events: &Sender<ThreadEvent<R>>,
    ) -> Option<WorkerEnd<R>> {
        worker.set_outlet(outlet(number, events), inbox.waiting_flag());
        let mut last = 0;
        let mut stopwatch = Stopwatch::new(self.config.timed);
        let mut steps = StepTimes { role: ThreadRole::Worker, ..StepTimes::default() };
        let began = Instant::now();
        let counting = stopwatch.is_on().then(PerfCounters::start).flatten();
        let has_ended = inbox.serve(|parcel| {
            let packets = parcel.packets();
            steps.packets += packets;
            if stopwatch.is_on() && stopwatch.begin(packets) {
                steps.timed_packets += packets;
            }
            stopwatch.time(&mut steps.count, || self.process_batch(&mut worker, parcel));
            last = parcel.now;
            while let Some(sealed) = worker.take_sealed() {
                send(events, ThreadEvent::Part(number, Box::new(sealed)));
            }
        });
        if stopwatch.is_on() {
            steps.count = stopwatch.scale(steps.count, steps.packets, steps.timed_packets);
            steps.elapsed = began.elapsed();
            steps.readings = stopwatch.spent();
            steps.hardware = counting.and_then(PerfCounters::read);
            send(events, ThreadEvent::Steps(steps.limited()));
        }
        has_ended.then(|| worker.end(last))
    }

    fn process_batch<R: RecordSink>(&self, worker: &mut Worker<R>, parcel: &Parcel) {
        let Parcel { bursts, now, order } = parcel;
        // For writing, as the receiver writes there next: after a prefetch for reading, the worker's copies
        // would have to be invalidated then.
        prefetch_for_writing(bursts.v4.packets());
        prefetch_for_writing(bursts.v6.packets());
        worker.prefetch_index(bursts.packets());
        worker.count(bursts, *now);
        match (order, self.time_base) {
            (WorkerCommand::GoOn, TimeBase::Packets) => {
                worker.sweep_replay(bursts.len(), *now);
            }
            (WorkerCommand::GoOn, TimeBase::Clock) => worker.sweep_live(*now),
            (WorkerCommand::Enter(window), _) => worker.enter(*window),
            (WorkerCommand::Turn(window), _) => worker.turn(*window, *now),
            (WorkerCommand::Park, _) => worker.park(*now),
            (WorkerCommand::Idle, _) => worker.idle(),
            (WorkerCommand::End, _) => {}
        }
    }
}

/// The receiver's seat at the window barrier. It reports which window the receiver enters, and which windows are over.
fn seat<'a, R: Send + 'static>(
    barrier: &'a WindowBarrier,
    receiver: ReceiverId,
    events: &Sender<ThreadEvent<R>>,
    (shared, control): (Option<Arc<SharedTableSets>>, Option<Control>),
) -> Seat<'a> {
    let (coming, over) = (events.clone(), events.clone());
    let comes = move |window| send(&coming, ThreadEvent::Comes(receiver, window));
    barrier.seat(receiver, comes, move |window| {
        shared.iter().for_each(|shared| shared.change());
        control.iter().for_each(Control::change_shared);
        send(&over, ThreadEvent::Over(window));
    })
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
