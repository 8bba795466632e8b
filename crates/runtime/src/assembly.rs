//! The pipeline of a run, always the same: nodes measure, a controller joins them where there are several or where queries start others, and
//! sinks take what follows.

mod adapt;
mod capabilities;
mod capture_windows;
mod chain;
mod connections;
mod controlled;
mod direct;
pub mod driven;
mod folder;
pub mod measurement;
pub mod nodes;
mod overview_rows;
pub mod parallel;
mod parts;
mod places;
mod plan;
pub mod port_drivers;
pub mod positional;
mod preset;
mod progress;
mod recorded;
pub mod refusal;
pub mod reporting;
pub mod routers;
mod row_file;
pub mod row_store;
pub mod sources;
mod steps;
pub mod stored;
mod table_records;
pub mod test_ports;
mod watched;
mod whole_run;
mod window_source;
mod window_tally;

pub(crate) use watched::FailedOutputs;

use crate::exit::{Failure, say};
use crate::origin::Origins;
use crate::resolver::Resolver;
use crate::signals;
use crate::sinks::standard_output::{OutputReader, StandardOutput};
use crate::sinks::{Sink, SinkContext, Sinks};
use crate::spec::RunSpec;
use crate::verdict::ExitStatus;
use controlled::Controlled;
use direct::Direct;
use engine::Every;
use equery::Chain;
use measurement::{AskedTasks, Measurement, SharedNodeContext};
use model::RunReport;
use overview::{Overview, OverviewSetting};
use plan::RunPlan;
use port::TimeBase;
use reporting::NodeOutcome;
use signal_hook::consts::SIGHUP;
use std::any::Any;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use store::StoreWriter;
use whole_run::WholeRun;
use window_source::WindowSource;

/// Measures what the options say.
pub fn run(options: &RunSpec, origins: &Origins) -> Result<ExitCode, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    RunPlan::from_options(options, origins, &stop)?.run(&stop)
}

/// Returns the overview that the page shows, or that a controller is told: of captures of their whole time.
fn overview_of(options: &RunSpec, is_replay: bool) -> Overview {
    let window_ns = match options.question.every {
        Every::Time(length) => length,
        // Windows of a number of packets have any length: steps begin short.
        Every::Packets(_) => 1_000_000,
    };
    Overview::new(match is_replay {
        true => OverviewSetting::capture(window_ns),
        false => OverviewSetting::live(window_ns),
    })
}

/// Returns the options of a run that are refused with routers, as they are typed.
pub fn refused_with_routers() -> impl Iterator<Item = &'static str> {
    capabilities::refused_with_routers()
}

/// A way to measure: a node by itself, nodes under a controller in this process, or a node that reaches its controller through a broker.
trait MeasurementRoute {
    /// Returns a flag that is set once a signal may end the program at once.
    fn may_end(&self, stop: &Arc<AtomicBool>) -> Arc<AtomicBool> {
        Arc::clone(stop)
    }

    /// Returns the nodes, which are ready to be measured.
    fn measurements(&mut self) -> Vec<&mut Measurement>;

    /// Lets the store, which is open now, take what the nodes measure.
    fn keep_in(&mut self, store: &Arc<StoreWriter>) -> Result<(), Failure> {
        self.measurements().into_iter().try_for_each(|measurement| measurement.keep_in(store))
    }

    /// Measures until the sources end or `stop` is set.
    fn measure(&mut self, sinks: &Sinks, stop: &AtomicBool) -> Result<Vec<NodeOutcome>, Failure>;

    /// Shows what is left, and adds to the report what the nodes do not know. Returns what went wrong with standard output, if anything.
    fn end(self: Box<Self>, sinks: &Sinks, report: &mut RunReport) -> Option<String>;
}

