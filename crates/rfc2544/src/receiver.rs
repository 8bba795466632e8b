//! The thread that receives.

use crate::arrivals::{ArrivalCounter, ArrivalCounts};
use port::{PacketSource, Poll, SourceError};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver as Inbox, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The wait between two polls while no trial is counted.
const NAP: Duration = Duration::from_millis(1);
/// Bursts that may wait at a port: more than the rings of any have room for.
const WAITING_BURSTS: u32 = 16_384;

/// The counts of a trial, and what the port tells of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    pub(crate) counts: ArrivalCounts,
    /// Frames that the port lost since it was opened; `None` if it cannot know.
    pub(crate) lost: Option<u64>,
    /// Times that the port's link was found to have gone down since then.
    pub(crate) link_downs: u64,
}

enum ArrivalRequest {
    /// Answered when counting has begun.
    Begin(Box<ArrivalCounter>, Sender<()>),
    End(Sender<Received>),
}

/// A thread that polls a port from its beginning to its end, and counts while it is asked to.
#[derive(Debug)]
pub(crate) struct ArrivalThread {
    requests: Option<Sender<ArrivalRequest>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// The messages of the thread, which the tester reads while it runs.
#[derive(Debug, Default)]
struct Shared {
    fault: Mutex<Option<String>>,
    warnings: Mutex<Vec<String>>,
}

impl ArrivalThread {
    /// Starts the thread. `own` is a frame that leaves by the port itself, and shows in some sources: it is not counted. The thread sets
    /// `stop` if the port fails.
    pub(crate) fn start(
        source: Box<dyn PacketSource>,
        own: Vec<u8>,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, SourceError> {
        let (requests, inbox) = channel();
        let shared = Arc::new(Shared::default());
        let thread = ReceivingThread { source, own, inbox, counter: None, shared: shared.clone() };
        let builder = std::thread::Builder::new().name("receiver".into());
        let thread = builder.spawn(move || thread.run(&stop)).map_err(|error| {
            SourceError::Fault(format!("the machine starts no thread that receives: {error}"))
        })?;
        Ok(Self { requests: Some(requests), shared, thread: Some(thread) })
    }

    /// Begins the counting, after what waits at the port. Frames that arrive when this returns are counted.
    pub(crate) fn begin(&self, counter: ArrivalCounter) {
        let (answer, answered) = channel();
        self.request(ArrivalRequest::Begin(Box::new(counter), answer));
        // A thread that has ended has left its fault.
        let _ = answered.recv();
    }

    /// Ends the counting, after what waits at the port; `None` if the thread has ended.
    pub(crate) fn end(&self) -> Option<Received> {
        let (answer, answered) = channel();
        self.request(ArrivalRequest::End(answer));
        answered.recv().ok()
    }

    fn request(&self, request: ArrivalRequest) {
        if let Some(requests) = &self.requests {
            // A thread that has ended has left its fault.
            let _ = requests.send(request);
        }
    }

    /// Returns why the port cannot be received from any more.
    pub(crate) fn fault(&self) -> Option<String> {
        self.shared.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the warnings of the port since the last call.
    pub(crate) fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for ArrivalThread {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // A panic was printed when it happened.
            let _ = thread.join();
        }
    }
}

struct ReceivingThread {
    source: Box<dyn PacketSource>,
    own: Vec<u8>,
    inbox: Inbox<ArrivalRequest>,
    counter: Option<Box<ArrivalCounter>>,
    shared: Arc<Shared>,
}

impl ReceivingThread {
    fn run(mut self, stop: &AtomicBool) {
        if let Err(error) = self.poll_until_end() {
            *self.shared.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
            stop.store(true, Relaxed);
        }
    }

    /// Polls until the tester is dropped.
    fn poll_until_end(&mut self) -> Result<(), SourceError> {
        loop {
            match self.inbox.try_recv() {
                Ok(ArrivalRequest::Begin(counter, answer)) => {
                    // What waits came before the trial.
                    self.drain()?;
                    self.counter = Some(counter);
                    // The tester may have ended.
                    let _ = answer.send(());
                }
                Ok(ArrivalRequest::End(answer)) => {
                    self.drain()?;
                    self.answer(&answer);
                }
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
            if !self.poll()? {
                match self.counter {
                    Some(_) => {
                        self.source.wait();
                        std::thread::yield_now();
                    }
                    None => std::thread::sleep(NAP),
                }
            }
        }
    }

    /// Takes what waits at the port; of one that never runs dry some millions of frames.
    fn drain(&mut self) -> Result<(), SourceError> {
        let mut bursts = 0;
        while bursts < WAITING_BURSTS && self.poll()? {
            bursts += 1;
        }
        Ok(())
    }

    /// Takes a burst, if there is one. Returns true if there was.
    fn poll(&mut self) -> Result<bool, SourceError> {
        match self.source.rx_burst()? {
            Poll::Burst(burst) => {
                if let Some(counter) = &mut self.counter {
                    for (frame, time_ns) in burst.frames().zip(burst.times()) {
                        let is_own = frame.wire_len as usize == self.own.len() && frame.data == self.own;
                        if !is_own {
                            counter.count(frame.data, frame.wire_len, time_ns);
                        }
                    }
                }
                Ok(true)
            }
            Poll::Idle => Ok(false),
            Poll::Ended => {
                Err(SourceError::Fault(format!("the port {} receives nothing any more", self.source.name())))
            }
        }
    }

    fn answer(&mut self, answer: &Sender<Received>) {
        let lost = self.source.lost().map(|lost| lost.iter().map(|(_, count)| count).sum());
        let mut warnings = self.source.warnings();
        self.shared.warnings.lock().unwrap_or_else(PoisonError::into_inner).append(&mut warnings);
        let counts = self.counter.take().map(|counter| counter.counts()).unwrap_or_default();
        // The tester may have ended.
        let _ = answer.send(Received { counts, lost, link_downs: self.source.link_downs().unwrap_or(0) });
    }
}
