//! Sequence numbers and times of messages. They show how many units were lost, and when an exporter restarted.

use record::read::ExportTimes;

/// The number of datagrams whose sequence numbers are kept, to recognise duplicates.
const REMEMBERED: usize = 32;
/// The number of consecutive datagrams with numbers in another unit after which that unit is taken as the exporter's.
const CONVINCING: u8 = 2;
/// A number that is lower by more than this means that the exporter restarted, if its message was sent in a later second.
const OVERTAKEN: u32 = 1024;
/// A lower sequence number means that the exporter restarted, if its message was sent later than the last one by at least this. A datagram
/// that others have overtaken was sent earlier. The clock of an exporter has a resolution of one second.
const LATER_MS: i64 = 2_000;
/// Export time minus uptime is the time when the exporter started. If it is later by more than this, and the uptime went back, the exporter
/// restarted.
const BEGAN_LATER_MS: i64 = 10_000;
/// The longest time that a datagram is in transit. A number that was passed longer ago means that the exporter restarted.
const LONGEST_WAY_NS: u64 = 30 * 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;

/// The sequence of an exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sequence {
    last: Option<Last>,
    /// The unit that the exporter's numbers count.
    counts: SequenceUnit,
    /// Another unit that the numbers may count, and the number of consecutive datagrams that fit it.
    other: Option<(SequenceUnit, u8)>,
    /// The numbers of the last datagrams that have units. Each such datagram of an exporter has a number of its own.
    recent: [Option<u32>; REMEMBERED],
    /// The place of the next number in `recent`.
    at: u8,
    /// Two earlier numbers, each with the time when it arrived. The second is later by at least [`LONGEST_WAY_NS`].
    passed: [Option<(u64, u32)>; 2],
    /// The number of units that were lost.
    pub(crate) lost: u64,
}

/// The last datagram in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Last {
    number: u32,
    facts: ExportTimes,
    arrived_ns: u64,
    /// The units of the datagram.
    units: Units,
}

/// The unit that sequence numbers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SequenceUnit {
    /// Messages sent before: NetFlow v9.
    Messages,
    /// Records sent before: NetFlow v5 and IPFIX.
    Records,
    /// Flows sent before, without options records: some exporters of NetFlow v9.
    Flows,
    /// Flows sent before and those of the message itself: softflowd's IPFIX.
    OwnFlows,
}

impl SequenceUnit {
    const ALL: [Self; 4] = [Self::Messages, Self::Records, Self::Flows, Self::OwnFlows];
}

/// The place of a datagram in the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DatagramOrder {
    /// A datagram that follows the last one in order, perhaps after lost ones.
    Next,
    /// A datagram that was overtaken, or a duplicate.
    Late,
    /// The first datagram after the exporter restarted.
    Restart,
}

/// The facts of a message's header, and the time when the message arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heading {
    pub(crate) number: u32,
    pub(crate) facts: ExportTimes,
    pub(crate) now_ns: u64,
}

/// The units of a message, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Units {
    /// The number of flow records and options records.
    pub(crate) records: Option<u32>,
    /// The number of flow records.
    pub(crate) flows: Option<u32>,
}

impl Units {
    fn number(self, counting: SequenceUnit) -> Option<u32> {
        match counting {
            SequenceUnit::Messages => Some(1),
            SequenceUnit::Records => self.records,
            SequenceUnit::Flows | SequenceUnit::OwnFlows => self.flows,
        }
    }
}

impl Sequence {
    /// Creates a sequence whose numbers count this unit, until they turn out to count another one.
    pub(crate) fn new(counts: SequenceUnit) -> Self {
        Self {
            last: None,
            counts,
            other: None,
            recent: [None; REMEMBERED],
            at: 0,
            passed: [None; 2],
            lost: 0,
        }
    }

    /// Returns the unit that numbers count.
    pub(crate) fn counts(&self) -> SequenceUnit {
        self.counts
    }

    /// Returns the place of a datagram in the sequence, as far as its header shows it.
    pub(crate) fn order(&self, heading: Heading) -> DatagramOrder {
        let Some(last) = self.last else { return DatagramOrder::Next };
        let is_behind = (heading.number.wrapping_sub(last.number) as i32) < 0;
        let signed = |ns: u64| (ns / MILLISECOND) as i64;
        let sent_later_ms = signed(heading.facts.export_ns) - signed(last.facts.export_ns);
        if let Some((before, now)) = last.facts.uptime_ms.zip(heading.facts.uptime_ms) {
            // The 32-bit uptime in milliseconds wraps every seven weeks.
            let passed_ms = i64::from(now.wrapping_sub(before) as i32);
            if passed_ms < 0 {
                let began_later_ms = sent_later_ms - passed_ms;
                if began_later_ms > BEGAN_LATER_MS {
                    return DatagramOrder::Restart;
                }
                // By both clocks, the message was sent before the last one.
                if is_behind && sent_later_ms < 0 {
                    return DatagramOrder::Late;
                }
            }
        }
        if !is_behind {
            return DatagramOrder::Next;
        }
        let behind = last.number.wrapping_sub(heading.number);
        let is_later = sent_later_ms >= LATER_MS || sent_later_ms > 0 && behind > OVERTAKEN;
        let is_too_late = |passed: u32| (heading.number.wrapping_sub(passed) as i32) < 0;
        let began_anew = is_later || self.passed_before(heading.now_ns).is_some_and(is_too_late);
        if began_anew { DatagramOrder::Restart } else { DatagramOrder::Late }
    }