impl RunPlan {
    fn run(mut self, stop: &Arc<AtomicBool>) -> Result<ExitCode, Failure> {
        let (reader, lost) = (OutputReader::new(stop), FailedOutputs::default());
        let names: Vec<String> = self.nodes.iter().map(|node| node.name.clone()).collect();
        let chain = match (self.is_controlled(), chain::chain(&self, &names)) {
            (true, chain) => Some(chain?),
            // What the executor refuses is said where the queries are planned.
            (false, chain) => chain.ok(),
        };
        let whole = chain::whole_run(&self, &names)?;
        chain::remarks_of_statistics(&self).iter().for_each(|line| say(line));
        let store = stored::existing(&self.options)?;
        let resolver = self.options.question.enrich.resolver();
        let _shared = self.share_ports()?;
        let sources = match (&mut self.recorded, &chain) {
            (Some(recorded), Some(chain)) => recorded
                .take_nodes(chain)?
                .into_iter()
                .map(|node| WindowSource::Recorded(Box::new(node)))
                .collect(),
            _ => self.measurements()?,
        };
        let Self { options, asked, recorded, .. } = &self;
        let standard_output = StandardOutput::from_spec(options);
        let is_replay = sources.iter().all(|one| one.time_base() == TimeBase::Packets);
        let nodes = sources.iter().map(|one| (one.site(), one.names())).collect();
        let is_asked = options.output.web.is_some() || self.connect.is_some();
        let overview = is_asked.then(|| overview_of(options, is_replay));
        let overview = overview.as_ref();
        let telling = SinkContext { options, asked, nodes, chain: chain.clone(), overview, is_replay, stop };
        let shown = (standard_output.has_tables, reader.clone());
        let mut route = self.route(sources, (chain, &whole), shown, resolver.clone(), stop)?;
        // Before the terminal is taken, so that no signal ends the program while it is.
        let may_end = route.may_end(stop);
        // Recorded rows were read with them.
        if recorded.is_none() {
            signals::stop_on(&signals::ENDS, stop, &may_end)?;
        }
        // Without several files, SIGHUP means that the terminal was closed, which a node of a deployment outlives.
        if options.output.rotate.is_none() && options.link.is_none() {
            signals::stop_on(&[SIGHUP], stop, &may_end)?;
        }
        let sinks = Sinks::start(&telling)?;
        // Last: files that are created stay where something refuses the run.
        for measurement in route.measurements() {
            measurement.create_outputs(&reader, &lost)?;
            overview.iter().for_each(|overview| measurement.record_in(overview));
        }
        let store = stored::open(options, store)?;
        if let Some(store) = &store {
            route.keep_in(store)?;
        }
        let began = Instant::now();
        let mut measured = route.measure(&sinks, stop)?;
        let of_all = whole.derive(&mut measured);
        let (mut report, mut verdict) = self.report(measured, &names);
        report.answers.extend(of_all);
        if let Some(recorded) = recorded {
            recorded.add_to(&mut verdict, reader.has_left());
        }
        verdict.lose(lost.lines());
        stored::close(store.as_ref(), !is_replay, &mut verdict);
        if store.is_some() {
            report.took(began.elapsed().as_secs_f64());
        }
        sinks.add_to(&mut report);
        sinks.finish(&report, &mut verdict);
        let fault = route.end(&sinks, &mut report);
        report.faults.extend(fault);
        if let Some(resolver) = resolver {
            resolver.enrich(&mut report.answers);
            resolver.withheld().iter().for_each(|line| say(line));
        }
        if options.output.json && !options.json_windows && standard_output.has_tables {
            reporting::print_whole(&report, !asked.is_empty())?;
        }
        let closing = recorded.as_ref().map(|recorded| recorded.summary(report.occurrences.stories_unlisted));
        reporting::finish(options, report, closing, &sinks, &verdict)
    }

    /// Opens what is measured.
    fn measurements(&self) -> Result<Vec<WindowSource>, Failure> {
        let common = SharedNodeContext::from_options(&self.options)?;
        let prepared = self.nodes.iter().map(|node| {
            let ((of_node, zooms), first) = (self.node_options(node), self.first_specs(&node.name));
            let specs = AskedTasks { first: &first, all: &self.specs(&node.name) };
            let measurement = Measurement::prepare(&of_node, &node.name, specs, zooms, &common)?;
            Ok(WindowSource::Measured(Box::new(measurement)))
        });
        prepared.collect()
    }

    /// Makes ready for the ports of several nodes, whose driver starts once in a process.
    fn share_ports(&self) -> Result<Option<Box<dyn Any>>, Failure> {
        let with_ports = self.nodes.iter().filter(|node| !node.options.source.port.is_empty());
        let settings = with_ports.map(|node| {
            let (options, _) = self.node_options(node);
            let config = measurement::config(&options);
            (options, config)
        });
        let settings: Vec<_> = settings.collect();
        if settings.len() < 2 {
            return Ok(None);
        }
        (port_drivers::find("--port")?.share)(&settings).map(Some)
    }

    /// Makes what measures. `shown`: what is answered goes to standard output, and its reader.
    fn route(
        &self,
        mut sources: Vec<WindowSource>,
        (chain, whole): (Option<Chain>, &WholeRun),
        shown: (bool, OutputReader),
        resolver: Option<Arc<Resolver>>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Box<dyn MeasurementRoute>, Failure> {
        if let Some(chain) = chain.clone().filter(|_| self.is_controlled()) {
            return Ok(Box::new(Controlled::new(self, sources, (chain, whole), shown, resolver, stop)?));
        }
        let Some(WindowSource::Measured(one)) = sources.pop() else {
            return Err(Failure::fault("there is no node to measure"));
        };
        match &self.connect {
            Some(connect) => connect(&self.options, *one),
            None => Ok(Box::new(Direct::new(self, *one, chain.as_ref(), shown, resolver)?)),
        }
    }

    /// The report of all nodes, and how they ended. That of one node is the report itself.
    fn report(&self, measured: Vec<NodeOutcome>, names: &[String]) -> (RunReport, ExitStatus) {
        let mut verdict = ExitStatus::default();
        let mut report = RunReport { version: env!("CARGO_PKG_VERSION").to_owned(), ..RunReport::default() };
        for NodeOutcome { report: own, warnings, verdict: of_node, .. } in measured {
            if names.len() == 1 {
                warnings.iter().for_each(|line| say(line));
                return (own, of_node);
            }
            warnings.iter().for_each(|line| say(&format!("{}: {line}", own.node)));
            verdict.add(&own.node, &of_node);
            let name = own.node.clone();
            report.add_node(own);
            // The report of all has them from the verdict.
            if let Some(own) = report.nodes.get_mut(&name) {
                own.faults.splice(..0, of_node.lines);
            }
        }
        report.node = names.join(", ");
        report.command_line = std::env::args().collect();
        (report, verdict)
    }
}
