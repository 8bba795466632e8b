//! Events that the threads of a run report to the calling thread.

use crate::ids::{ReceiverId, WindowId, WorkerId};
use crate::keeping::SealedWindow;
use crate::poller::{PollProgress, PollerEnd, ReceiverEvents};
use crate::steps::StepTimes;
use crate::window::WindowHeader;
use crate::worker::WorkerEnd;
use crate::worker_tasks::TaskOutlet;
use std::sync::mpsc::Sender;
use std::time::Duration;
use task::TaskStates;

/// An event that a thread reports to the calling thread.
pub(super) enum ThreadEvent<R> {
    /// A window that a receiver has turned away from, with the receiver's first worker.
    Header(ReceiverId, WorkerId, Box<WindowHeader>),
    Part(WorkerId, Box<SealedWindow>),
    /// The counts of a worker's tasks in a window.
    Tasks(WorkerId, WindowId, Box<TaskStates>),
    /// A receiver waits to enter a window, and its workers have reported all earlier ones.
    Comes(ReceiverId, WindowId),
    /// A receiver has turned away from its last window, and its workers have reported all of their windows.
    Drained(ReceiverId),
    /// A window whose flows are merged gets nothing more.
    Over(WindowId),
    Progress(ReceiverId, PollProgress),
    Warning(String),
    Steps(StepTimes),
    /// A receiver or worker has ended, after this much processor time of its thread.
    ThreadEnded(Duration),
    WorkerEnded(WorkerId, Box<WorkerEnd<R>>),
    WorkerFailed(WorkerId),
    ReceiverEnded(ReceiverId, Box<PollerEnd>),
    ReceiverFailed(ReceiverId),
}

/// The receiver is gone only if the calling thread is: then the event is useless.
pub(super) fn send<R>(events: &Sender<ThreadEvent<R>>, event: ThreadEvent<R>) {
    let _ = events.send(event);
}

/// Events of a receiver on its own thread.
pub(super) struct EventForwarder<R> {
    pub(super) events: Sender<ThreadEvent<R>>,
    pub(super) receiver: ReceiverId,
    pub(super) first_worker: WorkerId,
}

impl<R> ReceiverEvents for EventForwarder<R> {
    fn header(&mut self, header: WindowHeader) {
        send(&self.events, ThreadEvent::Header(self.receiver, self.first_worker, Box::new(header)));
    }
    fn part(&mut self, sealed: SealedWindow) {
        send(&self.events, ThreadEvent::Part(self.first_worker, Box::new(sealed)));
    }
    fn worker_failed(&mut self, lane: usize) {
        send(&self.events, ThreadEvent::WorkerFailed(self.first_worker.plus(lane)));
    }
    fn progress(&mut self, progress: PollProgress) {
        send(&self.events, ThreadEvent::Progress(self.receiver, progress));
    }
    fn warning(&mut self, line: String) {
        send(&self.events, ThreadEvent::Warning(line));
    }
}

/// The destination of what a worker's tasks counted.
pub(super) fn outlet<R: Send + 'static>(worker: WorkerId, events: &Sender<ThreadEvent<R>>) -> TaskOutlet {
    let events = events.clone();
    Box::new(move |window, states| send(&events, ThreadEvent::Tasks(worker, window, states)))
}
