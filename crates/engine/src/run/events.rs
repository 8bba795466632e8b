//! Events that the threads of a run report to the calling thread.

use crate::ids::{ReceiverId, WindowId, WorkerId};
use crate::keeping::Sealed;
use crate::poller::{Events, PollerEnd, Progress};
use crate::steps::Steps;
use crate::window::WindowHeader;
use crate::worker::WorkerEnd;
use crate::worker_tasks::Outlet;
use std::sync::mpsc::Sender;
use std::time::Duration;
use task::TaskStates;

/// An event that a thread reports to the calling thread.
pub(super) enum Event<R> {
    /// A window that a receiver has turned away from, with the receiver's first worker.
    Header(ReceiverId, WorkerId, Box<WindowHeader>),
    Part(WorkerId, Box<Sealed>),
    /// The counts of a worker's tasks in a window.
    Tasks(WorkerId, WindowId, Box<TaskStates>),
    /// A receiver waits to enter a window, and its workers have reported all earlier ones.
    Comes(ReceiverId, WindowId),
    /// A receiver has turned away from its last window, and its workers have reported all of their windows.
    Drained(ReceiverId),
    /// A window whose flows are merged gets nothing more.
    Over(WindowId),
    Progress(ReceiverId, Progress),
    Warning(String),
    Steps(Steps),
    /// A receiver or worker has ended, after this much processor time of its thread.
    ThreadEnded(Duration),
    WorkerEnded(WorkerId, Box<WorkerEnd<R>>),
    WorkerFailed(WorkerId),
    ReceiverEnded(ReceiverId, Box<PollerEnd>),
    ReceiverFailed(ReceiverId),
}

/// The receiver is gone only if the calling thread is: then the event is useless.
pub(super) fn send<R>(events: &Sender<Event<R>>, event: Event<R>) {
    let _ = events.send(event);
}

/// Events of a receiver on its own thread.
pub(super) struct Remote<R> {
    pub(super) events: Sender<Event<R>>,
    pub(super) receiver: ReceiverId,
    pub(super) first_worker: WorkerId,
}

impl<R> Events for Remote<R> {
    fn header(&mut self, header: WindowHeader) {
        send(&self.events, Event::Header(self.receiver, self.first_worker, Box::new(header)));
    }
    fn part(&mut self, sealed: Sealed) {
        send(&self.events, Event::Part(self.first_worker, Box::new(sealed)));
    }
    fn worker_failed(&mut self, lane: usize) {
        send(&self.events, Event::WorkerFailed(self.first_worker.plus(lane)));
    }
    fn progress(&mut self, progress: Progress) {
        send(&self.events, Event::Progress(self.receiver, progress));
    }
    fn warning(&mut self, line: String) {
        send(&self.events, Event::Warning(line));
    }
}

/// The destination of what a worker's tasks counted.
pub(super) fn outlet<R: Send + 'static>(worker: WorkerId, events: &Sender<Event<R>>) -> Outlet {
    let events = events.clone();
    Box::new(move |window, states| send(&events, Event::Tasks(worker, window, states)))
}
