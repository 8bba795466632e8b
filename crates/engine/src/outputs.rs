//! Where finished records go: a thread beside measuring writes them and ranks them.
//!
//! Records travel in blocks through a bounded queue. A replay waits where the queue is full, since it can; a live
//! source does not, and what the queue cannot take is counted as dropped.

use crate::collector::RecordSink;
use crate::ranking::Ranking;
use crate::talkers::TalkerTable;
use packet::FlowKey;
use port::TimeBase;
use record::report::{RankedFlow, Talkers, Totals};
use record::{FlowRecord, RecordWriter};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use summary::Limits;

/// Records in a block: enough to make its hand-over free, few enough to come soon.
const BLOCK: usize = 1 << 12;
/// Blocks that may wait, some 20 MiB: what a writer of a million records a second has in an eighth of a second.
const WAITING: usize = 32;
/// How long a writer may hold records back when none follow.
const FLUSH_AFTER: Duration = Duration::from_millis(200);

type Block = Vec<FlowRecord>;

/// The sending half: what the measuring thread holds.
#[derive(Debug)]
pub struct Outputs {
    block: Block,
    full: SyncSender<Block>,
    empty: Receiver<Block>,
    thread: JoinHandle<OutputsResult>,
    time_base: TimeBase,
    handed_over: u64,
    dropped: u64,
}

/// What the output thread has to say at the end.
#[derive(Debug, Default)]
pub struct OutputsResult {
    /// Records handed to it.
    pub exported: u64,
    /// Records that it could not take in time, or that a writer failed to write.
    pub dropped: u64,
    /// Records with the most bytes.
    pub top_bytes: Vec<RankedFlow>,
    /// Records with the most packets.
    pub top_packets: Vec<RankedFlow>,
    /// Addresses with the most flows.
    pub talkers: Talkers,
    /// What writers reported, one line each.
    pub faults: Vec<String>,
}

impl Outputs {
    /// Starts the thread. `lines` is the length of the rankings.
    ///
    /// # Errors
    /// Where the machine gives no thread.
    pub fn start(
        writers: Vec<Box<dyn RecordWriter>>,
        lines: usize,
        limits: &Limits,
        time_base: TimeBase,
    ) -> std::io::Result<Self> {
        let (full, filled) = sync_channel(WAITING);
        let (used, empty) = channel();
        let talkers = TalkerTable::new(limits);
        let limits = limits.clone();
        // The queue counts into the run's memory even where that leaves less for the tables than they would like.
        let taken = (WAITING + 2) * BLOCK * size_of::<FlowRecord>();
        let taken = if limits.take_bytes(taken) { taken } else { 0 };
        let thread = std::thread::Builder::new().name("outputs".to_owned()).spawn(move || {
            let mut consumer = Consumer {
                writers: writers.into_iter().map(Some).collect(),
                top_bytes: Ranking::new(lines),
                top_packets: Ranking::new(lines),
                talkers,
                result: OutputsResult::default(),
            };
            consumer.run(&filled, &used);
            limits.give_back_bytes(taken);
            consumer.finish(lines)
        })?;
        let block = Vec::with_capacity(BLOCK);
        Ok(Self { block, full, empty, thread, time_base, handed_over: 0, dropped: 0 })
    }

    /// Ends the thread when it has written everything.
    pub fn finish(mut self) -> OutputsResult {
        // At the end nothing is measured any more that waiting could harm.
        self.time_base = TimeBase::Packets;
        self.hand_over();
        drop(self.full);
        match self.thread.join() {
            Ok(mut result) => {
                result.exported = self.handed_over - result.dropped;
                result.dropped += self.dropped;
                result
            }
            Err(_) => OutputsResult {
                dropped: self.handed_over + self.dropped,
                faults: vec!["the output thread failed; records are missing".to_owned()],
                ..OutputsResult::default()
            },
        }
    }

    fn lost(&mut self, mut block: Block) {
        self.dropped += block.len() as u64;
        block.clear();
        self.block = block;
    }
}

impl RecordSink for Outputs {
    #[inline]
    fn record(&mut self, record: FlowRecord) {
        self.block.push(record);
        if self.block.len() == BLOCK {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        if self.block.is_empty() {
            return;
        }
        let next = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(BLOCK));
        let block = std::mem::replace(&mut self.block, next);
        let count = block.len() as u64;
        match self.time_base {
            TimeBase::Packets => match self.full.send(block) {
                Ok(()) => self.handed_over += count,
                Err(error) => self.lost(error.0),
            },
            TimeBase::Clock => match self.full.try_send(block) {
                Ok(()) => self.handed_over += count,
                Err(TrySendError::Full(block) | TrySendError::Disconnected(block)) => self.lost(block),
            },
        }
    }
}

struct Consumer {
    /// `None` once it has failed.
    writers: Vec<Option<Box<dyn RecordWriter>>>,
    top_bytes: Ranking<Option<FlowKey>>,
    top_packets: Ranking<Option<FlowKey>>,
    talkers: TalkerTable,
    result: OutputsResult,
}

impl Consumer {
    fn run(&mut self, filled: &Receiver<Block>, used: &std::sync::mpsc::Sender<Block>) {
        let mut flushed = true;
        loop {
            match filled.recv_timeout(FLUSH_AFTER) {
                Ok(mut block) => {
                    self.take(&block);
                    flushed = false;
                    block.clear();
                    // The other side may have ended already.
                    let _ = used.send(block);
                }
                Err(RecvTimeoutError::Timeout) if !flushed => {
                    self.each_writer(0, |writer| writer.flush());
                    flushed = true;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn take(&mut self, block: &[FlowRecord]) {
        for record in block {
            self.talkers.add(record);
            let totals = || Totals {
                packets: record.total_count,
                total_byte: record.total_byte,
                wire_byte: record.wire_byte,
                flows: 1,
            };
            if self.top_bytes.wants(record.total_byte) {
                self.top_bytes.offer(record.total_byte, record.key, totals());
            }
            if self.top_packets.wants(record.total_count) {
                self.top_packets.offer(record.total_count, record.key, totals());
            }
        }
        self.each_writer(block.len() as u64, |writer| writer.write(block));
    }

    /// Calls every writer that still works. One that fails is given up; what it misses from here on is dropped.
    fn each_writer(
        &mut self,
        records: u64,
        mut call: impl FnMut(&mut Box<dyn RecordWriter>) -> std::io::Result<()>,
    ) {
        let mut missed = false;
        for slot in &mut self.writers {
            match slot {
                Some(writer) => {
                    if let Err(error) = call(writer) {
                        self.result.faults.push(error.to_string());
                        *slot = None;
                        missed = true;
                    }
                }
                None => missed = true,
            }
        }
        self.result.dropped += if missed { records } else { 0 };
    }

    fn finish(mut self, lines: usize) -> OutputsResult {
        for writer in self.writers.into_iter().flatten() {
            if let Err(error) = writer.finish() {
                self.result.faults.push(error.to_string());
            }
        }
        self.result.top_bytes = self.top_bytes.take();
        self.result.top_packets = self.top_packets.take();
        self.result.talkers = self.talkers.finish(lines);
        self.result
    }
}
