//! Where finished records go: a thread beside measuring writes them and ranks them.
//!
//! Records travel in blocks through a bounded queue. A replay waits where the queue is full, since it can; a live
//! source does not, and what the queue cannot take is counted as dropped.

use crate::collector::{LossRanking, RecordSink, lossiness, ranked_loss};
use crate::config::Config;
use crate::talkers::TalkerTable;
use flow::{FlowRecord, More};
use packet::FlowKey;
use port::TimeBase;
use record::report::{RankedFlow, RankedLoss, Talkers, Totals};
use record::{Account, Anonymizer, Ranking, RecordWriter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use summary::Parts;

/// Bytes of records in a block: some thousand records make its hand-over free and still come soon.
const BLOCK_BYTES: usize = 640 << 10;
/// Blocks that may wait, 20 MiB: what a writer of a million records a second has in an eighth of a second.
const WAITING: usize = 32;
/// About how long a writer may hold records back.
const FLUSH_AFTER: Duration = Duration::from_millis(200);

type Block = Vec<FlowRecord>;

/// What goes to the thread.
enum Message {
    /// The block comes back by the sender beside it.
    Records(Block, Sender<Block>),
    Account(Account),
}

/// Bytes of a record with what hangs on it.
fn record_bytes(parts: &Parts) -> usize {
    let has_more = parts.loss || parts.statistics.iter().any(Option::is_some);
    let plain = size_of::<FlowRecord>();
    let more = if has_more { size_of::<More>() } else { 0 };
    plain + more + if parts.biflow { size_of::<More>() + more } else { 0 }
}

/// The sending half: what a measuring thread holds. The first one made has the thread as well.
#[derive(Debug)]
pub struct Outputs {
    block: Block,
    /// Records in a full block.
    block_len: usize,
    full: SyncSender<Message>,
    empty: Receiver<Block>,
    used: Sender<Block>,
    thread: Option<(JoinHandle<OutputsResult>, Receiver<String>)>,
    time_base: TimeBase,
    /// An account for which there was no room yet.
    unsent: Option<Account>,
    counters: Arc<HandOverCounters>,
    rotation: Arc<AtomicBool>,
}

/// Records of all sending halves.
#[derive(Debug, Default)]
struct HandOverCounters {
    handed_over: AtomicU64,
    dropped: AtomicU64,
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
    /// Records of the flows with the most TCP loss.
    pub top_loss: Vec<RankedLoss>,
    /// Lines for the user.
    pub warnings: Vec<String>,
    /// What writers reported, one line each.
    pub faults: Vec<String>,
}

impl Outputs {
    /// Starts the thread. Records are anonymised before anything is made of them.
    ///
    /// # Errors
    /// Where the machine gives no thread.
    pub fn start(
        writers: Vec<Box<dyn RecordWriter>>,
        anonymizer: Option<Anonymizer>,
        config: &Config,
        time_base: TimeBase,
    ) -> std::io::Result<Self> {
        let (full, filled) = sync_channel(WAITING);
        let (warn, warnings) = channel();
        let rotation = Arc::new(AtomicBool::new(false));
        let rotation_flag = Arc::clone(&rotation);
        let lines = config.top;
        let talkers = TalkerTable::new(&config.limits, config.seed);
        // The queue counts into the run's memory even where that leaves less for the tables than they would like.
        let queue = config.limits.lease((WAITING + 2) * BLOCK_BYTES);
        let thread = std::thread::Builder::new().name("outputs".to_owned()).spawn(move || {
            let mut consumer = Consumer {
                writers: writers.into_iter().map(Some).collect(),
                anonymizer,
                top_bytes: Ranking::new(lines),
                top_packets: Ranking::new(lines),
                top_loss: Ranking::new(lines),
                talkers,
                warn,
                rotation: rotation_flag,
                result: OutputsResult::default(),
            };
            consumer.run(&filled);
            drop(queue);
            consumer.finish(lines)
        })?;
        let block_len = BLOCK_BYTES / record_bytes(&config.parts);
        let counters = Arc::new(HandOverCounters::default());
        Ok(Self {
            thread: Some((thread, warnings)),
            ..Self::half(block_len, full, time_base, counters, rotation)
        })
    }

    fn half(
        block_len: usize,
        full: SyncSender<Message>,
        time_base: TimeBase,
        counters: Arc<HandOverCounters>,
        rotation: Arc<AtomicBool>,
    ) -> Self {
        let (used, empty) = channel();
        let block = Vec::with_capacity(block_len);
        Self {
            block,
            block_len,
            full,
            empty,
            used,
            thread: None,
            time_base,
            unsent: None,
            counters,
            rotation,
        }
    }

    /// Whoever sets it has writers of several files begin the next one, within a fifth of a second.
    pub fn rotation(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.rotation)
    }

    /// Ends the thread when it has written everything; all siblings must have been absorbed.
    pub fn finish(mut self) -> OutputsResult {
        // At the end nothing is measured any more that waiting could harm.
        self.time_base = TimeBase::Packets;
        self.hand_over();
        if let Some(account) = self.unsent.take() {
            self.account(account);
        }
        drop(self.full);
        let handed_over = self.counters.handed_over.load(Relaxed);
        let dropped = self.counters.dropped.load(Relaxed);
        let joined = self.thread.map(|(thread, warnings)| (thread.join(), warnings));
        match joined {
            Some((Ok(mut result), warnings)) => {
                result.exported = handed_over.saturating_sub(result.dropped);
                result.warnings.splice(..0, warnings.try_iter());
                result.dropped += dropped;
                result
            }
            _ => OutputsResult {
                dropped: handed_over + dropped,
                faults: vec!["the output thread failed; records are missing".to_owned()],
                ..OutputsResult::default()
            },
        }
    }

    /// Gives back what the queue had no room for, or nobody takes.
    fn send(&mut self, message: Message) -> Option<Message> {
        match self.time_base {
            TimeBase::Packets => self.full.send(message).err().map(|error| error.0),
            TimeBase::Clock => match self.full.try_send(message) {
                Ok(()) => None,
                Err(TrySendError::Full(message) | TrySendError::Disconnected(message)) => Some(message),
            },
        }
    }

    fn lost(&mut self, mut block: Block) {
        self.counters.dropped.fetch_add(block.len() as u64, Relaxed);
        block.clear();
        self.block = block;
    }
}

