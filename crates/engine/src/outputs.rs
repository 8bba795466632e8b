//! Outputs of finished records and window rows: a separate thread writes them and answers queries.
//!
//! Records and rows travel in blocks through a bounded queue. A replay waits if the queue is full. A live
//! source does not: what the queue cannot take is counted, and a window some of whose rows were refused is
//! partial.
//!
//! Rows of windows are passed on if a query about single windows, `--rows` or `--store` requires them. Queries over the
//! run read the totals of records when these end, which are several times fewer; where losses are tracked
//! they read rows of windows, which have losses.

mod answers;
mod by_packets;
mod consumer;
mod long_windows;

pub use answers::totals;

use crate::closed::ClosedWindow;
use crate::collector::RecordSink;
use crate::config::MeasurementConfig;
use crate::control::Control;
use crate::ids::WindowId;
use consumer::Consumer;
use flow::{FlowRecord, LossCounts, More, Rows, Untold, WindowRow};
use flowtable::MeasuredParts;
use model::{Answer, OutputCounts, Window};
use packet::{FamilyKey, FamilyRow, Key, KeyV4, KeyV6};
use port::TimeBase;
use record::{Anonymizer, MeasurementTotals, RecordWriter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread::JoinHandle;
use task::rows::Unplaced;

/// Bytes of a block: with some thousand records or rows the cost of handing over is negligible, and they
/// still arrive soon.
const BLOCK_BYTES: usize = 256 << 10;
/// Blocks that may wait, 20 MiB: the rows of 200,000 flows, or the output of a writer of a million records a
/// second in an eighth of a second.
const WAITING: usize = 80;

/// Receives windows with their answers, on the outputs' thread. Returns false if they cannot be passed on.
pub type WindowOutlet = Box<dyn FnMut(Window) -> bool + Send>;

/// Receives window rows in addition to queries (`--rows`, `--store`).
pub trait RowOutput: Send {
    /// Takes rows of IPv4 of the window that begins at `start_ns`.
    fn write_v4(&mut self, start_ns: u64, rows: &Rows<KeyV4>) -> std::io::Result<()>;
    /// Takes rows of IPv6.
    fn write_v6(&mut self, start_ns: u64, rows: &Rows<KeyV6>) -> std::io::Result<()>;
    /// Lines for the user; every line is returned once.
    fn warnings(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// A window is closed: all its rows have come. Windows between two that are closed had no frame.
    fn window(&mut self, _window: &ClosedWindow) {}
    /// Ends the output: no more rows follow. `without_place`: packets that are in no row, because they found no place in the table.
    fn finish(self: Box<Self>, without_place: &Unplaced) -> std::io::Result<()>;
}

/// The destinations of records, rows and windows.
pub struct Destinations {
    /// Take finished records.
    pub writers: Vec<Box<dyn RecordWriter>>,
    /// Take window rows.
    pub rows: Vec<Box<dyn RowOutput>>,
    /// Replaces addresses in all that leaves.
    pub anonymizer: Option<Anonymizer>,
    /// Takes windows with their answers.
    pub windows: WindowOutlet,
    /// Name of the observation point.
    pub node: String,
}

impl std::fmt::Debug for Destinations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Destinations").field("node", &self.node).finish_non_exhaustive()
    }
}

/// Rows of both address families.
#[derive(Debug, Default)]
struct FamilyRowBlock {
    v4: Rows<KeyV4>,
    v6: Rows<KeyV6>,
    /// The size of the statistics of the rows, as a number of rows.
    more: usize,
}

impl FamilyRowBlock {
    /// An empty block with as much room for each family as another one has, `most` rows of each at the most: a block that grew row by
    /// row would be copied several times. Blocks whose rows have losses are full with fewer rows, and others follow them.
    fn like(other: &Self, most: usize) -> Self {
        fn like<K>(rows: &Rows<K>, most: usize) -> Rows<K> {
            Rows::with_capacity(rows.rows.capacity().min(most), rows.losses.capacity().min(most))
        }
        Self { v4: like(&other.v4, most), v6: like(&other.v6, most), more: 0 }
    }

    fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    fn has_losses(&self) -> bool {
        !(self.v4.losses.is_empty() && self.v6.losses.is_empty())
    }

    #[inline(always)]
    fn push<K: Key>(&mut self, row: WindowRow<K>, loss: Option<&LossCounts>) {
        match K::family_row(row) {
            Some(FamilyRow::V4(row)) => self.v4.push(row, loss),
            Some(FamilyRow::V6(row)) => self.v6.push(row, loss),
            None => {}
        }
    }

    /// The row that is pushed next has these statistics.
    #[cold]
    fn push_statistics<K: Key>(&mut self, key: K, statistics: &[f64]) {
        match key.family() {
            Some(FamilyKey::V4(_)) => self.v4.push_statistics(statistics),
            Some(FamilyKey::V6(_)) => self.v6.push_statistics(statistics),
            None => {}
        }
        self.more += (size_of::<u32>() + size_of_val(statistics)).div_ceil(row_bytes(false));
    }

    fn clear(&mut self) {
        self.v4.clear();
        self.v6.clear();
        self.more = 0;
    }
}

/// The data that answers over the run lack.
#[derive(Clone, Debug, Default)]
struct RunShortfall {
    refused_rows: u64,
    /// Packets without a place in the table.
    unplaced: Unplaced,
    /// Packets of pinned flows that there was no memory to follow.
    unfollowed: u64,
    /// Numbers of packets and records that did not tell a value.
    untold: Untold,
    /// Workers whose records are missing.
    failed_workers: u64,
    /// Windows that were refused together with the rows for queries by packets.
    split_windows: u64,
}

impl RunShortfall {
    fn add(&mut self, more: &Self) {
        self.refused_rows += more.refused_rows;
        self.unplaced.add(&more.unplaced);
        self.unfollowed += more.unfollowed;
        self.untold.add(&more.untold);
        self.failed_workers += more.failed_workers;
        self.split_windows += more.split_windows;
    }
}

impl RunRows {
    /// Returns what the run's answers lack of a window. Refused rows count only for answers that read them.
    fn lacking(self, window: &ClosedWindow) -> RunShortfall {
        let refused_rows = if self == Self::OfWindows { window.refused_rows } else { 0 };
        let ClosedWindow { unplaced, unfollowed, .. } = *window;
        let untold = window.all_untold();
        RunShortfall { refused_rows, unplaced, unfollowed, untold, failed_workers: 0, split_windows: 0 }
    }
}

/// A message to the outputs' thread.
enum OutputMessage {
    /// Records, in a block that returns through the sender next to it.
    Records(Vec<FlowRecord>, Sender<Vec<FlowRecord>>),
    Rows(WindowId, FamilyRowBlock, Sender<FamilyRowBlock>),
    /// Rows of records, in a block that returns through the sender; `true`: as in [`RecordSink::begin_last_record_rows`].
    RecordRows(FamilyRowBlock, bool, Sender<FamilyRowBlock>),
    Window(Box<ClosedWindow>),
    /// The data that answers lack in addition to the windows' own reports.
    Lacking(RunShortfall),
    Account(MeasurementTotals),
}

/// Bytes of a record with its optional parts.
fn record_bytes(parts: &MeasuredParts) -> usize {
    let has_more = parts.loss || parts.statistics.iter().any(Option::is_some);
    let plain = size_of::<FlowRecord>();
    let more = if has_more { size_of::<More>() } else { 0 };
    plain + more + if parts.biflow { size_of::<More>() + more } else { 0 }
}

/// Bytes of a row, with its losses where it has any.
fn row_bytes(has_losses: bool) -> usize {
    size_of::<WindowRow<KeyV6>>() + if has_losses { size_of::<LossCounts>() } else { 0 }
}

/// The constant part of a sending half.
#[derive(Clone, Debug)]
struct OutputSetting {
    /// Records in a full block; 0 where nothing takes records.
    records: usize,
    /// Rows in a full block, and in one whose rows have losses.
    rows: [usize; 2],
    /// True if something takes the rows of all windows.
    takes_all_rows: bool,
    /// The data from which queries over the run are answered.
    run: RunRows,
    control: Control,
    time_base: TimeBase,
}

