//! Nodes under a controller, in one process: what their answers start, and what the controller shows.

use super::MeasurementRoute;
use super::chain;
use super::driven;
use super::measurement::Measurement;
use super::plan::RunPlan;
use super::progress::{NodeProgress, ProgressLine};
use super::recorded::{RecordedRun, Since};
use super::reporting::NodeOutcome;
use super::whole_run::WholeRun;
use super::window_source::WindowSource;
use crate::exit::{Failure, no_thread, say};
use crate::resolver::Resolver;
use crate::sinks::printer::{ControllerPrinter, Style};
use crate::sinks::standard_output::{self, OutputReader};
use crate::sinks::{Sink, Sinks};
use controller::{Controller, ControllerContext, ControllerOutput, OutputSink};
use engine::{Control, Every, Gate};
use equery::Chain;
use model::{RunReport, Story};
use port::TimeBase;
use probe::{Probe, ReplayGate, TaskSetPlanner};
use protocol::ProbeLink;
use protocol::memory::{self, MemoryControllerLink, MemoryProbeLink};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use task::query::Query;

/// A node under the controller, ready to be measured.
struct ControlledProbe {
    source: WindowSource,
    control: Control,
    probe: Probe,
}

/// Nodes and their controller.
pub(super) struct Controlled {
    controller: Controller,
    link: MemoryControllerLink,
    ready: Vec<ControlledProbe>,
    printer: ControllerPrinter,
    progress: ProgressLine,
    reader: OutputReader,
    /// True if something else than standard output is written.
    writes_files: bool,
    /// True if standard output does not say which conditions were not decided.
    says_undecided: bool,
    /// The selection of what is shown of recorded rows.
    since: Option<Since>,
}

impl Controlled {
    /// Puts the nodes under a controller. `has_tables`: what it shows goes to standard output, whose reader is the other one.
    pub(super) fn new(
        plan: &RunPlan,
        sources: Vec<WindowSource>,
        (mut chain, whole): (Chain, &WholeRun),
        (has_tables, reader): (bool, OutputReader),
        resolver: Option<Arc<Resolver>>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let RunPlan { options, asked, .. } = plan;
        let window_ns = match options.question.every {
            Every::Time(length) => length,
            // Refused before.
            Every::Packets(_) => 0,
        };
        let is_replay = sources.iter().all(|one| one.time_base() == TimeBase::Packets);
        let mut measured = sources.iter().filter_map(WindowSource::measured);
        if is_replay && measured.clone().any(|one| one.plan.receivers > 1) {
            let typed = match options.source.wire {
                Some(wire) if wire.queues > 1 => "--wire queues",
                _ => "--cores or --design",
            };
            return Err(Failure::usage(format!(
                "{typed}: a replay of several nodes, or whose queries start others, has one receiver for each node, as windows are entered \
                 one by one: take one queue"
            )));
        }
        let names: Vec<String> = sources.iter().map(|one| one.node().to_owned()).collect();
        let anonymizer = measured.next().and_then(Measurement::anonymizer).cloned();
        if let Some(mut anonymizer) = anonymizer {
            chain.graph.map_pinned_addresses(&mut |address| anonymizer.address(address));
        }
        let controller = Controller::new(chain, ControllerContext { window_ns, is_replay, key: None });
        let (link, probes) = memory::links(&names);
        let mut ready = Vec::new();
        for (source, link) in sources.into_iter().zip(probes) {
            let own = chain::own_queries(plan, whole, source.node());
            ready.push(ControlledProbe::new(source, link, own, window_ns, is_replay, stop)?);
        }
        let showing = plan.recorded.as_ref().map(RecordedRun::showing);
        let style = Style {
            is_silent: !has_tables,
            is_json: options.output.json,
            is_live: !is_replay,
            has_several_nodes: names.len() > 1,
            has_rows: options.question.per.is_some(),
            steps: (!asked.is_empty()).then(|| chain::steps(plan)),
            leaves_out_answers: showing.as_ref().is_some_and(|showing| !showing.has_answers),
            is_approximate: showing.as_ref().is_some_and(|showing| showing.is_approximate),
        };
        Ok(Self {
            controller,
            link,
            ready,
            printer: ControllerPrinter::new(style, reader.clone(), resolver),
            progress: ProgressLine::new(names.len()),
            reader,
            writes_files: standard_output::writes_files(options),
            says_undecided: options.output.json || !has_tables || showing.is_some(),
            since: showing.map(|showing| showing.since),
        })
    }
}

