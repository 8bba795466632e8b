//! A device under test whose schedule is known: Linux as a router that shares a narrow link among flows, in a network namespace of
//! its own, measured by Edison before and after (as FloWatcher measures a router, Zhang et al. 2019, Figure 9b).
//!
//! ```text
//!  sender ──▶ tx0 ═══ in0 ── forwarding ── out0 ═══ rx0
//!                      │                    │        │
//!                   Edison          HTB, a class  Edison, `--gap`
//!                                   for each flow
//! ```
//!
//! The namespace belongs to one thread and vanishes with it, and so do its links, however the process ends.

mod frame;
mod link;
mod sender;
mod shares;

use crate::monitor::{Monitor, MonitorResult};
use crate::network::in_own_network;
use flow::FlowRecord;
use link::Router;
use sender::PacketSchedule;
use std::collections::HashMap;

/// The way in which the narrow link is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    /// A queue for each flow; all get the same rate, and what some leave over goes to the others (HTB with a class for each).
    Fair,
    /// A single queue for all, of first in, first out: the control.
    Fifo,
}

/// The traffic that is sent, and the link that carries it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FairQueue {
    /// The way in which the link is shared.
    pub queueing: Queueing,
    /// Flows; the k-th is k times slower than the first. At most [`FairQueue::MOST_FLOWS`].
    pub flows: u16,
    /// Packets per second of all flows together.
    pub packets_per_second: f64,
    /// The number of the fastest flows that exceed their fair share: the link's rate follows.
    pub aggressive: u16,
    /// The time for which is sent, seconds.
    pub seconds: f64,
}

/// The share of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowThroughput {
    /// The number of the flow: the k-th is k times slower than the first.
    pub number: u16,
    /// Packets that were sent.
    pub sent: u64,
    /// Packets that Edison counted before the device.
    pub before: u64,
    /// Packets that Edison counted after it.
    pub after: u64,
    /// Packets that a max-min fair link of this rate carries of it.
    pub fair: f64,
    /// Edison's mean interleaving gap after the device; `None` of fewer than two packets.
    pub gap_mean: Option<f64>,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct FairQueueRun {
    /// The shares of the flows, the fastest first.
    pub flows: Vec<FlowThroughput>,
    /// The time that the sender took, seconds.
    pub seconds: f64,
    /// Packets that the queues dropped, by the kernel's count.
    pub dropped: u64,
    /// Frames that Edison's captures lost, by libpcap's count: before and after the device.
    pub monitor_lost: [u64; 2],
    /// True if Edison counted before the device what was sent of each flow, and after it all that the queues did not drop.
    pub checked: bool,
}

impl FairQueue {
    /// The flows' ports, and the numbers of their classes, have 16 bits.
    pub const MOST_FLOWS: u16 = 4000;

    /// Returns what is missing on this machine: rights, `ip` and `tc`, or a part of the kernel.
    pub fn missing() -> Option<String> {
        let tried = in_own_network("the attempt to make links failed", || {
            Router::new(Queueing::Fair, 2, 1e6).map(|_| ())
        });
        tried.err()
    }

    /// Sends, and measures before and after the device.
    ///
    /// # Errors
    /// One line: what is missing ([`FairQueue::missing`]), or what failed.
    pub fn run(&self) -> Result<FairQueueRun, String> {
        let spec = *self;
        if spec.flows == 0 || spec.flows > Self::MOST_FLOWS || !(1..=spec.flows).contains(&spec.aggressive) {
            return Err(format!(
                "flows are 1 to {}, and at most all of them are aggressive",
                Self::MOST_FLOWS
            ));
        }
        in_own_network("the thread that measures the device failed", move || spec.run_here())
    }

