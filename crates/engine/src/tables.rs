//! Flow tables of one core, one for each address family.

use crate::collector::{FlowAccumulator, RecordSink};
use crate::config::MeasurementConfig;
use arena::{Limits, OutOfMemory};
use flowtable::{FlowSink, FlowTable, TableConfig};
use packet::{Bursts, KeyV4, KeyV6, Packets};

/// The flow tables of one core, one for each address family.
#[derive(Debug)]
pub(crate) struct FlowTables {
    pub(crate) v4: FlowTable<KeyV4>,
    pub(crate) v6: FlowTable<KeyV6>,
    limits: Limits,
}

impl FlowTables {
    pub(crate) fn new(config: &MeasurementConfig, limits: &Limits) -> Result<Self, OutOfMemory> {
        let MeasurementConfig { seed, key, parts, timeouts, .. } = *config;
        let table = TableConfig { seed, key, timeouts, parts };
        let (v4, v6) = (FlowTable::new(table, limits)?, FlowTable::new(table, limits)?);
        Ok(Self { v4, v6, limits: limits.clone() })
    }

    /// Prefetches the index lines of packets that are counted next.
    #[inline]
    pub(crate) fn prefetch_index(&self, packets: Packets<'_>) {
        self.v4.prefetch_index(packets.v4);
        self.v6.prefetch_index(packets.v6);
    }

    #[inline]
    pub(crate) fn count(&mut self, bursts: &Bursts, sink: &mut impl FlowSink) {
        let (v4, v6) = bursts.lengths();
        // Where places may run out within the burst, they go by the order of arrival.
        if v4 != 0 && v6 != 0 && self.limits.flows_left() < v4 + v6 {
            return self.count_in_order(bursts, sink);
        }
        self.v4.update_burst(&bursts.v4, sink);
        self.v6.update_burst(&bursts.v6, sink);
    }

    /// Counts the packets of both families in the order of their numbers.
    fn count_in_order(&mut self, bursts: &Bursts, sink: &mut impl FlowSink) {
        let Bursts { v4, v6 } = bursts;
        let number_v4 = |at: usize| v4.packets().get(at).map(|packet| v4.numbers().number_of(&packet.fields));
        let number_v6 = |at: usize| v6.packets().get(at).map(|packet| v6.numbers().number_of(&packet.fields));
        let (mut at_v4, mut at_v6) = (0, 0);
        loop {
            let (from_v4, from_v6) = (at_v4, at_v6);
            while number_v4(at_v4).is_some_and(|number| number_v6(at_v6).is_none_or(|other| number < other)) {
                at_v4 += 1;
            }
            self.v4.update_part(v4, from_v4..at_v4, sink);
            while number_v6(at_v6).is_some_and(|number| number_v4(at_v4).is_none_or(|other| number < other)) {
                at_v6 += 1;
            }
            self.v6.update_part(v6, from_v6..at_v6, sink);
            if (from_v4, from_v6) == (at_v4, at_v6) {
                return;
            }
        }
    }

    /// Ends records after another time without a packet from here on.
    pub(crate) fn set_idle_timeout(&mut self, idle_ns: u64) {
        self.v4.set_idle_timeout(idle_ns);
        self.v6.set_idle_timeout(idle_ns);
    }

    pub(crate) fn advance(&mut self, now: u64) {
        self.v4.advance(now);
        self.v6.advance(now);
    }

    /// Empties the tables without reporting their contents.
    pub(crate) fn forget(&mut self) {
        self.v4.take_shares(|_| ());
        self.v6.take_shares(|_| ());
    }

    /// Adds all flows of `shares`, which are empty then.
    pub(crate) fn merge<R: RecordSink>(&mut self, shares: &mut Self, sink: &mut FlowAccumulator<R>) {
        shares.v4.take_shares(|share| sink.merge(&mut self.v4, share));
        shares.v6.take_shares(|share| sink.merge(&mut self.v6, share));
    }
}
