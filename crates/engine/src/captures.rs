//! Captures: the next packets of some flows as files.
//!
//! Receivers look at each packet's key while an order is open, and copy the frames that pass into a ring of their own, which a
//! thread empties into the files. Without an open order they look at one number a burst. An order ends by itself after its packets, its
//! bytes or its time, or with the run. What it does not get is counted by name.

mod entry;
mod finished;
mod naming;
mod order;
mod refusal;
mod store;
mod tap;
mod tap_end;

pub use finished::FinishedCapture;
pub use order::{CaptureOrder, Snap};
pub use refusal::NotCaptured;
pub(crate) use tap::Tap;

use arena::Limits;
use order::OpenCapture;
use packet::Tunnel;
use port::PcapngWriter;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use store::CaptureFileWriter;
use tap_end::TapEnd;

/// Orders that are open at once: each packet is compared with all of them.
const MOST_OPEN: usize = 64;
/// The most bytes that a file takes in addition to its packets.
const AROUND_FILE: u64 = 4 << 10;
/// Bytes of the headers of a packet, at most: longer ones are cut.
const MOST_HEADERS: u64 = 256;
/// Bytes of the tag that a driver took out of a packet and that is put back.
const MOST_TAG: u64 = 4;

/// The settings of captures: where files go, and how much of packets may go into them.
#[derive(Clone, Debug)]
pub struct CaptureSettings {
    /// The folder of the files; without one, captures are refused.
    pub folder: Option<PathBuf>,
    /// Name of the observation point.
    pub node: String,
    /// Bytes of all files together.
    pub bytes: u64,
    /// The part of each packet that is kept.
    pub snap: Snap,
    /// Packets of one capture in a second of stream time, at most.
    pub rate: u32,
    /// True if addresses must not leave: captures are refused.
    pub anonymizes: bool,
}

impl CaptureSettings {
    /// Bytes of all files, usually.
    pub const BYTES: u64 = 64 << 20;
    /// Packets of one capture in a second, usually.
    pub const RATE: u32 = 10_000;

    /// Captures are refused for want of a folder.
    pub fn none() -> Self {
        Self {
            folder: None,
            node: String::new(),
            bytes: Self::BYTES,
            snap: Snap::Headers,
            rate: Self::RATE,
            anonymizes: false,
        }
    }
}

/// The captures of a run. Cloning gives another handle to the same ones.
#[derive(Clone, Debug, Default)]
pub struct FlowCaptures {
    shared: Arc<SharedCaptures>,
    writer: Arc<Mutex<Writer>>,
}

/// The thread that writes files. It ends when the sender of orders is dropped.
#[derive(Debug, Default)]
struct Writer {
    orders: Option<Sender<Arc<OpenCapture>>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct SharedCaptures {
    /// Grows whenever the open orders change. Receivers read it once a burst.
    version: AtomicU64,
    state: Mutex<CaptureState>,
}

#[derive(Debug, Default)]
struct CaptureState {
    settings: Option<CaptureSettings>,
    /// Bytes that new files may take.
    left: u64,
    open: Vec<Arc<OpenCapture>>,
    /// The other ends of the receivers' rings, until the thread takes them.
    taps: Vec<TapEnd>,
    /// Receivers of the run that have no ring yet.
    awaited: usize,
    /// True if a receiver has no memory for its ring.
    is_blind: bool,
    finished: Vec<FinishedCapture>,
}

impl SharedCaptures {
    fn state(&self) -> MutexGuard<'_, CaptureState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.version.fetch_add(1, SeqCst);
    }
}