    /// Returns a number that was passed at least [`LONGEST_WAY_NS`] ago.
    fn passed_before(&self, now_ns: u64) -> Option<u32> {
        let is_old = |at: u64| now_ns.saturating_sub(at) >= LONGEST_WAY_NS;
        let last = self.last.map(|last| (last.arrived_ns, last.number));
        let mut known = [last, self.passed[1], self.passed[0]].into_iter().flatten();
        known.find(|(at, _)| is_old(*at)).map(|(_, number)| number)
    }

    /// Counts a datagram whose place is `order`, as [`Sequence::order`] returned it. Returns true if it is a duplicate. If the exporter
    /// restarted, the caller calls [`Sequence::restart`] first.
    pub(crate) fn take(&mut self, heading: Heading, order: DatagramOrder, units: Units) -> bool {
        let Heading { number, facts, now_ns } = heading;
        let has_units = units.number(self.counts).is_some_and(|units| units != 0);
        if has_units && self.recent.contains(&Some(number)) {
            return true;
        }
        if has_units {
            self.recent[usize::from(self.at)] = Some(number);
            self.at = (self.at + 1) % REMEMBERED as u8;
        }
        if order == DatagramOrder::Late {
            // The datagram was counted as lost, but is only late.
            self.lost = self.lost.saturating_sub(units.number(self.counts).unwrap_or(0).into());
            return false;
        }
        self.lost += self.gap(number, units);
        if self.passed[1].is_none_or(|(at, _)| now_ns.saturating_sub(at) >= LONGEST_WAY_NS) {
            self.passed = [self.passed[1], Some((now_ns, number))];
        }
        self.last = Some(Last { number, facts, arrived_ns: now_ns, units });
        false
    }

    /// Returns the number of units that are missing before this number.
    fn gap(&mut self, number: u32, units: Units) -> u64 {
        let Some(last) = self.last else { return 0 };
        let expected = |counting: SequenceUnit| {
            let own = if counting == SequenceUnit::OwnFlows { units } else { last.units };
            own.number(counting).map(|units| last.number.wrapping_add(units))
        };
        let own = expected(self.counts);
        let is_other =
            |counting: &SequenceUnit| *counting != self.counts && expected(*counting) == Some(number);
        let other = if own == Some(number) { None } else { SequenceUnit::ALL.into_iter().find(is_other) };
        let Some(other) = other else {
            self.other = None;
            // A number that is too small belongs to a duplicate.
            let missing = |own: u32| u64::try_from(number.wrapping_sub(own) as i32).unwrap_or(0);
            return own.map_or(0, missing);
        };
        let times = match self.other {
            Some((counting, times)) if counting == other => times + 1,
            _ => 1,
        };
        self.other = Some((other, times));
        if times == CONVINCING {
            (self.counts, self.other) = (other, None);
        }
        // In the other unit, nothing is missing.
        0
    }

