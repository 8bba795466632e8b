//! A node by itself: its windows go to the screen and to the sinks as they are answered.

use super::MeasurementRoute;
use super::adapt::{self, TuningReporter};
use super::chain;
use super::measurement::Measurement;
use super::plan::RunPlan;
use super::reporting::NodeOutcome;
use crate::exit::{Failure, no_thread};
use crate::questions::continuous::{self, StandingOptions};
use crate::resolver::Resolver;
use crate::sinks::live::LiveMeasurement;
use crate::sinks::screen::{self, DisplaySetting, RunDisplay, Show};
use crate::sinks::standard_output::{self, OutputReader};
use crate::sinks::{self, Sink, Sinks};
use engine::tuning::Adaption;
use engine::{Control, Every, Observer};
use equery::Chain;
use model::{Answer, RunReport};
use port::TimeBase;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use task::query::Query;
use task::{Generation, TaskSet, Tasks};

/// The node, ready to be measured.
pub(super) struct Direct {
    /// The measurement of the node; `None` once it is measured.
    measurement: Option<Measurement>,
    control: Control,
    adaption: Option<Adaption>,
    /// The bound of `--adapt`.
    bound: f64,
    window_ns: u64,
    /// The setting of the screen, until the screen is started.
    setting: Option<DisplaySetting>,
    screen: Option<RunDisplay>,
    given_back: Arc<AtomicBool>,
    takes_terminal: bool,
    /// True if something else than standard output is written.
    writes_files: bool,
    reader: OutputReader,
    /// Answers of windows that the end cut.
    cut: Vec<Answer>,
}

impl Direct {
    /// Plans what it answers. `has_tables`: what it answers goes to standard output, whose reader is the other one.
    pub(super) fn new(
        plan: &RunPlan,
        mut measurement: Measurement,
        chain: Option<&Chain>,
        (has_tables, reader): (bool, OutputReader),
        resolver: Option<Arc<Resolver>>,
    ) -> Result<Self, Failure> {
        let RunPlan { options, asked, .. } = plan;
        let (time_base, every) = (measurement.time_base, measurement.config.every);
        let specs = plan.specs(&measurement.node);
        let tasks = measurement.tasks.clone();
        let show = show(plan, time_base, has_tables, tasks.is_some());
        let queries = queries_of(plan, &measurement, show);
        let control = Control::new(Arc::new(task_set(&queries, &measurement, tasks)?));
        let adaption = match options.machine.adapt {
            Some(bound) => Some(adapt::start(bound, &mut measurement, queries, &specs, &control)?),
            None => None,
        };
        let given_back = Arc::new(AtomicBool::new(false));
        let setting = DisplaySetting {
            show,
            is_asked: !asked.is_empty(),
            per: options.question.per,
            time_base,
            measured: LiveMeasurement {
                node: measurement.node.clone(),
                sources: measurement.names().to_vec(),
                every,
                queries: chain::views(chain, asked),
            },
            reader: reader.clone(),
            given_back: Arc::clone(&given_back),
            resolver,
        };
        Ok(Self {
            measurement: Some(measurement),
            control,
            adaption,
            bound: options.machine.adapt.map_or(0.0, |bound| bound.loss),
            window_ns: match every {
                Every::Time(length) => length,
                Every::Packets(_) => 0,
            },
            setting: Some(setting),
            screen: None,
            given_back,
            takes_terminal: screen::is_live(show, time_base, options.question.per),
            writes_files: standard_output::writes_files(options),
            reader,
            cut: Vec::new(),
        })
    }
}

impl MeasurementRoute for Direct {
    fn measurements(&mut self) -> Vec<&mut Measurement> {
        self.measurement.iter_mut().collect()
    }

    /// Returns a flag that is set once a signal may end the program at once: not while the terminal is taken.
    fn may_end(&self, stop: &Arc<AtomicBool>) -> Arc<AtomicBool> {
        Arc::clone(if self.takes_terminal { &self.given_back } else { stop })
    }

    fn measure(&mut self, sinks: &Sinks, stop: &AtomicBool) -> Result<Vec<NodeOutcome>, Failure> {
        let (Some(measurement), Some(setting)) = (self.measurement.take(), self.setting.take()) else {
            return Ok(Vec::new());
        };
        let screen = self.screen.insert(RunDisplay::start(setting).map_err(no_thread)?);
        let outlet = sinks::before(sinks.clone(), screen.outlet());
        let mut teller = TuningReporter {
            screen: &mut *screen,
            sinks,
            node: measurement.node.clone(),
            window_ns: self.window_ns,
            bound: self.bound,
        };
        let measured = measurement.measure(&self.control, outlet, stop, &mut teller)?;
        // Nothing is lost to anybody where the one who read the answers has left.
        let is_unread = self.reader.has_left() && !self.writes_files;
        let mut reported = NodeOutcome::from_measured(measured, is_unread);
        reported.report.tuning =
            self.adaption.as_ref().map(|adaption| adapt::report(adaption, self.window_ns));
        // Through the screen, which may be drawing.
        std::mem::take(&mut reported.warnings).into_iter().for_each(|line| screen.warning(line));
        self.cut = std::mem::take(&mut reported.longer);
        sinks.cut(&self.cut);
        Ok(vec![reported])
    }

    fn end(self: Box<Self>, _: &Sinks, _: &mut RunReport) -> Option<String> {
        let screen = self.screen?;
        screen.answers(self.cut);
        screen.finish()
    }
}

/// Returns what is shown of windows.
fn show(plan: &RunPlan, time_base: TimeBase, has_tables: bool, has_tasks: bool) -> Show {
    let RunPlan { options, asked, shows_windows, .. } = plan;
    match (options.output.json, time_base) {
        // Such a table has no windows to show.
        _ if !has_tables || options.machine.table.is_some() => Show::Nothing,
        (true, TimeBase::Packets) if !options.json_windows => Show::JsonOfOwn,
        (true, _) => Show::Json,
        (false, TimeBase::Clock) => Show::Tables,
        // What is sent is shown.
        (false, TimeBase::Packets) if sinks::show_windows(options) => Show::Tables,
        (false, TimeBase::Packets) if has_tasks => Show::Tasks,
        (false, TimeBase::Packets) if *shows_windows => Show::Tables,
        (false, TimeBase::Packets) if !asked.windows.is_empty() => Show::Queries,
        (false, TimeBase::Packets) => Show::Nothing,
    }
}

/// The queries of each window and of the run.
fn queries_of(plan: &RunPlan, measurement: &Measurement, show: Show) -> Vec<Query> {
    let RunPlan { options, asked, .. } = plan;
    let config = &measurement.config;
    let is_shown = matches!(show, Show::Json | Show::Tables);
    let of_windows = is_shown || options.json_windows || sinks::show_windows(options);
    let of_run = continuous::are_of_run(options);
    match asked.is_empty() {
        true => continuous::continuous_queries(&StandingOptions {
            key: config.key,
            tracks_loss: config.parts.loss,
            biflow: config.parts.biflow,
            top: options.question.top,
            of_windows,
            of_run,
        }),
        false => asked.queries(of_windows, of_run),
    }
}

/// The queries and tasks as a set.
fn task_set(queries: &[Query], measurement: &Measurement, tasks: Option<Tasks>) -> Result<TaskSet, Failure> {
    TaskSet::plan(Generation::default(), queries, tasks, &measurement.site()).map_err(|refusals| {
        let lines = refusals.iter().map(|(query, refusal)| format!("{query}: {refusal}"));
        Failure::usage(lines.collect::<Vec<_>>().join("; "))
    })
}
