//! The exact flow table that several cores update together.

use crate::Counts;
use crate::flow_table::FlowSink;
use crate::share::{FlowAttributes, FlowShare};
use arena::shared::{AtomicCounter, Section, Slots};
use arena::{Lease, Limits, OutOfMemory};
use flow::HeaderValues;
use packet::{Key, KeyBurst, KeyedPacket, Numbers};

/// Packets that go through the table's stages together, as in [`crate::FlowTable`].
const BATCH: usize = 64;

/// The attributes and header fields of a flow before its first packet.
const NO_PACKET: (FlowAttributes, HeaderValues) = (FlowAttributes::NONE, HeaderValues::NONE);

/// The state of a flow.
#[derive(Debug)]
struct SharedFlow {
    packets: AtomicCounter,
    bytes: AtomicCounter,
    wire: AtomicCounter,
    marks: Section<(FlowAttributes, HeaderValues)>,
}

impl SharedFlow {
    fn new() -> Self {
        Self {
            packets: AtomicCounter::new(),
            bytes: AtomicCounter::new(),
            wire: AtomicCounter::new(),
            marks: Section::new(NO_PACKET),
        }
    }
}

/// Flows of one address family with exact counts, kept by several cores in one place: the plain record,
/// without timeouts. Its size is fixed: flows without a place are passed to the sink.
#[derive(Debug)]
pub struct SharedTable<K: Key> {
    flows: Slots<K, SharedFlow>,
    /// The memory of the table, credited when the table is dropped.
    _memory: Lease,
}

impl<K: Key> SharedTable<K> {
    /// An empty table for `flows` flows, whose memory is allocated now.
    ///
    /// # Errors
    /// If `limits` have no room for it.
    pub fn new(flows: usize, limits: &Limits) -> Result<Self, OutOfMemory> {
        let bytes = Self::bytes_for(flows);
        let memory = limits.lease(bytes).ok_or_else(|| OutOfMemory::from_limits(bytes))?;
        Ok(Self { flows: Slots::new(flows, K::default(), SharedFlow::new), _memory: memory })
    }

    /// Bytes that a table for `flows` flows takes.
    pub fn bytes_for(flows: usize) -> usize {
        Slots::<K, SharedFlow>::bytes_for(flows)
    }

    /// Counts a burst; other cores may count at the same time.
    pub fn update_burst(&self, burst: &KeyBurst<K>, sink: &mut impl FlowSink) {
        let mut headers = burst.headers();
        for batch in burst.packets().chunks(BATCH) {
            let (of_batch, later) = headers.split_at(batch.len().min(headers.len()));
            headers = later;
            self.update_batch(batch, of_batch, burst.numbers(), sink);
        }
    }

    /// `headers`: header fields of the packets, or none.
    fn update_batch(
        &self,
        batch: &[KeyedPacket<K>],
        headers: &[HeaderValues],
        numbers: Numbers,
        sink: &mut impl FlowSink,
    ) {
        batch.iter().for_each(|packet| self.flows.prefetch_word(packet.hash));
        batch.iter().for_each(|packet| self.flows.prefetch_slot(packet.hash));
        let mut headers = headers.iter();
        for KeyedPacket { key, hash, fields } in batch {
            let headers = headers.next();
            match self.flows.get_or_put(key, *hash) {
                Some(flow) => {
                    flow.packets.add(1);
                    flow.bytes.add(fields.total_byte.into());
                    flow.wire.add(fields.wire_byte.into());
                    flow.marks.enter(|(marks, values)| {
                        marks.merge(&FlowAttributes::from_packet(fields, numbers.number_of(fields)));
                        if let Some(headers) = headers {
                            values.merge(headers);
                        }
                    });
                }
                None => sink.table_full(key, fields),
            }
        }
    }

    /// Emits all flows, and is empty afterwards.
    pub fn take_shares(&mut self, mut take: impl FnMut(&FlowShare<K>)) {
        self.flows.drain(|key, flow| {
            let SharedFlow { packets, bytes, wire, marks } = flow;
            let counts = Counts { packets: packets.take(), bytes: bytes.take(), wire: wire.take() };
            let (marks, headers) = marks.enter(|marks| std::mem::replace(marks, NO_PACKET));
            take(&FlowShare { key: *key, counts, marks, headers });
        });
    }
}
