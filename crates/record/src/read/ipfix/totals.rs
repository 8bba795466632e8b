//! Totals that grow: what a record adds to the one of its flow before.

use flow::NULL;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// The number of counters of a direction of a flow: packets, bytes, bytes on the wire.
pub const COUNTERS: usize = 3;

/// The most flows in each of both generations.
const MOST_FLOWS: usize = 1 << 16;
/// Flows of which nothing came for as long are over.
const SILENT_NS: u64 = 30 * 60 * 1_000_000_000;

/// The totals that the last records of flows had.
#[derive(Debug, Default)]
pub struct RunningTotals {
    hashers: [RandomState; 2],
    /// Flows since the last turn, and those before of which nothing came since then.
    now: HashMap<u128, FlowTotals>,
    before: HashMap<u128, FlowTotals>,
    turned_ns: u64,
    forgotten: u64,
}

/// The last known totals of a flow.
#[derive(Clone, Copy, Debug)]
struct FlowTotals {
    start: u64,
    export_ns: u64,
    totals: [[u64; COUNTERS]; 2],
}

/// The totals of a record, of both directions; [`NULL`] where there is none.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordTotals {
    /// The time at which the flow began, as the record tells it; [`NULL`] where it does not.
    pub(super) start: u64,
    /// The time at which the record was exported.
    pub(super) export_ns: u64,
    /// True if no record of the flow follows.
    pub(super) is_over: bool,
    /// The number of bits of the totals.
    pub(super) bits: u32,
    pub(super) totals: [[u64; COUNTERS]; 2],
}

/// The relation of a record's totals to the ones before.
enum TotalsRelation {
    /// Totals that grew, perhaps beyond their bits.
    Grown,
    /// Totals that were overtaken: the ones before have what they count.
    Overtaken,
    /// Totals of another flow of the same key, or of counters that began anew.
    Anew,
}

impl RunningTotals {
    /// Flows that were forgotten because there were too many: what comes of them again counts whole.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The key of a flow by what its records have in common. No key is found by trying.
    pub(super) fn key<'a>(
        &self,
        session: u64,
        fields: impl Iterator<Item = (u16, &'a [u8])> + Clone,
    ) -> u128 {
        let [first, second] = self.hashers.each_ref().map(|hasher| {
            let mut state = hasher.build_hasher();
            use std::hash::{Hash, Hasher};
            session.hash(&mut state);
            fields.clone().for_each(|field| field.hash(&mut state));
            state.finish()
        });
        u128::from(first) << 64 | u128::from(second)
    }

    /// Returns what a record adds to the record of its flow before.
    pub(super) fn take(&mut self, key: u128, told: RecordTotals) -> [[u64; COUNTERS]; 2] {
        self.turn(told.export_ns);
        let known = self.now.remove(&key).or_else(|| self.before.remove(&key));
        let RecordTotals { start, export_ns, is_over, totals, .. } = told;
        // Most exporters tell a flow in one record: nothing is kept of those.
        let unless_over = |totals| (!is_over).then_some(FlowTotals { start, export_ns, totals });
        let (difference, keeps) = match known {
            None => (totals, unless_over(totals)),
            Some(known) => match known.order(&told) {
                // What is over is the flow before, or was told already: the flow that is known goes on.
                TotalsRelation::Overtaken => {
                    (totals.map(|of| of.map(|total| if total == NULL { NULL } else { 0 })), Some(known))
                }
                TotalsRelation::Anew => (totals, unless_over(totals)),
                TotalsRelation::Grown => (known.difference(&told), unless_over(known.joined(&told))),
            },
        };
        if let Some(keeps) = keeps {
            self.now.insert(key, keeps);
        }
        difference
    }

    /// Makes room: flows that were silent since the last turn are forgotten.
    fn turn(&mut self, now_ns: u64) {
        let is_old = now_ns.saturating_sub(self.turned_ns) >= SILENT_NS;
        if self.now.len() < MOST_FLOWS && !is_old {
            return;
        }
        let before = std::mem::replace(&mut self.before, std::mem::take(&mut self.now));
        if !is_old {
            self.forgotten += before.len() as u64;
        }
        self.turned_ns = now_ns;
    }
}

