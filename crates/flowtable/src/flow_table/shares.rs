//! Flows as shares: a table gives its own, and counts those of other cores.

use super::{FlowSink, FlowTable};
use crate::cuckoo::NONE;
use crate::entry::{Cold, EntrySlot, Hot};
use crate::share::{FlowAttributes, FlowShare};
use flow::HeaderValues;
use packet::Key;

impl<K: Key> FlowTable<K> {
    /// Emits all flows as shares and leaves the table empty. It must have been made for them
    /// ([`crate::MeasuredParts::shares`]), and no window may have turned since it was empty.
    pub fn take_shares(&mut self, mut take: impl FnMut(&FlowShare<K>)) {
        let Self { hot, cold, spills, arrivals, headers, .. } = self;
        for (number, (hot, cold)) in hot.iter_mut().zip(cold.iter_mut()).enumerate() {
            if hot.is_live() {
                let slot = EntrySlot { number, hot, cold, spills, arrivals };
                let marks = FlowAttributes::read(&slot, self.number);
                let headers =
                    headers.as_ref().map_or(HeaderValues::NONE, |headers| headers.of_record(number));
                take(&FlowShare { key: slot.hot.key, counts: slot.counts(), marks, headers });
            }
        }
        self.limits.give_back_flows(self.len);
        self.len = 0;
        self.forget_all();
    }

    /// Counts a share of a flow in the open window, as if its packets had been counted here. False if there
    /// was no place for one more flow: it is counted nowhere. Timeouts do not apply, and the table must be
    /// made for shares ([`crate::MeasuredParts::shares`]).
    #[must_use]
    pub fn add_share(&mut self, share: &FlowShare<K>, sink: &mut impl FlowSink) -> bool {
        let hash = share.key.hash(&self.config.seed);
        let mut marks = share.marks;
        let latest = self.number.max(marks.numbers[1]);
        self.number = latest;
        let mut slot = self.find(&share.key, hash);
        if slot == NONE {
            slot = self.place(&share.key, hash);
            if slot == NONE {
                return false;
            }
            self.put(slot as usize, Hot::empty(share.key, self.window), Cold::EMPTY);
            self.began_parts(slot as usize);
        } else {
            self.enter_window(slot as usize, sink);
            marks = FlowAttributes::read(&self.slot(slot as usize), latest);
            marks.merge(&share.marks);
        }
        if let Some(headers) = &mut self.headers {
            headers.add(slot as usize, &share.headers);
        }
        let mut slot = self.slot(slot as usize);
        marks.write(&mut slot);
        slot.hot.tcp_flags |= share.marks.tcp_flags;
        slot.add_counts(&share.counts, share.marks.stime);
        true
    }
}
