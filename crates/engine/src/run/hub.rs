//! The calling thread's side of a run: the windows, tasks and ends of all threads, merged.

use super::events::ThreadEvent;
use super::outcome::{Observer, RunOutcome, Snapshot};
use crate::collector::RecordSink;
use crate::config::MeasurementConfig;
use crate::control::Control;
use crate::ids::{ReceiverId, WindowId, WorkerId};
use crate::keeping::SealedWindow;
use crate::merger::{Merger, RunEnd};
use crate::plan::ResolvedDesign;
use crate::poller::{PollProgress, PollerEnd};
use crate::receiver::ReceiverEnd;
use crate::shared::SharedTableSets;
use crate::steps::StepTimes;
use crate::tables::FlowTables;
use crate::worker::{Worker, WorkerEnd};
use flowtable::by_hash::Miscounts;
use model::HashTableCounts;
use port::SourceError;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};
use task::{EmptiedStates, Generation, TaskRunner, TaskStates, Tasks};

/// The worker and the channels by which shares of flows are merged.
pub(super) struct MergeWorker<R> {
    pub(super) worker: Worker<R>,
    /// Channels that return emptied tables, by worker.
    pub(super) spares: Vec<Sender<Box<FlowTables>>>,
    pub(super) shared: Option<Arc<SharedTableSets>>,
}

/// The hub: it merges the reports of all threads.
pub(super) struct MergeHub<'a, R> {
    merger: Merger,
    /// Determines by which tasks windows are answered.
    control: Option<Control>,
    /// The desk that answers tasks.
    desk: TaskRunner,
    /// Workers of each receiver; a receiver without workers counts as one.
    workers_each: usize,
    /// Channels that return emptied states of tasks, by set and worker.
    spares: Vec<(Generation, Vec<Sender<Box<TaskStates>>>)>,
    /// Workers that count tasks.
    counting: usize,
    merging: Option<MergeWorker<R>>,
    end: RunEnd,
    /// The packets that are known to be counted wrongly.
    miscounts: Miscounts,
    observer: &'a mut dyn Observer,
    records: R,
    config: &'a MeasurementConfig,
    /// The progress of each receiver.
    progress: Vec<PollProgress>,
    /// The sum of the windows of each receiver that still runs: all that is left of it if it fails.
    so_far: Vec<Option<ReceiverEnd>>,
    total_bytes: Option<u64>,
    unreported: u64,
    link_downs: Option<u64>,
    errors: Vec<SourceError>,
    faults: Vec<String>,
    stopped: bool,
    steps: Vec<StepTimes>,
    processor_time: Duration,
}

impl<'a, R: RecordSink> MergeHub<'a, R> {
    /// Returns a hub to which nothing has been reported yet. Windows and the main stream of records go to `observer` and `records`.
    pub(super) fn new(
        config: &'a MeasurementConfig,
        plan: &ResolvedDesign,
        total_bytes: Option<u64>,
        records: R,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Self {
            merger: Merger::new(plan.receivers, plan.counting(), config.every, config.parts.loss),
            control: config.control.clone(),
            desk: TaskRunner::new(Tasks::none(Generation::default()), plan.counting()),
            counting: plan.counting(),
            workers_each: plan.workers.max(1),
            spares: Vec::new(),
            merging: None,
            end: RunEnd::default(),
            miscounts: Miscounts::default(),
            observer,
            records,
            config,
            progress: vec![PollProgress::default(); plan.receivers],
            so_far: (0..plan.receivers).map(|_| None).collect(),
            total_bytes,
            unreported: 0,
            link_downs: None,
            errors: Vec::new(),
            faults: Vec::new(),
            stopped: false,
            steps: Vec::new(),
            processor_time: Duration::ZERO,
        }
    }

    /// Flows are shares, which are merged here when a window closes.
    pub(super) fn merging(mut self, merging: MergeWorker<R>) -> Self {
        self.merger = self.merger.merging(merging.shared.is_some());
        self.merging = Some(merging);
        self
    }

    /// A fault that keeps the run from being complete.
    pub(super) fn fault(&mut self, line: String) {
        self.faults.push(line);
    }

    /// Ends merging and emptying: workers must not wait for it.
    pub(super) fn give_up(&mut self) {
        self.spares.clear();
        self.control.iter().for_each(Control::detach);
        if let Some(MergeWorker { shared: Some(shared), .. }) = self.merging.take() {
            shared.give_up();
        }
    }