/// The data that queries over the run read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunRows {
    /// The set has no queries over the run.
    Nothing,
    /// The totals of records.
    OfRecords,
    /// The rows of all windows.
    OfWindows,
}

/// The sending half, held by a measuring thread. The first one created also owns the outputs' thread.
#[derive(Debug)]
pub struct Outputs {
    setting: OutputSetting,
    full: SyncSender<OutputMessage>,
    block: Vec<FlowRecord>,
    empty: (Sender<Vec<FlowRecord>>, Receiver<Vec<FlowRecord>>),
    rows: FamilyRowBlock,
    takes_rows: bool,
    record_rows: FamilyRowBlock,
    /// True if the rows of records are the last of their keys.
    are_last: bool,
    empty_rows: (Sender<FamilyRowBlock>, Receiver<FamilyRowBlock>),
    /// The window of `rows`.
    window: WindowId,
    refused_rows: u64,
    thread: Option<(JoinHandle<OutputsResult>, Receiver<String>)>,
    /// The data that the run's answers lack of windows for which there was no room, and of records' rows.
    lacking: Option<RunShortfall>,
    /// An account for which there was no room yet.
    unsent: Option<MeasurementTotals>,
    counters: Arc<HandOverCounters>,
    rotation: Arc<AtomicBool>,
}

/// Records of all sending halves.
#[derive(Debug, Default)]
struct HandOverCounters {
    handed_over: AtomicU64,
    dropped: AtomicU64,
}

/// The report of the output thread at the end.
#[derive(Debug, Default)]
pub struct OutputsResult {
    /// The number of records of the output that has the most.
    pub exported: u64,
    /// The number of records that the output with the most does not have.
    pub dropped: u64,
    /// The counts of each output by itself.
    pub outputs: Vec<OutputCounts>,
    /// Answers over the whole run.
    pub answers: Vec<Answer>,
    /// Answers of windows of other lengths than the run's that its end cut.
    pub longer: Vec<Answer>,
    /// Numbers of packets and records of the run that did not tell what the answer `totals` depends on.
    pub untold_of_totals: Untold,
    /// Windows that could not be passed on.
    pub unreported: u64,
    /// Lines for the user.
    pub warnings: Vec<String>,
    /// The faults that writers reported, one line each.
    pub faults: Vec<String>,
}

