//! The flows of a run in a table that knows them by a hash.

use super::{
    BUCKETS, CombinedHash, CountedIn, DoubleHash, HashTableKind, HashedEntry, HashedTable, ListHash,
    ListedEntry, high_of,
};
use crate::{Counts, FlowSink};
use arena::{Arena, Limits, OutOfMemory};
use flow::{FlowRecord, NULL, OpenFields, WindowRow};
use packet::{Bursts, FamilyKey, Key, KeySpec, KeyV4, KeyedPacket, OutOfOrder};

/// The fields that the records of such a table do not tell.
const OPEN: OpenFields = OpenFields::all(&[
    "wire_byte",
    "vlan",
    "smac",
    "dmac",
    "ip_tos",
    "ip_ttl",
    "tcp_flags",
    "tcp_seq",
    "tcp_ack",
    "tcp_win",
]);

/// The properties of a packet that an entry counts.
#[derive(Clone, Copy, Debug)]
struct HashedPacket {
    high: u16,
    check: u32,
    bytes: u32,
    time_ns: u64,
}

/// An entry of a run: 32 bytes, so that two of them are a cache line.
#[derive(Clone, Copy, Debug, Default)]
struct FlowEntry {
    /// The half of the hash by which the entry is known.
    high: u16,
    /// True if it is known that packets of more than one flow were counted.
    is_shared: bool,
    /// The other 32 bits of the hash of the first packet. They choose no entry: they tell that a packet is of another flow.
    check: u32,
    packets: u64,
    bytes: u64,
    last_ns: u64,
}

const _: () = assert!(size_of::<FlowEntry>() == 32);

impl HashedEntry for FlowEntry {
    type Packet = HashedPacket;

    #[inline(always)]
    fn is_free(&self) -> bool {
        self.packets == 0
    }

    #[inline(always)]
    fn is_of(&self, packet: &HashedPacket) -> bool {
        self.high == packet.high
    }

    #[inline(always)]
    fn begin(&HashedPacket { high, check, bytes, time_ns }: &HashedPacket) -> Self {
        Self { high, is_shared: false, check, packets: 1, bytes: bytes.into(), last_ns: time_ns }
    }

    #[inline(always)]
    fn count(&mut self, packet: &HashedPacket) -> bool {
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        self.last_ns = self.last_ns.max(packet.time_ns);
        let is_its = self.check == packet.check;
        self.is_shared |= !is_its;
        is_its
    }
}

/// The part of an entry that its first packet sets, apart from what all packets change.
#[derive(Clone, Copy, Debug)]
struct Label {
    key: FamilyKey,
    first_ns: u64,
}

#[derive(Debug)]
enum Table {
    Double(DoubleHash<FlowEntry>),
    List(ListHash<FlowEntry>),
    Combined(CombinedHash<FlowEntry>),
}

/// The packets that are known to be counted wrongly. The table tells flows apart by 32 bits of their hashes, and packets of a flow that has the
/// same 32 bits as another are noticed by the other 32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Miscounts {
    /// Entries in which packets of more than one flow were counted.
    pub shared_entries: u64,
    /// Packets that were counted in an entry that another flow began.
    pub shared_packets: u64,
}

impl Miscounts {
    /// Adds those of another table.
    pub fn add(&mut self, more: &Self) {
        self.shared_entries += more.shared_entries;
        self.shared_packets += more.shared_packets;
    }
}

/// The sums of packets that were counted in entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountedPackets {
    /// Packets and bytes.
    pub counts: Counts,
    /// Times of the earliest and of the latest packet; `None` without packets.
    pub times: Option<(u64, u64)>,
}

/// The flows of one core in a table that knows them by a hash, from the first packet of the run to its last: packets, bytes, first and last
/// time of each entry, under the key of the packet that began it.
#[derive(Debug)]
pub struct FlowsByHash {
    table: Table,
    labels: Arena<Label>,
    key: KeySpec,
    limits: Limits,
    flows: usize,
    shared_packets: u64,
}

