//! Edison's exact flow table as the engine uses it: what several benches compare with others.

use arena::Limits;
use flow::{FlowRecord, WindowRow};
use flowtable::{FlowSink, FlowTable, TableConfig, Timeouts};
use packet::{Key, KeyBurst, KeyV4, PacketFields, Seed};
use tcp::LossCounts;

/// Packets that go into a table together: the usual burst.
pub(crate) const BURST: usize = 256;

/// The number of packets after which the table is notified, as by a receiver that parses.
const EXPECTED: usize = 16;

/// The fields that every packet has in addition to its key.
pub(crate) const PACKET: PacketFields = PacketFields {
    time_ns: 1_000_000_000,
    total_byte: 46,
    wire_byte: 60,
    number: 0,
    tcp_seq: 1,
    tcp_ack: 2,
    tcp_win: 3,
    vlan: PacketFields::NO_VLAN,
    tcp_flags: 16,
    direction: 0,
    ip_ttl: 64,
    ip_tos: 0,
    macs: [2; 12],
};

/// The engine's flow table, which hashes keys within the time that is measured.
pub(crate) struct Cuckoo {
    table: Option<FlowTable<KeyV4>>,
    burst: KeyBurst<KeyV4>,
    seed: Seed,
}

impl Cuckoo {
    /// Makes a contender without a table as yet.
    pub(crate) fn new() -> Self {
        Self { table: None, burst: KeyBurst::with_capacity(BURST), seed: Seed::new(7) }
    }

    /// An empty table. Growth is part of what is measured, so the number of flows is not told.
    pub(crate) fn renew(&mut self) {
        let timeouts = Timeouts { idle_ns: u64::MAX, active_ns: u64::MAX };
        // The old one goes first.
        self.table = None;
        let limits = Limits::new(usize::MAX >> 1, 1 << 28);
        self.table = FlowTable::new(TableConfig::plain(self.seed, timeouts), &limits).ok();
    }

    /// Counts a packet of each of these keys.
    pub(crate) fn count(&mut self, keys: &[KeyV4]) {
        let Some(table) = &mut self.table else { return };
        // A copy, which no write to the burst can change.
        let seed = self.seed;
        for keys in keys.chunks(BURST) {
            self.burst.clear();
            for part in keys.chunks(EXPECTED) {
                let pushed = self.burst.packets().len();
                for &key in part {
                    self.burst.push(key, PACKET, &seed);
                }
                table.prefetch_index(&self.burst.packets()[pushed..]);
            }
            table.update_burst(&self.burst, &mut RecordOnlySink(|_| ()));
        }
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.table.as_ref().map_or(0, |table| table.bytes() as u64)
    }

    /// Ends all records. There is no table afterwards.
    pub(crate) fn end(&mut self, record: impl FnMut(FlowRecord)) {
        if let Some(mut table) = self.table.take() {
            table.end_all(&mut RecordOnlySink(record));
        }
    }
}

/// Takes records only.
struct RecordOnlySink<F>(F);

impl<F: FnMut(FlowRecord)> FlowSink for RecordOnlySink<F> {
    fn window_sealed<K: Key>(&mut self, _: u16, _: WindowRow<K>, _: Option<&LossCounts>) {}
    fn flow_ended(&mut self, record: FlowRecord) {
        (self.0)(record);
    }
    fn table_full<K: Key>(&mut self, _: &K, _: &PacketFields) {}
}