impl FlowCaptures {
    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Captures are possible from here on. Called before the run.
    ///
    /// # Errors
    /// If the thread that writes cannot be started.
    pub fn start(&self, settings: CaptureSettings) -> io::Result<()> {
        let (sender, orders) = channel();
        if settings.folder.is_some() && !settings.anonymizes {
            let mut store = CaptureFileWriter::new(Arc::clone(&self.shared), &settings);
            let work = move || store.run(&orders);
            let thread = std::thread::Builder::new().name("captures".to_owned()).spawn(work)?;
            *self.writer() = Writer { orders: Some(sender), thread: Some(thread) };
        }
        let mut state = self.shared.state();
        state.left = settings.bytes;
        state.settings = Some(settings);
        Ok(())
    }

    /// Captures from now on, or in the order's time.
    ///
    /// # Errors
    /// Returns why nothing is captured. A file that cannot be created is found later: the capture then ends at once.
    pub fn order(&self, order: CaptureOrder) -> Result<(), NotCaptured> {
        naming::check(&order.id)?;
        let writer = self.writer();
        let mut state = self.shared.state();
        let CaptureState { settings, left, open, is_blind, .. } = &mut *state;
        let Some(CaptureSettings { folder: Some(_), snap, rate, anonymizes, .. }) = settings else {
            return Err(NotCaptured::NoFolder);
        };
        if *anonymizes {
            return Err(NotCaptured::Anonymized);
        }
        let Some(orders) = &writer.orders else { return Err(NotCaptured::RunOver) };
        if *is_blind {
            return Err(NotCaptured::NoMemory);
        }
        if open.len() == MOST_OPEN {
            return Err(NotCaptured::TooMany { most: MOST_OPEN });
        }
        if open.iter().any(|known| known.order.id == order.id) {
            return Err(NotCaptured::SameName);
        }
        let bytes_of = |snap: u64| {
            let packet = PcapngWriter::<File>::packet_bytes(usize::try_from(snap).unwrap_or(usize::MAX));
            order.packets.saturating_mul(packet).saturating_add(AROUND_FILE)
        };
        // Frames may be short.
        let (least, most) = (bytes_of(64), bytes_of(snap.most_bytes() + MOST_TAG));
        if order.packets == 0 || least > *left {
            return Err(NotCaptured::NoRoom { bytes: least, left: *left });
        }
        let bytes = most.min(*left);
        let order = Arc::new(OpenCapture::new(order, *snap, *rate, bytes));
        if orders.send(Arc::clone(&order)).is_err() {
            return Err(NotCaptured::RunOver);
        }
        *left -= bytes;
        open.push(order);
        drop(state);
        self.shared.changed();
        Ok(())
    }

    /// Ends a capture early, if it is open.
    pub fn cancel(&self, id: &str) {
        let state = self.shared.state();
        state.open.iter().filter(|order| order.order.id == id).for_each(|order| order.cancel());
    }

    /// The captures that have ended since the last call.
    pub fn take_finished(&self) -> Vec<FinishedCapture> {
        std::mem::take(&mut self.shared.state().finished)
    }

    /// Ends all captures, waits until their files are written, and returns those that have ended since the last call.
    pub fn end(&self) -> Vec<FinishedCapture> {
        let Writer { orders, thread } = std::mem::take(&mut *self.writer());
        drop(orders);
        // A thread that panicked has ended too.
        let _ = thread.map(JoinHandle::join);
        self.take_finished()
    }

    /// A run of that many receivers begins. No capture ends by time or with the run before each of them has
    /// its ring: one that starts late may still have packets of the time.
    pub(crate) fn begin(&self, receivers: usize) {
        self.shared.state().awaited = receivers;
    }

    /// Returns the tap with which a receiver looks at packets. `waits`: its source is a replay.
    pub(crate) fn tap(&self, limits: &Limits, tunnel: Tunnel, waits: bool) -> Tap {
        if self.writer().orders.is_none() {
            return Tap::default();
        }
        let tap = Tap::new(&self.shared, limits, tunnel, waits);
        let mut state = self.shared.state();
        state.awaited = state.awaited.saturating_sub(1);
        let Some((tap, end)) = tap else {
            state.is_blind = true;
            return Tap::default();
        };
        state.taps.push(end);
        tap
    }
}