impl FlowsByHash {
    /// Returns an empty table. `key`: the parts of which keys consist.
    ///
    /// # Errors
    /// If the limits leave no room for the buckets.
    pub fn new(kind: HashTableKind, key: KeySpec, limits: &Limits) -> Result<Self, OutOfMemory> {
        let (table, of_pairs) = match kind {
            HashTableKind::Double => (Table::Double(DoubleHash::new(limits)?), 2 * BUCKETS),
            HashTableKind::List => (Table::List(ListHash::new(limits)?), 0),
            HashTableKind::Combined => (Table::Combined(CombinedHash::new(limits)?), 2 * BUCKETS),
        };
        let of_memory = limits.bytes_allowed() / size_of::<Label>() + 1;
        let most = limits.flow_limit().min(of_memory).min(1 << 30);
        let mut labels = Arena::reserve(most.saturating_add(of_pairs), limits)?;
        for _ in 0..of_pairs {
            if !labels.make_room() {
                return Err(OutOfMemory::from_limits(of_pairs * size_of::<Label>()));
            }
            labels.push(Label { key: FamilyKey::V4(KeyV4::default()), first_ns: 0 });
        }
        Ok(Self { table, labels, key, limits: limits.clone(), flows: 0, shared_packets: 0 })
    }

    /// Counts packets in the order in which they arrived. Those for which there is no entry go to [`FlowSink::table_full`], and are not among
    /// the sums.
    pub fn count(&mut self, bursts: &Bursts, sink: &mut impl FlowSink) -> CountedPackets {
        let Self { table, labels, limits, flows, shared_packets, .. } = self;
        let mut counting =
            Counting { labels, limits, flows, shared_packets, sums: CountedPackets::default() };
        match table {
            Table::Double(table) => counting.bursts(table, bursts, sink),
            Table::List(table) => counting.bursts(table, bursts, sink),
            Table::Combined(table) => counting.bursts(table, bursts, sink),
        }
        counting.sums
    }

    /// Ends all records, because the source has ended.
    pub fn end(self, sink: &mut impl FlowSink) -> Miscounts {
        let mut miscounts = Miscounts { shared_packets: self.shared_packets, ..Miscounts::default() };
        let each = |listed: ListedEntry<FlowEntry>| {
            miscounts.shared_entries += u64::from(listed.entry.is_shared);
            let Label { key, first_ns } = self.labels[listed.number];
            match key {
                FamilyKey::V4(key) => give(key, &self.key, &listed.entry, first_ns, sink),
                FamilyKey::V6(key) => give(key, &self.key, &listed.entry, first_ns, sink),
            }
        };
        match &self.table {
            Table::Double(table) => table.entries().for_each(each),
            Table::List(table) => table.entries().for_each(each),
            Table::Combined(table) => table.entries().for_each(each),
        }
        miscounts
    }
}

impl Drop for FlowsByHash {
    fn drop(&mut self) {
        self.limits.give_back_flows(self.flows);
    }
}

/// Gives an entry out as a record.
fn give<K: Key>(key: K, spec: &KeySpec, entry: &FlowEntry, first_ns: u64, sink: &mut impl FlowSink) {
    let row = WindowRow {
        packets: entry.packets,
        bytes: entry.bytes,
        wire_bytes: NULL,
        ..WindowRow::without_packets(key, first_ns, entry.last_ns)
    };
    if sink.takes_record_rows() {
        sink.record_row(row);
    }
    if sink.takes_records() {
        sink.flow_ended(FlowRecord { open: OPEN, ..FlowRecord::of_row(key.flow_key(spec), &row) });
    } else {
        sink.flow_ended_unmade();
    }
}

/// The parts of [`FlowsByHash`] that packets change, apart from the table.
struct Counting<'a> {
    labels: &'a mut Arena<Label>,
    limits: &'a Limits,
    flows: &'a mut usize,
    shared_packets: &'a mut u64,
    sums: CountedPackets,
}

