//! Edison's table compared with FloWatcher's, which do not hash keys.

use super::counted::EntryCounts;
use super::flows::HashedPackets;
use super::table::{BenchFlowTable, Entries, Knows};
use crate::cuckoo::Cuckoo;
use crate::tuple::Tuple;

impl BenchFlowTable for Cuckoo {
    fn name(&self) -> &'static str {
        "cuckoo"
    }

    fn knows(&self) -> Knows {
        Knows::Keys
    }

    fn renew(&mut self) {
        self.renew();
    }

    fn count(&mut self, packets: HashedPackets<'_>) {
        self.count(packets.keys);
    }

    fn memory_bytes(&self) -> u64 {
        self.memory_bytes()
    }

    fn entries(&mut self) -> Entries {
        let mut entries = Vec::new();
        self.end(|record| {
            let Some(tuple) = record.key.as_ref().and_then(Tuple::from_record_key) else { return };
            entries
                .push((tuple.key(), EntryCounts { packets: record.total_count, bytes: record.total_byte }));
        });
        Entries::ByKey(entries)
    }
}
