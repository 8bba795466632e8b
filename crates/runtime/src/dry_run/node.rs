//! A recorded node: a probe whose windows were measured before.

use super::lacking::Lacking;
use crate::exit::Failure;
use crate::exit::no_thread;
use crate::recorded;
use engine::{Config, Control, Destinations, Every, Gate, Outputs, RecordSink, WindowId, WindowOutlet};
use flow::{LossCounts, WindowRow};
use history::replay::{FinishedWindow, NodeRecording, Replayed, WindowSink};
use model::Span;
use packet::{KeyV4, KeyV6};
use port::TimeBase;
use probe::{Planner, Probe, ReplayGate};
use protocol::ProbeLink;
use protocol::memory::MemoryProbeLink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use summary::Parts;

/// A node, ready to be replayed.
pub(super) struct Node {
    recording: NodeRecording,
    outputs: Outputs,
    control: Control,
    probe: Probe,
    lacking: Lacking,
}

impl Node {
    /// `longest_ns`: the time that the longest window of a query covers.
    pub(super) fn start(
        recording: NodeRecording,
        link: MemoryProbeLink,
        longest_ns: u64,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let link: Arc<dyn ProbeLink> = Arc::new(link);
        let site = recording.site();
        let window_ns = site.window_ns.unwrap_or(0);
        let config = Config {
            every: Every::Time(window_ns),
            limits: site.limits.clone(),
            key: site.key,
            parts: Parts { loss: site.tracks_loss, ..Parts::default() },
            seed: site.seed,
            ..Config::default()
        };
        let planner = Planner::new(site.clone(), Vec::new());
        let first = planner.first().map_err(Failure::usage)?;
        let gate = ReplayGate::new(window_ns, Arc::clone(&link), Arc::clone(stop));
        let control = Control::gated(first, Arc::clone(&gate) as Arc<dyn Gate>);
        let probe =
            Probe::start(link, planner, control.clone(), Some(gate), None, None, None).map_err(no_thread)?;
        let lacking = Lacking::new(longest_ns);
        let destinations = Destinations {
            writers: Vec::new(),
            rows: Vec::new(),
            anonymizer: None,
            windows: outlet(probe.outlet(), lacking.clone()),
            node: recording.name().to_owned(),
        };
        let outputs =
            Outputs::start(destinations, &config, &control, TimeBase::Packets).map_err(no_thread)?;
        Ok(Self { recording, outputs, control, probe, lacking })
    }

    /// Gives all windows to the controller, as it lets them be entered.
    pub(super) fn replay(self, stop: &AtomicBool) -> Replayed {
        let Self { recording, outputs, control, probe, lacking } = self;
        probe.await_tasks();
        let window_ns = recording.site().window_ns.unwrap_or(1).max(1);
        let mut feed = Feed { outputs, control, lacking, window_ns, index: 0, stop };
        let replayed = recording.replay(&mut feed);
        let Feed { outputs, lacking, .. } = feed;
        let mut cut = outputs.finish().longer;
        lacking.say(&mut cut, 0);
        probe.end(cut);
        replayed
    }
}

/// Says in the answers of windows what these lack.
fn outlet(mut probe: WindowOutlet, lacking: Lacking) -> WindowOutlet {
    Box::new(move |mut window| {
        let end_ns = window.span.end_ns;
        lacking.say(&mut window.answers, 0);
        lacking.say(&mut window.longer, end_ns);
        probe(window)
    })
}

/// Gives recorded windows to the outputs of a measurement, as its receivers and workers would.
struct Feed<'a> {
    outputs: Outputs,
    control: Control,
    lacking: Lacking,
    window_ns: u64,
    index: u64,
    stop: &'a AtomicBool,
}

impl WindowSink for Feed<'_> {
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
        let closed = recorded::closed(window, self.window_ns, self.index, refused_now);
        self.index += 1;
        self.outputs.window(closed) && !self.stop.load(Relaxed)
    }
}
