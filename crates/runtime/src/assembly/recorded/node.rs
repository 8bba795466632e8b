//! A recorded node: its windows were measured before.

use super::lacking::PartialWindows;
use super::tally::RecordedTally;
use crate::assembly::reporting::NodeOutcome;
use crate::exit::{Failure, no_thread};
use crate::recorded;
use engine::{
    Control, Destinations, Every, MeasurementConfig, Observer, Outputs, OutputsResult, RecordSink, Snapshot,
    WindowId, WindowOutlet,
};
use flow::{LossCounts, WindowRow};
use flowtable::MeasuredParts;
use history::replay::{FinishedWindow, NodeRecording, WindowSink};
use model::{RunReport, Span};
use packet::{KeyV4, KeyV6};
use port::TimeBase;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use task::rows::PlanContext;

/// A node, ready to be replayed.
pub(in crate::assembly) struct RecordedNode {
    recording: NodeRecording,
    lacking: PartialWindows,
    tally: Arc<RecordedTally>,
}

impl RecordedNode {
    /// Creates a node to be replayed. `longest_ns`: the time that the longest window of a query covers.
    pub(super) fn new(recording: NodeRecording, longest_ns: u64, tally: Arc<RecordedTally>) -> Self {
        Self { recording, lacking: PartialWindows::new(longest_ns), tally }
    }

    pub(in crate::assembly) fn name(&self) -> &str {
        self.recording.name()
    }

    pub(in crate::assembly) fn site(&self) -> PlanContext {
        self.recording.site().clone()
    }

    /// Returns the names of its files.
    pub(in crate::assembly) fn names(&self) -> Vec<String> {
        self.recording.paths().map(|path| path.display().to_string()).collect()
    }

    /// Replays all windows as they are let be entered. Answers go to `windows`.
    pub(in crate::assembly) fn replay(
        self,
        control: &Control,
        windows: WindowOutlet,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<NodeOutcome, Failure> {
        let source = self.names();
        let Self { recording, lacking, tally } = self;
        let (site, node) = (recording.site(), recording.name().to_owned());
        let window_ns = site.window_ns.unwrap_or(1).max(1);
        let config = MeasurementConfig {
            every: Every::Time(window_ns),
            limits: site.limits.clone(),
            key: site.key,
            parts: MeasuredParts {
                loss: site.tracked.loss,
                headers: site.tracked.headers,
                ..MeasuredParts::default()
            },
            seed: site.seed,
            ..MeasurementConfig::default()
        };
        let destinations = Destinations {
            writers: Vec::new(),
            rows: Vec::new(),
            anonymizer: None,
            windows: marked(windows, lacking.clone()),
            node: node.clone(),
        };
        let outputs = Outputs::start(destinations, &config, control, TimeBase::Packets).map_err(no_thread)?;
        let replayed = Snapshot { total_bytes: Some(recording.windows_with_rows()), ..Snapshot::default() };
        let control = control.clone();
        let mut replay =
            RowReplay { outputs, control, lacking, window_ns, index: 0, stop, replayed, observer };
        tally.add(&recording.replay(&mut replay));
        let RowReplay { outputs, lacking, .. } = replay;
        let OutputsResult { mut longer, warnings, faults, .. } = outputs.finish();
        lacking.say(&mut longer, 0);
        let report = RunReport { source, node, faults, ..RunReport::default() };
        Ok(NodeOutcome { report, longer, warnings, verdict: Default::default() })
    }
}

/// Says in the answers of windows what these lack.
fn marked(mut windows: WindowOutlet, lacking: PartialWindows) -> WindowOutlet {
    Box::new(move |mut window| {
        let end_ns = window.span.end_ns;
        lacking.say(&mut window.answers, 0);
        lacking.say(&mut window.longer, end_ns);
        windows(window)
    })
}

/// Gives recorded windows to the outputs of a measurement, as its receivers and workers would.
struct RowReplay<'a> {
    outputs: Outputs,
    control: Control,
    lacking: PartialWindows,
    window_ns: u64,
    index: u64,
    stop: &'a AtomicBool,
    /// The counts of what was replayed. Windows with rows take the place of bytes.
    replayed: Snapshot,
    observer: &'a mut dyn Observer,
}

impl WindowSink for RowReplay<'_> {
    fn enter(&mut self, start_ns: u64) -> bool {
        let window = WindowId::new(start_ns / self.window_ns);
        self.control.enter(window);
        if self.stop.load(Relaxed) {
            return false;
        }
        self.outputs.begin_rows(window);
        true
    }

    fn row_v4(&mut self, row: WindowRow<KeyV4>, loss: Option<&LossCounts>) {
        self.outputs.row(row, loss);
    }

    fn row_v6(&mut self, row: WindowRow<KeyV6>, loss: Option<&LossCounts>) {
        self.outputs.row(row, loss);
    }

    fn close(&mut self, mut window: FinishedWindow) -> bool {
        let start_ns = window.start_ns;
        let span = Span { start_ns, end_ns: start_ns.saturating_add(self.window_ns) };
        let refused_now = self.outputs.end_rows();
        self.lacking.add(span, std::mem::take(&mut window.lacks));
        let [packets, .., flows] = window.sums;
        self.replayed.received += packets;
        self.replayed.flows = flows;
        self.replayed.done_bytes += u64::from(flows != 0);
        let closed = recorded::closed(window, self.window_ns, self.index, refused_now);
        self.index += 1;
        self.observer.progress(self.replayed);
        self.outputs.window(closed) && !self.stop.load(Relaxed)
    }
}
