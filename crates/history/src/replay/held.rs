//! Rows that wait for their window, in memory that has a limit.

use arena::{Lease, Limits};
use flow::{LossCounts, WindowRow};
use packet::{FamilyRow, KeyV4, KeyV6, MaskedKey};
use std::collections::HashMap;
use std::hash::Hash;
use task::rows::Unplaced;

/// The number of bytes that are taken from the account at a time.
const STEP: usize = 1 << 20;
/// The bytes that a map takes for a key besides the key: the number of its row, and room to grow.
const OF_MAP: usize = 24;

/// Memory of rows that wait.
#[derive(Debug)]
pub struct RowMemory {
    lease: Lease,
    free: usize,
}

impl RowMemory {
    /// Memory out of these limits, none of it yet.
    pub fn new(limits: &Limits) -> Self {
        Self { lease: limits.empty_lease(), free: 0 }
    }

    fn take(&mut self, bytes: usize) -> bool {
        if self.free < bytes && self.lease.grow(STEP) {
            self.free += STEP;
        }
        let is_there = self.free >= bytes;
        self.free -= if is_there { bytes } else { 0 };
        is_there
    }
}

/// Rows of one window and address family.
#[derive(Debug)]
struct WindowFamilyRows<K> {
    rows: Vec<WindowRow<K>>,
    losses: Vec<LossCounts>,
    /// The place of the row of each key, if rows of one key are to be one.
    places: HashMap<K, u32>,
}

impl<K> Default for WindowFamilyRows<K> {
    fn default() -> Self {
        Self { rows: Vec::new(), losses: Vec::new(), places: HashMap::new() }
    }
}

impl<K: MaskedKey + Hash> WindowFamilyRows<K> {
    fn bytes(has_losses: bool, merges: bool) -> usize {
        let loss = if has_losses { size_of::<LossCounts>() } else { 0 };
        let place = if merges { size_of::<K>() + OF_MAP } else { 0 };
        size_of::<WindowRow<K>>() + loss + place
    }

    fn push(
        &mut self,
        row: WindowRow<K>,
        loss: Option<LossCounts>,
        merges: bool,
        memory: &mut RowMemory,
    ) -> bool {
        let known = if merges { self.places.get(&row.key).map(|place| *place as usize) } else { None };
        if let Some(place) = known {
            self.rows[place].merge(&row);
            if let (Some(sum), Some(loss)) = (self.losses.get_mut(place), &loss) {
                sum.add(loss);
            }
            return true;
        }
        let Ok(place) = u32::try_from(self.rows.len()) else { return false };
        if !memory.take(Self::bytes(loss.is_some(), merges)) {
            return false;
        }
        if merges {
            self.places.insert(row.key, place);
        }
        self.rows.push(row);
        self.losses.extend(loss);
        true
    }

    fn give(&self, mut take: impl FnMut(WindowRow<K>, Option<&LossCounts>)) {
        self.rows.iter().enumerate().for_each(|(at, row)| take(*row, self.losses.get(at)));
    }

    fn held_bytes(&self) -> usize {
        self.rows.len() * Self::bytes(!self.losses.is_empty(), !self.places.is_empty())
    }
}

/// The rows and losses that have come of a window.
#[derive(Debug, Default)]
pub struct BufferedWindow {
    v4: WindowFamilyRows<KeyV4>,
    v6: WindowFamilyRows<KeyV6>,
    /// Packets that are in no row.
    pub unplaced: Unplaced,
    /// Rows that found no memory.
    pub without_memory: u64,
    /// Rows that could not be read.
    pub unread: u64,
}

impl BufferedWindow {
    /// Keeps a row; false where there is no memory for it. `merges`: rows of one key are to be one.
    pub fn push(
        &mut self,
        row: FamilyRow,
        loss: Option<LossCounts>,
        merges: bool,
        memory: &mut RowMemory,
    ) -> bool {
        let is_kept = match row {
            FamilyRow::V4(row) => self.v4.push(row, loss, merges, memory),
            FamilyRow::V6(row) => self.v6.push(row, loss, merges, memory),
        };
        self.without_memory += u64::from(!is_kept);
        is_kept
    }

    /// Gives all rows and forgets them.
    pub fn give(&mut self, memory: &mut RowMemory, mut take: impl FnMut(FamilyRow, Option<&LossCounts>)) {
        self.v4.give(|row, loss| take(FamilyRow::V4(row), loss));
        self.v6.give(|row, loss| take(FamilyRow::V6(row), loss));
        memory.free += self.v4.held_bytes() + self.v6.held_bytes();
        (self.v4, self.v6) = Default::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(port: u8, packets: u64) -> WindowRow<KeyV4> {
        let key = KeyV4::new([10, 0, 0, 1, 10, 0, 0, 2], [0, port, 0, 80], 6);
        WindowRow { packets, ..WindowRow::<()>::default() }.with_key(key)
    }

    fn given(held: &mut BufferedWindow, memory: &mut RowMemory) -> Vec<u64> {
        let mut packets = Vec::new();
        held.give(memory, |row, _| match row {
            FamilyRow::V4(row) => packets.push(row.packets),
            FamilyRow::V6(_) => {}
        });
        packets
    }

    #[test]
    fn rows_of_a_key_are_one_where_they_are_merged() {
        let mut memory = RowMemory::new(&Limits::new(STEP, 0));
        for (merges, expected) in [(true, vec![6, 2]), (false, vec![1, 2, 5])] {
            let mut held = BufferedWindow::default();
            for (port, packets) in [(1, 1), (2, 2), (1, 5)] {
                held.push(FamilyRow::V4(row(port, packets)), None, merges, &mut memory);
            }
            assert_eq!(given(&mut held, &mut memory), expected);
            assert!(given(&mut held, &mut memory).is_empty());
        }
        assert_eq!(memory.free, STEP, "all memory has come back");
    }

    #[test]
    fn rows_without_memory_are_counted() {
        let room = STEP / WindowFamilyRows::<KeyV4>::bytes(false, false);
        let mut memory = RowMemory::new(&Limits::new(STEP, 0));
        let mut held = BufferedWindow::default();
        let kept =
            (0..room + 3).filter(|_| held.push(FamilyRow::V4(row(1, 1)), None, false, &mut memory)).count();
        assert_eq!(kept, room);
        assert_eq!(held.without_memory, 3);
        assert_eq!(given(&mut held, &mut memory).len(), room);
    }
}