impl MeasurementRoute for Controlled {
    fn measurements(&mut self) -> Vec<&mut Measurement> {
        self.ready.iter_mut().filter_map(|ready| ready.source.measured_mut()).collect()
    }

    fn measure(&mut self, sinks: &Sinks, stop: &AtomicBool) -> Result<Vec<NodeOutcome>, Failure> {
        let Self { controller, link, ready, printer, progress, reader, writes_files, since, .. } = self;
        let (reader, writes_files) = (&*reader, *writes_files);
        let nodes = std::mem::take(ready);
        let mut shown =
            ControllerDisplay { progress: progress.clone(), printer, sinks, since: since.as_mut() };
        let nodes = nodes.into_iter().enumerate().map(|(number, ready)| {
            let observer = progress.observer(number);
            move || ready.measure(observer, stop, || reader.has_left() && !writes_files)
        });
        let measured = driven::drive(controller, link, &mut shown, nodes, stop);
        progress.clear();
        measured
    }

    fn end(mut self: Box<Self>, sinks: &Sinks, report: &mut RunReport) -> Option<String> {
        let controller = &mut self.controller;
        // What became of alerts is known now.
        sinks.state(controller, &sinks.alerts());
        let is_shown = |story: &&Story| self.since.as_ref().is_none_or(|since| since.shows(story));
        report.occurrences.stories = controller.stories().filter(is_shown).cloned().collect();
        report.occurrences.stories_unlisted = controller.stories_dropped();
        report.occurrences.undecided = controller.undecided();
        if self.says_undecided {
            terminal::undecided(&report.occurrences.undecided).lines().for_each(say);
        }
        self.printer.finish()
    }
}

/// The output of a controller, on its way to standard output and the sinks.
struct ControllerDisplay<'a> {
    progress: ProgressLine,
    printer: &'a mut ControllerPrinter,
    sinks: &'a Sinks,
    since: Option<&'a mut Since>,
}

impl OutputSink for ControllerDisplay<'_> {
    fn show(&mut self, output: ControllerOutput) {
        if self.since.as_mut().is_some_and(|since| !since.takes(&output)) {
            return;
        }
        self.sinks.take_output(&output);
        self.progress.clear();
        self.printer.show(output);
    }

    fn finish_message(&mut self, controller: &mut Controller) {
        self.sinks.state(controller, &self.sinks.alerts());
        let lines = self.sinks.lines();
        if !lines.is_empty() {
            self.progress.clear();
            lines.iter().for_each(|line| say(line));
        }
    }
}

impl ControlledProbe {
    fn new(
        source: WindowSource,
        link: MemoryProbeLink,
        own: Vec<Query>,
        window_ns: u64,
        is_replay: bool,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let link: Arc<dyn ProbeLink> = Arc::new(link);
        let measured = source.measured();
        let planner = TaskSetPlanner::new(source.site(), own)
            .with_tasks(measured.and_then(|measurement| measurement.tasks.clone()))
            .with_anonymizer(measured.and_then(Measurement::anonymizer).cloned());
        let first = planner.first().map_err(Failure::usage)?;
        let gate = is_replay.then(|| ReplayGate::new(window_ns, Arc::clone(&link), Arc::clone(stop)));
        let control = match &gate {
            Some(gate) => Control::gated(first, Arc::clone(gate) as Arc<dyn Gate>),
            None => Control::new(first),
        };
        if let Some(measurement) = measured {
            measurement.start_captures(&control)?;
        }
        let probe =
            Probe::start(link, planner, control.clone(), gate, None, None, None).map_err(no_thread)?;
        Ok(Self { source, control, probe })
    }

    /// Measures the node. `is_unread`: the reader of what is asked has left.
    fn measure(
        self,
        mut observer: NodeProgress,
        stop: &AtomicBool,
        is_unread: impl Fn() -> bool,
    ) -> Result<NodeOutcome, Failure> {
        let Self { source, control, probe } = self;
        // A live source would be measured without its tasks at first.
        probe.await_tasks();
        let mut reported = source.measure(&control, probe.outlet(), stop, &mut observer, is_unread)?;
        probe.end(std::mem::take(&mut reported.longer));
        Ok(reported)
    }
}
