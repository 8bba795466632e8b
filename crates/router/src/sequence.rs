//! Sequence numbers: what did not arrive.

/// A number that is too small, but not below this difference, is of a datagram that was overtaken, or came twice.
const OVERTAKEN: i32 = -1024;
/// Datagrams whose numbers are remembered, to recognise those that come twice.
const REMEMBERED: usize = 32;
/// After this number of datagrams in a row whose numbers count in the other unit, numbers are taken to count in that.
const CONVINCING: u8 = 2;

/// The sequence of an exporter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sequence {
    last: Option<Last>,
    counts: Counting,
    /// Datagrams in a row whose numbers count in the other way.
    others: u8,
    /// The numbers of the last datagrams with units. No two of an exporter have the same.
    recent: [Option<u32>; REMEMBERED],
    /// Where the next one goes.
    at: u8,
    /// Units that did not arrive.
    pub(crate) lost: u64,
}

/// The last datagram in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Last {
    number: u32,
    /// The next number where numbers count what was sent before; `None` where it is not known.
    next: Option<u32>,
}

/// What numbers count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Counting {
    /// What was sent before, as all standards have it.
    #[default]
    Before,
    /// The flows of the datagram too: softflowd's IPFIX.
    Own,
}

/// What a number says of its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// It follows the one before, perhaps after some that are lost.
    Next,
    /// It was overtaken, or came before.
    Late,
    /// The exporter has begun anew.
    Restart,
}

/// Units of a datagram that sequence numbers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Units {
    /// All of them.
    pub(crate) all: u32,
    /// Those of flows, where numbers may count these of their own datagram.
    pub(crate) own: Option<u32>,
}

impl Sequence {
    /// What the number of a datagram says of it.
    pub(crate) fn order(&self, number: u32) -> Order {
        match self.last.map(|last| number.wrapping_sub(last.number) as i32) {
            None | Some(0..) => Order::Next,
            Some(OVERTAKEN..0) => Order::Late,
            Some(_) => Order::Restart,
        }
    }

    /// Takes the sequence number of a datagram and its number of units, `None` if that is unknown. Returns whether the datagram is a repetition.
    pub(crate) fn take(&mut self, number: u32, units: Option<Units>) -> bool {
        let has_units = units.is_some_and(|units| units.all != 0);
        if has_units && self.recent.contains(&Some(number)) {
            return true;
        }
        if has_units {
            self.recent[usize::from(self.at)] = Some(number);
            self.at = (self.at + 1) % REMEMBERED as u8;
        }
        match self.order(number) {
            // It was counted as lost, and was only late.
            Order::Late => {
                self.lost = self.lost.saturating_sub(units.map_or(0, |units| units.all.into()));
                return false;
            }
            Order::Next => self.lost += self.gap(number, units),
            Order::Restart => {}
        }
        self.last = Some(Last { number, next: units.map(|units| number.wrapping_add(units.all)) });
        false
    }

    /// Units that are missing before this number.
    fn gap(&mut self, number: u32, units: Option<Units>) -> u64 {
        let Some(Last { number: last, next: Some(next) }) = self.last else { return 0 };
        // A number that is too small is of a datagram that came twice.
        let gap = |next: u32| u64::try_from(number.wrapping_sub(next) as i32).unwrap_or(0);
        let Some(units) = units else { return if self.counts == Counting::Own { 0 } else { gap(next) } };
        let Some(own) = units.own.map(|own| last.wrapping_add(own)) else { return gap(next) };
        let [expected, other] = match self.counts {
            Counting::Before => [next, own],
            Counting::Own => [own, next],
        };
        if number == expected || number != other {
            self.others = 0;
            return gap(expected);
        }
        self.others += 1;
        if self.others == CONVINCING {
            self.others = 0;
            self.counts = if self.counts == Counting::Before { Counting::Own } else { Counting::Before };
        }
        // In the other way nothing is missing.
        0
    }

