//! Data that wait for a template which comes late.

use std::collections::VecDeque;

/// The most octets of all exporters.
pub(crate) const MOST_BYTES: usize = 8 << 20;
/// The most octets of one exporter.
const MOST_OF_ONE: usize = 512 << 10;
/// What a set takes besides its octets.
const OF_SET: usize = 64;
/// How long data wait. Exporters send templates again every few minutes.
const LONGEST_NS: u64 = 30 * 60 * 1_000_000_000;

/// A set of data whose template has not come.
#[derive(Debug)]
pub(crate) struct WaitingSet {
    pub(crate) template: u16,
    pub(crate) octets: Box<[u8]>,
    pub(crate) facts: Facts,
    arrived_ns: u64,
}

/// What the header of a message says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// When it was sent, nanoseconds since the epoch.
    pub(crate) export_ns: u64,
    /// The exporter's time since its start then, milliseconds, where it is told.
    pub(crate) uptime_ms: Option<u32>,
}

/// Sets of one exporter that wait.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    sets: VecDeque<WaitingSet>,
    bytes: usize,
}

impl Waiting {
    /// Keeps a set; false where there is no room. `all`: octets that wait of all exporters.
    pub(crate) fn keep(
        &mut self,
        template: u16,
        octets: &[u8],
        facts: Facts,
        now_ns: u64,
        all: &mut usize,
    ) -> bool {
        let bytes = octets.len() + OF_SET;
        if self.bytes + bytes > MOST_OF_ONE || *all + bytes > MOST_BYTES {
            return false;
        }
        self.bytes += bytes;
        *all += bytes;
        self.sets.push_back(WaitingSet { template, octets: octets.into(), facts, arrived_ns: now_ns });
        true
    }

    /// Takes those of a template.
    pub(crate) fn take(&mut self, template: u16, all: &mut usize) -> Vec<WaitingSet> {
        if !self.sets.iter().any(|set| set.template == template) {
            return Vec::new();
        }
        let (taken, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.sets).into_iter().partition(|set| set.template == template);
        self.sets = rest.into();
        taken.iter().for_each(|set| self.free(set.octets.len(), all));
        taken
    }

    /// Gives up those that have waited too long, or all where `now_ns` is `None`. Returns how many.
    pub(crate) fn give_up(&mut self, now_ns: Option<u64>, all: &mut usize) -> u64 {
        let mut number = 0;
        while let Some(set) = self.sets.front() {
            if now_ns.is_some_and(|now| now.saturating_sub(set.arrived_ns) < LONGEST_NS) {
                break;
            }
            let bytes = set.octets.len();
            self.sets.pop_front();
            self.free(bytes, all);
            number += 1;
        }
        number
    }

    fn free(&mut self, octets: usize, all: &mut usize) {
        self.bytes -= octets + OF_SET;
        *all -= octets + OF_SET;
    }
}
