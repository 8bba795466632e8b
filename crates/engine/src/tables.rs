//! Flow tables of one core, one for each address family.

use crate::collector::{Collector, RecordSink};
use crate::config::Config;
use packet::{Bursts, KeyV4, KeyV6, Packets};
use summary::{FlowSink, FlowTable, Limits, OutOfMemory, TableConfig};

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) v4: FlowTable<KeyV4>,
    pub(crate) v6: FlowTable<KeyV6>,
}

impl Tables {
    pub(crate) fn new(config: &Config, limits: &Limits) -> Result<Self, OutOfMemory> {
        let Config { seed, key, parts, timeouts, .. } = *config;
        let table = TableConfig { seed, key, timeouts, parts };
        Ok(Self { v4: FlowTable::new(table, limits)?, v6: FlowTable::new(table, limits)? })
    }

    /// Flows in them.
    pub(crate) fn flows(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    /// Prefetches the index lines of packets that are counted next.
    #[inline]
    pub(crate) fn prefetch_index(&self, packets: Packets<'_>) {
        self.v4.prefetch_index(packets.v4);
        self.v6.prefetch_index(packets.v6);
    }

    #[inline]
    pub(crate) fn count(&mut self, bursts: &Bursts, sink: &mut impl FlowSink) {
        self.v4.update_burst(&bursts.v4, sink);
        self.v6.update_burst(&bursts.v6, sink);
    }

    pub(crate) fn advance(&mut self, now: u64) {
        self.v4.advance(now);
        self.v6.advance(now);
    }

    /// Empties them without reporting their contents.
    pub(crate) fn forget(&mut self) {
        self.v4.take_shares(|_| ());
        self.v6.take_shares(|_| ());
    }

    /// Adds all flows of `shares`, which are empty then.
    pub(crate) fn merge<R: RecordSink>(&mut self, shares: &mut Self, sink: &mut Collector<R>) {
        shares.v4.take_shares(|share| sink.merge(&mut self.v4, share));
        shares.v6.take_shares(|share| sink.merge(&mut self.v6, share));
    }
}
