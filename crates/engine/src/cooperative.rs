//! Receiving and counting in turns on one core (FloWatcher's cooperative design): some bursts are received before they are
//! counted, all at once.

use crate::collector::RecordSink;
use crate::ids::WindowId;
use crate::keeping::SealedWindow;
use crate::receiver::Downstream;
use crate::worker::Worker;
use packet::{BurstParser, Bursts};

/// Bursts received in a turn: with 64 packets each, 8 are some 40 KiB, which L2 holds.
const BURSTS: usize = 8;

/// A worker that queues bursts before it counts them.
#[derive(Debug)]
pub(crate) struct Cooperative<R> {
    worker: Worker<R>,
    /// The bursts that wait, with the stream time before the first packet of each.
    waiting: Vec<(Bursts, u64)>,
    /// The number of bursts that wait, from the first on.
    len: usize,
}

impl<R: RecordSink> Cooperative<R> {
    pub(crate) fn new(worker: Worker<R>, burst: usize) -> Self {
        let empty = || (Bursts::with_capacity(burst), 0);
        Self { worker, waiting: (0..BURSTS).map(|_| empty()).collect(), len: 0 }
    }

    /// Returns the worker, with everything counted.
    pub(crate) fn into_worker(mut self) -> Worker<R> {
        self.monitor();
        self.worker
    }

    /// Counts the waiting bursts.
    fn monitor(&mut self) {
        for (bursts, now) in &mut self.waiting[..self.len] {
            self.worker.prefetch_index(bursts.packets());
            self.worker.count(bursts, *now);
            bursts.clear();
        }
        self.len = 0;
    }
}

impl<R: RecordSink> Downstream for Cooperative<R> {
    fn count(&mut self, parser: &mut BurstParser, now: u64) {
        let (bursts, at) = &mut self.waiting[self.len];
        std::mem::swap(bursts, &mut parser.bursts);
        *at = now;
        self.len += 1;
        if self.len == BURSTS {
            self.monitor();
        }
    }

    fn enter(&mut self, window: WindowId) {
        self.monitor();
        self.worker.enter(window);
    }

    fn turn(&mut self, window: WindowId, now: u64) {
        self.monitor();
        self.worker.turn(window, now);
    }

    fn sweep_replay(&mut self, frames: usize, now: u64) {
        if self.len == 0 {
            self.worker.sweep_replay(frames * BURSTS, now);
        }
    }

    fn sweep_live(&mut self, now: u64) {
        if self.len == 0 {
            self.worker.sweep_live(now);
        }
    }

    fn idle(&mut self) {
        self.monitor();
        self.worker.idle();
    }

    fn take_sealed(&mut self) -> Option<SealedWindow> {
        self.worker.take_sealed()
    }
}