/// Returns both totals where both are told.
fn both(before: u64, now: u64) -> Option<(u64, u64)> {
    (before != NULL && now != NULL).then_some((before, now))
}

impl FlowTotals {
    fn pairs<'a>(&'a self, told: &'a RecordTotals) -> impl Iterator<Item = (u64, u64)> + 'a {
        self.totals
            .iter()
            .flatten()
            .zip(told.totals.iter().flatten())
            .filter_map(|(before, now)| both(*before, *now))
    }

    fn order(&self, told: &RecordTotals) -> TotalsRelation {
        let has_start = self.start != NULL && told.start != NULL;
        if has_start && self.start != told.start {
            // What is exported earlier is of the flow before this one.
            return if told.export_ns < self.export_ns {
                TotalsRelation::Overtaken
            } else {
                TotalsRelation::Anew
            };
        }
        if self.pairs(told).all(|(before, now)| now >= before) {
            return TotalsRelation::Grown;
        }
        if told.export_ns < self.export_ns || has_start && told.export_ns == self.export_ns {
            return TotalsRelation::Overtaken;
        }
        // Of 64 bits no total wraps. Counters of a record may have different widths: one that grew need not have wrapped.
        let half = 1u64 << (told.bits.clamp(2, 64) - 1);
        let has_wrapped = |(before, now): (u64, u64)| now >= before || wrapped(before, now, told.bits) < half;
        if has_start && told.bits < 64 && self.pairs(told).all(has_wrapped) {
            TotalsRelation::Grown
        } else {
            TotalsRelation::Anew
        }
    }

    fn difference(&self, told: &RecordTotals) -> [[u64; COUNTERS]; 2] {
        let mut difference = told.totals;
        let of = difference.iter_mut().flatten().zip(self.totals.iter().flatten());
        for (now, before) in of {
            *now = match both(*before, *now) {
                Some((before, now)) if now < before => wrapped(before, now, told.bits),
                Some((before, now)) => now - before,
                None => *now,
            };
        }
        difference
    }

    /// Returns the totals of the record; a total that this record does not tell is as it was.
    fn joined(&self, told: &RecordTotals) -> [[u64; COUNTERS]; 2] {
        let mut joined = told.totals;
        let of = joined.iter_mut().flatten().zip(self.totals.iter().flatten());
        of.filter(|(now, _)| **now == NULL).for_each(|(now, before)| *now = *before);
        joined
    }
}