    /// Receives the threads' events until all have ended.
    pub(super) fn listen(&mut self, events: &Receiver<ThreadEvent<R>>) {
        for event in events {
            match event {
                ThreadEvent::Header(receiver, first_worker, header) => {
                    self.so_far[receiver.index()] = Some(match self.so_far[receiver.index()].take() {
                        None => ReceiverEnd::from_window(&header),
                        Some(sum) => sum.plus(ReceiverEnd::from_window(&header)),
                    });
                    self.merger.header(receiver, first_worker, *header);
                }
                ThreadEvent::Part(worker, sealed) => self.sealed(worker, *sealed),
                ThreadEvent::Tasks(worker, window, states) => {
                    self.install_up_to(window);
                    let emptied = self.desk.part(worker, window, states);
                    self.give_back(emptied);
                }
                ThreadEvent::Comes(receiver, window) => {
                    for worker in self.workers_of(receiver) {
                        let emptied = self.desk.advance_worker(worker, window);
                        self.give_back(emptied);
                    }
                }
                ThreadEvent::Drained(receiver) => self.drained(receiver),
                ThreadEvent::Over(window) => self.over(window),
                ThreadEvent::Progress(receiver, progress) => self.progress(receiver, progress),
                ThreadEvent::Warning(line) => self.observer.warning(line),
                ThreadEvent::Steps(steps) => self.steps.push(steps),
                ThreadEvent::ThreadEnded(time) => self.processor_time += time,
                ThreadEvent::WorkerEnded(worker, end) => self.worker_ended(worker, *end),
                ThreadEvent::WorkerFailed(worker) => {
                    let emptied = self.desk.fail_worker(worker);
                    self.give_back(emptied);
                    if self.merger.worker_failed(worker) {
                        // If flows are merged, records are not the worker's.
                        if self.merging.is_none() {
                            self.records.worker_failed();
                        }
                        self.faults.push(format!(
                            "worker {worker} failed; the others went on. Packets that it had not reported are counted as \
                             worker_failed, its records are missing"
                        ));
                    }
                }
                ThreadEvent::ReceiverEnded(receiver, end) => self.receiver_ended(receiver, *end),
                ThreadEvent::ReceiverFailed(receiver) => {
                    self.merger.receiver_failed(receiver);
                    if let Some(counted) = self.so_far[receiver.index()].take() {
                        self.end.receiver(counted);
                    }
                    let received = self.progress[receiver.index()].received;
                    self.faults.push(format!(
                        "receiver {receiver} failed after about {received} frames; those since its last window are in no \
                         count"
                    ));
                }
            }
            self.pass_reports();
        }
    }

    /// Notes that this worker's tasks report nothing more.
    fn tasks_over(&mut self, worker: WorkerId) {
        let emptied = self.desk.end_worker(worker);
        self.give_back(emptied);
    }

    /// A receiver has turned away from its last window, and its workers have reported all of theirs.
    fn drained(&mut self, receiver: ReceiverId) {
        self.merger.receiver_drained(receiver);
        for worker in self.workers_of(receiver) {
            self.merger.worker_drained(worker);
            self.tasks_over(worker);
        }
    }

    fn workers_of(&self, receiver: ReceiverId) -> impl Iterator<Item = WorkerId> + use<R> {
        let first = receiver.first_worker(self.workers_each);
        (0..self.workers_each).map(move |at| first.plus(at))
    }

    /// Makes the desk answer by the sets installed up to this window.
    fn install_up_to(&mut self, window: WindowId) {
        for (first, half) in self.control.iter().flat_map(|control| control.take_hub_halves(window)) {
            self.spares.push((half.tasks.generation(), half.spares));
            self.desk.install(first, half.tasks, half.memory);
        }
    }

    /// Returns emptied states; a worker that has ended, or counts by another set, no longer needs the memory.
    fn give_back(&mut self, emptied: Vec<EmptiedStates>) {
        for (worker, states) in emptied {
            let of_set = self.spares.iter().find(|(generation, _)| *generation == states.generation());
            if let Some(spare) = of_set.and_then(|(_, spares)| spares.get(worker.index())) {
                let _ = spare.send(states);
            }
        }
    }

    /// A worker has sealed its flows of a window.
    fn sealed(&mut self, worker: WorkerId, sealed: SealedWindow) {
        let SealedWindow { window, sums, overflow, shares } = sealed;
        self.enter_merging(window);
        if let (Some(mut shares), Some(merging)) = (shares, &mut self.merging) {
            match self.merger.is_heard(worker) {
                true => merging.worker.merge(&mut shares),
                false => shares.forget(),
            }
            // It may have failed meanwhile.
            let _ = merging.spares[worker.index()].send(shares);
        }
        self.merger.overflow(worker, window, overflow);
        self.merger.part(worker, window, &sums);
    }

