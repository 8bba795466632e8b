//! The ends of records: by a timeout, or with the source.

use super::{FlowSink, FlowTable};
use crate::arrivals::RecordTimes;
use flow::{EndReason, FlowRecord, Loss, Metric};
use packet::Key;

/// IP protocol number.
const TCP: u8 = 6;

impl<K: Key> FlowTable<K> {
    /// Ends every flow, because the source has ended, and leaves the table empty. A flow that was due by a timeout ends by
    /// that. Gives the number of records that were still open.
    pub fn end_all(&mut self, sink: &mut impl FlowSink) -> u64 {
        let mut open = 0;
        for entry in 0..self.entries {
            let slots = entry << self.slot_bits..(entry + 1) << self.slot_bits;
            for slot in slots.clone() {
                if self.hot[slot].is_live() {
                    let reason = self.due(slot).unwrap_or(EndReason::End);
                    open += u64::from(reason == EndReason::End);
                    let ended = self.end(slot, reason, sink);
                    self.limits.give_back_flows(ended);
                    self.forget_connection_if_vacant(entry);
                }
            }
            for slot in slots {
                if self.hot[slot].has_left() {
                    self.seal(slot, sink);
                }
            }
        }
        self.forget_all();
        open
    }

    /// The reason to end the record in `slot` by stream time, if there is one; with `--biflow`, that of its pair.
    pub(super) fn due(&self, slot: usize) -> Option<EndReason> {
        let RecordTimes { began, arrived, .. } = self.times_of_record(slot);
        self.config.timeouts.due(self.now, began, arrived)
    }

    /// The reason to end it before a packet that has this time.
    fn due_before(&self, slot: usize, time_ns: u64) -> Option<EndReason> {
        let RecordTimes { stime, ltime, .. } = self.times_of_record(slot);
        self.config.timeouts.due(time_ns, stime, ltime)
    }

    /// Returns when the packets of the record in `slot` were, and when they arrived.
    #[inline]
    pub(super) fn times(&self, slot: usize) -> RecordTimes {
        self.arrivals.times(slot, self.cold[slot].stime, self.hot[slot].arrived)
    }

    /// The times of both directions where they are one record.
    fn times_of_record(&self, slot: usize) -> RecordTimes {
        let mut times = self.times(slot);
        if self.config.parts.biflow && self.hot[slot ^ 1].is_live() {
            let other = self.times(slot ^ 1);
            times.stime = times.stime.min(other.stime);
            times.ltime = times.ltime.max(other.ltime);
            times.began = times.began.min(other.began);
            times.arrived = times.arrived.max(other.arrived);
        }
        times
    }

    /// Ends the record in `slot` if it is due, by stream time or by its next packet, which has this time. That of the other direction
    /// ends too if it is due by stream time, where there is none in `slot` then, as a pair's state does not outlive both, and where
    /// losses are tracked, as the packet may tell of some that are no longer the record's. Gives the number of flows that ended.
    pub(super) fn end_due(&mut self, slot: usize, time_ns: u64, sink: &mut impl FlowSink) -> usize {
        let mut ended = 0;
        if self.hot[slot].is_live()
            && let Some(reason) = self.due(slot).or_else(|| self.due_before(slot, time_ns))
        {
            ended += self.end(slot, reason, sink);
        }
        if self.slot_bits != 0 && (self.loss.is_some() || !self.hot[slot].is_live()) {
            if self.hot[slot ^ 1].is_live()
                && let Some(reason) = self.due(slot ^ 1)
            {
                ended += self.end(slot ^ 1, reason, sink);
            }
            self.forget_connection_if_vacant(slot >> 1);
        }
        ended
    }

    /// Ends the record in `slot`; with `--biflow` that of its pair. The entry stays in the index. Returns the
    /// number of flows that ended, which are still to be credited to the limits.
    pub(super) fn end(&mut self, slot: usize, reason: EndReason, sink: &mut impl FlowSink) -> usize {
        let other = slot ^ 1;
        let is_biflow = self.config.parts.biflow;
        let is_pair = is_biflow && self.hot[other].is_live();
        let ltime = if is_biflow { self.times_of_record(slot).ltime } else { 0 };
        if !sink.takes_records() {
            for slot in [Some(slot), is_pair.then_some(other)].into_iter().flatten() {
                self.enter_window(slot, sink);
                self.give_row(slot, sink);
                self.leave(slot);
            }
            if is_biflow {
                self.remember_direction(slot, reason, ltime);
            }
            sink.flow_ended_unmade();
            return 1 + usize::from(is_pair);
        }
        let record = if is_pair {
            let (first, second) = if self.hot[slot].is_second() { (other, slot) } else { (slot, other) };
            let reverse = self.end_slot(second, reason, sink);
            let mut record = self.end_slot(first, reason, sink);
            record.more.get_or_insert_default().reverse = Some(reverse);
            record
        } else {
            self.end_slot(slot, reason, sink)
        };
        if is_biflow {
            self.remember_direction(slot, reason, ltime);
        }
        sink.flow_ended(record);
        1 + usize::from(is_pair)
    }

    fn end_slot(&mut self, slot: usize, reason: EndReason, sink: &mut impl FlowSink) -> FlowRecord {
        // Losses booked from here on belong to the open window.
        self.enter_window(slot, sink);
        self.give_row(slot, sink);
        let spec = self.config.key;
        let mut record = self.slot(slot).record(&spec, reason);
        if let Some(statistics) = &self.statistics
            && statistics.has_records()
        {
            let mean = |metric| self.mean_by_record(metric, slot, &record);
            record.more.get_or_insert_default().statistics = statistics.values(slot, mean);
        }
        if let Some(headers) = &self.headers {
            record.headers = headers.of_record(slot);
        }
        let loss = self.leave(slot);
        if loss.is_some() && record.key.is_some_and(|key| key.protocol == Some(TCP)) {
            record.more.get_or_insert_default().loss = loss;
        }
        record
    }

    /// Emits the totals of the record in `slot` if they are requested.
    #[inline]
    fn give_row(&mut self, slot: usize, sink: &mut impl FlowSink) {
        if sink.takes_record_rows() {
            let mut row = self.slot(slot).record_row();
            if let Some(headers) = &self.headers {
                row.headers = headers.of_record(slot);
            }
            sink.record_row(row);
        }
    }

    /// Ends the record in `slot`, and returns its losses. What it counted in the open window remains to be
    /// sealed.
    fn leave(&mut self, slot: usize) -> Option<Loss> {
        let loss = self.loss.as_mut().map(|loss| {
            let of_record = loss.end(slot);
            if loss.has_open(slot) {
                self.hot[slot].set_left();
            }
            of_record
        });
        if let Some(headers) = &mut self.headers {
            headers.end(slot);
        }
        self.slot(slot).end();
        self.len -= 1;
        loss
    }

    /// The mean of a metric, if the record in `slot` contains it
    /// ([`is_of_record`](crate::parts::is_of_record)); NaN if there is nothing to take it of.
    fn mean_by_record(&self, metric: Metric, slot: usize, record: &FlowRecord) -> f64 {
        let (sum, count) = match metric {
            Metric::Size => (record.total_byte, record.total_count),
            Metric::InterArrival => return f64::NAN,
            Metric::Gap => {
                // Between the first packet and the last are the flow's own packets, and the gaps.
                let first = self.cold[slot].first_number;
                let gaps = record.total_count - 1;
                (self.hot[slot].number(self.number).saturating_sub(first + gaps), gaps)
            }
        };
        if count == 0 { f64::NAN } else { sum as f64 / count as f64 }
    }
}
