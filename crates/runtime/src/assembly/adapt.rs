//! `--adapt`: a run that tunes itself, and what is told of it.

use crate::assembly::measurement::Measurement;
use crate::bound::LossBound;
use crate::exit::Failure;
use crate::sinks::screen::RunDisplay;
use crate::sinks::{Sink, Sinks};
use crate::spec::RunSpec;
use controller::ControllerOutput;
use engine::admission::{self, SourceProperties as Sources};
use engine::tuning::{Adaption, Handles, KnobRange, KnobSetting, Retask, SettingChange, Tuned, Tuner, Unmet};
use engine::{
    Control, Every, IdleTimeout, MeasurementConfig, Observer, ResolvedDesign, Snapshot, Split,
    StatePlacement, WindowId, WorkerUse, allowed_cores,
};
use flow::Share;
use model::{
    Column, ColumnKind, Event, EventKind, Item, Span, TuningChange, TuningReport, TuningSettings,
    TuningUnmet, Value,
};
use std::sync::Arc;
use task::query::Query;
use task::rows::PlanContext;
use task::{Generation, Size, TaskSet, TaskSpec};

/// The name that the events of a tuning have in the place of a query's.
pub(crate) const NAME: &str = "adapt";
/// The divisors of the memory of tasks.
const DIVISORS: [u32; 2] = [4, 16];
/// The divisors of the idle timeout of records, of which the first is taken whose part lasts for `LEAST_WINDOWS`.
const IDLE_DIVISORS: [u32; 2] = [16, 4];
const LEAST_WINDOWS: u64 = 2;

/// Returns the options with packets sampled where `--adapt` is given: all of them, until less is needed.
pub(crate) fn sampled(options: &RunSpec) -> RunSpec {
    let mut sampled = options.clone();
    sampled.machine.tee = options.machine.tee.or(options.machine.adapt.map(|_| Share::ALL));
    sampled
}

/// Lets a run tune itself. `queries` and `specs`: what its task set was made of.
pub(crate) fn start(
    bound: LossBound,
    measurement: &mut Measurement,
    queries: Vec<Query>,
    specs: &[TaskSpec],
    control: &Control,
) -> Result<Adaption, Failure> {
    if let Some(name) = measurement.without_loss() {
        return Err(Failure::usage(format!(
            "--adapt: {name} cannot count what it loses (its loss is null), so that no bound of it can be kept: leave --adapt out"
        )));
    }
    let (plan, config) = (measurement.plan.clone(), measurement.config.clone());
    let replan = Replan {
        specs: specs.to_vec(),
        queries,
        config: config.clone(),
        plan: plan.clone(),
        sources: measurement.sources_site(),
        site: measurement.site(),
        control: control.clone(),
        generation: control.set(WindowId::default()).generation(),
    };
    let memory_divisors = replan.divisors();
    let has_order = config.parts.loss || config.parts.metrics().next().is_some();
    let is_split_by_hash = plan.split == Split::Hash && plan.state == StatePlacement::Separate;
    let follows = control.set(WindowId::default()).pins().is_some();
    // Tables that are merged, and what is kept of the order of packets, need a flow's packets where they were, and its whole time.
    let is_free = is_split_by_hash && !has_order && !follows;
    let varies_workers = plan.workers > 1 && is_free;
    // More threads than cores take the cores from each other.
    let workers = match varies_workers && plan.oversubscribed {
        true => (allowed_cores().len() / plan.receivers.max(1)).saturating_sub(1).clamp(1, plan.workers),
        false => plan.workers,
    };
    let idle_ns = config.timeouts.idle_ns;
    let idle_divisor = match config.every {
        Every::Time(window_ns) if is_free && idle_ns != u64::MAX => IDLE_DIVISORS
            .into_iter()
            .find(|divisor| idle_ns / u64::from(*divisor) >= window_ns.saturating_mul(LEAST_WINDOWS))
            .unwrap_or(1),
        _ => 1,
    };
    let range = KnobRange {
        workers,
        varies_workers,
        idle_divisor,
        varies_share: config.sampling.is_some(),
        most_share_ppm: config
            .sampling
            .as_ref()
            .map_or(Share::ALL, |own| own.share(WindowId::default()))
            .ppm(),
        memory_divisors: memory_divisors.clone(),
    };
    let workers = varies_workers.then(|| WorkerUse::new(workers));
    let idle_timeout = (idle_divisor > 1).then(|| IdleTimeout::new(idle_ns));
    let retask = (!memory_divisors.is_empty()).then(|| Box::new(replan) as Box<dyn Retask>);
    let tuner = Tuner::new(bound.loss, range);
    let handles = Handles {
        workers: workers.clone(),
        idle_timeout: idle_timeout.clone().map(|timeout| (timeout, idle_ns)),
        sampling: config.sampling.clone(),
        retask,
        limits: Some(config.limits.clone()),
    };
    let adaption = Adaption::new(tuner, handles, !plan.oversubscribed);
    measurement.config.worker_use = workers;
    measurement.config.idle_timeout = idle_timeout;
    measurement.config.adaption = Some(adaption.clone());
    Ok(adaption)
}

