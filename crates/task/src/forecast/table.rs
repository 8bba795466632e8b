//! Numbers with fractions by flow, in a table of bounded size.

use arena::{Lease, Limits};
use sketch::ByteKey;
use std::collections::BTreeMap;

/// Numbers below this are dropped: a billionth of a packet or of a byte. Else flows that are gone would never leave the table.
const LEAST: f64 = 1e-9;

/// The memory of a table.
#[derive(Debug)]
pub(crate) enum TableRoom {
    /// The memory that was planned, bytes.
    Planned(usize),
    /// The memory that the table takes as it grows.
    Growing(Lease),
}

impl TableRoom {
    /// Room that grows within `limits`, or that was planned.
    pub(crate) fn new(limits: Option<&Limits>, planned: usize) -> Self {
        limits.map_or(Self::Planned(planned), |limits| Self::Growing(limits.empty_lease()))
    }

    /// True if there is room for `bytes`.
    fn holds(&mut self, bytes: usize) -> bool {
        match self {
            Self::Planned(most) => bytes <= *most,
            Self::Growing(lease) => bytes <= lease.bytes() || lease.grow(bytes - lease.bytes()),
        }
    }
}

/// Numbers by flow.
#[derive(Debug)]
pub(crate) struct FlowNumbers<K> {
    flows: BTreeMap<K, f64>,
    room: TableRoom,
    /// True once a flow found no room, or what is added lacks flows.
    is_short: bool,
}

impl<K: ByteKey> FlowNumbers<K> {
    pub(crate) fn new(room: TableRoom) -> Self {
        Self { flows: BTreeMap::new(), room, is_short: false }
    }

    /// Memory of a table of so many flows, whose nodes are half full at least.
    pub(crate) const fn bytes_of(flows: usize) -> usize {
        2 * flows * (size_of::<K>() + size_of::<f64>())
    }

    pub(crate) fn is_short(&self) -> bool {
        self.is_short
    }

    /// Notes that what was added lacks flows.
    pub(crate) fn mark_short(&mut self) {
        self.is_short = true;
    }

    pub(crate) fn get(&self, key: &K) -> f64 {
        self.flows.get(key).copied().unwrap_or(0.0)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.flows.keys()
    }

    pub(crate) fn add(&mut self, key: &K, number: f64) {
        if let Some(sum) = self.flows.get_mut(key) {
            *sum += number;
        } else if number != 0.0 {
            if self.room.holds(Self::bytes_of(self.flows.len() + 1)) {
                self.flows.insert(*key, number);
            } else {
                self.is_short = true;
            }
        }
    }

    /// Adds `factor` times the numbers of another table.
    pub(crate) fn add_all(&mut self, factor: f64, other: &Self) {
        other.flows.iter().for_each(|(key, number)| self.add(key, factor * number));
        self.is_short |= other.is_short;
    }

    pub(crate) fn scale(&mut self, factor: f64) {
        self.flows.retain(|_, number| {
            *number *= factor;
            number.abs() >= LEAST
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::KeyV4;

    #[test]
    fn a_table_is_no_larger_than_its_room_and_says_what_it_lacks() {
        let key = |flow| KeyV4::new([flow; 8], [0; 4], 6);
        let mut numbers = FlowNumbers::new(TableRoom::Planned(FlowNumbers::<KeyV4>::bytes_of(2)));
        numbers.add(&key(1), 4.0);
        numbers.add(&key(2), 1e-8);
        numbers.add(&key(1), 0.5);
        assert!(!numbers.is_short());
        numbers.add(&key(3), 1.0);
        assert!(numbers.is_short() && numbers.get(&key(3)) == 0.0 && numbers.get(&key(1)) == 4.5);
        numbers.scale(0.05);
        assert_eq!(numbers.keys().collect::<Vec<_>>(), [&key(1)]);
        assert!((numbers.get(&key(1)) - 0.225).abs() < 1e-12);
    }
}
