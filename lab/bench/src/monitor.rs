//! Edison at an interface of a device under test.

use crate::record_list::RecordList;
use engine::{Every, MeasurementConfig, Observer, ResolvedDesign, Snapshot, run};
use flow::{FlowRecord, Metric};
use flowtable::{MeasuredParts, Timeouts};
use port::{InterfaceOptions, InterfaceSource, PacketSource};
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::Duration;

/// Silence after which a run has seen everything.
const SILENCE: Duration = Duration::from_secs(5);

/// A run that measures.
pub(crate) struct Monitor(JoinHandle<Result<MonitorResult, String>>);

/// The results of a run that measures.
#[derive(Clone, Debug, Default)]
pub(crate) struct MonitorResult {
    /// The number of frames.
    pub(crate) received: u64,
    /// Frames that the capture lost, by its own count.
    pub(crate) lost: u64,
    /// True if every frame was measured and records count them all.
    pub(crate) is_whole: bool,
    /// The records of all flows, with the mean of their interleaving gaps.
    pub(crate) records: Vec<FlowRecord>,
}

impl Monitor {
    /// Measures an interface of the thread's network until it is silent.
    pub(crate) fn start(interface: &str) -> Result<Self, String> {
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
            let recorded: u64 = outcome.records.0.iter().map(|record| record.total_count).sum();
            seen.is_whole = packets.received == packets.measured
                && recorded == packets.measured
                && outcome.errors.is_empty()
                && outcome.faults.is_empty();
            seen.records = outcome.records.0;
            Ok(seen)
        };
        Ok(Self(std::thread::spawn(measure)))
    }

    /// Waits until it is silent.
    pub(crate) fn finish(self) -> Result<MonitorResult, String> {
        self.0.join().unwrap_or_else(|_| Err("a monitor failed".to_owned()))
    }
}

struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: Snapshot) {}
    fn warning(&mut self, _: String) {}
}
