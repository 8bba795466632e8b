//! The exact flow table: every flow of one address family, its window's counts and its totals.

mod burst;
mod ends;
mod entries;
mod pairs;
mod records;
mod shares;
mod windows;

use crate::arrivals::OutOfOrderTimes;
use crate::cuckoo::{CuckooIndex, MAX_ENTRIES, NONE};
use crate::entry::{Cold, Hot};
use crate::header_part::HeaderPart;
use crate::loss_part::LossPart;
use crate::parts::MeasuredParts;
use crate::statistic_part::StatisticPart;
use crate::tally::Spills;
use crate::timeouts::Timeouts;
use crate::touched::Touched;
use arena::{Arena, Limits, OutOfMemory};
use burst::kind_of;
use flow::{FlowRecord, WindowRow};
use packet::{Key, KeySpec, PacketFields, Seed};
use tcp::LossCounts;

/// The receiver of the table's output.
pub trait FlowSink {
    /// The row of a key in a window that is over ([`FlowTable::turn`] counts windows, modulo 2^16): each key
    /// that had packets in it is reported once. `loss` has its losses, if tracked; a key may have losses
    /// without packets.
    fn window_sealed<K: Key>(&mut self, window: u16, row: WindowRow<K>, loss: Option<&LossCounts>);
    /// Statistics of the packets of the row that [`FlowSink::window_sealed`] gives next, which has this key: those of
    /// [`MeasuredParts::row_statistics`], in their order, NaN where there is no value. Rows without packets have none.
    fn row_statistics<K: Key>(&mut self, _key: K, _values: &[f64]) {}
    /// A finished record.
    fn flow_ended(&mut self, record: FlowRecord);
    /// False if records need not be made: [`FlowSink::flow_ended_unmade`] is called for each instead.
    #[inline]
    fn takes_records(&self) -> bool {
        true
    }
    /// A record has ended that was not made.
    fn flow_ended_unmade(&mut self) {}
    /// True if the totals of each record that ends are required as a row: [`FlowSink::record_row`].
    #[inline]
    fn takes_record_rows(&self) -> bool {
        false
    }
    /// The totals of a record that ends, of a pair those of each direction: the sum of its windows' rows.
    fn record_row<K: Key>(&mut self, _row: WindowRow<K>) {}
    /// A packet of a new flow for which there was no place: it is counted nowhere else.
    fn table_full<K: Key>(&mut self, key: &K, packet: &PacketFields);
}

/// The configuration of a table.
#[derive(Clone, Copy, Debug)]
pub struct TableConfig {
    /// Seed of the keys' hash.
    pub seed: Seed,
    /// Parts of which keys consist.
    pub key: KeySpec,
    /// Timeouts by which records end.
    pub timeouts: Timeouts,
    /// Parts that records carry beyond the plain ones.
    pub parts: MeasuredParts,
}

impl TableConfig {
    /// Plain records of 5-tuples.
    pub fn plain(seed: Seed, timeouts: Timeouts) -> Self {
        Self { seed, key: KeySpec::FIVE_TUPLE, timeouts, parts: MeasuredParts::default() }
    }
}

/// A hash table of flows with exact counts, for keys of one kind.
///
/// Records do not depend on when [`FlowTable::sweep`] reaches a flow: a packet that finds its flow past a
/// timeout ends that record itself.
///
/// An entry holds one flow, or both directions of a pair where parts need them together. Each direction then
/// has its own slot, next to the other one's, so that a packet touches no more lines than without pairs.
#[derive(Debug)]
pub struct FlowTable<K: Key> {
    index: CuckooIndex,
    /// Hot lines, by slot.
    hot: Arena<Hot<K>>,
    /// Cold lines, by slot.
    cold: Arena<Cold>,
    spills: Spills,
    arrivals: OutOfOrderTimes,
    statistics: Option<StatisticPart>,
    loss: Option<LossPart>,
    headers: Option<HeaderPart>,
    /// The kind of change that a packet makes ([`kind_of`]).
    part: u8,
    /// True if records keep the numbers of their packets.
    keeps_numbers: bool,
    /// Number of the latest packet.
    number: u64,
    config: TableConfig,
    limits: Limits,
    /// Slots of an entry, as a power of two: 0 or 1.
    slot_bits: u32,
    /// Entries that are or were in use.
    entries: usize,
    /// The entries that were in use and are not form a list from here on.
    free: u32,
    len: usize,
    /// Stream time.
    now: u64,
    /// The open window.
    window: u16,
    /// The next entry to sweep.
    swept: usize,
    /// True while a flow may not have entered the open window: from a turn until a sweep has completed a pass, and where flows are listed.
    is_sealing: bool,
    touched: Touched,
}

impl<K: Key> FlowTable<K> {
    /// An empty table. It begins with 128 KiB and grows within `limits`.
    ///
    /// # Errors
    /// If address space for the maximum of `limits` cannot be reserved.
    pub fn new(config: TableConfig, limits: &Limits) -> Result<Self, OutOfMemory> {
        let parts = config.parts;
        let slot_bits = u32::from(parts.are_paired());
        let per_entry = (size_of::<Hot<K>>() + size_of::<Cold>()) << slot_bits;
        let most = limits.flow_limit().min(limits.bytes_allowed() / per_entry + 1).min(MAX_ENTRIES);
        Ok(Self {
            index: CuckooIndex::new(most, limits)?,
            hot: Arena::reserve(most << slot_bits, limits)?,
            cold: Arena::reserve(most << slot_bits, limits)?,
            spills: Spills::default(),
            arrivals: OutOfOrderTimes::new(limits),
            statistics: StatisticPart::new(&parts, most << slot_bits, limits)?,
            loss: parts.loss.then(|| LossPart::new(most, limits)).transpose()?,
            headers: parts.headers.then(|| HeaderPart::new(most << slot_bits, limits)).transpose()?,
            part: kind_of(&parts),
            keeps_numbers: parts.keep_numbers(),
            number: 0,
            config,
            limits: limits.clone(),
            slot_bits,
            entries: 0,
            free: NONE,
            len: 0,
            now: 0,
            window: 0,
            swept: 0,
            is_sealing: false,
            touched: Touched::default(),
        })
    }

    /// Flows in the table; both directions of a pair count.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without flows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> usize {
        let statistics = self.statistics.as_ref().map_or(0, StatisticPart::bytes);
        let loss = self.loss.as_ref().map_or(0, LossPart::bytes);
        let parts = statistics + loss + self.headers.as_ref().map_or(0, HeaderPart::bytes);
        self.index.bytes() + self.hot.bytes() + self.cold.bytes() + self.arrivals.bytes() + parts
    }

    /// Sets stream time; it never goes back.
    pub fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// Sets the idle timeout after which records end from here on. It is finite, as it was before: where no record ends by time, the table
    /// does not know when packets came.
    pub fn set_idle_timeout(&mut self, idle_ns: u64) {
        debug_assert!(idle_ns != u64::MAX && self.config.timeouts.idle_ns != u64::MAX);
        self.config.timeouts.idle_ns = idle_ns;
    }
}

impl<K: Key> Drop for FlowTable<K> {
    fn drop(&mut self) {
        self.limits.give_back_flows(self.len);
    }
}