impl RecordSink for Outputs {
    #[inline]
    fn record(&mut self, record: FlowRecord) {
        self.block.push(record);
        if self.block.len() == self.block_len {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        if self.block.is_empty() {
            return;
        }
        let next = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(self.block_len));
        let block = std::mem::replace(&mut self.block, next);
        let count = block.len() as u64;
        match self.send(Message::Records(block, self.used.clone())) {
            None => {
                self.counters.handed_over.fetch_add(count, Relaxed);
            }
            Some(Message::Records(block, _)) => self.lost(block),
            Some(Message::Account(_)) => {}
        }
    }

    /// Where the queue is full the next account says it all; the last one waits for the end.
    fn account(&mut self, account: Account) {
        self.hand_over();
        self.unsent = self.send(Message::Account(account)).map(|_| account);
    }

    fn warnings(&mut self) -> Vec<String> {
        self.thread.as_ref().map_or_else(Vec::new, |(_, warnings)| warnings.try_iter().collect())
    }

    fn sibling(&self) -> Self {
        let (counters, rotation) = (Arc::clone(&self.counters), Arc::clone(&self.rotation));
        Self::half(self.block_len, self.full.clone(), self.time_base, counters, rotation)
    }

    fn absorb(&mut self, mut sibling: Self) {
        // At the end nothing is measured any more that waiting could harm.
        sibling.time_base = TimeBase::Packets;
        sibling.hand_over();
    }
}

struct Consumer {
    /// `None` once it has failed.
    writers: Vec<Option<Box<dyn RecordWriter>>>,
    anonymizer: Option<Anonymizer>,
    top_bytes: Ranking<Option<FlowKey>, Totals>,
    top_packets: Ranking<Option<FlowKey>, Totals>,
    top_loss: LossRanking,
    talkers: TalkerTable,
    warn: Sender<String>,
    rotation: Arc<AtomicBool>,
    result: OutputsResult,
}

impl Consumer {
    fn run(&mut self, filled: &Receiver<Message>) {
        // Since when a writer holds records back.
        let mut held: Option<Instant> = None;
        loop {
            match filled.recv_timeout(FLUSH_AFTER) {
                Ok(Message::Records(mut block, used)) => {
                    self.take(&mut block);
                    held.get_or_insert_with(Instant::now);
                    block.clear();
                    // The other side may have ended already.
                    let _ = used.send(block);
                }
                Ok(Message::Account(account)) => self.each_writer(0, |writer| writer.account(&account)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.rotation.swap(false, Relaxed) {
                self.each_writer(0, |writer| writer.rotate());
            }
            if held.is_some_and(|since| since.elapsed() >= FLUSH_AFTER) {
                self.each_writer(0, |writer| writer.flush());
                held = None;
            }
        }
    }

    fn take(&mut self, block: &mut [FlowRecord]) {
        if let Some(anonymizer) = &mut self.anonymizer {
            block.iter_mut().for_each(|record| anonymizer.record(record));
        }
        for record in block.iter() {
            self.rank(record);
            if let Some(reverse) = record.reverse() {
                self.rank(reverse);
            }
        }
        self.each_writer(block.len() as u64, |writer| writer.write(block));
    }

    fn rank(&mut self, record: &FlowRecord) {
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
        if let Some(loss) = record.loss()
            && lossiness(loss) != 0
        {
            self.top_loss.offer(lossiness(loss), record.key, (totals(), *loss));
        }
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
                    let called = call(writer);
                    // Nobody may be left to hear them.
                    writer.warnings().into_iter().for_each(|line| drop(self.warn.send(line)));
                    if let Err(error) = called {
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
            match writer.finish() {
                Ok(delivery) => {
                    self.result.dropped += delivery.dropped;
                    self.result.warnings.extend(delivery.warnings);
                }
                Err(error) => self.result.faults.push(error.to_string()),
            }
        }
        let ranked = |key, totals| RankedFlow { key, totals };
        self.result.top_bytes = self.top_bytes.take(ranked);
        self.result.top_packets = self.top_packets.take(ranked);
        self.result.top_loss = self.top_loss.take(ranked_loss);
        self.result.talkers = self.talkers.finish(lines);
        self.result
    }
}