impl Outputs {
    /// Starts the thread. Everything is anonymised before it is used.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(
        destinations: Destinations,
        config: &MeasurementConfig,
        control: &Control,
        time_base: TimeBase,
    ) -> std::io::Result<Self> {
        let (full, filled) = sync_channel(WAITING);
        let (warn, warnings) = channel();
        let rotation = Arc::new(AtomicBool::new(false));
        let parts = &config.parts;
        let set = control.set(WindowId::default());
        // Records do not have the losses of pinned flows.
        let run = match (set.rows().asks_of_run(), parts.loss || set.pins().is_some()) {
            (false, _) => RunRows::Nothing,
            (true, false) => RunRows::OfRecords,
            (true, true) => RunRows::OfWindows,
        };
        let setting = OutputSetting {
            takes_all_rows: !destinations.rows.is_empty() || run == RunRows::OfWindows,
            run,
            control: control.clone(),
            records: if destinations.writers.is_empty() { 0 } else { BLOCK_BYTES / record_bytes(parts) },
            rows: [false, true].map(|has_losses| BLOCK_BYTES / row_bytes(has_losses)),
            time_base,
        };
        // The queue is charged to the run's memory even if that leaves less for the tables than they could
        // use.
        let queue = config.limits.lease((WAITING + 2) * BLOCK_BYTES);
        let consumer = Consumer::new(destinations, config, control.clone(), run, warn, Arc::clone(&rotation));
        let thread = std::thread::Builder::new().name("outputs".to_owned()).spawn(move || {
            let mut consumer = consumer;
            consumer.run(&filled);
            drop(queue);
            consumer.finish()
        })?;
        let counters = Arc::new(HandOverCounters::default());
        Ok(Self { thread: Some((thread, warnings)), ..Self::half(setting, full, counters, rotation) })
    }

    fn half(
        setting: OutputSetting,
        full: SyncSender<OutputMessage>,
        counters: Arc<HandOverCounters>,
        rotation: Arc<AtomicBool>,
    ) -> Self {
        Self {
            setting,
            full,
            block: Vec::new(),
            empty: channel(),
            rows: FamilyRowBlock::default(),
            takes_rows: false,
            record_rows: FamilyRowBlock::default(),
            are_last: false,
            empty_rows: channel(),
            window: WindowId::default(),
            refused_rows: 0,
            thread: None,
            lacking: None,
            unsent: None,
            counters,
            rotation,
        }
    }

    /// The flag that makes writers of several files begin the next one, within a fifth of a second.
    pub fn rotation(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.rotation)
    }

    /// Ends the thread when it has written everything; all siblings must have been absorbed.
    pub fn finish(mut self) -> OutputsResult {
        self.hand_over_rest();
        if let Some(account) = self.unsent.take() {
            self.account(account);
        }
        drop(self.full);
        let handed_over = self.counters.handed_over.load(Relaxed);
        let dropped = self.counters.dropped.load(Relaxed);
        let joined = self.thread.map(|(thread, warnings)| (thread.join(), warnings));
        match joined {
            Some((Ok(mut result), warnings)) => {
                let all = handed_over + dropped;
                result.outputs.iter_mut().for_each(|output| output.dropped = all - output.exported);
                result.exported = result.outputs.iter().map(|output| output.exported).max().unwrap_or(0);
                result.dropped = all - result.exported;
                result.warnings.splice(..0, warnings.try_iter());
                result
            }
            _ => OutputsResult {
                dropped: handed_over + dropped,
                faults: vec!["the output thread failed; records and answers are missing".to_owned()],
                ..OutputsResult::default()
            },
        }
    }

    fn hand_over_rest(&mut self) {
        self.may_wait();
        self.hand_over();
        self.hand_over_record_rows();
        if let Some(lacking) = self.lacking.take() {
            self.send(OutputMessage::Lacking(lacking));
        }
    }

    /// Returns what the queue had no room for, or no thread takes.
    fn send(&mut self, message: OutputMessage) -> Option<OutputMessage> {
        match self.setting.time_base {
            TimeBase::Packets => self.full.send(message).err().map(|error| error.0),
            TimeBase::Clock => match self.full.try_send(message) {
                Ok(()) => None,
                Err(TrySendError::Full(message) | TrySendError::Disconnected(message)) => Some(message),
            },
        }
    }

    fn lost(&mut self, mut block: Vec<FlowRecord>) {
        self.counters.dropped.fetch_add(block.len() as u64, Relaxed);
        block.clear();
        self.block = block;
    }

    /// Passes on the rows that were gathered.
    #[cold]
    fn hand_over_rows(&mut self) {
        if self.rows.len() == 0 {
            return;
        }
        let (block, back) = self.next_block(|outputs| &mut outputs.rows);
        if let Some(OutputMessage::Rows(_, mut block, _)) =
            self.send(OutputMessage::Rows(self.window, block, back))
        {
            self.refused_rows += block.len() as u64;
            block.clear();
            self.rows = block;
        }
    }

    #[cold]
    fn hand_over_record_rows(&mut self) {
        if self.record_rows.len() == 0 {
            return;
        }
        let (block, back) = self.next_block(|outputs| &mut outputs.record_rows);
        let message = OutputMessage::RecordRows(block, self.are_last, back);
        if let Some(OutputMessage::RecordRows(mut block, ..)) = self.send(message) {
            self.lacking.get_or_insert_default().refused_rows += block.len() as u64;
            block.clear();
            self.record_rows = block;
        }
    }

    /// The rows gathered, for which an empty block is swapped in, and where the block is returned to.
    fn next_block(
        &mut self,
        of: fn(&mut Self) -> &mut FamilyRowBlock,
    ) -> (FamilyRowBlock, Sender<FamilyRowBlock>) {
        let most = self.setting.rows[0];
        let empty = self.empty_rows.1.try_recv().unwrap_or_else(|_| FamilyRowBlock::like(of(self), most));
        (std::mem::replace(of(self), empty), self.empty_rows.0.clone())
    }
}

