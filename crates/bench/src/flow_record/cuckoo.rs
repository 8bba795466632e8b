//! Edison's table, as the engine uses it.

use super::counted::Counted;
use super::table::{Entries, Knows, Packets, Table};
use crate::tuple::Tuple;
use packet::{Key, KeyBurst, KeyV4, PacketFields, Seed};
use record::FlowRecord;
use summary::tcp::LossCounts;
use summary::{Counts, FlowSink, FlowTable, Limits, TableConfig, Timeouts};

const BURST: usize = 64;
const PACKET: PacketFields = PacketFields {
    time_ns: 1_000_000_000,
    total_byte: Counted::PACKET_BYTES,
    wire_byte: 60,
    tcp_seq: 1,
    tcp_ack: 2,
    tcp_win: 3,
    vlan: PacketFields::NO_VLAN,
    tcp_flags: 16,
    ip_ttl: 64,
    ip_tos: 0,
    macs: [2; 12],
};

/// The exact cuckoo table; unlike FloWatcher's it hashes the key itself, within the time that is measured.
pub(super) struct Cuckoo {
    table: Option<FlowTable<KeyV4>>,
    burst: KeyBurst<KeyV4>,
    seed: Seed,
}

impl Cuckoo {
    pub(super) fn new() -> Self {
        Self { table: None, burst: KeyBurst::with_capacity(BURST), seed: Seed::new(7) }
    }
}

/// Takes records, or nothing while the table is timed.
#[derive(Default)]
struct Sink(Vec<(KeyV4, Counted)>);

impl FlowSink for Sink {
    fn window_counts<K: Key>(&mut self, _: u16, _: &K, _: Counts, _: Option<&LossCounts>) {}
    fn flow_ended(&mut self, record: FlowRecord) {
        let Some(tuple) = record.key.as_ref().and_then(Tuple::of_record) else { return };
        self.0.push((tuple.key(), Counted { packets: record.total_count, bytes: record.total_byte }));
    }
    fn table_full(&mut self, _: &PacketFields) {}
}

impl Table for Cuckoo {
    fn name(&self) -> &'static str {
        "cuckoo"
    }

    fn knows(&self) -> Knows {
        Knows::Keys
    }

    fn renew(&mut self) {
        let timeouts = Timeouts { idle_ns: u64::MAX, active_ns: u64::MAX };
        // The old one goes first. Growth is part of what is measured, so the number of flows is not told.
        self.table = None;
        let limits = Limits::new(usize::MAX >> 1, 1 << 28);
        self.table = FlowTable::new(TableConfig::plain(self.seed, timeouts), &limits).ok();
    }

    fn count(&mut self, packets: Packets<'_>) {
        let Some(table) = &mut self.table else { return };
        for keys in packets.keys.chunks(BURST) {
            self.burst.clear();
            for &key in keys {
                self.burst.push(key, PACKET, &self.seed);
            }
            table.update_burst(&self.burst, &mut Sink::default());
        }
    }

    fn memory_bytes(&self) -> u64 {
        self.table.as_ref().map_or(0, |table| table.bytes() as u64)
    }

    fn entries(&mut self) -> Entries {
        let mut sink = Sink::default();
        if let Some(mut table) = self.table.take() {
            table.end_all(&mut sink);
        }
        Entries::ByKey(sink.0)
    }
}