/// Plans the tasks of a run with another part of their memory.
struct Replan {
    specs: Vec<TaskSpec>,
    queries: Vec<Query>,
    config: MeasurementConfig,
    plan: ResolvedDesign,
    sources: Sources,
    site: PlanContext,
    control: Control,
    generation: Generation,
}

impl Replan {
    /// The tasks with a part of their memory; those that are answered exactly from rows, or that say which error they may have, stay as
    /// they are.
    fn smaller(&self, divisor: u32) -> Vec<TaskSpec> {
        let smaller = |spec: &TaskSpec| {
            let size = match spec.size {
                Size::Memory(bytes) => Size::Memory(bytes / divisor as usize),
                other => other,
            };
            let mut smaller = spec.clone();
            smaller.size = size;
            smaller
        };
        self.specs.iter().map(smaller).collect()
    }

    fn set(&self, divisor: u32, generation: Generation) -> Result<TaskSet, String> {
        let specs = self.smaller(divisor);
        let tasks = admission::tasks(&self.config, &self.plan, &specs, &self.sources)
            .map_err(|refusals| refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
        TaskSet::plan(generation, &self.queries, tasks, &self.site).map_err(|refusals| {
            let lines = refusals.iter().map(|(query, refusal)| format!("{query}: {refusal}"));
            lines.collect::<Vec<_>>().join("; ")
        })
    }

    /// The parts of their memory with which tasks can be counted, if any can be had with less.
    fn divisors(&self) -> Vec<u32> {
        let is_possible = |divisor: &u32| self.set(*divisor, self.generation).is_ok();
        match self.specs.iter().any(|spec| matches!(spec.size, Size::Memory(_))) {
            true => DIVISORS.into_iter().take_while(is_possible).collect(),
            false => Vec::new(),
        }
    }
}

impl Retask for Replan {
    fn retask(&mut self, divisor: u32) -> Result<WindowId, String> {
        let generation = self.generation.next();
        let set = self.set(divisor, generation)?;
        let window = self.control.install(Arc::new(set)).map_err(|error| error.to_string())?;
        self.generation = generation;
        Ok(window)
    }
}

/// Shows a run, and tells what tuning changes.
pub(crate) struct TuningReporter<'a> {
    pub(crate) screen: &'a mut RunDisplay,
    pub(crate) sinks: &'a Sinks,
    pub(crate) node: String,
    pub(crate) window_ns: u64,
    pub(crate) bound: f64,
}

