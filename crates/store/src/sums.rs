//! Rows of equal keys as one, in memory that has a limit.

use flow::{BatchRows, LossCounts, NULL, RowBatch, Rows, WindowRow};
use packet::{Key, MaskedKey, Seed};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::ops::Range;

/// The bytes that a map takes for a key besides the key: the number of its row, and room to grow.
const OF_MAP: usize = 24;

/// The rows that are summed: of a time, and of a part of all keys.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub(crate) times: Range<u64>,
    /// The length of the windows that the time is divided into, nanoseconds.
    pub(crate) window_ns: u64,
    /// The number of this part, of `parts`.
    pub(crate) part: u64,
    pub(crate) parts: u64,
}

impl Slice {
    /// The part of a hash. With twice as many parts, each is divided into two that follow each other.
    fn part_of(&self, hash: u64) -> u64 {
        ((u128::from(hash) * u128::from(self.parts)) >> 64) as u64
    }
}

/// Rows of one address family by their windows and keys.
#[derive(Debug, Default)]
pub(crate) struct RowSums<K> {
    places: HashMap<(u64, K), u32>,
    rows: Vec<WindowRow<K>>,
    /// The begin of each row's window.
    windows: Vec<u64>,
    /// The losses of each row, if any are tracked.
    losses: Vec<LossCounts>,
}

impl<K: MaskedKey + Hash> RowSums<K> {
    /// Returns the bytes that the sums take.
    pub(crate) fn bytes(&self) -> usize {
        let row = size_of::<WindowRow<K>>() + size_of::<(u64, K)>() + size_of::<u64>() + OF_MAP;
        self.rows.len() * row + size_of_val(&self.losses[..])
    }

    /// Adds the rows of a batch that are of the slice.
    pub(crate) fn add(
        &mut self,
        batch: &RowBatch<K>,
        tracked: flow::TrackedParts,
        slice: &Slice,
        seed: &Seed,
    ) {
        let rows = BatchRows::new(batch, tracked);
        for at in 0..rows.len() {
            let time = rows.time(at);
            let is_of_part =
                || slice.parts == 1 || slice.part_of(Key::hash(&batch.keys[at], seed)) == slice.part;
            if time == NULL || !slice.times.contains(&time) || !is_of_part() {
                continue;
            }
            let (row, loss) = rows.row(at);
            self.push(time - time % slice.window_ns, &row, loss.filter(|_| rows.has_losses(at)));
        }
    }

    fn push(&mut self, window: u64, row: &WindowRow<K>, loss: Option<LossCounts>) {
        let next = self.rows.len();
        let place = *self.places.entry((window, row.key)).or_insert(next as u32) as usize;
        if place == next {
            self.rows.push(*row);
            self.windows.push(window);
        } else {
            self.rows[place].merge(row);
        }
        if let Some(loss) = loss {
            self.losses.resize(self.rows.len(), LossCounts::UNTRACKED);
            let sum = &mut self.losses[place];
            *sum = if sum.are_tracked() { added(sum, &loss) } else { loss };
        }
    }

    /// The rows of each window by destination and source.
    pub(crate) fn into_sorted(self) -> BTreeMap<u64, Rows<K>> {
        let Self { rows, windows, losses, .. } = self;
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        order.sort_by_key(|row| {
            let key = &rows[*row as usize].key;
            let [source, destination] = key.addresses();
            (windows[*row as usize], destination, source, *key)
        });
        let mut sorted: BTreeMap<u64, Rows<K>> = BTreeMap::new();
        for of_window in order.chunk_by(|one, other| windows[*one as usize] == windows[*other as usize]) {
            let mut own = Rows::with_capacity(of_window.len(), losses.len().min(of_window.len()));
            for row in of_window {
                let loss = losses.get(*row as usize).filter(|loss| loss.are_tracked());
                own.push(rows[*row as usize], loss);
            }
            sorted.insert(windows[of_window[0] as usize], own);
        }
        sorted
    }
}

/// Losses together. Of round trips the least counts; files have no sum of them.
fn added(one: &LossCounts, other: &LossCounts) -> LossCounts {
    let rtt = [one, other].into_iter().filter(|loss| loss.rtt_count != 0).map(|loss| loss.rtt_min_ns).min();
    // The greatest number marks losses that were not tracked.
    let count = |one: u32, other: u32| one.saturating_add(other).min(u32::MAX - 1);
    LossCounts {
        ploss_byte: one.ploss_byte.saturating_add(other.ploss_byte),
        retrans_byte: one.retrans_byte.saturating_add(other.retrans_byte),
        unseen_byte: one.unseen_byte.saturating_add(other.unseen_byte),
        rtt_min_ns: rtt.unwrap_or(0),
        rtt_sum_ns: rtt.unwrap_or(0),
        rtt_count: rtt.is_some().into(),
        ploss_count: count(one.ploss_count, other.ploss_count),
        reorder_count: count(one.reorder_count, other.reorder_count),
        retrans_count: count(one.retrans_count, other.retrans_count),
        zero_window_count: count(one.zero_window_count, other.zero_window_count),
        hole_count: count(one.hole_count, other.hole_count),
        resync_count: count(one.resync_count, other.resync_count),
    }
}
