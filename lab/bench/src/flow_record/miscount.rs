//! The answer that a table should give by its published behaviour, and its distance from the truth.

use super::counted::EntryCounts;
use super::flows::{PointTraffic, StreamFlow};
use super::table::{BenchFlowTable, Entries, Knows};
use packet::KeyV4;

/// Returns the half of an RSS hash that chooses the bucket.
pub(super) fn low(hash: u32) -> u16 {
    hash as u16
}

/// The flows of one RSS hash: one entry in a table that knows no more.
#[derive(Clone, Copy, Debug)]
struct HashGroup {
    hash: u32,
    /// Place of the first flow in the order of arrival: the one that the entry was made for.
    first: u32,
    flows: u32,
    packets: u32,
    /// Packets of the first flow.
    of_first: u32,
    sampled: u32,
    /// True for the first two of their bucket.
    is_early: bool,
}

impl HashGroup {
    fn counted(&self, passes: u64) -> u64 {
        u64::from(self.packets) + passes * u64::from(self.sampled)
    }
}

/// The loss of a table, in one comparison with the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Miscount {
    pub(super) flows_true: u64,
    /// Entries in the table.
    pub(super) flows_counted: u64,
    /// Flows that are not tracked, or share an entry with another.
    pub(super) flows_lost: u64,
    pub(super) packets: u64,
    /// Packets that were counted in an entry made for another flow, or in none.
    pub(super) packets_miscounted: u64,
}

/// A model of each kind of table, made of the flows in the order of arrival and of nothing that the tables do.
pub(super) struct TableModel<'a> {
    traffic: &'a PointTraffic,
    /// Sorted by hash.
    groups: Vec<HashGroup>,
}

impl<'a> TableModel<'a> {
    pub(super) fn new(traffic: &'a PointTraffic) -> Self {
        let flows = &traffic.flows;
        let mut order: Vec<usize> = (0..flows.len()).collect();
        order.sort_unstable_by_key(|&place| (flows[place].hash, place));
        let runs = order.chunk_by(|&a, &b| flows[a].hash == flows[b].hash);
        let sum =
            |run: &[usize], part: fn(&StreamFlow) -> u32| run.iter().map(|&place| part(&flows[place])).sum();
        let mut groups: Vec<HashGroup> = runs
            .map(|run| HashGroup {
                hash: flows[run[0]].hash,
                first: run[0] as u32,
                flows: run.len() as u32,
                packets: sum(run, |flow| flow.packets),
                of_first: flows[run[0]].packets,
                sampled: sum(run, |flow| flow.sampled),
                is_early: false,
            })
            .collect();
        // Nothing leaves a bucket, so its two entries belong to the first two flows.
        groups.sort_unstable_by_key(|group| (low(group.hash), group.first));
        for bucket in groups.chunk_by_mut(|a, b| low(a.hash) == low(b.hash)) {
            bucket.iter_mut().take(2).for_each(|group| group.is_early = true);
        }
        groups.sort_unstable_by_key(|group| group.hash);
        Self { traffic, groups }
    }

    /// Compares a table's answer, after the whole stream and this many passes over the sample, with what it
    /// should be, and returns how far it is from the truth about the whole stream.
    pub(super) fn compare(&self, table: &mut dyn BenchFlowTable, passes: u64) -> (bool, Miscount) {
        let untracked = table.untracked();
        match table.entries() {
            Entries::ByKey(entries) => self.compare_keys(&entries, untracked, passes),
            Entries::ByHash(mut entries) => {
                entries.sort_unstable_by_key(|&(hash, _)| hash);
                let only_early = table.knows() == Knows::TwoHashesPerBucket;
                self.compare_hashes(&entries, untracked, only_early, passes)
            }
        }
    }

    fn compare_keys(
        &self,
        entries: &[(KeyV4, EntryCounts)],
        untracked: u64,
        passes: u64,
    ) -> (bool, Miscount) {
        let flows = &self.traffic.flows;
        let mut is_right = vec![false; flows.len()];
        for (key, counted) in entries {
            if let Some(place) = self.traffic.place(key) {
                is_right[place] = *counted == EntryCounts::from_packets(flows[place].counted(passes));
            }
        }
        let mut miscount = self.nothing_right(entries.len());
        for (flow, _) in flows.iter().zip(&is_right).filter(|(_, is_right)| **is_right) {
            miscount.flows_lost -= 1;
            miscount.packets_miscounted -= u64::from(flow.packets);
        }
        (untracked == 0 && entries.len() == flows.len() && miscount.flows_lost == 0, miscount)
    }

    fn compare_hashes(
        &self,
        entries: &[(u32, EntryCounts)],
        untracked: u64,
        only_early: bool,
        passes: u64,
    ) -> (bool, Miscount) {
        let (kept, left_out): (Vec<&HashGroup>, Vec<&HashGroup>) =
            self.groups.iter().partition(|group| group.is_early || !only_early);
        let expected =
            kept.iter().map(|group| (group.hash, EntryCounts::from_packets(group.counted(passes))));
        let left_out: u64 = left_out.iter().map(|group| group.counted(passes)).sum();
        let agrees = expected.eq(entries.iter().copied()) && untracked == left_out;
        // Losses are counted from the table's entries, not from the model's.
        let mut miscount = self.nothing_right(entries.len());
        for group in &self.groups {
            if entries.binary_search_by_key(&group.hash, |&(hash, _)| hash).is_ok() {
                miscount.flows_lost -= u64::from(group.flows == 1);
                miscount.packets_miscounted -= u64::from(group.of_first);
            }
        }
        (agrees, miscount)
    }

    /// Returns the miscount with which a comparison begins: nothing is right.
    fn nothing_right(&self, entries: usize) -> Miscount {
        let packets = self.traffic.packets().len() as u64;
        let flows = self.traffic.flows.len() as u64;
        Miscount {
            flows_true: flows,
            flows_counted: entries as u64,
            flows_lost: flows,
            packets,
            packets_miscounted: packets,
        }
    }
}