impl TuningReporter<'_> {
    /// Tells an event. `title`: what happened.
    fn tell(&mut self, event: Event, title: String) {
        let line = format!("{NAME}: {title}");
        let event = Event { title: Some(title), ..event };
        self.sinks.take_output(&ControllerOutput::Event(Box::new(event.clone())));
        self.screen.happened(event, line);
    }

    /// An event about a setting, in the window that ended at this time.
    fn event(&self, kind: EventKind, setting: &str, at_ns: u64, [from, to]: [f64; 2], reason: &str) -> Event {
        let window = Span { start_ns: at_ns.saturating_sub(self.window_ns), end_ns: at_ns };
        let text = |name: &str, text: &str| Item {
            column: Column::new(name, ColumnKind::Text, ""),
            value: Value::Text(text.to_owned()),
        };
        let number = |name: &str, value: f64| Item {
            column: Column::new(name, ColumnKind::Float, ""),
            value: Value::Float(value),
        };
        Event {
            event: events::identifier_of_setting(kind, NAME, setting, &self.node, window),
            kind,
            query: NAME.to_owned(),
            fired_by: None,
            key: vec![text("setting", setting)],
            node: Some(self.node.clone()),
            at_ns,
            window: Some(window),
            values: vec![number("from", from), number("to", to), text("reason", reason)],
            threshold: Some(self.bound),
            late: false,
            coverage: None,
            bounds: None,
            parent: None,
            title: None,
        }
    }
}

impl Observer for TuningReporter<'_> {
    fn progress(&mut self, snapshot: Snapshot) {
        self.screen.progress(snapshot);
    }

    fn warning(&mut self, line: String) {
        self.screen.warning(line);
    }

    fn tuned(&mut self, tuned: Tuned) {
        match tuned {
            Tuned::Change(SettingChange { at_ns, setting, from, to, reason, .. }) => {
                let event = self.event(EventKind::Fired, setting.name(), at_ns, [from, to], &reason);
                let [from, to] = [from, to].map(|value| shown(setting, value));
                self.tell(event, format!("{} {from} -> {to}: {reason}", setting.name()));
            }
            Tuned::Unmet(Unmet { at_ns, loss, is_over, reason, .. }) => {
                let kind = if is_over { EventKind::Resolved } else { EventKind::Fired };
                let event = self.event(kind, "bound", at_ns, [self.bound, loss], &reason);
                self.tell(event, format!("{:.4} % of the frames are lost: {reason}", 100.0 * loss));
            }
            Tuned::Warning(line) => self.screen.warning(format!("--adapt: {line}")),
        }
    }
}

/// A value of a setting in words.
fn shown(setting: KnobSetting, value: f64) -> String {
    match setting {
        KnobSetting::Workers => format!("{value}"),
        KnobSetting::IdleTimeout | KnobSetting::TaskMemory | KnobSetting::Share => {
            notation::trimmed(100.0 * value, 4) + " %"
        }
    }
}

/// Returns what a run's tuning did, for the report.
pub(crate) fn report(adaption: &Adaption, window_ns: u64) -> TuningReport {
    let report = adaption.report();
    let span = |window: u64| {
        let start_ns = window.saturating_mul(window_ns);
        Span { start_ns, end_ns: start_ns.saturating_add(window_ns) }
    };
    let change = |change: SettingChange| TuningChange {
        window: span(change.window),
        at_ns: change.at_ns,
        setting: change.setting.name().to_owned(),
        from: change.from,
        to: change.to,
        reason: change.reason,
    };
    let unmet = |unmet: Unmet| TuningUnmet {
        window: span(unmet.window),
        loss: unmet.loss,
        is_over: unmet.is_over,
        reason: unmet.reason,
    };
    TuningReport {
        bound: report.bound,
        changes: report.changes.into_iter().map(change).collect(),
        changes_unlisted: report.changes_unlisted,
        unmet: report.unmet.into_iter().map(unmet).collect(),
        settings: TuningSettings {
            workers: report.settings.workers as u64,
            idle_timeout: report.settings.value(KnobSetting::IdleTimeout),
            task_memory: report.settings.value(KnobSetting::TaskMemory),
            share: report.settings.value(KnobSetting::Share),
        },
        windows: report.windows,
        windows_above: report.windows_above,
        windows_off_core: report.windows_off_core,
    }
}