    /// The exporter has begun anew: nothing is known of the next number.
    pub(crate) fn restart(&mut self) {
        *self = Self { lost: self.lost, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the number says, and what is lost after it.
    fn taken(sequence: &mut Sequence, number: u32, units: Option<u32>) -> (Order, u64) {
        let order = sequence.order(number);
        sequence.take(number, of(units));
        (order, sequence.lost)
    }

    fn of(units: Option<u32>) -> Option<Units> {
        units.map(|all| Units { all, own: None })
    }

    #[test]
    fn numbers_that_count_their_own_flows_are_recognised() {
        let mut sequence = Sequence::default();
        let mut take = |number, all, flows| {
            sequence.take(number, Some(Units { all, own: Some(flows) }));
            sequence.lost
        };
        // The first has a record of options, which its numbers do not count.
        assert_eq!([take(24, 25, 24), take(57, 33, 33), take(89, 32, 32), take(122, 33, 33)], [0; 4]);
        assert_eq!([take(154, 30, 30), take(160, 6, 6)], [2, 2]);
    }

    #[test]
    fn a_gap_that_fits_by_chance_changes_nothing() {
        let mut sequence = Sequence::default();
        let mut take = |number, all| {
            sequence.take(number, Some(Units { all, own: Some(all) }));
            sequence.lost
        };
        // The second is lost, and as long as the third: nothing can be said of it.
        assert_eq!(
            [take(0, 5), take(10, 10), take(20, 30), take(50, 30), take(80, 7), take(90, 1)],
            [0, 0, 0, 0, 0, 3]
        );
    }

    #[test]
    fn gaps_are_lost_until_they_are_filled() {
        let mut sequence = Sequence::default();
        assert_eq!(taken(&mut sequence, u32::MAX - 9, Some(10)), (Order::Next, 0));
        assert_eq!(taken(&mut sequence, 0, Some(5)), (Order::Next, 0), "the numbers begin anew");
        assert_eq!(taken(&mut sequence, 12, Some(3)), (Order::Next, 7));
        assert_eq!(taken(&mut sequence, 5, Some(4)), (Order::Late, 3));
        assert_eq!(taken(&mut sequence, 15, Some(1)), (Order::Next, 3));
    }

    #[test]
    fn an_exporter_that_begins_anew_lost_nothing() {
        let mut sequence = Sequence::default();
        sequence.take(5_000_000, of(Some(10)));
        assert_eq!(taken(&mut sequence, 0, Some(2)), (Order::Restart, 0));
        assert_eq!(taken(&mut sequence, 2, Some(2)), (Order::Next, 0));
        // A datagram that comes twice is none of another exporter.
        assert_eq!(taken(&mut sequence, 0, Some(2)), (Order::Late, 0));
        assert_eq!(taken(&mut sequence, 4, Some(2)), (Order::Next, 0));
        // An outage is as long as it is.
        assert_eq!(taken(&mut sequence, 3_000_006, Some(1)), (Order::Next, 3_000_000));
        sequence.restart();
        assert_eq!(taken(&mut sequence, 77, Some(1)), (Order::Next, 3_000_000));
    }

    #[test]
    fn what_comes_twice_takes_nothing_off_what_is_lost() {
        let mut sequence = Sequence::default();
        sequence.take(0, of(Some(10)));
        assert!(!sequence.take(30, of(Some(10))));
        assert_eq!(sequence.lost, 20);
        assert!(sequence.take(0, of(Some(10))) && sequence.take(30, of(Some(10))));
        assert_eq!(sequence.lost, 20);
        // One that was overtaken is none of these, the first time.
        assert!(!sequence.take(10, of(Some(10))));
        assert!(sequence.take(10, of(Some(10))));
        assert_eq!(sequence.lost, 10);
        // Messages of templates alone have the number of the one that follows.
        assert!(!sequence.take(40, of(Some(0))) && !sequence.take(40, of(Some(0))));
        assert!(!sequence.take(40, of(Some(5))));
        assert_eq!(taken(&mut sequence, 45, Some(1)), (Order::Next, 10));
    }

    #[test]
    fn after_an_unknown_number_of_units_nothing_is_said() {
        let mut sequence = Sequence::default();
        sequence.take(1, None);
        assert_eq!(taken(&mut sequence, 900, Some(1)), (Order::Next, 0));
        assert_eq!(taken(&mut sequence, 902, Some(1)), (Order::Next, 1));
    }
}