    /// Flows of this window are merged from here on.
    fn enter_merging(&mut self, window: WindowId) {
        if let (Some(merging), Some(control)) = (&mut self.merging, &self.control) {
            merging.worker.count_overflow(&control.set(window));
        }
    }

    /// A window is complete: everything has been merged, or is in the shared tables.
    fn over(&mut self, window: WindowId) {
        self.enter_merging(window);
        let Some(merging) = &mut self.merging else { return };
        if let Some(shared) = &merging.shared {
            merging.worker.merge_shared(shared);
        }
        if let Some(SealedWindow { sums, overflow, .. }) = merging.worker.close(window) {
            self.merger.overflow(self.merger.merged(), window, overflow);
            self.merger.part(self.merger.merged(), window, &sums);
        }
    }

    fn worker_ended(&mut self, worker: WorkerId, end: WorkerEnd<R>) {
        // Workers end once all frames are received.
        self.records.may_wait();
        for sealed in end.sealed {
            self.sealed(worker, sealed);
        }
        self.end.worker(end.records_ended, end.active, end.memory_bytes, end.other);
        if let Some(miscounts) = &end.miscounts {
            self.miscounts.add(miscounts);
        }
        self.records.absorb(end.records);
        self.merger.worker_ended(worker);
        // The one that merges counts no tasks.
        if worker.index() < self.counting {
            self.tasks_over(worker);
        }
    }

    fn receiver_ended(&mut self, receiver: ReceiverId, end: PollerEnd) {
        let PollerEnd { counted, errors, stopped, link_downs, steps } = end;
        self.link_downs = self.link_downs.into_iter().chain(link_downs).reduce(|a, b| a + b);
        self.steps.extend(steps);
        self.end.receiver(counted);
        self.errors.extend(errors);
        self.stopped |= stopped;
        self.merger.receiver_ended(receiver);
    }

    fn progress(&mut self, receiver: ReceiverId, progress: PollProgress) {
        self.progress[receiver.index()] = progress;
        let sum = |of: fn(&PollProgress) -> u64| self.progress.iter().map(of).sum();
        self.observer.progress(Snapshot {
            received: sum(|progress| progress.received),
            flows: self.config.limits.flows_used() as u64,
            done_bytes: sum(|progress| progress.done_bytes),
            total_bytes: self.total_bytes,
            busy_ns: sum(|progress| progress.busy_ns),
            polled_ns: sum(|progress| progress.polled_ns),
        });
        self.records.warnings().into_iter().for_each(|line| self.observer.warning(line));
    }

    fn pass_reports(&mut self) {
        while let Some((mut closed, account)) = self.merger.take_window() {
            self.install_up_to(closed.window);
            let answers = self.desk.report(closed.window, closed.reported()).into_iter();
            closed.answers = answers.map(|answer| answer.into_answer(Some(closed.span))).collect();
            closed.split = self.desk.split(closed.window);
            self.spares.retain(|(generation, _)| self.desk.answers_by(*generation));
            self.control.iter().for_each(|control| control.retire_before(closed.window));
            self.config.sampling.iter().for_each(|sampling| sampling.forget_before(closed.window));
            self.records.account(account);
            let window = closed.window;
            self.config.worker_use.iter().for_each(|workers| workers.forget_before(window));
            let tuned = self.config.adaption.iter().flat_map(|adaption| adaption.window(&closed));
            tuned.for_each(|tuned| self.observer.tuned(tuned));
            if !self.records.window(closed) {
                self.unreported += 1;
                self.control.iter().for_each(|control| control.mark_answered(window));
            }
        }
    }

    pub(super) fn finish(mut self, began: Instant) -> RunOutcome<R> {
        self.control.iter().for_each(Control::detach);
        if let Some(merging) = self.merging.take() {
            self.worker_ended(self.merger.merged(), merging.worker.end(0));
        }
        self.pass_reports();
        if let Some(other) = self.end.other.take() {
            self.records.record(other);
        }
        let loss = self.end.loss.take().flatten();
        // They arrived in the order in which threads ended.
        self.steps.sort_by_key(|steps| steps.role);
        let mut ended = self.merger.end(self.end);
        ended.flows.hash_table = self.config.table.map(|kind| HashTableCounts {
            table: kind.to_string(),
            shared_entries: self.miscounts.shared_entries,
            shared_packets: self.miscounts.shared_packets,
        });
        RunOutcome {
            ended,
            loss,
            link_downs: self.link_downs,
            errors: self.errors,
            faults: self.faults,
            stopped: self.stopped,
            unreported: self.unreported,
            elapsed: began.elapsed(),
            steps: self.steps,
            processor_time: self.processor_time,
            records: self.records,
        }
    }
}
