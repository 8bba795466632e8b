//! Edison at an interface of the device.

use super::frame::FIRST_PORT;
use crate::record_list::RecordList;
use engine::{Every, MeasurementConfig, Observer, ResolvedDesign, Snapshot, run};
use flow::Metric;
use flowtable::{MeasuredParts, Timeouts};
use port::{InterfaceOptions, InterfaceSource, PacketSource};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::Duration;

/// Silence after which a run has seen everything.
const SILENCE: Duration = Duration::from_secs(5);

/// A run that measures.
pub(super) struct Monitor(JoinHandle<Result<MonitorResult, String>>);

/// The results of a run that measures.
#[derive(Debug, Default)]
pub(super) struct MonitorResult {
    /// The number of frames.
    pub(super) received: u64,
    /// Frames that the capture lost, by its own count.
    pub(super) lost: u64,
    /// True if every frame was measured and records count them all.
    pub(super) is_whole: bool,
    /// Packets and mean gap by flow.
    pub(super) flows: HashMap<u16, (u64, Option<f64>)>,
}

impl Monitor {
    /// Measures an interface of the thread's network until it is silent.
    pub(super) fn start(interface: &str) -> Result<Self, String> {
        let options = InterfaceOptions { snaplen: 64, ..InterfaceOptions::default() };
        let source = InterfaceSource::open(interface, &options).map_err(|error| error.to_string())?;
        let gap = "mean".parse().map_err(|error| format!("{error}"))?;
        let config = MeasurementConfig {
            every: Every::Time(1 << 62),
            timeouts: Timeouts { idle_ns: u64::MAX, active_ns: u64::MAX },
            parts: MeasuredParts {
                statistics: [Some((Metric::Gap, gap)), None, None],
                ..MeasuredParts::default()
            },
            idle_exit: Some(SILENCE),
            ..MeasurementConfig::default()
        };
        let measure = move || {
            let mut sources: Vec<Box<dyn PacketSource>> = vec![Box::new(source)];
            let (stop, records) = (AtomicBool::new(false), RecordList::default());
            let outcome =
                run(&mut sources, None, &config, &ResolvedDesign::single(), &stop, records, &mut Silent)
                    .map_err(|error| error.to_string())?;
            let packets = &outcome.ended.packets;
            let mut seen = MonitorResult {
                received: packets.received,
                lost: outcome.loss.iter().flat_map(|loss| &loss.0).map(|(_, count)| count).sum(),
                ..MonitorResult::default()
            };
            let mut recorded = 0;
            for record in &outcome.records.0 {
                recorded += record.total_count;
                if let Some(port) = record.key.and_then(|key| key.src_port) {
                    let flow = (record.total_count, record.statistic(0));
                    seen.flows.insert(port.wrapping_sub(FIRST_PORT), flow);
                }
            }
            seen.is_whole = packets.received == packets.measured
                && recorded == packets.measured
                && outcome.errors.is_empty()
                && outcome.faults.is_empty();
            Ok(seen)
        };
        Ok(Self(std::thread::spawn(measure)))
    }

    /// Waits until it is silent.
    pub(super) fn finish(self) -> Result<MonitorResult, String> {
        self.0.join().unwrap_or_else(|_| Err("a monitor failed".to_owned()))
    }
}

impl MonitorResult {
    /// Packets of a flow.
    pub(super) fn packets(&self, flow: u16) -> u64 {
        self.flows.get(&flow).map_or(0, |(packets, _)| *packets)
    }

    /// The mean of its interleaving gaps.
    pub(super) fn gap_mean(&self, flow: u16) -> Option<f64> {
        self.flows.get(&flow).and_then(|(_, gap)| *gap)
    }
}

struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: Snapshot) {}
    fn warning(&mut self, _: String) {}
}
