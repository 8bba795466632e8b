//! Sequence numbers: what did not arrive.

/// A gap that is larger is none: the exporter has begun anew. So many records are lost in minutes at the most.
const LARGEST_GAP: i32 = 1 << 20;
/// A number that is too small, but not below this difference, is of a datagram that was overtaken.
const OVERTAKEN: i32 = -1024;

/// The sequence of an exporter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sequence {
    /// The next number; `None` where it is not known.
    next: Option<u32>,
    /// Units that did not arrive.
    pub(crate) lost: u64,
}

/// What a number says of its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// It follows the one before, perhaps after some that are lost.
    Next,
    /// It was overtaken, and had been counted as lost.
    Late,
    /// The exporter has begun anew.
    Restart,
}

impl Sequence {
    /// What the number of a datagram says of it.
    pub(crate) fn order(&self, number: u32) -> Order {
        match self.next.map(|next| number.wrapping_sub(next) as i32) {
            None | Some(0..LARGEST_GAP) => Order::Next,
            Some(OVERTAKEN..0) if self.lost != 0 => Order::Late,
            Some(_) => Order::Restart,
        }
    }

    /// A datagram with this number came, with so many units, of which the number counts those before it; `None`: it is not known how many.
    pub(crate) fn take(&mut self, number: u32, units: Option<u32>) {
        match self.order(number) {
            Order::Late => return self.lost = self.lost.saturating_sub(u64::from(units.unwrap_or(0))),
            Order::Next => self.lost += self.next.map_or(0, |next| u64::from(number.wrapping_sub(next))),
            Order::Restart => {}
        }
        self.next = units.map(|units| number.wrapping_add(units));
    }

    /// The exporter has begun anew: nothing is known of the next number.
    pub(crate) fn restart(&mut self) {
        self.next = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the number says, and what is lost after it.
    fn taken(sequence: &mut Sequence, number: u32, units: Option<u32>) -> (Order, u64) {
        let order = sequence.order(number);
        sequence.take(number, units);
        (order, sequence.lost)
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
        sequence.take(5_000_000, Some(10));
        assert_eq!(taken(&mut sequence, 0, Some(2)), (Order::Restart, 0));
        assert_eq!(taken(&mut sequence, 2, Some(2)), (Order::Next, 0));
        // Without a gap before it nothing was overtaken.
        assert_eq!(taken(&mut sequence, 0, Some(2)), (Order::Restart, 0));
        assert_eq!(taken(&mut sequence, u32::MAX / 2 - 7, Some(1)), (Order::Restart, 0));
        sequence.restart();
        assert_eq!(taken(&mut sequence, 77, Some(1)), (Order::Next, 0));
    }

    #[test]
    fn after_an_unknown_number_of_units_nothing_is_said() {
        let mut sequence = Sequence::default();
        sequence.take(1, None);
        assert_eq!(taken(&mut sequence, 900, Some(1)), (Order::Next, 0));
        assert_eq!(taken(&mut sequence, 902, Some(1)), (Order::Next, 1));
    }
}