/// The packets of one family of a burst, one after the other.
struct Arrivals<'a, K> {
    packets: &'a [KeyedPacket<K>],
    at: usize,
    out_of_order: &'a [OutOfOrder],
}

impl<'a, K: Key> Arrivals<'a, K> {
    fn new(burst: &'a packet::KeyBurst<K>) -> Self {
        Self { packets: burst.packets(), at: 0, out_of_order: burst.out_of_order() }
    }

    /// Returns the number of the next packet's frame, in 32 bits.
    fn number(&self) -> Option<u32> {
        self.packets.get(self.at).map(|packet| packet.fields.number)
    }

    /// Takes the next packet, and whether it may be older than one before it.
    fn take(&mut self) -> Option<(&'a KeyedPacket<K>, bool)> {
        let packet = self.packets.get(self.at)?;
        let is_late = self.out_of_order.first().is_some_and(|first| first.at == self.at);
        self.out_of_order = &self.out_of_order[usize::from(is_late)..];
        self.at += 1;
        Some((packet, is_late))
    }
}

impl Counting<'_> {
    /// Counts the packets of both families in the order of their frames: the first flows that come to a bucket have its entries.
    fn bursts(&mut self, table: &mut impl HashedTable<FlowEntry>, bursts: &Bursts, sink: &mut impl FlowSink) {
        let (mut v4, mut v6) = (Arrivals::new(&bursts.v4), Arrivals::new(&bursts.v6));
        loop {
            let is_v4 = match (v4.number(), v6.number()) {
                (None, None) => return,
                // Numbers of a burst are near one another.
                (Some(v4), Some(v6)) => (v4.wrapping_sub(v6) as i32) < 0,
                (v4, _) => v4.is_some(),
            };
            if is_v4 {
                v4.take().into_iter().for_each(|(packet, is_late)| {
                    self.packet(table, packet, FamilyKey::V4, is_late, sink);
                });
            } else {
                v6.take().into_iter().for_each(|(packet, is_late)| {
                    self.packet(table, packet, FamilyKey::V6, is_late, sink);
                });
            }
        }
    }

    #[inline(always)]
    fn packet<K: Key>(
        &mut self,
        table: &mut impl HashedTable<FlowEntry>,
        KeyedPacket { key, hash, fields }: &KeyedPacket<K>,
        family: fn(K) -> FamilyKey,
        is_late: bool,
        sink: &mut impl FlowSink,
    ) {
        let (low, check) = (*hash as u32, (hash >> 32) as u32);
        let (bytes, time_ns) = (fields.total_byte, fields.time_ns);
        let packet = HashedPacket { high: high_of(low), check, bytes, time_ns };
        let Self { labels, limits, .. } = self;
        let may_begin = |number: usize| (number < labels.len() || labels.make_room()) && limits.take_flow();
        let counted = table.count(low, &packet, may_begin);
        match counted {
            CountedIn::Begun(number) => self.begin(number, Label { key: family(*key), first_ns: time_ns }),
            CountedIn::Known(number) | CountedIn::Shared(number) => {
                *self.shared_packets += u64::from(matches!(counted, CountedIn::Shared(_)));
                if is_late {
                    let label = &mut self.labels[number];
                    label.first_ns = label.first_ns.min(time_ns);
                }
            }
            CountedIn::Nowhere => return sink.table_full(key, fields),
        }
        let CountedPackets { counts, times } = &mut self.sums;
        counts.packets += 1;
        counts.bytes += u64::from(bytes);
        counts.wire += u64::from(fields.wire_byte);
        let (first, last) = times.unwrap_or((time_ns, time_ns));
        *times = Some((first.min(time_ns), last.max(time_ns)));
    }

    #[cold]
    fn begin(&mut self, number: usize, label: Label) {
        *self.flows += 1;
        match self.labels.get_mut(number) {
            Some(place) => *place = label,
            // Entries of lists begin in the order of their numbers, and there is room.
            None => self.labels.push(label),
        }
    }
}
