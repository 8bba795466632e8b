//! The sinks that take what a run tells: one trait and the list of all sinks. A run knows no sink by its name.

pub mod alerts;
mod answer_file;
pub mod captured;
pub mod kafka;
mod kept;
pub mod live;
pub mod page;
mod page_store;
pub mod printer;
mod report_file;
pub mod screen;
pub mod standard_output;

use crate::exit::Failure;
use crate::questions::asked::QuerySet;
use crate::spec::RunSpec;
use crate::verdict::ExitStatus;
use alerts::AlertsSink;
use answer_file::AnswerFile;
use controller::{Controller, ControllerOutput};
use engine::WindowOutlet;
use equery::Chain;
use kafka::RunDelivery;
use kept::RetainedResults;
use model::view::AlertmanagerView;
use model::{Answer, RunReport, Window};
use overview::Overview;
use page::Page;
use report_file::ReportFile;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use task::rows::PlanContext;
use web::Hub;

/// Takes what a run tells, as it happens. The thread that answers windows calls it too, so that an implementation hands over what it takes
/// and returns.
///
/// Answers come by [`Sink::window`] and [`Sink::cut`] where one node measures, by [`Sink::take_output`] where a controller drives nodes, and with
/// the report ([`Sink::finish`]) where a capture is answered as a whole. A mistake of the user is refused as a sink starts; what is lost later
/// goes to the verdict.
pub(crate) trait Sink: Send + Sync {
    /// Takes a window of the one node of a run that no controller drives.
    fn window(&self, _: &Window) {}

    /// Takes answers of such a run that are of windows which its end cut.
    fn cut(&self, _: &[Answer]) {}

    /// Takes what a controller shows.
    fn take_output(&self, _: &ControllerOutput) {}

    /// Takes the state of the controller that has shown something, and what became of alerts.
    fn state(&self, _: &mut Controller, _: &[AlertmanagerView]) {}

    /// Returns the hub that it shows to users.
    fn hub(&self) -> Option<Hub> {
        None
    }

    /// Follows what users do at a hub.
    fn follow(&self, _: &Hub) {}

    /// Returns what became of the alerts that it tells.
    fn alerts(&self) -> Vec<AlertmanagerView> {
        Vec::new()
    }

    /// Returns what the user is to be told since the last call.
    fn lines(&self) -> Vec<String> {
        Vec::new()
    }

    /// Delivers what it still has: nothing more is measured, the store is closed, and the report has the answers over the run. What it lost goes to
    /// the verdict.
    fn finish(&self, _: &RunReport, _: &mut ExitStatus) {}

    /// Adds what it has kept for the report of the run.
    fn add_to(&self, _: &mut RunReport) {}

    /// Takes the report, which is complete.
    fn report(&self, _: &RunReport) -> Result<(), Failure> {
        Ok(())
    }
}

/// The facts that sinks know of a run before it begins.
pub(crate) struct SinkContext<'a> {
    pub(crate) options: &'a RunSpec,
    pub(crate) asked: &'a QuerySet,
    /// The rows of each node, and the names of its sources.
    pub(crate) nodes: Vec<(PlanContext, Vec<String>)>,
    /// The queries of windows.
    pub(crate) chain: Option<Chain>,
    /// The traffic of the last hours, which the page shows.
    pub(crate) overview: Option<&'a Overview>,
    /// True if the run waits where a sink is slow.
    pub(crate) is_replay: bool,
    /// The flag that ends the run.
    pub(crate) stop: &'a Arc<AtomicBool>,
}

/// Starts a sink where the options ask for it.
type SinkStart = fn(&SinkContext<'_>) -> Result<Option<Box<dyn Sink>>, Failure>;

/// A sink that a run may have.
struct SinkEntry {
    start: SinkStart,
    /// Returns whether it sends the answers of each window, which standard output shows then.
    shows_windows: fn(&RunSpec) -> bool,
    /// Returns whether it takes the answers of each window of a capture, where the user gives the length of windows.
    takes_windows: fn(&RunSpec) -> bool,
}

impl SinkEntry {
    /// A sink to which the windows of a capture make no difference.
    const fn new(start: SinkStart) -> Self {
        Self { start, shows_windows: |_| false, takes_windows: |_| false }
    }
}

/// The list of all sinks, in the order in which they are called. The page stays after the end, and is the last.
const SINKS: &[SinkEntry] = &[
    SinkEntry::new(RetainedResults::start),
    SinkEntry::new(AlertsSink::start),
    SinkEntry {
        shows_windows: |options| options.output.kafka.is_asked(),
        ..SinkEntry::new(RunDelivery::start)
    },
    SinkEntry {
        takes_windows: |options| options.output.answers.is_some(),
        ..SinkEntry::new(AnswerFile::start)
    },
    SinkEntry::new(ReportFile::start),
    SinkEntry::new(Page::start),
];

/// Returns whether a sink that the options ask for sends the answers of each window, which standard output shows then.
pub(crate) fn show_windows(options: &RunSpec) -> bool {
    SINKS.iter().any(|known| (known.shows_windows)(options))
}

/// Returns whether a sink that the options ask for takes the answers of each window of a capture.
pub(crate) fn take_windows(options: &RunSpec) -> bool {
    SINKS.iter().any(|known| (known.takes_windows)(options))
}

/// The sinks that a run has.
#[derive(Clone)]
pub(crate) struct Sinks(Arc<[Box<dyn Sink>]>);

impl Sinks {
    /// Starts the sinks that the options ask for.
    pub(crate) fn start(context: &SinkContext<'_>) -> Result<Self, Failure> {
        let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
        for known in SINKS {
            sinks.extend((known.start)(context)?);
        }
        for hub in sinks.iter().filter_map(|sink| sink.hub()).collect::<Vec<_>>() {
            sinks.iter().for_each(|sink| sink.follow(&hub));
        }
        Ok(Self(sinks.into()))
    }
}

/// Returns an outlet that gives each window to the sinks before it passes it on.
pub(crate) fn before(sinks: Sinks, mut outlet: WindowOutlet) -> WindowOutlet {
    Box::new(move |window| {
        sinks.window(&window);
        outlet(window)
    })
}

impl Sink for Sinks {
    fn window(&self, window: &Window) {
        self.0.iter().for_each(|sink| sink.window(window));
    }

    fn cut(&self, answers: &[Answer]) {
        self.0.iter().for_each(|sink| sink.cut(answers));
    }

    fn take_output(&self, output: &ControllerOutput) {
        self.0.iter().for_each(|sink| sink.take_output(output));
    }

    fn state(&self, controller: &mut Controller, alerts: &[AlertmanagerView]) {
        self.0.iter().for_each(|sink| sink.state(controller, alerts));
    }

    fn alerts(&self) -> Vec<AlertmanagerView> {
        self.0.iter().flat_map(|sink| sink.alerts()).collect()
    }

    fn lines(&self) -> Vec<String> {
        self.0.iter().flat_map(|sink| sink.lines()).collect()
    }

    fn finish(&self, report: &RunReport, verdict: &mut ExitStatus) {
        self.0.iter().for_each(|sink| sink.finish(report, verdict));
    }

    fn add_to(&self, report: &mut RunReport) {
        self.0.iter().for_each(|sink| sink.add_to(report));
    }

    fn report(&self, report: &RunReport) -> Result<(), Failure> {
        self.0.iter().try_for_each(|sink| sink.report(report))
    }
}
