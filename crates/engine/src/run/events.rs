//! What the threads of a run say to the one that called.

use crate::keeping::Sealed;
use crate::poller::{Events, PollerEnd};
use crate::steps::Steps;
use crate::window::WindowHeader;
use crate::worker::WorkerEnd;
use crate::worker_tasks::Outlet;
use std::sync::mpsc::Sender;
use task::TaskStates;

/// What threads say to the one that called.
pub(super) enum Event<R> {
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
pub(super) fn send<R>(events: &Sender<Event<R>>, event: Event<R>) {
    let _ = events.send(event);
}

/// Events of a receiver on a thread of its own.
pub(super) struct Remote<R> {
    pub(super) events: Sender<Event<R>>,
    pub(super) receiver: usize,
    pub(super) first_worker: usize,
}

impl<R> Remote<R> {
    /// Its workers' tasks have counted all that there is.
    pub(super) fn tasks_over(&self, workers: usize) {
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

/// Where what a worker's tasks counted goes.
pub(super) fn outlet<R: Send + 'static>(worker: usize, events: &Sender<Event<R>>) -> Outlet {
    let events = events.clone();
    Box::new(move |window, states| send(&events, Event::Tasks(worker, window, states)))
}
