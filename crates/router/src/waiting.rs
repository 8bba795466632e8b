//! Data that wait for a template which comes late.

use record::read::ExportTimes;
use std::collections::{HashMap, VecDeque};

/// The most octets of all exporters that wait.
pub(crate) const MOST_BYTES: usize = 8 << 20;
/// The most octets of one exporter that wait.
const MOST_OF_ONE: usize = 512 << 10;
/// The octets that a set takes besides its own, where it is the only one of its template.
const OF_SET: usize = 320;
/// The longest time that data wait, nanoseconds. Exporters send templates again every few minutes.
const LONGEST_NS: u64 = 30 * 60 * 1_000_000_000;

/// A set of data whose template has not come.
#[derive(Debug)]
pub(crate) struct WaitingSet {
    pub(crate) octets: Box<[u8]>,
    pub(crate) facts: ExportTimes,
    arrived_ns: u64,
}

/// Sets of one exporter that wait.
#[derive(Debug, Default)]
pub(crate) struct WaitingSets {
    /// The sets by their templates; those of one template as they came.
    sets: HashMap<u16, VecDeque<WaitingSet>>,
    /// The time until which no set has waited too long.
    due_ns: u64,
    bytes: usize,
}

impl WaitingSets {
    /// Keeps a set; false where there is no room. `all`: octets that wait of all exporters.
    pub(crate) fn keep(
        &mut self,
        template: u16,
        octets: &[u8],
        facts: ExportTimes,
        now_ns: u64,
        all: &mut usize,
    ) -> bool {
        let bytes = octets.len() + OF_SET;
        if self.bytes + bytes > MOST_OF_ONE || *all + bytes > MOST_BYTES {
            return false;
        }
        self.bytes += bytes;
        *all += bytes;
        if self.sets.is_empty() {
            self.due_ns = now_ns.saturating_add(LONGEST_NS);
        }
        let set = WaitingSet { octets: octets.into(), facts, arrived_ns: now_ns };
        self.sets.entry(template).or_default().push_back(set);
        true
    }

    /// Takes the sets of a template.
    pub(crate) fn take(&mut self, template: u16, all: &mut usize) -> VecDeque<WaitingSet> {
        let taken = self.sets.remove(&template).unwrap_or_default();
        taken.iter().for_each(|set| self.free(set.octets.len(), all));
        taken
    }

    /// Gives up the sets that have waited too long, or all where `now_ns` is `None`. Returns how many.
    pub(crate) fn give_up(&mut self, now_ns: Option<u64>, all: &mut usize) -> u64 {
        let is_over =
            |set: &WaitingSet| now_ns.is_none_or(|now| now.saturating_sub(set.arrived_ns) >= LONGEST_NS);
        // Nothing is looked through until the first that came is due.
        if now_ns.is_some_and(|now| now < self.due_ns) {
            return 0;
        }
        let (mut number, mut freed) = (0, Vec::new());
        self.sets.retain(|_, sets| {
            while let Some(set) = sets.front().filter(|set| is_over(set)) {
                freed.push(set.octets.len());
                sets.pop_front();
                number += 1;
            }
            !sets.is_empty()
        });
        freed.into_iter().for_each(|octets| self.free(octets, all));
        let first = self.sets.values().filter_map(|sets| sets.front()).map(|set| set.arrived_ns).min();
        self.due_ns = first.map_or(0, |first| first.saturating_add(LONGEST_NS));
        number
    }

    fn free(&mut self, octets: usize, all: &mut usize) {
        self.bytes -= octets + OF_SET;
        *all -= octets + OF_SET;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE_NS: u64 = 60 * 1_000_000_000;

    #[test]
    fn sets_wait_by_their_template_and_for_half_an_hour() {
        let (mut waiting, mut all) = (WaitingSets::default(), 0);
        for (number, template) in [256u16, 257, 256, 258].into_iter().enumerate() {
            let number = number as u8;
            let now_ns = u64::from(number) * MINUTE_NS;
            assert!(waiting.keep(template, &[number], ExportTimes::default(), now_ns, &mut all));
        }
        let taken: Vec<u8> = waiting.take(256, &mut all).iter().map(|set| set.octets[0]).collect();
        assert_eq!((taken, all), (vec![0, 2], 2 * (1 + OF_SET)));
        assert!(waiting.take(256, &mut all).is_empty());
        assert_eq!(waiting.give_up(Some(LONGEST_NS + MINUTE_NS - 1), &mut all), 0);
        assert_eq!((waiting.give_up(Some(LONGEST_NS + MINUTE_NS), &mut all), all), (1, 1 + OF_SET));
        assert_eq!(waiting.give_up(Some(LONGEST_NS + 2 * MINUTE_NS), &mut all), 0);
        assert_eq!((waiting.give_up(None, &mut all), all, waiting.bytes), (1, 0, 0));
    }
}