    /// Runs in the namespace of this thread.
    fn run_here(&self) -> Result<FairQueueRun, String> {
        let schedule = PacketSchedule::new(self.flows, self.packets_per_second, self.seconds);
        let level = schedule.sent(self.aggressive) as f64;
        let carried: f64 = (1..=self.flows).map(|flow| level.min(schedule.sent(flow) as f64)).sum();
        let router = Router::new(self.queueing, self.flows, carried / self.seconds)?;
        let monitors = [Monitor::start(link::IN)?, Monitor::start(link::RX)?];
        let seconds = schedule.send(link::TX, &router.hardware_address()?)?;
        let [before, after] = monitors.map(Monitor::finish);
        let (before, after) = (before?, after?);
        let (flows_before, flows_after) = (by_flow(&before), by_flow(&after));
        let packets = |flows: &HashMap<u16, &FlowRecord>, number| {
            flows.get(&number).map_or(0, |record| record.total_count)
        };
        let dropped = router.dropped()?;
        let sent: Vec<u64> = (1..=self.flows).map(|flow| schedule.sent(flow)).collect();
        let fair = shares::max_min(&sent, carried);
        let flows: Vec<FlowThroughput> = (1..=self.flows)
            .zip(sent.iter().zip(fair))
            .map(|(number, (&sent, fair))| FlowThroughput {
                number,
                sent,
                before: packets(&flows_before, number),
                after: packets(&flows_after, number),
                fair,
                gap_mean: flows_after.get(&number).and_then(|record| record.statistic(0)),
            })
            .collect();
        Ok(FairQueueRun {
            checked: agrees(&flows, &before, &after, dropped),
            flows,
            seconds,
            dropped,
            monitor_lost: [before.lost, after.lost],
        })
    }
}

/// The records by the number of their flow.
fn by_flow(seen: &MonitorResult) -> HashMap<u16, &FlowRecord> {
    let number = |record: &FlowRecord| Some(record.key?.src_port?.wrapping_sub(frame::FIRST_PORT));
    seen.records.iter().filter_map(|record| Some((number(record)?, record))).collect()
}

/// Returns true if the counts are right: before the device everything, of each flow; after it everything that was not dropped, and of no flow
/// more than was sent. Where a capture lost frames, by its own count, only the sums can be checked.
fn agrees(flows: &[FlowThroughput], before: &MonitorResult, after: &MonitorResult, dropped: u64) -> bool {
    let sent: u64 = flows.iter().map(|flow| flow.sent).sum();
    before.received + before.lost == sent
        && after.received + after.lost + dropped == sent
        && before.is_whole
        && after.is_whole
        && flows.iter().all(|flow| {
            (flow.before == flow.sent || before.lost > 0 && flow.before < flow.sent)
                && flow.after <= flow.sent
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not about time: whatever the machine's load, every packet is counted or dropped by name.
    #[test]
    fn every_packet_is_counted_before_and_after_or_dropped_by_name() {
        if let Some(reason) = FairQueue::missing() {
            eprintln!("skipped: {reason}");
            return;
        }
        for queueing in [Queueing::Fair, Queueing::Fifo] {
            let spec =
                FairQueue { queueing, flows: 20, packets_per_second: 2000.0, aggressive: 4, seconds: 1.0 };
            let run = spec.run().expect("a run");
            assert!(run.checked, "{run:?}");
            assert_eq!(run.flows.len(), 20);
            assert!(run.dropped > 0, "the link is narrower than what is sent: {run:?}");
            let sum = |of: fn(&FlowThroughput) -> u64| run.flows.iter().map(of).sum::<u64>();
            assert_eq!(sum(|flow| flow.sent), sum(|flow| flow.after) + run.dropped + run.monitor_lost[1]);
        }
    }

    #[test]
    fn what_is_impossible_is_refused() {
        for (flows, aggressive) in [(0, 0), (10, 11), (10, 0), (FairQueue::MOST_FLOWS + 1, 1)] {
            let spec = FairQueue {
                queueing: Queueing::Fair,
                flows,
                packets_per_second: 1000.0,
                aggressive,
                seconds: 0.1,
            };
            assert!(spec.run().is_err(), "{flows} {aggressive}");
        }
    }

    #[test]
    fn a_missing_packet_is_noticed() {
        let share = |sent, before, after| FlowThroughput {
            number: 1,
            sent,
            before,
            after,
            fair: 0.0,
            gap_mean: None,
        };
        let seen =
            |received, lost| MonitorResult { received, lost, is_whole: true, ..MonitorResult::default() };
        assert!(agrees(&[share(10, 10, 6)], &seen(10, 0), &seen(6, 0), 4));
        assert!(!agrees(&[share(10, 10, 6)], &seen(10, 0), &seen(6, 0), 3));
        assert!(!agrees(&[share(10, 9, 6)], &seen(9, 0), &seen(6, 0), 4));
        assert!(agrees(&[share(10, 9, 6)], &seen(9, 1), &seen(6, 0), 4));
        assert!(!agrees(&[share(5, 6, 5), share(5, 4, 5)], &seen(10, 0), &seen(10, 0), 0));
        assert!(!agrees(
            &[share(10, 10, 6)],
            &MonitorResult { is_whole: false, ..seen(10, 0) },
            &seen(6, 0),
            4
        ));
    }
}