/// The difference of counters of this number of bits.
fn wrapped(before: u64, now: u64, bits: u32) -> u64 {
    let difference = now.wrapping_sub(before);
    if bits < 64 { difference & ((1 << bits) - 1) } else { difference }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn told(start: u64, second: u64, packets: u64) -> RecordTotals {
        let totals = [[packets, NULL, NULL], [NULL; COUNTERS]];
        RecordTotals { start, export_ns: second * SECOND, is_over: false, bits: 64, totals }
    }

    fn added(totals: &mut RunningTotals, told: RecordTotals) -> u64 {
        totals.take(1, told)[0][0]
    }

    #[test]
    fn totals_of_a_flow_are_differences() {
        let mut totals = RunningTotals::default();
        let mut take = |second, packets| added(&mut totals, told(7, second, packets));
        assert_eq!([take(1, 100), take(2, 200), take(3, 300), take(4, 300)], [100, 100, 100, 0]);
        // One that was overtaken, and one that came twice.
        assert_eq!([take(2, 250), take(4, 300), take(5, 310)], [0, 0, 10]);
        // Counters that began anew with the same flow.
        assert_eq!([take(6, 4), take(7, 9)], [4, 5]);
    }

    #[test]
    fn another_flow_of_the_key_counts_whole() {
        let mut totals = RunningTotals::default();
        let mut take = |start, second, packets| added(&mut totals, told(start, second, packets));
        assert_eq!([take(1, 1, 100), take(2, 2, 150), take(2, 3, 160)], [100, 150, 10]);
        // Late, of the one before.
        assert_eq!([take(1, 1, 100), take(2, 4, 170)], [0, 10]);
        // Where no start is told, totals that are smaller are of another one.
        let mut take = |second, packets| totals.take(2, told(NULL, second, packets))[0][0];
        assert_eq!([take(1, 100), take(1, 120), take(2, 30), take(3, 40)], [100, 20, 30, 10]);
    }

    #[test]
    fn counters_of_32_bits_begin_anew() {
        let mut totals = RunningTotals::default();
        let mut take =
            |second, packets| added(&mut totals, RecordTotals { bits: 32, ..told(7, second, packets) });
        let most = u64::from(u32::MAX);
        assert_eq!([take(1, most - 9), take(2, 90)], [most - 9, 100]);
        // Too far to be that.
        assert_eq!([take(3, 3_000), take(4, 200)], [2_910, 200]);
    }

    #[test]
    fn a_last_record_that_is_late_ends_no_flow_after_it() {
        let mut totals = RunningTotals::default();
        assert_eq!(added(&mut totals, told(2, 5, 150)), 150);
        assert_eq!(added(&mut totals, RecordTotals { is_over: true, ..told(1, 4, 100) }), 0);
        assert_eq!(added(&mut totals, told(2, 6, 160)), 10);
        // Its own last record ends it.
        assert_eq!(added(&mut totals, RecordTotals { is_over: true, ..told(2, 7, 165) }), 5);
        assert!(totals.now.is_empty() && totals.before.is_empty());
    }

    #[test]
    fn a_counter_of_fewer_bits_begins_anew_next_to_one_that_grew() {
        let mut totals = RunningTotals::default();
        let most = u64::from(u32::MAX);
        // Packets of 32 bits, and bytes of 64 that grew by more than half of what 32 bits hold.
        let told = |second, packets, bytes| {
            let totals = [[packets, bytes, NULL], [NULL; COUNTERS]];
            RecordTotals { bits: 32, totals, ..told(7, second, 0) }
        };
        assert_eq!(totals.take(1, told(1, most - 9, 1 << 40))[0], [most - 9, 1 << 40, NULL]);
        let grown = 3 << 30;
        assert_eq!(totals.take(1, told(2, 90, (1 << 40) + grown))[0], [100, grown, NULL]);
    }

    #[test]
    fn flows_that_are_over_take_no_room_and_others_have_bounds() {
        let mut totals = RunningTotals::default();
        for flow in 0..200_000 {
            assert_eq!(totals.take(flow, RecordTotals { is_over: true, ..told(1, 1, 5) })[0][0], 5);
        }
        assert_eq!((totals.forgotten(), totals.now.len()), (0, 0));
        // The last record of a flow that goes on is a difference too.
        assert_eq!(totals.take(1, told(1, 1, 5))[0][0], 5);
        assert_eq!(totals.take(1, RecordTotals { is_over: true, ..told(1, 2, 8) })[0][0], 3);
        for flow in 0..3 * MOST_FLOWS as u128 {
            totals.take(flow, told(1, 1, 5));
            // One is told again and again.
            totals.take(u128::MAX, told(1, 1 + flow as u64 / 1000, 6 + flow as u64));
        }
        assert!(totals.now.len() + totals.before.len() <= 2 * MOST_FLOWS);
        assert!(
            (MOST_FLOWS as u64 - 2..=2 * MOST_FLOWS as u64).contains(&totals.forgotten()),
            "{}",
            totals.forgotten()
        );
        let last = told(1, 1000, 6 + 3 * MOST_FLOWS as u64);
        assert_eq!(totals.take(u128::MAX, last)[0][0], 1);
    }

    #[test]
    fn keys_are_of_a_session_and_its_fields() {
        let totals = RunningTotals::default();
        let key = |session, fields: &[(u16, &'static [u8])]| totals.key(session, fields.iter().copied());
        let one = key(1, &[(8, &[1, 2]), (12, &[3])]);
        assert_eq!(one, key(1, &[(8, &[1, 2]), (12, &[3])]));
        for other in [
            key(2, &[(8, &[1, 2]), (12, &[3])]),
            key(1, &[(8, &[1]), (12, &[2, 3])]),
            key(1, &[(8, &[1, 2])]),
        ] {
            assert_ne!(one, other);
        }
    }
}