    /// Begins the sequence of an exporter that restarted. Its next number is unknown.
    pub(crate) fn restart(&mut self) {
        *self = Self { lost: self.lost, ..Self::new(self.counts) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const BEGIN: u64 = 1_700_000_000 * SECOND;

    /// A heading that was sent and arrived at these times, in seconds after the begin.
    fn heading(number: u32, sent: u64, came: u64) -> Heading {
        let facts = ExportTimes { export_ns: BEGIN + sent * SECOND, uptime_ms: None };
        Heading { number, facts, now_ns: BEGIN + came * SECOND }
    }

    /// A heading of an exporter that sends its uptime, in milliseconds.
    fn with_uptime(number: u32, sent: u64, uptime_ms: u32) -> Heading {
        let plain = heading(number, sent, sent);
        Heading { facts: ExportTimes { uptime_ms: Some(uptime_ms), ..plain.facts }, ..plain }
    }

    fn of(records: Option<u32>) -> Units {
        Units { records, flows: None }
    }

    /// Takes a datagram as a decoder does.
    fn follow(sequence: &mut Sequence, heading: Heading, units: Units) -> bool {
        let order = sequence.order(heading);
        if order == DatagramOrder::Restart {
            sequence.restart();
        }
        sequence.take(heading, order, units)
    }

    /// The place that the number shows, and the number of units lost after it.
    fn taken(sequence: &mut Sequence, number: u32, records: Option<u32>) -> (DatagramOrder, u64) {
        let order = sequence.order(heading(number, 0, 0));
        follow(sequence, heading(number, 0, 0), of(records));
        (order, sequence.lost)
    }

    #[test]
    fn numbers_that_count_their_own_flows_are_recognised() {
        let mut sequence = Sequence::new(SequenceUnit::Records);
        let mut take = |number, records, flows| {
            let units = Units { records: Some(records), flows: Some(flows) };
            follow(&mut sequence, heading(number, 0, 0), units);
            sequence.lost
        };
        // The first has a record of options, which its numbers do not count.
        assert_eq!([take(24, 25, 24), take(57, 33, 33), take(89, 32, 32), take(122, 33, 33)], [0; 4]);
        assert_eq!([take(154, 30, 30), take(160, 6, 6)], [2, 2]);
    }

    #[test]
    fn numbers_of_netflow_9_that_count_flows_are_recognised() {
        let mut sequence = Sequence::new(SequenceUnit::Messages);
        let mut take = |number, flows| {
            // Each has a record of options besides.
            let units = Units { records: Some(flows + 1), flows: Some(flows) };
            let is_repeated = follow(&mut sequence, heading(number, 0, 0), units);
            (is_repeated, sequence.lost, sequence.counts())
        };
        assert_eq!(take(7, 10), (false, 0, SequenceUnit::Messages));
        assert_eq!(take(17, 12), (false, 0, SequenceUnit::Messages));
        assert_eq!(take(29, 3), (false, 0, SequenceUnit::Flows));
        assert_eq!(take(32, 0), (false, 0, SequenceUnit::Flows));
        // Templates and options alone are not counted.
        assert_eq!(take(32, 5), (false, 0, SequenceUnit::Flows));
        assert_eq!(take(41, 5), (false, 4, SequenceUnit::Flows));
        assert_eq!(take(37, 4), (false, 0, SequenceUnit::Flows));
        assert_eq!(take(37, 4), (true, 0, SequenceUnit::Flows));
    }

    #[test]
    fn numbers_of_ipfix_that_count_messages_are_recognised() {
        let mut sequence = Sequence::new(SequenceUnit::Records);
        for number in 0..5 {
            follow(&mut sequence, heading(number, 0, 0), of(Some(20)));
        }
        assert_eq!((sequence.lost, sequence.counts()), (0, SequenceUnit::Messages));
        follow(&mut sequence, heading(7, 0, 0), of(Some(20)));
        assert_eq!(sequence.lost, 2);
    }

    #[test]
    fn a_gap_that_fits_by_chance_changes_nothing() {
        let mut sequence = Sequence::new(SequenceUnit::Records);
        let mut take = |number, all| {
            follow(&mut sequence, heading(number, 0, 0), Units { records: Some(all), flows: Some(all) });
            sequence.lost
        };
        // The second is lost and as long as the third, so that the unit is ambiguous.
        assert_eq!(
            [take(0, 5), take(10, 10), take(20, 30), take(50, 30), take(80, 7), take(90, 1)],
            [0, 0, 0, 0, 0, 3]
        );
    }

    #[test]
    fn gaps_are_lost_until_they_are_filled() {
        let mut sequence = Sequence::new(SequenceUnit::Records);
        assert_eq!(taken(&mut sequence, u32::MAX - 9, Some(10)), (DatagramOrder::Next, 0));
        assert_eq!(taken(&mut sequence, 0, Some(5)), (DatagramOrder::Next, 0), "the numbers begin anew");
        assert_eq!(taken(&mut sequence, 12, Some(3)), (DatagramOrder::Next, 7));
        assert_eq!(taken(&mut sequence, 5, Some(4)), (DatagramOrder::Late, 3));
        assert_eq!(taken(&mut sequence, 15, Some(1)), (DatagramOrder::Next, 3));
    }

    #[test]
    fn an_exporter_that_begins_anew_lost_nothing() {
        let mut sequence = Sequence::new(SequenceUnit::Records);
        follow(&mut sequence, heading(5_000_000, 0, 0), of(Some(10)));
        assert_eq!(sequence.order(heading(0, 1, 1)), DatagramOrder::Restart);
        assert!(!follow(&mut sequence, heading(0, 1, 1), of(Some(2))));
        assert_eq!(taken(&mut sequence, 2, Some(2)), (DatagramOrder::Next, 0));
        // A duplicate does not mean that the exporter restarted.
        assert_eq!(taken(&mut sequence, 0, Some(2)), (DatagramOrder::Late, 0));
        assert_eq!(taken(&mut sequence, 4, Some(2)), (DatagramOrder::Next, 0));
        // The length of an outage does not matter.
        assert_eq!(taken(&mut sequence, 3_000_006, Some(1)), (DatagramOrder::Next, 3_000_000));
        sequence.restart();
        assert_eq!(taken(&mut sequence, 77, Some(1)), (DatagramOrder::Next, 3_000_000));
    }

    #[test]
    fn a_datagram_that_was_sent_before_is_late_however_far_it_is_behind() {
        let mut sequence = Sequence::new(SequenceUnit::Records);
        follow(&mut sequence, heading(0, 100, 100), of(Some(10)));
        follow(&mut sequence, heading(5_000_000, 102, 102), of(Some(10)));
        for (number, sent) in [(4_000_000, 101), (1_000, 102), (4_999_999, 103)] {
            assert_eq!(
                sequence.order(heading(number, sent, 102)),
                DatagramOrder::Late,
                "{number} sent at {sent}"
            );
        }
        // A lower number sent later means a restart: by one second if it is far behind, by two seconds if it is not.
        for (number, sent) in [(4_998_000, 103), (4_999_999, 104)] {
            assert_eq!(
                sequence.order(heading(number, sent, 104)),
                DatagramOrder::Restart,
                "{number} sent at {sent}"
            );
        }
    }

    #[test]
    fn what_was_passed_long_ago_is_of_an_exporter_that_began_anew_with_another_clock() {
        let mut sequence = Sequence::new(SequenceUnit::Records);
        for second in 0..100 {
            follow(&mut sequence, heading(10 * second as u32, 1_000 + second, second), of(Some(10)));
        }
        // The clock of the exporter shows an earlier time after its restart.
        assert_eq!(sequence.order(heading(650, 10, 99)), DatagramOrder::Late);
        assert_eq!(sequence.order(heading(100, 10, 99)), DatagramOrder::Restart);
        assert_eq!(sequence.order(heading(980, 10, 128)), DatagramOrder::Late);
        assert_eq!(sequence.order(heading(980, 10, 129)), DatagramOrder::Restart);
    }

    #[test]
    fn the_uptime_tells_who_began_anew() {
        let mut sequence = Sequence::new(SequenceUnit::Messages);
        follow(&mut sequence, with_uptime(5_000, 1_000, 500_000), Units::default());
        // Two minutes late: both clocks are behind.
        assert_eq!(sequence.order(with_uptime(10, 880, 380_000)), DatagramOrder::Late);
        // The exporter restarted, whatever the number is.
        assert_eq!(sequence.order(with_uptime(0, 1_001, 1_000)), DatagramOrder::Restart);
        assert_eq!(sequence.order(with_uptime(6_000, 1_020, 7_000)), DatagramOrder::Restart);
        // The clock was set, and the 32-bit uptime wraps.
        assert_eq!(sequence.order(with_uptime(5_001, 4_600, 501_000)), DatagramOrder::Next);
        assert_eq!(sequence.order(with_uptime(5_001, 10, 501_000)), DatagramOrder::Next);
        let mut sequence = Sequence::new(SequenceUnit::Messages);
        follow(&mut sequence, with_uptime(5_001, 1_001, u32::MAX - 10), Units::default());
        assert_eq!(sequence.order(with_uptime(5_002, 1_002, 900)), DatagramOrder::Next);
    }

    #[test]
    fn what_comes_twice_takes_nothing_off_what_is_lost() {
        let mut sequence = Sequence::new(SequenceUnit::Records);
        let mut take = |number, records| {
            let is_repeated = follow(&mut sequence, heading(number, 0, 0), of(Some(records)));
            (is_repeated, sequence.lost)
        };
        assert_eq!([take(0, 10), take(30, 10)], [(false, 0), (false, 20)]);
        assert_eq!([take(0, 10), take(30, 10)], [(true, 20); 2]);
        // A datagram that was overtaken is no duplicate the first time.
        assert_eq!([take(10, 10), take(10, 10)], [(false, 10), (true, 10)]);
        // Messages of templates alone have the number of the one that follows.
        assert_eq!([take(40, 0), take(40, 0), take(40, 5), take(45, 1)], [(false, 10); 4]);
    }

    #[test]
    fn after_an_unknown_number_of_units_nothing_is_said() {
        let mut sequence = Sequence::new(SequenceUnit::Records);
        follow(&mut sequence, heading(1, 0, 0), of(None));
        assert_eq!(taken(&mut sequence, 900, Some(1)), (DatagramOrder::Next, 0));
        assert_eq!(taken(&mut sequence, 902, Some(1)), (DatagramOrder::Next, 1));
    }
}