impl RecordSink for Outputs {
    #[inline]
    fn record(&mut self, record: FlowRecord) {
        if !self.takes_records() {
            return;
        }
        self.block.push(record);
        if self.block.len() == self.setting.records {
            self.hand_over();
        }
    }

    #[inline]
    fn takes_records(&self) -> bool {
        self.setting.records != 0
    }

    #[inline]
    fn row<K: Key>(&mut self, row: WindowRow<K>, loss: Option<&LossCounts>) {
        if !self.takes_rows {
            return;
        }
        self.rows.push(row, loss);
        if self.rows.len() + self.rows.more >= self.setting.rows[usize::from(self.rows.has_losses())] {
            self.hand_over_rows();
        }
    }

    fn row_statistics<K: Key>(&mut self, key: K, statistics: &[f64]) {
        if self.takes_rows {
            self.rows.push_statistics(key, statistics);
        }
    }

    fn begin_rows(&mut self, window: WindowId) {
        self.window = window;
        let OutputSetting { takes_all_rows, control, .. } = &self.setting;
        self.takes_rows = *takes_all_rows
            || control.recent_windows().keeps(window)
            || control.set(window).asks_of_windows();
    }

    #[inline]
    fn takes_record_rows(&self) -> bool {
        self.setting.run == RunRows::OfRecords
    }

    #[inline]
    fn record_row<K: Key>(&mut self, row: WindowRow<K>) {
        self.record_rows.push(row, None);
        if self.record_rows.len() >= self.setting.rows[0] {
            self.hand_over_record_rows();
        }
    }

    fn begin_last_record_rows(&mut self) {
        self.hand_over_record_rows();
        self.are_last = true;
    }

    fn end_rows(&mut self) -> u64 {
        self.hand_over_rows();
        std::mem::take(&mut self.refused_rows)
    }

    fn window(&mut self, window: ClosedWindow) -> bool {
        let Some(unsent) = self.send(OutputMessage::Window(Box::new(window))) else { return true };
        if let OutputMessage::Window(window) = unsent {
            let split_windows = u64::from(window.split.is_some());
            let more = RunShortfall { split_windows, ..self.setting.run.lacking(&window) };
            self.lacking.get_or_insert_default().add(&more);
        }
        false
    }

    fn hand_over(&mut self) {
        if self.block.is_empty() {
            return;
        }
        let next = self.empty.1.try_recv().unwrap_or_else(|_| Vec::with_capacity(self.setting.records));
        let block = std::mem::replace(&mut self.block, next);
        let count = block.len() as u64;
        match self.send(OutputMessage::Records(block, self.empty.0.clone())) {
            None => {
                self.counters.handed_over.fetch_add(count, Relaxed);
            }
            Some(OutputMessage::Records(block, _)) => self.lost(block),
            Some(_) => {}
        }
    }

    fn worker_failed(&mut self) {
        if self.setting.run == RunRows::OfRecords {
            self.lacking.get_or_insert_default().failed_workers += 1;
        }
    }

    fn may_wait(&mut self) {
        self.setting.time_base = TimeBase::Packets;
    }

    /// Sends an account. If the queue is full, the next account covers this one; the last one waits until the end.
    fn account(&mut self, account: MeasurementTotals) {
        self.hand_over();
        self.unsent = self.send(OutputMessage::Account(account)).map(|_| account);
    }

    fn warnings(&mut self) -> Vec<String> {
        self.thread.as_ref().map_or_else(Vec::new, |(_, warnings)| warnings.try_iter().collect())
    }

    fn sibling(&self) -> Self {
        let (counters, rotation) = (Arc::clone(&self.counters), Arc::clone(&self.rotation));
        Self::half(self.setting.clone(), self.full.clone(), counters, rotation)
    }

    fn absorb(&mut self, mut sibling: Self) {
        sibling.hand_over_rest();
    }
}
